//! Models of OpenAI (and compatible servers), Anthropic, Gemini and Ollama.
//!
//! `rig-core` implements the wire formats. Requests, streaming, retries and error texts are our own.

mod failure;
mod file;
mod probe;
mod redact;
mod request;
mod retry;
mod screen;
mod spec;
mod stream;

use std::{fmt, sync::Arc, time::Duration};

use futures::{StreamExt, stream::BoxStream};
pub use probe::Probed;
use rig_core::{
    DynModel,
    operation::Completion,
    providers::{
        anthropic::AnthropicConfig,
        gemini::GeminiConfig,
        ollama::OllamaConfig,
        openai::{OpenAIConfig, wire::Auth},
    },
};
use rig_reqwest::ReqwestClient;
use screen::Screened;
use spec::{Access, access};
pub use spec::{Provider, ProviderSetupError, ProviderSpec, SpecError};

use super::{Model, ModelError, ModelEvent, ModelRequest};
use crate::redact::Mask;

/// Connect timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum silence: some models reason for minutes before the first word, and a local server may have to load the
/// model.
const READ_TIMEOUT: Duration = Duration::from_secs(600);
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
}

/// A model served by a provider.
#[derive(Clone)]
pub struct ProviderModel {
    inner: Arc<Inner>,
}

struct Inner {
    spec: ProviderSpec,
    settings: ProviderSettings,
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
        let client = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT).build();
        let client = client.map_err(|error| ProviderSetupError::Client(error.to_string()))?;
        Self::with_client(spec, settings, variable, client)
    }

    /// Like [`Self::new`], with a custom HTTP client: another proxy, other certificates, other timeouts.
    pub fn with_client(
        spec: ProviderSpec,
        settings: ProviderSettings,
        variable: impl Fn(&str) -> Option<String>,
        client: reqwest::Client,
    ) -> Result<Self, ProviderSetupError> {
        let access = access(spec.provider, settings.base_url.as_deref(), variable)?;
        let mask = Mask::of_provider([access.key.as_deref(), access.base_url.as_deref()]);
        let (model, list) = connect(&spec, access, Screened(ReqwestClient::from(client)));
        Ok(Self { inner: Arc::new(Inner { spec, settings, model, list, mask }) })
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
    access: Access,
    client: Screened<ReqwestClient>,
) -> (DynModel<Completion>, probe::List) {
    let Access { key, base_url } = access;
    let key = key.unwrap_or_default();
    match spec.provider {
        Provider::OpenAi => {
            // Without a key, no header is sent: some servers reject an empty one.
            let config = OpenAIConfig::new(key).with_auth(Auth::OptionalBearer);
            let config = base_url.into_iter().fold(config, OpenAIConfig::with_base_url);
            // Chat Completions, which every compatible server supports.
            let client = config.connect(client);
            (client.chat(&spec.model).erase(), listing!(client))
        }
        Provider::Anthropic => {
            let config = AnthropicConfig::new(key);
            let config = base_url.into_iter().fold(config, AnthropicConfig::with_base_url);
            let client = config.connect(client);
            let mut model = client.completion(&spec.model);
            model.wire.default_max_tokens.get_or_insert(ANTHROPIC_MAX_TOKENS);
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
        let call =
            stream::ModelRequestStream::new(Arc::clone(&self.inner), request::build(&self.inner.settings, &request));
        futures::stream::unfold(call, stream::ModelRequestStream::next).map(futures::stream::iter).flatten().boxed()
    }
}
