//! The walk along one chat: batch by batch, and line by line beside them. Only one page of each is in memory, and what the
//! chat's facts fold to.

use bytes::Bytes;
use holdpoint_protocol::ids::ChatId;
use serde::Deserialize;

use super::{
    Anchor, Finding, LineChange, Verified,
    lines::{Lines, change_of},
};
use crate::{
    chat::Chat,
    clock::Timestamp,
    driver::{
        audit,
        deletion::{self, LinesHash},
        load::title_of,
    },
    fact::Fact,
    log::{AuditEntry, AuditRow, Batch, BatchHash, Break, LogError, Store, Stored, Walk},
    subject::Subject,
};

/// The number of batches per read.
const PAGE: usize = 64;
/// The findings of a chat that are told one by one. More are counted.
const MAX_FINDINGS: usize = 100;

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// The hashes.
    Chain,
    /// The facts, and everything that follows from them.
    Facts,
}

/// How a walk has ended.
pub(super) enum Done {
    Verified(Verified),
    /// There has never been such a chat.
    Nothing,
    /// The chat was deleted or begun again meanwhile.
    Again,
}

/// The findings of a chat.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) list: Vec<Finding>,
    count: u64,
}

impl Findings {
    pub(super) fn add(&mut self, finding: impl Into<Finding>) {
        self.count += 1;
        if self.list.len() < MAX_FINDINGS {
            self.list.push(finding.into());
        }
    }

    fn check(&mut self, broken: Result<(), Break>) {
        if let Err(broken) = broken {
            self.add(broken);
        }
    }

    pub(super) fn line(&mut self, position: u64, change: LineChange) {
        self.add(Finding::Line { position, change });
    }
}

/// What the facts so far amount to.
#[derive(Default)]
pub(super) struct Fold {
    pub(super) state: Chat,
    pub(super) title: String,
}

impl Fold {
    /// Folds the facts of a batch. Returns what they add to the record.
    fn batch(&mut self, facts: &[Fact]) -> Vec<AuditRow> {
        for fact in facts {
            self.state.apply(fact);
            if self.title.is_empty() {
                self.title = title_of(fact).unwrap_or_default();
            }
        }
        audit::rows(&facts.iter().collect::<Vec<_>>(), &self.state)
    }
}

/// The last deletion that the lines tell of.
struct LastDeletion {
    position: u64,
    hash: BatchHash,
    at: Timestamp,
    by: Option<Subject>,
    owner: Subject,
}

/// A line that tells of a grant that was made.
pub(super) struct GrantedAt {
    pub(super) position: u64,
    /// What a line says that tells of its revocation.
    pub(super) revocation: Bytes,
    pub(super) owner: Subject,
    pub(super) tool: Box<str>,
}

/// The walk.
pub(super) struct ChatWalk<'a> {
    pub(super) log: &'a dyn Store,
    pub(super) chat: &'a ChatId,
    pub(super) findings: Findings,
    /// `None` if only the chain is looked at, or from facts on that can't be decoded.
    pub(super) fold: Option<Fold>,
    pub(super) granted: Vec<GrantedAt>,
    pub(super) lines: Lines<'a>,
    anchor: Option<&'a Anchor>,
    depth: Depth,
    walk: Walk,
    /// Where the chat begins.
    base: Option<u64>,
    lines_hash: LinesHash,
    last_deletion: Option<LastDeletion>,
}

impl<'a> ChatWalk<'a> {
    pub(super) fn new(log: &'a dyn Store, chat: &'a ChatId, anchor: Option<&'a Anchor>, depth: Depth) -> Self {
        Self {
            log,
            chat,
            findings: Findings::default(),
            fold: (depth == Depth::Facts).then(Fold::default),
            granted: Vec::new(),
            lines: Lines::new(log, chat),
            anchor,
            depth,
            walk: Walk::new(chat.clone()),
            base: None,
            lines_hash: LinesHash::default(),
            last_deletion: None,
        }
    }

    pub(super) async fn run(&mut self) -> Result<Done, LogError> {
        match self.log.stored(self.chat).await? {
            // The second is a row that was made for a chat whose first append was refused.
            None | Some(Stored::Tombstone { len: 0, .. }) => Ok(Done::Nothing),
            Some(Stored::Tombstone { .. }) if self.depth == Depth::Chain => Ok(Done::Nothing),
            Some(Stored::Tombstone { len, subject, deleted_at, hash }) => {
                self.deleted(len, &subject, deleted_at, hash).await
            }
            Some(Stored::Chat { .. }) => self.living().await,
        }
    }

    /// A deleted chat: its lines, up to that of its deletion.
    async fn deleted(
        &mut self,
        len: u64,
        owner: &Subject,
        at: Timestamp,
        hash: Option<BatchHash>,
    ) -> Result<Done, LogError> {
        self.former(len).await?;
        let last = self.last_deletion.take();
        if last.as_ref().is_none_or(|last| last.position + 1 != len || Some(last.hash) != hash) {
            self.findings.add(Finding::Deletion { at: len - 1 });
        }
        // The owner is who may use the id again.
        if last.as_ref().is_some_and(|last| (&last.owner, last.at) != (owner, at)) {
            self.findings.add(Finding::Tombstone);
        }
        while let Some(line) = self.lines.next_before(u64::MAX, len).await? {
            self.findings.line(line.position, LineChange::Added);
        }
        self.revocations().await?;
        self.must_have_kept(None);
        match self.log.stored(self.chat).await? {
            Some(Stored::Tombstone { len: now, .. }) if now == len => {}
            _ => return Ok(Done::Again),
        }
        let deleted = last.map(|last| (last.at, last.by));
        Ok(Done::Verified(Verified { findings: self.findings.count, len, hash, deleted, ..Verified::default() }))
    }

    /// A chat that is there. It may grow meanwhile.
    async fn living(&mut self) -> Result<Done, LogError> {
        loop {
            // Read first, so that there are batches up to this length at least.
            let Some(Stored::Chat { len, hash, .. }) = self.log.stored(self.chat).await? else {
                return Ok(Done::Again);
            };
            // A log does not get shorter. So if a walk is past its end, what is stored was changed.
            let is_past = self.walk.position() > len;
            let mut was_empty = false;
            while self.walk.position() < len && !was_empty {
                let batches = self.log.read(self.chat, self.walk.position(), PAGE).await?;
                was_empty = batches.is_empty();
                for batch in &batches {
                    self.batch(batch, len).await?;
                }
            }
            // It may have grown meanwhile: then its hash is that of a later batch.
            if self.walk.position() > len && !is_past {
                continue;
            }
            if self.depth == Depth::Facts && !self.beside(len).await? {
                continue;
            }
            self.must_have_kept(None);
            self.findings.check(self.walk.end(len, hash));
            if self.findings.count > 0 && self.is_another().await? {
                return Ok(Done::Again);
            }
            let (chained, unchained) = (self.walk.chained, self.walk.unchained);
            let (hash, findings) = (self.walk.hash(), self.findings.count);
            return Ok(Done::Verified(Verified { chained, unchained, findings, len, hash, deleted: None }));
        }
    }

    /// Whether the chat was deleted since the walk began, and perhaps begun again.
    async fn is_another(&self) -> Result<bool, LogError> {
        if !matches!(self.log.stored(self.chat).await?, Some(Stored::Chat { .. })) {
            return Ok(true);
        }
        let first = self.log.read(self.chat, 0, 1).await?;
        let first = first.first().map(|batch| batch.first);
        Ok(first.is_some() && first != self.base)
    }

    async fn batch(&mut self, batch: &Batch, len: u64) -> Result<(), LogError> {
        if self.walk.is_new() {
            self.base = Some(batch.first);
            if self.depth == Depth::Facts {
                self.former(batch.first).await?;
                let last = self.last_deletion.as_ref();
                let goes_on =
                    last.is_some_and(|last| last.position + 1 == batch.first && Some(last.hash) == batch.previous_hash);
                if batch.first > 0 && !goes_on {
                    self.findings.add(Finding::Deletion { at: batch.first - 1 });
                }
            } else {
                // The chat was deleted and begun again since then, and this does not look at what is left of that.
                self.anchor = self.anchor.filter(|anchor| batch.first < anchor.len);
            }
            if !opens(batch) {
                self.findings.add(Break::NoOpening { at: batch.first });
            }
        }
        let fits = self.walk.batch(batch);
        self.findings.check(fits);
        if self.anchor.is_some_and(|anchor| anchor.len == self.walk.position()) {
            self.must_have_kept(self.walk.hash());
        }
        if self.depth == Depth::Facts {
            self.facts(batch, len).await?;
        }
        if self.base == Some(batch.first) {
            self.same_hands(batch.first);
        }
        Ok(())
    }

    /// Only the owner of a deleted chat may use its id again.
    fn same_hands(&mut self, at: u64) {
        let now = self.fold.as_ref().and_then(|fold| fold.state.subject.as_ref());
        if let (Some(last), Some(now)) = (&self.last_deletion, now)
            && last.owner != *now
        {
            let (before, now) = (last.owner.clone(), now.clone());
            self.findings.add(Finding::ChangedHands { at, before, now });
        }
    }

    /// Compares the lines of a batch with what follows from its facts.
    async fn facts(&mut self, batch: &Batch, len: u64) -> Result<(), LogError> {
        let end = batch.first.saturating_add(u64::from(batch.count));
        let facts: Result<Vec<Fact>, _> = serde_json::from_slice(&batch.payload);
        let problem = match &facts {
            Err(error) => Some(error.to_string()),
            Ok(facts) if facts.len() as u64 != u64::from(batch.count) => Some("their number is another one".to_owned()),
            Ok(_) => None,
        };
        if let Some(problem) = problem {
            self.findings.add(Finding::Unreadable { at: batch.first, problem });
            self.fold = None;
        }
        let (Some(fold), Ok(facts)) = (&mut self.fold, facts) else {
            while self.lines.next_before(end, len).await?.is_some() {}
            return Ok(());
        };
        let rows = fold.batch(&facts);
        let owner = fold.state.subject.clone().unwrap_or_else(Subject::nobody);
        let mut rows = rows.into_iter().map(|row| (batch.first.saturating_add(u64::from(row.index)), row)).peekable();
        while let Some(line) = self.lines.next_before(end, len.max(end)).await? {
            while let Some((position, _)) = rows.next_if(|(position, _)| *position < line.position) {
                self.findings.line(position, LineChange::Missing);
            }
            let change = match rows.next_if(|(position, _)| *position == line.position) {
                Some((_, row)) => change_of(&line, &row, &owner),
                None => Some(LineChange::Added),
            };
            if let Some(change) = change {
                self.findings.line(line.position, change);
            }
            self.note_grant(&line);
        }
        for (position, _) in rows {
            self.findings.line(position, LineChange::Missing);
        }
        Ok(())
    }

    fn note_grant(&mut self, line: &AuditEntry) {
        if let Some((grant, call)) = audit::granted_by(line) {
            let (position, owner, tool) = (line.position, line.owner.clone(), line.tool.clone());
            let revocation = audit::revoked(&grant, Some(&call));
            self.granted.push(GrantedAt { position, revocation, owner, tool });
        }
    }

    /// The lines of the chats that had this id before, which end at a position: each ends with the line of its deletion.
    async fn former(&mut self, end: u64) -> Result<(), LogError> {
        while let Some(line) = self.lines.next_before(end, end).await? {
            if line.contents.is_some() {
                self.findings.line(line.position, LineChange::Contents);
            }
            if let Some((lines, previous)) = audit::deletion_of(&line) {
                if lines != self.lines_hash.to_string() {
                    self.findings.add(Finding::Lines { at: line.position });
                }
                let hash = deletion::hash_of(&line, previous);
                self.kept_at_deletion(line.position, previous, hash);
                let (position, at, by, owner) = (line.position, line.at, line.by.clone(), line.owner.clone());
                self.last_deletion = Some(LastDeletion { position, hash, at, by, owner });
            }
            self.lines_hash.add(&line);
            self.note_grant(&line);
        }
        Ok(())
    }

    /// Compares what was kept elsewhere with a deletion. What was kept of an earlier time has been removed since then, and can't
    /// be compared with anything.
    fn kept_at_deletion(&mut self, position: u64, previous: BatchHash, hash: BatchHash) {
        let Some(Anchor { len, deleted, .. }) = self.anchor else { return };
        if *len == position + 1 {
            self.must_have_kept(Some(hash));
        } else if *len == position && !deleted {
            self.must_have_kept(Some(previous));
        } else if *len < position && !deleted {
            self.anchor = None;
        }
    }

    /// What was kept elsewhere must be this.
    fn must_have_kept(&mut self, found: Option<BatchHash>) {
        if let Some(Anchor { len, hash, .. }) = self.anchor.take()
            && found != Some(*hash)
        {
            self.findings.add(Break::NotKept { at: *len, expected: *hash, found });
        }
    }
}

/// Whether a batch is the first of a chat. If the first ones were removed, the chain alone would not show it: it may go
/// on from a deleted chat.
fn opens(batch: &Batch) -> bool {
    #[derive(Deserialize)]
    struct Tag<'a> {
        fact: std::borrow::Cow<'a, str>,
    }
    let tags: Result<Vec<Tag<'_>>, _> = serde_json::from_slice(&batch.payload);
    tags.is_ok_and(|tags| tags.first().is_some_and(|tag| tag.fact == "opened"))
}
