//! Facts: what the log of a chat is made of. Everything else is a projection of them.

pub use holdpoint_protocol::holds::Cause;
use holdpoint_protocol::{
    chunk::{FinishReason, Pieces},
    ids::{ApprovalId, MessageId, PartId, ToolCallId},
    json,
    message::{Part, UiMessage},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    model::Usage,
    subject::Subject,
    tool::{Execution, Returns, Wait},
};

/// One thing that happened in a chat. Facts are never changed, so fields are only ever added, with a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "the fields' types say it; what is not obvious has a comment")]
pub enum Fact {
    /// The chat begins.
    Opened {
        subject: Subject,
    },
    /// History that a client brought and that we did not see happen: context for the model, nothing more.
    Context {
        messages: Vec<UiMessage>,
    },
    /// The user said something. With `cut`, it replaces that message and all that came after it.
    Said {
        message: UiMessage,
        cut: Option<MessageId>,
        /// The turn that answers it, where another one has to come to its end first: calls that the same request approved run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<NextTurn>,
    },
    /// The user wants another answer: this assistant message, and all that came after it, is taken back.
    Regenerated {
        cut: Option<MessageId>,
    },
    /// The answer begins.
    TurnStarted {
        message: MessageId,
        order: CallOrder,
        /// Whether whoever began it gets text only when nothing can be asked any more; the history does as well then.
        holds_text: bool,
        /// Whether anything on offer could need an approval: then others may want its text held back.
        #[serde(default)]
        can_ask: bool,
        #[serde(default)]
        is_resubmit: bool,
        model: String,
        at: Timestamp,
    },
    /// The model is called.
    StepStarted,
    /// A block of text or reasoning.
    BlockStarted {
        kind: BlockKind,
        id: PartId,
    },
    BlockDelta {
        id: PartId,
        delta: Pieces,
    },
    BlockEnded {
        id: PartId,
    },
    /// The model begins to write a call's input.
    InputStarted {
        call: ToolCallId,
        name: String,
    },
    InputDelta {
        call: ToolCallId,
        delta: Pieces,
    },
    /// The model has called a tool, and the input fits.
    Called {
        call: ToolCallId,
        name: String,
        #[serde(deserialize_with = "json::value")]
        input: Value,
        execution: Execution,
        wait: Wait,
        returns: Returns,
        /// Where the tool came from, for tools that come and go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
        /// Whether a person is asked before it may run: a stock client must not be told that a browser's call is available before that.
        #[serde(default)]
        needs_approval: bool,
        /// The call whose tool asks this of the user; the model did not make it and is not told of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        asked_by: Option<ToolCallId>,
    },
    /// The model has called a tool that does not exist, or with an input that does not fit. That is the call's outcome.
    Invalid {
        call: ToolCallId,
        name: String,
        #[serde(deserialize_with = "json::value")]
        input: Value,
        error: String,
    },
    /// The model's step is complete.
    StepEnded {
        usage: Usage,
        reason: FinishReason,
        version: Option<String>,
    },
    /// The server went down in the middle of a step: what the step had is taken back, and the model is called again.
    StepAbandoned,
    /// In memory only: stands where a fact of a step stood that was taken back, so that positions stay what they are.
    Nothing,
    /// A person is asked.
    Asked {
        call: ToolCallId,
        approval: ApprovalId,
        reason: String,
        at: Timestamp,
        expires: Option<Timestamp>,
    },
    /// A person has answered.
    Decided {
        call: ToolCallId,
        approved: bool,
        reason: Option<String>,
        by: Subject,
        at: Timestamp,
    },
    /// The call runs: here, or in the browser, until the deadline.
    Started {
        call: ToolCallId,
        deadline: Option<Timestamp>,
        #[serde(default)]
        at: Option<Timestamp>,
    },
    /// The call has its outcome.
    Settled {
        call: ToolCallId,
        outcome: Outcome,
        cause: Cause,
        at: Timestamp,
    },
    /// The answer is over.
    TurnEnded {
        end: TurnEnd,
        at: Timestamp,
    },
}

impl Fact {
    /// Whether nobody may see it before it is on disk. The rest is text that can be written a little later.
    pub fn must_be_durable(&self) -> bool {
        !matches!(
            self,
            Fact::BlockStarted { .. }
                | Fact::BlockDelta { .. }
                | Fact::BlockEnded { .. }
                | Fact::InputStarted { .. }
                | Fact::InputDelta { .. }
        )
    }
}

impl Fact {
    /// How much of the model's text is in it.
    pub(crate) fn text_len(&self) -> usize {
        match self {
            Fact::BlockDelta { delta, .. } | Fact::InputDelta { delta, .. } => delta.text().len(),
            _ => 0,
        }
    }
}

/// How a turn is to be run, once it can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextTurn {
    /// How its calls are taken up.
    pub order: CallOrder,
    /// Whether its text is held back while something may still be asked.
    pub holds_text: bool,
    /// Whether its responses end at a frontend call, whatever the tool says.
    pub is_resubmit: bool,
}

/// How the calls of one step are taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOrder {
    /// All at once (over HTTP).
    Together,
    /// Each after the one before it has its outcome (on `/live`).
    OneByOne,
}

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum BlockKind {
    Text,
    Reasoning,
}

/// What is told of a call that a newer message took the place of.
pub const SUPERSEDED: &str = "superseded by a newer message: not done";

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its output.
    Output(#[serde(deserialize_with = "json::value")] Value),
    /// What went wrong.
    Error(String),
    /// A person said no.
    Denied {
        /// Why.
        reason: Option<String>,
    },
}

impl Outcome {
    /// The outcome as people and the model are told of it: nobody has denied what a newer message took the place of.
    pub fn told(&self, cause: Cause) -> Self {
        match self {
            Outcome::Denied { .. } if cause == Cause::Superseded => Outcome::Error(SUPERSEDED.to_owned()),
            other => other.clone(),
        }
    }

    /// What the model, and a client that knows no denial, are told in words.
    pub fn denial_text(reason: Option<&str>) -> String {
        match reason {
            Some(reason) => format!("User denied the tool call: {reason}"),
            None => "User denied the tool call".to_owned(),
        }
    }
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnEnd {
    /// The model had no more to say.
    Finished {
        /// Why it stopped.
        reason: FinishReason,
    },
    /// The model failed; the text is for the user.
    Failed {
        /// What to tell.
        message: String,
    },
    /// Somebody stopped it.
    Stopped {
        /// Why.
        reason: Option<String>,
    },
    /// A newer message came while it waited.
    Superseded,
}

/// The text of what the user said, for a title and for the model.
pub(crate) fn text_of(message: &UiMessage) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
