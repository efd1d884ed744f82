//! The record of a call: what has happened to it, whoever looks at it. Each fact about a call is interpreted here and
//! nowhere else.

use std::sync::Arc;

use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ApprovalId, GrantId},
    request::Verdict,
};
use serde_json::Value;

use crate::{
    clock::Timestamp,
    fact::{Caller, Cause, Checked, Fact, Outcome},
    grants::{GrantTerms, JsonDigest},
    identity::Identity,
    request_terms::RequestTerms,
    subject::Subject,
    tool::{CallState, Execution, Returns, StoredFile, ToolOrigin, Wait},
};

/// A call, folded from its facts.
///
/// Its positions are those of the facts in the chat. A fold of one turn alone counts from the beginning of that turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// The input that was shown, or that an approver has put in its place; null while the model writes it.
    pub input: Value,
    /// Where it runs.
    pub execution: Execution,
    /// How a response waits for it, by the tool.
    pub wait: Wait,
    /// What its output contains.
    pub returns: Returns,
    /// Where the tool came from.
    pub origin: Option<ToolOrigin>,
    /// Who has made it.
    pub by: Caller,
    /// Whether the tool's policy asks for approval. A grant may give it.
    pub needs_approval: bool,
    /// The result of the tool's own check whether it needs approval.
    pub checked: Option<Checked>,
    /// Whether the input was invalid. The outcome says why.
    pub is_invalid: bool,
    /// The position of its turn.
    pub turn: u64,
    /// The approval request, if there is one.
    pub request: Option<ApprovalRequest>,
    /// The decision in force.
    pub decision: Option<Decision>,
    /// When it started.
    pub start: Option<Start>,
    /// What it can be resumed from while it runs, if its process goes down.
    pub resume: Option<Arc<CallState>>,
    /// The files that it has produced.
    pub files: Arc<[StoredFile]>,
    /// Its outcome.
    pub settled: Option<Settled>,
}

/// An approval request.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// Its id.
    pub approval: ApprovalId,
    /// When it was made.
    pub asked_at: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// What is asked, of whom, and what may be decided.
    pub terms: Arc<RequestTerms>,
    /// Whether those of the escalation may decide too.
    pub is_escalated: bool,
    /// Those who have approved, while others have to as well.
    pub votes: Vec<Subject>,
}

/// The decision of a person, or of a grant in place of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The decision. That of an edit has no input: it is the call's from then on.
    pub verdict: Verdict,
    /// The input that an edit has replaced.
    pub original_input: Option<Value>,
    /// The reason.
    pub reason: Option<String>,
    /// Everybody whose approval it took, or whoever denied.
    pub by: Vec<Subject>,
    /// The grant that decided, made by whom `by` names.
    pub grant: Option<GrantId>,
    /// When it was made.
    pub at: Timestamp,
    /// The position.
    pub position: u64,
    /// The terms of the grant that it made.
    pub terms: Option<Arc<GrantTerms>>,
}

/// The start of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// When it started.
    pub at: Timestamp,
    /// When it expires.
    pub deadline: Option<Timestamp>,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The outcome.
    pub outcome: Outcome,
    /// The cause.
    pub cause: Cause,
    /// When it was settled.
    pub at: Timestamp,
    /// The position.
    pub position: u64,
    /// Whether the call can be made again although its outcome is unknown.
    pub is_repeatable: bool,
}

/// The stage that a call has reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage<'a> {
    /// The model writes it, or has made it. There is no approval request yet, and it has not started.
    Made,
    /// It waits for a decision, or for what was decided to be carried out.
    Asked(&'a ApprovalRequest),
    /// It runs, on the server or in the browser.
    Running(&'a Start),
    /// It has its outcome.
    Settled(&'a Settled),
}

impl Call {
    /// A call that the model begins to write.
    pub(crate) fn begun(name: &str, turn: u64) -> Self {
        Self {
            name: name.to_owned(),
            input: Value::Null,
            execution: Execution::Server,
            wait: Wait::Stream,
            returns: Returns::Output,
            origin: None,
            by: Caller::Model,
            needs_approval: false,
            checked: None,
            is_invalid: false,
            turn,
            request: None,
            decision: None,
            start: None,
            resume: None,
            files: Arc::default(),
            settled: None,
        }
    }

    /// Applies a fact about it, at this position.
    pub(crate) fn apply(&mut self, fact: &Fact, position: u64) {
        match fact {
            Fact::Called { input, execution, wait, returns, origin, by, needs_approval, checked, .. } => {
                self.input.clone_from(input);
                (self.execution, self.wait, self.returns) = (*execution, *wait, *returns);
                self.origin.clone_from(origin);
                self.by.clone_from(by);
                self.needs_approval = *needs_approval;
                self.checked.clone_from(checked);
            }
            Fact::Invalid { input, error, at, .. } => {
                self.input.clone_from(input);
                self.is_invalid = true;
                let (outcome, cause) = (Outcome::Error(error.clone()), Cause::Refused);
                self.settled = Some(Settled { outcome, cause, at: *at, position, is_repeatable: false });
            }
            Fact::Asked { approval, at, expires, terms, .. } => {
                self.request = Some(ApprovalRequest {
                    approval: approval.clone(),
                    asked_at: *at,
                    expires: *expires,
                    terms: Arc::clone(terms),
                    is_escalated: false,
                    votes: Vec::new(),
                });
            }
            Fact::Voted { by, .. } => self.request.iter_mut().for_each(|request| request.votes.push(by.clone())),
            Fact::Escalated { .. } => self.request.iter_mut().for_each(|request| request.is_escalated = true),
            Fact::Decided { verdict, reason, by, at, .. } => {
                let votes = self.request.iter().flat_map(|request| &request.votes);
                let by = votes.filter(|_| verdict.is_approval()).chain([by]).cloned().collect();
                let edited = verdict.edited_input().cloned();
                // It runs with exactly that.
                let original_input = edited.map(|input| std::mem::replace(&mut self.input, input));
                let verdict = if original_input.is_some() { Verdict::APPROVE } else { verdict.clone() };
                let (reason, grant, at, terms) = (reason.clone(), None, *at, None);
                self.decision = Some(Decision { verdict, original_input, reason, by, grant, at, position, terms });
            }
            Fact::Granted { terms, .. } => {
                self.decision.iter_mut().for_each(|decision| decision.terms = Some(Arc::clone(terms)));
            }
            Fact::Used { grant, by, at, .. } => {
                let (by, grant, at) = (vec![by.clone()], Some(grant.clone()), *at);
                let (verdict, original_input, reason, terms) = (Verdict::APPROVE, None, None, None);
                self.decision = Some(Decision { verdict, original_input, reason, by, grant, at, position, terms });
            }
            Fact::Started { deadline, at, .. } => self.start = Some(Start { at: *at, deadline: *deadline }),
            Fact::Stored { files, .. } => self.files = Arc::clone(files),
            Fact::Resumable { state, .. } => self.resume.clone_from(state),
            Fact::Settled { outcome, cause, at, is_repeatable, .. } => {
                let (outcome, cause, at, is_repeatable) = (outcome.clone(), *cause, *at, *is_repeatable);
                self.settled = Some(Settled { outcome, cause, at, position, is_repeatable });
                self.resume = None;
            }
            _ => {}
        }
    }

    /// The stage that it has reached.
    pub fn stage(&self) -> Stage<'_> {
        match (&self.settled, &self.start, &self.request) {
            (Some(settled), ..) => Stage::Settled(settled),
            (None, Some(start), _) => Stage::Running(start),
            (None, None, Some(request)) => Stage::Asked(request),
            (None, None, None) => Stage::Made,
        }
    }

    /// Whether there is an approval request, and it has neither started nor an outcome.
    pub fn is_asked(&self) -> bool {
        matches!(self.stage(), Stage::Asked(_))
    }

    /// Whether it has an outcome.
    pub fn is_settled(&self) -> bool {
        self.settled.is_some()
    }

    /// Whether it waits for a person or a browser.
    pub fn is_held(&self) -> bool {
        match self.stage() {
            Stage::Asked(_) => self.decision.is_none(),
            Stage::Running(_) => self.execution == Execution::Frontend,
            Stage::Made | Stage::Settled(_) => false,
        }
    }

    /// Whether a grant has approved it, in place of a person.
    pub fn is_granted(&self) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.grant.is_some())
    }

    /// Whether a person or a grant has approved it.
    pub fn is_approved(&self) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.verdict.is_approval())
    }

    /// Whether it runs on the server.
    pub fn runs_here(&self) -> bool {
        matches!(self.stage(), Stage::Running(_)) && self.execution != Execution::Frontend
    }

    /// When the current wait began.
    pub fn since(&self) -> Option<Timestamp> {
        match self.stage() {
            Stage::Asked(request) => Some(request.asked_at),
            Stage::Running(start) => Some(start.at),
            Stage::Made | Stage::Settled(_) => None,
        }
    }

    /// The deadline of the current wait.
    pub fn deadline(&self) -> Option<Timestamp> {
        match self.stage() {
            Stage::Asked(request) => request.expires.filter(|_| self.decision.is_none()),
            Stage::Running(start) => start.deadline,
            Stage::Made | Stage::Settled(_) => None,
        }
    }

    /// The approval request, unless it is decided.
    pub fn open_request(&self) -> Option<&ApprovalRequest> {
        self.request.as_ref().filter(|_| self.decision.is_none())
    }

    /// When its approval request escalates, if it is still to.
    pub fn escalates_at(&self) -> Option<Timestamp> {
        let request = self.open_request().filter(|request| !request.is_escalated)?;
        let escalation = request.terms.approvers.escalate.as_ref()?;
        Some(request.asked_at.after(escalation.after))
    }

    /// The digest of the input that people were asked about. `None` for an input that has none.
    pub fn asked_about(&self) -> Option<JsonDigest> {
        let original = self.decision.as_ref().and_then(|decision| decision.original_input.as_ref());
        JsonDigest::of(original.unwrap_or(&self.input))
    }

    /// Whether an approver has changed its input.
    pub fn is_edited(&self) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.original_input.is_some())
    }

    /// Whether this was decided about it.
    pub fn is_decided_as(&self, verdict: &Verdict) -> bool {
        let is_it = |decision: &Decision| match verdict.edited_input() {
            Some(input) => decision.original_input.is_some() && self.input == *input,
            None => decision.original_input.is_none() && decision.verdict == *verdict,
        };
        self.decision.as_ref().is_some_and(is_it)
    }

    /// Why the input is invalid.
    pub fn input_error(&self) -> Option<&str> {
        match &self.settled.as_ref()?.outcome {
            Outcome::Error(text) if self.is_invalid => Some(text),
            _ => None,
        }
    }
}

impl ApprovalRequest {
    /// Whether somebody may decide, in a chat of this owner.
    pub fn lets_decide(&self, by: &Identity, owner: &Subject) -> bool {
        self.terms.approvers.let_decide(by, owner, self.is_escalated)
    }
}

impl Decision {
    /// The kind of decision.
    pub fn kind(&self) -> DecisionKind {
        if self.original_input.is_some() { DecisionKind::Edit } else { self.verdict.kind() }
    }
}

impl Settled {
    /// The outcome as shown to people and the model.
    pub fn told(&self) -> Outcome {
        self.outcome.told(self.cause)
    }
}
