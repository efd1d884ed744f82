//! Models whose whole output is ready at once.

use futures::{StreamExt, stream::BoxStream};
use holdpoint_protocol::chunk::FinishReason;
use holdpoint_runtime::model::{Model, ModelError, ModelEvent, ModelRequest, Usage};
use serde_json::json;

use crate::capture::TEXTS;

/// A model that writes this many text deltas.
#[derive(Debug)]
pub(super) struct Talks(pub(super) usize);

impl Model for Talks {
    fn name(&self) -> &str {
        "talks"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let deltas = (0..self.0).map(|n| ModelEvent::TextDelta(TEXTS[n % TEXTS.len()].to_owned()));
        let events = std::iter::once(ModelEvent::TextStart).chain(deltas);
        let events = events.chain([ModelEvent::TextEnd, finish(FinishReason::Stop)]);
        futures::stream::iter(events.map(Ok)).boxed()
    }
}

/// A model that calls `process_payment`, which needs approval.
#[derive(Debug)]
pub(super) struct Pays;

impl Model for Pays {
    fn name(&self) -> &str {
        "pays"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let input =
            json!({"amount": 50, "recipient": "Hanako", "currency": "USD", "description": "The rent of November"});
        let call = ModelEvent::Call { id: "0".to_owned(), name: "process_payment".to_owned(), input: Ok(input) };
        futures::stream::iter([Ok(call), Ok(finish(FinishReason::ToolCalls))]).boxed()
    }
}

/// A model that makes a frontend call, which waits.
#[derive(Debug)]
pub(super) struct Opens;

impl Model for Opens {
    fn name(&self) -> &str {
        "opens"
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let input = json!({"url": "https://example.com"});
        let call = ModelEvent::Call { id: "0".to_owned(), name: "open-url".to_owned(), input: Ok(input) };
        futures::stream::iter([Ok(call), Ok(finish(FinishReason::ToolCalls))]).boxed()
    }
}

fn finish(reason: FinishReason) -> ModelEvent {
    ModelEvent::Finish {
        usage: Usage { prompt_tokens: 10, completion_tokens: 100, ..Usage::default() },
        reason,
        version: None,
        state: None,
    }
}
