//! The server's own log on standard error, as text or JSON, and spans for a collector.

use std::{
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use super::masked::Masked;
use holdpoint_cli::config::{LogFormat, LoggingConfig};
use tracing::{Level, Metadata};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt, LevelFilter, filter_fn},
    fmt::MakeWriter,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// The filter and the format (`text` or `json`) of the log. Both override the settings.
pub(super) const FILTER: &str = "HOLDPOINT_LOG";
pub(super) const FORMAT: &str = "HOLDPOINT_LOG_FORMAT";

/// Why logging can't be set up.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoggingError {
    #[error("{origin}: {problem}. Write a level (error, warn, info, debug) or TARGET=LEVEL, separated by commas")]
    Filter { origin: &'static str, problem: String },
    #[error(
        "{FILTER} is the filter of the server's own log, not the database: name that with --log, or with \
         `log = {{ env = \"NAME\" }}` in the settings file"
    )]
    Database,
    #[error("{FORMAT} must be `text` or `json`")]
    Format,
    #[error("{0}")]
    Otlp(String),
}

/// Flushes the rest when dropped.
#[derive(Default)]
pub(super) struct Logging {
    #[cfg(feature = "otlp")]
    _spans: Option<super::otlp::Spans>,
}

/// Starts logging. The secrets are masked, whatever logs them. Call it before the asynchronous runtime starts, since an exporter starts its own thread.
pub(super) fn begin(
    config: &LoggingConfig,
    secrets: Vec<String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Logging, LoggingError> {
    check(config, &variable)?;
    let filter = filter(config, &variable)?;
    let format = format(config, &variable)?;
    let is_plain = !io::stderr().is_terminal() || variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    let secrets: Arc<[String]> = secrets.into();
    let writer = move || OneLine(Masked { writer: io::stderr(), secrets: Arc::clone(&secrets) });
    let layer = layer(format, !is_plain, writer).with_filter(filter.and(filter_fn(is_logged)));
    let endpoint = config.otlp.clone().or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
    #[cfg(feature = "otlp")]
    {
        let (spans, exported) = endpoint.map(|endpoint| super::otlp::export(&endpoint)).transpose()?.unzip();
        let exported = exported.map(|layer| layer.with_filter(filter_fn(is_exported)).boxed());
        let layers: Vec<_> = std::iter::once(layer.boxed()).chain(exported).collect();
        tracing_subscriber::registry().with(layers).init();
        Ok(Logging { _spans: spans })
    }
    #[cfg(not(feature = "otlp"))]
    {
        drop(endpoint);
        tracing_subscriber::registry().with(layer).init();
        Ok(Logging::default())
    }
}

/// Checks the settings without starting anything.
pub(super) fn check(config: &LoggingConfig, variable: impl Fn(&str) -> Option<String>) -> Result<(), LoggingError> {
    filter(config, &variable)?;
    format(config, &variable)?;
    if cfg!(not(feature = "otlp")) && config.otlp.is_some() {
        let text = "logging.otlp is set, and this holdpoint was built without it: build with `--features otlp`";
        return Err(LoggingError::Otlp(text.to_owned()));
    }
    Ok(())
}

fn format(config: &LoggingConfig, variable: impl Fn(&str) -> Option<String>) -> Result<LogFormat, LoggingError> {
    match variable(FORMAT).as_deref() {
        None => Ok(config.format.unwrap_or_default()),
        Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(_) => Err(LoggingError::Format),
    }
}

fn filter(config: &LoggingConfig, variable: impl Fn(&str) -> Option<String>) -> Result<EnvFilter, LoggingError> {
    let (origin, text) = match (variable(FILTER).filter(|text| !text.is_empty()), &config.filter) {
        // As a filter it would be valid, and the server would use a data folder.
        (Some(text), _) if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) => {
            return Err(LoggingError::Database);
        }
        (Some(text), _) => (FILTER, text),
        (None, Some(text)) => ("logging.filter", text.clone()),
        (None, None) => ("", LoggingConfig::DEFAULT_FILTER.to_owned()),
    };
    // A word alone would be a target, of which there is none.
    let is_alone = |part: &&str| !part.is_empty() && !part.contains(['=', '[']) && part.parse::<LevelFilter>().is_err();
    if let Some(word) = text.split(',').map(str::trim).find(is_alone) {
        return Err(LoggingError::Filter { origin, problem: format!("{word:?} is not a level") });
    }
    EnvFilter::try_new(text).map_err(|error| LoggingError::Filter { origin, problem: error.to_string() })
}

/// Other libraries log from `warn` up only: below that they log messages, addresses and headers, with any secrets in
/// them. Of logins they log nothing: an authorization server may repeat a token in its refusal, and nobody knows it yet.
fn is_logged(metadata: &Metadata<'_>) -> bool {
    let (target, level) = (metadata.target(), *metadata.level());
    target.starts_with("holdpoint") || (level <= Level::WARN && !target.starts_with("rmcp::transport::auth"))
}

/// Selects what is exported: our own spans and the events in them.
#[cfg(feature = "otlp")]
fn is_exported(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("holdpoint") && *metadata.level() <= Level::INFO
}

fn layer<W>(format: LogFormat, has_colour: bool, writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(has_colour);
    match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    }
}

/// Writes one line per event: text from peers, such as chat ids, must not look like an event of its own.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    /// The formatter writes one event per call.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = event.strip_suffix(b"\n").unwrap_or(event);
        if !text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            self.0.write_all(event)?;
            return Ok(event.len());
        }
        let mut line = Vec::with_capacity(event.len() + 16);
        for byte in text {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\r' => line.extend_from_slice(b"\\r"),
                byte => line.push(*byte),
            }
        }
        line.extend_from_slice(&event[text.len()..]);
        self.0.write_all(&line)?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;

    /// Collects the output.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(format: LogFormat, has_colour: bool, events: impl FnOnce()) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let layer = layer(format, has_colour, move || OneLine(writer.clone())).with_filter(filter_fn(is_logged));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), events);
        let bytes = kept.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let forged = "a\n2026-01-01T00:00:00Z ERROR holdpoint: forged\r";
        let text = written(LogFormat::Text, false, || tracing::warn!(chat = %forged, "it waits"));
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("a\\n2026"), "{text}");
        let json = written(LogFormat::Json, false, || tracing::warn!(chat = %forged, "it waits"));
        let event: serde_json::Value = serde_json::from_str(&json).expect("one object");
        assert_eq!((&event["chat"], &event["message"]), (&forged.into(), &"it waits".into()), "{json}");
    }

    #[test]
    fn colours_are_for_terminals_and_spans_are_shown() {
        let event = || {
            let span = tracing::info_span!("chat", chat = "c-1");
            span.in_scope(|| tracing::info!(call = "k-1", "a call was started"));
        };
        assert!(written(LogFormat::Text, true, event).contains('\u{1b}'));
        let text = written(LogFormat::Text, false, event);
        assert!(!text.contains('\u{1b}') && text.contains("c-1") && text.contains("k-1"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&written(LogFormat::Json, false, event)).expect("JSON");
        assert_eq!((&json["span"]["chat"], &json["call"]), (&"c-1".into(), &"k-1".into()), "{json}");
    }

    #[test]
    fn other_libraries_are_heard_from_warn_on() {
        let text = written(LogFormat::Text, false, || {
            tracing::info!(target: "hyper::client", "the key is hunter2");
            tracing::warn!(target: "hyper::client", "it broke");
        });
        assert!(!text.contains("hunter2") && text.contains("it broke"), "{text}");
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_named() {
        let config = LoggingConfig::default();
        let error = filter(&config, |_| Some("holdpoint=loud".to_owned())).expect_err("no such level").to_string();
        assert!(error.contains(FILTER) && error.contains("TARGET=LEVEL"), "{error}");
        assert!(filter(&config, |_| None).is_ok());
    }
}
