//! Metrics of one server: requests, streams, sockets, bytes and rejections. Exposed with its runtime's metrics.
//!
//! Labels are bounded: routes are templates, and methods and limits come from fixed sets.

use std::{fmt, time::Instant};

use axum::{
    body::{Body, HttpBody},
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use prometheus_client::{
    encoding::{
        EncodeLabelSet, EncodeLabelValue, LabelValueEncoder,
        text::{encode_eof, encode_registry},
    },
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};

use crate::{app::Server, request::Limit};

/// The media type of `/metrics`.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The kinds of streams that count towards a subject's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum StreamKind {
    /// A turn over SSE.
    Turn,
    /// A turn resumed over SSE.
    Resume,
    /// `/api/events`.
    Events,
    /// A response on `/api/chat/ws`.
    WsResponse,
    /// The socket `/live`.
    Live,
    /// The socket `/api/chat/ws`.
    Ws,
}

/// The transport of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Transport {
    Http,
    Socket,
}

macro_rules! labels {
    ($($name:ident { $($field:ident: $type:ty),* })*) => {$(
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        struct $name { $($field: $type),* }
    )*};
}

labels! {
    RequestLabels { route: String, method: &'static str, status: u16 }
    RouteLabels { route: String }
    StreamLabels { kind: StreamKind }
    TransportLabels { transport: Transport }
    LimitLabels { limit: Limit }
}

impl EncodeLabelValue for StreamKind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let text = match self {
            Self::Turn => "turn",
            Self::Resume => "resume",
            Self::Events => "events",
            Self::WsResponse => "answer",
            Self::Live => "live",
            Self::Ws => "ws",
        };
        text.encode(encoder)
    }
}

impl EncodeLabelValue for Transport {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let text = match self {
            Self::Http => "http",
            Self::Socket => "socket",
        };
        text.encode(encoder)
    }
}

impl EncodeLabelValue for Limit {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        self.name().encode(encoder)
    }
}

/// The metrics of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    duration: Family<RouteLabels, Histogram, fn() -> Histogram>,
    streams: Family<StreamLabels, Gauge>,
    sockets: Family<StreamLabels, Gauge>,
    received: Family<TransportLabels, Counter>,
    sent: Family<TransportLabels, Counter>,
    rejections: Family<LimitLabels, Counter>,
}

/// Buckets for the seconds until a response begins.
const LATENCIES: [f64; 11] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut to = Registry::with_prefix("holdpoint");
        let requests = Family::default();
        to.register("http_requests", "Requests, by route, method and status", requests.clone());
        let duration = Family::new_with_constructor((|| Histogram::new(LATENCIES)) as fn() -> Histogram);
        let help = "Time until the response begins; a stream goes on after that";
        to.register_with_unit("http_request_duration", help, Unit::Seconds, duration.clone());
        let streams = Family::default();
        to.register("streams", "Open streams", streams.clone());
        let sockets = Family::default();
        to.register("sockets", "Open WebSockets", sockets.clone());
        let (received, sent) = (Family::default(), Family::default());
        to.register_with_unit("received", "Received in bodies and frames", Unit::Bytes, received.clone());
        to.register_with_unit("sent", "Sent in bodies and frames", Unit::Bytes, sent.clone());
        let rejections = Family::default();
        to.register("rejections", "Requests and frames that were refused because of a limit", rejections.clone());
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        to.register("build", "The version of the server", version);
        for limit in Limit::ALL {
            drop(rejections.get_or_create(&LimitLabels { limit: *limit }));
        }
        for transport in [Transport::Http, Transport::Socket] {
            drop(received.get_or_create(&TransportLabels { transport }));
            drop(sent.get_or_create(&TransportLabels { transport }));
        }
        for kind in [StreamKind::Turn, StreamKind::Resume, StreamKind::Events, StreamKind::WsResponse] {
            drop(streams.get_or_create(&StreamLabels { kind }));
        }
        for kind in [StreamKind::Live, StreamKind::Ws] {
            drop(sockets.get_or_create(&StreamLabels { kind }));
        }
        Self { registry: to, requests, duration, streams, sockets, received, sent, rejections }
    }

    /// Counts a stream or socket that opened.
    pub(crate) fn opened(&self, kind: StreamKind) {
        self.open(kind).inc();
    }

    pub(crate) fn closed(&self, kind: StreamKind) {
        self.open(kind).dec();
    }

    fn open(&self, kind: StreamKind) -> Gauge {
        let family = match kind {
            StreamKind::Turn | StreamKind::Resume | StreamKind::Events | StreamKind::WsResponse => &self.streams,
            StreamKind::Live | StreamKind::Ws => &self.sockets,
        };
        family.get_or_create_owned(&StreamLabels { kind })
    }

    pub(crate) fn received(&self, transport: Transport, bytes: usize) {
        self.received.get_or_create(&TransportLabels { transport }).inc_by(bytes as u64);
    }

    pub(crate) fn sent(&self, transport: Transport, bytes: usize) {
        self.sent.get_or_create(&TransportLabels { transport }).inc_by(bytes as u64);
    }

    /// Counts a rejection by a limit.
    pub(crate) fn rejected(&self, limit: Limit) {
        self.rejections.get_or_create(&LimitLabels { limit }).inc();
    }

    /// All metrics, in the OpenMetrics text format.
    pub(crate) async fn text(&self, runtime: &holdpoint_runtime::Runtime) -> String {
        let mut out = String::with_capacity(16 * 1024);
        runtime.admin().write_metrics(&mut out).await;
        // Writing into a string can't fail.
        let _ = encode_registry(&mut out, &self.registry).and_then(|()| encode_eof(&mut out));
        out
    }
}

/// The response of `/metrics`.
pub(crate) fn response(text: String) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))], text).into_response()
}

/// Counts and times a request, and counts the bytes of its bodies. Bytes of a stream are counted as they are written.
pub(crate) async fn measure(State(server): State<Server>, request: Request, next: Next) -> Response {
    let since = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = method(request.method());
    let request = match request.body().is_end_stream() {
        true => request,
        false => {
            let server = server.clone();
            request.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let bytes = frame.data_ref().map_or(0, bytes::Bytes::len);
                    server.inner.metrics.received(Transport::Http, bytes);
                    frame
                }))
            })
        }
    };
    let response = next.run(request).await;
    let metrics = &server.inner.metrics;
    metrics.duration.get_or_create(&RouteLabels { route: route.clone() }).observe(since.elapsed().as_secs_f64());
    let status = response.status().as_u16();
    metrics.requests.get_or_create(&RequestLabels { route, method, status }).inc();
    if let Some(bytes) = response.body().size_hint().exact() {
        metrics.sent(Transport::Http, usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    response
}

/// Known methods only: a client can make up any method.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}
