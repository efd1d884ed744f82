//! A bounded map that evicts the least recently used entry.

use std::{collections::HashMap, hash::Hash};

#[derive(Debug)]
pub(super) struct Recent<K, V> {
    entries: HashMap<K, (u64, V)>,
    capacity: usize,
    uses: u64,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { entries: HashMap::new(), capacity, uses: 0 }
    }

    /// The value of a key, created if missing.
    pub(super) fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                self.entries.remove(&oldest);
            }
        }
        self.uses += 1;
        let (used, value) = self.entries.entry(key).or_insert_with(|| (0, make()));
        *used = self.uses;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_is_forgotten() {
        let mut recent = Recent::new(2);
        *recent.entry("a", || 0) += 1;
        *recent.entry("b", || 0) += 1;
        assert_eq!(*recent.entry("a", || 0), 1);
        recent.entry("c", || 0);
        assert_eq!(recent.entries.len(), 2);
        assert_eq!(*recent.entry("a", || 7), 1);
        assert_eq!(*recent.entry("b", || 7), 7);
    }
}
