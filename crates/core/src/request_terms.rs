//! The terms of an approval request: what is asked, of whom, and what may be decided.

use std::sync::Arc;

use holdpoint_protocol::{holds::Allowed, json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    approvers::Approvers,
    grants::{JsonDigest, tool_digest},
    identity::Identity,
    subject::Subject,
    tool::{Decisions, ToolSpec},
};

/// The terms of an approval request, as of when it was made. They are recorded with it: an open request does not change
/// with the settings, and needs no tool of this program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestTerms {
    /// Why approval is needed.
    pub reason: String,
    /// Who may decide. By default the owner of the chat.
    #[serde(default, skip_serializing_if = "is_default")]
    pub approvers: Arc<Approvers>,
    /// What a person may decide besides yes and no.
    pub decisions: Decisions,
    /// The tool that a grant would rely on, if the approval can be remembered: [`tool_digest`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<JsonDigest>,
    /// The display name of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool does.
    pub description: String,
    /// What the call would do: a template with names of the input's properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// The JSON Schema of the input. An input that an approver puts in its place has to fit it.
    #[serde(deserialize_with = "json::value")]
    pub schema: Value,
}

fn is_default(approvers: &Approvers) -> bool {
    approvers.is_default()
}

impl RequestTerms {
    /// The terms of a request for a call of this tool.
    pub fn of(spec: &ToolSpec, reason: String) -> Self {
        Self {
            reason,
            approvers: Arc::clone(&spec.approvers),
            decisions: spec.decisions.within(spec.approvers.quorum),
            remember: if spec.allows_grants() { tool_digest(spec) } else { None },
            title: spec.title.clone(),
            description: spec.description.clone(),
            headline: spec.headline.as_ref().map(ToString::to_string),
            schema: spec.input.as_value().clone(),
        }
    }

    /// What an identity that may decide may do in a chat of `owner`.
    pub fn allowed(&self, by: &Identity, owner: &Subject) -> Vec<Allowed> {
        let mut allowed: Vec<Allowed> = self.decisions.kinds().into_iter().map(Allowed::from).collect();
        // Those of an escalation could not decide at once about later calls.
        if self.remember.is_some() && self.approvers.let_decide(by, owner, false) {
            allowed.push(Allowed::Remember);
        }
        allowed
    }
}
