//! The shop's tools.

use holdpoint_server::runtime::{
    Tool, ToolContext, ToolError,
    tool::{ApprovalContext, ToolDefinitionError},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::database::Database;

#[derive(Deserialize, JsonSchema)]
pub struct Refund {
    /// In dollars.
    amount: f64,
}

#[derive(Serialize)]
struct Receipt {
    refunded: f64,
}

/// Refunds an order. Over the user's own limit, which is in the database, somebody has to approve.
pub fn refund(database: Database) -> Result<Tool, ToolDefinitionError> {
    let limits = database.clone();
    Tool::server("refund", "Refunds an order", move |refund: Refund, context: ToolContext| {
        let database = database.clone();
        async move {
            if refund.amount <= 0.0 {
                return Err(ToolError::new("amount: must be more than 0"));
            }
            context.progress("booking")?;
            database.refund(context.call.as_str(), context.subject.as_str(), refund.amount).await?;
            Ok(Receipt { refunded: refund.amount })
        }
    })
    .approve_if(move |refund: Refund, context: ApprovalContext| {
        let database = limits.clone();
        async move {
            let limit = database.refund_limit(context.subject.as_str()).await?;
            Ok((refund.amount > limit).then(|| format!("more than your limit of {limit} dollars")))
        }
    })
    .build()
}
