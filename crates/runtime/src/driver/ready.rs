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

/// The most that is taken from the stream at once, unless a single event weighs more: it is counted only afterwards.
const MAX_EVENTS: usize = 256;
const MAX_WEIGHT: usize = 512 * 1024;

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
        let (mut ready, mut weight) = (Vec::new(), 0);
        while ready.len() < MAX_EVENTS && weight < MAX_WEIGHT {
            match self.0.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => {
                    weight += weight_of(&event);
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

/// What these events take until their facts are written and counted, and the part of it for inputs of calls.
pub(super) fn weights(events: &[Result<Input, ModelError>]) -> (usize, usize) {
    events.iter().fold((0, 0), |(all, inputs), event| {
        let weight = weight_of(event);
        (all + weight, inputs + if is_input(event) { weight } else { 0 })
    })
}

/// Whether it is a call with its input.
fn is_input(event: &Result<Input, ModelError>) -> bool {
    matches!(event, Ok(Input::CheckedCall(_) | Input::Model(ModelEvent::Call { input: Ok(_), .. })))
}

fn weight_of(event: &Result<Input, ModelError>) -> usize {
    match event {
        Ok(Input::Model(ModelEvent::Call { input: Ok(input), .. })) => weight::of_value(input),
        Ok(Input::CheckedCall(call)) => weight::of_value(&call.input),
        Ok(Input::Model(ModelEvent::Call { input: Err(text), .. })) => weight::of_text(text),
        Ok(Input::Model(ModelEvent::InputDelta { delta, .. } | ModelEvent::TextDelta(delta))) => weight::of_text(delta),
        Ok(Input::Model(ModelEvent::ReasoningDelta(delta))) => weight::of_text(delta),
        Ok(Input::Model(ModelEvent::Finish { state: Some(state), .. })) => weight::of_text(&state.data),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_events_are_not_taken_together() {
        for (length, together) in [(10, 100), (MAX_WEIGHT / 4, 2), (MAX_WEIGHT, 1)] {
            let event = || Ok(Input::Model(ModelEvent::TextDelta("x".repeat(length))));
            let events = futures::stream::iter((0..100).map(|_| event()).collect::<Vec<_>>());
            let taken: Vec<usize> = ReadyEvents::of(events.boxed()).map(|events| events.len()).collect().await;
            assert_eq!((taken[0], taken.iter().sum::<usize>()), (together, 100), "{length}");
        }
    }
}
