//! A model and tools that answer at once, so that what is measured is Holdpoint.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::{StreamExt, stream::BoxStream};
use holdpoint_protocol::chunk::FinishReason;
use holdpoint_runtime::{
    Tool, ToolContext, ToolSet,
    model::{Model, ModelError, ModelEvent, ModelMessage, ModelRequest, Usage, UserPart},
    tool::ApprovalPolicy,
};
use serde_json::{Value, json};

/// A user message after which the model says a sentence.
pub(crate) const TALK: &str = "Tell me something about the weather in Osaka";
/// A user message after which the model makes a call that runs on the server, and says a sentence.
pub(crate) const LOOK: &str = "Look up the order of Hanako";
/// A user message after which the model makes a call that needs approval.
pub(crate) const PAY: &str = "Pay 50 dollars to Hanako";
/// A user message after which the model makes a call that runs in the browser.
pub(crate) const OPEN: &str = "Open the page of the order";

/// A model that does what the user message says, and remembers when it was last asked.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    asked: Mutex<Option<Asked>>,
}

/// A request to the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) at: Instant,
    /// The number of messages that it was sent.
    pub(crate) messages: usize,
}

impl Scripted {
    /// The last request since the last call of this.
    pub(crate) fn take_asked(&self) -> Option<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let asked = Asked { at: Instant::now(), messages: request.messages.len() };
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
        let said = match request.messages.last() {
            Some(ModelMessage::User(parts)) => parts.iter().find_map(|part| match part {
                UserPart::Text(text) => Some(text.as_str()),
                _ => None,
            }),
            _ => None,
        };
        let call = match said {
            Some(LOOK) => Some(("look", json!({"name": "Hanako"}))),
            Some(PAY) => Some(("pay", json!({"amount": 50, "recipient": "Hanako", "description": "The rent"}))),
            Some(OPEN) => Some(("open", json!({"url": "https://example.com/orders/1"}))),
            _ => None,
        };
        let events = match call {
            Some((name, input)) => {
                let call = ModelEvent::Call { id: "0".to_owned(), name: name.to_owned(), input: Ok(input) };
                vec![Ok(call), Ok(finish(FinishReason::ToolCalls))]
            }
            None => {
                let text = "It is sunny in Osaka today, with a light wind from the sea.".to_owned();
                let text = [ModelEvent::TextStart, ModelEvent::TextDelta(text), ModelEvent::TextEnd];
                text.into_iter().chain([finish(FinishReason::Stop)]).map(Ok).collect()
            }
        };
        futures::stream::iter(events).boxed()
    }
}

fn finish(reason: FinishReason) -> ModelEvent {
    ModelEvent::Finish {
        usage: Usage { prompt_tokens: 10, completion_tokens: 20, ..Usage::default() },
        reason,
        version: None,
        state: None,
    }
}

/// The input of a tool. What is in it does not matter here.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
struct Anything(#[allow(dead_code, reason = "the tools ignore it")] serde_json::Map<String, Value>);

/// The tools that the model calls. Nothing expires while it is measured.
pub(crate) fn tools() -> ToolSet {
    let done = |_: Anything, _: ToolContext| async { Ok(json!({"done": true, "balance": 950})) };
    let hours = Duration::from_secs(24 * 3600);
    let tools = [
        Tool::server("look", "Looks up an order", done),
        Tool::server("pay", "Pays", done).approval(ApprovalPolicy::Always).approval_timeout(Some(hours)),
        Tool::frontend::<Anything>("open", "Opens a page in the browser").timeout(hours),
    ];
    let tools = tools.map(|tool| tool.build().expect("a tool"));
    ToolSet::new(tools).expect("tools with different names")
}
