//! Tools: what an agent can call, where it runs, and who must approve.
//!
//! ```
//! use holdpoint_tools::{Condition, Tool, ToolContext, ToolSet};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Refund {
//!     amount: f64,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let refund = Tool::server("refund", "Refunds an order", |refund: Refund, _: ToolContext| async move {
//!     Ok(refund.amount)
//! });
//! let tools = ToolSet::new([refund.approval(Condition::over("/amount", 100)?).build()?])?;
//! assert!(tools.get("refund").is_some());
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `http` | no | tools that are HTTP endpoints ([`http`](crate::http)) |
//! | `mcp` | no | tools of MCP servers ([`mcp`](crate::mcp)) |

#[cfg(feature = "mcp")]
mod backoff;
mod budget_tool;
mod build;
mod context;
mod file;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "so far, only tools of MCP servers save states"))]
mod saved_state;
mod set;

use std::{fmt, future::Future, sync::Arc};

pub use budget_tool::budget_tool;
pub use build::{ToolBuilder, ToolDefinitionError};
pub use context::{CANCELLATION_GRACE, Gate, MAX_PROGRESS_BYTES, ProgressReporter, Prompter, ToolContext};
pub use file::{FileKind, FileLink, Files, MAX_FILE_BYTES, MAX_FILES};
use futures::future::BoxFuture;
pub use holdpoint_core::redact::Secret;
#[doc(inline)]
pub use holdpoint_core::tool::*;
pub use saved_state::{Answer, NotOurs, StateKeeper};
use serde::Serialize;
use serde_json::Value;
pub use set::{DuplicateTool, ToolSet};

/// Runs a call.
pub type Handler = Arc<dyn Fn(Value, ToolContext) -> BoxFuture<'static, Result<Value, ToolError>> + Send + Sync>;

/// A tool: its description, and its handler if it runs on the server.
#[derive(Clone)]
pub struct Tool {
    /// Its description.
    pub spec: Arc<ToolSpec>,
    /// Its handler. A frontend tool has none; a delegate may have one that makes its output.
    pub handler: Option<Handler>,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Tool {
    /// A tool that runs on the server.
    pub fn server<I, O, F, R>(name: &str, description: &str, handler: F) -> ToolBuilder
    where
        I: serde::de::DeserializeOwned + schemars::JsonSchema,
        O: Serialize,
        F: Fn(I, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        ToolBuilder::server(name, description, handler)
    }

    /// A tool that runs in the browser, with an input of this type.
    pub fn frontend<I: schemars::JsonSchema>(name: &str, description: &str) -> ToolBuilder {
        ToolBuilder::browser::<I>(name, description, Execution::Frontend)
    }

    /// A tool handed to the browser without waiting.
    pub fn delegate<I: schemars::JsonSchema>(name: &str, description: &str) -> ToolBuilder {
        ToolBuilder::browser::<I>(name, description, Execution::Delegate)
    }
}
