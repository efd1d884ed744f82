//! `holdpoint verify`: says what of the record is not as it was written.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, IsTerminal, Lines, Write},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use holdpoint_cli::config::ConfigError;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    Anchor, Finding, GrantAnchor, Verified,
    log::{LogError, Store},
    verify, verify_grants, verify_tables,
};
use serde::{Deserialize, Serialize};

use super::data_args::{DataArgs, PlaceError};

/// How often progress is printed: often for a person who waits, seldom for a file.
const PROGRESS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
/// The number of ids per read.
const PAGE: usize = 1000;

#[derive(clap::Args)]
pub(super) struct Args {
    /// The chat [default: all chats, and all grants].
    chat: Option<String>,
    /// Writes the length and the last hash of each chat, and what became of each grant, into a new file, to keep elsewhere.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Compares with a file that was saved before: this shows what was removed, or hashed anew.
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
    #[error("{}: line {line} is nothing that `--save` has written, or is not in its order", path.display())]
    NoAnchor { path: PathBuf, line: usize },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A line of the file that `--save` writes: the chats in the order of their ids, then the grants.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Kept {
    Chat(Anchor),
    Grant(GrantAnchor),
}

/// What was kept elsewhere, read along with the chats, so that it does not have to fit into memory.
struct Against {
    path: PathBuf,
    lines: Lines<BufReader<File>>,
    line: usize,
    next: Option<Kept>,
    last: Option<ChatId>,
}

impl Against {
    fn open(path: PathBuf) -> Result<Self, Failure> {
        match File::open(&path) {
            Ok(file) => {
                let lines = BufReader::new(file).lines();
                let mut against = Self { path, lines, line: 0, next: None, last: None };
                against.read()?;
                Ok(against)
            }
            Err(error) => Err(Failure::File { path, error }),
        }
    }

    fn read(&mut self) -> Result<(), Failure> {
        let Some(line) = self.lines.next() else {
            self.next = None;
            return Ok(());
        };
        self.line += 1;
        let line = line.map_err(|error| Failure::File { path: self.path.clone(), error })?;
        let wrong = || Failure::NoAnchor { path: self.path.clone(), line: self.line };
        let kept = serde_json::from_str(&line).map_err(|_| wrong())?;
        if let Kept::Chat(Anchor { chat, .. }) = &kept {
            if self.last.as_ref().is_some_and(|last| last >= chat) || matches!(self.next, Some(Kept::Grant(_))) {
                return Err(wrong());
            }
            self.last = Some(chat.clone());
        }
        self.next = Some(kept);
        Ok(())
    }

    /// What was kept of the next chat, if its id comes before this one, or is this one.
    fn next_chat(&mut self, until: Option<&ChatId>) -> Result<Option<Anchor>, Failure> {
        match &self.next {
            Some(Kept::Chat(anchor)) if until.is_none_or(|until| anchor.chat <= *until) => {
                let anchor = anchor.clone();
                self.read()?;
                Ok(Some(anchor))
            }
            _ => Ok(None),
        }
    }

    fn next_grant(&mut self) -> Result<Option<GrantAnchor>, Failure> {
        match &self.next {
            Some(Kept::Grant(anchor)) => {
                let anchor = anchor.clone();
                self.read()?;
                Ok(Some(anchor))
            }
            _ => Ok(None),
        }
    }
}

/// What was found so far.
struct Summary {
    chats: u64,
    tombstones: u64,
    grants: u64,
    chained: u64,
    unchained: u64,
    broken: u64,
    /// Chats that were deleted since their hash was saved.
    deleted: u64,
    save: Option<(PathBuf, BufWriter<File>)>,
    next_report: Instant,
}

/// Prints a line of the report. Whoever reads it may stop early (`| head`): the exit code still says what was found.
fn say(line: impl std::fmt::Display) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Exit code 0: everything is as it was written; 1: something is not; 2: it could not be read.
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

async fn walk(args: &Args, log: &dyn Store) -> Result<Summary, Failure> {
    let mut against = args.against.clone().map(Against::open).transpose()?;
    let save = args.save.clone().map(|path| match File::create_new(&path) {
        Ok(file) => Ok((path, BufWriter::new(file))),
        Err(error) => Err(Failure::File { path, error }),
    });
    let mut summary = Summary {
        chats: 0,
        tombstones: 0,
        grants: 0,
        chained: 0,
        unchained: 0,
        broken: 0,
        deleted: 0,
        save: save.transpose()?,
        next_report: Instant::now() + PROGRESS.0,
    };
    if let Some(chat) = &args.chat {
        let id = ChatId::from(chat.as_str());
        let mut kept = None;
        while let Some(anchor) = against.as_mut().map(|against| against.next_chat(Some(&id))).transpose()?.flatten() {
            kept = Some(anchor).filter(|anchor| anchor.chat == id);
        }
        let found = summary.add(log, &id, kept).await?;
        let found = found.ok_or_else(|| Failure::NotFound(chat.clone()))?;
        if let Some(hash) = found.hash.filter(|_| found.findings == 0) {
            say(format_args!("{chat:?}: whole, and its last hash is {hash}"));
        }
        summary.saved()?;
        return Ok(summary);
    }
    let mut after = None;
    loop {
        let page = log.ids(after, PAGE).await;
        let page = summary.readable("the list of chats", page)?.unwrap_or_default();
        after = page.last().cloned();
        for chat in &page {
            let kept = summary.kept(log, against.as_mut(), Some(chat)).await?;
            summary.add(log, chat, kept).await?;
        }
        if after.is_none() {
            break;
        }
    }
    summary.kept(log, against.as_mut(), None).await?;
    summary.add_grants(log, against.as_mut()).await?;
    summary.add_tables(log).await?;
    summary.saved()?;
    Ok(summary)
}

impl Summary {
    fn found(&mut self, what: impl std::fmt::Display) {
        say(what);
        self.broken += 1;
    }

    /// What could be read. What can't be decoded was changed, and the rest is to be looked at all the same.
    fn readable<T>(&mut self, what: &str, read: Result<T, LogError>) -> Result<Option<T>, Failure> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(LogError::Damaged(problem)) => {
                self.found(format_args!("{what} can't be read: {problem}"));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What was kept of a chat. Chats that were kept and come before it are no longer listed, or were created since.
    async fn kept(
        &mut self,
        log: &dyn Store,
        against: Option<&mut Against>,
        chat: Option<&ChatId>,
    ) -> Result<Option<Anchor>, Failure> {
        let Some(against) = against else { return Ok(None) };
        while let Some(anchor) = against.next_chat(chat)? {
            if chat == Some(&anchor.chat) {
                return Ok(Some(anchor));
            }
            let gone = anchor.chat.clone();
            if self.add(log, &gone, Some(anchor)).await?.is_none() {
                self.found(format_args!("{:?}: it is gone, and there is no trace of its deletion", gone.as_str()));
            }
        }
        Ok(None)
    }

    /// Verifies a chat, and prints each finding as a line. `None` if there is no such chat.
    async fn add(&mut self, log: &dyn Store, chat: &ChatId, kept: Option<Anchor>) -> Result<Option<Verified>, Failure> {
        let mut report = |finding: Finding| say(format_args!("{:?}: {finding}", chat.as_str()));
        let found = match verify(log, chat, kept.as_ref(), &mut report).await {
            Ok(None) => return Ok(None),
            Ok(Some(found)) => found,
            // What can't be decoded was changed, and the other chats are to be looked at all the same.
            Err(LogError::Damaged(problem)) => {
                say(format_args!("{:?}: it can't be read: {problem}", chat.as_str()));
                Verified { findings: 1, ..Verified::default() }
            }
            Err(error) => return Err(error.into()),
        };
        if let (Some((at, by)), Some(Anchor { deleted: false, .. })) = (&found.deleted, &kept) {
            let by = by.as_ref().map_or_else(|| "because of its age".to_owned(), |by| format!("by {:?}", by.as_str()));
            say(format_args!("{:?}: it was deleted since, {by}, at {}", chat.as_str(), at.iso8601()));
            self.deleted += 1;
        }
        if let (Some(hash), 0) = (found.hash, found.findings) {
            let (chat, deleted) = (chat.clone(), found.deleted.is_some());
            self.save(&Kept::Chat(Anchor { chat, len: found.len, hash, deleted }))?;
        }
        self.chats += u64::from(found.deleted.is_none());
        self.tombstones += u64::from(found.deleted.is_some());
        self.chained += found.chained;
        self.unchained += found.unchained;
        self.broken += u64::from(found.findings > 0);
        if Instant::now() >= self.next_report {
            eprintln!("holdpoint verify: so far {}", self.text());
            self.next_report = Instant::now() + if io::stderr().is_terminal() { PROGRESS.0 } else { PROGRESS.1 };
        }
        Ok(Some(found))
    }

    async fn add_grants(&mut self, log: &dyn Store, against: Option<&mut Against>) -> Result<(), Failure> {
        let (mut broken, mut saved) = (0, Ok(()));
        let mut report = |finding: Finding| {
            say(finding);
            broken += 1;
        };
        let grants = {
            let mut save = |anchor| {
                if saved.is_ok() {
                    saved = self.save(&Kept::Grant(anchor));
                }
            };
            verify_grants(log, &mut report, &mut save).await
        };
        saved?;
        self.broken += broken;
        self.grants = self.readable("the grants, or the record of them,", grants)?.unwrap_or_default();
        let Some(against) = against else { return Ok(()) };
        while let Some(anchor) = against.next_grant()? {
            let found = anchor.verify(log).await;
            if let Some(Some(finding)) = self.readable("a grant that was kept", found)? {
                self.found(finding);
            }
        }
        Ok(())
    }

    async fn add_tables(&mut self, log: &dyn Store) -> Result<(), Failure> {
        let mut found = Vec::new();
        let compared = verify_tables(log, &mut |finding| found.push(finding)).await;
        for finding in found {
            match &finding {
                Finding::Misfit(misfit) if misfit.chat.is_some() => {
                    let chat = misfit.chat.as_ref().map(ChatId::as_str).unwrap_or_default();
                    self.found(format_args!("{chat:?}: {finding}"));
                }
                _ => self.found(finding),
            }
        }
        self.readable("what is in several tables", compared).map(drop)
    }

    fn save(&mut self, kept: &Kept) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.save else { return Ok(()) };
        let written = serde_json::to_writer(&mut *file, kept).map_err(io::Error::from);
        let written = written.and_then(|()| file.write_all(b"\n"));
        written.map_err(|error| Failure::File { path: path.clone(), error })
    }

    /// Everything that was to be saved is in the file.
    fn saved(&mut self) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.save else { return Ok(()) };
        file.flush().map_err(|error| Failure::File { path: path.clone(), error })
    }

    fn text(&self) -> String {
        let Self { chats, tombstones, grants, chained, unchained, broken, deleted, .. } = self;
        let chats = if *chats == 1 { "1 chat".to_owned() } else { format!("{chats} chats") };
        let mut text =
            format!("{chats} with {chained} batches, {tombstones} deleted chats, {grants} grants, {broken} broken");
        if *deleted > 0 {
            text += &format!("; {deleted} that were saved have been deleted since");
        }
        if *unchained > 0 {
            text += &format!("; {unchained} batches have no hash");
        }
        text
    }
}
