//! Checks of the data folder and its disk. Nothing is created or changed.

use std::path::{Path, PathBuf};

use holdpoint_runtime::{
    check_secrets,
    log::{FolderRights, HeadOrder, HeadQuery, Health, SqliteLog, Store},
    tool::Secret,
};
use rustix::fs::{Access, access, statvfs};

use super::{Finding, State};
use crate::commands::data_args::Place;

/// Below this, writes will soon fail.
const LOW_SPACE_BYTES: u64 = 1024 * 1024 * 1024;
const NO_SPACE_BYTES: u64 = 100 * 1024 * 1024;
/// At most this many chats are counted.
const MAX_COUNTED_CHATS: usize = 100_000;

pub(super) async fn check(folder: &Path, key: Option<&Secret>, findings: &mut Vec<Finding>) {
    let finding = |state, text: String| Finding::new("data", state, format!("{}: {text}", folder.display()));
    if !folder.exists() {
        let above = existing(folder);
        findings.push(match access(&above, Access::WRITE_OK) {
            Ok(()) => finding(State::Ok, "missing; the server creates it".to_owned()),
            Err(error) => finding(State::Fail, format!("missing, and {} is not writable: {error}", above.display())),
        });
        return;
    }
    if let Err(error) = access(folder, Access::WRITE_OK) {
        return findings.push(finding(State::Fail, format!("not writable: {error}")));
    }
    // Whether it is as it should be, and what is said of it if not.
    let (state, note) = match SqliteLog::folder_rights(folder) {
        Ok(FolderRights::UntilOpened { mode }) => (
            State::Warn,
            format!("; open to other users (its mode is {mode:o}), until the server starts and closes it"),
        ),
        Ok(_) => (State::Ok, String::new()),
        // The message names the folder.
        Err(error) => return findings.push(Finding::new("data", State::Fail, error.to_string())),
    };
    let user = if SqliteLog::is_in_use(folder) { "in use by a holdpoint that is running" } else { "not in use" };
    if !folder.join("holdpoint.db").exists() {
        return findings.push(finding(state, format!("{user}; empty{note}")));
    }
    findings.push(match SqliteLog::open_read_only(folder) {
        Err(error) => finding(State::Fail, error.to_string()),
        Ok(log) => match counts(&log, key).await {
            Ok((chats, open)) => finding(state, format!("{user}; {chats} chats, {open} of them open{note}")),
            Err(error) => finding(State::Fail, error),
        },
    });
}

/// Checks the database: it is opened as a server would, and so prepared if it is empty.
pub(super) async fn database(place: &Place, key: Option<&Secret>) -> Finding {
    let checked = async {
        let log = place.open_to_read().await.map_err(|error| error.to_string())?;
        if log.probe().await != Health::Writable {
            return Err("it can't be written".to_owned());
        }
        counts(&*log, key).await
    };
    match checked.await {
        Ok((chats, open)) => Finding::new("data", State::Ok, format!("PostgreSQL: {chats} chats, {open} of them open")),
        Err(error) => Finding::new("data", State::Fail, error),
    }
}

/// Counts the chats, if the server's own secrets can be read.
async fn counts(log: &dyn Store, key: Option<&Secret>) -> Result<(String, String), String> {
    check_secrets(log, key).await.map_err(|error| error.to_string())?;
    count(log).await.map_err(|error| error.to_string())
}

async fn count(log: &dyn Store) -> Result<(String, String), holdpoint_runtime::log::LogError> {
    let mut counts = Vec::new();
    for only_open in [false, true] {
        let (mut query, mut count) = (HeadQuery { only_open, ..HeadQuery::default() }, 0);
        while count < MAX_COUNTED_CHATS {
            let page = log.heads(query.clone(), 1000).await?;
            let Some((last, ..)) = page.last() else { break };
            query.order = HeadOrder::Id { after: Some(last.clone()) };
            count += page.len();
        }
        counts.push(if count < MAX_COUNTED_CHATS { count.to_string() } else { format!("{MAX_COUNTED_CHATS} or more") });
    }
    let open = counts.pop().unwrap_or_default();
    Ok((counts.pop().unwrap_or_default(), open))
}

/// Checks the free disk space.
pub(super) fn disk(folder: &Path) -> Finding {
    let above = existing(folder);
    let left = match statvfs(&above) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(error) => return Finding::new("disk", State::Warn, format!("{}: {error}", above.display())),
    };
    let text = format!("{} MB free at {}", left / 1_000_000, above.display());
    Finding::new("disk", judge(left), text)
}

fn judge(left: u64) -> State {
    match left {
        ..NO_SPACE_BYTES => State::Fail,
        NO_SPACE_BYTES..LOW_SPACE_BYTES => State::Warn,
        _ => State::Ok,
    }
}

/// The folder, or its nearest existing ancestor.
fn existing(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    whole.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_space_is_told() {
        assert_eq!(
            [0, NO_SPACE_BYTES - 1, NO_SPACE_BYTES, LOW_SPACE_BYTES - 1, LOW_SPACE_BYTES].map(judge),
            [State::Fail, State::Fail, State::Warn, State::Warn, State::Ok]
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_on_the_disk_of_the_one_above() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(existing(&folder.path().join("a/b")), folder.path());
    }
}
