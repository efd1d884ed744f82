//! `holdpoint import`: JSON lines of an export, into a data folder that no server uses or into a database.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use holdpoint_cli::config::ConfigError;
use holdpoint_runtime::transfer::{ImportError, Imported, Importer};

use super::data_args::{DataArgs, PlaceError};

/// The longest line, in bytes.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

#[derive(clap::Args)]
pub(super) struct Args {
    /// What `holdpoint export` wrote; `-` for standard input.
    file: PathBuf,
    #[command(flatten)]
    data_args: DataArgs,
}

/// Why the import failed or is incomplete.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("{0}: {1}")]
    Read(String, io::Error),
    #[error("{0}, line {1}: {2}")]
    Line(String, u64, ImportError),
    #[error("{0}, line {1}: it is longer than {MAX_LINE_BYTES} bytes")]
    Long(String, u64),
    #[error("{0}")]
    Io(#[from] io::Error),
}

#[derive(Default)]
struct Summary {
    written: u64,
    known: u64,
    taken: u64,
}

/// Exit code 0: everything was imported; 1: some chat ids are taken, or the file is damaged; 2: nothing could be
/// imported.
pub(super) fn run(args: &Args) -> ExitCode {
    let mut summary = Summary::default();
    let imported = import(args, &mut summary);
    let Summary { written, known, taken } = summary;
    if imported.is_ok() || written + known + taken > 0 {
        eprintln!("holdpoint import: {written} imported, {known} already present, {taken} rejected");
    }
    match imported {
        Ok(()) => ExitCode::from(u8::from(taken > 0)),
        Err(failure) => {
            eprintln!("holdpoint import: {failure}");
            match failure {
                Failure::Line(..) | Failure::Long(..) => ExitCode::from(1),
                _ => ExitCode::from(2),
            }
        }
    }
}

fn import(args: &Args, summary: &mut Summary) -> Result<(), Failure> {
    let config = args.data_args.settings()?;
    let name = if args.file == Path::new("-") { "standard input".to_owned() } else { args.file.display().to_string() };
    let mut input: Box<dyn BufRead> = match name.as_str() {
        "standard input" => Box::new(io::stdin().lock()),
        _ => Box::new(BufReader::new(File::open(&args.file).map_err(|error| Failure::Read(name.clone(), error))?)),
    };
    let place = args.data_args.place(&config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = runtime.block_on(place.open())?;
    let mut importer = Importer::new(&*log);
    let (mut number, mut line) = (0, Vec::new());
    loop {
        line.clear();
        number += 1;
        let read = (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Failure::Read(name.clone(), error))?;
        if read == 0 {
            return importer.finish().map_err(|error| Failure::Line(name, number, error));
        }
        if read as u64 == MAX_LINE_BYTES {
            return Err(Failure::Long(name, number));
        }
        let imported = runtime.block_on(importer.line(&line));
        match imported.map_err(|error| Failure::Line(name.clone(), number, error))? {
            None => {}
            Some(Imported::Written { .. }) => summary.written += 1,
            Some(Imported::Known { .. }) => summary.known += 1,
            Some(Imported::Taken { chat }) => {
                summary.taken += 1;
                let chat = chat.as_str();
                eprintln!("holdpoint import: {chat:?}: a different chat with this id exists and was kept");
            }
        }
    }
}
