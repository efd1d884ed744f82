//! Settings from environment variables: `HOLDPOINT_A__B__C=value` sets `a.b.c = value`.

use toml::{Table, Value};

use super::{Config, ConfigError};

const PREFIX: &str = "HOLDPOINT_";

/// Variables of the project's own build and tests, which are not settings.
const NOT_SETTINGS: [&str; 11] = [
    "BACKEND",
    "BIN",
    "CONSOLE",
    "E2E",
    "E2E_SERVE",
    "E2E_WORKERS",
    "LIVE",
    "LOG",
    "LOG_FORMAT",
    "MACHINE_CASES",
    "RECORD",
];

/// Applies the variables to the table. Each is validated separately first, so that an error names the variable.
pub(super) fn overlay(
    table: &mut Table,
    environment: impl IntoIterator<Item = (String, String)>,
    names: &[String],
) -> Result<(), ConfigError> {
    let mut variables: Vec<(String, String)> = environment
        .into_iter()
        .filter(|(name, _)| {
            name.strip_prefix(PREFIX).is_some_and(|rest| !NOT_SETTINGS.contains(&rest) && !rest.starts_with("LIVE_"))
        })
        .collect();
    variables.sort();
    for (name, text) in variables {
        let path = path(&name[PREFIX.len()..], names);
        // Text may look like a number, and vice versa: the first reading that fits is used.
        let readings = [read(&text), Value::String(text.clone())];
        let mut failed = None;
        let fits = readings.into_iter().find(|value| {
            let mut alone = Table::new();
            put(&mut alone, &path, value.clone());
            match Config::deserialize_table(alone) {
                Ok(_) => true,
                Err(error) => {
                    failed.get_or_insert_with(|| error.message().to_owned());
                    false
                }
            }
        });
        match fits {
            Some(value) => put(table, &path, value),
            None => return Err(ConfigError::Environment { name, error: failed.unwrap_or_default() }),
        }
    }
    Ok(())
}

fn path(name: &str, tools: &[String]) -> Vec<String> {
    let mut path: Vec<String> = name.split("__").map(str::to_lowercase).collect();
    if path.len() > 1 && path[0] == "tools" {
        let known = tools.iter().find(|tool| tool.to_lowercase().replace('-', "_") == path[1]);
        if let Some(known) = known {
            path[1].clone_from(known);
        }
    }
    path
}

/// Reads a value as TOML, or else as plain text.
fn read(text: &str) -> Value {
    let wrapped: Option<Table> = format!("value = {text}").parse().ok();
    wrapped.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn put(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [last] => drop(table.insert(last.clone(), value)),
        [first, rest @ ..] => {
            let inner = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
            if !inner.is_table() {
                *inner = Value::Table(Table::new());
            }
            if let Some(inner) = inner.as_table_mut() {
                put(inner, rest, value);
            }
        }
    }
}
