//! Chat requests: a new message, an edit, a regenerate, or answers to holds. The client's copy of the history is never
//! trusted: an approval counts only for a call that is held here, with the input that was shown.

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    message::{ClientMessage, Part, Role, ToolPart, ToolState},
    request::{Answer, ChatRequest, ClientResult, MAX_REASON_BYTES, Trigger},
};

use super::{
    Answered, ClientHas, Draft, Earlier, Env, PlannedTurn, Rejection, Reply, ResponsePlan, Submit, answers, calls,
    message,
};
use crate::{
    call::{Call, Stage},
    chat::KnownMessage,
    fact::{Cause, Cut, Fact, NextTurn, Outcome},
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
        Ok(plan) => Reply::Response(plan),
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
) -> Result<ResponsePlan, Rejection> {
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
    Ok(match draft.state.next.len().checked_sub(1) {
        Some(before) => ResponsePlan { turn: PlannedTurn::Next { before }, ..ResponsePlan::from(draft.state.len) },
        None => new_turn(draft),
    })
}

/// A plan for the turn that has just begun.
fn new_turn(draft: &Draft<'_>) -> ResponsePlan {
    let begun = draft.state.turns.last().map_or(draft.state.len, |(position, _)| *position);
    ResponsePlan { turn: PlannedTurn::New, ..ResponsePlan::from(begun) }
}

fn regenerate(
    draft: &mut Draft<'_>,
    request: &ChatRequest,
    next: NextTurn,
    env: &mut Env<'_>,
) -> Result<ResponsePlan, Rejection> {
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
        let before = draft.state.next.len().saturating_sub(1);
        return Ok(ResponsePlan { turn: PlannedTurn::Next { before }, ..ResponsePlan::from(draft.state.len) });
    }
    calls::supersede(draft, env);
    draft.push(Fact::Regenerated { cut, next: None });
    calls::begin(draft, next, env);
    Ok(new_turn(draft))
}

/// Takes the answers of a request without a new message.
fn answer(
    draft: &mut Draft<'_>,
    request: &ChatRequest,
    by: &Identity,
    env: &mut Env<'_>,
) -> Result<ResponsePlan, Rejection> {
    // A client that continues an older assistant message names it.
    let named = |message: &ClientMessage| message.role == Role::Assistant && message.id == request.message_id;
    let at = request.message_id.as_ref().and_then(|_| request.messages.iter().rposition(named));
    let at = at.or(request.messages.len().checked_sub(1)).ok_or(Rejection::NothingToDo)?;
    let (last, earlier) =
        (&request.messages[at], request.messages.iter().enumerate().filter(|(other, _)| *other != at));
    if draft.state.subject.is_none() {
        return Err(Rejection::NothingToDo);
    }
    let news = message::answers(&request.messages).into_iter().filter(|answer| is_news(draft, answer));
    admit_answers(draft, &news.collect::<Vec<_>>())?;
    let from = draft.state.len;
    let earlier = earlier.flat_map(|(_, message)| message.answers()).map(|answer| (answer, false));
    let mut answers: Vec<(Answer, bool)> =
        earlier.chain(last.answers().into_iter().map(|answer| (answer, true))).collect();
    answers.sort_by_key(|(answer, _)| answers::order(draft, answer));
    let own = || answers.iter().filter(|(_, is_last)| *is_last).map(|(answer, _)| answer);
    let about: Vec<ToolCallId> = own().filter_map(|answer| call_of(draft, answer).cloned()).collect();
    let latest = own().filter_map(|answer| position(draft, answer)).max();
    let overruled = own().filter_map(|answer| overruled(draft, answer)).collect();
    let (mut known, mut strange) = (0, 0);
    // The client shows these calls in a state that is not the real one, so it gets their outcomes.
    let mut unsettled: Vec<ToolCallId> = Vec::new();
    // The results that this request brings. They are confirmed.
    let mut taken_results: Vec<ToolCallId> = Vec::new();
    for (answer, is_last) in answers {
        let call = call_of(draft, &answer).cloned();
        let is_approval = matches!(answer, Answer::Approval { .. });
        // An approval in a part with an outcome is history. Whether the outcome is the real one is up to the result.
        let is_past = is_approval && call.as_ref().is_some_and(|id| shows_outcome(last, id));
        let is_copy = is_past || answers::is_copy(draft, &answer);
        let taken = answers::take(draft, answer, by, env);
        if !is_last {
            continue;
        }
        match taken {
            Answered::Contradicts | Answered::TooLate(_) if !is_copy => unsettled.extend(call),
            Answered::Taken => taken_results.extend(call),
            _ => {}
        }
        match taken {
            // A result of a call that does not run in the browser is just the client's copy of the history. An unknown
            // approval id is an error.
            Answered::Unknown => strange += u32::from(is_approval),
            _ => known += 1,
        }
    }
    calls::advance(draft, env);
    unsettled.extend(responded(last).map(|tool| tool.tool_call_id.clone()));
    // No response was open when these were settled.
    unsettled.extend(unaware(draft, last).map(|tool| tool.tool_call_id.clone()));
    let is_told = |id: &ToolCallId| unsettled.contains(id) || taken_results.contains(id);
    let has = last.parts.iter().filter_map(Part::as_tool).map(|tool| client_has(tool, is_told)).collect();
    let (own_results, still_asked) = (own_results(draft, last), still_asked(draft, last));
    if draft.state.len > from {
        return Ok(ResponsePlan { unsettled, has, own_results, overruled, still_asked, ..ResponsePlan::from(from) });
    }
    if strange > 0 && known == 0 {
        return Err(Rejection::NoSuchQuestion);
    }
    if known == 0 && last.role == Role::Assistant && !is_known(draft, last) {
        // The client continues a message of a chat that was deleted, or of another backend.
        return Err(Rejection::NothingToDo);
    }
    if let Some(earlier) = earlier_turn(draft, last, &about, &unsettled) {
        return Ok(ResponsePlan { overruled, earlier: Some(earlier), ..ResponsePlan::from(from) });
    }
    if let Some(before) = turns_before(draft, last) {
        return Ok(ResponsePlan { turn: PlannedTurn::Next { before }, ..ResponsePlan::from(from) });
    }
    // Another client was first, or the request is a repeat: show what followed.
    let at = latest.or_else(|| turn_of(draft, last));
    let (from, is_replay) = (at.unwrap_or(from), at.is_some());
    Ok(ResponsePlan { is_replay, unsettled, has, own_results, overruled, still_asked, ..ResponsePlan::from(from) })
}

/// The calls that the client shows with a browser's result that is in force.
fn own_results(draft: &Draft<'_>, message: &ClientMessage) -> Vec<ToolCallId> {
    let is_own = |id: &ToolCallId| {
        let settled = draft.call(id).and_then(|call| call.settled.as_ref());
        settled.is_some_and(|settled| settled.cause == Cause::Result)
    };
    let settled = message.parts.iter().filter_map(Part::as_tool).filter(|tool| is_outcome(tool.state));
    settled.map(|tool| &tool.tool_call_id).filter(|id| is_own(id)).cloned().collect()
}

/// Whether a message is in the chat, or was in a turn of it that was cut.
fn is_known(draft: &Draft<'_>, message: &ClientMessage) -> bool {
    let is_it = |id: &MessageId| message.id.as_ref() == Some(id);
    let is_there = message.id.as_ref().is_some_and(|id| draft.state.message(id).is_some());
    is_there || draft.state.turns.iter().any(|(_, id)| is_it(id))
}

/// What the client has of a call. `is_told` says which outcomes are sent all the same.
fn client_has(tool: &ToolPart, is_told: impl Fn(&ToolCallId) -> bool) -> (ToolCallId, ClientHas) {
    let has = match tool.state {
        ToolState::InputStreaming => ClientHas::Start,
        ToolState::InputAvailable => ClientHas::Input,
        ToolState::ApprovalRequested | ToolState::ApprovalResponded => ClientHas::Request,
        ToolState::OutputAvailable | ToolState::OutputError | ToolState::OutputDenied => {
            if is_told(&tool.tool_call_id) { ClientHas::Run } else { ClientHas::Outcome }
        }
    };
    (tool.tool_call_id.clone(), has)
}

/// The position of the turn that answers a stored user message.
fn turn_of(draft: &Draft<'_>, message: &ClientMessage) -> Option<u64> {
    if message.role != Role::User {
        return None;
    }
    let is_answer = |(_, role, _): &&KnownMessage| *role == Role::Assistant;
    let said = message.id.as_ref().and_then(|id| draft.state.find_message(id));
    let said = said.filter(|(messages, at)| messages[*at].1 == Role::User);
    let own = said.and_then(|(messages, at)| messages.get(at + 1)).filter(is_answer);
    own.or_else(|| draft.state.messages.iter().rfind(is_answer)).map(|(.., position)| *position)
}

/// The number of turns that begin before that of a stored message, if it has not begun.
fn turns_before(draft: &Draft<'_>, message: &ClientMessage) -> Option<usize> {
    let (id, state) = (message.id.as_ref()?, &draft.state);
    let (.., said) = state.messages.iter().find(|(known, role, _)| known == id && *role == Role::User)?;
    let later = || state.messages.iter().filter(|(.., position)| position > said);
    // The answer may have been cut, because a new one was asked for.
    let is_answered = later().any(|(_, role, _)| *role == Role::Assistant);
    let newer = later().filter(|(_, role, _)| *role == Role::User).count();
    if is_answered { None } else { state.next.len().checked_sub(1 + newer) }
}

/// The calls of a message that the client shows as decided.
fn responded(message: &ClientMessage) -> impl Iterator<Item = &ToolPart> {
    message.parts.iter().filter_map(Part::as_tool).filter(|tool| tool.state == ToolState::ApprovalResponded)
}

/// The calls of a message that the client shows as open although they are settled.
fn unaware<'a>(draft: &Draft<'_>, message: &'a ClientMessage) -> impl Iterator<Item = &'a ToolPart> {
    let is_settled = |tool: &&ToolPart| draft.call(&tool.tool_call_id).is_some_and(Call::is_settled);
    let open = message.parts.iter().filter_map(Part::as_tool).filter(|tool| !is_outcome(tool.state));
    open.filter(is_settled).collect::<Vec<_>>().into_iter()
}

/// Whether the client shows an outcome of a call.
fn shows_outcome(message: &ClientMessage, call: &ToolCallId) -> bool {
    message.parts.iter().filter_map(Part::as_tool).any(|tool| tool.tool_call_id == *call && is_outcome(tool.state))
}

fn is_outcome(state: ToolState) -> bool {
    match state {
        ToolState::InputStreaming
        | ToolState::InputAvailable
        | ToolState::ApprovalRequested
        | ToolState::ApprovalResponded => false,
        ToolState::OutputAvailable | ToolState::OutputError | ToolState::OutputDenied => true,
    }
}

/// The approval requests that the client shows as answered, or as settled, but that still wait.
fn still_asked(draft: &Draft<'_>, message: &ClientMessage) -> Vec<(ToolCallId, ApprovalId)> {
    let waits = |tool: &ToolPart| {
        let call = draft.call(&tool.tool_call_id).filter(|call| !call.is_settled())?;
        Some((tool.tool_call_id.clone(), call.open_request()?.approval.clone()))
    };
    let is_past = |tool: &&ToolPart| tool.state == ToolState::ApprovalResponded || is_outcome(tool.state);
    message.parts.iter().filter_map(Part::as_tool).filter(is_past).filter_map(waits).collect()
}

/// The outcomes of an ended turn that is not the last one, because a newer message came first. It is the turn of the
/// message that the client continues, or else the turn of the calls it answers.
fn earlier_turn(
    draft: &Draft<'_>,
    continued: &ClientMessage,
    about: &[ToolCallId],
    unsettled: &[ToolCallId],
) -> Option<Earlier> {
    let mut turns = draft.state.turns.iter();
    let named = continued.id.as_ref().and_then(|id| turns.find(|(_, message)| message == id));
    let answered = || {
        let turn = about.iter().filter_map(|id| draft.call(id)).map(|call| call.turn).max()?;
        draft.state.turns.iter().find(|(position, _)| *position == turn)
    };
    let (turn, message) = named.or_else(answered)?;
    let turn = *turn;
    if is_last_turn(draft, turn) {
        return None;
    }
    let mut outcomes: Vec<(ToolCallId, Outcome)> = Vec::new();
    for id in unsettled {
        let Some(call) = draft.call(id).filter(|call| call.turn == turn) else { continue };
        if let Some(settled) = &call.settled
            && outcomes.iter().all(|(told, _)| told != id)
        {
            // A client can't represent a denial of a call without an approval request.
            let outcome = if call.request.is_some() { settled.outcome.clone() } else { settled.told() };
            outcomes.push((id.clone(), outcome));
        }
    }
    Some(Earlier { message: message.clone(), outcomes })
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

/// A call that the client approved but that was denied, with the error text.
fn overruled(draft: &Draft<'_>, answer: &Answer) -> Option<(ToolCallId, String)> {
    let Answer::Approval { approved: true, .. } = answer else { return None };
    let id = call_of(draft, answer)?;
    let settled = draft.call(id)?.settled.as_ref()?;
    let Outcome::Denied { reason } = &settled.outcome else { return None };
    let text = match settled.told() {
        Outcome::Error(text) => text,
        _ => Outcome::denial_text(reason.as_deref()),
    };
    Some((id.clone(), text))
}

/// The position at which the answered call was decided or settled, if it was.
fn position(draft: &Draft<'_>, answer: &Answer) -> Option<u64> {
    let call = draft.call(call_of(draft, answer)?)?;
    let decided = call.decision.as_ref().filter(|decision| decision.grant.is_none()).map(|decision| decision.position);
    let settled = call.settled.as_ref().map(|settled| settled.position);
    let at = match answer {
        Answer::Approval { .. } => decided.or(settled),
        // What followed the decision came before the result.
        Answer::Result { .. } => settled.or(decided),
    };
    // An answer for an earlier turn is history, not news.
    at.filter(|_| is_last_turn(draft, call.turn))
}

fn is_last_turn(draft: &Draft<'_>, turn: u64) -> bool {
    draft.state.turns.last().is_some_and(|(position, _)| *position == turn)
}
