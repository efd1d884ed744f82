//! A chat request: a new message, an edit, another answer, or answers to what is held. The client's copy of the history is never
//! trusted: an approval counts only for a call that is held here, with the input that was shown.

use holdpoint_protocol::{
    ids::{MessageId, ToolCallId},
    message::{ClientMessage, Part, Role, ToolState, UiMessage},
    request::{AckStatus, Answer, ChatRequest, ClientResult, Trigger},
};

use super::{Answered, Draft, Env, Follow, FrontendResult, Rejection, Reply, Stage, Submit, answers, calls};
use crate::{fact::Fact, subject::Subject};

pub(super) fn submit(draft: &mut Draft<'_>, submit: Submit, env: &mut Env<'_>) -> Reply {
    let Submit { request, subject, order, holds_text, is_resubmit } = submit;
    let before = draft.facts.len();
    let begun = match request.trigger {
        Trigger::RegenerateMessage => regenerate(draft, &request, env),
        Trigger::SubmitMessage => match new_message(draft, &request) {
            Some(message) => say(draft, message, &request, &subject, env),
            None => return answer(draft, &request, subject, env),
        },
    };
    if let Err(rejection) = begun {
        draft.facts.truncate(before);
        return Reply::Rejected(rejection);
    }
    let from = draft.state.len;
    let message = env.message_id();
    let model = env.model.to_owned();
    let can_ask = env.tools.can_ask();
    draft.push(Fact::TurnStarted { message, order, holds_text, can_ask, is_resubmit, model, at: env.now });
    draft.push(Fact::StepStarted);
    Reply::Follow(Follow::from(from))
}

/// The last message, if it is the user's and new: its id is unknown or missing, or `messageId` names it (an edit).
fn new_message<'a>(draft: &Draft<'_>, request: &'a ChatRequest) -> Option<&'a ClientMessage> {
    let last = request.messages.last().filter(|message| message.role == Role::User)?;
    let is_known = |id: &MessageId| draft.state.messages.iter().any(|(known, ..)| known == id);
    let is_new = last.id.as_ref().is_none_or(|id| !is_known(id) || request.message_id.as_ref() == Some(id));
    is_new.then_some(last)
}

fn say(
    draft: &mut Draft<'_>,
    message: &ClientMessage,
    request: &ChatRequest,
    subject: &Subject,
    env: &mut Env<'_>,
) -> Result<(), Rejection> {
    let has_content = message.parts.iter().any(|part| match part {
        Part::Text(text) => !text.text.trim().is_empty(),
        Part::File(_) => true,
        _ => false,
    });
    if !has_content {
        return Err(Rejection::NothingToDo);
    }
    if draft.state.subject.is_none() {
        draft.push(Fact::Opened { subject: subject.clone() });
        let earlier = request.messages.split_last().map_or(&[][..], |(_, earlier)| earlier);
        if !earlier.is_empty() {
            let messages = earlier.iter().map(|message| own(message, env)).collect();
            draft.push(Fact::Context { messages });
        }
    }
    // What a browser has done is not undone by what the user says next.
    for answer in request.messages.iter().flat_map(ClientMessage::answers) {
        if let Answer::Result { tool_call_id, result } = answer {
            answers::keep_result(draft, &tool_call_id, &frontend_result(result), env);
        }
    }
    calls::supersede(draft, env);
    // `messageId` names what is edited: the message itself, or (its id may be missing) the one that it replaces.
    let edited = request
        .message_id
        .as_ref()
        .filter(|id| draft.state.messages.iter().any(|(known, role, _)| known == *id && *role == Role::User));
    let cut = edited.cloned();
    let mut message = own(message, env);
    if message.id.as_str().is_empty()
        || draft.state.messages.iter().any(|(known, ..)| *known == message.id) && cut.is_none()
    {
        message.id = env.message_id();
    }
    draft.push(Fact::Said { message, cut });
    Ok(())
}

fn own(message: &ClientMessage, env: &mut Env<'_>) -> UiMessage {
    let id = message.id.clone().unwrap_or_else(|| env.message_id());
    UiMessage { id, role: message.role, metadata: message.metadata.clone(), parts: message.parts.clone() }
}

fn regenerate(draft: &mut Draft<'_>, request: &ChatRequest, env: &mut Env<'_>) -> Result<(), Rejection> {
    let messages = &draft.state.messages;
    let named = request.message_id.as_ref().and_then(|id| messages.iter().position(|(known, ..)| known == id));
    let last = messages.iter().rposition(|(_, role, _)| *role == Role::Assistant);
    let cut = match named.or(last) {
        // A user message is answered again: what came after it is taken back.
        Some(at) if messages[at].1 == Role::User => messages.get(at + 1).map(|(id, ..)| id.clone()),
        Some(at) => Some(messages[at].0.clone()),
        None => None,
    };
    let kept =
        cut.as_ref().and_then(|id| messages.iter().position(|(known, ..)| known == id)).unwrap_or(messages.len());
    if messages[..kept].last().is_none_or(|(_, role, _)| *role != Role::User) {
        return Err(Rejection::NothingToRegenerate);
    }
    calls::supersede(draft, env);
    draft.push(Fact::Regenerated { cut });
    Ok(())
}

/// Takes the answers of a request that brings no new message.
fn answer(draft: &mut Draft<'_>, request: &ChatRequest, subject: Subject, env: &mut Env<'_>) -> Reply {
    let Some((last, earlier)) = request.messages.split_last() else { return Reply::Rejected(Rejection::NothingToDo) };
    if draft.state.subject.is_none() {
        return Reply::Rejected(Rejection::NothingToDo);
    }
    let from = draft.state.len;
    for answer in earlier.iter().flat_map(ClientMessage::answers) {
        take(draft, answer, &subject, env);
    }
    let answers = last.answers();
    let latest = answers.iter().filter_map(|answer| position(draft, answer)).max();
    let (mut contradictions, mut others, mut strange) = (0, 0, 0);
    // What the client shows of these is not what stands: it is told.
    let mut unsettled: Vec<ToolCallId> = Vec::new();
    for answer in answers {
        let call = match &answer {
            Answer::Result { tool_call_id, .. } => Some(tool_call_id.clone()),
            Answer::Approval { .. } => None,
        };
        let is_approval = call.is_none();
        let taken = take(draft, answer, &subject, env);
        if matches!(taken, Answered::Contradicts | Answered::TooLate) {
            unsettled.extend(call);
        }
        match taken {
            Answered::Contradicts => contradictions += 1,
            // A result that is not the browser's to give is the client's copy of the history; a question that was never asked is not.
            Answered::Unknown => strange += u32::from(is_approval),
            _ => others += 1,
        }
    }
    calls::go_on(draft, env);
    let answered = last.parts.iter().filter_map(Part::as_tool);
    let answered = answered.filter(|tool| tool.state == ToolState::ApprovalResponded);
    unsettled.extend(answered.map(|tool| tool.tool_call_id.clone()));
    if draft.state.len > from {
        return Reply::Follow(Follow { unsettled, ..Follow::from(from) });
    }
    if contradictions > 0 && others == 0 {
        return Reply::Rejected(Rejection::Contradicts);
    }
    if strange > 0 && others == 0 {
        return Reply::Rejected(Rejection::NoSuchQuestion);
    }
    // Somebody else was first, or the request was sent twice: the response shows what followed.
    let is_repeated = last.role == Role::User;
    let turn = draft.state.messages.iter().rfind(|(_, role, _)| *role == Role::Assistant).filter(|_| is_repeated);
    let at = latest.or(turn.map(|(.., position)| *position));
    // A call whose approval it has answered may have to be announced to it once more.
    let has = last.parts.iter().filter_map(Part::as_tool).filter(|tool| tool.state != ToolState::ApprovalResponded);
    let is_settled = |state: ToolState| {
        matches!(state, ToolState::OutputAvailable | ToolState::OutputError | ToolState::OutputDenied)
    };
    let has_outcome = has.clone().filter(|tool| is_settled(tool.state) && !unsettled.contains(&tool.tool_call_id));
    let has_outcome = has_outcome.map(|tool| tool.tool_call_id.clone()).collect();
    let has = has.map(|tool| tool.tool_call_id.clone()).collect();
    Reply::Follow(Follow { from: at.unwrap_or(from), is_replay: at.is_some(), unsettled, has, has_outcome })
}

fn take(draft: &mut Draft<'_>, answer: Answer, subject: &Subject, env: &mut Env<'_>) -> Answered {
    match answer {
        Answer::Approval { approval_id, approved, reason } => {
            answers::decision(draft, &approval_id, approved, reason, subject.clone(), env)
        }
        Answer::Result { tool_call_id, result } => answers::result(draft, &tool_call_id, &frontend_result(result), env),
    }
}

fn frontend_result(result: ClientResult) -> FrontendResult {
    match result {
        ClientResult::Output(output) => {
            FrontendResult { status: AckStatus::Success, output: Some(output), error_text: None, ack: None }
        }
        ClientResult::Error(text) => {
            FrontendResult { status: AckStatus::Failed, output: None, error_text: Some(text), ack: None }
        }
    }
}

/// Where in the log the thing stands that this answer answers, if it was settled before.
fn position(draft: &Draft<'_>, answer: &Answer) -> Option<u64> {
    let call = match answer {
        Answer::Approval { approval_id, .. } => draft.call(draft.state.approvals.get(approval_id)?)?,
        Answer::Result { tool_call_id, .. } => draft.call(tool_call_id)?,
    };
    let decided = call.question.as_ref().and_then(|question| question.answer).map(|(_, position)| position);
    let settled = match call.stage {
        Stage::Settled { position, .. } => Some(position),
        _ => None,
    };
    // An answer to calls of earlier turns is history, not news.
    let turn = draft.state.messages.iter().rfind(|(_, role, _)| *role == Role::Assistant)?.2;
    decided.or(settled).filter(|position| *position >= turn)
}
