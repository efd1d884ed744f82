//! The runtime, for embedding in a Rust program: agents whose turns stop at holds, wait, and continue exactly once.
//!
//! A tool, and a test of its approval without HTTP:
//!
//! ```
//! use futures::StreamExt;
//! use holdpoint_runtime::{
//!     Runtime, Subject, Tool, ToolContext, ToolSet, View,
//!     model::ScriptModel,
//!     protocol::request::{ChatRequest, DecisionRequest},
//!     tool::Condition,
//! };
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Refund {
//!     amount: f64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let refund = Tool::server("refund", "Refunds an order", |refund: Refund, _: ToolContext| async move {
//!     Ok(refund.amount)
//! });
//! let tools = ToolSet::new([refund.approval(Condition::over("/amount", 100)?).build()?])?;
//! // A model that calls the tool, and then says something.
//! let script = r#"{"turns": [{"steps": [
//!     [{"toolCall": {"name": "refund", "input": {"amount": 250}}}],
//!     [{"text": ["Refunded."]}]
//! ]}]}"#;
//! let model = std::sync::Arc::new(ScriptModel::from_text(script)?);
//! let runtime = Runtime::builder(model).tools(tools).start().await?;
//!
//! let ann = Subject::from("ann");
//! let request = ChatRequest::user("chat-1", "Refund my order");
//! let (chat, response) = runtime.submit(&ann, request, View::default()).await?;
//! // The response ends at the hold.
//! let chunks: Vec<_> = response.collect().await;
//! assert!(!chunks.is_empty());
//!
//! let approval = runtime.inbox(&ann).list().await.expect("it lists").remove(0);
//! runtime.inbox(&ann).decide(approval.approval_id, DecisionRequest::from(true)).await?;
//! runtime.chats(&ann).idle(&chat).await?;
//! assert_eq!(runtime.chats(&ann).messages(&chat).await?.len(), 2);
//!
//! // Running turns get up to ten seconds to finish or to reach a hold. The next start recovers the others.
//! runtime.shutdown(std::time::Duration::from_secs(10)).await;
//! # Ok(())
//! # }
//! ```
//!
//! A program that embeds the server calls `Server::shutdown`, which ends its connections too.
//!
//! # Where things are
//!
//! A [`Runtime`] starts, takes messages and shuts down. Everything else is behind a handle for each topic, which costs
//! nothing to get:
//!
//! | handle | what it does |
//! | --- | --- |
//! | [`runtime.chats(&subject)`](Runtime::chats) | lists, reads, resumes, stops and deletes the chats of a subject |
//! | [`runtime.inbox(&identity)`](Runtime::inbox) | lists approval requests, and decides them |
//! | [`runtime.grants(&identity)`](Runtime::grants) | lists and revokes grants |
//! | [`runtime.audit(&identity)`](Runtime::audit) | reads the record |
//! | [`runtime.live(&identity)`](Runtime::live) | follows a chat over a connection that stays open |
//! | [`runtime.admin()`](Runtime::admin) | the chats of all subjects, the state of this node, verification, export |
//! | [`runtime.tickets()`](Runtime::tickets) | logins of WebSockets that several nodes share |
//!
//! Where rights matter, a method takes an [`Identity`], which has roles and groups. Where only the key is needed under which
//! chats are stored, it takes a [`Subject`]. A subject is also an identity: a user of this name, without groups.
//!
//! A model is anything that turns a conversation into events, see [`model::Model`]. A log is a [`log::Store`]; the contract
//! suite of `holdpoint-testkit` tests an engine.
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `sqlite` | yes | the log in SQLite (`log::SqliteLog`), built from source |
//! | `encryption` | no | a key that encrypts the server's own secrets in the log ([`RuntimeBuilder::secrets_key`]) |
//! | `postgres` | no | the log in PostgreSQL (`log::PostgresLog`), for several nodes |
//! | `providers` | no | models of OpenAI, Anthropic, Gemini and Ollama (`model::provider`) |
//! | `mcp` | no | tools of MCP servers (`tool::mcp`) |
//! | `http-tools` | no | tools that are HTTP endpoints (`tool::http`) |
//!
//! A program can link only one `sqlite3`. With `sqlite`, cargo chooses one that fits sqlx 0.9, diesel 2.3 or sea-orm 2 as
//! well; a program that depends on an older one of these turns `sqlite` off.

mod backoff;
pub mod clock;
mod driver;
mod metrics;

#[cfg(feature = "encryption")]
pub use driver::check_secrets;
pub use driver::{
    Admin, Agent, Anchor, ApprovalCursor, ApprovalFilter, ApprovalRow, ApprovalState, Audit, AuditCursor, Change,
    Changes, ChatCursor, ChatSummary, Chats, Counts, CursorError, DELETED, Finding, GONE, GrantAnchor, GrantCursor,
    Grants, Hold, Inbox, Limits, LineChange, Live, LiveStream, LiveTaken, Next, OpenHold, Page, ResponseStream,
    Runtime, RuntimeBuilder, RuntimeError, SecretsError, StartError, StoredChat, Tickets, Verified, audit_line,
    gone_chunks, gone_message, input_sha256, transfer, verify, verify_chain, verify_grants, verify_tables,
};
pub use tool::{Tool, ToolContext, ToolError, ToolSet};

/// Re-exported, so that a program needs only this crate.
pub use holdpoint_core::{
    Identity, Subject, approvers, call, chat, fact, grants, identity, is_unseen, redact, request_terms, subject,
    turn::{self, Answered, Refusal, Rejection},
    value::{self, ValueError},
    wire::{self, Channel, Listed, Profile, Resume, View},
};

/// Re-exported, so that a program needs only this crate.
pub use holdpoint_log as log;

/// Re-exported, so that a program needs only this crate.
pub use holdpoint_models as model;

/// Re-exported, so that a program needs only this crate.
pub use holdpoint_tools as tool;

/// Re-exported, so that a program needs only this crate.
pub use holdpoint_protocol as protocol;
