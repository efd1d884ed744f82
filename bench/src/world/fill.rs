//! Filling a log cheaply: copies of a few chats that were really played, with other ids, appended through the log itself.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use holdpoint_protocol::{
    ids::{ApprovalId, ChatId, ToolCallId},
    request::ChatRequest,
};
use holdpoint_runtime::{
    Next, Profile, Subject, View,
    clock::Timestamp,
    log::{
        Append, AppendId, AppendResult, Head, HoldChanges, HoldQuery, HoldRow, HoldsOf, Key, MemoryLog, Ownership,
        Store, Stored,
    },
};
use serde_json::Value;

use super::{LOOK, OPEN, PAY, start};

/// The subject of the chats that are copied.
const PLAYER: &str = "the-player-of-the-templates";
/// The number of hexadecimal digits of a copy's number in its ids.
const DIGITS: usize = 12;
/// Copies in one transaction.
const BATCH: usize = 1000;
/// The copies are spread over this time, in milliseconds.
const SPREAD: u64 = 600_000;

/// What a copied chat is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One turn that has ended, with a call.
    Ended,
    /// A call that waits for approval.
    Approval,
    /// A call that waits for a browser's result.
    Browser,
}

/// A played chat of each kind.
pub(crate) struct Templates {
    ended: Template,
    approval: Template,
    browser: Template,
}

/// A chat to copy.
struct Template {
    count: u32,
    payload: String,
    head: Head,
    hold: Option<HoldRow>,
    call: String,
}

/// A chat that was filled in.
#[derive(Debug, Clone)]
pub(crate) struct Filled {
    pub(crate) chat: ChatId,
    pub(crate) subject: Subject,
    pub(crate) call: ToolCallId,
    pub(crate) approval: Option<ApprovalId>,
}

impl Templates {
    /// Plays one chat of each kind, in memory.
    pub(crate) async fn play() -> Self {
        let log = Arc::new(MemoryLog::default());
        let runtime = start(log.clone(), Arc::default(), 0).await;
        for (chat, text) in [("ended", LOOK), ("approval", PAY), ("browser", OPEN)] {
            let request = ChatRequest::user(chat, text);
            let view = View { profile: Profile::AiSdk, ..View::default() };
            let (chat, mut response) = runtime.submit(&Subject::from(PLAYER), request, view).await.expect("a turn");
            if text == LOOK {
                while response.read(&mut Vec::new()).await == Next::More {}
            } else {
                held(&*log, &chat).await;
            }
        }
        Self {
            ended: Template::of(&*log, "ended").await,
            approval: Template::of(&*log, "approval").await,
            browser: Template::of(&*log, "browser").await,
        }
    }

    fn of(&self, kind: Kind) -> &Template {
        match kind {
            Kind::Ended => &self.ended,
            Kind::Approval => &self.approval,
            Kind::Browser => &self.browser,
        }
    }

    /// Writes `count` chats. `each` tells the kind and the subject of one. Returns those that `is_kept` names.
    pub(crate) async fn fill(
        &self,
        log: &dyn Store,
        count: usize,
        is_kept: impl Fn(usize) -> bool,
        each: impl Fn(usize) -> (Kind, Subject),
    ) -> Vec<Filled> {
        let mut kept = Vec::new();
        let mut appends = Vec::with_capacity(BATCH);
        for number in 0..count {
            let (kind, subject) = each(number);
            // Older than the templates, so that new chats are the newest.
            let ago = SPREAD - SPREAD * number as u64 / count as u64;
            let (filled, append) = self.of(kind).copy(number, subject, ago);
            if is_kept(number) {
                kept.push(filled);
            }
            appends.push(append);
            if appends.len() == BATCH || number + 1 == count {
                let results = log.append_many(std::mem::take(&mut appends)).await;
                let is_written = |result: &AppendResult| matches!(result, AppendResult::Committed { .. });
                assert!(results.iter().all(is_written), "{:?}", results.iter().find(|result| !is_written(result)));
            }
        }
        kept
    }
}

impl Template {
    /// All batches of a chat, joined to one.
    async fn of(log: &dyn Store, chat: &str) -> Self {
        let chat = ChatId::from(chat);
        let batches = log.read(&chat, 0, usize::MAX).await.expect("it reads");
        let facts = batches.iter().map(|batch| serde_json::from_slice::<Vec<Value>>(&batch.payload).expect("facts"));
        let facts: Vec<Value> = facts.flatten().collect();
        let call = facts.iter().find(|fact| fact["fact"] == "called").and_then(|fact| fact["call"].as_str());
        let Ok(Some(Stored::Chat { head, .. })) = log.stored(&chat).await else { panic!("{chat} is stored") };
        // A chat of one turn has no digest yet, and its head names neither its subject nor its calls.
        assert_eq!(log.digests(&chat, 0, 1).await.map(|digests| digests.len()), Ok(0));
        let data = String::from_utf8_lossy(&head.data);
        assert!(!data.contains(PLAYER) && call.is_some_and(|call| !data.contains(call)), "{data}");
        let query = HoldQuery { of: HoldsOf::Chat(chat.clone()), only_approvals: false, after: None };
        let hold = log.holds(query, 1).await.expect("it reads").pop().map(|(_, hold)| hold);
        Self {
            count: u32::try_from(facts.len()).expect("a short chat"),
            call: call.expect("a call").to_owned(),
            payload: serde_json::to_string(&facts).expect("JSON"),
            head,
            hold,
        }
    }

    fn copy(&self, number: usize, subject: Subject, ago: u64) -> (Filled, Append) {
        let call = numbered(&self.call, number);
        let old_approval = self.hold.as_ref().and_then(|hold| hold.approval.as_ref());
        let approval = old_approval.map(|approval| numbered(approval.as_str(), number));
        let rename = |text: &str| {
            let text = text.replace(&self.call, &call).replace(PLAYER, subject.as_str());
            match (old_approval, &approval) {
                (Some(old), Some(new)) => text.replace(old.as_str(), new),
                _ => text,
            }
        };
        let chat = ChatId::from(&*format!("chat-{number:0DIGITS$x}"));
        let earlier = |at: Timestamp| Timestamp(at.0 - ago);
        let opened = self.hold.iter().map(|hold| HoldRow {
            call: ToolCallId::from(&*call),
            tool: hold.tool.clone(),
            approval: approval.as_deref().map(ApprovalId::from),
            // As in the facts: what is listed otherwise can't be decided.
            since: hold.since,
            due_at: hold.due_at,
            data: resealed(&rename(std::str::from_utf8(&hold.data).expect("JSON"))),
        });
        let keys = [Some(call.as_str()), approval.as_deref()].into_iter().flatten();
        let keys = keys.map(|id| Key { id: id.into(), at: 0, is_shared: false });
        let append = Append {
            chat: chat.clone(),
            expected: 0,
            append_id: AppendId(1 + number as u128),
            count: self.count,
            payload: Bytes::from(rename(&self.payload)),
            head: Head { subject: subject.clone(), updated_at: earlier(self.head.updated_at), ..self.head.clone() },
            keys: keys.collect(),
            holds: HoldChanges { opened: opened.collect(), ..HoldChanges::default() },
            ownership: Ownership::Release,
            digest: None,
            audit: Vec::new(),
            grants: Default::default(),
        };
        let approval = approval.as_deref().map(ApprovalId::from);
        (Filled { chat, subject, call: ToolCallId::from(&*call), approval }, append)
    }
}

/// The hold of a chat, once it is there.
pub(crate) async fn held(log: &dyn Store, chat: &ChatId) -> HoldRow {
    let begun = Instant::now();
    loop {
        let query = HoldQuery { of: HoldsOf::Chat(chat.clone()), only_approvals: false, after: None };
        if let Some((_, hold)) = log.holds(query, 1).await.expect("it lists").pop() {
            return hold;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing waits in {chat}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// An id of the same length that ends with a number: like real ids, in ascending order.
fn numbered(id: &str, number: usize) -> String {
    format!("{}{number:0DIGITS$x}", &id[..id.len() - DIGITS])
}

/// Stored JSON whose last field is a checksum of what comes before it, with the checksum renewed.
fn resealed(json: &str) -> Bytes {
    let key = ",\"sum\":\"";
    let (fields, _) = json.rsplit_once(key).expect("it has a checksum");
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let sum = fields.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    Bytes::from(format!("{fields}{key}{sum:016x}\"}}"))
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::request::DecisionRequest;
    use holdpoint_runtime::turn::Answered;

    use super::*;

    /// What is filled in is what a runtime would have written: it is listed, found, decided and answered.
    #[tokio::test]
    async fn a_copied_chat_is_as_good_as_a_played_one() {
        let log = Arc::new(MemoryLog::default());
        let ann = Subject::from("ann");
        let kinds = [Kind::Ended, Kind::Approval, Kind::Browser];
        let each = |number: usize| (kinds[number % 3], Subject::from("ann"));
        let filled = Templates::play().await.fill(&*log, 3000, |number| number >= 2997, each).await;
        let runtime = start(log, Arc::default(), 10_000).await;
        assert_eq!(runtime.chats(&ann).list().await.map(|chats| chats.len()), Ok(3000));
        let approvals = runtime.inbox(&ann).list().await.expect("it lists");
        assert_eq!(approvals.len(), 1000);
        assert_eq!(Some(&approvals[999].approval_id), filled[1].approval.as_ref());

        let decision = DecisionRequest::from(true);
        let approval = filled[1].approval.clone().expect("an approval request");
        assert_eq!(runtime.inbox(&ann).decide(approval, decision).await, Ok(Answered::Taken));
        let ack =
            serde_json::json!({"toolCallId": filled[2].call, "status": "success", "output": {}, "requestedAt": ""});
        let request = serde_json::from_value(ack.clone()).expect("an ack");
        assert_eq!(runtime.chats(&ann).ack(request, ack).await, Ok(Answered::Taken));
        for chat in &filled {
            runtime.chats(&ann).idle(&chat.chat).await.expect("its turn ends");
            assert_eq!(runtime.chats(&ann).messages(&chat.chat).await.map(|messages| messages.len()), Ok(2));
        }
        assert_eq!(runtime.chats(&ann).open_holds().await.map(|holds| holds.len()), Ok(1998));
        assert_eq!(runtime.admin().counts().unreadable_heads, 0);
    }
}
