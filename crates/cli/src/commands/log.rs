//! `holdpoint log`: what happened to the calls of a chat, one line a step.

use std::{
    collections::HashMap,
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use holdpoint_cli::config::ConfigError;
use holdpoint_protocol::{
    audit::{AuditLine, AuditStep},
    holds::{Cause, DecisionKind},
    ids::{ChatId, ToolCallId},
};
use holdpoint_runtime::{
    audit_line,
    fact::Fact,
    log::{AuditQuery, LogError, Store},
};

use super::{
    data_args::{DataArgs, PlaceError},
    terminal::{json_line, plain},
};

/// The number of entries or batches per read.
const PAGE: usize = 256;
/// The longest input that is printed whole.
const MAX_INPUT: usize = 120;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The chat. It may have been deleted.
    chat: String,
    /// Print lines of JSON, as `GET /api/audit` has them.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data_args: DataArgs,
}

/// Why it could not be printed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("there is no chat {0:?}")]
    NotFound(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Exit code 0: it was printed; 2: it could not be read.
pub(super) fn run(args: &Args) -> ExitCode {
    match begin(args) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe.
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(1),
        Err(failure) => {
            eprintln!("holdpoint log: {failure}");
            ExitCode::from(2)
        }
    }
}

fn begin(args: &Args) -> Result<(), Failure> {
    let config = args.data_args.settings()?;
    let place = args.data_args.place(&config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = runtime.block_on(place.open_to_read())?;
    let mut out = BufWriter::new(io::stdout().lock());
    runtime.block_on(print(args, &*log, &mut out))?;
    Ok(out.flush()?)
}

async fn print(args: &Args, log: &dyn Store, out: &mut dyn Write) -> Result<(), Failure> {
    let chat = ChatId::from(args.chat.as_str());
    if log.stored(&chat).await?.is_none() {
        return Err(Failure::NotFound(args.chat.clone()));
    }
    let inputs = if args.json { HashMap::new() } else { inputs(log, &chat).await? };
    let mut query = AuditQuery { chat: Some(chat), ..AuditQuery::default() };
    loop {
        let entries = log.audit(query.clone(), PAGE).await?;
        let Some(last) = entries.last() else { return Ok(()) };
        query.after = Some((last.at, last.chat.clone(), last.position));
        for line in entries.iter().filter_map(audit_line) {
            match args.json {
                true => writeln!(out, "{}", json_line(&line).map_err(io::Error::from)?)?,
                false => writeln!(out, "{}", text(&line, &inputs))?,
            }
        }
    }
}

/// The inputs of all calls, short. They are in the facts, which a deleted chat does not have.
async fn inputs(log: &dyn Store, chat: &ChatId) -> Result<HashMap<ToolCallId, String>, LogError> {
    let (mut inputs, mut after) = (HashMap::new(), 0);
    loop {
        let batches = log.read(chat, after, PAGE).await?;
        let Some(last) = batches.last() else { return Ok(inputs) };
        after = last.first + u64::from(last.count);
        for batch in &batches {
            let facts: Vec<Fact> = serde_json::from_slice(&batch.payload).unwrap_or_default();
            for fact in facts {
                if let Fact::Called { call, input, .. } | Fact::Invalid { call, input, .. } = fact {
                    inputs.insert(call, short(&input.to_string()));
                }
            }
        }
    }
}

fn short(text: &str) -> String {
    let text = plain(text);
    match text.char_indices().nth(MAX_INPUT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A line for people.
fn text(line: &AuditLine, inputs: &HashMap<ToolCallId, String>) -> String {
    let input = || inputs.get(&line.tool_call_id).cloned().unwrap_or_default();
    let by = short(line.by.as_deref().unwrap_or("somebody"));
    let grant = short(line.grant.as_ref().map_or("a grant", |grant| grant.as_str()));
    let what = match line.step {
        AuditStep::Proposed if line.invalid => format!("refused: not a valid call {}", input()),
        AuditStep::Proposed => format!("proposed {}", input()),
        AuditStep::Asked => "asked for approval".to_owned(),
        AuditStep::Voted => format!("approved by {by}, and needs more approvals"),
        AuditStep::Escalated => "escalated".to_owned(),
        AuditStep::Decided => {
            let what = match line.decision {
                Some(DecisionKind::Approve) => "approved",
                Some(DecisionKind::Deny) => "denied",
                Some(DecisionKind::Edit) => "changed and approved",
                Some(DecisionKind::Answer) => "answered in the tool's place",
                None => "decided",
            };
            let channel = line.channel.and_then(|channel| serde_json::to_value(channel).ok());
            let channel = channel.as_ref().and_then(serde_json::Value::as_str).map(|name| format!(" through {name}"));
            let reason = line.reason.as_deref().map(|reason| format!(": {}", short(reason)));
            let input = line.input.as_ref().map(|input| format!(", now {}", short(&input.to_string())));
            format!(
                "{what} by {by}{}{}{}",
                channel.unwrap_or_default(),
                input.unwrap_or_default(),
                reason.unwrap_or_default()
            )
        }
        AuditStep::Granted => format!("remembered by {by}, as {grant}"),
        AuditStep::Used => format!("approved by {grant}, which {by} has made"),
        AuditStep::Revoked => format!("{grant} revoked by {by}"),
        AuditStep::Deleted if line.by.is_none() => "the chat was removed because of its age".to_owned(),
        AuditStep::Deleted => format!("the chat was deleted by {by}"),
        AuditStep::Started => "started".to_owned(),
        AuditStep::Settled => match line.cause {
            Some(Cause::Interrupted) => "interrupted: whether it was done is not known".to_owned(),
            cause => {
                let cause = cause.and_then(|cause| serde_json::to_value(cause).ok());
                format!("settled: {}", cause.as_ref().and_then(serde_json::Value::as_str).unwrap_or("unknown"))
            }
        },
    };
    format!("{}  {}  {}  {what}", line.at, short(line.tool_call_id.as_str()), short(&line.tool_name))
}
