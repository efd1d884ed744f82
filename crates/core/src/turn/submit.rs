//! Chat requests: a new message, an edit, a regenerate, or answers to holds. The client's copy of the history is never
//! trusted: an approval counts only for a call that is held here, with the input that was shown.

use holdpoint_protocol::{
    ids::{MessageId, ToolCallId},
    message::{ClientMessage, Role},
    request::{Answer, ChatRequest, ClientResult, MAX_REASON_BYTES, Trigger},
};

use super::{Answered, Draft, Env, Rejection, Reply, Submit, Submitted, TakenAnswer, answers, calls, message};
use crate::{
    call::{Call, Stage},
    fact::{Cut, Fact, NextTurn},
    identity::Identity,
    tool::Execution,
    value::{ValueError, admit_sized},
};

pub(super) fn submit(draft: &mut Draft<'_>, submit: &Submit, env: &mut Env<'_>) -> Reply {
    let Submit { request, by, next } = submit;
    let taken = match request.trigger {
        Trigger::RegenerateMessage => regenerate(draft, request, *next, env),
        Trigger::SubmitMessage => match new_message(draft, request) {
            Some(message) => say(draft, message, request, by, *next, env),
            None => answer(draft, request, by, env),
        },
    };
    match taken {
        Ok(submitted) => Reply::Submitted(submitted),
        Err(rejection) => Reply::Rejected(rejection),
    }
}

/// The last message, if it is a new user message: its id is unknown or missing, or `messageId` names it (an edit). A
/// message with nothing but answers does not count.
fn new_message<'a>(draft: &Draft<'_>, request: &'a ChatRequest) -> Option<&'a ClientMessage> {
    let last = request.messages.last().filter(|message| message.role == Role::User)?;
    let is_known = |id: &MessageId| draft.state.message(id).is_some();
    let is_new = last.id.as_ref().is_none_or(|id| !is_known(id) || request.message_id.as_ref() == Some(id));
    let is_message = message::has_content(last) || last.answers().is_empty();
    (is_new && is_message).then_some(last)
}

fn say(
    draft: &mut Draft<'_>,
    message: &ClientMessage,
    request: &ChatRequest,
    by: &Identity,
    next: NextTurn,
    env: &mut Env<'_>,
) -> Result<Submitted, Rejection> {
    if !message::has_content(message) {
        return Err(Rejection::NothingToDo);
    }
    if let Some(refusal) = env.refuses {
        return Err(refusal.into());
    }
    let mut said = message::user_message(message, env)?;
    if draft.state.subject.is_none() {
        let earlier = request.messages.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let messages = message::context(earlier, env)?;
        draft.push(Fact::Opened { subject: by.subject().clone() });
        if !messages.is_empty() {
            draft.push(Fact::Context { messages });
        }
    }
    let mut answers: Vec<Answer> =
        message::answers(&request.messages).into_iter().filter(|answer| is_news(draft, answer)).collect();
    answers.sort_by_key(|answer| answers::order(draft, answer));
    admit_answers(draft, &answers)?;
    // `messageId` names the edited message: this one, or the one it replaces if this one has no id.
    let edited = |id: &MessageId| draft.state.message(id).filter(|(role, _)| *role == Role::User);
    let cut = request.message_id.as_ref().and_then(|id| Some(Cut { message: id.clone(), at: edited(id)?.1 }));
    if cut.is_none() && draft.state.message(&said.id).is_some() {
        said.id = env.message_id();
    }
    if env.is_elsewhere {
        // The node that runs the turn starts what the answers release, and begins the new turn.
        draft.push(Fact::Said { message: said, cut, next: Some(next) });
        let is_superseded = answers.is_empty();
        for answer in answers {
            answers::take(draft, answer, by, env);
        }
        if is_superseded {
            calls::request_stop(draft, Some("superseded".to_owned()), true);
        }
    } else if answers.is_empty() {
        calls::supersede(draft, env);
        draft.push(Fact::Said { message: said, cut, next: None });
        calls::begin(draft, next, env);
    } else {
        // Store the message first. The calls that the answers release are settled before its turn begins.
        draft.push(Fact::Said { message: said, cut, next: Some(next) });
        let mut released = Vec::new();
        for answer in answers {
            released.extend(call_of(draft, &answer).cloned());
            answers::take(draft, answer, by, env);
        }
        answers::carry_out(draft, env);
        released.retain(|id| draft.call(id).is_some_and(Call::runs_here));
        calls::supersede_calls(draft, &released, env);
        calls::resume_if_idle(draft, env);
    }
    Ok(Submitted::Turn)
}

fn regenerate(
    draft: &mut Draft<'_>,
    request: &ChatRequest,
    next: NextTurn,
    env: &mut Env<'_>,
) -> Result<Submitted, Rejection> {
    let messages = &draft.state.messages[..];
    let named = request.message_id.as_ref().and_then(|id| draft.state.find_message(id));
    let last = || Some((messages, messages.iter().rposition(|(_, role, _)| *role == Role::Assistant)?));
    let (messages, kept) = match named.or_else(last) {
        // The user message gets a new answer: everything after it is cut.
        Some((messages, at)) if messages[at].1 == Role::User => (messages, at + 1),
        Some((messages, at)) => (messages, at),
        None => (messages, messages.len()),
    };
    if messages[..kept].last().is_none_or(|(_, role, _)| *role != Role::User) {
        return Err(Rejection::NothingToRegenerate);
    }
    let cut = messages.get(kept).map(|(id, _, position)| Cut { message: id.clone(), at: *position });
    if let Some(refusal) = env.refuses {
        return Err(refusal.into());
    }
    if env.is_elsewhere {
        draft.push(Fact::Regenerated { cut, next: Some(next) });
        calls::request_stop(draft, Some("superseded".to_owned()), true);
        return Ok(Submitted::Turn);
    }
    calls::supersede(draft, env);
    draft.push(Fact::Regenerated { cut, next: None });
    calls::begin(draft, next, env);
    Ok(Submitted::Turn)
}

/// Takes the answers of a request without a new message.
fn answer(
    draft: &mut Draft<'_>,
    request: &ChatRequest,
    by: &Identity,
    env: &mut Env<'_>,
) -> Result<Submitted, Rejection> {
    let at = request.continued().ok_or(Rejection::NothingToDo)?;
    let last = &request.messages[at];
    if draft.state.subject.is_none() {
        return Err(Rejection::NothingToDo);
    }
    let news = message::answers(&request.messages).into_iter().filter(|answer| is_news(draft, answer));
    admit_answers(draft, &news.collect::<Vec<_>>())?;
    let from = draft.state.len;
    let earlier = request.messages.iter().enumerate().filter(|(other, _)| *other != at);
    let earlier = earlier.flat_map(|(_, message)| message.answers()).map(|answer| (answer, false));
    let mut answers: Vec<(Answer, bool)> =
        earlier.chain(last.answers().into_iter().map(|answer| (answer, true))).collect();
    answers.sort_by_key(|(answer, _)| answers::order(draft, answer));
    let mut taken = Vec::new();
    for (answer, is_last) in answers {
        let call = call_of(draft, &answer).cloned();
        let approved = match &answer {
            Answer::Approval { approved, .. } => Some(*approved),
            Answer::Result { .. } => None,
        };
        let is_recorded = answers::is_recorded(draft, &answer);
        let answered = answers::take(draft, answer, by, env);
        if is_last {
            taken.push(TakenAnswer { call, approved, is_recorded, answered });
        }
    }
    calls::advance(draft, env);
    if draft.state.len == from {
        // A result of a call that does not run in the browser is just the client's copy of the history. An unknown
        // approval id is an error.
        let is_unknown = |taken: &TakenAnswer| taken.answered == Answered::Unknown;
        if taken.iter().all(is_unknown) {
            if taken.iter().any(|taken| taken.approved.is_some()) {
                return Err(Rejection::NoSuchQuestion);
            }
            if last.role == Role::Assistant && !is_known(draft, last) {
                // The client continues a message of a chat that was deleted, or of another backend.
                return Err(Rejection::NothingToDo);
            }
        }
    }
    Ok(Submitted::Answers { before: from, taken })
}

/// Whether a message is in the chat, or was in a turn of it that was cut.
fn is_known(draft: &Draft<'_>, message: &ClientMessage) -> bool {
    let is_it = |id: &MessageId| message.id.as_ref() == Some(id);
    let is_there = message.id.as_ref().is_some_and(|id| draft.state.message(id).is_some());
    is_there || draft.state.turns.iter().any(|(_, id)| is_it(id))
}

/// Whether an answer is for a call that waits for it, or that it has already released.
fn is_news(draft: &Draft<'_>, answer: &Answer) -> bool {
    let Some(call) = call_of(draft, answer).and_then(|id| draft.call(id)) else { return false };
    match answer {
        Answer::Approval { approved, .. } => call.is_asked() || *approved && call.runs_here(),
        Answer::Result { .. } => {
            call.execution == Execution::Frontend && matches!(call.stage(), Stage::Running(_) | Stage::Asked(_))
        }
    }
}

/// Checks that every result, and the reason of every decision, fits into the log. Otherwise nothing of the request is taken.
fn admit_answers(draft: &Draft<'_>, answers: &[Answer]) -> Result<(), Rejection> {
    for answer in answers {
        match answer {
            Answer::Result { result: ClientResult::Output(output), .. } => admit_sized(output)
                .map_err(|error| Rejection::InvalidValue { what: "messages: a tool's output", error })?,
            Answer::Approval { reason: Some(reason), .. }
                if reason.len() > MAX_REASON_BYTES && is_news(draft, answer) =>
            {
                let error = ValueError::TooLarge { limit: MAX_REASON_BYTES };
                return Err(Rejection::InvalidValue { what: "messages: the reason of an approval", error });
            }
            Answer::Result { .. } | Answer::Approval { .. } => {}
        }
    }
    Ok(())
}

fn call_of<'a>(draft: &'a Draft<'_>, answer: &'a Answer) -> Option<&'a ToolCallId> {
    match answer {
        Answer::Approval { approval_id, .. } => draft.state.approvals.get(approval_id),
        Answer::Result { tool_call_id, .. } => Some(tool_call_id),
    }
}
