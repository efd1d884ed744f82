//! The selected model.

use std::{path::Path, sync::Arc};

use holdpoint_cli::config::{MissingVariable, ModelConfig};
use holdpoint_demo::DemoModel;
use holdpoint_runtime::model::{
    Model, ScriptError, ScriptModel,
    provider::{Provider, ProviderModel, ProviderSettings, ProviderSetupError, ProviderSpec, SpecError},
};

/// The model is unknown or can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ModelSetupError {
    #[error(
        "the model {0}: there is no such model. Use demo, script:FILE, openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL"
    )]
    Unknown(String),
    #[error("the model {0}: {1}")]
    Spec(String, SpecError),
    #[error("the model {0}: {1}")]
    Provider(ProviderSpec, ProviderSetupError),
    #[error("{setting} has no effect with the model {model}: remove it, or use another model (model.use)")]
    NoEffect { setting: String, model: String },
    #[error("model.prompt_caching is for Anthropic; the others cache by themselves: remove it")]
    NoCaching,
    #[error("model.eager_input_streaming is for Anthropic: remove it")]
    NoEagerStreaming,
    #[error(
        "model.fallback: {0} can't stand in for another model. Use openai:MODEL, anthropic:MODEL, gemini:MODEL or ollama:MODEL"
    )]
    Fallback(String),
    #[error(transparent)]
    Headers(MissingVariable),
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// The selected model.
pub(super) enum Chosen {
    Demo,
    Script(ScriptModel),
    Provider(ProviderModel),
}

impl Chosen {
    pub(super) fn into_model(self) -> Arc<dyn Model> {
        match self {
            Self::Demo => Arc::new(DemoModel),
            Self::Script(model) => Arc::new(model),
            Self::Provider(model) => Arc::new(model),
        }
    }
}

/// The command line overrides the settings.
pub(super) fn model(
    spec: Option<&str>,
    base_url: Option<&str>,
    config: &ModelConfig,
) -> Result<Chosen, ModelSetupError> {
    let chosen = spec.or(config.use_model.as_deref()).unwrap_or("demo");
    // Settings of a file are not for a model that the command line puts in the place of theirs.
    let is_of_settings = spec.is_none();
    let script = chosen.strip_prefix("script:");
    if chosen != "demo" && script.is_none() {
        return provided(chosen, is_of_settings, base_url, config);
    }
    let idle = base_url.map(|_| "--base-url".to_owned());
    let idle = idle.or_else(|| Some(format!("model.{}", config.of_providers().first().filter(|_| is_of_settings)?)));
    match (idle, script) {
        (Some(setting), _) => Err(ModelSetupError::NoEffect { setting, model: chosen.to_owned() }),
        (None, None) => Ok(Chosen::Demo),
        (None, Some(file)) => Ok(Chosen::Script(ScriptModel::from_file(Path::new(file))?)),
    }
}

/// A provider's model with its fallbacks.
fn provided(
    spec: &str,
    is_of_settings: bool,
    base_url: Option<&str>,
    config: &ModelConfig,
) -> Result<Chosen, ModelSetupError> {
    let first = parse(spec)?;
    let fallbacks = config.fallback.iter().map(|spec| {
        spec.parse::<ProviderSpec>().map_err(|error| match error {
            SpecError::Provider => ModelSetupError::Fallback(spec.clone()),
            error => ModelSetupError::Spec(spec.clone(), error),
        })
    });
    let fallbacks = fallbacks.collect::<Result<Vec<_>, _>>()?;
    let is_cached = fallbacks.iter().chain([&first]).any(|spec| spec.provider == Provider::Anthropic);
    if config.prompt_caching.is_some() && is_of_settings && !is_cached {
        return Err(ModelSetupError::NoCaching);
    }
    if config.eager_input_streaming.is_some() && is_of_settings && !is_cached {
        return Err(ModelSetupError::NoEagerStreaming);
    }
    let model = provider(&first, None, base_url, config)?;
    let fallbacks = fallbacks.iter().map(|spec| provider(spec, Some(&first), base_url, config));
    Ok(Chosen::Provider(model.with_fallbacks(fallbacks.collect::<Result<Vec<_>, _>>()?)))
}

/// Checks the name of a model, as far as that is possible without its file or its key.
pub(super) fn check(spec: &str) -> Result<(), ModelSetupError> {
    match spec.strip_prefix("script:") {
        Some("") => Err(ModelSetupError::Unknown(spec.to_owned())),
        Some(_) => Ok(()),
        None if spec == "demo" => Ok(()),
        None => parse(spec).map(drop),
    }
}

fn parse(spec: &str) -> Result<ProviderSpec, ModelSetupError> {
    spec.parse().map_err(|error| match error {
        SpecError::Provider => ModelSetupError::Unknown(spec.to_owned()),
        error => ModelSetupError::Spec(spec.to_owned(), error),
    })
}

/// A model with the settings. What is for a provider goes to models of that provider only. `first`: the model that a fallback
/// stands in for.
fn provider(
    spec: &ProviderSpec,
    first: Option<&ProviderSpec>,
    base_url: Option<&str>,
    config: &ModelConfig,
) -> Result<ProviderModel, ModelSetupError> {
    let mut settings = ProviderSettings {
        system: config.system.clone(),
        temperature: config.temperature,
        max_tokens: config.max_tokens.map(|tokens| tokens.get().into()),
        timeouts: config.timeouts(),
        prompt_caching: config.prompt_caching,
        eager_input_streaming: config.eager_input_streaming,
        reasoning_effort: config.reasoning_effort,
        is_fallback: first.is_some(),
        ..ProviderSettings::default()
    };
    if first.is_none_or(|first| first.provider == spec.provider) {
        settings.base_url = base_url.or(config.base_url.as_deref()).map(str::to_owned);
        settings.api = config.api;
        settings.options = config.options.clone();
        settings.headers = config
            .headers
            .resolve("model.headers", &|name| std::env::var(name).ok())
            .map_err(ModelSetupError::Headers)?;
    }
    let model = ProviderModel::new(spec.clone(), settings, |name| std::env::var(name).ok());
    model.map_err(|error| ModelSetupError::Provider(spec.clone(), error))
}
