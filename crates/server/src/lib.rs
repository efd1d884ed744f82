//! Holdpoint over HTTP: a router to serve, or to mount in your own axum app.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let model: std::sync::Arc<dyn holdpoint_server::runtime::model::Model> = unimplemented!();
//! let runtime = holdpoint_server::runtime::Runtime::builder(model).start().await?;
//! let app = axum::Router::new().merge(holdpoint_server::Server::new(runtime).router());
//! # drop::<axum::Router>(app);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! A program that embeds the server usually needs none of the defaults: `default-features = false`, with the features
//! of the runtime that it uses.
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `cli` | yes | the `holdpoint` command and its settings (`config`); turns on `sqlite`, `postgres`, `providers`, `mcp`, `http-tools` and `jwt` |
//! | `console` | yes | the console at `/` of the command; in a checkout its build needs Node.js |
//! | `jwt` | by `cli` | logins by JSON Web Tokens of an identity provider |
//! | `sqlite` | by `cli` | the log in SQLite |
//! | `postgres` | by `cli` | the log in PostgreSQL, for several nodes |
//! | `providers` | by `cli` | models of OpenAI, Anthropic, Gemini and Ollama |
//! | `mcp` | by `cli` | tools of MCP servers |
//! | `http-tools` | by `cli` | tools that are HTTP endpoints |
//! | `otlp` | no | spans sent to an OpenTelemetry collector by the command |

mod app;
mod auth;
mod builder;
#[cfg(feature = "cli")]
pub mod config;
mod guard;
mod listen;
mod metrics;
mod occasional;
mod openapi;
mod request;
mod transport;

pub use app::{Limits, Server};
pub use auth::{AuthKey, IdentityError, KeyError, Keys};
#[cfg(feature = "jwt")]
pub use auth::{Jwt, JwtError, JwtSettings};
pub use builder::ServerBuilder;
/// Re-exported, so that an embedding program needs only this crate.
pub use holdpoint_runtime::{
    self as runtime,
    identity::{Group, Identity, Role},
    protocol,
};
pub use listen::ConnectionLimits;
