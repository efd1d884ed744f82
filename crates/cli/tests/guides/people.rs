//! The guides of who decides: keys and tokens, approvers, grants, the console and the record.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    code,
    page::{root, shows},
    reader::Reader,
};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The answer of `GET /api/me` is what the page says, times excepted.
fn is_identity(said: &str, expected: &Value) {
    let (mut said, mut expected) = (json(said), expected.clone());
    for me in [&mut said, &mut expected] {
        me.as_object_mut().expect("an object").remove("expiresAt");
    }
    assert_eq!(said, expected);
}

pub(crate) async fn authentication(reader: &mut Reader) {
    let me = reader.next("Authentication", "json");
    let me = json(&me.text);

    let new = reader.next("Keys", "sh");
    let printed = reader.run(&new);
    let (key, entry) = printed.split_once("\n\n").expect("the key, and below it the entry");
    let shown = reader.next("Keys", "toml");
    let without_digest =
        |text: &str| text.lines().filter(|line| !line.starts_with("key_sha256")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_digest(entry), without_digest(&shown.text), "{}", shown.place);
    assert_eq!(entry.lines().count(), shown.text.lines().count());
    reader.write("holdpoint.toml", entry);
    let start = reader.next("Keys", "sh");
    reader.serve(&start);
    let ask = reader.next("Keys", "sh");
    is_identity(&reader.run(&ask.with("KEY", key)), &me);
    assert_eq!(reader.ask("wrong", Method::GET, "/api/me", None).await.0, 401);
    let own = format!("printf %s {key} | {}", reader.page.promises("holdpoint key hash --subject carol"));
    let hashed = reader.run(&reader.block(&own));
    assert!(entry.contains(hashed.lines().nth(1).expect("a digest")), "the same key has the same digest: {hashed}");

    // An issuer that can't be reached: the server starts, and can't tell whether a token is good.
    let settings = reader.next("Tokens of an identity provider", "toml");
    reader.save("holdpoint.toml", &settings.with("https://login.example/realms/shop/protocol", "http://127.0.0.1:1"));
    reader.serve_settings();

    let heading = "A worked example";
    let (issuer, settings) = (reader.next(heading, "js"), reader.next(heading, "toml"));
    reader.save(reader.page.promises("`issuer.mjs`").trim_matches('`'), &issuer);
    reader.page.promises("The server starts without them; until they are there, a token gets 503");
    let token = reader.run(&reader.block("node issuer.mjs"));
    let (status, said) = reader.ask(token.trim(), Method::GET, "/api/me", None).await;
    assert_eq!(status, 503, "{said}");
    reader.save(reader.page.promises("`holdpoint.toml`").trim_matches('`'), &settings);
    let (start, ask) = (reader.next(heading, "sh"), reader.next(heading, "sh"));
    reader.serve(&start);
    reader.page.promises("It answers with the identity at the top of this page.");
    is_identity(&reader.run(&ask), &me);

    // And the agent works for whoever has the token, and for nobody else.
    let token = fs::read_to_string(reader.path("clone/token.txt")).expect("the token");
    let token = token.trim();
    let shown = reader.say_as(token, "hers", "send 50 dollars to Hanako").await;
    assert!(shown.contains("tool-approval-request"), "{shown}");
    let body = json!({"id": "theirs", "messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(reader.ask("", Method::POST, "/api/chat", Some(&body)).await.0, 401);
    let open = reader.get_as(token, "/api/approvals").await;
    let path = format!("/api/approvals/{}", open[0]["approvalId"].as_str().expect("an id"));
    assert_eq!(reader.ask(token, Method::POST, &path, Some(&json!({"approved": true}))).await.0, 200);
    assert_eq!(reader.settled_as(token, "hers", "process_payment").await["state"], "output-available");
    let block = reader.next("A login of your own", "rust");
    code::compiles(&block);
}

pub(crate) async fn approvers(reader: &mut Reader) {
    let settings = reader.next("Approvers", "toml");
    reader.save("holdpoint.toml", &settings);
    let start = reader.next("Try it", "sh");
    reader.serve(&start);
    let ask = reader.next("Try it", "sh");
    let shown = reader.run(&ask);
    assert!(shown.contains("tool-approval-request"), "{shown}");
    let [ann, bob, carol] = ["key-of-ann-for-a-trial", "key-of-bob-for-a-trial", "key-of-carol-for-a-trial"];

    // What the page says of those who may not decide.
    let open = reader.get_as(bob, "/api/approvals").await;
    assert_eq!(open[0]["requestedBy"], "ann", "{open}");
    let path = format!("/api/approvals/{}", open[0]["approvalId"].as_str().expect("an id"));
    reader.page.promises("get `403` (`not-an-approver`) if the policy does not name them");
    let (status, said) = reader.ask(ann, Method::POST, &path, Some(&json!({"approved": true}))).await;
    assert!(status == 403 && said.contains("not-an-approver"), "{status} {said}");
    reader.page.promises("The only decisions are yes and no");
    let edit = json!({"approved": true, "input": {"amount": 1, "recipient": "Bob", "currency": "USD"}});
    assert_eq!(reader.ask(bob, Method::POST, &path, Some(&edit)).await.0, 403);
    reader.page.promises("an approver sees the call and its input, and no messages");
    assert_eq!(reader.ask(bob, Method::GET, "/api/chat/rent/messages", None).await.0, 404);

    let approve = reader.next("Try it", "sh");
    let printed = reader.run(&approve);
    let expected = reader.next("Try it", "text");
    shows(&expected, &printed);
    let call = reader.settled_as(ann, "rent", "process_payment").await;
    assert_eq!((&call["state"], &call["input"]["amount"]), (&json!("output-available"), &json!(250)), "{call}");
    reader.page.promises("One denial denies");
    reader.say_as(ann, "denied", "send 300 dollars to Hanako").await;
    let open = reader.get_as(carol, "/api/approvals").await;
    let path = format!("/api/approvals/{}", open[0]["approvalId"].as_str().expect("an id"));
    assert_eq!(reader.ask(carol, Method::POST, &path, Some(&json!({"approved": false}))).await.0, 200);
    assert_eq!(reader.settled_as(ann, "denied", "process_payment").await["approval"]["approved"], false);

    reader
        .page
        .promises("A policy that nobody could ever satisfy is an error at the start, and the message names the key");
    reader.save("holdpoint.toml", &settings.with(r#"["group:finance", "subject:carol"]"#, r#"["self"]"#));
    let (code, said) = reader.fails("holdpoint --config holdpoint.toml");
    assert!(code == Some(2) && said.contains("exclude_self"), "{said}");

    let block = reader.next("In Rust", "rust,ignore");
    code::compiles(&block);
    code::approvers().expect("a good tool");
}

pub(crate) async fn grants(reader: &mut Reader) {
    let start = reader.next("Make one", "sh");
    reader.serve(&start);
    let ask = reader.next("Make one", "sh");
    let printed = reader.run(&ask);
    assert!(printed.contains("tool-approval-request"), "{printed}");
    let request = reader.open_request().await;
    reader.page.promises("`allowed` has `remember` if you may remember your approval.");
    assert!(request["allowed"].as_array().expect("a list").contains(&json!("remember")), "{request}");
    let approve = reader.next("Make one", "sh").with("APPROVAL_ID", request["approvalId"].as_str().expect("an id"));
    let answer = json(&reader.run(&approve));
    reader.page.promises(r#"`{"ok": true, "grant": "grant_…"}`"#);
    assert!(answer["ok"] == true && answer["grant"].as_str().is_some_and(|id| id.starts_with("grant_")), "{answer}");
    assert_eq!(reader.settled("paying", "process_payment").await["state"], "output-available");

    // The next one is made at once, by the grant.
    let again = reader.next("Make one", "sh");
    let printed = reader.run(&again);
    assert!(printed.contains("tool-output-available") && !printed.contains("tool-approval-request"), "{printed}");
    let used = reader.get("/api/chat/paying%20again/holds").await;
    assert!(used.to_string().contains(answer["grant"].as_str().expect("an id")), "{used}");
    let shown = reader.say("large", "send 200 dollars to Jun").await;
    assert!(shown.contains("tool-approval-request"), "the rule does not cover it: {shown}");
    reader.decide(&json!({"approved": false})).await;

    let never = reader.next("What it never does", "toml");
    reader.save("holdpoint.toml", &never);
    let list = reader.next("See and revoke them", "sh");
    let printed = json(&reader.run(&list));
    assert_eq!((&printed[0]["id"], &printed[0]["state"]), (&answer["grant"], &json!("active")), "{printed}");
    let revoke = reader.next("See and revoke them", "sh");
    reader.run(&revoke);
    assert_eq!(reader.get("/api/grants").await[0]["state"], "revoked");
    let shown = reader.say("after", "send 60 dollars to Jun").await;
    assert!(shown.contains("tool-approval-request"), "it starts nothing after its revocation: {shown}");
    reader.decide(&json!({"approved": false})).await;

    reader.serve_settings();
    reader.page.promises("Both are `403` (`decision-not-allowed`)");
    reader.say("none", "send 50 dollars to Hanako").await;
    let request = reader.open_request().await;
    assert!(!request["allowed"].as_array().expect("a list").contains(&json!("remember")), "{request}");
    let path = format!("/api/approvals/{}", request["approvalId"].as_str().expect("an id"));
    let remember = json!({"approved": true, "remember": {"scope": "chat"}});
    let (status, said) = reader.post(&path, &remember).await;
    assert!(status == 403 && said.to_string().contains("decision-not-allowed"), "{status} {said}");
    let block = reader.next("In Rust", "rust,ignore");
    code::compiles(&block);
}

/// What people do in the console is sent by its page; the tests of `apps/web/e2e` press its buttons.
pub(crate) async fn console(reader: &mut Reader) {
    let start = reader.block("holdpoint");
    reader.serve(&start);
    for path in ["/", "/inbox", "/hold/approval_1"] {
        let (status, page) = reader.ask("", Method::GET, path, None).await;
        assert!(status == 200 && page.contains("<html"), "{path}: {status}");
    }
    // The four buttons.
    let edited = json!({"amount": 20, "recipient": "Hanako", "currency": "USD"});
    for (button, decision, state, shown) in [
        ("**Approve** | the tool runs with the input on the card", json!({"approved": true}), "output-available", "50"),
        (
            "**Deny** | nothing runs. The assistant gets your reason",
            json!({"approved": false, "reason": "too much"}),
            "output-denied",
            "too much",
        ),
        (
            "**Edit** | you change the input. The tool runs with yours",
            json!({"approved": true, "input": edited}),
            "output-available",
            "20",
        ),
        (
            "**Answer** | nothing runs. What you write is the tool's result",
            json!({"output": "paid in cash"}),
            "output-available",
            "paid in cash",
        ),
    ] {
        reader.page.promises(button);
        let chat = button.split("**").nth(1).expect("a name");
        reader.say(chat, "send 50 dollars to Hanako").await;
        reader.decide(&decision).await;
        let call = reader.settled(chat, "process_payment").await;
        assert!(call["state"] == state && call.to_string().contains(shown), "{button}: {call}");
    }
    // What the page calls its buttons is what the console calls them.
    let sources = sources("apps/web/src");
    for label in reader.page.bold() {
        let label = label.trim_end_matches('…');
        assert!(sources.contains(label), "the console has no `{label}`");
    }
    reader.page.promises(r#"`decisions = ["approve", "deny"]` in [its settings](../settings.md) switches them off."#);
    reader.write("holdpoint.toml", "[tools.process_payment]\ndecisions = [\"approve\", \"deny\"]\n");
    reader.serve_settings();
    reader.say("only", "send 50 dollars to Hanako").await;
    let allowed = reader.open_request().await["allowed"].clone();
    assert!(!allowed.to_string().contains("edit") && !allowed.to_string().contains("answer"), "{allowed}");
}

/// All TypeScript below a folder.
pub(crate) fn sources(folder: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                // What is installed and built is not ours.
                folders.extend((!path.ends_with("node_modules") && !path.ends_with(".next")).then_some(path));
            } else if path.extension().is_some_and(|ending| ending == "ts" || ending == "tsx") {
                text += &fs::read_to_string(path).expect("text");
            }
        }
    }
    text
}

pub(crate) async fn record(reader: &mut Reader) {
    let start = reader.next("Read it", "sh");
    reader.serve(&start);
    let pay = reader.next("Read it", "sh");
    reader.run(&pay);
    reader.settled("rent", "process_payment").await;

    let read = reader.next("Read it", "sh");
    let printed = reader.run(&read);
    let lines: Vec<Value> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let decided = lines.iter().find(|line| line["step"] == "decided").expect("a decision");
    let shown = json(&reader.next("Read it", "json").text);
    let keys = |line: &Value| line.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(decided), keys(&shown), "{decided}");
    for key in ["chatId", "toolName", "step", "channel", "decision"] {
        assert_eq!(decided[key], shown[key], "{key}");
    }
    // The lines over HTTP, those of the tool since then, and those of the command are the same.
    let steps: Vec<&Value> = lines.iter().map(|line| &line["step"]).collect();
    assert_eq!(steps, ["proposed", "asked", "decided", "started", "settled"].repeat(3), "{printed}");
    let known = reader.page.rows("| step | meaning |");
    for step in steps {
        assert!(known.contains(&format!("`{}`", step.as_str().expect("text"))), "the table has no {step}");
    }

    let check = reader.next("Check it", "sh");
    reader.run(&check);
    let keep = reader.next("Check it", "sh");
    reader.run(&keep);
    // Somebody who can write to the database changes who was paid.
    reader.stop();
    let database = rusqlite::Connection::open(reader.path("clone/holdpoint-data/holdpoint.db")).expect("the log");
    let changed = database
        .execute("UPDATE batches SET payload = CAST(replace(CAST(payload AS TEXT), 'Hanako', 'Hanaka') AS BLOB)", [])
        .expect("it can be changed");
    assert!(changed > 0);
    drop(database);
    let (code, said) = reader.fails("holdpoint verify");
    assert!(code == Some(1) && said.contains("rent"), "{said}");
    let against = "holdpoint verify --against kept.ndjson";
    assert!(keep.text.contains(against), "{}", keep.text);
    assert_eq!(reader.fails(against).0, Some(1));
    assert_eq!(reader.fails("holdpoint verify --data ./elsewhere").0, Some(2), "nothing could be read");

    // A key that is set later, and forgotten.
    let key = reader.next("Tickets", "toml");
    reader.save("keyed.toml", &key);
    reader.set("SECRETS_KEY", "sixteen characters or more");
    for _ in 0..2 {
        let start = reader.block("holdpoint --config keyed.toml");
        reader.serve(&start);
        reader.stop();
    }
    let (code, said) = reader.fails("holdpoint");
    assert!(code == Some(2) && said.contains("set `secrets_key`"), "{said}");
    let (code, said) = reader.fails("holdpoint doctor");
    assert!(code == Some(1) && said.contains("set `secrets_key`"), "{said}");
}
