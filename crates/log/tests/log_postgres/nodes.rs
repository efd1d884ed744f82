//! Several nodes on one database.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;
use holdpoint_core::{
    clock::Timestamp,
    identity::{Identity, Role},
};
use holdpoint_log::{Append, ChatChange, Cluster, DeleteResult, Index, Log, NodeId, Ownership, TicketRow, Wakeup};
use holdpoint_runtime::{Runtime, model::ScriptModel};
use holdpoint_testkit::{
    Postgres,
    log_suite::{append, deletion},
    tail,
};
use tokio::{
    sync::broadcast,
    time::{sleep, timeout},
};

use super::*;

/// Both nodes append to each of many chats at the same position, at the same time. Returns the number of races.
async fn race(chats: u64, rounds: u64) -> u64 {
    let options = options();
    let nodes = [open(&options).await, open(&options).await];
    let races = (0..chats).map(|chat| {
        let nodes = nodes.clone();
        tokio::spawn(async move {
            let name = format!("chat {chat}");
            let mut winners = [0u64; 2];
            for round in 0..rounds {
                let appends = [0, 1].map(|node| append(&name, round, u128::from(round) * 2 + node));
                let appending = |node: usize| nodes[node].append_many(vec![appends[node].clone()]);
                // Each node is asked first in every other round.
                let first = usize::try_from(round % 2).expect("it is 0 or 1");
                let (a, b) = tokio::join!(biased; appending(first), appending(1 - first));
                let winner = match (a[0], b[0]) {
                    (AppendResult::Committed { len }, AppendResult::Conflict { len: same }) if len == same => first,
                    (AppendResult::Conflict { len: same }, AppendResult::Committed { len }) if len == same => 1 - first,
                    other => panic!("round {round} of {name}: {other:?}"),
                };
                winners[winner] += 1;
                let read = nodes[1 - winner].read(&name.as_str().into(), round, 9).await.expect("it reads");
                assert_eq!(read.len(), 1);
                assert_eq!(read[0].payload, appends[winner].payload);
            }
            winners
        })
    });
    let winners: Vec<_> = join_all(races).await.into_iter().map(|race| race.expect("no race panics")).collect();
    let [a, b] = [0, 1].map(|node| winners.iter().map(|winners| winners[node]).sum::<u64>());
    // Which node the database serves first is for the machine's load to say, so either may win them all.
    println!("{a} won by one node, {b} by the other");
    a + b
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_race_has_one_winner() {
    assert_eq!(race(40, 15).await, 600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long"]
async fn ten_thousand_races_have_one_winner_each() {
    assert_eq!(race(100, 100).await, 10_000);
}

/// Both nodes write to many of the same chats and keys in each transaction, in opposite orders.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_over_the_same_chats_do_not_block_each_other() {
    let options = options();
    let nodes = [open(&options).await, open(&options).await];
    let busy = nodes.iter().enumerate().map(|(node, log)| {
        let log = Arc::clone(log);
        tokio::spawn(async move {
            let mut at = [0; 30];
            for round in 0..40u128 {
                let mut order: Vec<_> = (0..30).collect();
                if node == 1 {
                    order.reverse();
                }
                let id = round * 2 + node as u128;
                let keys =
                    |chat: usize| vec![format!("key {}", chat % 7).into(), format!("key {}", 6 - chat % 7).into()];
                let appends =
                    order.iter().map(|&chat| Append { keys: keys(chat), ..append(&format!("{chat}"), at[chat], id) });
                let results = log.append_many(appends.collect()).await;
                for (&chat, result) in order.iter().zip(results) {
                    match result {
                        AppendResult::Committed { len } | AppendResult::Conflict { len } => at[chat] = len,
                        AppendResult::NotGranted | AppendResult::Unknown => panic!("nothing failed"),
                    }
                }
            }
        })
    });
    let busy: Vec<_> = busy.collect();
    within("no deadlock", join_all(busy)).await.into_iter().for_each(|done| done.expect("ok"));
}

async fn next(wakeups: &mut broadcast::Receiver<Wakeup>) -> ChatChange {
    match within("a wakeup", wakeups.recv()).await.expect("no lag") {
        Wakeup::Chat(change) => change,
        Wakeup::Any => panic!("no connection was lost"),
    }
}

/// A ticket of one node is redeemed once, on any node, and not after its time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_are_redeemed_once_on_any_node() {
    let options = options();
    let (here, there) = (open(&options).await, open(&options).await);
    let now = Timestamp(u64::MAX / 4);
    let row = |number: u8, subject: &str, expires: u64| {
        let data = Bytes::copy_from_slice(&[0xff, number]);
        TicketRow { digest: [number; 32], subject: subject.into(), expires: Timestamp(expires), data }
    };
    for ticket in [row(1, "ann", now.0 + 1), row(2, "ann", now.0)] {
        assert_eq!(here.keep_ticket(ticket).await, Ok(true));
    }
    assert_eq!(there.redeem_ticket(&[3; 32], now).await, Ok(None));
    assert_eq!(there.redeem_ticket(&[2; 32], now).await, Ok(None), "it has expired");
    let (first, second) = tokio::join!(here.redeem_ticket(&[1; 32], now), there.redeem_ticket(&[1; 32], now));
    let redeemed: Vec<_> = [first, second].into_iter().filter_map(|ticket| ticket.expect("it answers")).collect();
    assert_eq!(redeemed, [&[0xff, 1][..]], "as it was kept");
    for number in 0..150u8 {
        assert_eq!(here.keep_ticket(row(number, "bob", now.0 + u64::from(number))).await, Ok(true));
    }
    assert_eq!(there.redeem_ticket(&[10; 32], Timestamp(0)).await, Ok(None), "the oldest are dropped");
    assert_eq!(there.redeem_ticket(&[149; 32], Timestamp(0)).await, Ok(Some(Bytes::from_static(&[0xff, 149]))));
}

/// Two servers that start at the same time on an empty database redeem each other's tickets, and so does one that starts later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_share_the_secret_of_their_tickets() {
    let options = options();
    let start = async || {
        let model = ScriptModel::from_text(r#"{"turns": []}"#).expect("a script");
        let log = open(&options).await;
        Runtime::builder(Arc::new(model)).log(log).start().await.expect("it starts")
    };
    let (here, there) = tokio::join!(start(), start());
    let later = start().await;
    let ann = Identity::new("ann").with_roles([Role::Approver]).with_groups(["finance"]);
    let expires = here.clock().now().after(Duration::from_secs(60));
    for (number, (from, to)) in [(&here, &there), (&there, &later), (&later, &here)].into_iter().enumerate() {
        let ticket = format!("ticket {number}");
        assert_eq!(from.tickets().keep(&ticket, &ann, expires).await, Ok(true));
        assert_eq!(to.tickets().redeem(&ticket).await, Ok(Some(ann.clone())), "{ticket}");
        assert_eq!(to.tickets().redeem(&ticket).await, Ok(None), "once");
    }
}

/// Waits until changes on one node wake the other.
async fn acquaint(here: &PostgresLog, there: &PostgresLog) {
    let mut wakeups = there.wakeups();
    for at in 0..100 {
        assert_eq!(here.append_many(vec![append("hello", at, 1)]).await, [committed(at + 1)]);
        if timeout(millis(100), wakeups.recv()).await.is_ok() {
            return;
        }
    }
    panic!("no wakeup reaches the other node");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_wakes_the_other_nodes() {
    let options = options();
    let (here, there) = (open(&options).await, open(&options).await);
    acquaint(&here, &there).await;
    sleep(millis(200)).await;
    let (mut own, mut wakeups) = (here.wakeups(), there.wakeups());
    let strange = Append { head: append("x", 0, 1).head, ..append("チ\0\"\\🦀", 0, 1) };
    assert_eq!(here.append_many(vec![strange.clone()]).await, [committed(1)]);
    let expected = ChatChange {
        chat: strange.chat.clone(),
        subject: "ann".into(),
        len: Some(1),
        holds: false,
        approvers: Vec::new(),
    };
    assert_eq!(next(&mut own).await, expected);
    assert_eq!(next(&mut wakeups).await, expected);
    assert_eq!(here.delete(&strange.chat, deletion(1)).await, Ok(DeleteResult::Deleted));
    let expected = ChatChange { len: Some(2), holds: true, ..expected };
    assert_eq!(next(&mut own).await, expected);
    assert_eq!(next(&mut wakeups).await, expected);

    // Many at once: each chat is named, in few notifications.
    let many: Vec<_> = (0..1000).map(|chat| append(&format!("many {chat}"), 0, 1)).collect();
    assert_eq!(here.append_many(many).await, vec![committed(1); 1000]);
    let mut woken = std::collections::HashSet::new();
    while woken.len() < 1000 {
        assert!(woken.insert(next(&mut wakeups).await.chat), "once each");
    }
    while !own.is_empty() {
        let _ = own.recv().await;
    }
    sleep(millis(200)).await;
    assert_eq!((own.len(), wakeups.len()), (0, 0), "a node's own changes do not come back to it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wakeups_come_again_after_a_lost_connection() {
    let options = options();
    let (here, there) = (open(&options).await, open(&options).await);
    acquaint(&here, &there).await;
    let schema = options.schema.as_deref().expect("it has one");
    let channel = Postgres::shared().sql("postgres", &format!("SELECT 'holdpoint_' || '{schema}'::regnamespace::oid"));
    let kill =
        format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN {channel}%'");
    assert_eq!(block_in_place(|| Postgres::shared().sql("postgres", &kill)), "1", "the one that has not sent anything");
    let mut wakeups = there.wakeups();
    let mut at = 0;
    until("wakeups come again", async || {
        assert_eq!(here.append_many(vec![append("again", at, 1)]).await, [committed(at + 1)]);
        at += 1;
        wakeups.try_recv().is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_notifications_polling_finds_every_change() {
    use futures::StreamExt;
    let mut options = options();
    options.poll_only = true;
    let (here, there) = (open(&options).await, open(&options).await);
    let mut wakeups = there.wakeups();
    let mut tail = tail(Arc::clone(&there) as _, "chat".into(), 0, millis(20)).boxed();
    for at in 0..20 {
        assert_eq!(here.append_many(vec![append("chat", at, at.into())]).await, [committed(at + 1)]);
        let batch = within("it is found", tail.next()).await.expect("no end").expect("it reads");
        assert_eq!(batch.first, at);
    }
    assert!(wakeups.try_recv().is_err());
    let schema = options.schema.expect("it has one");
    let listening = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN holdpoint_' || '{schema}'::regnamespace::oid || '%'"
    );
    assert_eq!(block_in_place(|| Postgres::shared().sql("postgres", &listening)), "0");
}

const A: NodeId = NodeId(10);
const B: NodeId = NodeId(20);

fn taken(chat: &str, at: u64, node: NodeId) -> Append {
    Append { ownership: Ownership::Take(node), ..append(chat, at, node.0) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chats_of_a_node_are_abandoned_once_its_lease_has_lapsed() {
    let mut options = options();
    // The lease is shorter than the time within which others have to have taken over.
    // Long enough that a node which renews keeps its lease on however busy a machine.
    options.lease = millis(9000);
    let (a, b) = (open(&options).await, open(&options).await);
    assert_eq!(a.lease(), Some(millis(6000)));
    a.renew(A).await.expect("it renews");
    b.renew(B).await.expect("it renews");
    assert_eq!(a.append_many(vec![taken("one", 0, A), taken("two", 0, A)]).await, [committed(1); 2]);
    for _ in 0..8 {
        sleep(millis(300)).await;
        a.renew(A).await.expect("it renews");
        b.renew(B).await.expect("it renews");
        assert_eq!(b.abandoned(B, 10).await, Ok(vec![]), "its owner lives");
        assert_eq!(b.is_gone(A).await, Ok(false));
    }
    let begun = Instant::now();
    a.renew(A).await.expect("it renews");
    until("they are abandoned", async || {
        b.renew(B).await.expect("it renews");
        !b.abandoned(B, 10).await.expect("it lists").is_empty()
    })
    .await;
    assert!(begun.elapsed() >= millis(6000), "abandoned after {:?}", begun.elapsed());
    assert_eq!((b.is_gone(A).await, b.is_gone(B).await), (Ok(true), Ok(false)));
    assert_eq!(b.abandoned(B, 10).await, Ok(vec!["one".into(), "two".into()]));
    assert_eq!(b.abandoned(B, 1).await, Ok(vec!["one".into()]));
    assert_eq!(a.abandoned(A, 10).await, Ok(vec![]), "its own are not abandoned");
    assert_eq!(b.append_many(vec![taken("one", 1, B)]).await, [committed(2)]);
    // The old owner comes back, and learns of it.
    assert_eq!(a.append_many(vec![append("one", 1, 7)]).await, [AppendResult::Conflict { len: 2 }]);
    assert_eq!(b.abandoned(B, 10).await, Ok(vec!["two".into()]));
    a.renew(A).await.expect("it renews");
    assert_eq!(b.abandoned(B, 10).await, Ok(vec![]), "it is back in time for the other");
    // It takes another one just before its next renewal.
    until("its lease has lapsed", async || b.is_gone(A).await == Ok(true)).await;
    assert_eq!(a.append_many(vec![taken("three", 0, A)]).await, [committed(1)]);
    assert_eq!((b.is_gone(A).await, b.abandoned(B, 10).await), (Ok(false), Ok(vec![])), "who takes a chat lives");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_nodes_that_are_gone_are_removed() {
    let mut options = options();
    options.lease = millis(30);
    let log = open(&options).await;
    // A renewal has little time with so short a lease.
    until("it renews", async || log.renew(A).await.is_ok()).await;
    until("it renews", async || log.renew(B).await.is_ok()).await;
    assert_eq!(log.append_many(vec![taken("chat", 0, A)]).await, [committed(1)]);
    sleep(millis(500)).await;
    let schema = options.schema.clone().expect("it has one");
    let select = format!("SELECT id FROM {schema}.nodes ORDER BY id");
    // The one that owns a chat stays.
    let wanted = [uuid(A), uuid(NodeId(30))];
    until("they are removed", async || {
        // A node cleans at its first renewal.
        let is_renewed = open(&options).await.renew(NodeId(30)).await.is_ok();
        let left = block_in_place(|| Postgres::shared().sql("postgres", &select));
        is_renewed && left.lines().eq(&wanted)
    })
    .await;
}

fn uuid(node: NodeId) -> String {
    uuid::Uuid::from_u128(node.0).to_string()
}
