//! Claude's thinking is bound to what stands before it. That may change, and the chat goes on.
//! <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks>

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::StreamExt;
use holdpoint_protocol::{
    ids::ChatId,
    request::{ChatRequest, DecisionRequest},
};
use holdpoint_runtime::{
    Runtime,
    log::MemoryLog,
    model::{
        Model, ModelEvent, ModelMessage, ProviderState,
        provider::{ProviderModel, ProviderSettings, ProviderSpec, Timeouts},
    },
    subject::Subject,
    tool::{Secret, Tool, ToolContext, ToolSet},
    turn::Answered,
    wire::View,
};
use serde_json::{Value, json};

use crate::{
    Event, KEY, client, failure, request, said,
    server::{Fake, Reply},
    text,
    wires::{Answer, Anthropic, BOUND_ELSEWHERE, Wire},
};

fn of(name: &str, url: &str, settings: ProviderSettings) -> Result<ProviderModel, String> {
    let spec: ProviderSpec = format!("anthropic:{name}").parse().expect("a spec");
    let settings = ProviderSettings { base_url: Some(url.to_owned()), timeouts: Timeouts::NONE, ..settings };
    ProviderModel::with_client(spec, settings, |_| Some(KEY.to_owned()), client()).map_err(|error| error.to_string())
}

fn fine() -> Reply {
    Anthropic.answer(&Answer { text: vec!["Fine."], ..Answer::default() })
}

async fn ask(model: &ProviderModel, messages: Vec<ModelMessage>) -> Vec<Event> {
    model.stream(request(messages)).collect().await
}

/// A conversation whose thinking no longer fits.
async fn changed(model: &ProviderModel) -> Vec<ModelMessage> {
    let events = ask(model, vec![said("Hi")]).await;
    let state: Option<ProviderState> = match events.last() {
        Some(Ok(ModelEvent::Finish { state, .. })) => state.clone(),
        _ => None,
    };
    assert!(state.is_some(), "{events:?}");
    vec![said("Hi"), ModelMessage::Assistant { text: "Hello.".into(), calls: Vec::new(), state }, said("And now?")]
}

fn thought() -> Reply {
    Anthropic::blocks(&[
        json!({"type": "thinking", "thinking": "", "signature": BOUND_ELSEWHERE}),
        json!({"type": "text", "text": "Hello."}),
    ])
}

/// Every Claude that is not known to be older is asked to drop what no longer fits.
#[tokio::test(start_paused = true)]
async fn thinking_that_no_longer_fits_is_dropped() {
    for name in [
        "claude-fable-5-1",
        "claude-fable-5-2",
        "claude-mythos-5-2",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-6",
        "us.anthropic.claude-haiku-5-5-v1:0",
    ] {
        let fake = Fake::start([thought(), fine()]).await;
        let headers = vec![("anthropic-beta".to_owned(), Secret::new("context-1m-2025-08-07"))];
        let model = of(name, &fake.url, ProviderSettings { headers, ..ProviderSettings::default() }).expect("a model");
        let events = ask(&model, changed(&model).await).await;
        assert_eq!(text(&events), "Fine.", "{name}: {events:?}");
        let asked = fake.asked();
        assert_eq!(asked.len(), 2, "{name}");
        // The thinking is sent back as it was; the provider drops what does not fit. Betas of the settings stay.
        assert_eq!(asked[1].body["messages"][1]["content"][0]["signature"], BOUND_ELSEWHERE);
        assert!(asked[1].head.contains("context-1m-2025-08-07,thinking-binding-controls"), "{}", asked[1].head);
        assert_eq!(asked[1].body["max_tokens"], 128_000, "{name}");
    }
    // Older models do not know it.
    for name in ["claude-opus-4-6", "claude-haiku-4-5", "claude-sonnet-5"] {
        let fake = Fake::start([fine()]).await;
        ask(&of(name, &fake.url, ProviderSettings::default()).expect("a model"), vec![said("Hi")]).await;
        assert_eq!(fake.asked()[0].body["thinking"], Value::Null, "{name}");
    }
}

/// Where it is refused nevertheless, the conversation is sent once more without thinking.
#[tokio::test(start_paused = true)]
async fn thinking_that_is_refused_is_left_out() {
    let fake = Fake::start([thought(), fine()]).await;
    let model = of("claude-opus-4-6", &fake.url, ProviderSettings::default()).expect("a model");
    let events = ask(&model, changed(&model).await).await;
    assert_eq!(text(&events), "Fine.", "{events:?}");
    let asked = fake.asked();
    assert_eq!(asked.len(), 3, "once more");
    assert_eq!(asked[2].body["messages"][1]["content"], json!([{"type": "text", "text": "Hello."}]));

    // Without any thinking there is nothing to leave out.
    let words = "Invalid `signature` in `thinking` block";
    let refused =
        || Reply::error(400, json!({"error": {"message": words, "type": "invalid_request_error"}}).to_string());
    let fake = Fake::start([refused(), fine()]).await;
    let model = of("claude-opus-4-6", &fake.url, ProviderSettings::default()).expect("a model");
    assert!(failure(&ask(&model, vec![said("Hi")]).await).detail.contains("signature"));
    assert_eq!(fake.asked().len(), 1);
}

/// A chat that waits has no memory, so a turn that waited for an approval goes on with the tools of that moment: of a restart
/// with other settings, or of an MCP server that lists others. The thinking before it is bound to the tools that the turn began
/// with. The provider drops it, or it is left out; the payment is made once, and the turn comes to its end.
#[tokio::test]
async fn a_turn_that_waited_for_an_approval_goes_on_with_other_tools() {
    for (name, requests) in [("claude-fable-5-2", 2), ("claude-opus-4-6", 3)] {
        let called = Anthropic::blocks(&[
            json!({"type": "thinking", "thinking": "", "signature": BOUND_ELSEWHERE}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {}}),
        ]);
        let fake = Fake::start([called, fine()]).await;
        let (log, paid) = (Arc::new(MemoryLog::default()), Arc::new(AtomicUsize::new(0)));
        let start = async |names: &[&str]| {
            let tools = names.iter().map(|name| {
                let paid = Arc::clone(&paid);
                let pay = move |_: Value, _: ToolContext| {
                    paid.fetch_add(1, Ordering::SeqCst);
                    async { Ok("paid") }
                };
                Tool::server(name, "Pays", pay).approve_always().build().expect("a tool")
            });
            let model = of(name, &fake.url, ProviderSettings::default()).expect("a model");
            let builder = Runtime::builder(Arc::new(model) as _).log(Arc::clone(&log) as _);
            builder.tools(ToolSet::new(tools).expect("names")).start().await.expect("starts")
        };
        let (me, chat) = (Subject::local(), ChatId::from("c"));
        let runtime = start(&["pay"]).await;
        drop(runtime.submit(&me, ChatRequest::user("c", "Pay"), View::default()).await.expect("is taken"));
        runtime.chats(&me).idle(&chat).await.expect("a chat");
        runtime.shutdown(Duration::from_secs(5)).await;

        let runtime = start(&["pay", "refund"]).await;
        let open = runtime.inbox(&me).list().await.expect("it lists");
        let yes = DecisionRequest::from(true);
        assert_eq!(runtime.inbox(&me).decide(open[0].approval_id.clone(), yes).await, Ok(Answered::Taken), "{name}");
        runtime.chats(&me).idle(&chat).await.expect("a chat");
        let asked = fake.asked();
        assert_eq!(asked.len(), requests, "{name}");
        let tools = |at: usize| asked[at].body["tools"].as_array().map_or(0, Vec::len);
        assert_eq!((tools(0), tools(1), tools(requests - 1)), (1, 2, 2), "{name}");
        assert_eq!(asked[1].body["messages"][1]["content"][0]["signature"], BOUND_ELSEWHERE, "{name}");
        let last = &asked[requests - 1].body["messages"];
        assert_eq!(last[2]["content"][0]["content"], "paid", "{name}: {last}");
        assert_eq!(paid.load(Ordering::SeqCst), 1, "{name}");
        let messages = runtime.chats(&me).messages(&chat).await.expect("a chat");
        assert!(serde_json::to_string(&messages).expect("json").contains("Fine."), "{name}: {messages:?}");
    }
}

/// A gateway may not know what the models behind it know.
#[tokio::test(start_paused = true)]
async fn a_gateway_that_does_not_know_the_binding_is_not_asked_for_it() {
    let words = "thinking.block_binding: Extra inputs are not permitted";
    let refused = Reply::error(400, json!({"error": {"message": words, "type": "invalid_request_error"}}).to_string());
    let fake = Fake::start([refused, fine(), fine()]).await;
    let model = of("claude-haiku-5-5", &fake.url, ProviderSettings::default()).expect("a model");
    for _ in 0..2 {
        assert_eq!(text(&ask(&model, vec![said("Hi")]).await), "Fine.");
    }
    let bound: Vec<bool> = fake.asked().iter().map(|asked| !asked.body["thinking"].is_null()).collect();
    assert_eq!(bound, [true, false, false]);
}

/// <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>: models from 4.7 on take no temperature.
#[tokio::test(start_paused = true)]
async fn a_temperature_that_a_model_does_not_take_is_refused_at_the_start() {
    let with = |temperature, is_fallback| ProviderSettings {
        temperature: Some(temperature),
        is_fallback,
        ..ProviderSettings::default()
    };
    for name in ["claude-opus-4-7", "claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1", "claude-haiku-5-5"] {
        let error = of(name, "http://127.0.0.1:9", with(0.3, false)).expect_err("it takes none");
        assert!(error.contains("model.temperature") && error.contains(name), "{error}");
        // 1 is what they do by themselves, and a fallback does without.
        for settings in [with(1.0, false), with(0.3, true)] {
            let fake = Fake::start([fine()]).await;
            let events = ask(&of(name, &fake.url, settings).expect("a model"), vec![said("Hi")]).await;
            assert_eq!(text(&events), "Fine.", "{name}: {events:?}");
        }
    }
    assert!(of("claude-opus-4-6", "http://127.0.0.1:9", with(0.3, false)).is_ok());
}
