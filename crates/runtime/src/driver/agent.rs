//! The agent of a chat: its tools and its model.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use holdpoint_protocol::ids::ChatId;

use super::runtime::Inner;
use crate::{
    model::Model,
    subject::Subject,
    tool::{DuplicateTool, Instructions, Tool, ToolSet, ToolSpec},
};

/// The tools and the model of a chat, see [`RuntimeBuilder::agent_for`](super::RuntimeBuilder::agent_for).
#[derive(Debug, Clone)]
pub struct Agent {
    pub(super) tools: ToolSet,
    pub(super) model: Arc<dyn Model>,
}

impl Agent {
    /// An agent with these tools and this model. The names of the tools must differ.
    pub fn new(tools: impl IntoIterator<Item = Tool>, model: Arc<dyn Model>) -> Result<Self, DuplicateTool> {
        Ok(Self { tools: ToolSet::new(tools)?, model })
    }

    /// Adds what MCP servers say about the use of these tools, see [`ToolSet::instructions`].
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl IntoIterator<Item = Instructions>) -> Self {
        self.tools = self.tools.with_instructions(instructions);
        self
    }
}

/// The tools that the model is offered in a turn, from its first step on, and what is said about them. A list or a text that
/// changed in the middle would be another prompt: caches would be lost, and so would thinking that is bound to it. A tool that is
/// gone fails when it is called.
///
/// It lasts as long as the chat is awake. A turn that has waited for a person goes on with the tools of that moment: the old ones
/// may not exist any more, and keeping their schemas for every chat that waits is not worth it. The provider drops thinking that
/// no longer fits, or it is left out.
#[derive(Clone, Default)]
pub(super) struct TurnTools(Arc<OnceLock<Offer>>);

/// What the model is given besides the conversation.
#[derive(Clone)]
pub(super) struct Offer {
    pub(super) tools: Arc<[Arc<ToolSpec>]>,
    pub(super) instructions: Arc<[Instructions]>,
}

impl TurnTools {
    pub(super) fn of(&self, tools: &ToolSet) -> Offer {
        let first = || Offer { tools: tools.offered_specs(), instructions: tools.instructions() };
        self.0.get_or_init(first).clone()
    }
}

/// Chooses the agent of a chat; `None` is the runtime's own.
#[derive(Clone)]
pub(super) struct AgentChoice(Arc<Choose>);

type Choose = dyn Fn(&ChatId, &Subject) -> Option<Agent> + Send + Sync;

impl AgentChoice {
    pub(super) fn new(choose: impl Fn(&ChatId, &Subject) -> Option<Agent> + Send + Sync + 'static) -> Self {
        Self(Arc::new(choose))
    }
}

impl fmt::Debug for AgentChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentChoice")
    }
}

impl Inner {
    /// The agent that the program chose for a chat.
    pub(super) fn chosen_agent(&self, chat: &ChatId, subject: &Subject) -> Option<Agent> {
        let agent = self.agents.as_ref().and_then(|choice| (choice.0)(chat, subject))?;
        Some(Agent { tools: agent.tools.with_budget(self.budget_tool.as_ref()), ..agent })
    }

    /// The model of a chat.
    pub(super) fn model_of(&self, chat: &ChatId, subject: &Subject) -> Arc<dyn Model> {
        self.chosen_agent(chat, subject).map_or_else(|| Arc::clone(&self.model), |agent| agent.model)
    }

    /// Waits until every MCP server has listed its tools or failed, but no longer than a call would wait for it.
    pub(super) async fn tools_to_come(&self) {
        let Some(timeout) = self.tools().catalog().awaited() else { return };
        let mut offered = self.tools.subscribe();
        let _ = tokio::time::timeout(timeout, offered.wait_for(|tools| !tools.is_awaiting())).await;
    }

    /// The tools of a chat.
    pub(super) fn tools_of(&self, chat: &ChatId, subject: &Subject) -> ToolSet {
        self.chosen_agent(chat, subject).map_or_else(|| self.tools(), |agent| agent.tools)
    }
}
