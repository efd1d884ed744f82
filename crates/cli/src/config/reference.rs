//! The reference of all settings in `docs/settings.md`, generated from the types.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use holdpoint_runtime::{
    approvers::Approvers,
    model::provider::Timeouts,
    tool::mcp::{McpSettings, McpTransport},
};
use holdpoint_server::{ConnectionLimits, JwtSettings};
use schemars::{JsonSchema, Schema as JsonSchemaValue, SchemaGenerator, json_schema, schema_for};
use serde_json::Value;

use super::{
    ApproversConfig, Config, EscalationConfig, LimitsConfig, LoggingConfig, McpConfig, ModelConfig, ToolConfig,
    auth::{JwtConfig, KeyConfig},
};

/// Where the tables are in the page.
const MARKS: [&str; 2] = ["<!-- generated from the types: begin -->\n", "<!-- generated from the types: end -->"];

/// An approval policy, which has several forms.
pub(super) struct Policy;

/// Texts by name.
pub(super) struct Texts;

/// Values by name.
pub(super) struct Options;

/// A JSON Schema.
pub(super) struct Schema;

/// A text that is never shown.
pub(super) struct Secret;

macro_rules! described {
    ($($name:ident: $text:literal),*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> JsonSchemaValue {
                json_schema!({ "type": $text })
            }
        }
    )*};
}
described!(Policy: "an approval policy", Texts: "table of strings", Options: "table of values", Schema: "a JSON Schema", Secret: "string");

/// One table of the settings.
struct Group {
    heading: &'static str,
    /// The prefix of the environment variables; none in a list, which is set as a whole.
    variable: Option<&'static str>,
    schema: Value,
    defaults: BTreeMap<&'static str, String>,
}

fn group<T: JsonSchema>(
    heading: &'static str,
    variable: Option<&'static str>,
    defaults: impl IntoIterator<Item = (&'static str, String)>,
) -> Group {
    Group { heading, variable, schema: schema_for!(T).into(), defaults: defaults.into_iter().collect() }
}

fn groups() -> Vec<Group> {
    let text = |text: &str| format!("`{text}`");
    let seconds = |time: Option<std::time::Duration>| time.map_or("none".to_owned(), |time| time.as_secs().to_string());
    let mcp = McpSettings::new("x", McpTransport::Command { command: Vec::new(), env: Vec::new() });
    vec![
        group::<Config>(
            "The top level",
            Some(""),
            [
                ("listen", text(&Config::DEFAULT_LISTEN.to_string())),
                ("data", text(Config::DEFAULT_DATA)),
                ("log", "none".into()),
                ("lease_sec", Config::DEFAULT_LEASE_SEC.to_string()),
                ("poll_only", "false".into()),
                ("secrets_key", "none".into()),
                ("demo_tools", "by the model".into()),
                ("retention_days", "none".into()),
            ],
        ),
        group::<ModelConfig>(
            "`[model]`",
            Some("MODEL__"),
            [
                ("use", text("demo")),
                ("max_steps", holdpoint_runtime::Limits::default().steps.to_string()),
                ("turn_token_budget", "none".into()),
                ("chat_token_budget", "none".into()),
                ("prompt_caching", "true".into()),
                ("first_byte_timeout_sec", seconds(Timeouts::default().first_byte)),
                ("idle_timeout_sec", seconds(Timeouts::default().idle)),
                ("timeout_sec", seconds(Timeouts::default().whole)),
            ],
        ),
        group::<KeyConfig>("`[[auth.keys]]`", None, []),
        group::<JwtConfig>(
            "`[auth.jwt]`",
            Some("AUTH__JWT__"),
            [
                ("subject_claim", text(JwtSettings::DEFAULT_SUBJECT_CLAIM)),
                ("roles_claim", text(JwtSettings::DEFAULT_ROLES_CLAIM)),
                ("groups_claim", text(JwtSettings::DEFAULT_GROUPS_CLAIM)),
                ("leeway_sec", JwtSettings::DEFAULT_LEEWAY_SEC.to_string()),
            ],
        ),
        group::<ToolConfig>("`[tools.NAME]`", Some("TOOLS__NAME__"), [("method", text("POST"))]),
        group::<ApproversConfig>(
            "`[tools.NAME.approvers]`",
            Some("TOOLS__NAME__APPROVERS__"),
            [("by", text("[\"self\"]")), ("exclude_self", "false".into()), ("quorum", "1".into())],
        ),
        group::<EscalationConfig>("`[tools.NAME.approvers.escalate]`", Some("TOOLS__NAME__APPROVERS__ESCALATE__"), []),
        group::<McpConfig>(
            "`[[mcp]]`",
            None,
            [
                ("approval", text("always")),
                ("approval_timeout_sec", seconds(mcp.approval_timeout.of(&Approvers::default()))),
                ("timeout_sec", seconds(Some(mcp.timeout))),
            ],
        ),
        group::<LimitsConfig>("`[limits]`", Some("LIMITS__"), limits()),
        group::<LoggingConfig>(
            "`[logging]`",
            Some("LOGGING__"),
            [("filter", text(LoggingConfig::DEFAULT_FILTER)), ("format", text("text"))],
        ),
    ]
}

/// The defaults of the limits, which have their place where they are applied.
fn limits() -> Vec<(&'static str, String)> {
    let (runtime, server, connections) =
        (holdpoint_runtime::Limits::default(), holdpoint_server::Limits::default(), ConnectionLimits::default());
    let seconds = |time: std::time::Duration| time.as_secs().to_string();
    vec![
        ("body_bytes", server.body.to_string()),
        ("json_depth", server.depth.to_string()),
        ("json_nodes", server.nodes.to_string()),
        ("streams_per_subject", server.streams_per_subject.to_string()),
        ("requests_per_subject", server.requests_per_subject.to_string()),
        ("requests_per_address", server.requests_per_address.to_string()),
        ("wrong_keys_per_minute", server.wrong_keys_per_minute.to_string()),
        ("bytes_in_flight", server.bytes_in_flight.to_string()),
        ("holds_per_chat", runtime.holds_per_chat.to_string()),
        ("turns_per_subject", runtime.turns_per_subject.to_string()),
        ("turns", runtime.turns.to_string()),
        ("open_chats_per_subject", runtime.open_chats_per_subject.to_string()),
        ("grants_per_subject", runtime.grants_per_subject.to_string()),
        ("chat_bytes", runtime.chat_bytes.to_string()),
        ("stored_bytes_per_subject", runtime.stored_bytes_per_subject.to_string()),
        ("chats_per_subject", runtime.chats_per_subject.to_string()),
        ("loaded_bytes", runtime.loaded_bytes.to_string()),
        ("loaded_bytes_per_subject", runtime.loaded_bytes_per_subject.to_string()),
        ("id_bytes", runtime.id_bytes.to_string()),
        ("connections", connections.connections.to_string()),
        ("connections_per_subject", "a quarter".to_owned()),
        ("reserved_connections", connections.reserved.to_string()),
        ("header_sec", seconds(connections.header_time)),
        ("body_sec", seconds(server.body_time)),
        ("write_sec", seconds(connections.write_time)),
    ]
}

/// The tables, as Markdown.
fn tables() -> String {
    let mut out = String::new();
    for Group { heading, variable, schema, defaults } in groups() {
        let _ = writeln!(out, "\n### {heading}\n\n| key | type | default | environment | meaning |");
        out += "| --- | --- | --- | --- | --- |\n";
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, property) in schema["properties"].as_object().expect("a table has keys") {
            let kind = kind(property, &schema);
            // Tables have a section of their own.
            if kind == "table" {
                continue;
            }
            let default = match defaults.get(key.as_str()) {
                Some(default) => default.clone(),
                None if required.contains(&key.as_str()) => "required".to_owned(),
                None if property["default"].is_boolean() => property["default"].to_string(),
                None => String::new(),
            };
            let variable = variable.map(|prefix| format!("HOLDPOINT_{prefix}{}", key.to_uppercase()));
            // That variable is the filter of the server's own log.
            let variable = variable.filter(|name| name != "HOLDPOINT_LOG");
            let variable = variable.map_or(String::new(), |name| format!("`{name}`"));
            let meaning = property["description"].as_str().unwrap_or_else(|| panic!("{heading}: {key} has no meaning"));
            let _ = writeln!(out, "| `{key}` | {kind} | {default} | {variable} | {} |", meaning.replace('\n', " "));
        }
    }
    out
}

/// The type of a setting, in words.
fn kind(property: &Value, root: &Value) -> String {
    if let Some(name) = property["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return kind(&root["$defs"][name], root);
    }
    let choices = |values: &[Value]| values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    if let Some(values) = property["enum"].as_array() {
        return choices(values);
    }
    if let Some(options) = property["oneOf"].as_array() {
        return choices(&options.iter().map(|option| option["const"].clone()).collect::<Vec<_>>());
    }
    if let Some(options) = property["anyOf"].as_array() {
        let option = options.iter().find(|option| option["type"] != "null");
        return option.map_or(String::new(), |option| kind(option, root));
    }
    let name = match &property["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or_default(),
        name => name.as_str().unwrap_or_default(),
    };
    match name {
        "object" => "table".to_owned(),
        "array" => match kind(&property["items"], root).as_str() {
            "table" => "table".to_owned(),
            item if item.starts_with('`') => format!("list of {item}"),
            item => format!("list of {item}s"),
        },
        other => other.to_owned(),
    }
}

/// `UPDATE_DOCS=1 cargo test -p holdpoint-server settings_reference` writes the page.
#[test]
fn the_settings_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(MARKS[0]).expect("the first mark");
    let (found, after) = rest.split_once(MARKS[1]).expect("the second mark");
    let wanted = tables() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, [before, MARKS[0], &wanted, MARKS[1], after].concat()).expect("it can be written");
    } else {
        let fix = "run `UPDATE_DOCS=1 cargo test -p holdpoint-server settings_reference`";
        assert_eq!(found, wanted, "docs/settings.md is not what the types say: {fix}");
    }
}

/// Every documented variable sets what it says, and lists are set as a whole.
#[test]
fn lists_can_be_set_in_the_environment() {
    let variable = ("HOLDPOINT_MCP".to_owned(), r#"[{ name = "files", command = ["x"] }]"#.to_owned());
    let config = Config::load(None, [variable], &[]).expect("valid");
    assert_eq!(config.mcp[0].name, "files");
}
