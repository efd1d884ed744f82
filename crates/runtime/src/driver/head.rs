//! The head of a chat: what lists, the inbox and a restarted server know of it without reading it.

use bytes::Bytes;
use holdpoint_protocol::ids::{ApprovalId, ToolCallId};
use serde::{Deserialize, Serialize};

use crate::{clock::Timestamp, log, subject::Subject, turn::ChatState};

/// A call that waits for somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The call.
    pub call: ToolCallId,
    /// The tool.
    pub name: Box<str>,
    /// The input that was shown, as JSON text: there can be very many holds.
    pub input: Box<str>,
    /// The question to a person, if it waits for one.
    pub question: Option<HoldQuestion>,
    /// When it began to wait; older heads do not say.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// When its time is up.
    pub deadline: Option<Timestamp>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldQuestion {
    /// Its id.
    pub approval: ApprovalId,
    /// Why it is asked.
    pub reason: Box<str>,
    /// When it was asked.
    pub asked_at: Timestamp,
}

/// The runtime's part of a [`log::Head`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HeadData {
    /// The beginning of the first thing that the user said.
    pub(super) title: String,
    /// Whether the server itself was doing something.
    pub(super) is_running: bool,
    pub(super) holds: Vec<Hold>,
}

impl HeadData {
    pub(super) fn of(state: &ChatState, title: &str) -> Self {
        let holds = state.open_calls().filter(|(_, call)| call.is_held()).map(|(id, call)| Hold {
            call: id.clone(),
            name: call.name.as_str().into(),
            input: call.input.to_string().into(),
            question: call.question.as_ref().filter(|question| question.answer.is_none()).map(|question| {
                HoldQuestion {
                    approval: question.approval.clone(),
                    reason: question.reason.as_str().into(),
                    asked_at: question.asked_at,
                }
            }),
            since: call.since(),
            deadline: call.deadline(),
        });
        Self { title: title.to_owned(), is_running: state.is_running(), holds: holds.collect() }
    }

    pub(super) fn read(head: &log::Head) -> Self {
        serde_json::from_slice(&head.data).unwrap_or_default()
    }

    pub(super) fn write(&self, subject: &Subject, now: Timestamp) -> log::Head {
        let data = Bytes::from(serde_json::to_vec(self).unwrap_or_default());
        let is_open = self.is_running || !self.holds.is_empty();
        log::Head { subject: subject.clone(), is_open, updated_at: now, data }
    }
}
