//! Grants: made and claimed with appends, revoked, listed, and removed with their chat.

use holdpoint_protocol::ids::GrantId;
use holdpoint_runtime::log::{
    AuditQuery, DeleteResult, GrantQuery, GrantRow, GrantScope, GrantState, GrantUse, REVOCATION, Revocation,
    StoredGrant,
};

use super::*;

fn row(id: &str, scope: GrantScope) -> GrantRow {
    GrantRow {
        id: id.into(),
        index: 0,
        tool: "pay".into(),
        maker: "carol".into(),
        scope,
        made_at: Timestamp(10),
        until: None,
        uses: None,
        data: Bytes::from(format!("data of {id}")),
    }
}

fn making(append: Append, made: Vec<GrantRow>) -> Append {
    Append { grants: GrantChanges { made, used: Vec::new() }, ..append }
}

/// An append that uses these grants at a time.
fn using(append: Append, at: u64, grants: &[&str]) -> Append {
    let used = grants.iter().map(|grant| GrantUse { grant: GrantId::from(*grant), at: Timestamp(at) }).collect();
    Append { grants: GrantChanges { made: Vec::new(), used }, ..append }
}

fn revocation(grant: &str, by: &str, at: u64) -> Revocation {
    Revocation { grant: grant.into(), by: by.into(), at: Timestamp(at), data: Bytes::from_static(b"revoked") }
}

async fn grant(log: &dyn Store, id: &str) -> StoredGrant {
    let found = log.grants(GrantQuery::One(id.into()), 10).await.expect("it lists");
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

async fn list(log: &dyn Store, query: GrantQuery, limit: usize) -> Vec<String> {
    let found = log.grants(query, limit).await.expect("it lists");
    found.iter().map(|grant| grant.id.to_string()).collect()
}

async fn usable(log: &dyn Store, subject: &str, tool: Option<&str>, now: u64) -> Vec<String> {
    let tool = tool.map(Into::into);
    list(log, GrantQuery::Usable { subject: subject.into(), tool, now: Timestamp(now) }, 100).await
}

/// A grant is made with its append, and each use counts.
pub async fn a_grant_is_made_and_used_with_the_append(log: Shared) {
    let made = GrantRow { until: Some(Timestamp(500)), uses: Some(3), ..row("g", GrantScope::Subject) };
    must(&*log, making(append("a", 0, 1), vec![made.clone()])).await;
    let expected = StoredGrant {
        id: "g".into(),
        subject: "ann".into(),
        chat: None,
        tool: "pay".into(),
        maker: "carol".into(),
        made_in: Some("a".into()),
        position: 0,
        made_at: Timestamp(10),
        until: Some(Timestamp(500)),
        uses: Some(3),
        used: 0,
        last_used_at: None,
        revoked: None,
        data: made.data.clone(),
    };
    assert_eq!(grant(&*log, "g").await, expected);
    must(&*log, using(append("a", 1, 2), 20, &["g"])).await;
    // The same append again is the same use.
    assert_eq!(one(&*log, using(append("a", 1, 2), 20, &["g"])).await, AppendResult::Committed { len: 2 });
    // An append that lost its place uses nothing.
    assert_eq!(one(&*log, using(append("a", 0, 3), 21, &["g"])).await, AppendResult::Conflict { len: 2 });
    let now = StoredGrant { used: 1, last_used_at: Some(Timestamp(20)), ..expected.clone() };
    assert_eq!(grant(&*log, "g").await, now);
    // In another chat of the same subject, which begins with it, and twice in one append.
    must(&*log, using(append("b", 0, 4), 30, &["g", "g"])).await;
    let now = StoredGrant { used: 3, last_used_at: Some(Timestamp(30)), ..expected };
    assert_eq!(grant(&*log, "g").await, now);
    assert_eq!(now.state(Timestamp(30)), GrantState::UsedUp);
    // A grant that was not made because its append lost.
    let lost = making(append("a", 0, 5), vec![row("lost", GrantScope::Chat)]);
    assert_eq!(one(&*log, lost).await, AppendResult::Conflict { len: 2 });
    assert_eq!(log.grants(GrantQuery::One("lost".into()), 10).await, Ok(Vec::new()));
}

/// What can't be claimed fails the whole append, and nothing of it is written.
pub async fn an_append_without_its_grant_writes_nothing(log: Shared) {
    let limited = GrantRow { uses: Some(2), ..row("limited", GrantScope::Subject) };
    let short = GrantRow { until: Some(Timestamp(100)), ..row("short", GrantScope::Subject) };
    let here = row("here", GrantScope::Chat);
    let any = row("any", GrantScope::Subject);
    must(&*log, making(append("a", 0, 1), vec![limited, short, here, any, row("gone", GrantScope::Subject)])).await;
    must(&*log, append("b", 0, 1)).await;
    assert_eq!(log.revoke(revocation("gone", "ann", 5)).await, Ok(()));
    let of = |append: Append, subject: &str| Append { head: head(subject, true, 1), ..append };
    let refused: Vec<(&str, Append)> = vec![
        ("unknown", using(append("a", 1, 2), 20, &["none"])),
        ("revoked", using(append("a", 1, 2), 20, &["gone"])),
        ("expired at that time", using(append("a", 1, 2), 100, &["short"])),
        ("expired", using(append("a", 1, 2), 101, &["short"])),
        ("one use too many", using(append("a", 1, 2), 20, &["limited", "limited", "limited"])),
        ("the other one can't be used", using(append("a", 1, 2), 20, &["any", "gone"])),
        ("another chat", using(append("b", 1, 2), 20, &["here"])),
        ("another chat, which begins with it", using(append("c", 0, 2), 20, &["here"])),
        ("another subject", of(using(append("d", 0, 2), 20, &["any"]), "bob")),
    ];
    for (what, refused) in refused {
        let chat = refused.chat.clone();
        let before = all(&*log, chat.as_str()).await;
        let keyed = Append { keys: vec!["key".into()], ..refused };
        assert_eq!(one(&*log, keyed.clone()).await, AppendResult::NotGranted, "{what}");
        assert_eq!(one(&*log, keyed).await, AppendResult::NotGranted, "{what}, again");
        assert_eq!(all(&*log, chat.as_str()).await, before, "{what}");
        assert_eq!(log.find(&"ann".into(), "key").await, Ok(None), "{what}");
    }
    for id in ["limited", "short", "here", "any"] {
        assert_eq!(grant(&*log, id).await.used, 0, "{id}");
    }
    // Of appends in one call, the others go through.
    let appends =
        vec![using(append("a", 1, 3), 20, &["gone"]), using(append("b", 1, 3), 99, &["short"]), append("a", 1, 4)];
    let results = log.append_many(appends).await;
    let committed = AppendResult::Committed { len: 2 };
    assert_eq!(results, [AppendResult::NotGranted, committed, committed]);
    must(&*log, using(append("a", 2, 5), 20, &["here", "limited"])).await;
    // In one call too, each sees what those before it have used.
    let appends = vec![using(append("a", 3, 6), 21, &["limited"]), using(append("b", 2, 6), 21, &["limited"])];
    assert_eq!(log.append_many(appends).await, [AppendResult::Committed { len: 4 }, AppendResult::NotGranted]);
    assert_eq!(grant(&*log, "limited").await.used, 2);
}

/// A grant for one use is used once, whoever tries.
pub async fn a_grant_for_one_use_is_used_once(log: Shared) {
    for round in 0..10 {
        let id = format!("once {round}");
        let once = GrantRow { uses: Some(1), ..row(&id, GrantScope::Subject) };
        must(&*log, making(append(&format!("maker {round}"), 0, 1), vec![once])).await;
        let tries = (0..8u128).map(|number| {
            let (log, id) = (Arc::clone(&log), id.clone());
            tokio::spawn(async move {
                let chat = format!("user {round} {number}");
                one(&*log, using(append(&chat, 0, number), 20, &[&id])).await
            })
        });
        let results = join(tries.collect()).await;
        let committed = results.iter().filter(|result| **result == AppendResult::Committed { len: 1 }).count();
        let refused = results.iter().filter(|result| **result == AppendResult::NotGranted).count();
        assert_eq!((committed, refused), (1, 7), "{results:?}");
        assert_eq!(grant(&*log, &id).await.used, 1);
    }
}

/// Whatever was not committed when a revocation returned never is.
pub async fn nothing_is_granted_after_a_revocation(log: Shared) {
    for round in 0..8u128 {
        let id = format!("g {round}");
        must(&*log, making(append(&format!("maker {round}"), 0, 1), vec![row(&id, GrantScope::Subject)])).await;
        let users = (0..4u128).map(|number| {
            let (log, id) = (Arc::clone(&log), id.clone());
            tokio::spawn(async move {
                let chat = format!("user {round} {number}");
                let mut at = 0;
                while one(&*log, using(append(&chat, at, at.into()), 20, &[&id])).await != AppendResult::NotGranted {
                    at += 1;
                }
                at
            })
        });
        let users: Vec<_> = users.collect();
        tokio::task::yield_now().await;
        assert_eq!(log.revoke(revocation(&id, "ann", 30)).await, Ok(()));
        let used = grant(&*log, &id).await.used;
        let committed: u64 = join(users).await.into_iter().sum();
        assert_eq!(committed, used, "what was committed after the revocation");
        assert_eq!(grant(&*log, &id).await.used, used);
    }
}

/// The first revocation counts, and is in the record once, also when the chat is gone.
pub async fn a_revocation_is_recorded_once(log: Shared) {
    let rows = vec![row("g", GrantScope::Subject), GrantRow { index: 1, ..row("h", GrantScope::Subject) }];
    must(&*log, making(append_facts("a", 0, 1, 2), rows)).await;
    assert_eq!(log.revoke(revocation("none", "ann", 30)).await, Ok(()));
    assert_eq!(log.revoke(revocation("g", "ann", 30)).await, Ok(()));
    assert_eq!(log.revoke(revocation("g", "carol", 40)).await, Ok(()));
    assert_eq!(grant(&*log, "g").await.revoked, Some((Timestamp(30), "ann".into())));
    assert_eq!(log.delete(&"a".into(), deletion(2)).await, Ok(DeleteResult::Deleted));
    assert_eq!(log.revoke(revocation("h", "carol", 50)).await, Ok(()));
    let mut entries = log.audit(AuditQuery::default(), 10).await.expect("it lists");
    entries.retain(|entry| entry.position >= REVOCATION);
    let found: Vec<_> = entries
        .iter()
        .map(|entry| (entry.chat.as_str(), entry.position, entry.at.0, entry.by.as_ref().map(Subject::as_str)))
        .collect();
    assert_eq!(found, [("a", REVOCATION, 30, Some("ann")), ("a", REVOCATION + 1, 50, Some("carol"))]);
    let entry = &entries[0];
    assert_eq!((entry.owner.as_str(), &*entry.tool, &entry.data[..]), ("ann", "pay", &b"revoked"[..]));
}

/// A deletion removes the grants for that chat only, and a chat that uses the id again has none.
pub async fn a_deleted_chat_takes_its_grants_along(log: Shared) {
    let rows = vec![row("here", GrantScope::Chat), row("all", GrantScope::Subject)];
    must(&*log, making(append("a", 0, 1), rows)).await;
    must(&*log, making(append("b", 0, 1), vec![row("there", GrantScope::Chat)])).await;
    assert_eq!(grant(&*log, "here").await.chat, Some("a".into()));
    assert_eq!(log.delete(&"a".into(), deletion(1)).await, Ok(DeleteResult::Deleted));
    assert_eq!(usable(&*log, "ann", None, 20).await, ["there", "all"]);
    assert_eq!(one(&*log, using(append("a", 2, 2), 20, &["here"])).await, AppendResult::NotGranted);
    must(&*log, using(append("a", 2, 3), 20, &["all"])).await;
}

/// Newest first, for whom they are and who made them, in pages of any size.
pub async fn grants_are_listed_in_order_and_in_pages(log: Shared) {
    let made = |id: &str, maker: &str, at: u64| GrantRow {
        maker: maker.into(),
        made_at: Timestamp(at),
        ..row(id, GrantScope::Subject)
    };
    let of = |append: Append, subject: &str| Append { head: head(subject, true, 1), ..append };
    let ann = vec![made("1", "ann", 10), made("2", "carol", 30), made("3", "carol", 20)];
    must(&*log, making(of(append("a", 0, 1), "ann"), ann)).await;
    let look = GrantRow { tool: "look".into(), ..made("5", "bob", 20) };
    let spent = GrantRow { uses: Some(1), until: Some(Timestamp(50)), ..made("6", "ann", 5) };
    must(&*log, making(of(append("b", 0, 1), "bob"), vec![made("4", "ann", 20), look, spent])).await;
    let cases: [(Option<&str>, &[&str]); 5] = [
        (None, &["2", "5", "4", "3", "1", "6"]),
        (Some("ann"), &["2", "4", "3", "1", "6"]),
        (Some("bob"), &["5", "4", "6"]),
        (Some("carol"), &["2", "3"]),
        (Some("eve"), &[]),
    ];
    for (subject, expected) in cases {
        for limit in [1, 2, 3, 100] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let query = GrantQuery::List { of: subject.map(Into::into), after: after.clone() };
                let page = log.grants(query, limit).await.expect("it lists");
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                after = Some((last.made_at, last.id.clone()));
                found.extend(page.iter().map(|grant| grant.id.to_string()));
            }
            assert_eq!(found, expected, "{subject:?} by {limit}");
        }
    }
    assert_eq!(usable(&*log, "ann", None, 40).await, ["2", "3", "1"]);
    assert_eq!(usable(&*log, "bob", None, 40).await, ["5", "4", "6"]);
    assert_eq!(usable(&*log, "bob", Some("look"), 40).await, ["5"]);
    assert_eq!(usable(&*log, "bob", None, 50).await, ["5", "4"], "one has ended");
    must(&*log, using(of(append("b", 1, 2), "bob"), 40, &["6"])).await;
    assert_eq!(usable(&*log, "bob", None, 40).await, ["5", "4"], "one is used up");
    assert_eq!(log.revoke(revocation("5", "bob", 40)).await, Ok(()));
    assert_eq!(usable(&*log, "bob", None, 40).await, ["4"], "one is revoked");
    assert_eq!(usable(&*log, "carol", None, 40).await, [""; 0]);
    assert_eq!(
        list(&*log, GrantQuery::Usable { subject: "ann".into(), tool: None, now: Timestamp(1) }, 2).await.len(),
        2
    );
}
