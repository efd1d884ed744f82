//! Descriptions of tools, with everything that decides about their calls. What runs a call is elsewhere.

mod approval;
mod budget;
mod call_state;
mod catalog;
mod error;
mod file;
mod headline;
pub mod input;
mod instructions;
mod prompt;
mod schema;
mod spec;
pub mod text;

pub use approval::{
    ApprovalCheck, ApprovalContext, ApprovalPolicy, ApprovalTimeout, CHECK_TIME_LIMIT, Condition, RuleError,
};
pub use budget::{BUDGET_TOOL, Budget, BudgetScope, Spending, budget_spec};
pub use call_state::{CallState, MAX_CALL_STATE_BYTES};
pub use catalog::ToolCatalog;
pub use error::ToolError;
pub use file::StoredFile;
pub use headline::{Headline, HeadlineError};
pub use holdpoint_protocol::{
    PROMPT_TOOL,
    response::{Execution, Returns, Wait},
};
pub use instructions::Instructions;
pub use prompt::{Prompt, PromptResponse};
pub use schema::{InputSchema, SchemaError};
pub use spec::{Decisions, ToolOrigin, ToolSource, ToolSpec};
