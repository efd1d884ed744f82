//! Latencies of the model.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use futures::{Stream, StreamExt, stream::BoxStream};

use super::{Metrics, ModelLabels, labels::StepResult};
use crate::model::{ModelError, ModelEvent};

type Step = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A measured step of a model. Dropped early, the step is recorded as cancelled.
struct Measured {
    step: Step,
    metrics: Metrics,
    since: Instant,
    has_begun: bool,
    result: StepResult,
}

impl Metrics {
    /// Measures a step.
    pub(crate) fn model(&self, step: Step) -> Step {
        let (since, result) = (Instant::now(), StepResult::Cancelled);
        Measured { step, metrics: self.clone(), since, has_begun: false, result }.boxed()
    }
}

impl Stream for Measured {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.step.poll_next_unpin(context);
        let Poll::Ready(item) = &polled else { return polled };
        if !std::mem::replace(&mut self.has_begun, true) {
            self.metrics.0.model_first.observe(self.since.elapsed().as_secs_f64());
        }
        match item {
            Some(Ok(ModelEvent::Finish { .. })) => self.result = StepResult::Finished,
            Some(Ok(_)) => {}
            Some(Err(_)) => self.result = StepResult::Failed,
            // The stream was cut off.
            None if self.result == StepResult::Cancelled => self.result = StepResult::Failed,
            None => {}
        }
        polled
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        let labels = ModelLabels { result: self.result };
        self.metrics.0.model_time.get_or_create(&labels).observe(self.since.elapsed().as_secs_f64());
    }
}
