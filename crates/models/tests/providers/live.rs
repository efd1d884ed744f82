//! The real providers, where there is a key (for Ollama: where `OLLAMA_HOST` is set). What is skipped says so.

use std::io::Write;

use futures::StreamExt;
use holdpoint_runtime::model::{
    Model, ModelCall, ModelEvent, ModelMessage, ModelResult, ResultCause,
    provider::{Provider, ProviderModel, ProviderSettings, ProviderSpec},
};
use serde_json::json;

use crate::{check, request, said, text};

/// Asks for the weather, gives it, and wants to hear it.
async fn weather(provider: Provider, switch: &str, default: &str) {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    if set(switch).is_none() {
        return tell(&format!("skipped: {} is not asked, since {switch} is not set", provider.name()));
    }
    let variable = format!("HOLDPOINT_LIVE_{}", provider.prefix().to_uppercase());
    let model = set(&variable).unwrap_or_else(|| default.to_owned());
    let spec = ProviderSpec { provider, model };
    let settings = ProviderSettings {
        system: Some("Use the tool get_weather for every question about the weather.".to_owned()),
        max_tokens: Some(2000),
        ..ProviderSettings::default()
    };
    let model = ProviderModel::new(spec, settings, |name| std::env::var(name).ok()).expect("a model");
    let question = said("What is the weather in Oslo right now?");
    let events: Vec<_> = model.stream(request(vec![question.clone()])).collect().await;
    check(&events);
    let call = events.iter().find_map(|event| match event {
        Ok(ModelEvent::Call { name, input: Ok(input), .. }) if name == "get_weather" => Some(input.clone()),
        _ => None,
    });
    let input = call.unwrap_or_else(|| panic!("{} called nothing: {events:?}", provider.name()));
    let state = events.iter().find_map(|event| match event {
        Ok(ModelEvent::Finish { state, .. }) => state.clone(),
        _ => None,
    });
    let (id, name) = ("call-0123456789".into(), "get_weather".to_owned());
    let result = ModelResult {
        id,
        name: name.clone(),
        outcome: Ok(json!({"temperature": -17, "condition": "snow"})),
        cause: ResultCause::Reported,
        files: std::sync::Arc::default(),
    };
    let call = ModelCall { id: result.id.clone(), name, input };
    let called = ModelMessage::Assistant { text: String::new(), calls: vec![call], state };
    let messages = vec![question, called, ModelMessage::Results(vec![result])];
    let events: Vec<_> = model.stream(request(messages)).collect().await;
    check(&events);
    assert!(text(&events).contains("17"), "{events:?}");
    tell(&format!("{} has answered", provider.name()));
}

/// Past the test runner, which shows what a test prints only when it fails.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[tokio::test]
async fn openai() {
    weather(Provider::OpenAi, "OPENAI_API_KEY", "gpt-5.4-mini").await;
}

#[tokio::test]
async fn anthropic() {
    weather(Provider::Anthropic, "ANTHROPIC_API_KEY", "claude-haiku-4-5").await;
}

#[tokio::test]
async fn gemini() {
    weather(Provider::Gemini, "GEMINI_API_KEY", "gemini-2.5-flash").await;
}

#[tokio::test]
async fn ollama() {
    weather(Provider::Ollama, "OLLAMA_HOST", "llama3.2").await;
}
