//! The lines of a chat in the record, read in pages.

use std::collections::VecDeque;

use holdpoint_protocol::ids::ChatId;

use super::LineChange;
use crate::log::{AuditEntry, AuditQuery, AuditRow, LogError, REVOCATION, Store};
use crate::{clock::Timestamp, subject::Subject};

/// The number of lines per read.
const PAGE: usize = 256;

/// The lines of a chat in the order of their positions, without revocations.
pub(super) struct Lines<'a> {
    log: &'a dyn Store,
    query: AuditQuery,
    page: VecDeque<AuditEntry>,
    /// There is none after the page and before this position.
    complete_to: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(log: &'a dyn Store, chat: &ChatId) -> Self {
        let query = AuditQuery { chat: Some(chat.clone()), ..AuditQuery::default() };
        Self { log, query, page: VecDeque::new(), complete_to: 0 }
    }

    /// The next line, if its position is before this one. `len` is a length that the chat has had before this call.
    pub(super) async fn next_before(&mut self, position: u64, len: u64) -> Result<Option<AuditEntry>, LogError> {
        if self.page.is_empty() && position > self.complete_to {
            let lines = self.log.audit(self.query.clone(), PAGE).await?;
            self.page = lines.into_iter().take_while(|line| line.position < REVOCATION).collect();
            match self.page.back() {
                Some(last) => self.query.after = Some((last.at, last.chat.clone(), last.position)),
                None => self.complete_to = self.complete_to.max(len),
            }
        }
        let is_before = self.page.front().is_some_and(|line| line.position < position);
        Ok(if is_before { self.page.pop_front() } else { None })
    }
}

/// The revocations of the grants that were made in a chat.
pub(super) async fn revocations(log: &dyn Store, chat: &ChatId) -> Result<Vec<AuditEntry>, LogError> {
    let after = Some((Timestamp(0), chat.clone(), REVOCATION - 1));
    let mut query = AuditQuery { chat: Some(chat.clone()), after, ..AuditQuery::default() };
    let mut found = Vec::new();
    loop {
        let lines = log.audit(query.clone(), PAGE).await?;
        let Some(last) = lines.last() else { return Ok(found) };
        query.after = Some((last.at, last.chat.clone(), last.position));
        found.extend(lines);
    }
}

/// What differs between a line and what follows from the facts.
pub(super) fn change_of(line: &AuditEntry, row: &AuditRow, owner: &Subject) -> Option<LineChange> {
    let differs = [
        ("its time", line.at != row.at),
        ("the owner of the chat", line.owner != *owner),
        ("the tool", line.tool != row.tool),
        ("who did it", line.by != row.by),
        ("what was done", line.data != row.data),
        ("its input or reason", line.contents != row.contents),
    ];
    let names: Vec<&str> = differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
    (!names.is_empty()).then(|| LineChange::Changed(format!("the facts say something else about {}", names.join(", "))))
}
