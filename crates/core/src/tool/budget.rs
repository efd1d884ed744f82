//! The token budget: how many tokens a turn and a chat may use before a person is asked whether to go on.
//!
//! The question is an approval request like any other, for a call of a tool that the turn machine makes. So it has
//! approvers, a deadline, an entry in the inbox, and grants.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ApprovalPolicy, Decisions, Headline, InputSchema, ToolSource, ToolSpec};
use holdpoint_protocol::response::Execution;

/// The name of the tool whose calls ask whether a turn may go on.
pub const BUDGET_TOOL: &str = "continue_turn";

/// How many tokens may be used before a person is asked. Those that the model reads and those that it writes count, in every
/// step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// In a turn.
    pub turn: Option<NonZeroU64>,
    /// In a chat.
    pub chat: Option<NonZeroU64>,
}

impl Budget {
    /// Whether there is none.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// Whose budget is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetScope {
    /// The turn's.
    Turn,
    /// The chat's.
    Chat,
}

/// A budget that is used up: the input of a call of [`BUDGET_TOOL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Whose budget.
    pub scope: BudgetScope,
    /// The tokens used so far.
    pub used: u64,
    /// The tokens that were allowed so far.
    pub limit: u64,
    /// How many more may be used if the call is approved: the budget.
    pub more: u64,
}

impl Spending {
    /// The input of the call.
    pub fn input(self) -> Value {
        json!(self)
    }

    /// Reads the input of a call.
    pub fn read(input: &Value) -> Option<Self> {
        Self::deserialize(input).ok()
    }

    /// The reason of the approval request.
    pub fn reason(self) -> String {
        let Self { scope, used, limit, .. } = self;
        let whose = match scope {
            BudgetScope::Turn => "This answer",
            BudgetScope::Chat => "This chat",
        };
        format!("{whose} has used {used} tokens, and {limit} were allowed")
    }
}

/// The description of the tool whose calls ask whether a turn may go on.
pub fn budget_spec() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "scope": {"enum": ["turn", "chat"], "title": "Budget of"},
            "used": {"type": "integer", "title": "Tokens used"},
            "limit": {"type": "integer", "title": "Tokens allowed"},
            "more": {"type": "integer", "title": "More tokens"},
        },
        "required": ["scope", "used", "limit", "more"],
    });
    let description = "Goes on although the token budget is used up. As many tokens may be used again.";
    let headline = Headline::new("Go on, with {more} more tokens for this {scope}?", &schema);
    let input = InputSchema::new(schema).expect("the schema is good");
    ToolSpec {
        title: Some("Go on?".to_owned()),
        headline: Some(headline.expect("the headline is good")),
        source: ToolSource::Budget,
        approval: ApprovalPolicy::Always,
        decisions: Decisions::PLAIN,
        is_idempotent: true,
        ..ToolSpec::new(BUDGET_TOOL, description, input, Execution::Server)
    }
}
