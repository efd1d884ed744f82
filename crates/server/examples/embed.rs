//! Holdpoint inside an axum app of your own: one tool that needs a person's approval over 100 dollars, and a page beside it. It has no
//! keys, so its router serves this machine only, and no page of another origin: see `Server::allow_hosts` and `Server::allow_origins`.
//!
//! `cargo run -p holdpoint-server --example embed`, then:
//! `curl -N localhost:8788/agent/stream --json '{"messages":[{"role":"user","content":"use refund {\"order\":\"A1\",\"amount\":250}"}]}'`

use axum::{Router, routing::get};
use holdpoint_server::{
    Server,
    runtime::{
        driver::Runtime,
        tool::{Condition, Tool, ToolContext, ToolError},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// The order's number.
    order: String,
    /// In dollars.
    amount: f64,
}

#[derive(Serialize)]
struct Receipt {
    order: String,
    refunded: f64,
}

async fn refund(refund: Refund, context: ToolContext) -> Result<Receipt, ToolError> {
    println!("{} refunds {} in chat {} (call {})", context.subject.as_str(), refund.amount, context.chat, context.call);
    Ok(Receipt { order: refund.order, refunded: refund.amount })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tool = Tool::server("refund", "Refunds an order", refund).approval(Condition::over("/amount", 100)?).build()?;
    let runtime = Runtime::builder().tools([tool].into_iter().collect()).start().await?;
    let app = Router::new().route("/", get(|| async { "my own page" })).nest("/agent", Server::new(runtime).router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8788").await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, app).await?;
    Ok(())
}
