//! `holdpoint init`: writes a settings file with comments, after three questions. Each has an option, so that nobody has
//! to be there to answer.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::{self, BufRead, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use holdpoint_cli::config::Config;

use super::{
    key,
    model::{self, ModelSetupError},
};

/// The longest answer that is read.
const MAX_ANSWER: u64 = 4096;
/// The longest name of a user.
const MAX_NAME: usize = 100;

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

/// Why the settings file was not written.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0} exists, and is not overwritten: name another file, or remove it")]
    Exists(String),
    #[error("{path}: {error}")]
    Write { path: String, error: io::Error },
    #[error("{option}: {problem}")]
    Answer { option: &'static str, problem: Box<AnswerError> },
    #[error("standard input ended before {option} was answered")]
    NoAnswer { option: &'static str },
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

/// What is wrong with an answer.
#[derive(Debug, thiserror::Error)]
enum AnswerError {
    #[error("it must not be empty")]
    Empty,
    #[error("{0:?} can't be a name: use 1 to {MAX_NAME} letters, digits, and `.`, `_`, `-`, `+`, `@`")]
    Name(String),
    #[error(transparent)]
    Model(#[from] ModelSetupError),
}

/// A question.
struct Question {
    option: &'static str,
    text: &'static str,
    default: &'static str,
    check: fn(&str) -> Result<(), AnswerError>,
}

const MODEL: Question = Question {
    option: "--model",
    text: "Which model? demo, openai:MODEL, anthropic:MODEL, gemini:MODEL, ollama:MODEL",
    default: "demo",
    check: |model| Ok(model::check(model)?),
};
const USER: Question = Question {
    option: "--user",
    text: "Who uses it? local (this machine only), or a name, for whom a key is made",
    default: "local",
    check: |user| {
        let is_usual = |char: char| char.is_alphanumeric() || "._-+@".contains(char);
        let is_name = user.chars().all(is_usual) && user.chars().count() <= MAX_NAME;
        is_name.then_some(()).ok_or_else(|| AnswerError::Name(user.to_owned()))
    },
};
const DATA: Question = Question {
    option: "--data",
    text: "In which folder are the chats kept?",
    default: Config::DEFAULT_DATA,
    check: |_| Ok(()),
};

impl Question {
    fn check(&self, answer: &str) -> Result<(), AnswerError> {
        if answer.trim().is_empty() { Err(AnswerError::Empty) } else { (self.check)(answer) }
    }

    /// Asks until the answer is good; an empty one is the default.
    fn ask(&self, input: &mut impl BufRead, out: &mut impl Write) -> Result<String, Failure> {
        loop {
            write!(out, "{} [{}]: ", self.text, self.default)?;
            out.flush()?;
            let mut answer = String::new();
            if io::Read::take(&mut *input, MAX_ANSWER).read_line(&mut answer)? == 0 {
                return Err(Failure::NoAnswer { option: self.option });
            }
            let answer = match answer.trim() {
                "" => self.default,
                answer => answer,
            };
            match self.check(answer) {
                Ok(()) => return Ok(answer.to_owned()),
                Err(problem) => writeln!(out, "{problem}")?,
            }
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
    // Before the questions: no answer is wasted.
    if args.file.exists() {
        return Err(Failure::Exists(path));
    }
    // Also before the questions.
    for (question, given) in [(MODEL, &args.model), (USER, &args.user), (DATA, &args.data)] {
        let wrong = |problem| Failure::Answer { option: question.option, problem: Box::new(problem) };
        given.as_deref().map_or(Ok(()), |given| question.check(given)).map_err(wrong)?;
    }
    let is_asking = !args.yes && io::stdin().is_terminal();
    let mut assumed = Vec::new();
    let mut answer = |question: Question, given: &Option<String>| match given {
        Some(given) => Ok(given.clone()),
        None if is_asking => question.ask(&mut io::stdin().lock(), &mut io::stderr().lock()),
        None => {
            assumed.push(format!("{} {}", question.option, question.default));
            Ok(question.default.to_owned())
        }
    };
    let answers = Answers {
        model: answer(MODEL, &args.model)?,
        user: answer(USER, &args.user)?,
        data: answer(DATA, &args.data)?,
    };
    if !args.yes && !assumed.is_empty() {
        eprintln!(
            "holdpoint: standard input is not a terminal, so nothing was asked. Assumed: {}. --yes says that this is meant",
            assumed.join(", ")
        );
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
    text += "# Encrypts the server's own secrets there: 16 characters or more (openssl rand -base64 32). Keep it.\n";
    text += "# secrets_key = { env = \"SECRETS_KEY\" }\n\n";
    text += "[model]\n# demo, script:FILE, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL";
    match key_variable(&answers.model) {
        Some(variable) => drop(writeln!(text, ". The key is in {variable}.")),
        None => text += ".\n",
    }
    let _ = writeln!(text, "use = {}", quoted(&answers.model));
    text += "# The system prompt.\n# system = \"You help the customers of a shop.\"\n\n";
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
# approval_timeout_sec = 86400   # then the request expires: a day, or 300 s if only the user who asked decides; 0 = never
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

    #[test]
    fn a_wrong_answer_is_asked_again() {
        let ask = |question: Question, input: &str| {
            let mut out = Vec::new();
            let answer = question.ask(&mut input.as_bytes(), &mut out);
            (answer.map_err(|error| error.to_string()), String::from_utf8(out).expect("UTF-8"))
        };
        let (answer, shown) = ask(MODEL, "nonsense\nopenai:\n openai:gpt-5 \nanthropic:x\n");
        assert_eq!(answer.as_deref(), Ok("openai:gpt-5"));
        assert!(shown.contains("nonsense: there is no such model") && shown.contains("name of the model"), "{shown}");
        assert_eq!(shown.matches("Which model?").count(), 3);
        assert_eq!(ask(MODEL, "\n").0.as_deref(), Ok("demo"));
        let (answer, shown) = ask(USER, "openai:\nZoë\n");
        assert!(answer.as_deref() == Ok("Zoë") && shown.contains("can't be a name"), "{shown}");
        assert!(ask(USER, "a b\n").0.is_err_and(|error| error.contains("--user")), "the input ends");
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
