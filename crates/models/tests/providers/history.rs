//! A history from the log: whatever became of a call, the provider gets a result for it.

use std::sync::Arc;

use holdpoint_protocol::{
    chunk::FinishReason,
    ids::{PartId, ToolCallId},
    message::UiMessage,
    request::ChatRequest,
};
use holdpoint_runtime::{
    Next, Runtime,
    clock::Timestamp,
    fact::{BlockKind, Cause, Fact, Outcome, TurnEnd},
    log::MemoryLog,
    model::Usage,
    subject::Subject,
    tool::{Tool, ToolContext},
    wire::{View, conversation},
};
use serde_json::{Value, json};

use crate::{
    ask, model,
    server::Fake,
    text,
    wires::{Answer, Called, Sent, SentCall, SentResult, Wire},
};

crate::for_all!(every_call_has_its_result, a_result_is_fed_back, a_call_that_was_cut_off_is_not_completed);

const AT: Timestamp = Timestamp(1);

fn user(id: &str, text: &str) -> Fact {
    let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
    let message: UiMessage = serde_json::from_value(message).expect("a message");
    Fact::Said { message, cut: None, next: None }
}

fn fact(fact: Value) -> Fact {
    serde_json::from_value(fact).expect("a fact")
}

fn turn(id: &str) -> [Fact; 2] {
    let started = json!({"fact": "turn-started", "message": id, "order": "together", "holdsText": false, "canAsk": false,
        "isResubmit": false, "model": "m", "at": 1});
    [fact(started), Fact::StepStarted]
}

fn called(call: &str) -> Fact {
    fact(json!({"fact": "called", "call": call, "by": "model", "name": "get_weather", "input": {"location": call},
        "execution": "server", "wait": "stream", "returns": "output", "needsApproval": false, "at": 1}))
}

fn settled(call: &str, outcome: Outcome, cause: Cause) -> Fact {
    Fact::Settled { call: ToolCallId::from(call), outcome, cause, at: AT, channel: None, is_repeatable: false }
}

fn step_ended() -> Fact {
    Fact::StepEnded { usage: Usage::default(), reason: FinishReason::ToolCalls, version: None, state: None }
}

/// A chat in which everything has happened that can happen to a call.
fn facts() -> Vec<Fact> {
    let error = |text: &str| Outcome::Error(text.to_owned());
    let mut facts = vec![user("u1", "Go")];
    facts.extend(turn("a1"));
    facts.push(Fact::BlockStarted { kind: BlockKind::Text, id: PartId::from("0") });
    facts.push(Fact::BlockDelta { id: PartId::from("0"), delta: "Let me see.".into() });
    facts.extend(["done", "denied", "expired", "crashed", "stopped"].map(called));
    facts.push(Fact::Invalid {
        call: ToolCallId::from("malformed"),
        name: "get_weather".into(),
        input: Value::String("{\"location\": ".into()),
        error: "the input is not valid JSON".into(),
        at: AT,
    });
    facts.push(step_ended());
    facts.push(settled("done", Outcome::Output(json!({"temperature": 21})), Cause::Ran));
    facts.push(settled("denied", Outcome::Denied { reason: Some("not now".into()) }, Cause::Decision));
    facts.push(settled("expired", error("Approval request timed out"), Cause::Expired));
    facts.push(settled("crashed", error("interrupted: outcome unknown"), Cause::Interrupted));
    facts.push(settled("stopped", error("stopped"), Cause::Stopped));
    facts.push(Fact::TurnEnded { end: TurnEnd::Stopped { reason: None }, at: AT });
    facts.push(user("u2", "Again"));
    facts.extend(turn("a2"));
    facts.extend([called("superseded"), step_ended()]);
    facts.push(settled("superseded", Outcome::Denied { reason: Some("superseded".into()) }, Cause::Superseded));
    facts.push(Fact::TurnEnded { end: TurnEnd::Superseded, at: AT });
    facts.push(user("u3", "Once more"));
    facts.extend(turn("a3"));
    // The server died here: the call has no outcome at all.
    facts.extend([called("lost"), step_ended(), Fact::TurnEnded { end: TurnEnd::Superseded, at: AT }]);
    facts.push(user("u4", "And now?"));
    facts
}

async fn every_call_has_its_result(wire: &dyn Wire) {
    let fake = Fake::start([wire.answer(&Answer { text: vec!["Well."], ..Answer::default() })]).await;
    let facts: Vec<Arc<Fact>> = facts().into_iter().map(Arc::new).collect();
    let events = ask(wire, &fake, conversation(&facts)).await;
    assert_eq!(text(&events), "Well.");
    let sent = wire.sent(&fake.asked()[0]);
    let (mut calls, mut results): (Vec<SentCall>, Vec<SentResult>) = Default::default();
    for (at, message) in sent.iter().enumerate() {
        if let Sent::Assistant { calls: made, .. } = message {
            // Right behind the calls, as many, and in their order.
            let Some(Sent::Results(told)) = sent.get(at + 1) else { panic!("no results: {sent:?}") };
            assert_eq!(made.len(), told.len(), "{sent:?}");
            for (call, result) in made.iter().zip(told) {
                assert_eq!(call.id, result.id);
                assert!(!call.id.is_empty() || call.name == result.name, "{sent:?}");
            }
            calls.extend(made.iter().cloned());
            results.extend(told.iter().cloned());
        }
    }
    assert_eq!(calls.len(), 8, "{sent:?}");
    assert!(calls.iter().all(|call| call.name == "get_weather" && call.input.is_object()), "{calls:?}");
    assert_eq!(calls[0].input, json!({"location": "done"}));
    assert_eq!(calls[5].input, json!({}), "what was not written is not made up");
    let expected = [
        "21",
        "User denied the tool call: not now",
        "Approval request timed out",
        "interrupted: outcome unknown",
        "stopped",
        r#"not valid JSON. It was: {\"location\":"#,
        "superseded",
        "was not run",
    ];
    for (result, expected) in results.iter().zip(expected) {
        // Gemini has results as JSON.
        let text = result.text.replace("\\\"", "\"");
        assert!(text.contains(&expected.replace("\\\"", "\"")), "{text} instead of {expected}");
    }
    let texts: Vec<&str> = sent
        .iter()
        .filter_map(|sent| match sent {
            Sent::User { texts, .. } => texts.first().map(String::as_str),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["Go", "Again", "Once more", "And now?"]);
    assert!(matches!(&sent[1], Sent::Assistant { text, .. } if text == "Let me see."), "{sent:?}");
}

/// A whole turn on the real driver: the provider calls, the tool runs, its output goes back, the provider answers.
async fn a_result_is_fed_back(wire: &dyn Wire) {
    let call = Called { name: "add", pieces: vec!["{\"a\":1,", "\"b\":2}"] };
    let first = Answer { text: vec!["Adding."], calls: vec![call], ..Answer::default() };
    let second = Answer { text: vec!["It is ", "3."], ..Answer::default() };
    let fake = Fake::start([wire.answer(&first), wire.answer(&second)]).await;
    let add = Tool::server("add", "Adds", |input: Value, _: ToolContext| async move {
        Ok(json!({"sum": input["a"].as_i64().unwrap_or(0) + input["b"].as_i64().unwrap_or(0)}))
    });
    let add = add.build().expect("a tool");
    let runtime = Runtime::builder(Arc::new(model(wire, &fake.url, Default::default())))
        .log(Arc::new(MemoryLog::default()))
        .tools([add].into_iter().collect())
        .start()
        .await
        .expect("starts");
    let body = json!({"id": "c", "messages": [{"role": "user", "content": "1 + 2?"}]});
    let body: ChatRequest = serde_json::from_value(body).expect("a body");
    let (_, mut response) = runtime.submit(&Subject::local(), body, View::default()).await.expect("taken");
    let mut written = Vec::new();
    while response.read(&mut written).await == Next::More {}
    let mut shown = String::new();
    written.into_iter().for_each(|written| {
        written.for_each(|chunk| shown.push_str(&serde_json::to_string(&chunk).expect("a chunk")));
    });
    for expected in ["Adding.", r#""output":{"sum":3}"#, "It is ", "\"finishReason\":\"stop\""] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    // Two steps: the usage of both, and the parts that the provider tells.
    let (cached, reasoning) = wire.parts_of_usage();
    for (name, tokens) in [("cachedPromptTokens", cached), ("reasoningTokens", reasoning)] {
        let part = format!(r#""{name}":{}"#, tokens * 2);
        assert_eq!(shown.contains(&part), tokens > 0, "{part} in {shown}");
        assert_eq!(shown.contains(name), tokens > 0, "{shown}");
    }
    assert!(shown.contains(r#""promptTokens":24"#) && shown.contains(r#""completionTokens":68"#), "{shown}");

    let asked = fake.asked();
    assert_eq!(asked.len(), 2);
    let sent = wire.sent(&asked[1]);
    let [Sent::User { .. }, Sent::Assistant { text, calls }, Sent::Results(results)] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!((text.as_str(), calls.len(), results.len()), ("Adding.", 1, 1));
    assert_eq!((calls[0].name.as_str(), &calls[0].input), ("add", &json!({"a": 1, "b": 2})));
    assert!(results[0].text.contains("\"sum\":3"), "{results:?}");
}

/// The user and the model are told why it did not run, and nobody is shown an input that the model has not written.
async fn a_call_that_was_cut_off_is_not_completed(wire: &dyn Wire) {
    if !wire.streams_arguments() {
        return;
    }
    let call = Called { name: "add", pieces: vec!["{\"a\":1,", "\"b\":2"] };
    let end = crate::wires::End::Length;
    let first = Answer { reasoning: vec!["Hm."], calls: vec![call], end, ..Answer::default() };
    let second = Answer { text: vec!["Well."], ..Answer::default() };
    let fake = Fake::start([wire.answer(&first), wire.answer(&second)]).await;
    let add = Tool::server("add", "Adds", |_: Value, _: ToolContext| async move { Ok(json!("it ran")) });
    let runtime = Runtime::builder(Arc::new(model(wire, &fake.url, Default::default())))
        .log(Arc::new(MemoryLog::default()))
        .tools([add.build().expect("a tool")].into_iter().collect())
        .start()
        .await
        .expect("starts");
    let mut shown = String::new();
    for text in ["1 + 2?", "And now?"] {
        let body = json!({"id": "c", "messages": [{"role": "user", "content": text}]});
        let body: ChatRequest = serde_json::from_value(body).expect("a body");
        let (_, mut response) = runtime.submit(&Subject::local(), body, View::default()).await.expect("taken");
        let mut written = Vec::new();
        while response.read(&mut written).await == Next::More {}
        written.into_iter().for_each(|written| {
            written.for_each(|chunk| shown.push_str(&serde_json::to_string(&chunk).expect("a chunk")));
        });
    }
    assert!(shown.contains("the token limit cut this call off") && shown.contains("Well."), "{shown}");
    assert!(!shown.contains("not valid JSON") && !shown.contains("it ran"), "{shown}");
    let sent = wire.sent(&fake.asked()[1]);
    let calls: Vec<&SentCall> = sent
        .iter()
        .flat_map(|sent| match sent {
            Sent::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        })
        .collect();
    assert_eq!((calls.len(), &calls[0].input), (1, &json!({})), "{sent:?}");
    let results = sent.iter().find_map(|sent| match sent {
        Sent::Results(results) => Some(results),
        _ => None,
    });
    assert!(results.is_some_and(|results| results[0].text.contains("token limit")), "{sent:?}");
}
