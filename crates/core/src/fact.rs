//! Facts: the entries of a chat's log. Everything else is a projection of them.

use std::sync::Arc;

pub use holdpoint_protocol::holds::Cause;
use holdpoint_protocol::{
    audit::AuditChannel,
    chunk::{FinishReason, Pieces},
    ids::{ApprovalId, GrantId, MessageId, PartId, ToolCallId},
    json,
    message::{Part, UiMessage},
    request::Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    grants::GrantTerms,
    model::{ProviderState, Usage},
    request_terms::RequestTerms,
    subject::Subject,
    tool::{CallState, Execution, Returns, StoredFile, ToolOrigin, Wait},
};

/// One thing that happened in a chat. What is stored never changes. A version that writes something which the one before it
/// can't read raises [`FORMAT`](crate::log::FORMAT), and says in [`Fact::format`] what needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "the fields' types say it; what is not obvious has a comment")]
pub enum Fact {
    /// The chat was opened.
    Opened {
        subject: Subject,
    },
    /// History that a client brought from elsewhere. It is context for the model, nothing more.
    Context {
        messages: Vec<UiMessage>,
    },
    /// The user sent a message. With `cut`, it replaces that message and everything after it.
    Said {
        message: UiMessage,
        cut: Option<Cut>,
        /// The turn that answers it, if another turn has to end first because calls approved by the same request still
        /// run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<NextTurn>,
    },
    /// The user asked for a new answer: this assistant message and everything after it is cut.
    Regenerated {
        cut: Option<Cut>,
        /// The turn that gives it, if another turn has to end first because another node runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<NextTurn>,
    },
    /// A turn began.
    TurnStarted {
        message: MessageId,
        order: CallOrder,
        /// Whether the client that began it wants text only when no approval request can follow. The history, which is for any
        /// client, then holds it back too.
        holds_text: bool,
        /// Whether any available tool could need approval. If not, nobody's text is held back.
        can_ask: bool,
        /// Whether the responses of the client that began it end at every frontend call, whatever the tool says.
        is_resubmit: bool,
        model: String,
        at: Timestamp,
    },
    /// A step began: the model is called.
    StepStarted,
    /// A block of text or reasoning began.
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
    /// The model began to write a call's input.
    InputStarted {
        call: ToolCallId,
        name: String,
    },
    InputDelta {
        call: ToolCallId,
        delta: Pieces,
    },
    /// A tool was called with a valid input.
    Called {
        call: ToolCallId,
        by: Caller,
        name: String,
        #[serde(deserialize_with = "json::value")]
        input: Value,
        execution: Execution,
        /// How a response waits for it, by the tool.
        wait: Wait,
        returns: Returns,
        /// Where the tool comes from, for tools that come and go.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<ToolOrigin>,
        /// Whether the call needs approval. A stock client must not see a frontend call as available before that.
        needs_approval: bool,
        /// The result of the tool's own check whether the call needs approval. It is never evaluated again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checked: Option<Checked>,
        at: Timestamp,
    },
    /// The model called an unknown tool, or used an invalid input. The error is the call's outcome.
    Invalid {
        call: ToolCallId,
        name: String,
        #[serde(deserialize_with = "json::value")]
        input: Value,
        error: String,
        at: Timestamp,
    },
    /// The model can't answer yet, and is asked again after a delay.
    ModelDelayed {
        message: String,
        seconds: u64,
    },
    /// The step is complete: the model has finished.
    StepEnded {
        usage: Usage,
        reason: FinishReason,
        version: Option<String>,
        /// What the provider needs back of the step. No client sees it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Box<ProviderState>>,
    },
    /// The server went down during a step. The facts of the step no longer count, and the model is called again.
    StepAbandoned,
    /// A placeholder for a fact of an abandoned step, so that positions do not change. In memory only.
    Nothing,
    /// An approval request was made.
    Asked {
        call: ToolCallId,
        approval: ApprovalId,
        at: Timestamp,
        expires: Option<Timestamp>,
        terms: Arc<RequestTerms>,
    },
    /// A person approved, and others have to as well.
    Voted {
        call: ToolCallId,
        reason: Option<String>,
        by: Subject,
        at: Timestamp,
        /// Through what it came.
        channel: AuditChannel,
    },
    /// Nobody has decided for some time: those of the escalation may decide too from now on.
    Escalated {
        call: ToolCallId,
        at: Timestamp,
    },
    /// A person decided.
    Decided {
        call: ToolCallId,
        verdict: Verdict,
        reason: Option<String>,
        by: Subject,
        at: Timestamp,
        /// Through what it came.
        channel: AuditChannel,
    },
    /// A person approved later calls too: the approval of this call made a grant.
    Granted {
        call: ToolCallId,
        grant: GrantId,
        terms: Arc<GrantTerms>,
        by: Subject,
        at: Timestamp,
    },
    /// A grant approved the call, in place of a person.
    Used {
        call: ToolCallId,
        grant: GrantId,
        /// Who made the grant.
        by: Subject,
        at: Timestamp,
    },
    /// The call was started, on the server or in the browser.
    Started {
        call: ToolCallId,
        deadline: Option<Timestamp>,
        at: Timestamp,
    },
    /// A running call reported its progress: a preliminary output, which the next one or the outcome replaces.
    Progressed {
        call: ToolCallId,
        #[serde(deserialize_with = "json::value")]
        output: Value,
    },
    /// A running call has produced files. Its outcome follows, with links to them.
    Stored {
        call: ToolCallId,
        files: Arc<[StoredFile]>,
    },
    /// A running call can be resumed from this state, should its process go down; without one, it can't any more. No
    /// client sees it.
    Resumable {
        call: ToolCallId,
        state: Option<Arc<CallState>>,
    },
    /// The call got its outcome.
    Settled {
        call: ToolCallId,
        outcome: Outcome,
        cause: Cause,
        at: Timestamp,
        /// Through what a browser's result came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<AuditChannel>,
        /// Of an interrupted call: whether its tool says that it can be made again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_repeatable: bool,
    },
    /// The turn is to end. Written by a node that does not run it; the node that does ends it.
    StopRequested {
        reason: Option<String>,
        /// Whether a newer message, or the request for a new answer, takes its place.
        is_superseded: bool,
    },
    /// The turn ended.
    TurnEnded {
        end: TurnEnd,
        at: Timestamp,
    },
}

impl Fact {
    /// Whether it must be on disk before anybody sees it. Text and progress may be written a little later.
    pub fn must_be_durable(&self) -> bool {
        !matches!(
            self,
            Fact::BlockStarted { .. }
                | Fact::BlockDelta { .. }
                | Fact::BlockEnded { .. }
                | Fact::InputStarted { .. }
                | Fact::InputDelta { .. }
                | Fact::Progressed { .. }
                | Fact::ModelDelayed { .. }
        )
    }
}

impl Fact {
    /// The oldest format whose programs can read it. A node writes it only once every other node can.
    pub fn format(&self) -> u32 {
        match self {
            Fact::Opened { .. }
            | Fact::Context { .. }
            | Fact::Said { .. }
            | Fact::Regenerated { .. }
            | Fact::TurnStarted { .. }
            | Fact::StepStarted
            | Fact::BlockStarted { .. }
            | Fact::BlockDelta { .. }
            | Fact::BlockEnded { .. }
            | Fact::InputStarted { .. }
            | Fact::InputDelta { .. }
            | Fact::Called { .. }
            | Fact::Invalid { .. }
            | Fact::ModelDelayed { .. }
            | Fact::StepEnded { .. }
            | Fact::StepAbandoned
            | Fact::Nothing
            | Fact::Asked { .. }
            | Fact::Voted { .. }
            | Fact::Escalated { .. }
            | Fact::Decided { .. }
            | Fact::Granted { .. }
            | Fact::Used { .. }
            | Fact::Started { .. }
            | Fact::Progressed { .. }
            | Fact::Stored { .. }
            | Fact::Resumable { .. }
            | Fact::Settled { .. }
            | Fact::StopRequested { .. }
            | Fact::TurnEnded { .. } => 1,
        }
    }
}

impl Fact {
    /// The number of bytes of the model's text in it.
    pub fn text_len(&self) -> usize {
        match self {
            Fact::BlockDelta { delta, .. } | Fact::InputDelta { delta, .. } => delta.text().len(),
            _ => 0,
        }
    }
}

/// Who has made a call. The model sees only its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Caller {
    /// The model.
    Model,
    /// The tool of this call, which prompts the user.
    Tool(ToolCallId),
    /// The token budget, which asks whether the turn may go on.
    Budget,
}

impl Caller {
    /// The call whose tool prompts the user.
    pub fn tool(&self) -> Option<&ToolCallId> {
        match self {
            Self::Tool(call) => Some(call),
            Self::Model | Self::Budget => None,
        }
    }
}

/// The first of the messages that are cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The message.
    pub message: MessageId,
    /// Its position.
    pub at: u64,
}

/// The result of a tool's own check whether a call needs approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The reason for the approval request; `None` if the call may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The settings of a turn that has yet to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextTurn {
    /// The order in which calls are started.
    pub order: CallOrder,
    /// Whether its client wants text held back while an approval request is still possible.
    pub holds_text: bool,
    /// Whether its responses end at every frontend call, whatever the tool says.
    pub is_resubmit: bool,
}

/// The order in which the calls of a step are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOrder {
    /// All at once (over HTTP).
    Together,
    /// Each after the previous one is settled (on `/live`).
    OneByOne,
}

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum BlockKind {
    Text,
    Reasoning,
}

/// The error text of a call that a newer message superseded.
pub const SUPERSEDED: &str = "superseded by a newer message: not done";

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The output.
    Output(#[serde(deserialize_with = "json::value")] Value),
    /// The error text.
    Error(String),
    /// A person denied it.
    Denied {
        /// The reason.
        reason: Option<String>,
    },
}

impl Outcome {
    /// The outcome as shown to people and the model. A superseded call is shown as an error, because nobody denied it.
    pub fn told(&self, cause: Cause) -> Self {
        match self {
            Outcome::Denied { .. } if cause == Cause::Superseded => Outcome::Error(SUPERSEDED.to_owned()),
            other => other.clone(),
        }
    }

    /// The outcome for clients without denials: a denial is an error with the person's reason.
    pub fn without_denial(self) -> Self {
        match self {
            Outcome::Denied { reason } => Outcome::Error(Self::denial_text(reason.as_deref())),
            other => other,
        }
    }

    /// A denial in words, for the model and for clients without denials.
    pub fn denial_text(reason: Option<&str>) -> String {
        match reason {
            Some(reason) => format!("User denied the tool call: {reason}"),
            None => "User denied the tool call".to_owned(),
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnEnd {
    /// The model finished.
    Finished {
        /// The model's finish reason.
        reason: FinishReason,
    },
    /// The model failed.
    Failed {
        /// The error message for the user.
        message: String,
    },
    /// It was stopped.
    Stopped {
        /// The reason.
        reason: Option<String>,
    },
    /// A newer message arrived while it waited.
    Superseded,
}

/// The text of a user message, for the title and for the model.
pub fn text_of(message: &UiMessage) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
