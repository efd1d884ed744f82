//! Settings of the model.

use std::num::{NonZeroU32, NonZeroU64};

use holdpoint_runtime::{
    model::provider::{OpenAiApi, ReasoningEffort, Timeouts},
    tool::Budget,
};

use super::{SecretTexts, seconds};

/// Says where a key belongs.
fn no_key<'de, D: serde::Deserializer<'de>>(_: D) -> Result<Option<std::convert::Infallible>, D::Error> {
    Err(serde::de::Error::custom(
        "a key is not written into the settings: set the environment variable of the provider, OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, and remove `api_key`",
    ))
}

/// The model.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub struct ModelConfig {
    /// `demo`, `script:FILE`, `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL` or `ollama:MODEL`.
    #[serde(rename = "use")]
    pub use_model: Option<String>,
    /// Models to ask, one after the other, if this one fails before its first word: `["anthropic:MODEL"]`. Models of
    /// the same provider share its base URL, API, options and headers.
    #[serde(deserialize_with = "super::choice::texts")]
    pub fallback: Vec<String>,
    /// It is not a setting: keys are secrets, and come from the environment.
    #[doc(hidden)]
    #[serde(deserialize_with = "no_key")]
    #[cfg_attr(test, schemars(skip))]
    pub api_key: Option<std::convert::Infallible>,
    /// The provider's base URL, if not the default.
    pub base_url: Option<String>,
    /// The system prompt.
    pub system: Option<String>,
    /// Sampling temperature, from 0 to 2; for Anthropic, to 1.
    #[serde(deserialize_with = "super::number::temperature")]
    pub temperature: Option<f64>,
    /// Maximum tokens per step. An answer that reaches it ends the turn with the finish reason `length`.
    #[serde(deserialize_with = "super::number::whole")]
    pub max_tokens: Option<NonZeroU32>,
    /// Maximum steps per turn.
    #[serde(deserialize_with = "super::number::whole")]
    pub max_steps: Option<NonZeroU32>,
    /// Tokens that a turn may use, read and written, in all its steps. When they are used up, a person is asked whether to
    /// go on: a call of the tool `continue_turn`.
    #[serde(deserialize_with = "super::number::whole")]
    pub turn_token_budget: Option<NonZeroU64>,
    /// Tokens that a chat may use, in all its turns, before a person is asked.
    #[serde(deserialize_with = "super::number::whole")]
    pub chat_token_budget: Option<NonZeroU64>,
    /// OpenAI's API: `chat` (Chat Completions) or `responses`. By default `responses` for current models at OpenAI, and
    /// `chat` everywhere else.
    #[serde(deserialize_with = "super::choice::one_of")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub api: Option<OpenAiApi>,
    /// How much the model reasons: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`. Not every model has all: what
    /// it does not have is refused, and left out for a fallback.
    #[serde(deserialize_with = "super::choice::one_of")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Whether the prompt is marked for Anthropic's cache. Other providers cache by themselves.
    pub prompt_caching: Option<bool>,
    /// Whether Anthropic sends the inputs of tools while they are written, value by value. By default only at Anthropic's own
    /// address: Bedrock and others behind a `base_url` may refuse the field for it.
    pub eager_input_streaming: Option<bool>,
    /// Further fields of every request, in the provider's own words, such as `top_p`. They override what Holdpoint sends,
    /// except for the conversation, the model and the tools.
    #[cfg_attr(test, schemars(with = "super::reference::Options"))]
    pub options: serde_json::Map<String, serde_json::Value>,
    /// Further headers of every request.
    #[cfg_attr(test, schemars(with = "super::reference::Texts"))]
    pub headers: SecretTexts,
    /// Timeout for the first byte of an answer. A local server may have to load the model first.
    #[serde(deserialize_with = "super::number::whole")]
    pub first_byte_timeout_sec: Option<NonZeroU32>,
    /// Timeout between two pieces of an answer.
    #[serde(deserialize_with = "super::number::whole")]
    pub idle_timeout_sec: Option<NonZeroU32>,
    /// Timeout for a whole answer, which is one step.
    #[serde(deserialize_with = "super::number::whole")]
    pub timeout_sec: Option<NonZeroU32>,
}

impl ModelConfig {
    /// The settings that only a provider's model has, by their names, as far as they are set.
    pub fn of_providers(&self) -> Vec<&'static str> {
        let set = [
            ("fallback", !self.fallback.is_empty()),
            ("base_url", self.base_url.is_some()),
            ("system", self.system.is_some()),
            ("temperature", self.temperature.is_some()),
            ("max_tokens", self.max_tokens.is_some()),
            ("api", self.api.is_some()),
            ("reasoning_effort", self.reasoning_effort.is_some()),
            ("prompt_caching", self.prompt_caching.is_some()),
            ("eager_input_streaming", self.eager_input_streaming.is_some()),
            ("options", !self.options.is_empty()),
            ("headers", !self.headers.is_empty()),
            ("first_byte_timeout_sec", self.first_byte_timeout_sec.is_some()),
            ("idle_timeout_sec", self.idle_timeout_sec.is_some()),
            ("timeout_sec", self.timeout_sec.is_some()),
        ];
        set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }

    /// The token budget.
    pub fn budget(&self) -> Budget {
        Budget { turn: self.turn_token_budget, chat: self.chat_token_budget }
    }

    /// How long a step may take.
    pub fn timeouts(&self) -> Timeouts {
        let default = Timeouts::default();
        Timeouts {
            first_byte: seconds(self.first_byte_timeout_sec).or(default.first_byte),
            idle: seconds(self.idle_timeout_sec).or(default.idle),
            whole: seconds(self.timeout_sec).or(default.whole),
        }
    }
}
