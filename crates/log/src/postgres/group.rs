//! A group of appends, decided in memory: what each of them finds, and the rows that they leave.
//!
//! The chats are locked first, in the order of their ids. So whatever is decided here holds until the commit.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{
    audit::Audit,
    grants::{Claims, Made, Used},
};
use crate::{Append, AppendResult, BatchHash, HoldRow, Ownership};

/// A chat as it was locked.
pub(super) struct Locked {
    pub(super) number: i64,
    pub(super) len: u64,
    pub(super) owner: Option<Uuid>,
    pub(super) subject: Vec<u8>,
    /// The hash of its last batch.
    pub(super) hash: Option<BatchHash>,
}

/// A chat after the appends decided so far.
struct Chat<'a> {
    number: i64,
    len: u64,
    owner: Option<Uuid>,
    subject_before: Vec<u8>,
    hash: BatchHash,
    /// The last append that was accepted.
    last: Option<&'a Append>,
}

/// The ids of all chats, in the order in which they are locked, each once.
pub(super) fn ids(appends: &[Append]) -> Vec<&[u8]> {
    let ids: BTreeSet<&[u8]> = appends.iter().map(|append| append.chat.as_str().as_bytes()).collect();
    ids.into_iter().collect()
}

/// The ids of the chats that may begin with one of the appends.
pub(super) fn new_ids(appends: &[Append]) -> Vec<&[u8]> {
    let new = appends.iter().filter(|append| append.expected == 0 && append.count > 0);
    let ids: BTreeSet<&[u8]> = new.map(|append| append.chat.as_str().as_bytes()).collect();
    ids.into_iter().collect()
}

/// The result of each append, and what is written for all of them.
#[derive(Default)]
pub(super) struct Plan<'a> {
    /// In the order of the appends. An append that may be a repetition has a conflict, until it is found.
    pub(super) results: Vec<AppendResult>,
    pub(super) repeated: Repeated,
    pub(super) chats: Chats<'a>,
    pub(super) batches: Batches<'a>,
    pub(super) digests: Digests<'a>,
    pub(super) audit: Audit<'a>,
    pub(super) keys: Keys<'a>,
    pub(super) closed: Closed<'a>,
    pub(super) opened: Opened<'a>,
    /// Holds whose approvers are replaced.
    pub(super) cleared: Closed<'a>,
    pub(super) approvers: Approvers<'a>,
    pub(super) moved: Moved<'a>,
    pub(super) made: Made<'a>,
    pub(super) used: Used,
    /// The nodes that take a chat.
    pub(super) takers: BTreeSet<Uuid>,
}

/// Appends that may have been committed before.
#[derive(Default)]
pub(super) struct Repeated {
    pub(super) indexes: Vec<i64>,
    pub(super) chats: Vec<i64>,
    pub(super) firsts: Vec<i64>,
    pub(super) append_ids: Vec<Uuid>,
}

/// Columns of changed chats.
#[derive(Default)]
pub(super) struct Chats<'a> {
    pub(super) numbers: Vec<i64>,
    pub(super) lens: Vec<i64>,
    pub(super) updated_ats: Vec<i64>,
    pub(super) heads: Vec<&'a [u8]>,
    pub(super) subjects: Vec<&'a [u8]>,
    pub(super) are_open: Vec<bool>,
    pub(super) owners: Vec<Option<Uuid>>,
    pub(super) hashes: Vec<Vec<u8>>,
}

/// Columns of new batches.
#[derive(Default)]
pub(super) struct Batches<'a> {
    pub(super) chats: Vec<i64>,
    pub(super) firsts: Vec<i64>,
    pub(super) counts: Vec<i64>,
    pub(super) append_ids: Vec<Uuid>,
    pub(super) payloads: Vec<&'a [u8]>,
    pub(super) owners: Vec<Option<Uuid>>,
    pub(super) previous_hashes: Vec<Vec<u8>>,
}

/// Columns of new digests.
#[derive(Default)]
pub(super) struct Digests<'a> {
    pub(super) chats: Vec<i64>,
    pub(super) firsts: Vec<i64>,
    pub(super) data: Vec<&'a [u8]>,
}

/// Columns of keys, in their order.
#[derive(Default)]
pub(super) struct Keys<'a> {
    pub(super) subjects: Vec<&'a [u8]>,
    pub(super) keys: Vec<&'a [u8]>,
    pub(super) chats: Vec<i64>,
    pub(super) ats: Vec<i64>,
}

/// Columns of holds that end.
#[derive(Default)]
pub(super) struct Closed<'a> {
    pub(super) chats: Vec<i64>,
    pub(super) calls: Vec<&'a [u8]>,
}

/// Columns of holds that begin.
#[derive(Default)]
pub(super) struct Opened<'a> {
    pub(super) chats: Vec<i64>,
    pub(super) calls: Vec<&'a [u8]>,
    pub(super) subjects: Vec<&'a [u8]>,
    pub(super) tools: Vec<&'a [u8]>,
    pub(super) approvals: Vec<Option<&'a [u8]>>,
    pub(super) sinces: Vec<i64>,
    pub(super) due_ats: Vec<Option<i64>>,
    pub(super) data: Vec<&'a [u8]>,
}

/// Columns of those who may decide about holds.
#[derive(Default)]
pub(super) struct Approvers<'a> {
    pub(super) chats: Vec<i64>,
    pub(super) calls: Vec<&'a [u8]>,
    pub(super) kinds: Vec<&'static str>,
    pub(super) names: Vec<&'a [u8]>,
}

/// Columns of chats that have another subject than before.
#[derive(Default)]
pub(super) struct Moved<'a> {
    pub(super) numbers: Vec<i64>,
    pub(super) subjects: Vec<&'a [u8]>,
}

/// Decides all appends, each as if the ones before it were committed.
pub(super) fn decide<'a>(appends: &'a [Append], locked: Vec<(Vec<u8>, Locked)>, mut claims: Claims) -> Plan<'a> {
    let mut chats: BTreeMap<Vec<u8>, Chat<'a>> = locked
        .into_iter()
        .map(|(id, Locked { number, len, owner, subject, hash })| {
            let hash = hash.unwrap_or(BatchHash::BEGINNING);
            (id, Chat { number, len, owner, subject_before: subject, hash, last: None })
        })
        .collect();
    let mut plan = Plan { results: Vec::with_capacity(appends.len()), ..Plan::default() };
    let mut keys = BTreeMap::new();
    let mut holds: BTreeMap<(i64, &'a str), Option<(&'a Append, &'a HoldRow)>> = BTreeMap::new();
    let mut approvers: BTreeMap<(i64, &'a str), BTreeSet<(&'static str, &'a str)>> = BTreeMap::new();
    for (index, append) in (0..).zip(appends) {
        let chat = chats.get_mut(append.chat.as_str().as_bytes());
        let len = chat.as_ref().map_or(0, |chat| chat.len);
        if append.expected != len {
            plan.results.push(AppendResult::Conflict { len });
            if let (Some(chat), Ok(first)) = (chat, i64::try_from(append.expected)) {
                plan.repeated.indexes.push(index);
                plan.repeated.chats.push(chat.number);
                plan.repeated.firsts.push(first);
                plan.repeated.append_ids.push(Uuid::from_u128(append.append_id.0));
            }
            continue;
        }
        // Without a row, an append at 0 has no facts: a row was made for any other.
        let Some(chat) = chat.filter(|_| append.count > 0) else {
            plan.results.push(AppendResult::Committed { len });
            continue;
        };
        if !claims.claim(append) {
            plan.results.push(AppendResult::NotGranted);
            continue;
        }
        chat.owner = match append.ownership {
            Ownership::Release => None,
            Ownership::Take(node) => Some(Uuid::from_u128(node.0)),
            Ownership::Keep => chat.owner,
        };
        if let Ownership::Take(node) = append.ownership {
            plan.takers.insert(Uuid::from_u128(node.0));
        }
        chat.len = len + u64::from(append.count);
        chat.last = Some(append);
        plan.batches.add(chat, len, append);
        chat.hash = BatchHash::of(&append.chat, len, append.count, &append.payload, chat.hash);
        plan.audit.add(chat.number, len, append);
        plan.made.add(chat.number, len, append);
        if let Some(digest) = &append.digest {
            plan.digests.chats.push(chat.number);
            plan.digests.firsts.push(len.cast_signed());
            plan.digests.data.push(digest);
        }
        for key in &append.keys {
            keys.insert((key.subject(&append.head), &*key.id), (chat.number, key.at));
        }
        for call in &append.holds.closed {
            holds.insert((chat.number, call.as_str()), None);
            approvers.insert((chat.number, call.as_str()), BTreeSet::new());
        }
        for hold in &append.holds.opened {
            holds.insert((chat.number, hold.call.as_str()), Some((append, hold)));
            approvers.insert((chat.number, hold.call.as_str()), BTreeSet::new());
        }
        for (call, approver) in &append.holds.approvers {
            approvers.entry((chat.number, call.as_str())).or_default().insert(approver.parts());
        }
        plan.results.push(AppendResult::Committed { len: chat.len });
    }
    for ((subject, key), (chat, at)) in keys {
        plan.keys.subjects.push(subject.as_bytes());
        plan.keys.keys.push(key.as_bytes());
        plan.keys.chats.push(chat);
        plan.keys.ats.push(at.cast_signed());
    }
    for ((chat, call), hold) in holds {
        match hold {
            Some((append, hold)) => plan.opened.add(chat, append.head.subject.as_str().as_bytes(), hold),
            None => {
                plan.closed.chats.push(chat);
                plan.closed.calls.push(call.as_bytes());
            }
        }
    }
    for ((chat, call), named) in approvers {
        plan.cleared.chats.push(chat);
        plan.cleared.calls.push(call.as_bytes());
        for (kind, name) in named {
            plan.approvers.chats.push(chat);
            plan.approvers.calls.push(call.as_bytes());
            plan.approvers.kinds.push(kind);
            plan.approvers.names.push(name.as_bytes());
        }
    }
    plan.used = claims.used();
    for chat in chats.values() {
        plan.finish(chat);
    }
    plan
}

impl<'a> Plan<'a> {
    fn finish(&mut self, chat: &Chat<'a>) {
        let Some(Append { head, .. }) = chat.last else { return };
        let subject = head.subject.as_str().as_bytes();
        let chats = &mut self.chats;
        chats.numbers.push(chat.number);
        chats.lens.push(chat.len.cast_signed());
        chats.updated_ats.push(head.updated_at.0.cast_signed());
        chats.heads.push(&head.data);
        chats.subjects.push(subject);
        chats.are_open.push(head.is_open);
        chats.owners.push(chat.owner);
        chats.hashes.push(chat.hash.as_bytes().to_vec());
        if chat.subject_before != subject {
            self.moved.numbers.push(chat.number);
            self.moved.subjects.push(subject);
        }
    }

    /// An append turned out to be a repetition.
    pub(super) fn found(&mut self, index: i64, end: i64) {
        if let Some(result) = usize::try_from(index).ok().and_then(|index| self.results.get_mut(index)) {
            *result = AppendResult::Committed { len: end.cast_unsigned() };
        }
    }
}

impl<'a> Batches<'a> {
    fn add(&mut self, chat: &Chat<'_>, first: u64, append: &'a Append) {
        self.chats.push(chat.number);
        self.firsts.push(first.cast_signed());
        self.counts.push(append.count.into());
        self.append_ids.push(Uuid::from_u128(append.append_id.0));
        self.payloads.push(&append.payload);
        self.owners.push(chat.owner);
        self.previous_hashes.push(chat.hash.as_bytes().to_vec());
    }
}

impl<'a> Opened<'a> {
    fn add(&mut self, chat: i64, subject: &'a [u8], hold: &'a HoldRow) {
        let HoldRow { call, tool, approval, since, due_at, data } = hold;
        self.chats.push(chat);
        self.calls.push(call.as_str().as_bytes());
        self.subjects.push(subject);
        self.tools.push(tool.as_bytes());
        self.approvals.push(approval.as_ref().map(|approval| approval.as_str().as_bytes()));
        self.sinces.push(since.0.cast_signed());
        self.due_ats.push(due_at.map(|due_at| due_at.0.cast_signed()));
        self.data.push(data);
    }
}
