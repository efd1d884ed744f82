//! Spans for a collector, over OTLP (HTTP, protobuf).

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing_subscriber::{Layer, Registry};

use super::logging::LoggingError;

/// Sends what is left when it is dropped.
pub(super) struct Spans(SdkTracerProvider);

impl Drop for Spans {
    fn drop(&mut self) {
        // A collector that is gone must not keep the process.
        let _ = self.0.shutdown_with_timeout(std::time::Duration::from_secs(2));
    }
}

/// A layer that sends spans to the collector at this address, in batches, from a thread of its own.
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
