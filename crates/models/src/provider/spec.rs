//! The model's name, its provider's address and its key.

use std::{fmt, str::FromStr};

use super::OpenAiApi;

/// A provider of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, and every server that supports its Chat Completions API.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Ollama, on this machine or another.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// The display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
            Self::Ollama => "Ollama",
        }
    }

    /// The prefix of a spec.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The variable that holds the key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Ollama => "OLLAMA_API_KEY",
        }
    }

    /// The variable that holds the address, if the provider has a conventional one.
    fn address_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_BASE_URL"),
            Self::Anthropic => Some("ANTHROPIC_BASE_URL"),
            Self::Gemini => None,
            Self::Ollama => Some("OLLAMA_HOST"),
        }
    }
}

/// `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL` or `ollama:MODEL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    /// The provider.
    pub provider: Provider,
    /// The model's name at the provider.
    pub model: String,
}

/// Why a spec can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SpecError {
    #[error("unknown provider")]
    Provider,
    #[error("the name of the model is missing: {0}:MODEL")]
    Model(&'static str),
}

impl FromStr for ProviderSpec {
    type Err = SpecError;

    fn from_str(spec: &str) -> Result<Self, SpecError> {
        let (prefix, model) = spec.split_once(':').unwrap_or((spec, ""));
        let provider = Provider::ALL.into_iter().find(|provider| provider.prefix() == prefix);
        let provider = provider.ok_or(SpecError::Provider)?;
        match model.trim() {
            "" => Err(SpecError::Model(provider.prefix())),
            model => Ok(Self { provider, model: model.to_owned() }),
        }
    }
}

impl fmt::Display for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider.prefix(), self.model)
    }
}

/// Why a model can't be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ProviderSetupError {
    #[error("the key for {name} is missing: set the environment variable {variable}", name = .0.name(), variable = .0.key_variable())]
    Key(Provider),
    #[error("{variable} contains characters that are not valid in a key for {name}: copy the key again", name = .0.name(), variable = .0.key_variable())]
    BadKey(Provider),
    #[error("{source_name}: {name}'s URL must begin with http:// or https://", name = .provider.name(), source_name = .origin)]
    Address { provider: Provider, origin: &'static str },
    #[error("model.temperature is {temperature}: {name} takes numbers from 0 to {max}", name = .provider.name())]
    Temperature { provider: Provider, temperature: String, max: f64 },
    #[error("model.api is for OpenAI and compatible servers; {name} has one API: remove it", name = .0.name())]
    Api(Provider),
    #[error(
        "model.reasoning_effort is {effort}, which {model} does not take{}. It takes: {takes}",
        .hint.as_ref().map(|hint| format!(": {hint}")).unwrap_or_default()
    )]
    Effort { effort: &'static str, model: String, hint: Option<String>, takes: String },
    #[error(
        "model.temperature and {setting} exclude each other: {} takes no temperature but 1 while it {}. Remove one of them",
        if *.provider == Provider::Anthropic { "Claude" } else { "the model" },
        if *.provider == Provider::Anthropic { "thinks" } else { "reasons" }
    )]
    TemperatureWhileThinking { setting: &'static str, provider: Provider },
    #[error("model.temperature is set, and {model} takes none: remove it")]
    NoTemperature { model: String },
    #[error("model.options.{key} can't be set: it is the server's own part of every request. Remove it")]
    Option { key: String },
    #[error("model.headers: {name:?} has no name or no value that can be a header")]
    Header { name: String },
    #[error("the HTTP client can't be made: {0}")]
    Client(String),
}

/// Services with an API of another provider, by their domain.
const SERVICES: [(&str, &str); 17] = [
    ("openai.com", "OpenAI"),
    ("anthropic.com", "Anthropic"),
    ("googleapis.com", "Gemini"),
    ("ollama.com", "Ollama"),
    ("deepseek.com", "DeepSeek"),
    ("openrouter.ai", "OpenRouter"),
    ("groq.com", "Groq"),
    ("mistral.ai", "Mistral"),
    ("together.xyz", "Together AI"),
    ("together.ai", "Together AI"),
    ("fireworks.ai", "Fireworks AI"),
    ("x.ai", "xAI"),
    ("azure.com", "Azure OpenAI"),
    ("moonshot.ai", "Moonshot AI"),
    ("cerebras.ai", "Cerebras"),
    ("perplexity.ai", "Perplexity"),
    ("huggingface.co", "Hugging Face"),
];

/// Whether the host of a URL is this domain, or one below it.
pub(super) fn is_host_of(url: &str, domain: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str).map(str::to_ascii_lowercase);
    let rest = host.as_deref().and_then(|host| host.strip_suffix(domain));
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The name for messages of what answers at this address. Users are not told internal host names.
pub(super) fn service(provider: Provider, base_url: Option<&str>) -> &'static str {
    let Some(url) = base_url else { return provider.name() };
    let known = SERVICES.iter().find(|(domain, _)| is_host_of(url, domain)).map(|(_, name)| *name);
    match provider {
        // Ollama runs anywhere, and everything that speaks its API is it.
        Provider::Ollama => provider.name(),
        _ => known.unwrap_or("the model's server"),
    }
}

/// The model, its API and the host it runs on. The signatures of one are invalid at another.
pub(super) fn origin(spec: &ProviderSpec, api: OpenAiApi, base_url: Option<&str>) -> String {
    let url = base_url.and_then(|url| reqwest::Url::parse(url).ok());
    let at = url.as_ref().and_then(reqwest::Url::host_str).map_or(String::new(), |host| format!(" at {host}"));
    match spec.provider {
        Provider::OpenAi => format!("{spec} by {}{at}", api.name()),
        _ => format!("{spec}{at}"),
    }
}

/// The address and key of a provider.
pub(super) struct Access {
    pub(super) key: Option<String>,
    pub(super) base_url: Option<String>,
}

pub(super) fn access(
    provider: Provider,
    base_url: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Access, ProviderSetupError> {
    let set = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let given = base_url
        .map(str::trim)
        .filter(|url| !url.is_empty())
        .map(|url| (url.to_owned(), "--base-url, or model.base_url"));
    let named = || provider.address_variable().and_then(|name| Some((set(name)?, name)));
    let address = given.or_else(named);

    let key = set(provider.key_variable());
    let needs_key = match provider {
        // An OpenAI-compatible server is often local and needs no key.
        Provider::OpenAi => address.is_none(),
        Provider::Anthropic | Provider::Gemini => true,
        Provider::Ollama => false,
    };
    match &key {
        None if needs_key => return Err(ProviderSetupError::Key(provider)),
        // The key goes into a header or a URL.
        Some(key) if !key.bytes().all(|byte| byte.is_ascii_graphic()) => {
            return Err(ProviderSetupError::BadKey(provider));
        }
        _ => {}
    }
    let base_url = match address {
        None => None,
        Some((url, origin)) => Some(whole_address(provider, &url, origin)?),
    };
    Ok(Access { key, base_url })
}

fn whole_address(provider: Provider, url: &str, origin: &'static str) -> Result<String, ProviderSetupError> {
    let has_scheme = url.contains("://");
    let whole = match provider {
        // Ollama's own variable is often just a host, a port, or both.
        Provider::Ollama if !has_scheme => ollama_host(url),
        _ => url.to_owned(),
    };
    let whole = whole.trim_end_matches('/');
    let whole = match provider {
        // The client appends the version to the path.
        Provider::Gemini => whole.strip_suffix("/v1beta").unwrap_or(whole),
        Provider::Ollama => whole.strip_suffix("/api").or_else(|| whole.strip_suffix("/v1")).unwrap_or(whole),
        Provider::Anthropic => whole.strip_suffix("/v1").unwrap_or(whole),
        Provider::OpenAi => whole,
    };
    let parsed = reqwest::Url::parse(whole).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    match parsed {
        Some(_) => Ok(whole.to_owned()),
        None => Err(ProviderSetupError::Address { provider, origin }),
    }
}

/// `host`, `host:port`, `:port`, with or without a path. A wildcard address means this machine.
fn ollama_host(text: &str) -> String {
    let (authority, path) = match text.split_once('/') {
        Some((authority, path)) => (authority, format!("/{path}")),
        None => (text, String::new()),
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        _ => (authority, "11434"),
    };
    let host = match host {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" | "::" => "[::1]",
        host => host,
    };
    format!("http://{host}:{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(provider: Provider, base: Option<&str>, set: &[(&str, &str)]) -> Result<Access, ProviderSetupError> {
        access(provider, base, |name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_spec_is_a_provider_and_a_model() {
        let spec: ProviderSpec = "ollama:llama3.2:3b".parse().expect("a spec");
        assert_eq!((spec.provider, spec.model.as_str()), (Provider::Ollama, "llama3.2:3b"));
        assert_eq!(spec.to_string(), "ollama:llama3.2:3b");
        for provider in Provider::ALL {
            let text = format!("{}:some-model", provider.prefix());
            assert_eq!(text.parse::<ProviderSpec>().expect("a spec").provider, provider);
            let bare = provider.prefix().parse::<ProviderSpec>();
            assert_eq!(bare, Err(SpecError::Model(provider.prefix())));
        }
        assert_eq!("claude:opus".parse::<ProviderSpec>(), Err(SpecError::Provider));
        assert_eq!("demo".parse::<ProviderSpec>(), Err(SpecError::Provider));
    }

    #[test]
    fn a_missing_key_is_refused_with_the_name_of_its_variable() {
        for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
            let error = from(provider, None, &[(provider.key_variable(), "  ")]).err().expect("no key").to_string();
            assert!(error.contains(provider.key_variable()), "{error}");
            assert!(from(provider, None, &[(provider.key_variable(), "k")]).is_ok());
        }
        assert!(from(Provider::Ollama, None, &[]).is_ok());
        assert!(from(Provider::OpenAi, Some("http://localhost:8000/v1"), &[]).is_ok());
        assert!(from(Provider::Anthropic, Some("http://localhost:8000"), &[]).is_err());
        let pasted = from(Provider::OpenAi, None, &[("OPENAI_API_KEY", "sk 123")]).err().expect("not a key");
        assert_eq!(pasted, ProviderSetupError::BadKey(Provider::OpenAi));
        assert!(!pasted.to_string().contains("sk 123"));
    }

    #[test]
    fn messages_name_the_service_that_is_meant() {
        for (provider, url, name) in [
            (Provider::OpenAi, None, "OpenAI"),
            (Provider::OpenAi, Some("https://eu.api.openai.com/v1"), "OpenAI"),
            (Provider::OpenAi, Some("https://api.DeepSeek.com"), "DeepSeek"),
            (Provider::OpenAi, Some("https://openrouter.ai/api/v1"), "OpenRouter"),
            (Provider::OpenAi, Some("https://contoso.openai.azure.com/openai/v1"), "Azure OpenAI"),
            (Provider::OpenAi, Some("https://notopenai.com/v1"), "the model's server"),
            (Provider::OpenAi, Some("http://vllm.internal:8000/v1"), "the model's server"),
            (Provider::Anthropic, None, "Anthropic"),
            (Provider::Anthropic, Some("https://api.deepseek.com/anthropic"), "DeepSeek"),
            (Provider::Gemini, Some("https://proxy.internal"), "the model's server"),
            (Provider::Ollama, Some("http://gpu.internal:11434"), "Ollama"),
        ] {
            assert_eq!(service(provider, url), name, "{url:?}");
        }
    }

    #[test]
    fn an_address_is_made_whole() {
        let at = |provider, base: Option<&str>, set: &[(&str, &str)]| {
            let keys = [("GEMINI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")];
            from(provider, base, &[&keys, set].concat()).map(|access| access.base_url)
        };
        for (host, whole) in [
            ("127.0.0.1:11435", "http://127.0.0.1:11435"),
            ("gpu", "http://gpu:11434"),
            (":8080", "http://127.0.0.1:8080"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:1234/", "http://127.0.0.1:1234"),
            ("https://gpu.example/ollama/", "https://gpu.example/ollama"),
            ("http://gpu:11434/api", "http://gpu:11434"),
        ] {
            assert_eq!(at(Provider::Ollama, None, &[("OLLAMA_HOST", host)]), Ok(Some(whole.to_owned())), "{host}");
        }
        let given = at(Provider::Ollama, Some("http://other:1"), &[("OLLAMA_HOST", "gpu")]);
        assert_eq!(given, Ok(Some("http://other:1".to_owned())));
        let gemini = at(Provider::Gemini, Some("http://proxy/v1beta/"), &[]);
        assert_eq!(gemini, Ok(Some("http://proxy".to_owned())));
        let variable = at(Provider::OpenAi, None, &[("OPENAI_BASE_URL", "http://vllm:8000/v1/")]);
        assert_eq!(variable, Ok(Some("http://vllm:8000/v1".to_owned())));
        let wrong = at(Provider::Anthropic, Some("localhost:8000"), &[]).expect_err("no scheme");
        assert!(wrong.to_string().contains("--base-url"), "{wrong}");
    }
}
