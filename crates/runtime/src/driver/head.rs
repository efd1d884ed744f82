//! What is stored of a chat besides its facts: its head for lists, and a row for each of its holds.

use std::{collections::BTreeSet, sync::Arc};

use holdpoint_protocol::ids::{ApprovalId, ToolCallId};
use serde::{Deserialize, Serialize};

use super::{
    checkpoint::Checkpoint,
    seal::{SealError, seal, unseal},
};
use crate::{
    approvers::{Approver, Approvers},
    chat::Chat,
    clock::Timestamp,
    fact::Fact,
    identity::Identity,
    log::{self, HoldChanges, HoldRow, Key},
    request_terms::RequestTerms,
    subject::Subject,
};

/// A call that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Hold {
    /// The call.
    pub call: ToolCallId,
    /// The tool.
    pub name: Box<str>,
    /// The input that was shown, as JSON text.
    pub input: Box<str>,
    /// The approval request, if it waits for a decision.
    pub request: Option<HoldApproval>,
    /// When the wait began.
    pub since: Timestamp,
    /// The deadline.
    pub deadline: Option<Timestamp>,
}

/// An approval request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct HoldApproval {
    /// Its id.
    pub approval: ApprovalId,
    /// When it was made.
    pub asked_at: Timestamp,
    /// What is asked, of whom, and what may be decided.
    pub terms: Arc<RequestTerms>,
    /// Whether those of the escalation may decide too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_escalated: bool,
    /// The owner of the chat, if others may decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Subject>,
    /// Those who have approved, while others have to as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Subject>,
}

impl Hold {
    /// The open holds of a chat.
    pub(super) fn of(state: &Chat) -> Vec<Self> {
        let held = state.open_calls().filter(|(_, call)| call.is_held());
        let held = held.filter_map(|(id, call)| Some((id, call, call.since()?))).map(|(id, call, since)| Hold {
            call: id.clone(),
            name: call.name.as_str().into(),
            input: call.input.to_string().into(),
            request: call.open_request().map(|request| HoldApproval {
                approval: request.approval.clone(),
                asked_at: request.asked_at,
                terms: Arc::clone(&request.terms),
                is_escalated: request.is_escalated,
                owner: state.subject.clone().filter(|_| !request.terms.approvers.is_default()),
                votes: request.votes.clone(),
            }),
            since,
            deadline: call.deadline(),
        });
        held.collect()
    }

    /// The changes from these holds to those.
    pub(super) fn changes(before: &[Self], after: &[Self]) -> HoldChanges {
        let changed: Vec<&Self> = after.iter().filter(|hold| !before.contains(hold)).collect();
        let opened = changed.iter().map(|hold| hold.row()).collect();
        let approvers = changed.iter().flat_map(|hold| hold.others().map(|who| (hold.call.clone(), who.clone())));
        let approvers = approvers.collect();
        let is_gone = |hold: &&Self| after.iter().all(|open| open.call != hold.call);
        let closed = before.iter().filter(is_gone).map(|hold| hold.call.clone()).collect();
        // Whoever could decide before, and whoever can now.
        let is_other = |hold: &&Self| !after.contains(hold);
        let involved = before.iter().filter(is_other).chain(changed).flat_map(Self::others).cloned();
        let told = involved.collect::<BTreeSet<_>>().into_iter().collect();
        HoldChanges { opened, closed, approvers, told }
    }

    /// Adds those who could decide about calls that have ended now: what has come of a call is for whoever approved it to
    /// know.
    pub(super) fn tell_of_outcomes(facts: &[&Fact], state: &Chat, told: &mut Vec<Approver>) {
        let settled = facts.iter().filter_map(|fact| match fact {
            Fact::Settled { call, .. } => state.calls.get(call)?.request.as_ref(),
            _ => None,
        });
        let named = settled.flat_map(|request| request.terms.approvers.named(request.is_escalated));
        for approver in named.filter(|approver| **approver != Approver::Owner) {
            if !told.contains(approver) {
                told.push(approver.clone());
            }
        }
    }

    /// Who else than the owner of the chat may decide.
    pub(super) fn others(&self) -> impl Iterator<Item = &Approver> {
        let named = self.request.iter().flat_map(|request| request.terms.approvers.named(request.is_escalated));
        named.filter(|approver| **approver != Approver::Owner)
    }

    /// When something is to be done about it: its deadline or, before that, its escalation.
    fn due_at(&self) -> Option<Timestamp> {
        let escalates = self.request.as_ref().filter(|request| !request.is_escalated).and_then(|request| {
            let escalation = request.terms.approvers.escalate.as_ref()?;
            Some(request.asked_at.after(escalation.after))
        });
        self.deadline.into_iter().chain(escalates).min()
    }

    fn row(&self) -> HoldRow {
        HoldRow {
            call: self.call.clone(),
            tool: self.name.clone(),
            approval: self.request.as_ref().map(|request| request.approval.clone()),
            since: self.since,
            due_at: self.due_at(),
            data: seal(self),
        }
    }

    /// Whether a row says of it what it is.
    pub(super) fn is_stored_as(&self, row: &HoldRow) -> bool {
        let own = self.row();
        let columns = |row: &HoldRow| (row.since, row.due_at, row.tool.clone(), row.approval.clone());
        Self::read(row).is_ok_and(|stored| stored == *self) && columns(&own) == columns(row)
    }

    /// Reads a row. A damaged row must not pass for another hold: people approve what they are shown.
    pub(super) fn read(row: &HoldRow) -> Result<Self, SealError> {
        let hold: Self = unseal(&row.data)?;
        let approval = hold.request.as_ref().map(|request| &request.approval);
        let is_whole = hold.call == row.call && hold.name == row.tool && approval == row.approval.as_ref();
        if is_whole { Ok(hold) } else { Err(SealError::Sum) }
    }
}

/// The runtime's part of a [`log::Head`]. Reading is strict: a damaged head must not pass for one without holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct HeadData {
    /// The beginning of the first user message.
    pub(super) title: String,
    /// Whether something was running on the server.
    pub(super) is_running: bool,
    /// The number of open holds.
    pub(super) holds: usize,
    /// Whom the holds wait for that do not wait for the owner of the chat alone.
    #[serde(default, skip_serializing_if = "Awaited::is_nobody")]
    pub(super) awaited: Awaited,
    /// The size of the chat in bytes, as stored.
    pub(super) bytes: usize,
    /// Where the last turn begins, unless that is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) checkpoint: Option<Checkpoint>,
}

/// Whom the open holds of a chat wait for, as far as it is not just for the owner of the chat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Awaited(Vec<AwaitedBy>);

/// Open approval requests with the same approvers and votes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AwaitedBy {
    approvers: Arc<Approvers>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_escalated: bool,
    /// They have approved, so it waits for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    votes: Vec<Subject>,
    holds: usize,
}

impl Awaited {
    pub(super) fn of(holds: &[Hold]) -> Self {
        let mut all: Vec<AwaitedBy> = Vec::new();
        for HoldApproval { terms, is_escalated, votes, .. } in holds.iter().filter_map(|hold| hold.request.as_ref()) {
            let approvers = &terms.approvers;
            if approvers.is_default() {
                continue;
            }
            let is_same = |other: &&mut AwaitedBy| {
                (&other.approvers, other.is_escalated, &other.votes) == (approvers, *is_escalated, votes)
            };
            match all.iter_mut().find(is_same) {
                Some(same) => same.holds += 1,
                None => all.push(AwaitedBy {
                    approvers: Arc::clone(approvers),
                    is_escalated: *is_escalated,
                    votes: votes.clone(),
                    holds: 1,
                }),
            }
        }
        Self(all)
    }

    fn is_nobody(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of the `holds` of a chat waits for somebody: an approval request that they may decide and have not
    /// approved yet or, in a chat of their own, a call in the browser or a prompt.
    pub(super) fn is_for(&self, by: &Identity, owner: &Subject, holds: usize) -> bool {
        let with_others: usize = self.0.iter().map(|awaited| awaited.holds).sum();
        let is_named = |awaited: &AwaitedBy| {
            awaited.approvers.let_decide(by, owner, awaited.is_escalated) && !awaited.votes.contains(by.subject())
        };
        by.subject() == owner && holds > with_others || self.0.iter().any(is_named)
    }
}

impl HeadData {
    pub(super) fn of(state: &Chat, title: &str, holds: &[Hold], checkpoint: Option<&Checkpoint>) -> Self {
        Self {
            title: title.to_owned(),
            is_running: state.is_running(),
            holds: holds.len(),
            awaited: Awaited::of(holds),
            bytes: 0,
            checkpoint: checkpoint.cloned(),
        }
    }

    /// The same for a chat of this size.
    pub(super) fn of_size(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }

    pub(super) fn read(head: &log::Head) -> Result<Self, SealError> {
        unseal(&head.data)
    }

    pub(super) fn write(&self, subject: &Subject, updated_at: Timestamp) -> log::Head {
        let is_open = self.is_running || self.holds > 0;
        log::Head { subject: subject.clone(), is_open, updated_at, data: seal(self) }
    }
}

/// The keys by which this fact makes the chat findable, in a turn that begins at a position. Approval requests are found
/// by others than the owner too.
pub(super) fn keys_of(fact: &Fact, turn: u64) -> Vec<Key> {
    let key = |id: &str, is_shared| Key { id: id.into(), at: turn, is_shared };
    match fact {
        Fact::Called { call, .. } => vec![key(call.as_str(), false)],
        Fact::Asked { approval, .. } => vec![key(approval.as_str(), false), key(approval.as_str(), true)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::identity::Role;

    fn hold() -> Hold {
        let request = HoldApproval {
            approval: "a".into(),
            asked_at: Timestamp(5),
            terms: Arc::default(),
            is_escalated: false,
            owner: None,
            votes: Vec::new(),
        };
        Hold {
            call: "c".into(),
            name: "pay".into(),
            input: r#"{"x":"\\"}"#.into(),
            request: Some(request),
            deadline: Some(Timestamp(9)),
            since: Timestamp(5),
        }
    }

    fn head() -> (HeadData, log::Head) {
        let data = HeadData { title: "send 50 \u{1f600}".into(), is_running: true, holds: 1, ..HeadData::default() };
        let head = data.write(&Subject::local(), Timestamp(7));
        (data, head)
    }

    #[test]
    fn a_head_is_json_and_comes_back() {
        let (data, head) = head();
        assert_eq!(HeadData::read(&head).ok(), Some(data.clone()));
        let json: serde_json::Value = serde_json::from_slice(&head.data).expect("people may look at it");
        assert_eq!((&json["title"], &json["holds"]), (&data.title.clone().into(), &1.into()));
    }

    #[test]
    fn a_hold_is_json_and_comes_back() {
        let row = hold().row();
        assert_eq!((row.since, row.due_at), (Timestamp(5), Some(Timestamp(9))));
        assert_eq!(Hold::read(&row).ok(), Some(hold()));
        let json: serde_json::Value = serde_json::from_slice(&row.data).expect("people may look at it");
        assert_eq!(json["request"]["approval"], "a");
        let other = HoldRow { call: "d".into(), ..row };
        assert!(Hold::read(&other).is_err(), "the data of another hold");
    }

    #[test]
    fn only_changes_are_written() {
        let (one, two) = (hold(), Hold { call: "d".into(), ..hold() });
        let asked = Hold { request: None, ..one.clone() };
        let none = HoldChanges::default();
        let before = std::slice::from_ref(&one);
        assert_eq!(Hold::changes(before, before), none);
        let both = Hold::changes(before, &[asked.clone(), two.clone()]);
        assert_eq!(both, HoldChanges { opened: vec![asked.row(), two.row()], ..none });
        assert_eq!(Hold::changes(&[one.clone(), two.clone()], &[two]).closed, [one.call]);
    }

    /// The list of chats says "waiting for you" by this.
    #[test]
    fn a_chat_waits_for_those_who_can_do_something() {
        let person = |name: &str| Identity::new(name).with_roles([Role::User, Role::Approver]).with_groups(["finance"]);
        let (ann, bob, eve) = (person("ann"), person("bob"), Identity::new("eve"));
        let owner = Subject::from("ann");
        let asked = |approvers: Approvers, votes: &[&str]| {
            let votes = votes.iter().map(|name| Subject::from(*name)).collect();
            let terms = RequestTerms { approvers: approvers.into(), ..RequestTerms::default() }.into();
            let request = hold().request.map(|request| HoldApproval { terms, votes, ..request });
            Hold { request, ..hold() }
        };
        let finance = || Approvers::new(["group:finance"]).expect("names").excluding_self().quorum(2);
        let prompt = Hold { request: None, ..hold() };
        for (name, holds, wanted) in [
            ("nothing", vec![], [false, false, false]),
            ("her own decision", vec![hold()], [true, false, false]),
            ("a prompt, or a call in the browser", vec![prompt], [true, false, false]),
            ("others decide", vec![asked(finance(), &[])], [false, true, false]),
            ("he has approved, others have to", vec![asked(finance(), &["bob"])], [false, false, false]),
            ("two of others, one voted", vec![asked(finance(), &["bob"]), asked(finance(), &[])], [false, true, false]),
            ("others decide, and she another", vec![asked(finance(), &[]), hold()], [true, true, false]),
        ] {
            let data = HeadData::of(&Chat::default(), "", &holds, None);
            let data = HeadData::read(&data.write(&owner, Timestamp(7))).expect("comes back");
            assert_eq!([&ann, &bob, &eve].map(|by| data.awaited.is_for(by, &owner, data.holds)), wanted, "{name}");
        }
    }

    /// No flipped bit turns a head into another valid one, let alone an empty one.
    #[test]
    fn no_flipped_bit_goes_unseen() {
        let (_, head) = head();
        let row = hold().row();
        let is_bad_head = |data: Bytes| HeadData::read(&log::Head { data, ..head.clone() }).is_err();
        let is_bad_hold = |data: Bytes| Hold::read(&HoldRow { data, ..row.clone() }).is_err();
        let cases: [(&Bytes, &dyn Fn(Bytes) -> bool); 2] = [(&head.data, &is_bad_head), (&row.data, &is_bad_hold)];
        for (whole, is_bad) in cases {
            for at in 0..whole.len() {
                for bit in 0..8 {
                    let mut data = whole.to_vec();
                    data[at] ^= 1 << bit;
                    assert!(is_bad(data.into()), "byte {at}, bit {bit}");
                }
            }
            for len in 0..whole.len() {
                assert!(is_bad(whole.slice(..len)), "cut to {len} bytes");
            }
            for text in ["", "{\"", "{}", "null", r#"{"title":"","isRunning":false}"#] {
                assert!(is_bad(Bytes::from_static(text.as_bytes())), "{text}");
            }
        }
    }
}
