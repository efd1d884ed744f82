//! Models of OpenAI (and compatible servers), Anthropic, Gemini and Ollama.
//!
//! `wire` has their formats, one module an API. The rest is the same for all of them.

mod effort;
mod failure;
mod file;
mod headers;
mod http;
mod offer;
mod openai_api;
mod probe;
mod redact;
mod refused;
mod replay;
mod request;
mod retry;
mod spec;
mod stream;
mod timeouts;
mod traits;
mod wire;
mod wordings;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

pub use effort::ReasoningEffort;
use futures::{StreamExt, stream::BoxStream};
pub use offer::NotOffered;
pub use openai_api::OpenAiApi;
pub use probe::Probed;
use reqwest::redirect;
pub use spec::{Provider, ProviderSetupError, ProviderSpec, SpecError};
use spec::{access, is_host_of, origin, service};
pub use timeouts::Timeouts;

use super::{Model, ModelError, ModelEvent, ModelRequest};
use holdpoint_core::{
    redact::{Mask, Secret},
    tool::ToolSpec,
};

/// Connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

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
    /// Whether Anthropic sends the inputs of tools while they are written, value by value; by default, if it is asked at its own
    /// address. Other servers with its API may not know the field for it (`eager_input_streaming`), and refuse it.
    pub eager_input_streaming: Option<bool>,
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
    wire: wire::Api,
    traits: traits::Traits,
    http: http::Http,
    /// Where the model is asked, and where models are listed.
    url: reqwest::Url,
    list_url: reqwest::Url,
    /// The address of the settings, if not the default.
    base_url: Option<String>,
    /// What the provider's state is bound to: the model and where it runs.
    origin: String,
    settings: ProviderSettings,
    /// How much the model reasons, in its own way.
    reasoning: Option<effort::Reasoning>,
    /// The temperature, if the model takes one.
    temperature: Option<f64>,
    refused: refused::Refused,
    /// The server has refused to drop thinking that does not fit.
    is_unbound: AtomicBool,
    /// The tools of which the log says that they are left out.
    told: Mutex<Vec<String>>,
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
        let wire = wire::Api::of(spec.provider, api);
        let base = access.base_url.as_deref();
        let urls = wire.url(base, &spec.model).zip(wire.list_url(base));
        let (url, list_url) =
            urls.ok_or(ProviderSetupError::Address { provider: spec.provider, origin: "model.base_url" })?;
        let mut all = wire.headers(&access);
        all.extend(headers);
        let http = http::Http { client, headers: all, timeouts: settings.timeouts };
        let traits = traits::Traits::of(spec.provider, &spec.model);
        let mut inner = Inner {
            spec,
            service,
            api,
            wire,
            traits,
            http,
            url,
            list_url,
            base_url: access.base_url,
            origin,
            settings,
            reasoning: None,
            temperature: None,
            refused: refused::Refused::default(),
            is_unbound: AtomicBool::new(false),
            told: Mutex::default(),
            mask,
        };
        inner.reasoning = effort::choose(&inner)?;
        inner.temperature = effort::temperature(&inner)?;
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

impl ProviderModel {
    /// The tools that a model is not offered, with the reasons: it, or the first of its fallbacks that does not take one. A
    /// provider would refuse every request for them.
    pub fn not_offered(&self, tools: &[Arc<ToolSpec>]) -> Vec<NotOffered> {
        let mut found: Vec<NotOffered> = Vec::new();
        for inner in std::iter::once(&self.inner).chain(self.fallbacks.iter()) {
            for left_out in offer::offer(inner.wire, tools.iter().map(|tool| &**tool)).1 {
                if !found.iter().any(|known| known.name == left_out.name) {
                    found.push(left_out);
                }
            }
        }
        found
    }

    /// Says once in the log which tools are not offered.
    fn tell(&self, left_out: &[NotOffered]) {
        let mut told = self.inner.told.lock().unwrap_or_else(PoisonError::into_inner);
        for tool in left_out.iter().filter(|tool| !told.contains(&tool.name)) {
            tracing::warn!(model = %self.inner.spec, warning = %tool, "a tool is left out");
        }
        *told = left_out.iter().map(|tool| tool.name.clone()).collect();
    }

    /// This model, and its fallbacks, each by itself.
    pub fn each(&self) -> Vec<Self> {
        let all = std::iter::once(&self.inner).chain(self.fallbacks.iter());
        all.map(|inner| Self { inner: Arc::clone(inner), fallbacks: [].into() }).collect()
    }

    /// Which model it is.
    pub fn spec(&self) -> &ProviderSpec {
        &self.inner.spec
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
        return Err(ProviderSetupError::TemperatureWhileThinking { setting: "model.options.thinking", provider });
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

    fn temperature(&self) -> Option<f64> {
        self.temperature
    }

    /// Whether the address is one of OpenAI's own.
    fn is_at_openai(&self) -> bool {
        let is_it = |url: &str| is_host_of(url, "openai.com") || is_host_of(url, "azure.com");
        self.base_url.as_deref().is_none_or(is_it)
    }

    /// Whether reasoning has to stand with every call. Gateways have the name in their paths.
    fn wants_reasoning_content(&self) -> bool {
        self.base_url.as_deref().is_some_and(|url| url.contains("deepseek.com"))
    }

    fn streams_inputs_eagerly(&self) -> bool {
        let is_at_anthropic = self.base_url.as_deref().is_none_or(|url| is_host_of(url, "anthropic.com"));
        self.settings.eager_input_streaming.unwrap_or(is_at_anthropic)
    }

    /// Whether thinking is bound to what stands before it, and the server can be asked to drop it where that has changed.
    fn binds_thinking(&self) -> bool {
        self.traits.binds_thinking() && !self.is_unbound.load(Ordering::Relaxed)
    }

    fn leave_thinking_unbound(&self) {
        self.is_unbound.store(true, Ordering::Relaxed);
    }
}

impl fmt::Debug for ProviderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings are left out: a URL may contain a password.
        f.debug_struct("ProviderModel").field("spec", &self.inner.spec).finish_non_exhaustive()
    }
}

impl Model for ProviderModel {
    fn name(&self) -> &str {
        &self.inner.spec.model
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let call = stream::ModelRequestStream::new(Arc::clone(&self.inner), &self.fallbacks, request);
        let answer = futures::stream::unfold(call, stream::ModelRequestStream::next);
        answer.map(futures::stream::iter).flatten().boxed()
    }

    fn warnings(&self, tools: &[Arc<ToolSpec>]) -> Vec<String> {
        let left_out = self.not_offered(tools);
        self.tell(&left_out);
        left_out.iter().map(ToString::to_string).collect()
    }
}
