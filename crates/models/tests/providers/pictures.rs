//! Files that a tool produces: a picture goes to the model as a picture, and no file goes anywhere as base64 text.

use std::sync::Arc;

use holdpoint_protocol::request::ChatRequest;
use holdpoint_runtime::{
    Next, Runtime,
    log::MemoryLog,
    model::provider::{OpenAiApi, Provider},
    subject::Subject,
    tool::{Tool, ToolContext},
    wire::View,
};
use serde_json::{Value, json};

use crate::{
    model,
    server::Fake,
    wires::{Answer, Called, Wire},
};

crate::for_all!(a_picture_is_sent_as_one, sound_is_sent_where_it_can_be_heard);

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// A turn whose tool produces a file: what the provider was sent after it, and what the client was shown.
async fn sent(wire: &dyn Wire, media_type: &'static str) -> (Value, String) {
    let call = Called { name: "look", pieces: vec!["{}"] };
    let first = Answer { calls: vec![call], ..Answer::default() };
    let second = Answer { text: vec!["I see."], ..Answer::default() };
    let fake = Fake::start([wire.answer(&first), wire.answer(&second)]).await;
    let look = Tool::server("look", "Looks", move |_: Value, context: ToolContext| async move {
        Ok(json!({"content": [context.store_base64(media_type, PNG)?]}))
    });
    let runtime = Runtime::builder(Arc::new(model(wire, &fake.url, Default::default())))
        .log(Arc::new(MemoryLog::default()))
        .tools([look.build().expect("a tool")].into_iter().collect())
        .start()
        .await
        .expect("starts");
    let body = json!({"id": "c", "messages": [{"role": "user", "content": "look"}]});
    let body: ChatRequest = serde_json::from_value(body).expect("a body");
    let (_, mut response) = runtime.submit(&Subject::local(), body, View::default()).await.expect("taken");
    let mut written = Vec::new();
    while response.read(&mut written).await == Next::More {}
    let mut shown = String::new();
    written.into_iter().for_each(|written| {
        written.for_each(|chunk| shown.push_str(&serde_json::to_string(&chunk).expect("a chunk")));
    });
    let asked = fake.asked();
    assert_eq!(asked.len(), 2, "{shown}");
    (asked[1].body.clone(), shown)
}

/// Every text in a value.
fn texts<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, out)),
        Value::Object(map) => map.values().for_each(|value| texts(value, out)),
        _ => {}
    }
}

async fn a_picture_is_sent_as_one(wire: &dyn Wire) {
    let (body, shown) = sent(wire, "image/png").await;
    let mut all = Vec::new();
    texts(&body, &mut all);
    let pictures: Vec<&&str> = all.iter().filter(|text| text.contains(PNG)).collect();
    // Whether a local model can see is not known.
    let is_seen = wire.provider() != Provider::Ollama;
    assert!(pictures.len() == 1 || !is_seen && pictures.is_empty(), "{body:#}");
    for text in pictures {
        assert!(*text == PNG || *text == format!("data:image/png;base64,{PNG}"), "as a picture, not in a text: {text}");
    }
    assert!(body.to_string().contains("/api/chat/c/files/"), "and as a link: {body:#}");
    assert!(shown.contains("/api/chat/c/files/") && !shown.contains(PNG), "{shown}");
}

/// Pictures are part of the result where the provider takes them there; sound goes right behind it, as the user's own would.
async fn sound_is_sent_where_it_can_be_heard(wire: &dyn Wire) {
    for (media_type, hearing) in
        [("audio/wav", vec!["gemini", "openai"]), ("audio/ogg", vec!["gemini"]), ("audio/x-unknown", vec![])]
    {
        let (body, shown) = sent(wire, media_type).await;
        let is_heard = hearing.contains(&wire.provider().prefix()) && wire.api() != Some(OpenAiApi::Responses);
        let mut all = Vec::new();
        texts(&body, &mut all);
        assert_eq!(all.iter().filter(|text| **text == PNG).count(), usize::from(is_heard), "{media_type}: {body:#}");
        assert!(!all.iter().any(|text| text.contains(PNG) && *text != PNG), "not in a text: {body:#}");
        assert_eq!(body.to_string().contains("Audio of the result of look"), is_heard, "{body:#}");
        assert!(body.to_string().contains("/api/chat/c/files/"), "and as a link: {body:#}");
        assert!(shown.contains("/api/chat/c/files/") && !shown.contains(PNG), "{shown}");
    }
}
