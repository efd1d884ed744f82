//! `holdpoint init`: writes a settings file with comments, after three questions. Each has an option, so that nobody has
//! to be there to answer.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use holdpoint_server::config::Config;

use super::key;

/// The longest answer that is read.
const MAX_ANSWER: u64 = 4096;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The file to write. One that exists is never overwritten.
    #[arg(default_value = "holdpoint.toml")]
    file: PathBuf,
    /// The model: demo, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL.
    #[arg(long, value_name = "SPEC")]
    model: Option<String>,
    /// Who may use the server: `local` for this machine only, or the name of a person, who gets an API key.
    #[arg(long, value_name = "local|NAME")]
    user: Option<String>,
    /// The data folder.
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Ask nothing: what no option says has its default.
    #[arg(long)]
    yes: bool,
}

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0} exists, and is not overwritten: name another file, or remove it")]
    Exists(String),
    #[error("{path}: {error}")]
    Write { path: String, error: io::Error },
    #[error("{0} must not be empty")]
    Empty(&'static str),
    #[error(transparent)]
    Key(#[from] key::Failure),
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub(super) fn run(args: &Args) -> ExitCode {
    match write(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("holdpoint: {failure}");
            ExitCode::from(2)
        }
    }
}

/// The answers.
struct Answers {
    model: String,
    user: String,
    data: String,
}

fn write(args: &Args) -> Result<(), Failure> {
    let path = args.file.display().to_string();
    // Before the questions: nobody answers them in vain.
    if args.file.exists() {
        return Err(Failure::Exists(path));
    }
    let is_asking = !args.yes && io::stdin().is_terminal();
    let ask = |given: &Option<String>, question: &str, default: &str| match given {
        Some(given) => Ok(given.clone()),
        None if is_asking => ask(question, default),
        None => Ok(default.to_owned()),
    };
    let answers = Answers {
        model: ask(
            &args.model,
            "Which model? demo, openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL",
            "demo",
        )?,
        user: ask(&args.user, "Who uses it? local (this machine only), or a name, for whom a key is made", "local")?,
        data: ask(&args.data, "In which folder are the chats kept?", Config::DEFAULT_DATA)?,
    };
    for (name, answer) in [("--model", &answers.model), ("--user", &answers.user), ("--data", &answers.data)] {
        if answer.trim().is_empty() {
            return Err(Failure::Empty(name));
        }
    }
    let (text, key) = settings(&answers)?;
    create(&args.file, &text)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{path} is written. Check it with `holdpoint config check --config {path}`, start with")?;
    writeln!(out, "\n    holdpoint --config {path}\n")?;
    if let Some(variable) = key_variable(&answers.model) {
        writeln!(out, "The model needs its key in the environment: {variable}.")?;
    }
    if let Some(key) = key {
        writeln!(out, "The API key of {}, which is not stored anywhere:\n\n{key}", answers.user)?;
    }
    Ok(())
}

/// Asks a question; an empty answer is the default.
fn ask(question: &str, default: &str) -> Result<String, io::Error> {
    let mut out = io::stderr().lock();
    write!(out, "{question} [{default}]: ")?;
    out.flush()?;
    let mut answer = String::new();
    io::Read::take(io::stdin().lock(), MAX_ANSWER).read_line(&mut answer)?;
    let answer = answer.trim();
    Ok(if answer.is_empty() { default.to_owned() } else { answer.to_owned() })
}

/// Creates the file, and fails if it is there by now.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = || path.display().to_string();
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = created.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::Exists(shown()),
        _ => Failure::Write { path: shown(), error },
    })?;
    file.write_all(text.as_bytes()).map_err(|error| Failure::Write { path: shown(), error })
}

/// The variable with the key of a model's provider.
fn key_variable(model: &str) -> Option<&'static str> {
    match model.split(':').next() {
        Some("openai") => Some("OPENAI_API_KEY"),
        Some("anthropic") => Some("ANTHROPIC_API_KEY"),
        Some("gemini") => Some("GEMINI_API_KEY"),
        _ => None,
    }
}

/// The text of the file, and the key that was made.
fn settings(answers: &Answers) -> Result<(String, Option<String>), Failure> {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut text = "# Settings of Holdpoint. All of them, with their defaults: docs/settings.md\n\n".to_owned();
    text += "# Where the server listens. Without keys, only this machine can be served.\n";
    let _ = writeln!(text, "listen = \"{}\"\n", Config::DEFAULT_LISTEN);
    text += "# Where the chats are kept.\n";
    let _ = writeln!(text, "data = {}\n", quoted(&answers.data));
    text += "[model]\n# demo, script:FILE, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL";
    match key_variable(&answers.model) {
        Some(variable) => drop(writeln!(text, ". The key is in {variable}.")),
        None => text += ".\n",
    }
    let _ = writeln!(text, "use = {}", quoted(&answers.model));
    text += "# What the model is told first.\n# system = \"You help the customers of a shop.\"\n\n";
    let key = match answers.user.as_str() {
        "local" => {
            text += "# Without keys everybody on this machine may do everything. `holdpoint key new` makes a key:\n";
            text +=
                "# [[auth.keys]]\n# key_sha256 = \"…\"\n# subject = \"ann\"\n# roles = [\"user\", \"approver\"]\n\n";
            None
        }
        user => {
            text += "# Who may use the server. The key itself is not here: this is its hash.\n";
            let (key, entry) = key::make(user)?;
            text += &entry;
            text += "\n";
            Some(key)
        }
    };
    text += EXAMPLES;
    Ok((text, key))
}

const EXAMPLES: &str = r#"# A tool that is an HTTP endpoint: docs/guides/http-tools.md
# [tools.refund_order]
# execution = "server"
# description = "Refunds an order, in dollars"
# url = "https://shop.example/api/orders/{order}/refund"
# headers = { authorization = "Bearer ${SHOP_TOKEN}" }
# approval = { when = "/amount", over = 100 }
# approvers = { by = ["group:finance"], exclude_self = true }
# input_schema = { type = "object", required = ["order", "amount"], properties = { order = { type = "string" }, amount = { type = "number" } } }

# The tools of an MCP server: docs/guides/mcp.md
# [[mcp]]
# name = "files"
# command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"]
# approval = "always"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn written(user: &str) -> (String, Option<String>) {
        let answers =
            Answers { model: "openai:gpt \"x\"".to_owned(), user: user.to_owned(), data: "da\\ta".to_owned() };
        settings(&answers).expect("written")
    }

    fn load(text: &str) -> Config {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        Config::load(Some(file.path()), [], &[]).unwrap_or_else(|error| panic!("{error}:\n{text}"))
    }

    #[test]
    fn what_is_written_is_read_by_the_settings() {
        let (text, key) = written("local");
        let config = load(&text);
        assert_eq!(config.model.use_model.as_deref(), Some("openai:gpt \"x\""));
        assert_eq!(config.data.as_deref(), Some(Path::new("da\\ta")));
        assert!(config.auth.keys.is_empty() && key.is_none());
        let (text, key) = written("ann");
        let key = key.expect("a key");
        assert!(!text.contains(&key));
        assert_eq!(load(&text).auth.keys[0].subject, "ann");
    }

    /// The examples, without their comment signs, are settings.
    #[test]
    fn the_examples_can_be_used() {
        let (text, _) = written("local");
        let (before, examples) = text.split_once("# A tool that is").expect("the examples");
        let examples = examples.lines().skip(1).map(|line| line.strip_prefix("# ").unwrap_or(line));
        let examples = examples.filter(|line| !line.starts_with("The tools of"));
        let config = load(&format!("{before}{}", examples.collect::<Vec<_>>().join("\n")));
        assert_eq!((config.tools.len(), config.mcp.len()), (1, 1));
    }
}
