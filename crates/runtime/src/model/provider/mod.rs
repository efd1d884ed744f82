//! Models of OpenAI (and compatible servers), Anthropic, Gemini and Ollama.
//!
//! `rig-core` implements the wire formats. Requests, streaming, retries and error texts are our own.

mod effort;
mod failure;
mod file;
mod headers;
mod openai_api;
mod probe;
mod redact;
mod refused;
mod replay;
mod request;
mod retry;
mod screen;
mod spec;
mod stream;
mod timeouts;

use std::{fmt, sync::Arc, time::Duration};

pub use effort::ReasoningEffort;
use futures::{StreamExt, stream::BoxStream};
use headers::WithHeaders;
pub use openai_api::OpenAiApi;
pub use probe::Probed;
use reqwest::redirect;
use rig_core::{
    DynModel,
    completion::options::Reasoning,
    operation::Completion,
    providers::{
        anthropic::AnthropicConfig,
        gemini::GeminiConfig,
        ollama::OllamaConfig,
        openai::{OpenAIConfig, Route, wire::Auth},
    },
};
use rig_reqwest::ReqwestClient;
use screen::Screened;
use spec::{Access, access, origin, service};
pub use spec::{Provider, ProviderSetupError, ProviderSpec, SpecError};
use timeouts::Timed;
pub use timeouts::Timeouts;

use super::{Model, ModelError, ModelEvent, ModelRequest};
use crate::{redact::Mask, tool::Secret};

/// Connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Anthropic requires a limit in every request. This one is for models whose own limit is unknown.
const ANTHROPIC_MAX_TOKENS: u64 = 8192;

/// Settings of a provider's model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// The provider's base URL, if not the default.
    pub base_url: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// Sampling temperature; the provider's default if `None`.
    pub temperature: Option<f64>,
    /// Maximum tokens per step; the provider's default if `None`.
    pub max_tokens: Option<u64>,
    /// How long a step may take.
    pub timeouts: Timeouts,
    /// OpenAI's API; by default, the one that suits the model and the address.
    pub api: Option<OpenAiApi>,
    /// How much the model reasons; the provider's default if `None`.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Whether the prompt is marked for Anthropic's cache; it is if `None`. Other providers cache by themselves.
    pub prompt_caching: Option<bool>,
    /// Further fields of every request, in the provider's own words. They go before everything else.
    pub options: serde_json::Map<String, serde_json::Value>,
    /// Further headers of every request.
    pub headers: Vec<(String, Secret)>,
    /// The settings are those of another model, for which this one stands in. `reasoning_effort` is left out if this one does
    /// not take it; otherwise it is refused.
    pub is_fallback: bool,
}

/// A model served by a provider.
#[derive(Clone)]
pub struct ProviderModel {
    inner: Arc<Inner>,
    /// Asked one after the other if the model can't answer.
    fallbacks: Arc<[Arc<Inner>]>,
}

struct Inner {
    spec: ProviderSpec,
    /// The name of the service, for messages.
    service: &'static str,
    api: OpenAiApi,
    /// What the provider's state is bound to: the model and where it runs.
    origin: String,
    settings: ProviderSettings,
    /// How much the model reasons, in its own way.
    reasoning: Option<Reasoning>,
    refused: refused::Refused,
    model: DynModel<Completion>,
    list: probe::List,
    mask: Mask,
}

impl ProviderModel {
    /// A model with the keys and addresses in these variables: `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`,
    /// `OLLAMA_HOST`. If a required key is missing, the error names its variable.
    pub fn new(
        spec: ProviderSpec,
        settings: ProviderSettings,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ProviderSetupError> {
        // A redirect would take the key, the headers and the conversation to another host.
        let client = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(redirect::Policy::none());
        let client = client.referer(false).build();
        let client = client.map_err(|error| ProviderSetupError::Client(error.to_string()))?;
        Self::with_client(spec, settings, variable, client)
    }

    /// Like [`Self::new`], with a custom HTTP client: another proxy, other certificates. It must follow no redirects
    /// ([`redirect::Policy::none`]): they would take the key, the headers and the conversation to another host.
    pub fn with_client(
        spec: ProviderSpec,
        settings: ProviderSettings,
        variable: impl Fn(&str) -> Option<String>,
        client: reqwest::Client,
    ) -> Result<Self, ProviderSetupError> {
        let access = access(spec.provider, settings.base_url.as_deref(), variable)?;
        check(spec.provider, &settings)?;
        let headers = headers::read(&settings.headers)?;
        let secrets =
            settings.headers.iter().flat_map(|(_, value)| value.reveal().split([' ', '=', ';', ',']).map(Some));
        let secrets = secrets.filter(|word| !word.is_some_and(|word| word.eq_ignore_ascii_case("bearer")));
        let mask = Mask::of_provider([access.key.as_deref(), access.base_url.as_deref()].into_iter().chain(secrets));
        let service = service(spec.provider, access.base_url.as_deref());
        let api = settings.api.unwrap_or_else(|| OpenAiApi::of(&spec.model, access.base_url.as_deref()));
        let origin = origin(&spec, api, access.base_url.as_deref());
        let client = WithHeaders { client: ReqwestClient::from(client), headers };
        let client = Timed { client, timeouts: settings.timeouts };
        let (model, list) = connect(&spec, api, &settings, access, Screened(client));
        let (reasoning, refused) = (None, refused::Refused::default());
        let mut inner = Inner { spec, service, api, origin, settings, reasoning, refused, model, list, mask };
        inner.reasoning = effort::choose(&inner)?;
        Ok(Self { fallbacks: [].into(), inner: Arc::new(inner) })
    }
}

impl ProviderModel {
    /// Asks these models, one after the other, if this one fails before the first output. What a filter has stopped is not
    /// asked again.
    #[must_use]
    pub fn with_fallbacks(self, fallbacks: impl IntoIterator<Item = Self>) -> Self {
        Self { fallbacks: fallbacks.into_iter().map(|model| model.inner).collect(), ..self }
    }
}

/// Fields of a request that are the conversation, or that the answer is read by. An option of that name would break every
/// message.
const OURS: [&str; 6] = ["messages", "contents", "input", "model", "stream", "tools"];

/// Refuses what the provider would refuse. Anthropic takes temperatures up to 1, the others up to 2.
fn check(provider: Provider, settings: &ProviderSettings) -> Result<(), ProviderSetupError> {
    if settings.api.is_some() && provider != Provider::OpenAi {
        return Err(ProviderSetupError::Api(provider));
    }
    let max = if provider == Provider::Anthropic { 1.0 } else { 2.0 };
    if let Some(key) = settings.options.keys().find(|key| OURS.contains(&key.as_str())) {
        return Err(ProviderSetupError::Option { key: key.clone() });
    }
    let thinking = settings.options.get("thinking").and_then(|thinking| thinking.get("type")?.as_str());
    if provider == Provider::Anthropic
        && effort::is_cool(settings.temperature)
        && matches!(thinking, Some("enabled" | "adaptive"))
    {
        return Err(ProviderSetupError::TemperatureWhileThinking { setting: "model.options.thinking" });
    }
    match settings.temperature {
        Some(temperature) if !(0.0..=max).contains(&temperature) => {
            Err(ProviderSetupError::Temperature { provider, temperature: temperature.to_string(), max })
        }
        _ => Ok(()),
    }
}

impl Inner {
    fn taker(&self) -> file::Taker {
        file::Taker { provider: self.spec.provider, api: self.api }
    }
}

/// A macro, since the clients share no trait.
macro_rules! listing {
    ($client:ident) => {{
        Box::new(move || {
            let client = $client.clone();
            Box::pin(async move { client.list_models().await }) as futures::future::BoxFuture<'static, _>
        }) as probe::List
    }};
}

fn connect(
    spec: &ProviderSpec,
    api: OpenAiApi,
    settings: &ProviderSettings,
    access: Access,
    client: Screened<Timed<WithHeaders<ReqwestClient>>>,
) -> (DynModel<Completion>, probe::List) {
    let Access { key, base_url } = access;
    let key = key.unwrap_or_default();
    match spec.provider {
        Provider::OpenAi => {
            // Without a key, no header is sent: some servers reject an empty one.
            let config = OpenAIConfig::new(key).with_auth(Auth::OptionalBearer);
            let config = base_url.into_iter().fold(config, OpenAIConfig::with_base_url);
            let config = config.with_route(match api {
                OpenAiApi::Chat => Route::Chat,
                OpenAiApi::Responses => Route::Responses,
            });
            let client = config.connect(client);
            (client.completion(&spec.model).erase(), listing!(client))
        }
        Provider::Anthropic => {
            let config = AnthropicConfig::new(key);
            let config = base_url.into_iter().fold(config, AnthropicConfig::with_base_url);
            let client = config.connect(client);
            let mut model = client.completion(&spec.model);
            model.wire.default_max_tokens.get_or_insert(ANTHROPIC_MAX_TOKENS);
            if settings.prompt_caching != Some(false) {
                // Each step of a turn sends everything before it again.
                model.wire = model.wire.with_prompt_caching();
            }
            (model.erase(), listing!(client))
        }
        Provider::Gemini => {
            let config = GeminiConfig::new(key);
            let config = base_url.into_iter().fold(config, GeminiConfig::with_base_url);
            let client = config.connect(client);
            (client.completion(&spec.model).erase(), listing!(client))
        }
        Provider::Ollama => {
            let config = OllamaConfig::new().with_api_key(key);
            let config = base_url.into_iter().fold(config, OllamaConfig::with_base_url);
            let client = config.connect(client);
            (client.native_completion(&spec.model).erase(), listing!(client))
        }
    }
}

impl fmt::Debug for ProviderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings are left out: a URL may contain a password.
        f.debug_struct("ProviderModel").field("spec", &self.inner.spec).finish_non_exhaustive()
    }
}

impl Model for ProviderModel {
    fn version(&self) -> &str {
        &self.inner.spec.model
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let call = stream::ModelRequestStream::new(Arc::clone(&self.inner), &self.fallbacks, request);
        let answer = futures::stream::unfold(call, stream::ModelRequestStream::next);
        answer.map(futures::stream::iter).flatten().boxed()
    }
}
