//! The log that all nodes share, with a journal of everything that was ever committed to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::FutureExt;
use holdpoint_protocol::ids::{ChatId, GrantId};
use holdpoint_runtime::{
    chat::Chat,
    fact::Fact,
    log::{
        Append, AppendResult, DeleteResult, Deletion, Index, Log, LogError, MemoryLog, NodeId, Ownership, Revocation,
    },
};
use holdpoint_testkit::SharedLog;

use super::random::SimulatedClock;

/// Length of the leases.
pub(crate) const LEASE: Duration = Duration::from_secs(3);

/// A defect of the log or of a tool, for the tests of the simulation itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    /// Appends with a wrong `expected` are committed behind what is there.
    WrongExpected,
    /// Some appends are reported as committed and are not.
    LostAppend,
    /// Some holds are not closed.
    OpenHold,
    /// Some appends that release a chat leave its owner.
    Owner,
    /// Grants are not claimed.
    Unclaimed,
    /// Some tools run a second time.
    SecondRun,
    /// Some tools run although nobody has approved that.
    Unapproved,
}

/// The shared log.
#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) log: SharedLog,
    clock: SimulatedClock,
    defect: Option<Defect>,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    all: Vec<Entry>,
    /// Appends that are committed. A repeated one is not committed again.
    committed: BTreeSet<(ChatId, u64, u128)>,
    /// Which node each owner is.
    owners: BTreeMap<NodeId, usize>,
    appends: u64,
    chats: BTreeMap<ChatId, ChatFacts>,
}

/// The facts of a chat.
#[derive(Debug, Default)]
struct ChatFacts {
    /// All that were ever committed, those before a deletion included.
    ever: Vec<Arc<Fact>>,
    /// Those that it has now.
    now: Vec<Arc<Fact>>,
    state: Chat,
    deletions: usize,
}

/// One commit.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Milliseconds since the run began.
    pub(crate) at: u64,
    pub(crate) node: usize,
    pub(crate) chat: ChatId,
    pub(crate) what: Commit,
}

#[derive(Debug, Clone)]
pub(crate) enum Commit {
    Facts { first: u64, facts: Vec<Arc<Fact>>, owner: Option<usize> },
    Deleted,
    Revoked(GrantId),
}

impl Journal {
    pub(crate) fn new(clock: SimulatedClock, defect: Option<Defect>) -> Self {
        let log = SharedLog::new(Arc::new(MemoryLog::default()), LEASE);
        Self { log, clock, defect, entries: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn defect(&self) -> Option<Defect> {
        self.defect
    }

    /// Everything that was committed, in order.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.lock().all.clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }

    /// The facts ever committed to a chat, those before a deletion included.
    pub(crate) fn facts(&self, chat: &ChatId) -> Vec<Arc<Fact>> {
        self.lock().chats.get(chat).map_or_else(Vec::new, |chat| chat.ever.clone())
    }

    /// The facts that a chat has now.
    pub(crate) fn stored_facts(&self, chat: &ChatId) -> Vec<Arc<Fact>> {
        self.lock().chats.get(chat).map_or_else(Vec::new, |chat| chat.now.clone())
    }

    /// The state of a chat now.
    pub(crate) fn state(&self, chat: &ChatId) -> Chat {
        self.lock().chats.get(chat).map_or_else(Chat::default, |chat| chat.state.clone())
    }

    /// How often a chat was deleted.
    pub(crate) fn deletions(&self, chat: &ChatId) -> usize {
        self.lock().chats.get(chat).map_or(0, |chat| chat.deletions)
    }

    /// Appends for a node. The log in memory needs no waiting.
    pub(crate) fn append(&self, node: usize, mut append: Append) -> AppendResult {
        let mut entries = self.lock();
        entries.appends += 1;
        // Conflicts are rare enough.
        let is_defective = self.defect == Some(Defect::WrongExpected) || entries.appends.is_multiple_of(5);
        let defect = self.defect.filter(|_| is_defective);
        if self.defect == Some(Defect::Unclaimed) {
            append.grants.used.clear();
        }
        match defect {
            Some(Defect::WrongExpected) => {
                let id = (append.chat.clone(), append.expected, append.append_id.0);
                let end = self.len_of(&append.chat);
                if !entries.committed.contains(&id) && append.expected < end {
                    append.expected = end;
                }
            }
            Some(Defect::LostAppend) => {
                return AppendResult::Committed { len: append.expected + u64::from(append.count) };
            }
            Some(Defect::OpenHold) => append.holds.closed.clear(),
            Some(Defect::Owner) if append.ownership == Ownership::Release => append.ownership = Ownership::Keep,
            _ => {}
        }
        if let Ownership::Take(owner) = append.ownership {
            entries.owners.insert(owner, node);
        }
        let id = (append.chat.clone(), append.expected, append.append_id.0);
        let facts: Vec<Arc<Fact>> =
            serde_json::from_slice::<Vec<Fact>>(&append.payload).expect("facts").into_iter().map(Arc::new).collect();
        let (chat, first) = (append.chat.clone(), append.expected);
        let result = self.log.append_many(vec![append]).now_or_never().expect("memory does not wait")[0];
        if matches!(result, AppendResult::Committed { .. }) && entries.committed.insert(id) {
            let owner = self.owner_of(&chat).and_then(|owner| entries.owners.get(&owner).copied());
            let of_chat = entries.chats.entry(chat.clone()).or_default();
            of_chat.ever.extend(facts.iter().cloned());
            of_chat.now.extend(facts.iter().cloned());
            facts.iter().for_each(|fact| of_chat.state.apply(fact));
            let what = Commit::Facts { first, facts, owner };
            entries.all.push(Entry { at: self.clock.millis(), node, chat, what });
        }
        result
    }

    pub(crate) fn delete(&self, node: usize, chat: &ChatId, deletion: Deletion) -> Result<DeleteResult, LogError> {
        let was_there = self.len_of(chat) > 0;
        let result = self.log.delete(chat, deletion).now_or_never().expect("memory does not wait");
        if result == Ok(DeleteResult::Deleted) && was_there {
            let mut entries = self.lock();
            let of_chat = entries.chats.entry(chat.clone()).or_default();
            (of_chat.now, of_chat.state) = Default::default();
            of_chat.deletions += 1;
            entries.all.push(Entry { at: self.clock.millis(), node, chat: chat.clone(), what: Commit::Deleted });
        }
        result
    }

    pub(crate) fn revoke(&self, node: usize, revocation: Revocation) {
        let mut entries = self.lock();
        let grant = revocation.grant.clone();
        self.log.revoke(revocation).now_or_never().expect("memory does not wait").expect("it revokes");
        entries.all.push(Entry { at: self.clock.millis(), node, chat: "-".into(), what: Commit::Revoked(grant) });
    }

    pub(crate) fn owner_of(&self, chat: &ChatId) -> Option<NodeId> {
        let batches = self.log.read(chat, 0, usize::MAX).now_or_never().expect("memory does not wait");
        batches.expect("it reads").last().and_then(|batch| batch.owner)
    }

    fn len_of(&self, chat: &ChatId) -> u64 {
        let batches = self.log.read(chat, 0, usize::MAX).now_or_never().expect("memory does not wait");
        batches.expect("it reads").last().map_or(0, |batch| batch.first + u64::from(batch.count))
    }

    /// Everything that was committed, as text. Ids are numbered in the order in which they appear: they contain the time
    /// of the machine.
    pub(crate) fn trace(&self) -> String {
        let mut text = String::new();
        for Entry { at, node, chat, what } in &self.lock().all {
            match what {
                Commit::Facts { first, facts, owner } => {
                    let owner = owner.map_or("nobody".to_owned(), |owner| format!("node {owner}"));
                    let _ = writeln!(text, "{at:>6} ms, node {node}, {chat} from {first}, then owned by {owner}:");
                    for fact in facts {
                        let _ = writeln!(text, "    {}", serde_json::to_string(fact).expect("JSON"));
                    }
                }
                Commit::Revoked(grant) => _ = writeln!(text, "{at:>6} ms, node {node}: revoked {grant}"),
                Commit::Deleted => _ = writeln!(text, "{at:>6} ms, node {node}, {chat}: deleted"),
            }
        }
        numbered(&text)
    }

    pub(crate) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.trace().hash(&mut hasher);
        hasher.finish()
    }
}

/// Replaces each id of 32 hexadecimal digits by its number.
pub(crate) fn numbered(text: &str) -> String {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('_') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let id = after.get(..32).filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        rest = match id {
            Some(id) => {
                let next = numbers.len();
                let _ = write!(out, "{}", numbers.entry(id).or_insert(next));
                &after[32..]
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}
