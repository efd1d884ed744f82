//! Settings: a TOML file, overridden by the environment.

mod check;
mod environment;
mod mcp;
#[cfg(test)]
mod reference;
mod secret;
mod tools;

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

pub use mcp::{McpConfig, McpConfigError, McpConfigProblem, McpToolConfig};
pub use secret::{MissingVariable, SecretText, SecretTexts, Variables};
pub use tools::{ToolConfig, ToolConfigError, ToolConfigProblem};

use holdpoint_runtime::driver;

use crate::{auth::AuthKey, listen::ConnectionLimits};

/// All settings. A missing one has its default.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
    /// The data folder.
    pub data: Option<PathBuf>,
    /// The PostgreSQL database that takes the place of the data folder: `postgres://USER:PASSWORD@HOST/DATABASE`. It has
    /// no variable; write `{ env = "NAME" }`.
    #[cfg_attr(test, schemars(with = "reference::Secret"))]
    pub log: Option<SecretText>,
    /// With `log`: the time after which a node that has not been heard of is gone, and its turns are taken over.
    pub lease_sec: Option<NonZeroU32>,
    /// With `log`: do without LISTEN, NOTIFY and prepared statements, which connection poolers do not pass on.
    pub poll_only: Option<bool>,
    /// Origins whose pages may use the server from a browser: `https://app.example`. Without keys, local pages always
    /// may.
    pub origins: Vec<String>,
    /// The model.
    pub model: ModelConfig,
    /// Authentication.
    pub auth: AuthConfig,
    /// Settings of tools, by name.
    pub tools: BTreeMap<String, ToolConfig>,
    /// MCP servers whose tools are offered.
    pub mcp: Vec<McpConfig>,
    /// Limits.
    pub limits: LimitsConfig,
    /// The server's own log.
    pub logging: LoggingConfig,
    /// Chats unchanged for this many days are deleted, unless something waits or runs in them. Without it, none are.
    pub retention_days: Option<NonZeroU32>,
}

/// The model.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// `demo`, `script:FILE`, `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL` or `ollama:MODEL`.
    #[serde(rename = "use")]
    pub use_model: Option<String>,
    /// The provider's base URL, if not the default.
    pub base_url: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Maximum tokens per step.
    pub max_tokens: Option<u64>,
    /// Maximum steps per turn.
    pub max_steps: Option<u32>,
}

/// Authentication settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    /// API keys. Without any, everyone may use the server, but only from this machine.
    pub keys: Vec<AuthKey>,
}

/// Limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Bytes per body or frame.
    pub body_bytes: Option<usize>,
    /// JSON nesting depth; at most 100.
    pub json_depth: Option<usize>,
    /// JSON values per body or frame.
    pub json_nodes: Option<usize>,
    /// Open streams per subject.
    pub streams_per_subject: Option<usize>,
    /// Requests per second per subject.
    pub requests_per_subject: Option<usize>,
    /// Requests per second per address. Behind a proxy, all come from one address.
    pub requests_per_address: Option<usize>,
    /// Bytes of all bodies being read at the same time. The same again for responses being written.
    pub bytes_in_flight: Option<usize>,
    /// Open holds per chat.
    pub holds_per_chat: Option<usize>,
    /// Running turns per subject.
    pub turns_per_subject: Option<usize>,
    /// Running turns in total.
    pub turns: Option<usize>,
    /// Chats per subject in which something waits or runs.
    pub open_chats_per_subject: Option<usize>,
    /// Bytes per chat, as stored.
    pub chat_bytes: Option<usize>,
    /// Bytes of all chats in memory, as stored.
    pub loaded_bytes: Option<usize>,
    /// Bytes per client-made id.
    pub id_bytes: Option<usize>,
    /// Connections with a request in progress.
    pub connections: Option<usize>,
    /// Additional connections for `/health`, `/ready`, `/metrics` and the inbox.
    pub reserved_connections: Option<usize>,
    /// Timeout for a connection without a request, and for a request's header.
    pub header_sec: Option<NonZeroU32>,
    /// Timeout for a request's body.
    pub body_sec: Option<NonZeroU32>,
    /// Timeout for a client that does not read what is written to it.
    pub write_sec: Option<NonZeroU32>,
}

impl LimitsConfig {
    /// The limits of the runtime.
    pub fn runtime(&self) -> driver::Limits {
        let default = driver::Limits::default();
        driver::Limits {
            steps: default.steps,
            holds_per_chat: self.holds_per_chat.unwrap_or(default.holds_per_chat),
            turns_per_subject: self.turns_per_subject.unwrap_or(default.turns_per_subject),
            turns: self.turns.unwrap_or(default.turns),
            open_chats_per_subject: self.open_chats_per_subject.unwrap_or(default.open_chats_per_subject),
            chat_bytes: self.chat_bytes.unwrap_or(default.chat_bytes),
            loaded_bytes: self.loaded_bytes.unwrap_or(default.loaded_bytes),
            id_bytes: self.id_bytes.unwrap_or(default.id_bytes),
        }
    }

    /// The limits on connections.
    pub fn connections(&self) -> ConnectionLimits {
        let default = ConnectionLimits::default();
        ConnectionLimits {
            connections: self.connections.unwrap_or(default.connections),
            reserved: self.reserved_connections.unwrap_or(default.reserved),
            header_time: seconds(self.header_sec).unwrap_or(default.header_time),
            write_time: seconds(self.write_sec).unwrap_or(default.write_time),
        }
    }

    /// The timeout for a request's body, if set.
    pub fn body_time(&self) -> Option<Duration> {
        seconds(self.body_sec)
    }
}

fn seconds(number: Option<NonZeroU32>) -> Option<Duration> {
    number.map(|number| Duration::from_secs(number.get().into()))
}

/// The server's own log.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct LoggingConfig {
    /// The filter: a level, or TARGET=LEVEL, separated by commas. `HOLDPOINT_LOG` overrides it.
    pub filter: Option<String>,
    /// The format. `HOLDPOINT_LOG_FORMAT` overrides it.
    pub format: Option<LogFormat>,
    /// The address of an OTLP collector for spans, `http://HOST:4318`. Needs the feature `otlp`.
    pub otlp: Option<String>,
}

impl LoggingConfig {
    /// The filter, where none is set.
    pub const DEFAULT_FILTER: &str = "warn";
}

/// The format of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Why the settings can't be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ConfigError {
    #[error("{path}: {error}")]
    Read { path: String, error: std::io::Error },
    /// The line itself is left out: it may contain a secret.
    #[error("{path}, line {line}: {problem}")]
    Toml { path: String, line: usize, problem: String },
    #[error("the environment variable {name}: {error}")]
    Environment { name: String, error: String },
    #[error("{origin}: {error}")]
    Setting { origin: String, error: Box<toml::de::Error> },
    #[error("{key}: {problem}")]
    Value { key: String, problem: String },
}

impl Config {
    /// The address, where none is set.
    pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8787);
    /// The lease, where none is set, in seconds.
    pub const DEFAULT_LEASE_SEC: u32 = 5;
    /// The data folder, where none is set.
    pub const DEFAULT_DATA: &str = "holdpoint-data";

    /// Reads the file, if given, and the environment. `names` are the tools besides those of the file: a variable can't
    /// contain a dash, so its tool is looked up among them.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
        names: &[String],
    ) -> Result<Self, ConfigError> {
        let origin = file.map_or("the environment".to_owned(), |path| path.display().to_string());
        let mut table = match file {
            None => toml::Table::new(),
            Some(path) => {
                let path_text = path.display().to_string();
                let text = std::fs::read_to_string(path)
                    .map_err(|error| ConfigError::Read { path: path_text.clone(), error })?;
                let wrong = |error: toml::de::Error| {
                    let begin = error.span().map_or(0, |span| span.start);
                    let line = text.bytes().take(begin).filter(|byte| *byte == b'\n').count() + 1;
                    ConfigError::Toml { path: path_text.clone(), line, problem: error.message().to_owned() }
                };
                // Read as a whole first, so that an error has its line.
                toml::from_str::<Self>(&text).map_err(wrong)?;
                text.parse().map_err(wrong)?
            }
        };
        let mut names = names.to_vec();
        if let Some(tools) = table.get("tools").and_then(toml::Value::as_table) {
            names.extend(tools.keys().cloned());
        }
        environment::overlay(&mut table, environment, &names)?;
        Self::deserialize_table(table).map_err(|error| ConfigError::Setting { origin, error: Box::new(error) })?.check()
    }

    fn deserialize_table(table: toml::Table) -> Result<Self, toml::de::Error> {
        serde::Deserialize::deserialize(toml::Value::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), text).expect("it can be written");
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::load(Some(file.path()), environment, &["open-url".to_owned(), "process_payment".to_owned()])
    }

    #[test]
    fn the_environment_goes_over_the_file() {
        let config = from(
            "listen = \"127.0.0.1:1\"\n[tools.process_payment]\napproval_timeout_sec = 5",
            &[
                ("HOLDPOINT_LISTEN", "127.0.0.1:2"),
                ("HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVAL_TIMEOUT_SEC", "300"),
                ("HOLDPOINT_TOOLS__OPEN_URL__TIMEOUT_SEC", "7"),
                ("HOLDPOINT_MODEL__USE", "script:x.json"),
                ("PATH", "/bin"),
            ],
        )
        .expect("valid");
        assert_eq!(config.listen, "127.0.0.1:2".parse().ok());
        assert_eq!(config.tools["process_payment"].approval_timeout_sec, Some(300));
        assert_eq!(config.tools["open-url"].timeout_sec, Some(7));
        assert_eq!(config.model.use_model.as_deref(), Some("script:x.json"));
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = from("lisen = \"127.0.0.1:1\"", &[]).expect_err("unknown").to_string();
        assert!(error.contains("lisen"), "{error}");
        let error = from("[tools.process_payment]\naproval = \"never\"", &[]).expect_err("unknown").to_string();
        assert!(error.contains("aproval"), "{error}");
        let error = from("", &[("HOLDPOINT_LIMITS__BODY", "5")]).expect_err("unknown").to_string();
        assert!(error.contains("HOLDPOINT_LIMITS__BODY"), "{error}");
        let error = from("", &[("HOLDPOINT_LISTEN", "nowhere")]).expect_err("no address").to_string();
        assert!(error.contains("HOLDPOINT_LISTEN"), "{error}");
    }
}
