//! The last lines that a server's program wrote to standard error, for an operator when it does not start.

use std::{
    collections::VecDeque,
    process::ExitStatus,
    sync::{Arc, Mutex, PoisonError},
};

/// Lines kept.
const MAX_LINES: usize = 10;

/// The last lines, with secrets masked, and how the program ended.
#[derive(Debug, Clone, Default)]
pub(super) struct LastLines(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    lines: VecDeque<String>,
    end: Option<ExitStatus>,
}

impl LastLines {
    pub(super) fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.lines.len() == MAX_LINES {
            lines.lines.pop_front();
        }
        lines.lines.push_back(line);
    }

    /// The program has ended.
    pub(super) fn end(&self, status: ExitStatus) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).end = Some(status);
    }

    /// Forgets everything: a new program begins.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Lines::default();
    }

    /// All lines as one, for a log; `None` if there are none.
    pub(super) fn joined(&self) -> Option<String> {
        let lines = self.read();
        (!lines.is_empty()).then(|| lines.join(" | "))
    }

    pub(super) fn read(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = lines.end.map(|status| format!("(it ended: {status})"));
        lines.lines.iter().cloned().chain(end).collect()
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
