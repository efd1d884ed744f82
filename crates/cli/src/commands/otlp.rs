//! Spans exported to a collector over OTLP (HTTP, protobuf).

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing_subscriber::{Layer, Registry};

use super::logging::LoggingError;

/// Sends the remaining spans when dropped.
pub(super) struct Spans(SdkTracerProvider);

impl Drop for Spans {
    fn drop(&mut self) {
        // An unreachable collector must not delay the exit.
        let _ = self.0.shutdown_with_timeout(std::time::Duration::from_secs(2));
    }
}

/// A layer that exports spans to the collector at this address, in batches, from its own thread.
pub(super) fn export(endpoint: &str) -> Result<(Spans, Box<dyn Layer<Registry> + Send + Sync>), LoggingError> {
    let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let exporter = SpanExporter::builder().with_http().with_endpoint(endpoint).build();
    let exporter = exporter.map_err(|error| LoggingError::Otlp(format!("spans can't be exported: {error}")))?;
    let resource = Resource::builder()
        .with_service_name("holdpoint")
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("holdpoint"));
    Ok((Spans(provider), layer.boxed()))
}
