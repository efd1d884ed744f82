//! The right person: who may decide, how many it takes, and what somebody who is not named can do: nothing.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use holdpoint_runtime::{
    approvers::Approvers,
    tool::{Tool, ToolContext, ToolSet},
};
use holdpoint_server::Role;
use reqwest::Method;
use serde_json::{Value, json};
use support::{Person, Setup, TestServer, keys_of};

/// Each with the roles and the groups of the key.
const PEOPLE: [Person; 7] = [
    // The owner of the chat, who would like to approve.
    ("ann", &[Role::User, Role::Approver], &["finance"]),
    ("bob", &[Role::User, Role::Approver], &["finance"]),
    ("carol", &[Role::Approver], &["finance", "sales"]),
    ("dora", &[Role::Approver], &["directors"]),
    ("eve", &[Role::User, Role::Approver], &["sales"]),
    // In the group, but not an approver.
    ("fred", &[Role::User], &["finance"]),
    ("root", &[Role::User, Role::Admin], &["finance"]),
];

struct Scene {
    server: TestServer,
    client: reqwest::Client,
    runs: Arc<AtomicUsize>,
}

impl Scene {
    /// A chat of ann's, in which a payment waits for these.
    async fn waiting_for(approvers: Approvers) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let pay = Tool::server("pay", "Pays", move |input: Value, _: ToolContext| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { Ok(input) }
        });
        let pay = pay.schema(json!({"type": "object"})).title("Send money").headline("Pay {amount}");
        let pay = pay.approve_always().approvers(approvers);
        let script = json!({"turns": [{"steps": [
            [{"toolCall": {"name": "pay", "input": {"amount": 50}}}],
            [{"text": ["Done."]}],
        ]}]});
        let mut setup = Setup::script(&script);
        setup.builder = setup.builder.tools(ToolSet::new([pay.build().expect("a good tool")]).expect("one tool"));
        setup.keys = keys_of(&PEOPLE);
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let scene = Self { server: setup.start().await, client, runs };
        let (status, said) =
            scene.chat(&json!([{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "pay"}]}])).await;
        assert_eq!(status, 200, "{said}");
        scene
    }

    async fn ask(&self, who: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.request(method, self.server.url(path)).bearer_auth(format!("key-of-{who}"));
        let request = request.header("content-type", "application/json").body(body.to_string());
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn chat(&self, messages: &Value) -> (u16, String) {
        let body = json!({"id": "c", "messages": messages});
        let (status, body) = self.ask("ann", Method::POST, "/api/chat", &body).await;
        (status, body.as_str().map_or_else(|| body.to_string(), str::to_owned))
    }

    async fn inbox(&self, who: &str) -> Vec<Value> {
        let (status, inbox) = self.ask(who, Method::GET, "/api/approvals", &Value::Null).await;
        assert_eq!(status, 200, "{inbox}");
        inbox.as_array().expect("a list").clone()
    }

    async fn hold(&self) -> Value {
        let (_, holds) = self.ask("ann", Method::GET, "/api/chat/c/holds", &Value::Null).await;
        holds[0].clone()
    }

    async fn approval(&self) -> String {
        self.hold().await["approvalId"].as_str().expect("an approval request").to_owned()
    }

    async fn decide(&self, who: &str, body: Value) -> (u16, Value) {
        let path = format!("/api/approvals/{}", self.approval().await);
        self.ask(who, Method::POST, &path, &body).await
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// Until the call is settled.
    async fn settled(&self) -> Value {
        for _ in 0..500 {
            let hold = self.hold().await;
            if hold["state"] == "settled" {
                return hold;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it is not settled: {}", self.hold().await);
    }
}

fn finance() -> Approvers {
    Approvers::new(["group:finance", "self"]).expect("names").excluding_self()
}

fn yes() -> Value {
    json!({"approved": true})
}

#[tokio::test]
async fn only_the_approvers_of_the_policy_see_a_request() {
    let scene = Scene::waiting_for(finance()).await;
    for who in ["bob", "carol"] {
        let inbox = scene.inbox(who).await;
        assert_eq!(inbox.len(), 1, "{who}");
        assert_eq!((&inbox[0]["requestedBy"], &inbox[0]["chatId"]), (&json!("ann"), &json!("c")));
        assert_eq!(inbox[0]["allowed"], json!(["approve", "deny", "edit", "answer", "remember"]));
    }
    for who in ["ann", "dora", "eve", "fred", "root"] {
        assert_eq!(scene.inbox(who).await, Vec::<Value>::new(), "{who}");
    }
    assert_eq!(scene.hold().await["allowed"], json!([]), "the owner sees it, and may do nothing");
    let (_, none) = scene.ask("eve", Method::POST, "/api/approvals/none", &yes()).await;
    for body in [yes(), json!({"approved": false}), json!({"approved": true, "input": {}}), json!({"output": 1})] {
        // Self-approval, and deciding without being named.
        for (who, wanted) in [("ann", 403), ("root", 403), ("dora", 404), ("eve", 404), ("fred", 404)] {
            let (status, answer) = scene.decide(who, body.clone()).await;
            assert_eq!(status, wanted, "{who}: {answer}");
            if status == 404 {
                assert_eq!(answer, none, "as if it were not there");
            } else {
                assert_eq!(answer["type"], "urn:holdpoint:problem:not-an-approver");
            }
        }
    }
    assert_eq!((scene.runs(), &scene.hold().await["state"]), (0, &json!("waiting")));
    // The chat itself is not theirs.
    let (status, _) = scene.ask("bob", Method::GET, "/api/chat/c/messages", &Value::Null).await;
    assert_eq!(status, 404);
    assert_eq!(scene.decide("bob", yes()).await, (200, json!({"ok": true})));
    let hold = scene.settled().await;
    assert_eq!((scene.runs(), &hold["decision"]["by"]), (1, &json!(["bob"])));
    assert_eq!(scene.decide("carol", yes()).await, (200, json!({"ok": true, "ignored": true})));
    assert_eq!(scene.decide("carol", json!({"approved": false})).await.0, 409);
    assert_eq!(scene.decide("eve", yes()).await.0, 404, "then neither");
    assert!(scene.inbox("bob").await.is_empty());
}

#[tokio::test]
async fn a_call_starts_only_when_its_quorum_is_reached() {
    let scene = Scene::waiting_for(finance().quorum(2)).await;
    assert_eq!(scene.inbox("bob").await[0]["allowed"], json!(["approve", "deny"]));
    for body in [json!({"approved": true, "input": {"amount": 1}}), json!({"output": 1})] {
        let (status, answer) = scene.decide("bob", body).await;
        assert_eq!((status, &answer["type"]), (403, &json!("urn:holdpoint:problem:decision-not-allowed")));
    }
    assert_eq!(scene.decide("bob", yes()).await, (200, json!({"ok": true, "votes": 1, "quorum": 2})));
    for _ in 0..3 {
        assert_eq!(scene.decide("bob", yes()).await, (200, json!({"ok": true, "ignored": true})), "one person");
    }
    assert_eq!(scene.decide("ann", yes()).await.0, 403);
    assert_eq!(scene.decide("eve", yes()).await.0, 404);
    let votes = json!({"by": ["bob"], "quorum": 2});
    assert_eq!((&scene.hold().await["votes"], &scene.inbox("carol").await[0]["votes"]), (&votes, &votes));
    assert_eq!((scene.runs(), &scene.hold().await["state"]), (0, &json!("waiting")));
    assert_eq!(scene.decide("carol", yes()).await, (200, json!({"ok": true})));
    let hold = scene.settled().await;
    assert_eq!((scene.runs(), &hold["decision"]["by"]), (1, &json!(["bob", "carol"])));
    let (_, lines) = scene.ask("root", Method::GET, "/api/audit", &Value::Null).await;
    let lines: Vec<Value> = lines.as_str().expect("lines").lines().map(|line| line.parse().expect("JSON")).collect();
    let of = |step: &str| lines.iter().find(|line| line["step"] == step).expect("such a step");
    for (step, by) in [("voted", "bob"), ("decided", "carol")] {
        assert_eq!((&of(step)["by"], &of(step)["channel"]), (&json!(by), &json!("inbox")), "{lines:?}");
    }
    assert_eq!(hold["input"], json!({"amount": 50}));
}

/// Null is a value like any other: it is neither "no edit" nor "no answer".
#[tokio::test]
async fn a_null_counts_as_an_input_or_an_output() {
    let scene = Scene::waiting_for(finance()).await;
    let (status, problem) = scene.decide("bob", json!({"approved": true, "input": null})).await;
    assert_eq!((status, &problem["pointer"]), (422, &json!("/input")), "{problem}");
    assert_eq!(scene.hold().await["state"], "waiting");
    assert_eq!(scene.decide("bob", json!({"output": null})).await, (200, json!({"ok": true})));
    let hold = scene.settled().await;
    assert_eq!((scene.runs(), &hold["decision"]["kind"]), (0, &json!("answer")), "{hold}");
    assert_eq!(hold["outcome"].get("output"), Some(&Value::Null), "{hold}");
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_an_approval() {
    let scene = Scene::waiting_for(finance()).await;
    let same = json!({"approved": true, "input": {"amount": 50}});
    assert_eq!(scene.decide("bob", same.clone()).await, (200, json!({"ok": true})));
    let hold = scene.settled().await;
    assert_eq!((scene.runs(), &hold["decision"]["kind"]), (1, &json!("approve")), "{hold}");
    for again in [same, yes()] {
        assert_eq!(scene.decide("carol", again).await, (200, json!({"ok": true, "ignored": true})));
    }
}

/// Another program on the way may have read the first of the two.
#[tokio::test]
async fn a_decision_with_contradicting_fields_is_refused() {
    let scene = Scene::waiting_for(finance()).await;
    let path = format!("/api/approvals/{}", scene.approval().await);
    for body in [
        r#"{"approved":false,"approved":true}"#,
        r#"{"approved":true,"input":{"amount":1,"amount":2}}"#,
        r#"{"approved":true,"remember":{"scope":"chat","uses":-1}}"#,
        r#"{"approved":true,"remember":{"scope":"chat","uses":"two"}}"#,
    ] {
        let request = scene.client.post(scene.server.url(&path)).bearer_auth("key-of-bob").body(body);
        let response = request.header("content-type", "application/json").send().await.expect("an answer");
        let (status, text) = (response.status().as_u16(), response.text().await.expect("a body"));
        assert_eq!(status, 422, "{body}: {text}");
        assert!(text.contains("is there twice") || text.contains("the number of uses"), "{body}: {text}");
        assert!(!text.contains("u32"), "{text}");
    }
    assert_eq!((scene.runs(), &scene.hold().await["state"]), (0, &json!("waiting")));
}

#[tokio::test]
async fn a_reason_over_the_limit_is_refused() {
    let scene = Scene::waiting_for(finance()).await;
    let long = "x".repeat(8 * 1024 + 1);
    for body in [json!({"approved": false, "reason": long}), json!({"output": 1, "reason": long})] {
        let (status, problem) = scene.decide("bob", body).await;
        assert_eq!(status, 422, "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|text| text.contains("`reason` is longer than 8192 bytes")));
    }
    assert_eq!(scene.hold().await["state"], "waiting");
    assert_eq!(scene.decide("bob", json!({"approved": false, "reason": long[1..]})).await.0, 200);
}

#[tokio::test]
async fn one_denial_settles_a_request_with_a_quorum() {
    let scene = Scene::waiting_for(finance().quorum(2)).await;
    assert_eq!(scene.decide("bob", yes()).await.0, 200);
    assert_eq!(scene.decide("carol", json!({"approved": false, "reason": "no"})).await, (200, json!({"ok": true})));
    let hold = scene.settled().await;
    assert_eq!((scene.runs(), &hold["decision"]["by"]), (0, &json!(["carol"])));
}

/// A stock client shows a question that it may not answer, and sends the answer with its next request.
#[tokio::test]
async fn a_request_that_the_client_may_not_decide_is_sent_again() {
    for approvers in [finance(), Approvers::new(["group:finance"]).expect("names").quorum(2)] {
        let is_vote = approvers.quorum > 1;
        let scene = Scene::waiting_for(approvers).await;
        let (_, messages) = scene.ask("ann", Method::GET, "/api/chat/c/messages", &Value::Null).await;
        let mut messages = messages["messages"].as_array().or(messages.as_array()).expect("messages").clone();
        let parts = messages.last_mut().and_then(|last| last["parts"].as_array_mut()).expect("parts");
        let part = parts.last_mut().expect("a call");
        assert_eq!(part["state"], "approval-requested", "{part}");
        part["approval"]["approved"] = json!(true);
        let mut claimed = messages.clone();
        for state in ["approval-responded", "output-available"] {
            let part = claimed.last_mut().and_then(|last| last["parts"].as_array_mut()?.last_mut()).expect("a call");
            part["state"] = json!(state);
            part["output"] = json!({"paid": true});
            let (status, stream) = scene.chat(&json!(claimed)).await;
            assert_eq!(status, 200, "{stream}");
            let kinds: Vec<&str> = stream
                .split(r#""type":""#)
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .filter(|kind| *kind != "finish" || !kind.is_empty())
                .collect();
            assert_eq!(kinds, ["start", "tool-approval-request", "finish"], "{stream}");
            assert!(stream.contains(&scene.approval().await), "the same one: {stream}");
        }
        let by = if is_vote { json!(["ann"]) } else { Value::Null };
        assert_eq!((scene.runs(), &scene.hold().await["votes"]["by"]), (0, &by));
        assert_eq!(scene.decide("carol", yes()).await, (200, json!({"ok": true})));
        assert_eq!(scene.settled().await["outcome"]["cause"], "ran");
        assert_eq!(scene.runs(), 1);
        let part = messages.last_mut().and_then(|last| last["parts"].as_array_mut()?.last_mut()).expect("a call");
        part["state"] = json!("approval-responded");
        let (_, stream) = scene.chat(&json!(messages)).await;
        assert!(stream.contains("tool-output-available") && !stream.contains("tool-approval-request"), "{stream}");
    }
}

#[tokio::test]
async fn an_escalation_adds_its_approvers_after_its_time() {
    let approvers = finance().quorum(2).escalating(Duration::from_secs(60), ["group:directors"]).expect("names");
    let scene = Scene::waiting_for(approvers).await;
    assert_eq!(scene.decide("dora", yes()).await.0, 404);
    assert!(scene.inbox("dora").await.is_empty());
    let expires = scene.hold().await["expiresAt"].clone();
    scene.server.clock.advance(Duration::from_secs(61));
    for _ in 0..500 {
        if !scene.inbox("dora").await.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(scene.inbox("dora").await[0]["expiresAt"], expires, "it expires when it did");
    assert_eq!(scene.decide("dora", yes()).await, (200, json!({"ok": true, "votes": 1, "quorum": 2})));
    assert_eq!(scene.decide("ann", yes()).await.0, 403, "the owner still does not count");
    assert_eq!(scene.decide("bob", yes()).await, (200, json!({"ok": true})));
    assert_eq!(scene.settled().await["decision"]["by"], json!(["dora", "bob"]));
}

/// The inbox's filters are combined, and what does not fit is not listed.
#[tokio::test]
async fn the_inbox_is_filtered_and_one_request_has_its_own_address() {
    let scene = Scene::waiting_for(finance()).await;
    let entry = &scene.inbox("bob").await[0];
    assert_eq!((&entry["title"], &entry["headline"]), (&json!("Send money"), &json!("Pay {amount}")), "{entry}");
    assert_eq!((&entry["description"], &entry["inputSchema"]["type"]), (&json!("Pays"), &json!("object")), "{entry}");
    for (filter, count) in [
        ("tool=pay&chat=c&requested_by=ann&q=50", 1),
        ("q=SEND", 1),
        ("q=ann", 1),
        ("tool=refund", 0),
        ("tool=pay&chat=d", 0),
        ("requested_by=bob", 0),
        ("q=51", 0),
        ("q=amount", 0),
    ] {
        let (status, list) =
            scene.ask("bob", Method::GET, &format!("/api/approvals?{filter}&limit=1"), &Value::Null).await;
        assert_eq!((status, list.as_array().map(Vec::len)), (200, Some(count)), "{filter}: {list}");
    }
    let (status, problem) = scene.ask("bob", Method::GET, "/api/approvals?tol=pay", &Value::Null).await;
    assert_eq!(status, 422, "a filter that is not one is refused: {problem}");

    let path = format!("/api/approvals/{}", scene.approval().await);
    let (status, one) = scene.ask("bob", Method::GET, &path, &Value::Null).await;
    assert_eq!((status, &one), (200, entry));
    for who in ["ann", "root"] {
        let (status, one) = scene.ask(who, Method::GET, &path, &Value::Null).await;
        assert_eq!((status, &one["allowed"]), (200, &json!([])), "{who} sees it, and others decide: {one}");
    }
    let unknown = scene.ask("eve", Method::GET, "/api/approvals/approval_of_nobody", &Value::Null).await;
    assert_eq!(unknown.0, 404);
    for who in ["eve", "fred", "dora"] {
        assert_eq!(scene.ask(who, Method::GET, &path, &Value::Null).await, unknown, "{who}");
    }
    assert_eq!(scene.decide("bob", yes()).await.0, 200);
    for who in ["carol", "ann", "root"] {
        let (status, problem) = scene.ask(who, Method::GET, &path, &Value::Null).await;
        assert_eq!((status, &problem["reason"]), (410, &json!("decided")), "{who}: {problem}");
    }
    assert_eq!(scene.ask("eve", Method::GET, &path, &Value::Null).await, unknown);
    let metrics = async |who: &str| scene.ask(who, Method::GET, "/metrics", &Value::Null).await.1.to_string();
    assert!(metrics("root").await.contains("pay"), "an admin sees metrics by tool");
    assert!(!metrics("bob").await.contains("pay") && metrics("bob").await.contains("holdpoint_turns"));
}

/// It is said what became of it, also in an earlier turn.
#[tokio::test]
async fn a_superseded_request_gets_410_with_its_reason() {
    let scene = Scene::waiting_for(finance()).await;
    let path = format!("/api/approvals/{}", scene.approval().await);
    for number in 2..4 {
        let said = json!([{"id": format!("u{number}"), "role": "user", "parts": [{"type": "text", "text": "no"}]}]);
        assert_eq!(scene.chat(&said).await.0, 200);
    }
    for who in ["carol", "ann", "root"] {
        let (status, problem) = scene.ask(who, Method::GET, &path, &Value::Null).await;
        assert_eq!((status, &problem["reason"]), (410, &json!("superseded")), "{who}: {problem}");
    }
    assert_eq!(scene.ask("eve", Method::GET, &path, &Value::Null).await.0, 404);
}

/// A call in a chat that is deleted has its end in the record, and leaves the inbox of those who could decide.
#[tokio::test]
async fn deleting_a_chat_settles_its_calls_in_the_audit_log() {
    let scene = Scene::waiting_for(finance()).await;
    assert_eq!(scene.ask("ann", Method::DELETE, "/api/chat/c", &Value::Null).await.0, 204);
    assert!(scene.inbox("bob").await.is_empty());
    let (_, lines) = scene.ask("root", Method::GET, "/api/audit", &Value::Null).await;
    let lines: Vec<Value> = lines.as_str().expect("lines").lines().map(|line| line.parse().expect("JSON")).collect();
    let [.., last, deleted] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&last["step"], &last["cause"]), (&json!("settled"), &json!("stopped")), "{lines:?}");
    assert_eq!((&deleted["step"], &deleted["by"]), (&json!("deleted"), &json!("ann")), "{lines:?}");
}

/// Whoever may decide hears of it, and nobody else.
#[tokio::test]
async fn events_reach_those_who_may_decide() {
    let approvers = finance().quorum(2).escalating(Duration::from_secs(60), ["group:directors"]).expect("names");
    let scene = Scene::waiting_for(approvers).await;
    let mut streams = Vec::new();
    for who in ["bob", "dora", "eve", "fred"] {
        let request = scene.client.get(scene.server.url("/api/events")).bearer_auth(format!("key-of-{who}"));
        streams.push((who, request.send().await.expect("a stream"), String::new()));
    }
    for (_, stream, text) in &mut streams {
        while !text.contains("ready") {
            let bytes = stream.chunk().await.expect("bytes").expect("more");
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    let hears = async |stream: &mut (&str, reqwest::Response, String), times: usize| {
        let (who, stream, text) = stream;
        let told = tokio::time::timeout(Duration::from_secs(20), async {
            while text.matches(r#"{"type":"approvals","chatId":"c"}"#).count() < times {
                let bytes = stream.chunk().await.expect("bytes").expect("more");
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
        });
        told.await.unwrap_or_else(|_| panic!("{who} hears of it: {text}"));
    };
    assert_eq!(scene.decide("bob", yes()).await.0, 200);
    hears(&mut streams[0], 1).await;
    scene.server.clock.advance(Duration::from_secs(61));
    hears(&mut streams[0], 2).await;
    hears(&mut streams[1], 1).await;
    assert_eq!(scene.decide("dora", yes()).await, (200, json!({"ok": true})));
    // Of the decision, and of what came of it.
    hears(&mut streams[0], 4).await;
    hears(&mut streams[1], 3).await;
    for (who, stream, text) in &mut streams[2..] {
        let more = tokio::time::timeout(Duration::from_millis(50), stream.chunk()).await;
        let more = more.map(|bytes| format!("{bytes:?}")).unwrap_or_default();
        assert!(!text.contains("chatId") && !more.contains("chatId"), "{who} hears nothing: {text}{more}");
    }
}

/// Whoever has approved is told what came of it, and whoever came second who was first.
#[tokio::test]
async fn the_record_of_a_request_says_who_decided_and_what_came_of_it() {
    let scene = Scene::waiting_for(finance().quorum(2)).await;
    let path = format!("/api/approvals/{}/record", scene.approval().await);
    let record = async |who: &str| scene.ask(who, Method::GET, &path, &Value::Null).await;
    let (status, open) = record("bob").await;
    assert_eq!((status, &open["approval"], &open["state"]), (200, &scene.inbox("bob").await[0], &json!("waiting")));
    assert_eq!((open.get("decision"), open.get("outcome")), (None, None), "{open}");
    for who in ["eve", "fred", "dora"] {
        assert_eq!(record(who).await.0, 404, "{who}");
    }
    assert_eq!(scene.decide("bob", yes()).await.0, 200);
    assert_eq!(record("carol").await.1["approval"]["votes"], json!({"by": ["bob"], "quorum": 2}));
    assert_eq!(scene.decide("carol", yes()).await, (200, json!({"ok": true})));
    scene.settled().await;
    // More turns come after it, in the same chat.
    for number in 2..4 {
        let said = json!([{"id": format!("u{number}"), "role": "user", "parts": [{"type": "text", "text": "more"}]}]);
        assert_eq!(scene.chat(&said).await.0, 200);
    }
    for who in ["bob", "carol", "ann", "root"] {
        let (status, ended) = record(who).await;
        assert_eq!((status, &ended["state"]), (200, &json!("settled")), "{who}: {ended}");
        let (approval, decision, outcome) = (&ended["approval"], &ended["decision"], &ended["outcome"]);
        assert_eq!((&approval["input"], &approval["allowed"]), (&json!({"amount": 50}), &json!([])), "{ended}");
        assert_eq!((&decision["kind"], &decision["by"]), (&json!("approve"), &json!(["bob", "carol"])), "{ended}");
        assert_eq!((&outcome["cause"], &outcome["output"]), (&json!("ran"), &json!({"amount": 50})), "{ended}");
    }
    assert_eq!(record("eve").await.0, 404);
}

#[tokio::test]
async fn the_record_of_an_edited_request_has_both_inputs() {
    let scene = Scene::waiting_for(finance()).await;
    let path = format!("/api/approvals/{}/record", scene.approval().await);
    assert_eq!(scene.decide("bob", json!({"approved": true, "input": {"amount": 20}})).await.0, 200);
    scene.settled().await;
    let (_, record) = scene.ask("carol", Method::GET, &path, &Value::Null).await;
    assert_eq!(
        (&record["approval"]["input"], &record["editedInput"]),
        (&json!({"amount": 50}), &json!({"amount": 20}))
    );
    assert_eq!((&record["decision"]["kind"], &record["decision"]["by"]), (&json!("edit"), &json!(["bob"])), "{record}");
    assert_eq!(record["decision"].get("originalInput"), None, "it is there once: {record}");
}

/// A chat of one's own in which others decide does not wait for its owner.
#[tokio::test]
async fn the_list_of_chats_says_whom_they_wait_for() {
    for (approvers, waits) in [(finance(), false), (Approvers::default(), true)] {
        let scene = Scene::waiting_for(approvers).await;
        let (_, chats) = scene.ask("ann", Method::GET, "/api/chats", &Value::Null).await;
        assert_eq!((&chats[0]["holds"], &chats[0]["waitsForYou"]), (&json!(1), &json!(waits)), "{chats}");
        let (_, chats) = scene.ask("root", Method::GET, "/api/chats?all=true", &Value::Null).await;
        assert_eq!(chats[0]["waitsForYou"], json!(false), "{chats}");
    }
}
