//! The selected model.

use std::{path::Path, sync::Arc};

use holdpoint_runtime::model::{
    DemoModel, Model, ScriptError, ScriptModel,
    provider::{ProviderModel, ProviderSettings, ProviderSetupError, ProviderSpec, SpecError},
};
use holdpoint_server::config::{MissingVariable, ModelConfig};

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
    #[error("model.headers: {0}")]
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
    let spec = spec.or(config.use_model.as_deref()).unwrap_or("demo");
    if spec == "demo" {
        return Ok(Chosen::Demo);
    }
    if let Some(file) = spec.strip_prefix("script:") {
        return Ok(Chosen::Script(ScriptModel::from_file(Path::new(file))?));
    }
    let first = parse(spec)?;
    let model = provider(&first, &first, base_url, config)?;
    let fallbacks = config.fallback.iter().map(|spec| provider(&parse(spec)?, &first, base_url, config));
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

/// A model with the settings. What is for a provider goes to models of that provider only.
fn provider(
    spec: &ProviderSpec,
    first: &ProviderSpec,
    base_url: Option<&str>,
    config: &ModelConfig,
) -> Result<ProviderModel, ModelSetupError> {
    let mut settings = ProviderSettings {
        system: config.system.clone(),
        temperature: config.temperature,
        max_tokens: config.max_tokens.map(|tokens| tokens.get().into()),
        timeouts: config.timeouts(),
        prompt_caching: config.prompt_caching,
        reasoning_effort: config.reasoning_effort,
        ..ProviderSettings::default()
    };
    if spec.provider == first.provider {
        settings.base_url = base_url.or(config.base_url.as_deref()).map(str::to_owned);
        settings.api = config.api;
        settings.options = config.options.clone();
        settings.headers =
            config.headers.resolve(&|name| std::env::var(name).ok()).map_err(ModelSetupError::Headers)?;
    }
    let model = ProviderModel::new(spec.clone(), settings, |name| std::env::var(name).ok());
    model.map_err(|error| ModelSetupError::Provider(spec.clone(), error))
}
