//! The service of a connection: the app, within the limit on requests.

use std::{
    convert::Infallible,
    io::Write,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    http::{HeaderValue, Request as HttpRequest, Response, StatusCode, header},
    response::IntoResponse,
};
use futures::future::BoxFuture;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;

use super::{
    inflow::Inflow,
    slots::{Handle, Request},
};
use crate::{
    app::Server,
    auth::PeerAddress,
    request::{Failure, RouteClass, private},
};

pub(super) struct Service {
    pub(super) app: TowerToHyperService<Router>,
    pub(super) server: Server,
    pub(super) slot: Handle,
    pub(super) address: IpAddr,
    pub(super) inflow: Arc<Inflow>,
}

impl hyper::service::Service<HttpRequest<Incoming>> for Service {
    type Response = Response<Counted>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, mut request: HttpRequest<Incoming>) -> Self::Future {
        let class = RouteClass::of(request.method(), request.uri().path());
        if class == RouteClass::Ordinary && !self.server.inner.addresses.admits(&self.address) {
            let limit = self.server.inner.limits.requests_per_address;
            return self.refuse(Failure::TooManyRequests { limit });
        }
        request.extensions_mut().insert(PeerAddress(self.address));
        request.extensions_mut().insert(self.slot.clone());
        let Some(counted) = self.slot.begin(class) else { return self.refuse(Failure::TooManyConnections) };
        if request.headers().contains_key(header::UPGRADE) {
            request.extensions_mut().insert(Arc::clone(&self.inflow));
        }
        let (answered, draining) = (self.app.call(request), self.server.inner.draining.clone());
        Box::pin(async move {
            let mut response = answered.await?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                counted.keep();
                return Ok(response.map(|body| Counted { body, _request: None }));
            }
            if draining.is_cancelled() {
                // The next request should go to another node.
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response.map(|body| Counted { body, _request: Some(counted) }))
        })
    }
}

impl Service {
    /// Refuses a request without calling the app, and ends the connection.
    fn refuse(&self, failure: Failure) -> BoxFuture<'static, Result<Response<Counted>, Infallible>> {
        if let Some(limit) = failure.limit() {
            self.server.inner.metrics.rejected(limit);
        }
        let mut response = failure.into_response();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        Box::pin(async { Ok(private(response).await.map(|body| Counted { body, _request: None })) })
    }
}

/// Refuses a connection without a slot, and does not wait for delivery.
pub(super) fn refuse(stream: TcpStream) {
    let answer = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncache-control: no-store\r\n\
                  x-content-type-options: nosniff\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = stream.into_std().and_then(|mut stream| stream.write_all(answer.as_bytes()));
}

/// A response whose request is in progress until its last byte is handed over.
pub(super) struct Counted {
    body: Body,
    _request: Option<Request>,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
