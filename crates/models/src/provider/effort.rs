//! How much a model reasons.

use super::{
    Inner, Provider, ProviderSetupError,
    traits::{Temperature, Way},
};

/// How much a model reasons before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl ReasoningEffort {
    /// All of them, with their names in settings.
    pub const ALL: [(&'static str, Self); 7] = [
        ("none", Self::None),
        ("minimal", Self::Minimal),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("xhigh", Self::XHigh),
        ("max", Self::Max),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, effort)| *effort == self).map_or("", |(name, _)| name)
    }

    /// For models that have a budget of tokens and no levels. The budgets are those that Google gives its own models for these
    /// words (<https://ai.google.dev/gemini-api/docs/openai>); Anthropic has no such table, and takes at least 1024.
    fn budget(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Minimal | Self::Low => 1024,
            Self::Medium => 8192,
            Self::High | Self::XHigh | Self::Max => 24_576,
        }
    }
}

/// How a request sets the reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reasoning {
    Off,
    Level(ReasoningEffort),
    /// In tokens.
    Budget(u32),
}

impl Reasoning {
    /// The level's name.
    pub(super) fn level(self) -> &'static str {
        match self {
            Self::Off | Self::Budget(_) => ReasoningEffort::None.name(),
            Self::Level(effort) => effort.name(),
        }
    }
}

/// Why a model does not take an effort.
enum Why {
    /// The model has no such setting.
    Unknown,
    /// The budget would not be less than the token limit.
    NoRoom(u32),
    /// It takes no temperature while it reasons.
    Temperature,
}

/// The effort of the settings in the way of the model. If the model does not take it, it is refused; a fallback does without.
pub(super) fn choose(inner: &Inner) -> Result<Option<Reasoning>, ProviderSetupError> {
    let Some(effort) = inner.settings.reasoning_effort else { return Ok(None) };
    let why = match way(inner, effort) {
        Ok(reasoning) => return Ok(reasoning),
        Err(_) if inner.settings.is_fallback => return Ok(None),
        Err(why) => why,
    };
    let hint = match why {
        Why::Temperature => {
            return Err(ProviderSetupError::TemperatureWhileThinking {
                setting: "model.reasoning_effort",
                provider: inner.spec.provider,
            });
        }
        Why::Unknown => None,
        Why::NoRoom(budget) => {
            Some(format!("it means a budget of {budget} tokens, and model.max_tokens must be larger"))
        }
    };
    let takes = ReasoningEffort::ALL.iter().filter(|(_, effort)| way(inner, *effort).is_ok()).map(|(name, _)| *name);
    let takes = match takes.collect::<Vec<_>>() {
        names if names.is_empty() => "nothing here; remove it".to_owned(),
        names => names.join(", "),
    };
    Err(ProviderSetupError::Effort { effort: effort.name(), model: inner.spec.to_string(), hint, takes })
}

/// The provider's encoding of the effort; `None` to use its default.
fn way(inner: &Inner, effort: ReasoningEffort) -> Result<Option<Reasoning>, Why> {
    let provider = inner.spec.provider;
    // Ollama refuses any other value for a model that does not think, and which do is not known here.
    if inner.settings.is_fallback && provider == Provider::Ollama && effort != ReasoningEffort::None {
        return Err(Why::Unknown);
    }
    let reasoning = match inner.traits.way() {
        Way::Never if effort == ReasoningEffort::None => return Ok(None),
        Way::Levels(levels) if levels.contains(&effort) => match effort {
            ReasoningEffort::None => Reasoning::Off,
            effort => Reasoning::Level(effort),
        },
        Way::Budgets(levels) if levels.contains(&effort) => match effort {
            ReasoningEffort::None => Reasoning::Off,
            effort => Reasoning::Budget(effort.budget()),
        },
        _ => return Err(Why::Unknown),
    };
    if let (Reasoning::Budget(tokens), Provider::Anthropic, Some(limit)) =
        (reasoning, provider, inner.settings.max_tokens)
        && u64::from(tokens) >= limit
    {
        return Err(Why::NoRoom(tokens));
    }
    let is_thinking = match reasoning {
        Reasoning::Off => false,
        Reasoning::Budget(_) => true,
        Reasoning::Level(_) => inner.traits.thinks_by_level(),
    };
    let takes_none = matches!(inner.traits.temperature(), Temperature::UnlessReasoning { .. });
    if is_thinking && takes_none && is_cool(inner.settings.temperature) {
        return Err(Why::Temperature);
    }
    Ok(Some(reasoning))
}

/// The temperature that the model is sent. One that it does not take is refused; a fallback does without.
pub(super) fn temperature(inner: &Inner) -> Result<Option<f64>, ProviderSetupError> {
    let Some(temperature) = inner.settings.temperature else { return Ok(None) };
    let is_off = inner.reasoning == Some(Reasoning::Off);
    let is_taken = match inner.traits.temperature() {
        Temperature::Always => true,
        Temperature::UnlessReasoning { by_default } => !by_default || is_off,
        Temperature::Never => false,
    };
    match (is_taken, is_cool(inner.settings.temperature)) {
        (true, _) => Ok(Some(temperature)),
        // 1 is the default.
        (false, false) => Ok(None),
        (false, true) if inner.settings.is_fallback => Ok(None),
        (false, true) => Err(ProviderSetupError::NoTemperature { model: inner.spec.to_string() }),
    }
}

/// Whether a temperature other than the default is set.
pub(super) fn is_cool(temperature: Option<f64>) -> bool {
    temperature.is_some_and(|temperature| temperature != 1.0)
}
