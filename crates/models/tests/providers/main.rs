//! Real models, played by fake providers that speak the real wire formats: the same conversations and the same troubles for all
//! of them. `live.rs` asks the real ones, where there is a key.

mod conversations;
mod effort;
mod failures;
mod history;
mod live;
mod peculiar;
mod pictures;
mod redirects;
mod refused;
mod replay;
mod schemas;
mod server;
mod thinking;
mod too_long;
mod wires;

use std::sync::{Arc, LazyLock};

use futures::StreamExt;
use holdpoint_demo::demo_tools;
use holdpoint_runtime::{
    model::{
        Model, ModelError, ModelEvent, ModelMessage, ModelRequest, UserPart,
        provider::{ProviderModel, ProviderSettings, ProviderSpec, Timeouts},
    },
    tool::ToolSet,
};
use server::Fake;
use wires::Wire;

/// The key that no text may have in it.
const KEY: &str = "sk-Very-Secret-0123456789";

/// Makes a test of each function for each provider.
macro_rules! for_all {
    ($($test:ident),* $(,)?) => {
        crate::for_all!(@ openai OpenAi $($test)*);
        crate::for_all!(@ responses Responses $($test)*);
        crate::for_all!(@ deepseek DeepSeek $($test)*);
        crate::for_all!(@ anthropic Anthropic $($test)*);
        crate::for_all!(@ gemini Gemini $($test)*);
        crate::for_all!(@ ollama Ollama $($test)*);
    };
    (@ $name:ident $wire:ident $($test:ident)*) => {
        mod $name {
            $(
                #[tokio::test(start_paused = true)]
                async fn $test() {
                    super::$test(&crate::wires::$wire).await;
                }
            )*
        }
    };
}
pub(crate) use for_all;

type Event = Result<ModelEvent, ModelError>;

fn spec(wire: &dyn Wire) -> ProviderSpec {
    ProviderSpec { provider: wire.provider(), model: wire.model().to_owned() }
}

/// A client without time limits and without a memory of connections: with the clock stopped, a time limit would be over at once.
fn client() -> reqwest::Client {
    static CLIENT: LazyLock<reqwest::Client> =
        LazyLock::new(|| reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("a client"));
    CLIENT.clone()
}

fn model(wire: &dyn Wire, url: &str, settings: ProviderSettings) -> ProviderModel {
    let settings =
        ProviderSettings { base_url: Some(wire.base(url)), timeouts: Timeouts::NONE, api: wire.api(), ..settings };
    let variable = wire.provider().key_variable();
    let key = |name: &str| (name == variable).then(|| KEY.to_owned());
    ProviderModel::with_client(spec(wire), settings, key, client()).expect("a model")
}

fn said(text: &str) -> ModelMessage {
    ModelMessage::User(vec![UserPart::Text(text.to_owned())])
}

fn request(messages: Vec<ModelMessage>) -> ModelRequest {
    ModelRequest { messages: messages.into(), tools: tools().specs(), instructions: [].into() }
}

fn tools() -> ToolSet {
    demo_tools()
}

/// Everything that comes of one step.
async fn ask(wire: &dyn Wire, fake: &Fake, messages: Vec<ModelMessage>) -> Vec<Event> {
    let model: Arc<dyn Model> = Arc::new(model(wire, &fake.url, ProviderSettings::default()));
    model.stream(request(messages)).collect().await
}

/// The text that was streamed.
fn text(events: &[Event]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        Ok(ModelEvent::TextDelta(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Blocks open and close one after the other, nothing follows an error or the end, and there is one of the two.
fn check(events: &[Event]) {
    let mut open: Option<&str> = None;
    let mut inputs: Vec<&str> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let is_last = at + 1 == events.len();
        match event {
            Ok(ModelEvent::TextStart) => assert_eq!(open.replace("text"), None, "{events:?}"),
            Ok(ModelEvent::ReasoningStart) => assert_eq!(open.replace("reasoning"), None, "{events:?}"),
            Ok(ModelEvent::TextDelta(_)) => assert_eq!(open, Some("text"), "{events:?}"),
            Ok(ModelEvent::ReasoningDelta(_)) => assert_eq!(open, Some("reasoning"), "{events:?}"),
            Ok(ModelEvent::TextEnd) => assert_eq!(open.take(), Some("text"), "{events:?}"),
            Ok(ModelEvent::ReasoningEnd) => assert_eq!(open.take(), Some("reasoning"), "{events:?}"),
            Ok(ModelEvent::InputStart { id, .. }) => {
                assert!(open.is_none() && !inputs.contains(&id.as_str()), "{events:?}");
                inputs.push(id);
            }
            Ok(ModelEvent::InputDelta { id, .. } | ModelEvent::Call { id, .. }) => {
                assert!(inputs.contains(&id.as_str()), "{events:?}");
            }
            Ok(ModelEvent::Retry { message, .. }) => {
                assert!(open.is_none() && inputs.is_empty() && !is_last && message.ends_with('.'), "{events:?}");
            }
            Ok(ModelEvent::Finish { .. }) => assert!(open.is_none() && is_last, "{events:?}"),
            Ok(other) => panic!("an event that this check does not know: {other:?}"),
            Err(_) => assert!(is_last, "{events:?}"),
        }
    }
    assert!(matches!(events.last(), Some(Ok(ModelEvent::Finish { .. }) | Err(_))), "{events:?}");
}

/// The two texts of a failure; neither has the key in it.
fn failure(events: &[Event]) -> &ModelError {
    check(events);
    let error = events.last().and_then(|event| event.as_ref().err()).unwrap_or_else(|| panic!("failed: {events:?}"));
    for text in [&error.message, &error.detail] {
        assert!(!text.contains(KEY) && !text.contains("Very-Secret"), "{text}");
    }
    assert!(error.message.ends_with('.') && !error.message.contains('{'), "{}", error.message);
    error
}
