//! The holds of a chat: every call that waits or waited for somebody, with its decision and outcome.

use std::collections::HashSet;

use holdpoint_protocol::{
    holds::{ChatHold, Decision, DecisionKind, HoldKind, HoldOutcome, HoldState},
    ids::{MessageId, ToolCallId},
};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    fact::{Cause, Fact, Outcome},
    tool::Execution,
};

/// Which calls are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listed {
    /// Those that wait or waited for somebody.
    #[default]
    Holds,
    /// All of them.
    Calls,
}

/// Builds the list from the facts of a chat, in the order in which the calls were made.
pub fn holds<T: AsRef<Fact>>(facts: &[T], listed: Listed) -> Vec<ChatHold> {
    let mut book = Book::default();
    for fact in facts.iter().map(AsRef::as_ref) {
        book.apply(fact);
    }
    let wanted = |entry: &Entry| match listed {
        Listed::Holds => entry.was_held,
        Listed::Calls => entry.was_begun,
    };
    book.entries.into_iter().filter(wanted).map(|entry| entry.hold).collect()
}

#[derive(Default)]
struct Book {
    entries: Vec<Entry>,
    /// The messages of the conversation as it stands.
    messages: Vec<MessageId>,
    /// The message that is being written.
    message: Option<MessageId>,
    /// When the turn began.
    started_at: Timestamp,
    /// Where the calls of the current step begin.
    step: usize,
}

struct Entry {
    hold: ChatHold,
    execution: Execution,
    /// Whether anybody was told of it.
    was_begun: bool,
    was_held: bool,
}

impl Book {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Context { messages } => self.messages.extend(messages.iter().map(|message| message.id.clone())),
            Fact::Said { message, cut, .. } => {
                self.cut(cut.as_ref());
                self.messages.push(message.id.clone());
            }
            Fact::Regenerated { cut } => self.cut(cut.as_ref()),
            Fact::TurnStarted { message, at, .. } => {
                self.messages.push(message.clone());
                // Calls that were cut are shown with the turn that took the place of theirs.
                for entry in self.entries.iter_mut().filter(|entry| entry.hold.message_id.is_none()) {
                    entry.hold.message_id = Some(message.clone());
                }
                self.message = Some(message.clone());
                self.started_at = *at;
                self.step = self.entries.len();
            }
            Fact::StepStarted => self.step = self.entries.len(),
            Fact::StepAbandoned => self.entries.truncate(self.step),
            Fact::Called { call, name, input, execution, asked_by, .. } => {
                let kind = match (asked_by, execution) {
                    (Some(_), _) => HoldKind::Prompt,
                    (None, Execution::Frontend) => HoldKind::Frontend,
                    _ => HoldKind::None,
                };
                self.add(call, name, input, kind, *execution);
            }
            Fact::Invalid { call, name, input, error } => {
                self.add(call, name, input, HoldKind::None, Execution::Server);
                let (outcome, at) = (Outcome::Error(error.clone()), self.started_at);
                self.change(call, |entry| {
                    entry.was_begun = true;
                    entry.hold.state = HoldState::Settled;
                    entry.hold.outcome = Some(settled(&outcome, Cause::Refused, at));
                });
            }
            Fact::Asked { call, approval, at, expires, .. } => self.change(call, |entry| {
                entry.was_begun = true;
                entry.was_held = true;
                entry.hold.kind = HoldKind::Approval;
                entry.hold.approval_id = Some(approval.clone());
                entry.hold.requested_at = at.iso8601();
                entry.hold.expires_at = expires.map(Timestamp::iso8601);
                entry.hold.allowed = vec![DecisionKind::Approve, DecisionKind::Deny];
            }),
            Fact::Decided { call, approved, reason, by, at } => self.change(call, |entry| {
                let kind = if *approved { DecisionKind::Approve } else { DecisionKind::Deny };
                let by = vec![by.as_str().to_owned()];
                entry.hold.decision = Some(Decision { kind, by, at: at.iso8601(), reason: reason.clone() });
                entry.hold.allowed.clear();
                entry.hold.expires_at = None;
            }),
            Fact::Started { call, deadline, at } => self.change(call, |entry| {
                entry.was_begun = true;
                entry.hold.expires_at = deadline.map(Timestamp::iso8601);
                if entry.hold.decision.is_none()
                    && let Some(at) = at
                {
                    entry.hold.requested_at = at.iso8601();
                }
                entry.hold.state = match entry.execution {
                    Execution::Frontend => {
                        entry.was_held = true;
                        if entry.hold.kind == HoldKind::Approval {
                            entry.hold.kind = HoldKind::Frontend;
                        }
                        HoldState::Waiting
                    }
                    Execution::Server | Execution::Delegate => HoldState::Running,
                };
            }),
            Fact::Settled { call, outcome, cause, at } => self.change(call, |entry| {
                entry.hold.state = HoldState::Settled;
                entry.hold.expires_at = None;
                entry.hold.allowed.clear();
                entry.hold.outcome = Some(settled(outcome, *cause, *at));
            }),
            _ => {}
        }
    }

    fn add(&mut self, call: &ToolCallId, name: &str, input: &Value, kind: HoldKind, execution: Execution) {
        let hold = ChatHold {
            tool_call_id: call.clone(),
            tool_name: name.to_owned(),
            input: input.clone(),
            kind,
            state: HoldState::Waiting,
            approval_id: None,
            requested_at: self.started_at.iso8601(),
            expires_at: None,
            allowed: Vec::new(),
            decision: None,
            outcome: None,
            cut: false,
            message_id: self.message.clone(),
        };
        self.entries.push(Entry { hold, execution, was_begun: false, was_held: false });
    }

    fn change(&mut self, call: &ToolCallId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.iter_mut().rfind(|entry| entry.hold.tool_call_id == *call) {
            change(entry);
        }
    }

    /// Takes back a message and everything after it. The calls stay: what they did was done.
    fn cut(&mut self, from: Option<&MessageId>) {
        let Some(at) = from.and_then(|id| self.messages.iter().position(|message| message == id)) else { return };
        let gone: HashSet<MessageId> = self.messages.drain(at..).collect();
        for entry in &mut self.entries {
            if entry.hold.message_id.as_ref().is_some_and(|message| gone.contains(message)) {
                entry.hold.cut = true;
                entry.hold.message_id = None;
            }
        }
    }
}

fn settled(outcome: &Outcome, cause: Cause, at: Timestamp) -> HoldOutcome {
    let (output, error_text) = match outcome {
        Outcome::Output(output) => (Some(output.clone()), None),
        Outcome::Error(text) => (None, Some(text.clone())),
        Outcome::Denied { .. } => (None, None),
    };
    HoldOutcome { cause, at: at.iso8601(), output, error_text }
}
