//! The turn that is played: its steps stand in the user's message, and the model follows them.

use std::time::Duration;

use futures::{StreamExt, stream::BoxStream};
use holdpoint_runtime::{
    model::{Model, ModelError, ModelEvent, ModelMessage, ModelRequest, Usage, UserPart},
    protocol::chunk::FinishReason,
    tool::{Tool, ToolContext, ToolError, ToolSet},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::random::Random;

/// How long an approval request waits: those of `pay` and `photo`, and those of `wire` and `shout`. All the time that passes in
/// a turn is less than a minute: a socket whose client has not answered a ping for that long is closed.
pub(crate) const APPROVAL: Duration = Duration::from_secs(4);
const LONG_APPROVAL: Duration = Duration::from_secs(400);
/// How long a browser has.
pub(crate) const BROWSER: Duration = Duration::from_secs(2);

/// The text of the last step.
pub(crate) const DONE: &str = "All done.";

/// The tools that ask a person and run on the server: the scope of the specification's rules for approvals in a row.
pub(crate) const ASKING_SERVER: [&str; 2] = ["pay", "wire"];
const NAMES: [&str; 9] = ["look", "break", "pay", "wire", "locate", "photo", "play", "shout", "unfit"];

pub(crate) fn is_frontend(name: &str) -> bool {
    matches!(name, "locate" | "photo")
}

pub(crate) fn needs_approval(name: &str) -> bool {
    matches!(name, "pay" | "wire" | "photo" | "shout")
}

/// The calls of each step, and whether the model writes text before them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Step {
    pub(crate) says: Option<String>,
    pub(crate) calls: Vec<String>,
}

impl Script {
    /// A turn of one to three steps with calls, of one to three calls each.
    pub(crate) fn random(random: &mut Random) -> Self {
        let asks_only = random.chance(25);
        let steps = (0..1 + random.index(3)).map(|number| {
            let calls = (0..1 + random.index(3)).map(|_| {
                let from: &[&str] = if asks_only { &ASKING_SERVER } else { &NAMES };
                random.pick(from).to_owned()
            });
            let calls = calls.collect();
            Step { says: random.chance(30).then(|| format!("Step {number}. ")), calls }
        });
        Self { steps: steps.collect() }
    }

    /// Whether every call asks a person and runs on the server.
    pub(crate) fn is_of_approvals(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.calls).all(|name| ASKING_SERVER.contains(&name.as_str()))
    }

    pub(crate) fn calls(&self) -> usize {
        self.steps.iter().map(|step| step.calls.len()).sum()
    }

    /// All text of the turn, in order.
    pub(crate) fn text(&self) -> String {
        self.steps.iter().filter_map(|step| step.says.as_deref()).chain([DONE]).collect()
    }
}

/// A model that plays the script in the user's message.
#[derive(Debug)]
pub(crate) struct Playing;

impl Model for Playing {
    fn name(&self) -> &str {
        "playing"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let said = request.messages.iter().rposition(|message| matches!(message, ModelMessage::User(_))).unwrap_or(0);
        let text = match request.messages.get(said) {
            Some(ModelMessage::User(parts)) => parts.iter().find_map(|part| match part {
                UserPart::Text(text) => Some(text.clone()),
                _ => None,
            }),
            _ => None,
        };
        let script: Script =
            text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Script { steps: Vec::new() });
        let done =
            request.messages[said..].iter().filter(|message| matches!(message, ModelMessage::Assistant { .. })).count();
        let mut events = Vec::new();
        let say = |events: &mut Vec<ModelEvent>, text: &str| {
            events.extend([ModelEvent::TextStart, ModelEvent::TextDelta(text.to_owned()), ModelEvent::TextEnd]);
        };
        match script.steps.get(done) {
            Some(step) => {
                if let Some(text) = &step.says {
                    say(&mut events, text);
                }
                for (number, name) in step.calls.iter().enumerate() {
                    let (name, input) = match name.as_str() {
                        "unfit" => ("look", json!({"at": 5})),
                        name => (name, json!({"at": format!("{done}.{number}")})),
                    };
                    let id = format!("{done}-{number}");
                    events.push(ModelEvent::InputStart { id: id.clone(), name: name.to_owned() });
                    events.push(ModelEvent::Call { id, name: name.to_owned(), input: Ok(input) });
                }
            }
            None => say(&mut events, DONE),
        }
        let usage = Usage { prompt_tokens: 3, completion_tokens: 2, ..Usage::default() };
        events.push(ModelEvent::Finish { usage, reason: FinishReason::Stop, version: None, state: None });
        futures::stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Input {
    at: String,
}

async fn runs(input: Input, _: ToolContext) -> Result<Value, ToolError> {
    Ok(json!({"ran": input.at}))
}

async fn fails(input: Input, _: ToolContext) -> Result<Value, ToolError> {
    Err(ToolError::new(format!("{} is broken", input.at)))
}

pub(crate) fn tools() -> ToolSet {
    let tools = [
        Tool::server("look", "Runs at once", runs),
        Tool::server("break", "Fails at once", fails),
        Tool::server("pay", "Asks", runs).approve_always().approval_timeout(Some(APPROVAL)),
        Tool::server("wire", "Asks, and waits for long", runs).approve_always().approval_timeout(Some(LONG_APPROVAL)),
        Tool::frontend::<Input>("locate", "Runs in the browser").timeout(BROWSER),
        Tool::frontend::<Input>("photo", "Asks, then runs in the browser")
            .approve_always()
            .approval_timeout(Some(APPROVAL))
            .timeout(BROWSER),
        Tool::delegate::<Input>("play", "Handed to the browser"),
        Tool::delegate::<Input>("shout", "Asks, then is handed to the browser")
            .approve_always()
            .approval_timeout(Some(LONG_APPROVAL)),
    ];
    tools.into_iter().map(|tool| tool.build().expect("a tool")).collect()
}
