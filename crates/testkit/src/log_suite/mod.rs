//! The contract of a log as a test suite that every engine must pass.
//!
//! ```ignore
//! holdpoint_testkit::log_contract_suite!(memory, new_memory_log);
//! ```
//! where `new_memory_log()` returns `(kept, Arc<dyn Store>)`: an empty log, and a guard that must outlive it.

mod appends;
mod chains;
mod chats;
mod grants;
mod holds;
mod owners;
mod races;
mod reads;
mod records;
mod secrets;
mod tails;

use std::sync::Arc;

pub use appends::*;
use bytes::Bytes;
pub use chains::*;
pub use chats::*;
pub use grants::*;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::{
    clock::Timestamp,
    log::{
        Append, AppendId, AppendResult, AuditRow, Batch, Deletion, GrantChanges, Head, HoldChanges, Ownership, Store,
    },
    subject::Subject,
};
pub use holds::*;
pub use owners::*;
pub use races::*;
pub use reads::*;
pub use records::*;
pub use secrets::*;
pub use tails::*;

/// Generates a module with one test per property of a log.
#[macro_export]
macro_rules! log_contract_suite {
    ($name:ident, $make:ident) => {
        mod $name {
            $crate::log_contract_suite!(@each $make:
                one_of_many_racing_appends_wins,
                racing_writers_leave_no_gaps,
                a_repeated_append_is_done_once,
                a_conflict_tells_the_length_and_changes_nothing,
                appends_of_one_call_go_or_fail_by_themselves,
                an_append_of_nothing_changes_nothing,
                whoever_stops_waiting_breaks_nothing,
                bytes_are_kept_as_they_are,
                a_commit_can_be_read_at_once,
                a_read_may_begin_inside_a_batch,
                a_read_keeps_its_limit,
                digests_are_read_in_order_and_in_pages,
                an_unknown_chat_is_empty,
                a_wakeup_comes_after_the_commit,
                heads_are_listed_in_order_and_in_pages,
                heads_follow_the_last_append,
                a_key_finds_the_chat_for_its_subject_only,
                a_deleted_chat_leaves_a_tombstone,
                a_deletion_is_a_compare_and_set,
                batches_carry_the_hash_of_the_one_before,
                conflicts_and_repetitions_leave_the_chain_whole,
                a_chat_goes_on_from_the_hash_in_its_tombstone,
                ids_are_those_of_all_chats_in_order_and_in_pages,
                the_record_is_listed_in_order_and_in_pages,
                the_record_of_a_deleted_chat_stays_without_contents,
                a_page_of_a_large_record_ends_early,
                lengths_are_those_of_the_last_append_or_deletion,
                a_grant_is_made_and_used_with_the_append,
                an_append_without_its_grant_writes_nothing,
                a_grant_for_one_use_is_used_once,
                nothing_is_granted_after_a_revocation,
                a_revocation_is_recorded_once,
                a_deleted_chat_takes_its_grants_along,
                grants_are_listed_in_order_and_in_pages,
                holds_are_opened_and_closed_with_the_append,
                holds_are_listed_in_order_and_in_pages,
                a_page_of_large_holds_ends_early,
                what_is_due_comes_earliest_first,
                approvers_are_those_of_the_hold_now,
                holds_are_restored_at_the_length_that_they_are_of,
                holds_are_counted_by_tool_kind_and_age,
                a_secret_is_set_by_a_compare_and_set,
                of_many_racing_secrets_one_is_set,
                an_owner_is_written_with_the_append,
                open_chats_of_others_are_counted,
                a_tail_gives_what_is_there_and_what_comes,
                a_tail_survives_lost_wakeups_and_failed_reads,
                a_tail_sees_everything_once_across_reconnects,
            );
        }
    };
    (@each $make:ident: $($property:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $property() {
                // The log is dropped first, then its guard.
                let (_kept, log) = super::$make();
                $crate::log_suite::$property(log).await;
            }
        )*
    };
}

/// An append of one fact by the subject "ann" to an open chat. The payload is unique.
pub fn append(chat: &str, expected: u64, append_id: u128) -> Append {
    Append {
        chat: ChatId::from(chat),
        expected,
        append_id: AppendId(append_id),
        count: 1,
        payload: Bytes::from(format!("{append_id} at {expected} of {chat}")),
        head: head("ann", true, expected + 1),
        keys: Vec::new(),
        holds: HoldChanges::default(),
        ownership: Ownership::Release,
        digest: None,
        audit: Vec::new(),
        grants: GrantChanges::default(),
    }
}

/// The deletion of a chat of this length, by "ann", with a unique hash.
pub fn deletion(expected: u64) -> Deletion {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&expected.to_be_bytes());
    let data = Bytes::from(format!("{{\"deleted\":{expected}}}"));
    let (at, by) = (Timestamp(expected + 1), Some(Subject::from("ann")));
    let row = AuditRow { index: 0, at, tool: "".into(), by, data, contents: None };
    Deletion { expected, hash: hash.into(), row }
}

/// An append of several facts.
fn append_facts(chat: &str, expected: u64, append_id: u128, count: u32) -> Append {
    Append { count, ..append(chat, expected, append_id) }
}

/// A head with unique data.
fn head(subject: &str, is_open: bool, updated_at: u64) -> Head {
    let data = Bytes::from(format!("{{\"at\":{updated_at}}}"));
    Head { subject: Subject::from(subject), is_open, updated_at: Timestamp(updated_at), data }
}

async fn one(log: &dyn Store, append: Append) -> AppendResult {
    let results = log.append_many(vec![append]).await;
    assert_eq!(results.len(), 1, "a result for each append");
    results[0]
}

async fn must(log: &dyn Store, append: Append) {
    let end = append.expected + u64::from(append.count);
    assert_eq!(one(log, append).await, AppendResult::Committed { len: end });
}

async fn all(log: &dyn Store, chat: &str) -> Vec<Batch> {
    log.read(&ChatId::from(chat), 0, usize::MAX).await.expect("it reads")
}

/// Panics unless each batch begins where the previous one ended.
fn assert_no_gaps(batches: &[Batch], mut from: u64) {
    for batch in batches {
        assert_eq!(batch.first, from, "{batches:?}");
        from += u64::from(batch.count);
    }
}

/// Joins tasks, and panics if one panicked.
async fn join<T>(tasks: Vec<tokio::task::JoinHandle<T>>) -> Vec<T> {
    futures::future::try_join_all(tasks).await.expect("no task panics")
}

type Shared = Arc<dyn Store>;
