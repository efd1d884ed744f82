//! The descriptions of the tools of a server, by name: what the turn machine knows of them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{ApprovalPolicy, Instructions, ToolOrigin, ToolSpec};

/// The descriptions of the tools of a server, by name. Of two with the same name, the last one counts.
#[derive(Debug, Clone, Default)]
pub struct ToolCatalog {
    tools: Arc<BTreeMap<String, Arc<ToolSpec>>>,
    specs: Arc<[Arc<ToolSpec>]>,
    /// Those that the model can call.
    offered: Arc<[Arc<ToolSpec>]>,
    /// What MCP servers say about their tools.
    instructions: Arc<[Instructions]>,
    /// MCP servers that have not listed their tools yet, and how long an approved call waits for its tool.
    pending_servers: Arc<[(String, Duration)]>,
    /// How long a turn that goes on waits for tools that are about to be listed.
    awaited: Option<Duration>,
}

impl ToolCatalog {
    /// Adds MCP servers that have not listed their tools yet. A call approved earlier waits this long for its tool,
    /// instead of failing at once.
    #[must_use]
    pub fn with_pending_servers(mut self, servers: impl IntoIterator<Item = (String, Duration)>) -> Self {
        self.pending_servers = servers.into_iter().collect();
        self
    }

    /// Adds what MCP servers say about the use of their tools.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl IntoIterator<Item = Instructions>) -> Self {
        self.instructions = self.instructions.iter().cloned().chain(instructions).collect();
        self
    }

    /// What MCP servers say about the use of their tools.
    pub fn instructions(&self) -> Arc<[Instructions]> {
        Arc::clone(&self.instructions)
    }

    /// Says that more tools are about to be listed: by an MCP server that has neither answered nor failed yet. A turn that goes on
    /// after a restart waits for them this long, so that the model has the tools that it had.
    #[must_use]
    pub fn with_awaited(mut self, timeout: Option<Duration>) -> Self {
        self.awaited = timeout;
        self
    }

    /// How long a turn that goes on waits for tools that are about to be listed; `None` if none are.
    pub fn awaited(&self) -> Option<Duration> {
        self.awaited
    }

    /// These descriptions in place of its own, with everything else.
    #[must_use]
    pub fn with_specs(self, specs: impl IntoIterator<Item = Arc<ToolSpec>>) -> Self {
        let Self { tools, specs, offered, .. } = specs.into_iter().collect();
        Self { tools, specs, offered, ..self }
    }

    /// How long to wait for a tool of this origin, if it may still be listed.
    pub fn pending_timeout(&self, origin: Option<&ToolOrigin>) -> Option<Duration> {
        let server = origin?.mcp_server()?;
        let pending = self.pending_servers.iter().find(|(pending, _)| pending == server);
        pending.map(|(_, timeout)| *timeout)
    }

    /// The tool of this name and origin: an approval is for no other.
    pub fn of_origin(&self, name: &str, origin: Option<&ToolOrigin>) -> Option<&Arc<ToolSpec>> {
        self.get(name).filter(|spec| spec.origin.as_ref() == origin)
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.tools.get(name)
    }

    /// A tool by its name, if the model can call it.
    pub fn offered(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.get(name).filter(|spec| spec.is_offered())
    }

    /// All tools, ordered by name.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        Arc::clone(&self.specs)
    }

    /// The tools that the model can call, ordered by name.
    pub fn offered_specs(&self) -> Arc<[Arc<ToolSpec>]> {
        Arc::clone(&self.offered)
    }

    /// Whether any tool can require approval: then adk text is held back.
    pub fn may_need_approval(&self) -> bool {
        self.specs.iter().any(|spec| spec.approval != ApprovalPolicy::Never)
    }
}

impl FromIterator<Arc<ToolSpec>> for ToolCatalog {
    fn from_iter<T: IntoIterator<Item = Arc<ToolSpec>>>(all: T) -> Self {
        let tools: BTreeMap<_, _> = all.into_iter().map(|spec| (spec.name.clone(), spec)).collect();
        let specs: Arc<[_]> = tools.values().map(Arc::clone).collect();
        let offered = match specs.iter().all(|spec| spec.is_offered()) {
            true => Arc::clone(&specs),
            false => specs.iter().filter(|spec| spec.is_offered()).cloned().collect(),
        };
        Self { tools: Arc::new(tools), specs, offered, ..Self::default() }
    }
}
