//! The selected model.

use std::{path::Path, sync::Arc};

use holdpoint_runtime::model::{
    DemoModel, Model, ScriptError, ScriptModel,
    provider::{ProviderModel, ProviderSettings, ProviderSetupError, ProviderSpec, SpecError},
};
use holdpoint_server::config::ModelConfig;

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
    let spec: ProviderSpec = spec.parse().map_err(|error| match error {
        SpecError::Provider => ModelSetupError::Unknown(spec.to_owned()),
        error => ModelSetupError::Spec(spec.to_owned(), error),
    })?;
    let settings = ProviderSettings {
        base_url: base_url.or(config.base_url.as_deref()).map(str::to_owned),
        system: config.system.clone(),
        temperature: config.temperature,
        max_tokens: config.max_tokens,
    };
    let model = ProviderModel::new(spec.clone(), settings, |name| std::env::var(name).ok());
    Ok(Chosen::Provider(model.map_err(|error| ModelSetupError::Provider(spec, error))?))
}
