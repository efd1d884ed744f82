//! Holdpoint over HTTP: a router to serve, or to mount in your own axum app.
//!
//! ```
//! use std::sync::Arc;
//!
//! use holdpoint_server::{
//!     Server,
//!     runtime::{Runtime, model::ScriptModel},
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A model that says one thing. Those of providers are in `runtime::model::provider`.
//! let model = ScriptModel::from_text(r#"{"turns": [{"steps": [[{"text": ["Hello."]}]]}]}"#)?;
//! let runtime = Runtime::builder(Arc::new(model)).start().await?;
//! let server = Server::new(runtime);
//! // A chat is at `POST /api/chat`, its approval requests at `/api/approvals`; `/docs` describes all routes.
//! let app = axum::Router::new().merge(server.router());
//! # drop(app);
//! # server.shutdown(std::time::Duration::ZERO).await;
//! # Ok(())
//! # }
//! ```
//!
//! `axum::serve` serves it, or [`Server::serve`] with limits on connections. The `holdpoint` command, with settings and a console,
//! is the crate `holdpoint-cli`.
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `sqlite` | yes | the log in SQLite |
//! | `providers` | yes | models of OpenAI, Anthropic, Gemini and Ollama |
//! | `postgres` | no | the log in PostgreSQL, for several nodes |
//! | `mcp` | no | tools of MCP servers |
//! | `http-tools` | no | tools that are HTTP endpoints |
//! | `jwt` | no | logins by JSON Web Tokens of an identity provider |

mod app;
mod auth;
mod builder;
mod guard;
mod listen;
mod metrics;
mod occasional;
mod openapi;
mod request;
mod transport;

pub use app::{Limits, Server};
#[cfg(feature = "jwt")]
pub use auth::jwt::{Jwt, JwtError, JwtSettings};
pub use auth::{AuthKey, IdentityError, KeyError, Keys};
pub use builder::ServerBuilder;
/// Re-exported, so that an embedding program needs only this crate.
pub use holdpoint_runtime::{
    self as runtime,
    identity::{Group, Identity, Role},
    protocol,
};
pub use listen::ConnectionLimits;
