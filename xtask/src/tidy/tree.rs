//! The project's files, in memory: the checks are functions of this and nothing else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::failure::{Failure, Result};
use crate::process::Run;

/// Every file that git tracks or would add, by its path from the root, with `/` as the separator.
pub(super) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
}

impl Tree {
    /// Reads the work tree. New files count before they are committed; ignored ones never do.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let listed = Run::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .dir(root)
            .output()?;
        let mut files = BTreeMap::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let full = root.join(path);
            // A tracked file may be deleted and not yet staged. A link or a submodule has no text of its own.
            if !fs::symlink_metadata(&full).is_ok_and(|found| found.is_file()) {
                continue;
            }
            let bytes = fs::read(&full).map_err(|error| Failure::new(format!("could not read {path}: {error}")))?;
            files.insert(path.to_owned(), bytes);
        }
        Ok(Self { files })
    }

    /// A made-up tree for a test.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Self { files: files.collect() }
    }

    /// All paths, sorted.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The text of one file, if present. Invalid UTF-8 is replaced.
    pub(super) fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.files.get(path).map(|bytes| String::from_utf8_lossy(bytes))
    }

    /// Whether there is such a file, or a folder with files in it.
    pub(super) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(next, _)| next.starts_with(&folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_there_and_nothing_else() {
        let tree = Tree::of(&[("docs/a.md", ""), ("docs-old", "")]);
        for path in ["docs/a.md", "docs", "docs/", ""] {
            assert!(tree.has(path), "{path}");
        }
        for path in ["docs/b.md", "doc", "docs/a", "a.md"] {
            assert!(!tree.has(path), "{path}");
        }
    }
}
