//! The last lines that a server's program wrote to standard error, for an operator when it does not start.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// Lines kept.
const MAX_LINES: usize = 10;

/// The last lines, with secrets masked.
#[derive(Debug, Clone, Default)]
pub(super) struct LastLines(Arc<Mutex<VecDeque<String>>>);

impl LastLines {
    pub(super) fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(super) fn read(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_are_kept() {
        let lines = LastLines::default();
        (0..25).for_each(|number| lines.push(number.to_string()));
        assert_eq!(lines.read(), (15..25).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
