//! Models: the request, and the events streamed back. One request is one step of a turn.
//!
//! A model is anything that turns a conversation into events, see [`Model`]. [`ScriptModel`] plays a script, for tests:
//!
//! ```
//! use futures::StreamExt;
//! use holdpoint_models::{Model, ModelEvent, ModelRequest, ScriptModel};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ScriptModel::from_text(r#"{"turns": [{"steps": [[{"text": ["Hello."]}]]}]}"#)?;
//! let request = ModelRequest { messages: [].into(), tools: [].into(), instructions: [].into() };
//! let events: Vec<_> = model.stream(request).collect().await;
//! assert!(events.iter().any(|event| matches!(event, Ok(ModelEvent::TextDelta(text)) if &**text == "Hello.")));
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `providers` | no | models of OpenAI, Anthropic, Gemini and Ollama (`provider`) |

#[cfg(feature = "providers")]
pub mod provider;
mod script;

use std::{fmt, sync::Arc};

use futures::stream::BoxStream;
#[doc(inline)]
pub use holdpoint_core::model::*;
use holdpoint_core::tool::ToolSpec;
pub use script::{ScriptError, ScriptModel};

/// A language model.
///
/// ```
/// use futures::{StreamExt, stream::BoxStream};
/// use holdpoint_runtime::{
///     model::{Model, ModelError, ModelEvent, ModelRequest, Usage},
///     protocol::chunk::FinishReason,
/// };
///
/// /// Says how many messages it got.
/// #[derive(Debug)]
/// struct Counting;
///
/// impl Model for Counting {
///     fn name(&self) -> &str {
///         "counting-1"
///     }
///
///     fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
///         let text = format!("{} messages", request.messages.len());
///         let finish = ModelEvent::Finish { usage: Usage::default(), reason: FinishReason::Stop, version: None, state: None };
///         futures::stream::iter([Ok(ModelEvent::TextDelta(text.into())), Ok(finish)]).boxed()
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let request = ModelRequest { messages: [].into(), tools: [].into(), instructions: [].into() };
/// let events: Vec<_> = Counting.stream(request).collect().await;
/// assert_eq!(events.len(), 2);
/// # }
/// ```
pub trait Model: Send + Sync + fmt::Debug + 'static {
    /// Its name. `finish` shows it, unless the model reports another version of itself.
    fn name(&self) -> &str;

    /// Streams one step. Dropping the stream cancels the request. Nothing follows an error. A stream that ends without
    /// [`ModelEvent::Finish`] was cut off.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;

    /// What people should know of these tools with this model, such as tools that it can't be offered: for `GET /api/status`. It is
    /// called at the start and when the tools have changed, so that the model can log it.
    fn warnings(&self, tools: &[Arc<ToolSpec>]) -> Vec<String> {
        let _ = tools;
        Vec::new()
    }
}
