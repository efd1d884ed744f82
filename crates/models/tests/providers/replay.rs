//! Reasoning goes back to the provider it came from, exactly as it was, and to nobody else.

use std::sync::Arc;

use futures::StreamExt;
use holdpoint_protocol::{ids::ChatId, request::ChatRequest};
use holdpoint_runtime::{
    Next, Runtime,
    log::MemoryLog,
    model::{
        Model, ModelCall, ModelEvent, ModelMessage, ModelResult, ProviderState, ResultCause,
        provider::{ProviderModel, ProviderSettings, ProviderSpec, Timeouts},
    },
    subject::Subject,
    tool::{Tool, ToolContext},
    wire::View,
};
use serde_json::{Value, json};

use crate::{
    KEY, ask, client, model, request, said,
    server::{Fake, Reply},
    spec, text,
    wires::{Answer, Anthropic, Called, Gemini, SIGNATURE, Sent, Wire, event_stream},
};

crate::for_all!(reasoning_goes_back, reasoning_that_was_damaged_is_left_out);

async fn runtime(model: ProviderModel, log: &Arc<MemoryLog>) -> Runtime {
    let add = Tool::server("add", "Adds", |_: Value, _: ToolContext| async { Ok(json!({"sum": 3})) });
    let tools = [add.build().expect("a tool")].into_iter().collect();
    let builder = Runtime::builder(Arc::new(model)).log(Arc::clone(log) as _).tools(tools);
    builder.start().await.expect("starts")
}

/// What a client is sent.
async fn say(runtime: &Runtime, id: &str, text: &str) -> String {
    let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
    let body: ChatRequest = serde_json::from_value(json!({"id": "c", "messages": [message]})).expect("a body");
    let (_, mut response) = runtime.submit(&Subject::local(), body, View::default()).await.expect("taken");
    let mut written = Vec::new();
    while response.read(&mut written).await == Next::More {}
    let mut shown = String::new();
    written.into_iter().for_each(|written| {
        written.for_each(|chunk| shown.push_str(&serde_json::to_string(&chunk).expect("a chunk")));
    });
    shown
}

/// A step with a call, its answer, and a turn after that: by then, the first turn is read from its digest.
async fn reasoning_goes_back(wire: &dyn Wire) {
    let call = Called { name: "add", pieces: vec!["{\"a\":1,", "\"b\":2}"] };
    let first = Answer { reasoning: vec!["One and ", "two."], calls: vec![call], ..Answer::default() };
    let second = Answer { reasoning: vec!["Three."], text: vec!["It is 3."], ..Answer::default() };
    let third = Answer { text: vec!["Yes."], ..Answer::default() };
    let answers = [first, second, third.clone(), third].map(|answer| wire.answer(&answer));
    let fake = Fake::start(answers).await;
    let log = Arc::new(MemoryLog::default());
    let one = runtime(model(wire, &fake.url, ProviderSettings::default()), &log).await;
    let shown = [say(&one, "u1", "1 + 2?").await, say(&one, "u2", "Sure?").await].concat();
    assert!(shown.contains("It is 3.") && shown.contains("Yes.") && !shown.contains(SIGNATURE), "{shown}");
    let history = one.chats(&Subject::local()).messages(&ChatId::from("c")).await.expect("messages");
    let history = serde_json::to_string(&history).expect("JSON");
    assert!(history.contains("It is 3.") && !history.contains(SIGNATURE), "{history}");
    let asked = fake.asked();
    assert_eq!(asked.len(), 3);
    let signed = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| wire.signed(text)).collect() };
    assert_eq!(wire.reasoning(&asked[0]), [""; 0]);
    assert_eq!(wire.reasoning(&asked[1]), signed(&["One and two."]), "{}", asked[1].body);
    assert_eq!(wire.reasoning(&asked[2]), signed(&["One and two.", "Three."]), "{}", asked[2].body);
    for later in &asked[1..] {
        assert_eq!(later.body.to_string().contains(SIGNATURE), wire.is_signed(), "{}", later.body);
    }
    let sent = wire.sent(&asked[2]);
    let [_, Sent::Assistant { calls, .. }, Sent::Results(results), Sent::Assistant { text, .. }, _] = sent.as_slice()
    else {
        panic!("{sent:?}")
    };
    assert_eq!((calls.len(), results.len(), text.as_str()), (1, 1, "It is 3."));
    assert_eq!(calls[0].id, results[0].id);

    // Another model gets the conversation without it.
    one.shutdown(std::time::Duration::ZERO).await;
    let other = ProviderSpec { model: format!("{}-2", wire.model()), ..spec(wire) };
    let settings = ProviderSettings {
        base_url: Some(wire.base(&fake.url)),
        timeouts: Timeouts::NONE,
        api: wire.api(),
        ..ProviderSettings::default()
    };
    let key = |name: &str| (name == wire.provider().key_variable()).then(|| KEY.to_owned());
    let other = ProviderModel::with_client(other, settings, key, client()).expect("a model");
    let two = runtime(other, &log).await;
    let shown = say(&two, "u3", "Really?").await;
    assert!(shown.contains("Yes."), "{shown}");
    let body = fake.asked()[3].body.to_string();
    assert!(body.contains("It is 3."), "{body}");
    for word in [SIGNATURE, "One and two.", "Three."] {
        assert!(!body.contains(word), "{word} in {body}");
    }
}

/// A step with a call, as the log has it.
fn step(state: Option<ProviderState>, input: Value) -> Vec<ModelMessage> {
    let (id, name) = ("ours".into(), "get_weather".to_owned());
    let result = ModelResult {
        id,
        name: name.clone(),
        outcome: Ok(json!(21)),
        cause: ResultCause::Edited,
        files: std::sync::Arc::default(),
    };
    let call = ModelCall { id: result.id.clone(), name, input };
    let called = ModelMessage::Assistant { text: String::new(), calls: vec![call], state };
    vec![said("Hi"), called, ModelMessage::Results(vec![result])]
}

/// An imported chat may contain anything.
async fn reasoning_that_was_damaged_is_left_out(wire: &dyn Wire) {
    let call = Called { name: "get_weather", pieces: vec!["{\"location\":\"Oslo\"}"] };
    let answer = Answer { reasoning: vec!["Hm."], calls: vec![call], ..Answer::default() };
    let fine = wire.answer(&Answer { text: vec!["Fine."], ..Answer::default() });
    let fake = Fake::start([wire.answer(&answer)].into_iter().chain((0..5).map(|_| fine.clone()))).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    let state = events.iter().find_map(|event| match event {
        Ok(ModelEvent::Finish { state, .. }) => state.clone(),
        _ => None,
    });
    let state = state.expect("a state");
    let oslo = json!({"location": "Oslo"});
    let has_reasoning = async |state: ProviderState, input: Value| {
        let events = ask(wire, &fake, step(Some(state), input)).await;
        assert_eq!(text(&events), "Fine.", "{events:?}");
        let asked = fake.asked();
        let sent = wire.sent(asked.last().expect("a request"));
        assert!(matches!(&sent[1], Sent::Assistant { calls, .. } if calls.len() == 1), "{sent:?}");
        wire.reasoning(asked.last().expect("a request")).iter().any(|text| text.contains("Hm."))
    };
    assert!(has_reasoning(state.clone(), oslo.clone()).await);
    // An approver has changed the input: the reasoning before the call is still the model's.
    assert!(has_reasoning(state.clone(), json!({"location": "Rome"})).await);
    let bomb = state.data.replacen('{', r#"{"$serde_json::private::RawValue":"[1]","#, 1);
    for data in ["{".to_owned(), bomb, state.data.replace("get_weather", "add")] {
        assert!(!has_reasoning(ProviderState { data, ..state.clone() }, oslo.clone()).await);
    }
}

/// Thinking between the calls, and thinking that nobody may read: every block in its place.
/// <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>: blocks go back complete and unmodified.
#[tokio::test(start_paused = true)]
async fn anthropic_gets_its_blocks_as_they_were() {
    let call = |id: &str, place: &str| json!({"type": "tool_use", "id": id, "name": "get_weather", "input": {"location": place}});
    let blocks = [
        json!({"type": "thinking", "thinking": "First.", "signature": "sig-1"}),
        json!({"type": "redacted_thinking", "data": "sealed"}),
        json!({"type": "text", "text": "Let me see."}),
        json!({"type": "thinking", "thinking": "Then.", "signature": "sig-2"}),
        call("toolu_1", "Oslo"),
        call("toolu_2", "Rome"),
    ];
    let fine = Anthropic.answer(&Answer { text: vec!["Fine."], ..Answer::default() });
    let fake = Fake::start([Anthropic::blocks(&blocks), fine]).await;
    let events = ask(&Anthropic, &fake, vec![said("Hi")]).await;
    let Some(Ok(ModelEvent::Finish { state, .. })) = events.last() else { panic!("{events:?}") };
    let made = |id: &str, place: &str| ModelCall {
        id: id.into(),
        name: "get_weather".to_owned(),
        input: json!({"location": place}),
    };
    // In the order in which they were completed, which may be another one.
    let calls = vec![made("b", "Rome"), made("a", "Oslo")];
    let results = calls.iter().map(|call| ModelResult {
        id: call.id.clone(),
        name: call.name.clone(),
        outcome: Ok(json!(21)),
        cause: ResultCause::Reported,
        files: std::sync::Arc::default(),
    });
    let results = ModelMessage::Results(results.collect());
    let called = ModelMessage::Assistant { text: "Let me see.".into(), calls, state: state.clone() };
    let events = ask(&Anthropic, &fake, vec![said("Hi"), called, results]).await;
    assert_eq!(text(&events), "Fine.", "{events:?}");
    let mut expected = blocks.to_vec();
    expected[4]["id"] = json!("a");
    expected[5]["id"] = json!("b");
    assert_eq!(fake.asked()[1].body["messages"][1]["content"], json!(expected));
}

/// The signature belongs to the first of parallel calls, and the others have none.
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>.
#[tokio::test(start_paused = true)]
async fn gemini_gets_its_signatures_where_they_were() {
    let call = |place: &str| json!({"functionCall": {"name": "get_weather", "args": {"location": place}}});
    let mut first = call("Oslo");
    first["thoughtSignature"] = json!("real");
    let body =
        json!({"candidates": [{"content": {"role": "model", "parts": [first, call("Rome")]}, "finishReason": "STOP"}]});
    let fine = Gemini.answer(&Answer { text: vec!["Fine."], ..Answer::default() });
    let fake = Fake::start([event_stream(vec![format!("data: {body}\n\n")], false), fine]).await;
    let model = model(&Gemini, &fake.url, ProviderSettings::default());
    let events: Vec<_> = model.stream(request(vec![said("Hi")])).collect().await;
    let Some(Ok(ModelEvent::Finish { state, .. })) = events.last() else { panic!("{events:?}") };
    let made =
        |place: &str| ModelCall { id: place.into(), name: "get_weather".to_owned(), input: json!({"location": place}) };
    let calls = vec![made("Oslo"), made("Rome")];
    let results = calls.iter().map(|call| ModelResult {
        id: call.id.clone(),
        name: call.name.clone(),
        outcome: Ok(json!(21)),
        cause: ResultCause::Reported,
        files: std::sync::Arc::default(),
    });
    let results = ModelMessage::Results(results.collect());
    let called = ModelMessage::Assistant { text: String::new(), calls, state: state.clone() };
    let events = ask(&Gemini, &fake, vec![said("Hi"), called, results]).await;
    assert_eq!(text(&events), "Fine.", "{events:?}");
    let asked = fake.asked();
    let parts = &asked[1].body["contents"][1]["parts"];
    assert_eq!(
        (&parts[0]["thoughtSignature"], &parts[1]["thoughtSignature"]),
        (&json!("real"), &Value::Null),
        "{parts}"
    );
}

/// The fakes refuse what the vendors refuse.
#[tokio::test(start_paused = true)]
async fn the_fakes_are_strict() {
    let fake = Fake::start([Reply::error(500, "not asked")]).await;
    let post = async |path: &str, body: Value| {
        let response = client().post(format!("{}{path}", fake.url)).json(&body).send().await.expect("an answer");
        response.status().as_u16()
    };
    let call = json!({"id": "a", "type": "function", "function": {"name": "add", "arguments": "{}"}});
    let called = json!({"role": "assistant", "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "3"});
    let body = json!({"messages": [{"role": "user", "content": "Hi"}, called, result]});
    assert_eq!(post("/deepseek.com/chat/completions", body.clone()).await, 400);
    let unanswered = json!({"messages": [{"role": "user", "content": "Hi"}, called]});
    assert_eq!(post("/v1/chat/completions", unanswered).await, 400);
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": ""});
    let message = json!({"role": "assistant", "content": [thought]});
    let body = json!({"max_tokens": 5, "messages": [{"role": "user", "content": "Hi"}, message]});
    assert_eq!(post("/v1/messages", body).await, 400);
    let part = json!({"functionCall": {"name": "add", "args": {}}});
    let contents = json!([{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [part]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {}}}]}]);
    let body = json!({"contents": contents});
    assert_eq!(post("/v1beta/models/gemini-3-test:streamGenerateContent", body).await, 400);
}
