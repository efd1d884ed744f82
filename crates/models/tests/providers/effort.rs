//! `reasoning_effort`: sent in the model's own way, refused at the start if it has none, and left out for a fallback.

use futures::StreamExt;
use holdpoint_runtime::model::{
    Model,
    provider::{OpenAiApi, Provider, ProviderModel, ProviderSettings, ProviderSpec, ReasoningEffort, Timeouts},
};
use serde_json::{Value, json};

use crate::{
    KEY, client, request, said,
    server::{Fake, Reply},
};

fn of(spec: &str, settings: ProviderSettings, url: &str) -> Result<ProviderModel, String> {
    let spec: ProviderSpec = spec.parse().expect("a spec");
    let base = match spec.provider {
        Provider::OpenAi => format!("{url}/v1"),
        _ => url.to_owned(),
    };
    let settings = ProviderSettings { base_url: Some(base), timeouts: Timeouts::NONE, ..settings };
    ProviderModel::with_client(spec, settings, |_| Some(KEY.to_owned()), client()).map_err(|error| error.to_string())
}

fn effort(name: &str) -> ProviderSettings {
    let effort = ReasoningEffort::ALL.iter().find(|(known, _)| *known == name).map(|(_, effort)| *effort);
    ProviderSettings { reasoning_effort: Some(effort.expect("an effort")), ..ProviderSettings::default() }
}

/// What the provider is sent with the first message.
async fn sent(spec: &str, settings: ProviderSettings) -> Result<Value, String> {
    let fake = Fake::start([Reply::error(400, "{}")]).await;
    let model = of(spec, settings, &fake.url)?;
    let _: Vec<_> = model.stream(request(vec![said("Hi")])).collect().await;
    let asked = fake.asked();
    assert_eq!(asked.len(), 1, "it was asked once, and not refused here");
    Ok(asked[0].body.clone())
}

/// <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>: models up to 4.5 have a budget of at least 1024
/// tokens, less than `max_tokens`. <https://ai.google.dev/gemini-api/docs/openai>: Gemini 2.5 has budgets of these sizes.
#[tokio::test(start_paused = true)]
async fn models_with_a_budget_get_one() {
    let claude = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    for model in ["anthropic:claude-haiku-4-5", "anthropic:claude-sonnet-4-5"] {
        for (name, thinking) in [
            ("low", claude(1024)),
            ("medium", claude(8192)),
            ("high", claude(24576)),
            ("none", json!({"type": "disabled"})),
        ] {
            let body = sent(model, effort(name)).await.unwrap_or_else(|error| panic!("{model} {name}: {error}"));
            assert_eq!(body["thinking"], thinking, "{model} {name}: {body}");
            assert!(body.get("output_config").is_none(), "{body}");
        }
    }
    for (name, tokens) in [("none", 0), ("low", 1024), ("medium", 8192), ("high", 24576)] {
        let body = sent("gemini:gemini-2.5-flash", effort(name)).await.expect("taken");
        assert_eq!(body["generationConfig"]["thinkingConfig"], json!({"thinkingBudget": tokens}), "{name}");
    }
    // Later models have levels.
    let body = sent("anthropic:claude-opus-4-7", effort("high")).await.expect("taken");
    assert_eq!((&body["thinking"]["type"], &body["output_config"]["effort"]), (&json!("adaptive"), &json!("high")));
    let body = sent("gemini:gemini-3-flash-preview", effort("low")).await.expect("taken");
    assert_eq!(body["generationConfig"]["thinkingConfig"], json!({"thinkingLevel": "low"}));
}

#[tokio::test(start_paused = true)]
async fn what_the_model_does_not_have_is_refused_at_the_start() {
    for (model, name, takes) in [
        ("anthropic:claude-haiku-4-5", "xhigh", "none, minimal, low, medium, high"),
        ("gemini:gemini-2.5-pro", "none", "minimal, low, medium, high"),
        ("gemini:gemini-3-pro-preview", "minimal", "low, high"),
        ("gemini:gemini-3-flash-preview", "xhigh", "minimal, low, medium, high"),
        ("ollama:qwen3", "minimal", "none, low, medium, high, max"),
        ("ollama:qwen3", "xhigh", "none, low, medium, high, max"),
        ("openai:gpt-4.1-mini", "low", "none"),
        ("openai:gpt-5", "none", "minimal, low, medium, high"),
        ("anthropic:claude-3-5-haiku-latest", "low", "none"),
        ("anthropic:claude-3-5-haiku-20241022", "high", "none"),
    ] {
        let error = of(model, effort(name), "http://127.0.0.1:9").expect_err("it can't be");
        let expected = format!("model.reasoning_effort is {name}");
        assert!(error.contains(&expected) && error.ends_with(&format!("takes: {takes}")), "{model} {name}: {error}");
    }
    // A model that can't think is not told not to.
    let body = sent("anthropic:claude-3-5-haiku-latest", effort("none")).await.expect("taken");
    assert!(body.get("thinking").is_none(), "{body}");
}

/// <https://platform.claude.com/docs/en/build-with-claude/extended-thinking>: "Thinking isn't compatible with `temperature`".
#[tokio::test(start_paused = true)]
async fn what_does_not_go_with_thinking_is_refused_at_the_start() {
    let with = |name: &str, temperature: f64| ProviderSettings { temperature: Some(temperature), ..effort(name) };
    for model in ["anthropic:claude-haiku-4-5", "anthropic:claude-sonnet-4-6"] {
        let error = of(model, with("low", 0.3), "http://127.0.0.1:9").expect_err("it can't be");
        assert!(error.contains("model.temperature") && error.contains("model.reasoning_effort"), "{error}");
        assert!(of(model, with("low", 1.0), "http://127.0.0.1:9").is_ok(), "the default");
        assert!(of(model, with("none", 0.3), "http://127.0.0.1:9").is_ok());
    }
    // An effort without thinking.
    assert!(of("anthropic:claude-opus-4-5", with("low", 0.3), "http://127.0.0.1:9").is_ok());
    let options = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let options = options.as_object().cloned().unwrap_or_default();
    let settings = ProviderSettings { temperature: Some(0.3), options, ..ProviderSettings::default() };
    let error = of("anthropic:claude-haiku-4-5", settings, "http://127.0.0.1:9").expect_err("it can't be");
    assert!(error.contains("model.temperature") && error.contains("thinking"), "{error}");

    let small = ProviderSettings { max_tokens: Some(4000), ..effort("medium") };
    let error = of("anthropic:claude-haiku-4-5", small, "http://127.0.0.1:9").expect_err("no room");
    assert!(error.contains("model.max_tokens") && error.contains("8192"), "{error}");
    let small = ProviderSettings { max_tokens: Some(4000), ..effort("low") };
    assert!(of("anthropic:claude-haiku-4-5", small, "http://127.0.0.1:9").is_ok());
}

/// The example of docs/guides/openai.md.
#[tokio::test(start_paused = true)]
async fn a_fallback_goes_without_what_it_does_not_have() {
    let lenient = |settings: ProviderSettings| ProviderSettings { is_fallback: true, ..settings };
    for model in ["openai:gpt-4.1-mini", "ollama:llama3.2", "anthropic:claude-3-5-haiku-latest"] {
        let body = sent(model, lenient(effort("low"))).await.expect("taken");
        for key in ["reasoning_effort", "reasoning", "think", "thinking", "output_config"] {
            assert!(body.get(key).is_none(), "{model}: {body}");
        }
    }
    let body = sent("gemini:gemini-3-pro-preview", lenient(effort("minimal"))).await.expect("taken");
    assert!(body["generationConfig"].get("thinkingConfig").is_none(), "{body}");
    // What it has it gets.
    let body =
        sent("openai:gpt-5.4-mini", ProviderSettings { api: Some(OpenAiApi::Responses), ..lenient(effort("low")) });
    assert_eq!(body.await.expect("taken")["reasoning"]["effort"], "low");
    let hot = ProviderSettings { temperature: Some(0.3), ..lenient(effort("low")) };
    let body = sent("anthropic:claude-haiku-4-5", hot).await.expect("taken");
    assert!(body.get("thinking").is_none() && body["temperature"] == 0.3, "{body}");
}
