//! The tool of the token budget.

use std::sync::Arc;

use futures::FutureExt;
use holdpoint_core::tool::budget_spec;
use serde_json::json;

use super::Tool;

/// The tool whose calls ask whether a turn may go on. Add it to the tools to change its approvers or its timeout; otherwise
/// a runtime with a budget adds it.
pub fn budget_tool() -> Tool {
    let handler = |_, _| std::future::ready(Ok(json!({"continued": true}))).boxed();
    Tool { spec: Arc::new(budget_spec()), handler: Some(Arc::new(handler)) }
}
