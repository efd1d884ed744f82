//! What an input refers to in turns that a partial state does not have.

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    message::{ClientMessage, Role},
    request::{Answer, ChatRequest, Trigger},
};

use super::Input;
use crate::{chat::Chat, fact::Fact};

/// The maximum number of ids to look up. A request with more needs all turns.
const MAX_IDS: usize = 32;

/// What must be known of the turns before a partial state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedsEarlier {
    /// The turns of these ids, as far as they are known in the chat, each added to the state
    /// ([`Chat::include`]). If it is not known which messages of such a turn were cut, and the input is a request:
    /// all turns. Whether that is sufficient is to be asked again.
    If(Vec<EarlierId>),
    /// All turns.
    Always,
}

/// An id that is not in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EarlierId {
    /// Of a message.
    Message(MessageId),
    /// Of a call.
    Call(ToolCallId),
    /// Of an approval request.
    Approval(ApprovalId),
}

impl EarlierId {
    /// Whether a fact introduces it.
    pub fn is_of(&self, fact: &Fact) -> bool {
        match (self, fact) {
            (Self::Message(id), Fact::Said { message, .. }) => message.id == *id,
            (Self::Message(id), Fact::Context { messages }) => messages.iter().any(|message| message.id == *id),
            (Self::Message(id), Fact::TurnStarted { message, .. }) => message == id,
            (Self::Call(id), Fact::Called { call, .. } | Fact::Invalid { call, .. }) => call == id,
            (Self::Approval(id), Fact::Asked { approval, .. }) => approval == id,
            _ => false,
        }
    }
}

/// What an input needs of the turns before this state. With that, [`step`](super::step) replies as with all turns.
pub fn needs_earlier(state: &Chat, input: &Input) -> NeedsEarlier {
    let mut ids = Vec::new();
    if state.is_partial {
        match input {
            Input::Submit(submit) => match submit.request.trigger {
                Trigger::RegenerateMessage => {
                    if regenerates_earlier(state, &submit.request, &mut ids) {
                        return NeedsEarlier::Always;
                    }
                }
                Trigger::SubmitMessage => {
                    submitted(state, &submit.request, &mut ids);
                    if repeats_earlier(state, &submit.request) {
                        return NeedsEarlier::Always;
                    }
                }
            },
            Input::Result { call, .. } => look_for_call(state, call, &mut ids),
            Input::Decide { approval, .. } => look_for_approval(state, approval, &mut ids),
            _ => {}
        }
    }
    if ids.len() > MAX_IDS { NeedsEarlier::Always } else { NeedsEarlier::If(ids) }
}

fn submitted(state: &Chat, request: &ChatRequest, ids: &mut Vec<EarlierId>) {
    request.message_id.iter().for_each(|id| look_for_message(state, id, ids));
    let Some(last) = request.messages.last() else { return };
    let named = |message: &&ClientMessage| message.role == Role::Assistant && message.id == request.message_id;
    let named = request.messages.iter().rev().find(named).filter(|_| request.message_id.is_some());
    for message in std::iter::once(last).chain(named) {
        message.id.iter().for_each(|id| look_for_turn(state, id, ids));
        for answer in message.answers() {
            match &answer {
                Answer::Approval { approval_id, .. } => look_for_approval(state, approval_id, ids),
                Answer::Result { tool_call_id, .. } => look_for_call(state, tool_call_id, ids),
            }
        }
    }
}

/// Whether it is unknown which message answers one that is sent again.
fn repeats_earlier(state: &Chat, request: &ChatRequest) -> bool {
    let last = request.messages.last().filter(|last| last.role == Role::User && last.id != request.message_id);
    let said = last.and_then(|last| state.find_message(last.id.as_ref()?));
    said.is_some_and(|(messages, at)| at + 1 == messages.len() && !is_late(state, messages[at].2))
}

/// Whether it is unknown which message comes before or after the one to answer again.
fn regenerates_earlier(state: &Chat, request: &ChatRequest, ids: &mut Vec<EarlierId>) -> bool {
    let named = request.message_id.as_ref().and_then(|id| state.find_message(id));
    if let (Some(id), None) = (&request.message_id, named) {
        ids.push(EarlierId::Message(id.clone()));
    }
    match named {
        Some((messages, at)) if messages[at].1 == Role::User => {
            at + 1 == messages.len() && !is_late(state, messages[at].2)
        }
        Some((_, at)) => at == 0,
        None => state.messages.iter().rposition(|(_, role, _)| *role == Role::Assistant).is_none_or(|at| at == 0),
    }
}

/// Whether nothing is missing behind a message of this position.
fn is_late(state: &Chat, position: u64) -> bool {
    state.messages.first().is_some_and(|(.., first)| *first <= position)
}

/// Whether the message belongs to a turn that is not the last one.
fn look_for_turn(state: &Chat, id: &MessageId, ids: &mut Vec<EarlierId>) {
    let is_known = state.message(id).is_some_and(|(role, _)| role != Role::Assistant)
        || state.turns.iter().any(|(_, known)| known == id);
    if !is_known {
        ids.push(EarlierId::Message(id.clone()));
    }
}

fn look_for_message(state: &Chat, id: &MessageId, ids: &mut Vec<EarlierId>) {
    if state.message(id).is_none() {
        ids.push(EarlierId::Message(id.clone()));
    }
}

fn look_for_call(state: &Chat, id: &ToolCallId, ids: &mut Vec<EarlierId>) {
    if !state.calls.contains(id) {
        ids.push(EarlierId::Call(id.clone()));
    }
}

fn look_for_approval(state: &Chat, id: &ApprovalId, ids: &mut Vec<EarlierId>) {
    if !state.approvals.contains_key(id) {
        ids.push(EarlierId::Approval(id.clone()));
    }
}
