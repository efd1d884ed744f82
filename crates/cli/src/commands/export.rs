//! `holdpoint export`: chats as JSON lines. A server may be running on the same folder.

use std::{
    fs::OpenOptions,
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    process::ExitCode,
};

use holdpoint_cli::config::ConfigError;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    log::{HeadOrder, HeadQuery, LogError, Store},
    transfer::{ExportError, export},
};

use super::data_args::{DataArgs, PlaceError};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The chat.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    chat: Option<String>,
    /// All chats of all subjects.
    #[arg(long)]
    all: bool,
    /// Write to a new file, readable by its owner only, instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    data_args: DataArgs,
}

/// Why the export failed or is incomplete.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("{0} can't be written: {1}")]
    Output(String, io::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Counts of an export.
#[derive(Default)]
struct Summary {
    chats: u64,
    facts: u64,
    failed: u64,
}

/// Exit code 0: everything was exported; 1: some chats could not be; 2: nothing could be.
pub(super) fn run(args: &Args) -> ExitCode {
    match begin(args) {
        Ok(Summary { chats, facts, failed }) => {
            let chats = if chats == 1 { "1 chat".to_owned() } else { format!("{chats} chats") };
            eprintln!("holdpoint export: {chats} with {facts} facts, {failed} failed");
            ExitCode::from(u8::from(failed > 0))
        }
        // The reader closed the pipe.
        Err(Failure::Output(_, error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(1),
        Err(failure) => {
            eprintln!("holdpoint export: {failure}");
            ExitCode::from(2)
        }
    }
}

fn begin(args: &Args) -> Result<Summary, Failure> {
    let config = args.data_args.settings()?;
    let place = args.data_args.place(&config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = runtime.block_on(place.open_to_read())?;
    let (name, mut out) = match &args.output {
        None => ("standard output".to_owned(), Box::new(BufWriter::new(io::stdout().lock())) as Box<dyn Write>),
        Some(path) => {
            // Chats are private: only the owner may read the file.
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            let name = path.display().to_string();
            let file = file.map_err(|error| Failure::Output(name.clone(), error))?;
            (name, Box::new(BufWriter::new(file)) as Box<dyn Write>)
        }
    };
    runtime.block_on(write(args, &*log, &name, &mut *out))
}

async fn write(args: &Args, log: &dyn Store, name: &str, out: &mut dyn Write) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    let failed = |error| Failure::Output(name.to_owned(), error);
    match &args.chat {
        Some(chat) => one(log, &ChatId::from(chat.as_str()), out, &mut summary).await.map_err(failed)?,
        None => {
            let mut query = HeadQuery::default();
            loop {
                let page = log.heads(query.clone(), 1000).await?;
                let Some((last, ..)) = page.last() else { break };
                query.order = HeadOrder::Id { after: Some(last.clone()) };
                for (chat, ..) in &page {
                    one(log, chat, out, &mut summary).await.map_err(failed)?;
                }
            }
        }
    }
    out.flush().map_err(failed)?;
    Ok(summary)
}

/// Exports one chat, in full or not at all.
async fn one(log: &dyn Store, chat: &ChatId, out: &mut dyn Write, summary: &mut Summary) -> io::Result<()> {
    let mut lines = Vec::new();
    match export(log, chat, &mut lines).await {
        Ok(facts) => {
            out.write_all(&lines)?;
            summary.chats += 1;
            summary.facts += facts;
        }
        Err(ExportError::Write(error)) => return Err(error),
        Err(error) => {
            eprintln!("holdpoint export: {:?}: {error}", chat.as_str());
            summary.failed += 1;
        }
    }
    Ok(())
}
