//! What has come of a model's stream, handled together.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{
    Stream, StreamExt,
    stream::{BoxStream, Fuse},
};

use super::weight;
use crate::{
    model::{ModelError, ModelEvent},
    turn::Input,
};

/// The most that is handled at once: what is taken from the stream is not counted yet.
const MAX_EVENTS: usize = 256;
const MAX_BYTES: usize = 256 * 1024;

/// The events that are there, together.
pub(super) struct ReadyEvents(Fuse<BoxStream<'static, Result<Input, ModelError>>>);

impl ReadyEvents {
    pub(super) fn of(events: BoxStream<'static, Result<Input, ModelError>>) -> Self {
        Self(events.fuse())
    }
}

impl Stream for ReadyEvents {
    type Item = Vec<Result<Input, ModelError>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let (mut ready, mut bytes) = (Vec::new(), 0);
        while ready.len() < MAX_EVENTS && bytes < MAX_BYTES {
            match self.0.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => {
                    bytes += size(&event);
                    ready.push(event);
                }
                Poll::Ready(None) if ready.is_empty() => return Poll::Ready(None),
                Poll::Pending if ready.is_empty() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        Poll::Ready(Some(ready))
    }
}

fn size(event: &Result<Input, ModelError>) -> usize {
    match event {
        Ok(Input::Model(ModelEvent::Call { input: Ok(input), .. })) => weight::of_value(input),
        Ok(Input::CheckedCall(call)) => weight::of_value(&call.input),
        Ok(Input::Model(ModelEvent::Call { input: Err(text), .. })) => text.len(),
        Ok(Input::Model(ModelEvent::InputDelta { delta, .. } | ModelEvent::TextDelta(delta))) => delta.len(),
        Ok(Input::Model(ModelEvent::ReasoningDelta(delta))) => delta.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_events_are_not_taken_together() {
        for (length, together) in [(10, 100), (MAX_BYTES / 2, 2), (MAX_BYTES, 1)] {
            let event = || Ok(Input::Model(ModelEvent::TextDelta("x".repeat(length))));
            let events = futures::stream::iter((0..100).map(|_| event()).collect::<Vec<_>>());
            let taken: Vec<usize> = ReadyEvents::of(events.boxed()).map(|events| events.len()).collect().await;
            assert_eq!((taken[0], taken.iter().sum::<usize>()), (together, 100), "{length}");
        }
    }
}
