//! Files that a model has refused. Only the provider knows whether its model can see or hear, and whether it can read a file;
//! without this, a file that it can't take would fail every later message of the chat.

use std::{
    collections::{HashSet, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::{Mutex, PoisonError},
};

/// Files that are remembered. The oldest are forgotten first.
const MAX_FILES: usize = 4096;

/// A file, by its contents or its address.
pub(super) type FileId = u64;

/// The files that a model has refused, as long as the process runs: after a restart, and for a file that was forgotten, one
/// more attempt is made. The log does not record it, since it is not a fact of the chat: another model may take the file.
///
/// By file and not by media type: one broken picture must not keep everybody's pictures from a model that can see.
#[derive(Debug, Default)]
pub(super) struct Refused {
    // Keyed at random: nobody can make a file that is taken for another one.
    hasher: RandomState,
    files: Mutex<VecDeque<FileId>>,
}

impl Refused {
    pub(super) fn id(&self, media_type: &str, contents: &str) -> FileId {
        self.hasher.hash_one((media_type, contents))
    }

    pub(super) fn add(&self, refused: &HashSet<FileId>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        for id in refused {
            if !files.contains(id) {
                files.push_back(*id);
            }
        }
        let excess = files.len().saturating_sub(MAX_FILES);
        files.drain(..excess);
    }

    pub(super) fn all(&self) -> HashSet<FileId> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let refused = Refused::default();
        for id in 0..=MAX_FILES as u64 {
            refused.add(&HashSet::from([id]));
            refused.add(&HashSet::from([id]));
        }
        let all = refused.all();
        assert_eq!(all.len(), MAX_FILES);
        assert!(!all.contains(&0) && all.contains(&1) && all.contains(&(MAX_FILES as u64)));
        assert_ne!(refused.id("image/png", "a"), refused.id("image/png", "b"));
        assert_eq!(refused.id("image/png", "a"), refused.id("image/png", "a"));
    }
}
