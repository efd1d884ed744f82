//! The titles of commits: `area: what it does`, short enough for a list.

use std::path::Path;

use super::Violation;
use crate::process::Run;

/// The commit from which on titles are checked. Those before it are as they are.
const SINCE: &str = "a59b38213f84db8d21269f1c5dd9f9449a4fb2f9";

/// A title is shorter than this.
const LENGTH: usize = 72;

/// A commit that is not a merge.
#[derive(Debug)]
pub(super) struct Commit {
    id: String,
    title: String,
}

/// Reads the commits since [`SINCE`]. The error says why that is not possible: a source archive has no history, and a shallow
/// clone does not reach back far enough to tell which commits came later.
pub(super) fn read(root: &Path) -> Result<Vec<Commit>, &'static str> {
    let git = |args: &[&str]| Run::new("git").args(args).dir(root).output();
    if git(&["rev-parse", "--verify", "--quiet", "HEAD"]).is_err() {
        return Err("this is not a git repository with commits");
    }
    if git(&["merge-base", "--is-ancestor", SINCE, "HEAD"]).is_err() {
        return Err("the commit from which on they are checked is not in this history");
    }
    let range = format!("{SINCE}..HEAD");
    let listed = git(&["log", "--no-merges", "--format=%h %s", &range]).map_err(|_| "git could not list them")?;
    let commit = |line: &str| {
        let (id, title) = line.split_once(' ')?;
        Some(Commit { id: id.to_owned(), title: title.to_owned() })
    };
    Ok(listed.lines().filter_map(commit).collect())
}

/// Finds titles that are too long, name no area, or say that the work is not done.
pub(super) fn check(commits: &[Commit]) -> Vec<Violation> {
    commits
        .iter()
        .filter_map(|commit| {
            let why = problem(&commit.title)?;
            Some(Violation::new(format!("commit {}", commit.id), 1, format!("`{}` {why}", commit.title)))
        })
        .collect()
}

fn problem(title: &str) -> Option<String> {
    // git's own words for a commit that takes another back.
    if title.starts_with("Revert \"") {
        return None;
    }
    let length = title.chars().count();
    if length >= LENGTH {
        return Some(format!("has {length} characters: fewer than {LENGTH} fit into a list"));
    }
    let is_unfinished = |word: &str| word.eq_ignore_ascii_case("wip");
    if title.split(|c: char| !c.is_alphanumeric()).any(is_unfinished)
        || ["fixup!", "squash!", "amend!"].iter().any(|mark| title.starts_with(mark))
    {
        return Some("is not finished: commit what is whole".to_owned());
    }
    let area = |area: &str| {
        area.starts_with(|c: char| c.is_ascii_alphanumeric())
            && area.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_./, ".contains(c))
    };
    match title.split_once(": ") {
        Some((before, after)) if area(before) && !after.trim().is_empty() => None,
        _ => Some("names no area: write `log: renew the lease with the append`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_with_an_area_pass() {
        for title in [
            "log: renew the lease with the append",
            "models, mcp, verify: complete arrays",
            "tests/crash: format the memory attacks",
            "xtask: say `a: b` in a title",
            "Revert \"console: load what the first page does not show when it is shown, and more\"",
        ] {
            assert_eq!(problem(title), None, "{title}");
        }
    }

    #[test]
    fn other_titles_are_found() {
        let long = format!("log: {}", "x".repeat(LENGTH - 5));
        for (title, why) in [
            ("Renew the lease", "names no area"),
            ("log:renew", "names no area"),
            ("log: ", "names no area"),
            ("The log: renew the lease", "names no area"),
            ("log: wip", "is not finished"),
            ("WIP", "is not finished"),
            ("fixup! log: renew the lease", "is not finished"),
            (&long, "has 72 characters"),
        ] {
            assert!(problem(title).is_some_and(|found| found.starts_with(why)), "{title}");
        }
        assert_eq!(problem(&long[..LENGTH - 1]), None);
        assert_eq!(problem("log: swipe"), None, "`wip` is a word of its own");
    }

    #[test]
    fn a_folder_without_the_history_is_skipped() {
        let folder = std::env::temp_dir().join(format!("xtask-commits-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("can be made");
        assert!(read(&folder).is_err_and(|why| why.contains("not a git repository")));
        let git = |args: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            Run::new("git").args(identity).args(args).dir(&folder).output().expect("runs");
        };
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "--message", "anything"]);
        assert!(read(&folder).is_err_and(|why| why.contains("not in this history")));
        std::fs::remove_dir_all(folder).expect("can be removed");
    }
}
