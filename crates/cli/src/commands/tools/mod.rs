//! `holdpoint tools import`: tools for the operations of an HTTP API, from its OpenAPI description (3.0 or 3.1).
//!
//! Only what a tool needs is read, within bounds: the description is somebody else's file.

mod operation;
mod read;
mod schema;
mod security;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use holdpoint_cli::config::Config;
use holdpoint_runtime::tool::ToolSet;
use operation::Operation;
use read::{Api, Call};

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
    /// The base URL of the API, in place of all `servers`. If it is on this machine or in a private network, the tools may
    /// call there.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The beginning of the tools' names.
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// Only operations with this tag. May be repeated.
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
}

/// Why no tools were imported.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{path}: {error}")]
    Read { path: String, error: io::Error },
    #[error("{0}: larger than {MAX_BYTES} bytes")]
    Large(String),
    #[error("{path}: {problem}")]
    Description { path: String, problem: String },
    #[error("the tools can't be written: {0}")]
    Write(io::Error),
    #[error("no operation was found that can be a tool")]
    Nothing,
}

pub(super) fn run(args: &Args) -> ExitCode {
    let Command::Import(args) = &args.command;
    let mut notes = Vec::new();
    let written = import(args, &mut notes).and_then(|text| {
        let printed = io::stdout().lock().write_all(text.as_bytes());
        // The reader has closed the pipe: it has seen enough.
        printed.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(Failure::Write(error)),
        })
    });
    notes.iter().for_each(|note| eprintln!("holdpoint: {note}"));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("holdpoint: {failure}");
            ExitCode::from(2)
        }
    }
}

/// The settings. Notes say what was left out.
fn import(args: &ImportArgs, notes: &mut Vec<String>) -> Result<String, Failure> {
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
    let api = Api::read(bytes, args.base_url.as_deref()).map_err(wrong)?;
    write(&api, args, notes)
}

fn write(api: &Api, args: &ImportArgs, notes: &mut Vec<String>) -> Result<String, Failure> {
    let mut text = format!(
        "# Tools of {}, from its OpenAPI description. Look through them before you use them.\n",
        one_line(&api.title)
    );
    notes.extend(api.notes.iter().cloned());
    let mut taken = BTreeSet::new();
    let mut headers = BTreeSet::new();
    for call in &api.calls {
        let Call { operation, label, .. } = call;
        if !args.tags.is_empty() && !operation.tags.iter().any(|tag| args.tags.contains(tag)) {
            continue;
        }
        let name = name(&args.prefix, operation, &mut taken);
        // An address on the command line is allowed; an address in a description is not.
        let is_local = args.base_url.as_deref().is_some_and(is_this_machine);
        let tool = tool(call, &name, is_local).or_else(|problem| match args.base_url {
            Some(_) => tool(call, &name, true),
            None => Err(problem),
        });
        match tool {
            Ok(tool) => text += &tool,
            Err(problem) => {
                taken.remove(&name);
                notes.push(format!("{label} is left out: {problem}"));
                continue;
            }
        }
        headers.extend(call.headers.iter());
        notes.extend(operation.notes.iter().map(|note| format!("{name}: {note}")));
    }
    for (header, value) in headers {
        notes.push(format!("the header `{header}` is sent with the value of an environment variable: {value}"));
    }
    if taken.is_empty() { Err(Failure::Nothing) } else { Ok(text) }
}

/// Checks a tool as a start would. Every variable counts as set.
fn check(tool: &str) -> Result<(), String> {
    let config: Config = toml::from_str(tool).map_err(|error| error.message().to_owned())?;
    let checked = config.own_tools(&ToolSet::default(), &|_| Some("value".to_owned()));
    match checked.map_err(|errors| errors.into_iter().next()) {
        Err(Some(error)) => Err(error.problem.to_string()),
        Ok(_) | Err(None) => Ok(()),
    }
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

/// Whether a URL names this machine. Only an address is known to be private before it is called.
fn is_this_machine(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', ':', '?']).next().unwrap_or_default().to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// The settings of a tool, checked.
fn tool(call: &Call, name: &str, allow_private: bool) -> Result<String, String> {
    let Call { operation, base, headers, .. } = call;
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut text = format!("\n[tools.{name}]\nexecution = \"server\"\n");
    if let Some(title) = &operation.title {
        let _ = writeln!(text, "title = {}", quoted(title));
    }
    let _ = writeln!(text, "description = {}", quoted(&operation.description));
    let _ = writeln!(text, "url = {}", quoted(&format!("{base}{}", operation.path)));
    let _ = writeln!(text, "method = \"{}\"", operation.method);
    // Whatever is not GET may change something.
    let approval = if operation.method == "GET" { "never" } else { "always" };
    let _ = writeln!(text, "approval = \"{approval}\"");
    if let Some(send) = operation.send {
        let _ = writeln!(text, "send = \"{send}\"");
    }
    if allow_private {
        text.push_str("allow_private = true\n");
    }
    if !headers.is_empty() {
        let headers = headers.iter().map(|(header, value)| format!("{} = {}", quoted(header), quoted(value)));
        let _ = writeln!(text, "headers = {{ {} }}", headers.collect::<Vec<_>>().join(", "));
    }
    let schema = toml::Value::try_from(&operation.schema);
    let schema = schema.map_err(|_| "its schema can't be written as TOML: a number is too large".to_owned())?;
    let _ = writeln!(text, "input_schema = {schema}");
    check(&text).map(|()| text)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect()
}
