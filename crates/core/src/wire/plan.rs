//! What a response must still say. The machine decides what a request does and knows nothing of clients: what this client
//! has seen is read here, from the states of the calls in its message.

use holdpoint_protocol::{
    ids::{ApprovalId, MessageId, ToolCallId},
    message::{ClientMessage, Part, Role, ToolPart, ToolState},
};

use super::ClientHas;
use crate::{
    call::Call,
    chat::{Chat, KnownMessage},
    fact::{Cause, Outcome},
    turn::{Answered, Input, Reply, Submitted, TakenAnswer},
};

/// What a response shows.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponsePlan {
    /// The position where it begins.
    pub from: u64,
    /// The request changed nothing: show the whole segment that contains `from`.
    pub is_replay: bool,
    /// Calls that the client has answered but has no outcome for. Their outcomes are shown even if they precede `from`.
    pub unsettled: Vec<ToolCallId>,
    /// What the client already has of each call. It is not sent again.
    pub has: Vec<(ToolCallId, ClientHas)>,
    /// Calls that the client shows with the result that it has sent itself. Whether a response has confirmed it does not
    /// show in the client's message.
    pub own_results: Vec<ToolCallId>,
    /// Calls that the client approved but that were denied, each with an error text: the SDK rejects `output-denied`
    /// for a call it approved.
    pub overruled: Vec<(ToolCallId, String)>,
    /// Approval requests that the client has answered, but that still wait: it may not decide, or others have to as well.
    /// They are sent again before the response ends, or the client would wait for ever.
    pub still_asked: Vec<(ToolCallId, ApprovalId)>,
    /// Whether it shows a new turn or continues one.
    pub turn: PlannedTurn,
    /// Set if the request is about an ended turn that is not the last one. The response shows only this.
    pub earlier: Option<Earlier>,
}

/// What a response shows of a turn that has ended and is not the last one.
#[derive(Debug, Clone, PartialEq)]
pub struct Earlier {
    /// The assistant message.
    pub message: MessageId,
    /// The outcomes of the calls that are still open for the client.
    pub outcomes: Vec<(ToolCallId, Outcome)>,
}

/// Which turn a response shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedTurn {
    /// A turn whose beginning the client has.
    Continued,
    /// A new turn that begins at once.
    New,
    /// A new turn that begins when calls of the previous turn are settled.
    Next {
        /// The number of turns that begin before it.
        before: usize,
    },
}

impl ResponsePlan {
    /// Continues a turn from a position on. The client has what precedes it.
    pub fn from(from: u64) -> Self {
        Self {
            from,
            is_replay: false,
            unsettled: Vec::new(),
            has: Vec::new(),
            own_results: Vec::new(),
            overruled: Vec::new(),
            still_asked: Vec::new(),
            turn: PlannedTurn::Continued,
            earlier: None,
        }
    }

    /// The plan of the response to an input, if it is a request that was accepted. `chat` is the state after it.
    pub fn of(chat: &Chat, input: &Input, reply: &Reply) -> Option<Self> {
        let (Input::Submit(submit), Reply::Submitted(submitted)) = (input, reply) else { return None };
        Some(match submitted {
            Submitted::Turn => Self::of_turn(chat),
            Submitted::Answers { before, taken } => {
                let request = &submit.request;
                let continued = request.continued().and_then(|at| request.messages.get(at))?;
                Self::of_answers(chat, continued, *before, taken)
            }
        })
    }

    /// Shows the turn that was asked for.
    fn of_turn(chat: &Chat) -> Self {
        match chat.next.len().checked_sub(1) {
            Some(before) => Self { turn: PlannedTurn::Next { before }, ..Self::from(chat.len) },
            None => {
                let begun = chat.turns.last().map_or(chat.len, |(position, _)| *position);
                Self { turn: PlannedTurn::New, ..Self::from(begun) }
            }
        }
    }

    /// Continues the message of a client that has brought answers.
    fn of_answers(chat: &Chat, message: &ClientMessage, before: u64, taken: &[TakenAnswer]) -> Self {
        let client = Client { chat, message };
        let unsettled = client.unsettled(taken);
        let overruled = taken.iter().filter_map(|answer| client.overruled(answer, before)).collect();
        if chat.len == before {
            if let Some(earlier) = client.earlier_turn(taken, &unsettled) {
                return Self { overruled, earlier: Some(earlier), ..Self::from(before) };
            }
            if let Some(turns) = client.turns_before() {
                return Self { turn: PlannedTurn::Next { before: turns }, ..Self::from(before) };
            }
        }
        let is_new = chat.len > before;
        // Another client was first, or the request is a repeat: show what followed.
        let latest = || taken.iter().filter_map(|answer| client.position(answer)).max().or_else(|| client.turn());
        let at = if is_new { None } else { latest() };
        let confirmed = |taken: &&TakenAnswer| taken.answered == Answered::Taken;
        let confirmed: Vec<&ToolCallId> =
            taken.iter().filter(confirmed).filter_map(|taken| taken.call.as_ref()).collect();
        Self {
            is_replay: at.is_some(),
            has: client.has(|id| unsettled.contains(id) || confirmed.contains(&id)),
            own_results: client.own_results(),
            still_asked: client.still_asked(),
            unsettled,
            overruled,
            ..Self::from(at.unwrap_or(before))
        }
    }
}

/// A client that continues a message, and the chat after its request.
#[derive(Clone, Copy)]
struct Client<'a> {
    chat: &'a Chat,
    message: &'a ClientMessage,
}

impl<'a> Client<'a> {
    fn tools(self) -> impl Iterator<Item = &'a ToolPart> {
        self.message.parts.iter().filter_map(Part::as_tool)
    }

    fn call(self, id: &ToolCallId) -> Option<&'a Call> {
        self.chat.calls.get(id)
    }

    /// The calls that the client shows in a state that is not the real one, so it gets their outcomes.
    fn unsettled(self, taken: &[TakenAnswer]) -> Vec<ToolCallId> {
        let is_real = |answer: &TakenAnswer| {
            // An approval in a part with an outcome is history. Whether the outcome is the real one is up to the result.
            let is_past = answer.approved.is_some() && answer.call.as_ref().is_some_and(|id| self.shows_outcome(id));
            is_past || answer.is_recorded
        };
        let contradicted = taken.iter().filter(|answer| match answer.answered {
            Answered::Contradicts | Answered::TooLate(_) => !is_real(answer),
            _ => false,
        });
        let responded = self.tools().filter(|tool| tool.state == ToolState::ApprovalResponded);
        // No response was open when these were settled.
        let is_settled = |tool: &&ToolPart| self.call(&tool.tool_call_id).is_some_and(Call::is_settled);
        let unaware = self.tools().filter(|tool| !is_outcome(tool.state)).filter(is_settled);
        let shown = responded.chain(unaware).map(|tool| tool.tool_call_id.clone());
        contradicted.filter_map(|answer| answer.call.clone()).chain(shown).collect()
    }

    /// Whether the client shows an outcome of a call.
    fn shows_outcome(self, call: &ToolCallId) -> bool {
        self.tools().any(|tool| tool.tool_call_id == *call && is_outcome(tool.state))
    }

    /// What the client has of each call. `is_told` says which outcomes are sent all the same.
    fn has(self, is_told: impl Fn(&ToolCallId) -> bool) -> Vec<(ToolCallId, ClientHas)> {
        let has = |tool: &ToolPart| match tool.state {
            ToolState::InputStreaming => ClientHas::Start,
            ToolState::InputAvailable => ClientHas::Input,
            ToolState::ApprovalRequested | ToolState::ApprovalResponded => ClientHas::Request,
            ToolState::OutputAvailable | ToolState::OutputError | ToolState::OutputDenied => {
                if is_told(&tool.tool_call_id) { ClientHas::Run } else { ClientHas::Outcome }
            }
        };
        self.tools().map(|tool| (tool.tool_call_id.clone(), has(tool))).collect()
    }

    /// The calls that the client shows with a browser's result that is in force.
    fn own_results(self) -> Vec<ToolCallId> {
        let is_own = |id: &&ToolCallId| {
            let settled = self.call(id).and_then(|call| call.settled.as_ref());
            settled.is_some_and(|settled| settled.cause == Cause::Result)
        };
        let settled = self.tools().filter(|tool| is_outcome(tool.state)).map(|tool| &tool.tool_call_id);
        settled.filter(is_own).cloned().collect()
    }

    /// The approval requests that the client shows as answered, or as settled, but that still wait.
    fn still_asked(self) -> Vec<(ToolCallId, ApprovalId)> {
        let waits = |tool: &ToolPart| {
            let call = self.call(&tool.tool_call_id).filter(|call| !call.is_settled())?;
            Some((tool.tool_call_id.clone(), call.open_request()?.approval.clone()))
        };
        let is_past = |tool: &&ToolPart| tool.state == ToolState::ApprovalResponded || is_outcome(tool.state);
        self.tools().filter(is_past).filter_map(waits).collect()
    }

    /// A call that the client approved but that had been denied before its request, with the error text.
    fn overruled(self, answer: &TakenAnswer, before: u64) -> Option<(ToolCallId, String)> {
        let id = answer.call.as_ref().filter(|_| answer.approved == Some(true))?;
        let settled = self.call(id)?.settled.as_ref().filter(|settled| settled.position < before)?;
        let Outcome::Denied { reason } = &settled.outcome else { return None };
        let text = match settled.told() {
            Outcome::Error(text) => text,
            _ => Outcome::denial_text(reason.as_deref()),
        };
        Some((id.clone(), text))
    }

    /// The position at which the answered call was decided or settled, if it was.
    fn position(self, answer: &TakenAnswer) -> Option<u64> {
        let call = self.call(answer.call.as_ref()?)?;
        let decided = call.decision.as_ref().filter(|decision| decision.grant.is_none());
        let decided = decided.map(|decision| decision.position);
        let settled = call.settled.as_ref().map(|settled| settled.position);
        let at = match answer.approved {
            Some(_) => decided.or(settled),
            // What followed the decision came before the result.
            None => settled.or(decided),
        };
        // An answer for an earlier turn is history, not news.
        at.filter(|_| self.is_last_turn(call.turn))
    }

    fn is_last_turn(self, turn: u64) -> bool {
        self.chat.turns.last().is_some_and(|(position, _)| *position == turn)
    }

    /// The position of the turn that answers the message, if that is a stored user message.
    fn turn(self) -> Option<u64> {
        if self.message.role != Role::User {
            return None;
        }
        let is_answer = |(_, role, _): &&KnownMessage| *role == Role::Assistant;
        let said = self.message.id.as_ref().and_then(|id| self.chat.find_message(id));
        let said = said.filter(|(messages, at)| messages[*at].1 == Role::User);
        let own = said.and_then(|(messages, at)| messages.get(at + 1)).filter(is_answer);
        own.or_else(|| self.chat.messages.iter().rfind(is_answer)).map(|(.., position)| *position)
    }

    /// The number of turns that begin before that of the message, if it is stored and its turn has not begun.
    fn turns_before(self) -> Option<usize> {
        let (id, chat) = (self.message.id.as_ref()?, self.chat);
        let (.., said) = chat.messages.iter().find(|(known, role, _)| known == id && *role == Role::User)?;
        let later = || chat.messages.iter().filter(|(.., position)| position > said);
        // The answer may have been cut, because a new one was asked for.
        let is_answered = later().any(|(_, role, _)| *role == Role::Assistant);
        let newer = later().filter(|(_, role, _)| *role == Role::User).count();
        if is_answered { None } else { chat.next.len().checked_sub(1 + newer) }
    }

    /// The outcomes of an ended turn that is not the last one, because a newer message came first. It is the turn of the
    /// message that the client continues, or else the turn of the calls it answers.
    fn earlier_turn(self, taken: &[TakenAnswer], unsettled: &[ToolCallId]) -> Option<Earlier> {
        let mut turns = self.chat.turns.iter();
        let named = self.message.id.as_ref().and_then(|id| turns.find(|(_, message)| message == id));
        let answered = || {
            let about = taken.iter().filter_map(|answer| self.call(answer.call.as_ref()?));
            let turn = about.map(|call| call.turn).max()?;
            self.chat.turns.iter().find(|(position, _)| *position == turn)
        };
        let (turn, message) = named.or_else(answered)?;
        let turn = *turn;
        if self.is_last_turn(turn) {
            return None;
        }
        let mut outcomes: Vec<(ToolCallId, Outcome)> = Vec::new();
        for id in unsettled {
            let Some(call) = self.call(id).filter(|call| call.turn == turn) else { continue };
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
