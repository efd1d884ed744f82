//! How much a model reasons.

use std::collections::HashSet;

use rig_core::{
    ProviderError,
    catalog::Catalog,
    completion::{
        GenerationOptions, ToolDefinition, UnsupportedOption,
        options::{Effort, Reasoning},
    },
    message::ToolName,
};

use super::{Inner, Provider, ProviderSetupError, request};
use crate::model::ModelRequest;

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

    fn reasoning(self) -> Reasoning {
        let effort = match self {
            Self::None => return Reasoning::Off,
            Self::Minimal => Effort::Minimal,
            Self::Low => Effort::Low,
            Self::Medium => Effort::Medium,
            Self::High => Effort::High,
            Self::XHigh => Effort::XHigh,
            Self::Max => Effort::Max,
        };
        effort.into()
    }

    /// For models that have a budget of tokens and no levels. The budgets are those that Google gives its own models for these
    /// words (<https://ai.google.dev/gemini-api/docs/openai>); Anthropic has no such table, and takes at least 1024.
    fn budget(self) -> Option<u32> {
        match self {
            Self::Minimal | Self::Low => Some(1024),
            Self::Medium => Some(8192),
            Self::High => Some(24_576),
            Self::None | Self::XHigh | Self::Max => None,
        }
    }
}

/// Why a model does not take an effort.
enum Why {
    /// It has no such thing.
    Unknown,
    /// The budget would not be less than the token limit.
    NoRoom(u32),
    /// Claude takes no temperature while it thinks.
    Temperature,
    /// Another setting does not go with it.
    Other(UnsupportedOption),
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
            return Err(ProviderSetupError::TemperatureWhileThinking { setting: "model.reasoning_effort" });
        }
        Why::Unknown => None,
        Why::NoRoom(budget) => {
            Some(format!("it means a budget of {budget} tokens, and model.max_tokens must be larger"))
        }
        Why::Other(option) => Some(option.to_string()),
    };
    let takes = ReasoningEffort::ALL.iter().filter(|(_, effort)| way(inner, *effort).is_ok()).map(|(name, _)| *name);
    let takes = match takes.collect::<Vec<_>>() {
        names if names.is_empty() => "nothing here; remove it".to_owned(),
        names => names.join(", "),
    };
    Err(ProviderSetupError::Effort { effort: effort.name(), model: inner.spec.to_string(), hint, takes })
}

/// How the model is told; `None` if it needs not be told.
fn way(inner: &Inner, effort: ReasoningEffort) -> Result<Option<Reasoning>, Why> {
    let provider = inner.spec.provider;
    if provider == Provider::Anthropic && never_thinks(&inner.spec.model) {
        return if effort == ReasoningEffort::None { Ok(None) } else { Err(Why::Unknown) };
    }
    // Ollama refuses any other value for a model that does not think, and which do is not known here.
    if inner.settings.is_fallback && provider == Provider::Ollama && effort != ReasoningEffort::None {
        return Err(Why::Unknown);
    }
    let reasoning = match (attempt(inner, effort.reasoning(), inner.settings.max_tokens), effort.budget()) {
        (Ok(()), _) => effort.reasoning(),
        (Err(option), Some(tokens)) if option.option == "reasoning" => {
            let budget = Reasoning::Budget { tokens };
            match attempt(inner, budget, inner.settings.max_tokens) {
                Ok(()) => budget,
                Err(_) if attempt(inner, budget, None).is_ok() => return Err(Why::NoRoom(tokens)),
                Err(_) => return Err(Why::Unknown),
            }
        }
        (Err(option), _) if option.option == "reasoning" => return Err(Why::Unknown),
        (Err(option), _) => return Err(Why::Other(option)),
    };
    if provider == Provider::Anthropic && is_cool(inner.settings.temperature) && thinks(&inner.spec.model, reasoning) {
        return Err(Why::Temperature);
    }
    Ok(Some(reasoning))
}

/// Asks the library whether the model takes this, by a request that is made and never sent.
fn attempt(inner: &Inner, reasoning: Reasoning, max_tokens: Option<u64>) -> Result<(), UnsupportedOption> {
    let nothing = ModelRequest { messages: [].into(), tools: [].into() };
    let mut request = request::build(inner, &nothing, &HashSet::new()).max_tokens(max_tokens);
    // Some models reason only without tools.
    if let Ok(name) = ToolName::new("tool") {
        request = request.tools(vec![ToolDefinition::new(name, "", serde_json::json!({"type": "object"}))]);
    }
    request.options = GenerationOptions::new().reasoning(reasoning);
    match inner.model.stream(request) {
        Err(ProviderError::UnsupportedOption(option)) => Err(option),
        // The stream sends nothing until it is read.
        _ => Ok(()),
    }
}

/// Whether a temperature other than the default is set.
pub(super) fn is_cool(temperature: Option<f64>) -> bool {
    temperature.is_some_and(|temperature| temperature != 1.0)
}

/// Claude up to 3.5, which the library's catalog no longer has.
fn never_thinks(model: &str) -> bool {
    let earlier = ["claude-instant", "claude-2", "claude-3-5", "claude-3-haiku", "claude-3-sonnet", "claude-3-opus"];
    earlier.iter().any(|earlier| model.starts_with(earlier))
}

/// Whether Claude thinks by this. Opus 4.5 has an effort that is no thinking.
fn thinks(model: &str, reasoning: Reasoning) -> bool {
    match reasoning {
        Reasoning::Off => false,
        Reasoning::Budget { .. } => true,
        Reasoning::Effort(_) => {
            let known = Catalog::builtin().resolve(&format!("anthropic/{model}"));
            known.is_none_or(|known| known.compat.adaptive_thinking)
        }
        _ => true,
    }
}
