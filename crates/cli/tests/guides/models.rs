//! The guides of the providers, whose models are played by the fakes of their wires.

use serde_json::{Value, json};

use crate::{
    page::line_matches,
    reader::Reader,
    server::{Asked, Fake, Reply},
    wires::{self, Answer, Called, Wire},
};

/// The key of the reader.
const KEY: &str = "sk-key-of-the-reader";

fn text(wire: &dyn Wire, text: &'static str) -> Reply {
    wire.answer(&Answer { text: vec![text], ..Answer::default() })
}

fn payment(wire: &dyn Wire) -> Reply {
    let input = r#"{"amount":50,"recipient":"Hanako","currency":"USD","description":"Rent"}"#;
    let calls = vec![Called { name: "process_payment", pieces: vec![input] }];
    wire.answer(&Answer { calls, ..Answer::default() })
}

/// What the provider was asked last. It would have refused nothing of it.
fn last(wire: &dyn Wire, fake: &Fake) -> Asked {
    let asked = fake.asked().pop().expect("it was asked");
    assert_eq!(wire.refusal(&asked), None);
    asked
}

/// The first start: the key is missing, and then it is not. The provider is the fake from then on, by a variable of the
/// page.
async fn start(reader: &mut Reader, wire: &dyn Wire, fake: &Fake, variable: &str, base: &str) -> Asked {
    let block = reader.next("Start", "sh").with("…", KEY);
    reader.page.promises("Without the key the server does not start, and names the missing variable.");
    let without: String = block.text.lines().filter(|line| !line.starts_with("export ")).collect();
    let (code, said) = reader.fails(&without);
    assert!(code == Some(2) && said.contains(variable), "{said}");
    reader.set(base, &wire.base(&fake.url));
    reader.serve(&block);
    hello(reader, wire, fake).await
}

/// The model answers; gives what it was asked. No tool is offered that the reader has not set up.
async fn hello(reader: &Reader, wire: &dyn Wire, fake: &Fake) -> Asked {
    let shown = reader.say("hello", "Hello").await;
    assert!(shown.contains("Good morning") && shown.contains("[DONE]"), "{shown}");
    let asked = last(wire, fake);
    reader.page.promises("A real model gets the tools of your settings and of your MCP servers, and no others.");
    assert!(wire.settings(&asked).tools.is_empty(), "{}", asked.body);
    asked
}

/// The trial with the demo tools: the model calls one, the reader approves, and the payment is made.
async fn trial(reader: &mut Reader, wire: &dyn Wire, fake: &Fake) {
    let block = reader.next("Tools", "sh");
    reader.serve(&block);
    let ask = reader.next("Tools", "sh");
    let shown = reader.run(&ask);
    assert!(shown.contains("tool-approval-request"), "{shown}");
    let tools = wire.settings(&last(wire, fake)).tools;
    assert!(tools.iter().any(|(name, _)| name == "process_payment"), "{tools:?}");
    let approve = reader.next("Tools", "sh");
    let printed = reader.run(&approve);
    assert!(printed.contains(reader.page.promises(r#"{"ok":true}"#)), "{printed}");
    let call = reader.settled("first", "process_payment").await;
    assert_eq!((&call["state"], &call["approval"]["approved"]), (&json!("output-available"), &json!(true)), "{call}");
    let history = reader.next("Tools", "sh");
    let messages: Value = serde_json::from_str(&reader.run(&history)).expect("JSON");
    assert!(messages.to_string().contains("It is paid."), "{messages}");
    let results = wire.sent(&last(wire, fake));
    assert!(matches!(results.last(), Some(wires::Sent::Results(results)) if results.len() == 1), "{results:?}");
}

/// What the provider refuses is told in the words of the table.
async fn troubles(reader: &Reader, troubles: &[(&str, &str)]) {
    let rows = reader.page.rows("| message to the user |");
    for (needle, named) in troubles {
        let row = rows.iter().find(|row| row.contains(needle)).unwrap_or_else(|| panic!("{needle} in {rows:?}"));
        let shown = reader.say(needle, "Hello").await;
        let error = shown.lines().find_map(|line| {
            let chunk: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
            (chunk["type"] == "error").then(|| chunk["errorText"].as_str().unwrap_or_default().to_owned())
        });
        let error = error.unwrap_or_else(|| panic!("{needle}: {shown}"));
        let row = row.replace(named, "…");
        assert!(line_matches(&format!("{row}…"), &error), "the page says `{row}`, and the server `{error}`");
    }
}

/// Starts the server with the settings of the block, and gives what the model is asked.
async fn with_settings(reader: &mut Reader, heading: &str, wire: &dyn Wire, fake: &Fake) -> Asked {
    let block = reader.next(heading, "toml");
    reader.save("holdpoint.toml", &block);
    reader.serve_settings();
    hello(reader, wire, fake).await
}

/// The system prompt, the temperature and the limit of the first settings of each page.
fn usual_settings(wire: &dyn Wire, asked: &Asked, max_tokens: u64) {
    let settings = wire.settings(asked);
    assert_eq!((settings.temperature, settings.max_tokens), (Some(0.3), Some(max_tokens)), "{}", asked.body);
    let system = "You help with orders. Ask before you spend money.".to_owned();
    assert_eq!(wire.sent(asked)[0], wires::Sent::System(system));
}

pub(crate) async fn anthropic(reader: &mut Reader) {
    let wire = &wires::Anthropic;
    let hello = || text(wire, "Good morning");
    let refused = [wire.wrong_key(KEY), wire.unknown_model(), wire.filtered().expect("a filter"), wire.too_long()];
    let replies = [hello(), hello(), hello(), payment(wire), text(wire, "It is paid.")];
    let fake = Fake::start(replies.into_iter().chain(refused)).await;
    reader.page.promises("`--base-url` (or `model.base_url`, or `ANTHROPIC_BASE_URL`)");
    let asked = start(reader, wire, &fake, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL").await;
    assert!(asked.path == wire.path() && wire.has_key(&asked, KEY), "{}", asked.head);
    assert_eq!(asked.body["model"], "claude-haiku-4-5");

    let asked = with_settings(reader, "Start", wire, &fake).await;
    usual_settings(wire, &asked, 4000);
    reader.page.promises("The system prompt, the tools and the conversation are marked for Anthropic's cache");
    assert!(asked.body.to_string().contains("cache_control"), "{}", asked.body);

    let asked = with_settings(reader, "Start", wire, &fake).await;
    assert_eq!(asked.body["thinking"], json!({"type": "enabled", "budget_tokens": 8000}));
    assert_eq!((&asked.body["max_tokens"], &asked.body["model"]), (&json!(16000), &json!("claude-sonnet-4-5")));
    assert!(asked.head.to_lowercase().contains("anthropic-beta: interleaved-thinking-2025-05-14"), "{}", asked.head);

    trial(reader, wire, &fake).await;
    let named = "Anthropic";
    let rows = [("API key", named), ("know the model", named), ("content filter", named), ("too long", named)];
    troubles(reader, &rows).await;
}

pub(crate) async fn gemini(reader: &mut Reader) {
    let wire = &wires::Gemini;
    let hello = || text(wire, "Good morning");
    let refused = [wire.wrong_key(KEY), wire.unknown_model(), wire.filtered().expect("a filter")];
    let replies = [hello(), hello(), payment(wire), text(wire, "It is paid.")];
    let fake = Fake::start(replies.into_iter().chain(refused)).await;
    reader.page.promises("`--base-url` (or `model.base_url`) is for a proxy.");
    let asked = start(reader, wire, &fake, "GEMINI_API_KEY", "HOLDPOINT_MODEL__BASE_URL").await;
    assert!(asked.path.starts_with("/v1beta/models/gemini-2.5-flash:streamGenerateContent"), "{}", asked.path);
    assert!(wire.has_key(&asked, KEY), "{}", asked.path);
    let asked = with_settings(reader, "Start", wire, &fake).await;
    usual_settings(wire, &asked, 4000);
    trial(reader, wire, &fake).await;
    troubles(reader, &[("API key", "Gemini"), ("know the model", "Gemini"), ("content filter", "Gemini")]).await;
    reader.page.promises("Holdpoint removes it from everything that it shows or logs.");
    let log = reader.stop();
    assert!(!log.contains(KEY), "{log}");
}

pub(crate) async fn ollama(reader: &mut Reader) {
    let wire = &wires::Ollama;
    let hello = || text(wire, "Good morning");
    let replies = [hello(), hello(), payment(wire), text(wire, "It is paid."), wire.unknown_model()];
    let fake = Fake::start(replies).await;
    let pulled = reader.path("pulled").display().to_string();
    reader.program("ollama", &format!("#!/bin/sh\necho \"$@\" > {pulled}\n"));
    reader.page.promises("No key is needed.");
    reader.page.promises("Set another one with `OLLAMA_HOST` (`gpu-box`, `gpu-box:11434` or a whole URL)");
    reader.set("OLLAMA_HOST", fake.url.trim_start_matches("http://"));
    let block = reader.next("Start", "sh");
    reader.serve(&block);
    assert_eq!(std::fs::read_to_string(&pulled).expect("it was pulled"), "pull llama3.2\n");
    let asked = self::hello(reader, wire, &fake).await;
    assert_eq!((asked.path.as_str(), &asked.body["model"]), (wire.path(), &json!("llama3.2")));

    let block = reader.next("Start", "toml").with("http://gpu-box:11434", &fake.url);
    reader.save("holdpoint.toml", &block);
    reader.serve_settings();
    let asked = self::hello(reader, wire, &fake).await;
    usual_settings(wire, &asked, 1000);
    trial(reader, wire, &fake).await;
    troubles(reader, &[("does not have the model", "Ollama")]).await;
    drop(fake);
    let unreachable = reader.block("OLLAMA_HOST=127.0.0.1:1 holdpoint serve --model ollama:llama3.2");
    reader.serve(&unreachable);
    troubles(reader, &[("is not running", "Ollama")]).await;
}

pub(crate) async fn openai(reader: &mut Reader) {
    let (chat, responses) = (&wires::OpenAi, &wires::Responses);
    let hello = || text(chat, "Good morning");
    let newer = || text(responses, "Good morning");
    let replies = [
        hello(),
        hello(),
        newer(),
        newer(),
        // The first model and the first fallback are not there.
        chat.unknown_model(),
        chat.unknown_model(),
        hello(),
        newer(),
        payment(chat),
        text(chat, "It is paid."),
        chat.wrong_key(KEY),
        chat.unknown_model(),
    ];
    let fake = Fake::start(replies).await;
    reader.page.promises("`model.base_url` and `OPENAI_BASE_URL` do the same.");
    let asked = start(reader, chat, &fake, "OPENAI_API_KEY", "OPENAI_BASE_URL").await;
    assert!(asked.path == chat.path() && chat.has_key(&asked, KEY), "{}", asked.head);
    assert_eq!(asked.body["model"], "gpt-5.4-mini");

    let asked = with_settings(reader, "Start", chat, &fake).await;
    usual_settings(chat, &asked, 2000);

    let asked = with_settings(reader, "Which API", responses, &fake).await;
    assert_eq!((asked.path.as_str(), responses.effort(&asked).as_str()), (responses.path(), "low"));
    reader.page.promises("Nothing is stored at OpenAI (`store` is false)");
    assert_eq!(asked.body["store"], false);

    reader.set("OPENAI_PROJECT", "project-of-the-reader");
    reader.set("HOLDPOINT_MODEL__API", "responses");
    let asked = with_settings(reader, "Options and headers", responses, &fake).await;
    reader.unset("HOLDPOINT_MODEL__API");
    assert_eq!((&asked.body["reasoning"]["summary"], &asked.body["service_tier"]), (&json!("auto"), &json!("flex")));
    assert!(asked.head.contains("openai-project: project-of-the-reader"), "{}", asked.head);

    let other = Fake::start([text(&wires::Ollama, "Good evening")]).await;
    reader.set("OLLAMA_HOST", &other.url);
    let block = reader.next("If the model can't answer", "toml");
    reader.save("holdpoint.toml", &block);
    reader.serve_settings();
    let shown = reader.say("fallback", "Hello").await;
    assert!(shown.contains("Good evening") && shown.contains("data-holdpoint-retry"), "{shown}");
    let models: Vec<Value> = fake.asked().iter().rev().take(2).map(|asked| asked.body["model"].clone()).collect();
    assert_eq!(
        (models, other.asked()[0].body["model"].clone()),
        (vec![json!("gpt-4.1-mini"), json!("gpt-5.4-mini")], json!("llama3.2"))
    );

    reader.unset("OPENAI_BASE_URL");
    let block = reader.next("Compatible servers", "sh").with("http://127.0.0.1:8000", &fake.url);
    reader.page.promises("With a base URL of your own the key is optional.");
    reader.unset("OPENAI_API_KEY");
    reader.serve(&block);
    let asked = self::hello(reader, chat, &fake).await;
    assert!(asked.body["model"] == "qwen3-8b" && !asked.head.to_lowercase().contains("authorization"), "{asked:?}");

    reader.set("AZURE_OPENAI_KEY", "key-of-the-deployment");
    let azure = "https://my-resource.openai.azure.com/openai";
    let block = reader.next("Compatible servers", "toml").with(azure, &fake.url);
    reader.save("holdpoint.toml", &block);
    reader.serve_settings();
    let asked = self::hello(reader, responses, &fake).await;
    assert!(asked.head.contains("api-key: key-of-the-deployment"), "{}", asked.head);
    assert_eq!((asked.path.as_str(), &asked.body["model"]), (responses.path(), &json!("my-deployment")));

    reader.set("OPENAI_API_KEY", KEY);
    reader.set("OPENAI_BASE_URL", &chat.base(&fake.url));
    trial(reader, chat, &fake).await;
    reader.page.promises("or \"the model's server\"");
    troubles(reader, &[("API key", "OpenAI"), ("know the model", "OpenAI")]).await;
}
