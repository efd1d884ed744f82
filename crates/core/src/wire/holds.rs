//! The holds of a chat, open and past, with their decisions and outcomes.

use std::{collections::HashSet, sync::Arc};

use holdpoint_protocol::{
    holds::{Allowed, ChatHold, Decision, HoldKind, HoldOutcome, HoldState, Votes},
    ids::{ApprovalId, MessageId, ToolCallId},
};

use super::{
    calls::{TurnCalls, Waits},
    messages::Messages,
};
use crate::{
    call::{self, Call},
    clock::Timestamp,
    fact::{Cut, Fact, Outcome},
    identity::Identity,
    request_terms::RequestTerms,
    subject::Subject,
    tool::Execution,
};

/// Which calls are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listed {
    /// Open and past holds.
    #[default]
    Holds,
    /// All of them.
    Calls,
}

/// Builds the list from the facts of a chat, in the order of the calls. The facts of an abandoned step are already
/// replaced by [`Fact::Nothing`].
///
/// `by` is who asks: each hold says what they may do.
pub fn holds<T: AsRef<Fact>>(facts: &[T], listed: Listed, by: &Identity) -> Vec<ChatHold> {
    let mut book = Book::default();
    for fact in facts.iter().map(AsRef::as_ref) {
        book.apply(fact);
    }
    let wanted = |call: &Call| match listed {
        Listed::Holds => was_held(call),
        Listed::Calls => call.has_begun(),
    };
    let turns = book.turns.iter();
    let calls = turns.flat_map(|turn| turn.calls.all().map(move |(id, call)| (turn, id, call)));
    calls.filter(|(.., call)| wanted(call)).map(|(turn, id, call)| hold(&book, turn, id, call, by)).collect()
}

/// An approval request, open or past, and its call.
pub struct Asked {
    /// The call. That its turn was cut is not said: later turns are not looked at.
    pub hold: ChatHold,
    /// What was asked, and of whom.
    pub terms: Arc<RequestTerms>,
    /// Whether those of the escalation may, or could.
    pub is_escalated: bool,
}

/// An approval request, from facts that have the whole of its turn. `owner` is that of the chat.
pub fn asked<T: AsRef<Fact>>(facts: &[T], approval: &ApprovalId, owner: &Subject, by: &Identity) -> Option<Asked> {
    let facts = || facts.iter().map(AsRef::as_ref);
    let mut book = Book { owner: Some(owner.clone()), ..Book::default() };
    facts().for_each(|fact| book.apply(fact));
    let is_it = |call: &Call| call.request.as_ref().is_some_and(|request| request.approval == *approval);
    let calls = book.turns.iter().flat_map(|turn| turn.calls.all().map(move |(id, call)| (turn, id, call)));
    let (turn, id, call) = calls.into_iter().find(|(.., call)| is_it(call))?;
    let hold = hold(&book, turn, id, call, by);
    let terms = Arc::clone(&call.request.as_ref()?.terms);
    Some(Asked { hold, terms, is_escalated: call.request.as_ref().is_some_and(|request| request.is_escalated) })
}

#[derive(Default)]
struct Book {
    owner: Option<Subject>,
    turns: Vec<Turn>,
    /// The messages of the chat that are not cut.
    messages: Messages<()>,
}

struct Turn {
    calls: TurnCalls,
    /// The message under which its calls are listed.
    message: Option<MessageId>,
    /// Whether its own message was cut.
    is_cut: bool,
}

impl Book {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Opened { subject } => self.owner = Some(subject.clone()),
            Fact::Context { messages } => self.messages.extend(messages.iter().map(|message| (message.id.clone(), ()))),
            Fact::Said { message, cut, .. } => {
                self.cut(cut.as_ref());
                self.messages.push(message.id.clone(), ());
            }
            Fact::Regenerated { cut, .. } => self.cut(cut.as_ref()),
            Fact::TurnStarted { message, .. } => {
                self.messages.push(message.clone(), ());
                // Calls that were cut are listed under the turn that replaced theirs.
                for turn in self.turns.iter_mut().filter(|turn| turn.message.is_none()) {
                    turn.message = Some(message.clone());
                }
                let turn = TurnCalls::begin(fact, false);
                let turn = turn.map(|calls| Turn { calls, message: Some(message.clone()), is_cut: false });
                self.turns.extend(turn);
            }
            _ => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.calls.apply(fact);
                }
            }
        }
    }

    fn lets_decide(&self, call: &Call, by: &Identity) -> bool {
        let (Some(request), Some(owner)) = (&call.request, &self.owner) else { return false };
        request.lets_decide(by, owner)
    }

    /// Cuts a message and everything after it. The calls stay listed, since they may have run.
    fn cut(&mut self, cut: Option<&Cut>) {
        let Some(gone) = self.messages.cut(cut) else { return };
        let gone: HashSet<MessageId> = gone.into_iter().map(|(id, ())| id).collect();
        for turn in &mut self.turns {
            if turn.message.as_ref().is_some_and(|message| gone.contains(message)) {
                turn.is_cut = true;
                turn.message = None;
            }
        }
    }
}

/// Whether the call is or was a hold.
fn was_held(call: &Call) -> bool {
    call.request.is_some() || call.decision.is_some() || (call.start.is_some() && call.execution == Execution::Frontend)
}

fn hold(book: &Book, turn: &Turn, id: &ToolCallId, call: &Call, by: &Identity) -> ChatHold {
    let is_frontend = call.execution == Execution::Frontend;
    let runs_in_browser = is_frontend && call.start.is_some();
    let waits_for_person = call.waits(turn.calls.reader()) == Waits::Person;
    let is_decided = call.request.is_some() || call.decision.is_some();
    let kind = match (is_decided.then_some(()), call.by.tool().is_some()) {
        (Some(()), _) if !runs_in_browser => HoldKind::Approval,
        (Some(()), _) => HoldKind::Frontend,
        (None, true) => HoldKind::Prompt,
        (None, false) if is_frontend => HoldKind::Frontend,
        (None, false) => HoldKind::None,
    };
    let state = match (&call.settled, &call.start) {
        (Some(_), _) => HoldState::Settled,
        (None, Some(_)) if !is_frontend => HoldState::Running,
        // The node that runs the turn is about to act on the decision.
        (None, None) if call.decision.is_some() => HoldState::Running,
        (None, _) => HoldState::Waiting,
    };
    // A grant decides at the moment in which a person would be asked.
    let granted_at = call.decision.as_ref().filter(|decision| decision.grant.is_some()).map(|decision| decision.at);
    let asked_at = call.request.as_ref().map(|request| request.asked_at).or(granted_at);
    let started_at = call.start.as_ref().map(|start| start.at).filter(|_| call.decision.is_none());
    let expires = match (&call.settled, &call.start, &call.request) {
        (None, Some(start), _) => start.deadline,
        (None, None, Some(request)) if waits_for_person => request.expires,
        _ => None,
    };
    ChatHold {
        tool_call_id: id.clone(),
        tool_name: call.name.clone(),
        input: call.input.clone(),
        kind,
        state,
        approval_id: call.request.as_ref().map(|request| request.approval.clone()),
        requested_at: started_at.or(asked_at).unwrap_or(turn.calls.started_at).iso8601(),
        expires_at: expires.map(Timestamp::iso8601),
        allowed: match &book.owner {
            Some(owner) if waits_for_person && book.lets_decide(call, by) => allowed(call, by, owner),
            _ => Vec::new(),
        },
        votes: votes(call),
        decision: call.decision.as_ref().map(decision),
        outcome: call.settled.as_ref().map(settled),
        cut: turn.is_cut,
        message_id: turn.message.clone(),
    }
}

/// What a person may do about it.
fn allowed(call: &Call, by: &Identity, owner: &Subject) -> Vec<Allowed> {
    call.request.as_ref().map(|request| request.terms.allowed(by, owner)).unwrap_or_default()
}

/// The votes of a call that takes several.
fn votes(call: &Call) -> Option<Votes> {
    let request = call.request.as_ref()?;
    let quorum = request.terms.approvers.quorum;
    let by = request.votes.iter().map(|by| by.as_str().to_owned()).collect();
    (quorum > 1).then_some(Votes { by, quorum })
}

fn decision(decision: &call::Decision) -> Decision {
    Decision {
        kind: decision.kind(),
        by: decision.by.iter().map(|by| by.as_str().to_owned()).collect(),
        at: decision.at.iso8601(),
        reason: decision.reason.clone(),
        original_input: decision.original_input.clone(),
        grant: decision.grant.clone(),
    }
}

fn settled(settled: &call::Settled) -> HoldOutcome {
    let (output, error_text) = match &settled.outcome {
        Outcome::Output(output) => (Some(output.clone()), None),
        Outcome::Error(text) => (None, Some(text.clone())),
        Outcome::Denied { .. } => (None, None),
    };
    HoldOutcome { cause: settled.cause, at: settled.at.iso8601(), output, error_text }
}
