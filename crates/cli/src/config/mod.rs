//! Settings: a TOML file, overridden by the environment.

mod auth;
mod check;
mod choice;
mod environment;
mod mcp;
mod model;
mod number;
mod problems;
#[cfg(test)]
mod reference;
mod rule;
mod secret;
mod tools;

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

pub use auth::AuthConfig;
use holdpoint_server::ConnectionLimits;
pub use mcp::{McpConfig, McpConfigError, McpConfigProblem};
pub use model::ModelConfig;
pub use problems::Problems;
pub use secret::{MissingVariable, SecretText, SecretTexts, SecretsKeyError, Variables};
pub use tools::{ApproversConfig, EscalationConfig, ToolConfig, ToolConfigError, ToolConfigProblem};

/// All settings. A missing one has its default.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct Config {
    /// The address to listen on.
    #[serde(deserialize_with = "choice::address")]
    pub listen: Option<SocketAddr>,
    /// The data folder.
    pub data: Option<PathBuf>,
    /// The PostgreSQL database that takes the place of the data folder: `postgres://USER:PASSWORD@HOST/DATABASE`. It has
    /// no variable; write `{ env = "NAME" }`.
    #[cfg_attr(test, schemars(with = "reference::Secret"))]
    pub log: Option<SecretText>,
    /// With `log`: the time within which the turns of a node that dies are taken over by another.
    #[serde(deserialize_with = "number::lease")]
    pub lease_sec: Option<NonZeroU32>,
    /// With `log`: do without LISTEN, NOTIFY and prepared statements, which connection poolers do not pass on.
    pub poll_only: Option<bool>,
    /// The key that encrypts the server's own secrets in the log, such as the one by which tickets are checked: at least 16
    /// characters, best random ones from a variable of the environment. Nodes that share a log need the same one. Without it the
    /// secrets are stored as they are.
    #[cfg_attr(test, schemars(with = "reference::Secret"))]
    pub secrets_key: Option<SecretText>,
    /// Origins whose pages may use the server from a browser: `https://app.example`. Without keys, local pages always
    /// may.
    #[serde(deserialize_with = "choice::texts")]
    pub origins: Vec<String>,
    /// The model.
    pub model: ModelConfig,
    /// Authentication.
    pub auth: AuthConfig,
    /// Whether the demo tools are offered: a simulated payment, invented weather. By default, only to the models `demo`
    /// and `script`.
    pub demo_tools: Option<bool>,
    /// Settings of tools, by name.
    pub tools: BTreeMap<String, ToolConfig>,
    /// MCP servers whose tools are offered.
    #[serde(deserialize_with = "mcp::servers")]
    pub mcp: Vec<McpConfig>,
    /// Limits.
    pub limits: LimitsConfig,
    /// The server's own log.
    pub logging: LoggingConfig,
    /// Chats unchanged for this many days are deleted, unless something waits or runs in them. Without it, none are.
    #[serde(deserialize_with = "number::whole")]
    pub retention_days: Option<NonZeroU32>,
}

/// Limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct LimitsConfig {
    /// Bytes per body or frame.
    #[serde(deserialize_with = "number::positive")]
    pub body_bytes: Option<usize>,
    /// JSON nesting depth; at most 100.
    #[serde(deserialize_with = "number::depth")]
    pub json_depth: Option<usize>,
    /// JSON values per body or frame.
    #[serde(deserialize_with = "number::positive")]
    pub json_nodes: Option<usize>,
    /// Open streams per subject.
    #[serde(deserialize_with = "number::positive")]
    pub streams_per_subject: Option<usize>,
    /// Requests per second per subject. Those that end or free work are counted on their own.
    #[serde(deserialize_with = "number::whole")]
    pub requests_per_subject: Option<usize>,
    /// Requests per second per address. Behind a proxy, all come from one address.
    #[serde(deserialize_with = "number::whole")]
    pub requests_per_address: Option<usize>,
    /// Wrong keys and tokens per minute per address. Then every further wrong one gets 429. Right ones are never slowed
    /// down.
    pub wrong_keys_per_minute: Option<usize>,
    /// Bytes of all bodies being read at the same time. The same again for what is parsed of them, and for responses.
    #[serde(deserialize_with = "number::positive")]
    pub bytes_in_flight: Option<usize>,
    /// Open holds per chat.
    #[serde(deserialize_with = "number::whole")]
    pub holds_per_chat: Option<usize>,
    /// Running turns per subject.
    #[serde(deserialize_with = "number::positive")]
    pub turns_per_subject: Option<usize>,
    /// Running turns in total.
    #[serde(deserialize_with = "number::positive")]
    pub turns: Option<usize>,
    /// Chats per subject in which something waits or runs.
    #[serde(deserialize_with = "number::whole")]
    pub open_chats_per_subject: Option<usize>,
    /// Grants in force per subject.
    #[serde(deserialize_with = "number::whole")]
    pub grants_per_subject: Option<usize>,
    /// Bytes per chat, as stored.
    #[serde(deserialize_with = "number::positive")]
    pub chat_bytes: Option<usize>,
    /// Bytes of all chats per subject, as stored.
    #[serde(deserialize_with = "number::positive")]
    pub stored_bytes_per_subject: Option<usize>,
    /// Chats per subject.
    #[serde(deserialize_with = "number::positive")]
    pub chats_per_subject: Option<usize>,
    /// Bytes that all chats in memory take, as estimated.
    #[serde(deserialize_with = "number::whole")]
    pub loaded_bytes: Option<usize>,
    /// Bytes of the chats of one subject in memory, once more for each response that follows one.
    #[serde(deserialize_with = "number::whole")]
    pub loaded_bytes_per_subject: Option<usize>,
    /// Bytes per client-made id.
    #[serde(deserialize_with = "number::positive")]
    pub id_bytes: Option<usize>,
    /// Connections with a request in progress.
    #[serde(deserialize_with = "number::positive")]
    pub connections: Option<usize>,
    /// Connections with a request of one subject in progress. By default a quarter of `connections` where there can be
    /// several subjects.
    #[serde(deserialize_with = "number::positive")]
    pub connections_per_subject: Option<usize>,
    /// Additional connections for `/health`, `/ready`, `/metrics`, and for what ends or frees work: the inbox, results of
    /// browsers, stop, deletion, and grants.
    #[serde(deserialize_with = "number::whole")]
    pub reserved_connections: Option<usize>,
    /// Timeout for a connection without a request, and for a request's header.
    #[serde(deserialize_with = "number::whole")]
    pub header_sec: Option<NonZeroU32>,
    /// Timeout for a request's body.
    #[serde(deserialize_with = "number::whole")]
    pub body_sec: Option<NonZeroU32>,
    /// Timeout for a client that does not read what is written to it.
    #[serde(deserialize_with = "number::whole")]
    pub write_sec: Option<NonZeroU32>,
}

impl LimitsConfig {
    /// The limits of the runtime.
    pub fn runtime(&self) -> holdpoint_runtime::Limits {
        let default = holdpoint_runtime::Limits::default();
        holdpoint_runtime::Limits {
            steps: default.steps,
            budget: default.budget,
            holds_per_chat: self.holds_per_chat.unwrap_or(default.holds_per_chat),
            turns_per_subject: self.turns_per_subject.unwrap_or(default.turns_per_subject),
            turns: self.turns.unwrap_or(default.turns),
            open_chats_per_subject: self.open_chats_per_subject.unwrap_or(default.open_chats_per_subject),
            grants_per_subject: self.grants_per_subject.unwrap_or(default.grants_per_subject),
            chat_bytes: self.chat_bytes.unwrap_or(default.chat_bytes),
            stored_bytes_per_subject: self.stored_bytes_per_subject.unwrap_or(default.stored_bytes_per_subject),
            chats_per_subject: self.chats_per_subject.unwrap_or(default.chats_per_subject),
            loaded_bytes: self.loaded_bytes.unwrap_or(default.loaded_bytes),
            loaded_bytes_per_subject: self.loaded_bytes_per_subject.unwrap_or(default.loaded_bytes_per_subject),
            id_bytes: self.id_bytes.unwrap_or(default.id_bytes),
        }
    }

    /// The limits on connections.
    pub fn connections(&self) -> ConnectionLimits {
        let default = ConnectionLimits::default();
        ConnectionLimits {
            connections: self.connections.unwrap_or(default.connections),
            per_subject: self.connections_per_subject,
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
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct LoggingConfig {
    /// The filter: a level, or TARGET=LEVEL, separated by commas. `HOLDPOINT_LOG` overrides it.
    pub filter: Option<String>,
    /// The format. `HOLDPOINT_LOG_FORMAT` overrides it.
    #[serde(deserialize_with = "choice::one_of")]
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

    /// Reads the file, if given, and the environment. `names` are the tools that the file does not define: a variable
    /// can't contain a dash, so its tool is looked up among them.
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
                    let problem = match key_before(&text[..begin]) {
                        Some(key) => format!("{key}: {}", error.message()),
                        None => error.message().to_owned(),
                    };
                    ConfigError::Toml { path: path_text.clone(), line, problem }
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

/// The key of the value that this text leads to.
fn key_before(text: &str) -> Option<&str> {
    let key = text.lines().last()?.trim_end().strip_suffix('=')?.trim_end();
    let key = key.rsplit([' ', '\t', ',', '{']).next()?;
    (!key.is_empty()).then_some(key)
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
    fn a_number_out_of_range_is_told_with_its_key_and_the_range() {
        let no_rust = |error: &str| {
            ![
                "u32", "u64", "usize", "i64", "i128", "f64", "nonzero", "struct", "Config", "variant", "sequence",
                "socket",
            ]
            .iter()
            .any(|word| error.contains(word))
        };
        for (name, value, says) in [
            ("LEASE_SEC", "0", "integer `0`, expected a whole number from 1 to 3600"),
            ("LEASE_SEC", "3601", "integer `3601`, expected a whole number from 1 to 3600"),
            ("LEASE_SEC", "-1", "integer `-1`, expected a whole number from 1 to 3600"),
            ("LEASE_SEC", "soon", "string \"soon\", expected a whole number from 1 to 3600"),
            ("LEASE_SEC", "1.5", "floating point `1.5`, expected a whole number from 1 to 3600"),
            ("RETENTION_DAYS", "0", "integer `0`, expected a whole number from 1 to 4294967295"),
            ("LIMITS__HEADER_SEC", "0", "integer `0`, expected a whole number from 1 to 4294967295"),
            ("LIMITS__TURNS", "-5", "integer `-5`, expected a whole number of at least 1"),
            ("LIMITS__BODY_BYTES", "0", "integer `0`, expected a whole number of at least 1"),
            ("LIMITS__ID_BYTES", "0", "integer `0`, expected a whole number of at least 1"),
            ("LIMITS__JSON_DEPTH", "101", "integer `101`, expected a whole number from 0 to 100"),
            ("MODEL__MAX_STEPS", "-1", "integer `-1`, expected a whole number from 1 to 4294967295"),
            ("MODEL__MAX_STEPS", "0", "integer `0`, expected a whole number from 1 to 4294967295"),
            ("MODEL__MAX_TOKENS", "0", "integer `0`, expected a whole number from 1 to 4294967295"),
            ("MODEL__TIMEOUT_SEC", "0", "integer `0`, expected a whole number from 1 to 4294967295"),
            ("MODEL__TEMPERATURE", "9.5", "floating point `9.5`, expected a number from 0 to 2"),
            ("MODEL__TEMPERATURE", "-1", "integer `-1`, expected a number from 0 to 2"),
            ("MODEL__TEMPERATURE", "hot", "string \"hot\", expected a number from 0 to 2"),
            ("MODEL__TEMPERATURE", "nan", "floating point `NaN`, expected a number from 0 to 2"),
            ("MODEL", "5", "integer `5`, expected a table"),
            ("MODEL__API", "rest", "string \"rest\", expected one of \"chat\", \"responses\""),
            (
                "MODEL__REASONING_EFFORT",
                "3",
                "expected one of \"none\", \"minimal\", \"low\", \"medium\", \"high\", \"xhigh\", \"max\"",
            ),
            ("TOOLS__OPEN_URL__TIMEOUT_SEC", "-1", "integer `-1`, expected a whole number of at least 0"),
        ] {
            let name = format!("HOLDPOINT_{name}");
            let error = from("", &[(&name, value)]).expect_err(value).to_string();
            assert!(error.contains(&name) && error.ends_with(says) && no_rust(&error), "{error}");
        }
        for (text, says) in [
            ("listen = \"127.0.0.1:1\"\nlease_sec = 0", "line 2: lease_sec: invalid value: integer `0`, expected a"),
            (
                "[model]\ntemperature = 9.5",
                "line 2: temperature: invalid value: floating point `9.5`, expected a number from 0 to 2",
            ),
            (
                "lease_sec = 99999999999999999999",
                "line 1: lease_sec: invalid value: integer `99999999999999999999`, expected a whole number from 1 to 3600",
            ),
            ("listen = 'localhost'", "line 1: listen: \"localhost\" is not an address"),
            ("listen = '127.0.0.1:99999'", "a port up to 65535"),
            ("origins = 'x'", "line 1: origins: invalid type: string \"x\", expected a list"),
            (
                "[logging]\nformat = 'xml'",
                "line 2: format: invalid value: string \"xml\", expected one of \"text\", \"json\"",
            ),
            ("[tools.x]\nwait = 'a'", "expected one of \"stream\", \"resubmit\""),
            ("[tools.x]\nexecution = 'a'", "expected one of \"server\", \"frontend\", \"delegate\""),
            ("[tools.x]\ndecisions = ['a']", "expected one of \"approve\", \"deny\""),
            ("[tools.x]\ndecisions = 'a'", "expected a list"),
            ("[[auth.keys]]\nroles = ['root']", "expected one of \"user\", \"approver\", \"admin\""),
            ("[tools.x]\napprovers = { by = 'a' }", "expected a list"),
            (
                "[[mcp]]\nname = 'a'\ncommand = 'npx x'",
                "line 3: command: invalid type: string \"npx x\", expected a list",
            ),
            ("model = 5", "line 1: model: invalid type: integer `5`, expected a table"),
            ("tools = { pay = 5 }", "line 1: pay: invalid type: integer `5`, expected a table"),
            ("[limits]\nturns=-5", "line 2: turns: invalid value: integer `-5`, expected a"),
            ("limits = { turns = 1, body_sec = 0 }", "line 1: body_sec: invalid value: integer `0`, expected a"),
        ] {
            let error = from(text, &[]).expect_err(text).to_string();
            assert!(error.contains(says) && no_rust(&error), "{error}");
        }
        assert_eq!(from("lease_sec = 3600", &[]).expect("valid").lease_sec, NonZeroU32::new(3600));
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
