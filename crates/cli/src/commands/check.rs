//! `holdpoint check`: the rule checker on a file or standard input.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal, Read, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use holdpoint_protocol::check::{Checker, Options, Profile, Violation};

#[derive(clap::Args)]
pub(super) struct Args {
    /// The profile of the stream.
    #[arg(long, value_enum, default_value_t = ProfileArg::AiSdk)]
    profile: ProfileArg,
    /// adk: the client requested progressive text.
    #[arg(long, value_enum)]
    text: Option<TextArg>,
    /// Print `[{line, rule, text}]`.
    #[arg(long)]
    json: bool,
    /// The capture: SSE, one JSON chunk per line, or a transcript; `-` for standard input.
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProfileArg {
    AiSdk,
    AdkSse,
    AdkLive,
}

#[derive(Clone, Copy, ValueEnum)]
enum TextArg {
    Progressive,
}

/// Why no verdict was reached.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}: no such file")]
    Missing(String),
    #[error("{0} is a directory: give one capture file, or - for standard input")]
    Directory(String),
    #[error("{0}: {1}")]
    Read(String, io::Error),
    #[error("{0}: {1}")]
    Unreadable(String, holdpoint_protocol::check::Unreadable),
    #[error("the result can't be written: {0}")]
    Write(io::Error),
}

/// Exit code 0: no violations; 1: violations; 2: the capture could not be read.
pub(super) fn run(args: &Args) -> ExitCode {
    match check(args) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        // The reader closed the pipe: `check … | head`.
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(1),
        Err(failure) => {
            eprintln!("holdpoint check: {failure}");
            ExitCode::from(2)
        }
    }
}

fn check(args: &Args) -> Result<u64, Failure> {
    let name = if args.file == Path::new("-") { "standard input".to_owned() } else { args.file.display().to_string() };
    let (mut input, size) = open(&args.file, &name)?;
    let profile = match args.profile {
        ProfileArg::AiSdk => Profile::AiSdk,
        ProfileArg::AdkSse => Profile::AdkSse,
        ProfileArg::AdkLive => Profile::AdkLive,
    };
    let mut checker = Checker::new(Options { profile, progressive_text: args.text.is_some() });
    let mut report = Report::new(args.json);
    let mut progress = Progress::new(size);
    let mut piece = vec![0; 256 * 1024];
    loop {
        let read = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::Read(name, error)),
        };
        checker.feed(&piece[..read]);
        report.add(checker.take_violations()).map_err(Failure::Write)?;
        progress.read(read);
    }
    checker.finish();
    report.add(checker.take_violations()).map_err(Failure::Write)?;
    progress.clear();
    let found = report.finish(checker.unreadable().is_none()).map_err(Failure::Write)?;
    match checker.unreadable() {
        Some(unreadable) => Err(Failure::Unreadable(name, unreadable.clone())),
        None => Ok(found),
    }
}

fn open(path: &Path, name: &str) -> Result<(Box<dyn Read>, Option<u64>), Failure> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let failure = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing(name.to_owned()),
        _ => Failure::Read(name.to_owned(), error),
    };
    let file = File::open(path).map_err(failure)?;
    let metadata = file.metadata().map_err(failure)?;
    if metadata.is_dir() {
        return Err(Failure::Directory(name.to_owned()));
    }
    Ok((Box::new(file), Some(metadata.len())))
}

/// Prints violations as they come.
struct Report {
    out: BufWriter<io::StdoutLock<'static>>,
    found: u64,
    is_json: bool,
    /// On a terminal: colour, and the chunk below its violation.
    is_pretty: bool,
}

impl Report {
    fn new(is_json: bool) -> Self {
        let is_pretty = !is_json && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { out: BufWriter::new(io::stdout().lock()), found: 0, is_json, is_pretty }
    }

    fn add(&mut self, violations: Vec<Violation>) -> io::Result<()> {
        for violation in &violations {
            self.found += 1;
            if self.is_json {
                self.out.write_all(if self.found == 1 { b"[\n  " } else { b",\n  " })?;
                serde_json::to_writer(&mut self.out, violation)?;
            } else if self.is_pretty {
                self.pretty(violation)?;
            } else {
                writeln!(self.out, "{} {} {}", violation.line, violation.rule, violation.text)?;
            }
        }
        if violations.is_empty() { Ok(()) } else { self.out.flush() }
    }

    fn pretty(&mut self, violation: &Violation) -> io::Result<()> {
        let (number, rule, dim) = (Style::new().bold(), AnsiColor::Red.on_default().bold(), Style::new().dimmed());
        let Violation { line, rule: id, text, payload } = violation;
        writeln!(self.out, "{number}{line}{number:#} {rule}{id}{rule:#} {text}")?;
        // Text of the capture must not control the terminal.
        let payload = super::terminal::plain(payload);
        writeln!(self.out, "    {dim}{payload}{dim:#}")
    }

    fn finish(mut self, is_whole: bool) -> io::Result<u64> {
        if self.is_json {
            self.out.write_all(if self.found == 0 { b"[]\n" } else { b"\n]\n" })?;
        } else if self.is_pretty && is_whole {
            let style = if self.found == 0 { AnsiColor::Green } else { AnsiColor::Red }.on_default().bold();
            match self.found {
                0 => writeln!(self.out, "{style}No rule is broken.{style:#}")?,
                1 => writeln!(self.out, "{style}1 violation.{style:#} docs/rules.md explains the rules.")?,
                found => writeln!(self.out, "{style}{found} violations.{style:#} docs/rules.md explains the rules.")?,
            }
        }
        self.out.flush()?;
        Ok(self.found)
    }
}

/// Progress, shown on a terminal after two seconds.
struct Progress {
    size: Option<u64>,
    done: u64,
    next: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    fn new(size: Option<u64>) -> Self {
        let next = io::stderr().is_terminal().then(|| Instant::now() + Duration::from_secs(2));
        Self { size, done: 0, next, is_shown: false }
    }

    fn read(&mut self, bytes: usize) {
        self.done += bytes as u64;
        let Some(next) = self.next.filter(|next| *next <= Instant::now()) else {
            return;
        };
        self.next = Some(next + Duration::from_millis(500));
        self.is_shown = true;
        let megabytes = self.done / 1_000_000;
        match self.size.filter(|size| *size > 0) {
            Some(size) => eprint!("\r{megabytes} MB checked, {}%", self.done * 100 / size),
            None => eprint!("\r{megabytes} MB checked"),
        }
    }

    fn clear(&self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
    }
}
