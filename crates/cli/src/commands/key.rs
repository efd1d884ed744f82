//! `holdpoint key`: makes API keys, and the entries of the settings for them.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use holdpoint_runtime::{
    identity::Role,
    subject::{NameError, Subject},
};
use sha2::{Digest, Sha256};

/// Marks a key as one of ours, for people and for scanners that look for leaked secrets.
const PREFIX: &str = "hp_";
/// The random bytes of a key.
const RANDOM_BYTES: usize = 32;
/// A key from elsewhere that is shorter could be guessed.
const MIN_LENGTH: usize = 20;
/// The longest key from elsewhere: it has to fit into a header.
const MAX_LENGTH: usize = 4096;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make a random key, and print it once with its entry for the settings.
    New(Entry),
    /// Read a key of your own from standard input, and print its entry for the settings.
    Hash(Entry),
}

#[derive(clap::Args)]
struct Entry {
    /// The subject of the key. `local` owns the chats of a server without keys.
    #[arg(long, default_value = "local")]
    subject: String,
    /// A role of the key: user, approver or admin [default: user]. May be repeated.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<Role>,
    /// A group that the subject belongs to. May be repeated.
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
}

/// Why no key was printed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("--subject must not be empty")]
    NoSubject,
    #[error("--subject can't be this name: {0}")]
    Subject(NameError),
    #[error("--group must not be empty")]
    NoGroup,
    #[error("the key must have {MIN_LENGTH} to {MAX_LENGTH} characters: a shorter one could be guessed")]
    Length,
    #[error("the key must consist of printable ASCII characters without spaces: it is sent in a header")]
    Characters,
    #[error("this machine has no random numbers: {0}")]
    Random(getrandom::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

pub(super) fn run(args: &Args) -> ExitCode {
    match print(&args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("holdpoint: {failure}");
            ExitCode::from(2)
        }
    }
}

fn print(command: &Command) -> Result<(), Failure> {
    let (key, entry) = match command {
        Command::New(entry) => (random()?, entry),
        Command::Hash(entry) => (read(io::stdin().lock())?, entry),
    };
    let entry = entry.write(&key)?;
    let mut out = io::stdout().lock();
    if matches!(command, Command::New(_)) {
        writeln!(out, "{key}\n")?;
        eprintln!("Keep the key: it is not stored anywhere. The entry below goes into the settings file.");
    }
    out.write_all(entry.as_bytes())?;
    Ok(out.flush()?)
}

/// A new key for a user, and its entry for the settings.
pub(super) fn make(subject: &str) -> Result<(String, String), Failure> {
    let entry = Entry { subject: subject.to_owned(), roles: vec![Role::User, Role::Approver], groups: Vec::new() };
    let key = random()?;
    let written = entry.write(&key)?;
    Ok((key, written))
}

fn random() -> Result<String, Failure> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes).map_err(Failure::Random)?;
    Ok(format!("{PREFIX}{}", hex::encode(bytes)))
}

fn read(input: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    input.take(MAX_LENGTH as u64 + 2).read_to_end(&mut bytes)?;
    let key = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let key = key.strip_suffix(b"\r").unwrap_or(key);
    if !key.iter().all(u8::is_ascii_graphic) {
        return Err(Failure::Characters);
    }
    match (MIN_LENGTH..=MAX_LENGTH).contains(&key.len()) {
        true => Ok(String::from_utf8_lossy(key).into_owned()),
        false => Err(Failure::Length),
    }
}

impl Entry {
    /// The entry of the settings. It has the hash of the key, and not the key.
    fn write(&self, key: &str) -> Result<String, Failure> {
        let subject = Subject::named(&self.subject).map_err(|why| match why {
            NameError::Empty => Failure::NoSubject,
            why => Failure::Subject(why),
        })?;
        if self.groups.iter().any(String::is_empty) {
            return Err(Failure::NoGroup);
        }
        let roles = if self.roles.is_empty() { &[Role::User][..] } else { &self.roles };
        let list = |names: Vec<String>| toml::Value::from(names).to_string();
        let subject = toml::Value::from(subject.as_str());
        let mut entry = format!("[[auth.keys]]\nkey_sha256 = \"{}\"\n", hex::encode(Sha256::digest(key)));
        entry += &format!("subject = {subject}\nroles = {}\n", list(roles.iter().map(Role::to_string).collect()));
        if !self.groups.is_empty() {
            entry += &format!("groups = {}\n", list(self.groups.clone()));
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_cli::config::Config;

    use super::*;

    /// What is printed is read back by the settings, whatever the names are.
    #[test]
    fn an_entry_is_read_by_the_settings() {
        let names = ["ann", "a \"quoted\" name", "back\\slash", "new\nline", "ü'"];
        for name in names.into_iter().filter(|name| !name.contains('\n')) {
            let entry = Entry {
                subject: name.to_owned(),
                roles: vec![Role::Approver, Role::Admin],
                groups: names.map(str::to_owned).to_vec(),
            };
            let text = entry.write("the key").expect("an entry");
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), &text).expect("it can be written");
            let config = Config::load(Some(file.path()), [], &[]).unwrap_or_else(|error| panic!("{error}: {text}"));
            let [key] = config.auth.keys.as_slice() else { panic!("{text}") };
            assert_eq!((key.subject.as_str(), &key.roles), (name, &entry.roles));
            assert_eq!(key.groups, entry.groups);
            assert_eq!(key.key_sha256, hex::encode(Sha256::digest("the key")));
        }
    }

    #[test]
    fn keys_are_random_and_have_256_bits() {
        let (one, two) = (random().expect("random"), random().expect("random"));
        assert_ne!(one, two);
        assert!(one.starts_with("hp_") && one.len() == 3 + 64, "{one}");
    }

    #[test]
    fn a_key_of_ones_own_is_read_without_its_line_end() {
        let long = "x".repeat(MIN_LENGTH);
        for input in [long.clone(), format!("{long}\n"), format!("{long}\r\n")] {
            assert_eq!(read(input.as_bytes()).expect("good"), long);
        }
        for input in ["", "\n", "short", &"x".repeat(MAX_LENGTH + 1)] {
            assert!(matches!(read(input.as_bytes()), Err(Failure::Length)), "{input}");
        }
        for input in [format!("{long} {long}"), format!("{long}\n{long}"), format!("{long}é"), format!("{long}\0")] {
            assert!(matches!(read(input.as_bytes()), Err(Failure::Characters)), "{input}");
        }
    }
}
