//! What an input refers to in turns that a partial state does not have.

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    message::{ClientMessage, Role},
    request::{Answer, ChatRequest, Trigger},
};

use super::{ChatState, Input};

/// The maximum number of ids to look up. A request with more needs all turns.
const MAX_IDS: usize = 32;

/// What must be known of the turns before a partial state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedsEarlier {
    /// All turns, if one of these ids is known in the chat; nothing if there are none.
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

/// What an input needs of the turns before this state. With that, [`step`](super::step) replies as with all turns.
pub fn needs_earlier(state: &ChatState, input: &Input) -> NeedsEarlier {
    let mut ids = Vec::new();
    if state.is_partial {
        match input {
            Input::Submit(submit) => match submit.request.trigger {
                Trigger::RegenerateMessage => {
                    if regenerates_earlier(state, &submit.request, &mut ids) {
                        return NeedsEarlier::Always;
                    }
                }
                Trigger::SubmitMessage => submitted(state, &submit.request, &mut ids),
            },
            Input::Result { call, .. } => look_for_call(state, call, &mut ids),
            Input::Decide { approval, .. } => look_for_approval(state, approval, &mut ids),
            _ => {}
        }
    }
    if ids.len() > MAX_IDS { NeedsEarlier::Always } else { NeedsEarlier::If(ids) }
}

fn submitted(state: &ChatState, request: &ChatRequest, ids: &mut Vec<EarlierId>) {
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

/// Whether the message to answer again comes before all that are in the state.
fn regenerates_earlier(state: &ChatState, request: &ChatRequest, ids: &mut Vec<EarlierId>) -> bool {
    let messages = &state.messages;
    let named = request.message_id.as_ref().and_then(|id| messages.iter().position(|(known, ..)| known == id));
    if let (Some(id), None) = (&request.message_id, named) {
        ids.push(EarlierId::Message(id.clone()));
    }
    match named.or_else(|| messages.iter().rposition(|(_, role, _)| *role == Role::Assistant)) {
        Some(at) => at == 0 && messages[at].1 != Role::User,
        None => true,
    }
}

/// Whether the message belongs to a turn that is not the last one.
fn look_for_turn(state: &ChatState, id: &MessageId, ids: &mut Vec<EarlierId>) {
    let is_known = state.messages.iter().any(|(known, role, _)| known == id && *role != Role::Assistant)
        || state.turns.iter().any(|(_, known)| known == id);
    if !is_known {
        ids.push(EarlierId::Message(id.clone()));
    }
}

fn look_for_message(state: &ChatState, id: &MessageId, ids: &mut Vec<EarlierId>) {
    if state.messages.iter().all(|(known, ..)| known != id) {
        ids.push(EarlierId::Message(id.clone()));
    }
}

fn look_for_call(state: &ChatState, id: &ToolCallId, ids: &mut Vec<EarlierId>) {
    if !state.calls.contains_key(id) {
        ids.push(EarlierId::Call(id.clone()));
    }
}

fn look_for_approval(state: &ChatState, id: &ApprovalId, ids: &mut Vec<EarlierId>) {
    if !state.approvals.contains_key(id) {
        ids.push(EarlierId::Approval(id.clone()));
    }
}
