//! `holdpoint tools import`: tools for the operations of an HTTP API, from its OpenAPI description (3.0 or 3.1).
//!
//! Only what a tool needs is read, within bounds: the description is somebody else's file.

mod read;
mod schema;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, Read as _},
    path::PathBuf,
    process::ExitCode,
};

use read::{Api, Operation};

/// The largest description that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Print settings of tools for the operations of an OpenAPI description. What is not GET needs approval.
    Import(ImportArgs),
}

#[derive(clap::Args)]
struct ImportArgs {
    /// The description, YAML or JSON; `-` is standard input.
    file: PathBuf,
    /// The base URL of the API, in place of the first of `servers`.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The beginning of the tools' names.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// Only operations with this tag. May be repeated.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

/// Why there are no tools.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{path}: {error}")]
    Read { path: String, error: io::Error },
    #[error("{0}: larger than {MAX_BYTES} bytes")]
    Large(String),
    #[error("{path}: {problem}")]
    Description { path: String, problem: String },
}

pub(super) fn run(args: &Args) -> ExitCode {
    let Command::Import(args) = &args.command;
    match import(args) {
        Ok((text, notes)) => {
            print!("{text}");
            notes.iter().for_each(|note| eprintln!("holdpoint: {note}"));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("holdpoint: {failure}");
            ExitCode::from(2)
        }
    }
}

/// The settings, and notes on what was left out.
fn import(args: &ImportArgs) -> Result<(String, Vec<String>), Failure> {
    let path = args.file.display().to_string();
    let failed = |error| Failure::Read { path: path.clone(), error };
    let mut bytes = Vec::new();
    match path.as_str() {
        "-" => io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?,
        _ => std::fs::File::open(&args.file)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(failed)?,
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::Large(path));
    }
    let wrong = |problem| Failure::Description { path: path.clone(), problem };
    let api = Api::read(&bytes, args.base_url.as_deref()).map_err(wrong)?;
    Ok(write(&api, &args.prefix, &args.tags))
}

fn write(api: &Api, prefix: &str, tags: &[String]) -> (String, Vec<String>) {
    let mut text = format!(
        "# Tools of {}, from its OpenAPI description. Look through them before you use them.\n",
        one_line(&api.title)
    );
    let mut notes = api.notes.clone();
    let mut taken = BTreeSet::new();
    for operation in &api.operations {
        if !tags.is_empty() && !operation.tags.iter().any(|tag| tags.contains(tag)) {
            continue;
        }
        let name = name(prefix, operation, &mut taken);
        tool(&mut text, api, &name, operation);
        notes.extend(operation.notes.iter().map(|note| format!("{name}: {note}")));
    }
    if taken.is_empty() {
        notes.push("no operation was found".to_owned());
    }
    (text, notes)
}

/// A name that models take, and that no other tool has.
fn name(prefix: &str, operation: &Operation, taken: &mut BTreeSet<String>) -> String {
    const MAX: usize = 60;
    let is_usual = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let plain: String = format!("{prefix}{}", operation.id);
    let plain: String = plain.chars().map(|char| if is_usual(char) { char } else { '_' }).take(MAX).collect();
    let plain = if plain.is_empty() { "tool".to_owned() } else { plain };
    let mut name = plain.clone();
    let mut number = 2;
    while !taken.insert(name.clone()) {
        name = format!("{plain}_{number}");
        number += 1;
    }
    name
}

fn tool(text: &mut String, api: &Api, name: &str, operation: &Operation) {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let _ = writeln!(text, "\n[tools.{name}]\nexecution = \"server\"");
    if let Some(title) = &operation.title {
        let _ = writeln!(text, "title = {}", quoted(title));
    }
    let _ = writeln!(text, "description = {}", quoted(&operation.description));
    let _ = writeln!(text, "url = {}", quoted(&format!("{}{}", api.base, operation.path)));
    let _ = writeln!(text, "method = \"{}\"", operation.method);
    // Whatever is not GET may change something.
    let approval = if operation.method == "GET" { "never" } else { "always" };
    let _ = writeln!(text, "approval = \"{approval}\"");
    if let Some(send) = operation.send {
        let _ = writeln!(text, "send = \"{send}\"");
    }
    if let Some((header, value)) = &api.header {
        let _ = writeln!(text, "headers = {{ {} = {} }}", quoted(header), quoted(value));
    }
    match toml::Value::try_from(&operation.schema) {
        Ok(schema) => drop(writeln!(text, "input_schema = {schema}")),
        Err(_) => text.push_str("# Its schema can't be written as TOML.\n"),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect()
}
