//! Holdpoint over HTTP: a router to serve, or to mount in your own axum app.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = holdpoint_server::runtime::driver::Runtime::builder().start().await?;
//! let app = axum::Router::new().merge(holdpoint_server::Server::new(runtime).router());
//! # drop::<axum::Router>(app);
//! # Ok(())
//! # }
//! ```

mod app;
mod auth;
mod builder;
pub mod config;
mod guard;
mod listen;
mod metrics;
mod openapi;
mod request;
mod transport;

pub use app::{Limits, Server};
pub use auth::{AuthKey, IdentityError, KeyError, Keys, Role};
pub use builder::ServerBuilder;
/// Re-exported, so that an embedding program needs only this crate.
pub use holdpoint_runtime as runtime;
pub use listen::ConnectionLimits;
