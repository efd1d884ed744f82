//! The last moment before a call is sent: its connection stands, and nothing was written to it. A call has a connection of
//! its own, so there is one such moment for each request.

use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll},
};

use tower_layer::Layer;
use tower_service::Service;

use crate::ToolContext;

tokio::task_local! {
    /// The call whose request is being made by this task.
    static CALL: ToolContext;
}

/// Makes a request of this call.
pub(super) async fn sending<F: Future>(call: &ToolContext, request: F) -> F::Output {
    CALL.scope(call.clone(), request).await
}

/// Asks the call, once there is a connection, whether its request may still be sent.
#[derive(Clone, Copy)]
pub(super) struct AskBeforeSending;

impl<S> Layer<S> for AskBeforeSending {
    type Service = Asking<S>;

    fn layer(&self, connector: S) -> Asking<S> {
        Asking(connector)
    }
}

#[derive(Clone)]
pub(super) struct Asking<S>(S);

type Connecting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl<S, R> Service<R> for Asking<S>
where
    S: Service<R, Error = Box<dyn Error + Send + Sync>>,
    S::Response: Send + 'static,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Connecting<S::Response, S::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        // The client connects in the task of the request. Without a call there is nobody to ask, so nothing is sent.
        let call = CALL.try_with(ToolContext::clone);
        let connecting = self.0.call(target);
        Box::pin(async move {
            let connection = connecting.await?;
            call?.before_sending().await?;
            Ok(connection)
        })
    }
}
