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
use crate::{app::Server, auth::PeerAddress, request::Failure};

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
        let is_reserved = is_reserved(request.uri().path());
        if !is_reserved && !self.server.inner.addresses.admits(&self.address) {
            let limit = self.server.inner.limits.requests_per_address;
            return self.refuse(Failure::TooManyRequests { limit });
        }
        request.extensions_mut().insert(PeerAddress(self.address));
        request.extensions_mut().insert(self.slot.clone());
        let Some(counted) = self.slot.begin(is_reserved) else { return self.refuse(Failure::TooManyConnections) };
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
        Box::pin(std::future::ready(Ok(response.map(|body| Counted { body, _request: None }))))
    }
}

/// Whether a path is served beyond the limit: for monitoring, and for the decisions that free capacity. The router may
/// be mounted below a prefix.
fn is_reserved(path: &str) -> bool {
    ["/health", "/ready", "/metrics", "/api/approvals"].iter().any(|end| path.ends_with(end))
        || path.rsplit_once('/').is_some_and(|(before, _)| before.ends_with("/api/approvals"))
}

/// Refuses a connection without a slot, and does not wait for delivery.
pub(super) fn refuse(stream: TcpStream) {
    let answer = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reserved() {
        for path in ["/health", "/agent/ready", "/metrics", "/api/approvals", "/agent/api/approvals/approval_1"] {
            assert!(is_reserved(path), "{path}");
        }
        for path in ["/", "/api/chat", "/stream", "/api/events", "/api/approvals/a/b", "/healthy"] {
            assert!(!is_reserved(path), "{path}");
        }
    }
}
