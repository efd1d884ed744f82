//! The reducer and the checker against the real thing: the same sequences go through the client classes of `ai` 6.0.326 and
//! 7.0.169 (`tests/sdk/run.mjs`), and must give the same messages, throw in the same places, and loop where the checker says so.

mod sequences;

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use holdpoint_protocol::{
    check::{Checker, Options, Rule, Violation},
    message::{Part, ToolState, UiMessage},
    reduce::{Reducer, Sdk},
    sse::{Decoder, Event},
};
use serde_json::{Value, json};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the cases in Node and gives the results back, in order.
fn play(cases: &[Value]) -> Vec<Value> {
    let folder = root().join("tests/sdk");
    assert!(root().join("node_modules/ai7").is_dir(), "the SDK is not installed: run `cargo xtask setup`");
    let mut node = Command::new("node")
        .arg("run.mjs")
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node can be started: `cargo xtask setup` says how to get it");
    let document = json!({ "cases": cases }).to_string();
    let mut stdin = node.stdin.take().expect("stdin is piped");
    let writer = std::thread::spawn(move || stdin.write_all(document.as_bytes()));
    let output = node.wait_with_output().expect("node ends");
    writer.join().expect("the writer does not panic").expect("node reads its input");
    assert!(output.status.success(), "run.mjs failed");
    let mut results: Value = serde_json::from_slice(&output.stdout).expect("run.mjs prints JSON");
    match results["results"].take() {
        Value::Array(results) => results,
        other => panic!("no results but {other}"),
    }
}

/// One segment as the bytes of its response.
fn body(segment: &Value) -> Option<Vec<u8>> {
    if let Some(sse) = segment["sse"].as_str() {
        return Some(sse.as_bytes().to_vec());
    }
    let chunks = segment["chunks"].as_array()?;
    let mut out = String::new();
    for chunk in chunks {
        match chunk.as_str() {
            Some("[DONE]") => out.push_str("data: [DONE]\n\n"),
            _ => out.push_str(&format!("data: {chunk}\n\n")),
        }
    }
    Some(out.into_bytes())
}

/// What we say the client does with the segments of a case: its assistant message, and in which segment it throws.
fn reduce(case: &Value, sdk: Sdk) -> (Option<Value>, Option<usize>) {
    let mut shown: Option<UiMessage> = None;
    for (number, segment) in case["segments"].as_array().expect("segments").iter().enumerate() {
        if let (Some(message), Some(actions)) = (&mut shown, segment["before"].as_array()) {
            actions.iter().for_each(|action| act(message, action, sdk));
        }
        let mut reducer = match shown.take() {
            Some(message) => Reducer::continue_from(sdk, message),
            None => Reducer::new(sdk, "id".into()),
        };
        let mut thrown = false;
        let mut decoder = Decoder::new(1 << 20);
        decoder.feed(&body(segment).expect("an HTTP segment"), |event| {
            let Event::Data { data, .. } = event else { return };
            if thrown || data == b"[DONE]" {
                return;
            }
            let applied = sdk.read(data).is_ok_and(|chunk| reducer.apply_read(&chunk).is_ok());
            thrown = !applied;
        });
        shown = reducer.written();
        if thrown {
            return (shown.map(|message| json!(message)), Some(number));
        }
    }
    (shown.map(|message| json!(message)), None)
}

/// What the application does between two segments.
fn act(message: &mut UiMessage, action: &Value, sdk: Sdk) {
    for part in &mut message.parts {
        let Part::Tool(tool) = part else { continue };
        if let Some(id) = action["approve"].as_str()
            && tool.state == ToolState::ApprovalRequested
            && let Some(approval) = tool.fields.approval.as_mut().filter(|approval| approval.id.as_str() == id)
        {
            tool.state = ToolState::ApprovalResponded;
            approval.approved = action["approved"].as_bool();
            approval.reason = action["reason"].as_str().map(str::to_owned);
        }
        if action["toolCallId"].as_str() == Some(tool.tool_call_id.as_str()) {
            let error = action["errorText"].as_str();
            tool.state = if error.is_some() { ToolState::OutputError } else { ToolState::OutputAvailable };
            tool.fields.output = action.get("output").cloned();
            tool.fields.error_text = error.map(str::to_owned);
            let granted = tool.fields.approval.as_ref().is_some_and(|approval| approval.approved == Some(true));
            if sdk == Sdk::V7 && !granted {
                tool.fields.approval = None;
            }
        }
    }
}

fn check(case: &Value) -> Vec<Violation> {
    let mut checker = Checker::new(Options::default());
    for segment in case["segments"].as_array().expect("segments") {
        checker.feed(&body(segment).expect("an HTTP segment"));
    }
    checker.finish();
    checker.take_violations()
}

/// Whether our model of a client covers the case: plain HTTP, one assistant message, nothing that needs a request to be known.
fn is_plain(case: &Value) -> bool {
    let segments = case["segments"].as_array().expect("segments");
    let special =
        |segment: &Value| ["ws", "status", "resume", "regenerate"].iter().any(|key| segment.get(*key).is_some());
    let new_message = |segment: &Value| {
        segment["before"].as_array().is_some_and(|all| all.iter().any(|action| action.get("user").is_some()))
    };
    case.get("history").is_none() && !segments.iter().any(special) && !segments.iter().skip(1).any(new_message)
}

/// The last assistant message, ids that the client made up aside.
fn assistant(result: &Value) -> Option<Value> {
    let messages = result["messages"].as_array().expect("messages");
    messages.iter().rev().find(|message| message["role"] == "assistant").cloned()
}

fn cases() -> Vec<Value> {
    let text = fs::read_to_string(root().join("fixtures/sequences.json")).expect("fixtures/sequences.json");
    let mut document: Value = serde_json::from_str(&text).expect("the sequences are valid");
    let mut cases = match document["cases"].take() {
        Value::Array(cases) => cases,
        other => panic!("no cases but {other}"),
    };
    cases.extend(sequences::generate(200));
    cases
}

#[test]
fn the_reducer_and_the_checker_agree_with_the_sdk() {
    let cases: Vec<Value> = cases().into_iter().filter(is_plain).collect();
    let results = play(&cases);
    assert_eq!(results.len(), cases.len());
    assert!(cases.len() >= 350, "only {} sequences", cases.len());
    let mut wrong = Vec::new();
    for (case, result) in cases.iter().zip(&results) {
        let name = case["name"].as_str().expect("a name");
        for (sdk, key) in [(Sdk::V6, "v6"), (Sdk::V7, "v7")] {
            let (message, thrown) = reduce(case, sdk);
            let theirs = result[key]["failedSegment"].as_u64().map(|at| at as usize);
            if thrown != theirs {
                wrong.push(format!(
                    "{name} ({key}): we say it throws in {thrown:?}, it throws in {theirs:?}: {}",
                    result[key]["error"]
                ));
            }
            // Where no `start` brings an id the client makes one up.
            let (mut ours, mut shown) = (message, assistant(&result[key]));
            if ours.as_ref().is_some_and(|message| message["id"] == "id") {
                ours.iter_mut().chain(&mut shown).for_each(|message| message["id"] = Value::Null);
            }
            if !same(&ours.clone().unwrap_or_default(), &shown.clone().unwrap_or_default()) {
                wrong.push(format!("{name} ({key}):\n  ours   {}\n  theirs {}", text(&ours), text(&shown)));
            }
        }
        wrong.extend(disagreements(name, case, result));
    }
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
}

/// Equal to JavaScript, which has one kind of number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

fn text(value: &Option<Value>) -> String {
    value.as_ref().map_or("nothing".to_owned(), Value::to_string)
}

/// Where the checker and the SDK can't both be right.
fn disagreements(name: &str, case: &Value, result: &Value) -> Vec<String> {
    let violations = check(case);
    let mut wrong = Vec::new();
    for key in ["v6", "v7"] {
        let result = &result[key];
        // An `error` chunk makes the client fail as it should.
        let told = case.to_string().contains("\"error\"") || case.to_string().contains("\\\"error\\\"");
        if !result["error"].is_null() && violations.is_empty() && !told {
            wrong.push(format!("{name} ({key}): throws {}, and the checker finds nothing", result["error"]));
        }
        let loops = result["autoSend"]["toolCalls"] == true || result["autoSend"]["approvals"] == true;
        let auto_send = |v: &Violation| matches!(v.rule, Rule::A1 | Rule::A2 | Rule::A4 | Rule::A6);
        if result["error"].is_null() && loops && violations.is_empty() {
            wrong.push(format!("{name} ({key}): sends for ever, and the checker finds nothing"));
        }
        let tool_calls = |v: &Violation| matches!(v.rule, Rule::A1 | Rule::A2 | Rule::A6);
        if result["error"].is_null() && !loops && violations.iter().all(auto_send) && violations.iter().any(tool_calls)
        {
            wrong.push(format!("{name} ({key}): does not send, and the checker says {violations:?}"));
        }
    }
    wrong
}

#[test]
fn generated_sequences_are_valid() {
    for case in sequences::generate(200) {
        let violations = check(&case);
        assert!(violations.is_empty(), "{}: {violations:?}\n{case}", case["name"]);
    }
}
