//! Approval requests: who may decide, the votes so far, and the decision.

use std::sync::Arc;

use holdpoint_protocol::{
    ids::{ApprovalId, GrantId},
    request::Verdict,
};

use super::Call;
use crate::{
    clock::Timestamp,
    grants::{GrantTerms, JsonDigest},
    identity::Identity,
    request_terms::RequestTerms,
    subject::Subject,
};

/// An approval request and its decision.
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
    /// The decision.
    pub decision: Option<Decided>,
}

impl ApprovalRequest {
    /// Whether somebody may decide, in a chat of this owner.
    pub fn lets_decide(&self, by: &Identity, owner: &Subject) -> bool {
        self.terms.approvers.let_decide(by, owner, self.is_escalated)
    }

    /// The digest of the input that people were asked about. `None` for an input that has none.
    pub fn asked_about(&self, call: &Call) -> Option<JsonDigest> {
        let is_edited = |decided: &&Decided| matches!(decided.verdict, Verdict::Approve { input: Some(_) });
        match self.decision.as_ref().filter(is_edited) {
            Some(edited) => edited.original,
            None => JsonDigest::of(&call.input),
        }
    }

    /// When it escalates, if it is still to.
    pub fn escalates_at(&self) -> Option<Timestamp> {
        let escalation =
            self.terms.approvers.escalate.as_ref().filter(|_| !self.is_escalated && self.decision.is_none());
        escalation.map(|escalation| self.asked_at.after(escalation.after))
    }
}

/// A decision in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The decision.
    pub verdict: Verdict,
    /// The reason.
    pub reason: Option<String>,
    /// Its position in the log.
    pub position: u64,
    /// If it is an edit, the digest of the input that it has replaced.
    pub original: Option<JsonDigest>,
    /// The terms of the grant that it made.
    pub terms: Option<Arc<GrantTerms>>,
}

/// The use of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The grant.
    pub grant: GrantId,
    /// Who made it.
    pub by: Subject,
}
