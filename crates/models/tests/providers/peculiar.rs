//! What only one of the providers does.

use std::time::Duration;

use futures::StreamExt;
use holdpoint_protocol::chunk::FinishReason;
use holdpoint_runtime::model::{
    Model, ModelCall, ModelEvent, ModelMessage, ModelResult, ResultCause,
    provider::{ProviderModel, ProviderSettings},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    ask, check, client, failure, request, said,
    server::{Fake, Reply},
    spec, text,
    wires::{self, Answer, Anthropic, Gemini, Ollama, OpenAi, Responses, Wire, event_stream},
};

fn fine(wire: &dyn Wire) -> Reply {
    wire.answer(&Answer { text: vec!["Here I am."], ..Answer::default() })
}

#[tokio::test(start_paused = true)]
async fn openai_compatible_servers_need_no_key() {
    let fake = Fake::start([fine(&OpenAi)]).await;
    let settings = ProviderSettings { base_url: Some(OpenAi.base(&fake.url)), ..ProviderSettings::default() };
    let model = ProviderModel::with_client(spec(&OpenAi), settings, |_| None, client()).expect("no key is needed");
    let events: Vec<_> = model.stream(request(vec![said("Hi")])).collect().await;
    assert_eq!(text(&events), "Here I am.");
    let head = fake.asked()[0].head.to_lowercase();
    assert!(!head.contains("authorization"), "{head}");
}

/// An end that nobody has heard of is an end all the same.
#[tokio::test(start_paused = true)]
async fn openai_compatible_servers_have_ends_of_their_own() {
    let chunk = |choice: Value| format!("data: {}\n\n", json!({"id": "1", "model": "test", "choices": [choice]}));
    let pieces = vec![
        chunk(json!({"index": 0, "delta": {"content": "Done"}})),
        chunk(json!({"index": 0, "delta": {}, "finish_reason": "out_of_time"})),
        "data: [DONE]\n\n".to_owned(),
    ];
    let fake = Fake::start([event_stream(pieces, false)]).await;
    let events = ask(&OpenAi, &fake, vec![said("Hi")]).await;
    check(&events);
    assert_eq!(text(&events), "Done");
    assert!(matches!(events.last(), Some(Ok(ModelEvent::Finish { reason: FinishReason::Other, .. }))), "{events:?}");
}

/// The trouble comes as an event, before anything else: it is tried again like any other.
#[tokio::test(start_paused = true)]
async fn anthropic_is_overloaded_with_a_status_of_success() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let overloaded = event_stream(vec![format!("event: error\ndata: {error}\n\n")], false);
    let fake = Fake::start([overloaded, fine(&Anthropic)]).await;
    let events = ask(&Anthropic, &fake, vec![said("Hi")]).await;
    check(&events);
    assert_eq!((text(&events).as_str(), fake.asked().len()), ("Here I am.", 2));
}

#[tokio::test(start_paused = true)]
async fn gemini_says_in_the_body_how_long_to_wait() {
    let details = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}]);
    let error = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota", "details": details}});
    let fake = Fake::start([Reply::error(429, error.to_string()), fine(&Gemini)]).await;
    let begun = Instant::now();
    let events = ask(&Gemini, &fake, vec![said("Hi")]).await;
    assert_eq!(text(&events), "Here I am.");
    assert!(begun.elapsed() >= Duration::from_secs(36), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn gemini_reports_a_malformed_call() {
    let body = json!({"candidates": [{"content": {"role": "model"}, "finishReason": "MALFORMED_FUNCTION_CALL"}]});
    let fake = Fake::start([event_stream(vec![format!("data: {body}\n\n")], false)]).await;
    let events = ask(&Gemini, &fake, vec![said("Hi")]).await;
    let error = failure(&events);
    assert!(error.message.contains("try again") && error.detail.contains("MALFORMED"), "{error:?}");
}

/// Newer models want a signature with every call, and what is rebuilt from the log has none: this stands for it.
#[tokio::test(start_paused = true)]
async fn gemini_takes_calls_without_their_signatures() {
    let fake = Fake::start([fine(&Gemini)]).await;
    let (id, name) = ("a".into(), "get_weather".to_owned());
    let result = ModelResult {
        id,
        name: name.clone(),
        outcome: Ok(json!(21)),
        cause: ResultCause::Reported,
        files: std::sync::Arc::default(),
    };
    let call = ModelCall { id: result.id.clone(), name, input: json!({"location": "Oslo"}) };
    let called = ModelMessage::Assistant { text: String::new(), calls: vec![call], state: None };
    ask(&Gemini, &fake, vec![said("Hi"), called, ModelMessage::Results(vec![result])]).await;
    let body = &fake.asked()[0].body;
    assert_eq!(body["contents"][1]["parts"][0]["thoughtSignature"], "skip_thought_signature_validator", "{body}");
}

/// Thinking that is part of the text is not shown as text.
#[tokio::test(start_paused = true)]
async fn ollama_models_that_think_aloud() {
    let fake =
        Fake::start([Ollama.answer(&Answer { text: vec!["<thi", "nk>Hm.</think>", "\n\n42"], ..Answer::default() })])
            .await;
    let events = ask(&Ollama, &fake, vec![said("Why?")]).await;
    check(&events);
    assert_eq!(text(&events), "42");
    assert!(events.contains(&Ok(ModelEvent::ReasoningDelta("Hm.".into()))), "{events:?}");
}

/// A key that `serde_json` takes for something else, 60 times 126 levels deep: parsed by anybody, it would end the process.
fn bomb() -> String {
    (0..60).fold("1".to_owned(), |inner, _| {
        let text = format!("{}{inner}{}", "[".repeat(126), "]".repeat(126));
        let text = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        format!("{{\"$serde_json::private::RawValue\":\"{text}\"}}")
    })
}

/// What a model was talked into is data, however it comes, and ends nothing.
#[tokio::test(start_paused = true)]
async fn arguments_that_would_end_the_process_are_data() {
    let bomb = bomb();
    let openai = |arguments: &str| {
        let call = json!({"index": 0, "id": "1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}});
        let delta = json!({"role": "assistant", "tool_calls": [call]});
        format!("data: {}\n\n", json!({"id": "1", "model": "test", "choices": [{"index": 0, "delta": delta}]}))
    };
    let (one, two) = bomb.split_at(10);
    let finish =
        json!({"id": "1", "model": "test", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let end = [format!("data: {finish}\n\n"), "data: [DONE]\n\n".to_owned()];
    let whole = event_stream([&[openai(&bomb)][..], &end].concat(), false);
    let split = event_stream([&[openai(one), openai(two)][..], &end].concat(), false);
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{{"functionCall":{{"name":"get_weather","args":{{"x":{bomb}}}}}}}]}},"finishReason":"STOP"}}]}}"#
    );
    let gemini = event_stream(vec![format!("data: {gemini}\n\n")], false);
    let responses = |kind: &str, mut event: Value| {
        event["type"] = json!(kind);
        format!("data: {event}\n\n")
    };
    let piece =
        |text: &str| responses("response.function_call_arguments.delta", json!({"output_index": 0, "delta": text}));
    let item = json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "get_weather", "arguments": bomb});
    let begun = responses(
        "response.output_item.added",
        json!({"output_index": 0, "item": {"type": "function_call", "name": "get_weather"}}),
    );
    let done = responses("response.output_item.done", json!({"output_index": 0, "item": item}));
    let over = responses("response.completed", json!({"response": {"model": "test"}}));
    let wires: [(&dyn Wire, Reply); 5] = [
        (&Responses, event_stream(vec![begun, piece(one), piece(two), done.clone(), over.clone()], false)),
        (&Responses, event_stream(vec![done, over], false)),
        (&OpenAi, whole),
        (&OpenAi, split),
        (&Gemini, gemini),
    ];
    for (wire, reply) in wires {
        let fake = Fake::start([reply]).await;
        let events = ask(wire, &fake, vec![said("Hi")]).await;
        check(&events);
        let input = events.iter().find_map(|event| match event {
            Ok(ModelEvent::Call { input: Ok(input), .. }) => Some(input.to_string()),
            _ => None,
        });
        assert!(input.is_some_and(|input| input.contains("$serde_json::private::RawValue")), "{events:?}");
    }
    let fake = Fake::start([Reply::error(400, format!(r#"{{"error":{bomb}}}"#))]).await;
    let events = ask(&OpenAi, &fake, vec![said("Hi")]).await;
    assert!(failure(&events).message.contains("did not accept the request"), "{events:?}");
}

/// Arguments too deep to be read are an error that the model is told, and a line that is too long ends the answer.
#[tokio::test(start_paused = true)]
async fn arguments_that_are_too_deep_are_not_read() {
    let deep = format!(r#"{{"location":{}1{}}}"#, "[".repeat(5000), "]".repeat(5000));
    let call =
        json!({"index": 0, "id": "1", "type": "function", "function": {"name": "get_weather", "arguments": deep}});
    let chunk = |choice: Value| format!("data: {}\n\n", json!({"id": "1", "model": "test", "choices": [choice]}));
    let pieces = vec![
        chunk(json!({"index": 0, "delta": {"tool_calls": [call]}})),
        chunk(json!({"index": 0, "delta": {}, "finish_reason": "tool_calls"})),
        "data: [DONE]\n\n".to_owned(),
    ];
    let fake = Fake::start([event_stream(pieces, false)]).await;
    let events = ask(&OpenAi, &fake, vec![said("Hi")]).await;
    check(&events);
    assert!(events.iter().any(|event| matches!(event, Ok(ModelEvent::Call { input: Err(_), .. }))), "{events:?}");
}

/// What stands in the history with such a key is sent as it is.
#[tokio::test(start_paused = true)]
async fn inputs_and_outputs_with_keys_of_a_library_are_sent_as_they_are() {
    let value = json!({"$serde_json::private::RawValue": "[1]"});
    for wire in wires::ALL {
        let fake = Fake::start([fine(wire)]).await;
        let (id, name) = ("a".into(), "get_weather".to_owned());
        let result = ModelResult {
            id,
            name: name.clone(),
            outcome: Ok(value.clone()),
            cause: ResultCause::Reported,
            files: std::sync::Arc::default(),
        };
        let call = ModelCall { id: result.id.clone(), name, input: value.clone() };
        let called = ModelMessage::Assistant { text: String::new(), calls: vec![call], state: None };
        let events = ask(wire, &fake, vec![said("Hi"), called, ModelMessage::Results(vec![result])]).await;
        assert_eq!(text(&events), "Here I am.", "{events:?}");
    }
}
