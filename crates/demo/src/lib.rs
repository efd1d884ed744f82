//! A model and tools to try Holdpoint with: no key, no network, nothing real moves.
//!
//! The [`DemoModel`] understands plain requests for the [`demo_tools`] in English and Japanese. The server's command uses both
//! until a model is configured. A program gets them only by asking for them:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = holdpoint_demo::builder().start().await?;
//! # runtime.shutdown(std::time::Duration::ZERO).await;
//! # Ok(())
//! # }
//! ```

mod model;
mod tools;

use std::sync::Arc;

use holdpoint_runtime::{Runtime, RuntimeBuilder};
pub use model::DemoModel;
pub use tools::demo_tools;

/// A runtime with the demo model and the demo tools.
pub fn builder() -> RuntimeBuilder {
    Runtime::builder(Arc::new(DemoModel)).tools(demo_tools())
}
