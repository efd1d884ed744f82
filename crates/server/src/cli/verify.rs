//! `holdpoint verify`: walks the hash chains of chats and says where one is broken.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    driver::{Anchor, Verified, verify},
    log::{Break, HeadOrder, HeadQuery, Log, LogError, Stored},
};
use holdpoint_server::config::ConfigError;

use super::data_args::{DataArgs, PlaceError};

/// How often progress is printed: often for a person who waits, seldom for a file.
const PROGRESS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

#[derive(clap::Args)]
pub(super) struct Args {
    /// The chat [default: all chats].
    chat: Option<String>,
    /// Writes the length and the last hash of each chat into a new file, to keep elsewhere.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Compares with the hashes in a file that was saved before: this shows what was removed, or hashed anew.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    #[command(flatten)]
    data_args: DataArgs,
}

/// Why nothing could be verified.
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
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: line {line} is no hash that `--save` has written", path.display())]
    NoAnchor { path: PathBuf, line: usize },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What was found so far.
struct Summary {
    chats: u64,
    chained: u64,
    unchained: u64,
    broken: u64,
    /// Chats that were deleted since their hash was saved.
    deleted: u64,
    /// What was saved before, of chats that were not looked at yet.
    kept: BTreeMap<ChatId, Anchor>,
    save: Option<(PathBuf, BufWriter<File>)>,
    next_report: Instant,
}

/// Exit code 0: every chain is whole; 1: some are broken; 2: they could not be read.
pub(super) fn run(args: &Args) -> ExitCode {
    match begin(args) {
        Ok(summary) => {
            eprintln!("holdpoint verify: {}", summary.text());
            ExitCode::from(u8::from(summary.broken > 0))
        }
        Err(failure) => {
            eprintln!("holdpoint verify: {failure}");
            ExitCode::from(2)
        }
    }
}

fn begin(args: &Args) -> Result<Summary, Failure> {
    let config = args.data_args.settings()?;
    let place = args.data_args.place(&config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = runtime.block_on(place.open_to_read())?;
    runtime.block_on(walk(args, &*log))
}

async fn walk(args: &Args, log: &dyn Log) -> Result<Summary, Failure> {
    let kept = args.against.as_deref().map(anchors).transpose()?.unwrap_or_default();
    let save = args.save.clone().map(|path| match File::create_new(&path) {
        Ok(file) => Ok((path, BufWriter::new(file))),
        Err(error) => Err(Failure::File { path, error }),
    });
    let mut summary = Summary {
        chats: 0,
        chained: 0,
        unchained: 0,
        broken: 0,
        deleted: 0,
        kept,
        save: save.transpose()?,
        next_report: Instant::now() + PROGRESS.0,
    };
    if let Some(chat) = &args.chat {
        let found = summary.add(log, &ChatId::from(chat.as_str())).await?;
        let found = found.ok_or_else(|| Failure::NotFound(chat.clone()))?;
        if let Some(hash) = found.hash.filter(|_| found.breaks == 0) {
            println!("{chat:?}: whole, and its last hash is {hash}");
        }
        summary.saved()?;
        return Ok(summary);
    }
    let mut query = HeadQuery::default();
    loop {
        let page = log.heads(query.clone(), 1000).await?;
        let Some((last, ..)) = page.last() else { break };
        query.order = HeadOrder::Id { after: Some(last.clone()) };
        for (chat, ..) in &page {
            summary.add(log, chat).await?;
        }
    }
    for (chat, _) in std::mem::take(&mut summary.kept) {
        match log.stored(&chat).await? {
            Some(Stored::Tombstone { .. }) => summary.deleted += 1,
            // It was written while the others were looked at.
            Some(Stored::Chat { .. }) => {}
            None => {
                println!("{:?}: it is gone, and there is no trace of its deletion", chat.as_str());
                summary.broken += 1;
            }
        }
    }
    summary.saved()?;
    Ok(summary)
}

/// The hashes that were saved, by chat.
fn anchors(path: &Path) -> Result<BTreeMap<ChatId, Anchor>, Failure> {
    let failed = |error| Failure::File { path: path.to_owned(), error };
    let mut anchors = BTreeMap::new();
    for (at, line) in BufReader::new(File::open(path).map_err(failed)?).lines().enumerate() {
        let line = line.map_err(failed)?;
        let anchor: Result<Anchor, _> = serde_json::from_str(&line);
        let Ok(anchor) = anchor else { return Err(Failure::NoAnchor { path: path.to_owned(), line: at + 1 }) };
        anchors.insert(anchor.chat.clone(), anchor);
    }
    Ok(anchors)
}

impl Summary {
    /// Verifies a chat, and prints each break as a line. `None` if there is no such chat.
    async fn add(&mut self, log: &dyn Log, chat: &ChatId) -> Result<Option<Verified>, Failure> {
        let mut report = |broken: Break| println!("{:?}: {broken}", chat.as_str());
        let anchor = self.kept.get(chat);
        let found = match verify(log, chat, anchor, &mut report).await {
            Ok(None) => return Ok(None),
            Ok(Some(found)) => found,
            // What can't be decoded was changed, and the other chats are to be looked at all the same.
            Err(LogError::Damaged(problem)) => {
                println!("{:?}: it can't be read: {problem}", chat.as_str());
                Verified { breaks: 1, ..Verified::default() }
            }
            Err(error) => return Err(error.into()),
        };
        self.kept.remove(chat);
        if let (Some((path, file)), Some(hash), 0) = (&mut self.save, found.hash, found.breaks) {
            let anchor = Anchor { chat: chat.clone(), len: found.len, hash };
            let written = serde_json::to_writer(&mut *file, &anchor).map_err(io::Error::from);
            let written = written.and_then(|()| file.write_all(b"\n"));
            written.map_err(|error| Failure::File { path: path.clone(), error })?;
        }
        self.chats += 1;
        self.chained += found.chained;
        self.unchained += found.unchained;
        self.broken += u64::from(found.breaks > 0);
        if Instant::now() >= self.next_report {
            eprintln!("holdpoint verify: so far {}", self.text());
            self.next_report = Instant::now() + if io::stderr().is_terminal() { PROGRESS.0 } else { PROGRESS.1 };
        }
        Ok(Some(found))
    }

    /// Everything that was to be saved is in the file.
    fn saved(&mut self) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.save else { return Ok(()) };
        file.flush().map_err(|error| Failure::File { path: path.clone(), error })
    }

    fn text(&self) -> String {
        let Self { chats, chained, unchained, broken, deleted, .. } = self;
        let chats = if *chats == 1 { "1 chat".to_owned() } else { format!("{chats} chats") };
        let mut text = format!("{chats} with {chained} batches, {broken} broken");
        if *deleted > 0 {
            text += &format!("; {deleted} that were saved have been deleted since");
        }
        if *unchained > 0 {
            text += &format!("; {unchained} batches have no hash");
        }
        text
    }
}
