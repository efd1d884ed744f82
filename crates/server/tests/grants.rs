//! Grants: an approval that is remembered decides later calls, and nothing else does.

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
    input_sha256,
    tool::{Condition, Execution, Tool, ToolBuilder, ToolContext, ToolOrigin, ToolSet, ToolSource},
};
use holdpoint_server::Role;
use reqwest::Method;
use serde_json::{Value, json};
use support::{Person, Setup, TestServer, keys_of};

const PEOPLE: [Person; 7] = [
    // The owner of the chats.
    ("ann", &[Role::User], &[]),
    ("bob", &[Role::User, Role::Approver], &["finance"]),
    ("carol", &[Role::Approver], &["finance"]),
    ("dora", &[Role::Approver], &["directors"]),
    ("eve", &[Role::User, Role::Approver], &["sales"]),
    // In the group, but not an approver.
    ("fred", &[Role::User], &["finance"]),
    ("root", &[Role::User, Role::Admin], &[]),
];

/// What the model calls when the user says this.
fn script() -> Value {
    let turn = |says: &str, tool: &str, input: Value| {
        json!({"when": says, "steps": [
            [{"toolCall": {"name": tool, "input": input}}],
            [{"text": ["Done."]}],
        ]})
    };
    json!({"turns": [
        turn("pay 50", "pay", json!({"amount": 50, "to": "Hanako"})),
        turn("pay the same, written otherwise", "pay", json!({"to": "Hanako", "amount": 50.0})),
        turn("pay 60", "pay", json!({"amount": 60, "to": "Hanako"})),
        turn("pay much", "pay", json!({"amount": 500, "to": "Hanako"})),
        turn("pay something", "pay", json!({"to": "Hanako"})),
        turn("where am I", "locate", json!({})),
        {"when": "pay twice", "steps": [
            [
                {"toolCall": {"name": "pay", "input": {"amount": 50, "to": "Hanako"}}},
                {"toolCall": {"name": "pay", "input": {"amount": 50, "to": "Hanako"}}},
            ],
            [{"text": ["Done."]}],
        ]},
    ]})
}

struct Scene {
    server: TestServer,
    client: reqwest::Client,
    runs: Arc<AtomicUsize>,
}

fn pay(runs: &Arc<AtomicUsize>) -> ToolBuilder {
    let runs = Arc::clone(runs);
    let tool = Tool::server("pay", "Pays", move |input: Value, _: ToolContext| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move { Ok(input) }
    });
    tool.schema(json!({"type": "object"})).approve_always()
}

fn locate() -> ToolBuilder {
    ToolBuilder::browser::<Value>("locate", "Locates", Execution::Frontend)
        .schema(json!({"type": "object"}))
        .approve_always()
}

fn tools(all: impl IntoIterator<Item = ToolBuilder>) -> ToolSet {
    ToolSet::new(all.into_iter().map(|tool| tool.build().expect("a good tool"))).expect("different names")
}

impl Scene {
    async fn set() -> Self {
        Self::with(|pay| pay).await
    }

    async fn with(change: impl FnOnce(ToolBuilder) -> ToolBuilder) -> Self {
        let runs = Arc::default();
        let mut setup = Setup::script(&script());
        setup.builder = setup.builder.tools(tools([change(pay(&runs)), locate()]));
        setup.builder = setup.builder.limits(holdpoint_runtime::Limits { grants_per_subject: 3, ..Default::default() });
        setup.keys = keys_of(&PEOPLE);
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { server: setup.start().await, client, runs }
    }

    async fn ask(&self, who: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.request(method, self.server.url(path)).bearer_auth(format!("key-of-{who}"));
        let request = request.header("content-type", "application/json").body(body.to_string());
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// What ann says, and the kinds of chunks that she gets.
    async fn say(&self, chat: &str, text: &str) -> Vec<String> {
        let body = json!({"id": chat, "messages": [{"role": "user", "parts": [{"type": "text", "text": text}]}]});
        let (status, stream) = self.ask("ann", Method::POST, "/api/chat", &body).await;
        assert_eq!(status, 200, "{stream}");
        let stream = stream.as_str().expect("a stream");
        let kinds = stream.split(r#""type":""#).skip(1).filter_map(|rest| rest.split('"').next());
        kinds.map(str::to_owned).collect()
    }

    /// Whether what ann says runs without a question.
    async fn runs_at_once(&self, chat: &str, text: &str) -> bool {
        let before = self.runs.load(Ordering::SeqCst);
        let kinds = self.say(chat, text).await;
        let is_asked = kinds.iter().any(|kind| kind == "tool-approval-request");
        let has_run = self.runs.load(Ordering::SeqCst) > before;
        assert_ne!(is_asked, has_run, "{text}: {kinds:?}");
        has_run
    }

    /// The open approval request of a chat.
    async fn approval(&self, chat: &str) -> String {
        let (_, holds) = self.ask("ann", Method::GET, &format!("/api/chat/{chat}/holds"), &Value::Null).await;
        let open = holds.as_array().into_iter().flatten().find(|hold| hold["state"] == "waiting");
        open.and_then(|hold| hold["approvalId"].as_str()).unwrap_or_else(|| panic!("{holds}")).to_owned()
    }

    /// The state of the newest grant.
    async fn state(&self) -> String {
        let (_, grants) = self.ask("ann", Method::GET, "/api/grants", &Value::Null).await;
        grants[0]["state"].as_str().unwrap_or_else(|| panic!("{grants}")).to_owned()
    }

    async fn decide(&self, who: &str, chat: &str, body: Value) -> (u16, Value) {
        let path = format!("/api/approvals/{}", self.approval(chat).await);
        self.ask(who, Method::POST, &path, &body).await
    }

    /// A payment of 50, approved by somebody and remembered. Returns the grant.
    async fn granted(&self, who: &str, chat: &str, remember: Value) -> String {
        assert!(!self.runs_at_once(chat, "pay 50").await);
        let (status, body) = self.decide(who, chat, json!({"approved": true, "remember": remember})).await;
        assert_eq!(status, 200, "{body}");
        self.settled(chat).await;
        body["grant"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
    }

    /// The last call of a chat, once it is settled.
    async fn settled(&self, chat: &str) -> Value {
        for _ in 0..500 {
            let (_, holds) = self.ask("ann", Method::GET, &format!("/api/chat/{chat}/holds"), &Value::Null).await;
            if let Some(last) =
                holds.as_array().and_then(|holds| holds.last()).filter(|last| last["state"] == "settled")
            {
                return last.clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it is not settled");
    }

    async fn grants(&self, who: &str) -> Vec<Value> {
        let (status, grants) = self.ask(who, Method::GET, "/api/grants", &Value::Null).await;
        assert_eq!(status, 200, "{grants}");
        grants.as_array().expect("a list").clone()
    }

    async fn revoke(&self, who: &str, grant: &str) -> (u16, Value) {
        self.ask(who, Method::DELETE, &format!("/api/grants/{grant}"), &Value::Null).await
    }

    async fn audit(&self, who: &str) -> Vec<Value> {
        let (_, lines) = self.ask(who, Method::GET, "/api/audit", &Value::Null).await;
        let text = lines.as_str().map_or_else(|| lines.to_string(), str::to_owned);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn now(&self) -> String {
        use holdpoint_runtime::clock::Clock;
        self.server.clock.now().iso8601()
    }
}

fn finance() -> Approvers {
    Approvers::new(["group:finance"]).expect("names").excluding_self()
}

#[tokio::test]
async fn a_remembered_approval_approves_what_comes_later() {
    let scene = Scene::with(|pay| pay.approvers(finance())).await;
    let grant = scene.granted("carol", "c", json!({"scope": "subject", "match": "tool"})).await;
    let kinds = scene.say("c", "pay 60").await;
    let of_call: Vec<&String> = kinds.iter().filter(|kind| kind.starts_with("tool-")).collect();
    let expected = ["tool-input-start", "tool-input-delta", "tool-input-available", "tool-output-available"];
    assert_eq!(of_call, expected, "without a question");
    // The record of the chat says by what it was approved.
    let hold = scene.settled("c").await;
    let decision = json!({"kind": "approve", "by": ["carol"], "at": scene.now(), "grant": grant});
    assert_eq!(
        (&hold["kind"], &hold["decision"], &hold["outcome"]["cause"]),
        (&json!("approval"), &decision, &json!("ran"))
    );
    assert!(hold.get("approvalId").is_none(), "{hold}");
    let (_, messages) = scene.ask("ann", Method::GET, "/api/chat/c/messages", &Value::Null).await;
    let part = messages.as_array().and_then(|all| all.last()).and_then(|last| last["parts"].as_array());
    let part = part.into_iter().flatten().find(|part| part["type"] == "tool-pay").expect("the call").clone();
    assert_eq!((&part["state"], part.get("approval")), (&json!("output-available"), None));
    let told =
        json!({"cause": "ran", "decidedBy": ["carol"], "grant": grant, "decidedAt": scene.now(), "edited": false});
    assert_eq!(part["callProviderMetadata"]["holdpoint"], told);
    // And it is listed, with its use, for whoever made it, for the owner, and for admins.
    let listed = json!({
        "id": grant, "toolName": "pay", "scope": "subject", "subject": "ann", "match": "tool", "state": "active",
        "maker": "carol", "madeAt": scene.now(), "used": 1, "lastUsedAt": scene.now(),
    });
    for who in ["ann", "carol", "root"] {
        assert_eq!(scene.grants(who).await, std::slice::from_ref(&listed), "{who}");
    }
    for who in ["bob", "eve", "fred", "dora"] {
        assert_eq!(scene.grants(who).await, Vec::<Value>::new(), "{who}");
    }
}

#[tokio::test]
async fn a_revoked_grant_approves_nothing() {
    for who in ["ann", "carol", "root"] {
        let scene = Scene::with(|pay| pay.approvers(finance())).await;
        let grant = scene.granted("carol", "c", json!({"scope": "subject"})).await;
        assert!(scene.runs_at_once("d", "pay 50").await);
        let unknown = scene.revoke("eve", "grant_none").await;
        assert_eq!(unknown.0, 404);
        for other in ["bob", "eve", "fred", "dora"] {
            let mut refused = scene.revoke(other, &grant).await;
            assert_eq!(refused.0, 404, "{other}");
            refused.1["instance"] = unknown.1["instance"].clone();
            assert_eq!(refused.1["detail"], unknown.1["detail"], "{other}");
        }
        assert!(scene.runs_at_once("d", "pay 50").await, "nobody has revoked it");
        scene.server.clock.advance(Duration::from_secs(1));
        let (status, revoked) = scene.revoke(who, &grant).await;
        assert_eq!(
            (status, &revoked["state"], &revoked["revokedBy"]),
            (200, &json!("revoked"), &json!(who)),
            "{revoked}"
        );
        assert!(!scene.runs_at_once("d", "pay 50").await);
        let (status, again) = scene.revoke("ann", &grant).await;
        assert_eq!((status, &again), (200, &revoked), "the first one counts");
        assert_eq!(scene.grants("ann").await, [revoked]);
        // The record: made, used, revoked.
        let lines = scene.audit("ann").await;
        let of_grant: Vec<_> = lines.iter().filter(|line| line["grant"] == *grant).collect();
        let told: Vec<_> = of_grant.iter().map(|line| (&line["step"], &line["by"], &line["channel"])).collect();
        let (carol, used) = (json!("carol"), json!("used"));
        let expected = [
            (&json!("granted"), &carol, &Value::Null),
            (&used, &carol, &json!("grant")),
            (&used, &carol, &json!("grant")),
            (&json!("revoked"), &json!(who), &Value::Null),
        ];
        assert_eq!(told, expected, "{lines:?}");
        assert_eq!(of_grant[3]["position"], of_grant[0]["position"], "where it was made");
        assert_eq!(of_grant[3]["toolCallId"], of_grant[0]["toolCallId"]);
        assert!(scene.audit("carol").await.iter().any(|line| line["step"] == "used"), "what their decision has done");
    }
}

#[tokio::test]
async fn a_grant_covers_only_the_same_input_by_default() {
    let scene = Scene::set().await;
    scene.granted("ann", "c", json!({"scope": "subject"})).await;
    let listed = scene.grants("ann").await;
    let digest = input_sha256(&json!({"to": "Hanako", "amount": 50}));
    assert_eq!((&listed[0]["match"], &listed[0]["inputSha256"]), (&json!("input"), &json!(digest)));
    assert!(scene.runs_at_once("c", "pay 50").await);
    assert!(scene.runs_at_once("d", "pay the same, written otherwise").await);
    assert!(!scene.runs_at_once("d", "pay 60").await);
}

/// After an edit, it is the edited input that was approved.
#[tokio::test]
async fn a_grant_made_with_an_edit_covers_the_edited_input() {
    let scene = Scene::set().await;
    assert!(!scene.runs_at_once("c", "pay 50").await);
    let edited = json!({"approved": true, "input": {"amount": 60, "to": "Hanako"}, "remember": {"scope": "subject"}});
    assert_eq!(scene.decide("ann", "c", edited).await.0, 200);
    scene.settled("c").await;
    assert!(!scene.runs_at_once("d", "pay 50").await);
    assert!(scene.runs_at_once("e", "pay 60").await);
}

#[tokio::test]
async fn a_rule_covers_only_calls_for_which_it_certainly_holds() {
    let scene = Scene::set().await;
    scene.granted("ann", "c", json!({"scope": "subject", "match": {"when": "/amount", "under": 100}})).await;
    assert!(scene.runs_at_once("d", "pay 60").await);
    assert!(!scene.runs_at_once("e", "pay much").await);
    assert!(!scene.runs_at_once("f", "pay something").await, "without an amount, nobody can say");
    assert_eq!(scene.grants("ann").await[0]["match"], json!({"when": "/amount", "under": 100}));
}

#[tokio::test]
async fn a_grant_for_a_number_of_uses_is_used_up() {
    let scene = Scene::set().await;
    scene.granted("ann", "c", json!({"scope": "subject", "uses": 2})).await;
    assert!(scene.runs_at_once("d", "pay 50").await);
    assert!(scene.runs_at_once("e", "pay 50").await);
    assert!(!scene.runs_at_once("f", "pay 50").await);
    let listed = &scene.grants("ann").await[0];
    assert_eq!((&listed["state"], &listed["used"], &listed["uses"]), (&json!("used-up"), &json!(2), &json!(2)));
}

/// Two calls of one step: the last use is for one of them, and the other one is asked about.
#[tokio::test]
async fn two_calls_of_a_step_are_two_uses_of_a_grant() {
    let scene = Scene::set().await;
    scene.granted("ann", "c", json!({"scope": "subject", "uses": 1})).await;
    let kinds = scene.say("d", "pay twice").await;
    let count = |wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    assert_eq!((count("tool-output-available"), count("tool-approval-request")), (1, 1), "{kinds:?}");
    assert_eq!(scene.runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_grant_ends_at_its_time() {
    use holdpoint_runtime::clock::Clock;
    let scene = Scene::set().await;
    let until = scene.server.clock.now().after(Duration::from_secs(60)).iso8601();
    scene.granted("ann", "c", json!({"scope": "subject", "until": until})).await;
    scene.server.clock.advance(Duration::from_millis(59_999));
    assert!(scene.runs_at_once("d", "pay 50").await);
    scene.server.clock.advance(Duration::from_millis(1));
    assert!(!scene.runs_at_once("e", "pay 50").await);
    let listed = &scene.grants("ann").await[0];
    assert_eq!((&listed["state"], &listed["until"]), (&json!("expired"), &json!(until)));
}

#[tokio::test]
async fn the_grant_of_a_chat_is_for_that_chat_and_ends_with_it() {
    let scene = Scene::set().await;
    let grant = scene.granted("ann", "c", json!({"scope": "chat", "match": "tool"})).await;
    assert_eq!(scene.grants("ann").await[0]["chatId"], "c");
    assert!(scene.runs_at_once("c", "pay 60").await);
    assert!(!scene.runs_at_once("d", "pay 60").await);
    assert_eq!(scene.ask("ann", Method::DELETE, "/api/chat/c", &Value::Null).await.0, 204);
    assert_eq!(scene.grants("ann").await, Vec::<Value>::new());
    assert_eq!(scene.revoke("ann", &grant).await.0, 404);
    assert!(!scene.runs_at_once("c", "pay 60").await, "it is another chat");
}

/// The chats of somebody else are not covered, whoever made it.
#[tokio::test]
async fn a_grant_covers_only_chats_of_its_owner() {
    let scene = Scene::with(|pay| pay.approvers(finance())).await;
    scene.granted("bob", "c", json!({"scope": "subject", "match": "tool"})).await;
    let body = json!({"id": "bobs", "messages": [{"role": "user", "parts": [{"type": "text", "text": "pay 50"}]}]});
    let (_, stream) = scene.ask("bob", Method::POST, "/api/chat", &body).await;
    assert!(stream.as_str().is_some_and(|stream| stream.contains("tool-approval-request")), "{stream}");
}

#[tokio::test]
async fn an_invalid_remember_is_refused_and_the_request_stays_open() {
    let scene = Scene::set().await;
    assert!(!scene.runs_at_once("c", "pay 50").await);
    let rule = |rule: Value| json!({"scope": "chat", "match": rule});
    let long: Vec<String> = (0..1000).map(|number| format!("name {number}")).collect();
    let cases = [
        (json!({"scope": "chat", "until": "2020-01-01T00:00:00Z"}), "/remember/until", "past"),
        (json!({"scope": "chat", "until": scene.now()}), "/remember/until", "past"),
        (json!({"scope": "chat", "until": "tomorrow"}), "/remember/until", "is not a time"),
        (json!({"scope": "chat", "until": "2999-01-01T00:00:00Z"}), "/remember/until", "ten years"),
        (json!({"scope": "chat", "uses": 0}), "/remember/uses", "1 to"),
        (json!({"scope": "chat", "uses": 1_000_001}), "/remember/uses", "1 to"),
        (rule(json!({"when": "/amount", "more": 5})), "/remember/match", "unknown key"),
        (rule(json!({"when": "amount", "over": 5})), "/remember/match", "JSON pointer"),
        (rule(json!({"when": "/to", "matches": "("})), "/remember/match", "regular expression"),
        (rule(json!({"when": "/amount", "over": 50})), "/remember/match", "does not hold"),
        (rule(json!({"when": "/purpose", "equals": "rent"})), "/remember/match", "does not hold"),
        (rule(json!({"when": "/to", "one_of": long})), "/remember/match", "larger than"),
    ];
    for (remember, pointer, text) in cases {
        let (status, problem) = scene.decide("ann", "c", json!({"approved": true, "remember": remember})).await;
        assert_eq!((status, problem["pointer"].as_str()), (422, Some(pointer)), "{remember}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(text)), "{remember}: {problem}");
    }
    for body in [
        json!({"approved": true, "remember": {}}),
        json!({"approved": true, "remember": {"scope": "everybody"}}),
        json!({"approved": true, "remember": {"scope": "chat", "match": "anything"}}),
        json!({"approved": true, "remember": {"scope": "chat", "uses": 1.5}}),
        json!({"approved": true, "remember": {"scope": "chat", "for": "ever"}}),
        json!({"approved": false, "remember": {"scope": "chat"}}),
        json!({"output": 1, "remember": {"scope": "chat"}}),
    ] {
        let (status, problem) = scene.decide("ann", "c", body.clone()).await;
        assert_eq!(status, 422, "{body}: {problem}");
    }
    assert_eq!((scene.grants("ann").await.len(), scene.runs.load(Ordering::SeqCst)), (0, 0));
    assert_eq!(scene.decide("ann", "c", json!({"approved": true})).await, (200, json!({"ok": true})));
}

/// A grant is one person's decision, and never more than that person could decide alone.
#[tokio::test]
async fn a_grant_needs_the_right_to_decide_alone() {
    let yes = || json!({"approved": true, "remember": {"scope": "subject", "match": "tool"}});
    // With a quorum.
    let scene = Scene::with(|pay| pay.approvers(finance().quorum(2))).await;
    assert!(!scene.runs_at_once("c", "pay 50").await);
    let (_, inbox) = scene.ask("bob", Method::GET, "/api/approvals", &Value::Null).await;
    assert_eq!(inbox[0]["allowed"], json!(["approve", "deny"]));
    assert_eq!(scene.decide("bob", "c", yes()).await.0, 403);
    assert_eq!(scene.decide("bob", "c", json!({"approved": true})).await.0, 200);
    assert_eq!(scene.decide("carol", "c", yes()).await.0, 403, "nor by the last of them");
    assert_eq!(scene.runs.load(Ordering::SeqCst), 0);
    // Without the right to decide at all.
    let later = finance().escalating(Duration::from_secs(60), ["group:directors"]).expect("names");
    let scene = Scene::with(|pay| pay.approvers(later)).await;
    assert!(!scene.runs_at_once("c", "pay 50").await);
    for (who, wanted) in [("ann", 403), ("eve", 404), ("fred", 404), ("dora", 404), ("root", 403)] {
        assert_eq!(scene.decide(who, "c", yes()).await.0, wanted, "{who}");
    }
    // Those of the escalation decide about this call, and could not decide about the next one at once.
    scene.server.clock.advance(Duration::from_secs(61));
    let allowed = loop {
        let (_, inbox) = scene.ask("dora", Method::GET, "/api/approvals", &Value::Null).await;
        if inbox != json!([]) {
            break inbox[0]["allowed"].clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(allowed, json!(["approve", "deny", "edit", "answer"]));
    assert_eq!(scene.decide("dora", "c", yes()).await.0, 403);
    let (_, inbox) = scene.ask("bob", Method::GET, "/api/approvals", &Value::Null).await;
    assert_eq!(inbox[0]["allowed"], json!(["approve", "deny", "edit", "answer", "remember"]));
    assert_eq!(scene.decide("dora", "c", json!({"approved": true})).await.0, 200);
    assert_eq!(scene.grants("root").await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_tool_without_grants_makes_none_and_uses_none() {
    let scene = Scene::with(|pay| pay.grants(false)).await;
    assert!(!scene.runs_at_once("c", "pay 50").await);
    let (_, holds) = scene.ask("ann", Method::GET, "/api/chat/c/holds", &Value::Null).await;
    assert_eq!(holds[0]["allowed"], json!(["approve", "deny", "edit", "answer"]));
    let (status, problem) = scene.decide("ann", "c", json!({"approved": true, "remember": {"scope": "chat"}})).await;
    assert_eq!((status, &problem["type"]), (403, &json!("urn:holdpoint:problem:decision-not-allowed")), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("grants = false")), "{problem}");
    assert_eq!(scene.runs.load(Ordering::SeqCst), 0);
    // Switched off later, what was granted before is not used.
    let scene = Scene::set().await;
    scene.granted("ann", "c", json!({"scope": "subject", "match": "tool"})).await;
    assert!(scene.runs_at_once("c", "pay 60").await);
    scene.server.server.runtime().set_tools(tools([pay(&scene.runs).grants(false)]));
    assert!(!scene.runs_at_once("d", "pay 60").await);
    assert_eq!(scene.state().await, "suspended");
}

/// A grant counts for the tool that it was made for: one of the same name from elsewhere, with another schema or under
/// another policy is another tool.
#[tokio::test]
async fn another_tool_of_the_same_name_is_not_covered() {
    let endpoint = || ToolSource::Endpoint { method: "POST".to_owned(), url: "https://evil.example".to_owned() };
    let over = |limit: i64| Condition::over("/amount", limit).expect("a good rule");
    type Change = Box<dyn Fn(ToolBuilder) -> ToolBuilder>;
    let others: [(&str, Change); 8] = [
        (
            "of an MCP server",
            Box::new(|pay| pay.origin(ToolOrigin::Mcp { server: "evil".to_owned(), tool: "pay".to_owned() })),
        ),
        ("of the settings", Box::new(|pay| pay.source(ToolSource::Settings))),
        ("an endpoint", Box::new(move |pay| pay.source(endpoint()))),
        ("with another schema", Box::new(|pay| pay.schema(json!({"type": "object", "required": ["amount"]})))),
        ("with a rule", Box::new(move |pay| pay.approval(over(10)))),
        ("with a check", Box::new(|pay| pay.approve_if(|_: Value, _| async { Ok(Some("why not".to_owned())) }))),
        ("with others who decide", Box::new(|pay| pay.approvers(finance()))),
        (
            "with an escalation",
            Box::new(|pay| {
                pay.approvers(Approvers::default().escalating(Duration::from_secs(9), ["group:x"]).expect("names"))
            }),
        ),
    ];
    let scene = Scene::set().await;
    scene.granted("ann", "c", json!({"scope": "subject", "match": "tool"})).await;
    for (chat, (what, change)) in others.iter().enumerate() {
        scene.server.server.runtime().set_tools(tools([change(pay(&scene.runs))]));
        assert!(!scene.runs_at_once(&format!("chat {chat}"), "pay 60").await, "{what}");
        assert_eq!(scene.state().await, "suspended", "{what}");
    }
    scene.server.server.runtime().set_tools(tools([locate()]));
    assert_eq!(scene.state().await, "suspended", "it is not there");
    // What says nothing about the call may change, and the tool itself may come back.
    scene.server.server.runtime().set_tools(tools([pay(&scene.runs).title("Pay").approval_timeout(None)]));
    assert!(scene.runs_at_once("again", "pay 60").await);
    assert_eq!(scene.state().await, "active");
}

#[tokio::test]
async fn a_browser_tool_runs_without_a_question() {
    let scene = Scene::set().await;
    let kinds = scene.say("c", "where am I").await;
    assert!(!kinds.iter().any(|kind| kind == "tool-input-available"), "{kinds:?}");
    assert_eq!(scene.decide("ann", "c", json!({"approved": true, "remember": {"scope": "subject"}})).await.0, 200);
    let kinds = scene.say("d", "where am I").await;
    let of_call: Vec<&String> = kinds.iter().filter(|kind| kind.starts_with("tool-")).collect();
    assert_eq!(of_call, ["tool-input-start", "tool-input-delta", "tool-input-available"], "{kinds:?}");
    let (_, holds) = scene.ask("ann", Method::GET, "/api/chat/d/holds", &Value::Null).await;
    assert_eq!((&holds[0]["kind"], &holds[0]["state"]), (&json!("frontend"), &json!("waiting")));
}

#[tokio::test]
async fn the_same_decision_again_makes_no_second_grant() {
    let scene = Scene::set().await;
    assert!(!scene.runs_at_once("c", "pay 50").await);
    let path = format!("/api/approvals/{}", scene.approval("c").await);
    let remember = json!({"approved": true, "remember": {"scope": "subject", "uses": 5}});
    assert_eq!(scene.ask("ann", Method::POST, &path, &remember).await.0, 200);
    let again = scene.ask("ann", Method::POST, &path, &remember).await;
    assert_eq!(again, (200, json!({"ok": true, "ignored": true})));
    for other in [
        json!({"approved": true}),
        json!({"approved": true, "remember": {"scope": "chat"}}),
        json!({"approved": false}),
    ] {
        assert_eq!(scene.ask("ann", Method::POST, &path, &other).await.0, 409, "{other}");
    }
    assert_eq!(scene.grants("ann").await.len(), 1);
}

#[tokio::test]
async fn a_subject_has_a_limited_number_of_grants() {
    let scene = Scene::set().await;
    let mut grants = Vec::new();
    for chat in ["c", "d", "e"] {
        grants.push(scene.granted("ann", chat, json!({"scope": "chat"})).await);
    }
    assert!(!scene.runs_at_once("f", "pay 50").await);
    let one_more = json!({"approved": true, "remember": {"scope": "chat"}});
    let (status, problem) = scene.decide("ann", "f", one_more.clone()).await;
    assert_eq!((status, &problem["type"]), (429, &json!("urn:holdpoint:problem:too-many-grants")), "{problem}");
    // Those that have ended do not count.
    assert_eq!(scene.revoke("ann", &grants[1]).await.0, 200);
    assert_eq!(scene.decide("ann", "f", one_more).await.0, 200);
}

#[tokio::test]
async fn the_list_has_pages() {
    let scene = Scene::set().await;
    let mut made = Vec::new();
    for chat in ["c", "d", "e"] {
        made.push(scene.granted("ann", chat, json!({"scope": "chat"})).await);
        scene.server.clock.advance(Duration::from_secs(1));
    }
    made.reverse();
    let (mut query, mut seen) = ("?limit=1".to_owned(), Vec::new());
    loop {
        let asked = scene.client.get(scene.server.url(&format!("/api/grants{query}"))).bearer_auth("key-of-ann");
        let answer = asked.send().await.expect("an answer");
        let link = answer.headers().get("link").map(|link| link.to_str().expect("text").to_owned());
        let page: Vec<Value> = serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
        seen.extend(page.iter().map(|grant| grant["id"].as_str().expect("an id").to_owned()));
        let Some(link) = link else { break };
        query = link.split(['<', '>']).nth(1).expect("a link").to_owned();
    }
    assert_eq!(seen, made, "newest first");
    assert_eq!(scene.ask("ann", Method::GET, "/api/grants?after=zz", &Value::Null).await.0, 422);
}
