//! Checks of a provider. Listing its models is free, and shows whether it is reachable, accepts the key and has the model. Asking
//! for a few tokens shows whether it takes the tools and the settings.

use super::{
    ProviderModel,
    effort::Reasoning,
    failure::{FailureKind, ProviderFailure},
    http::HttpError,
    request::{self, Built, Without},
    wire::Answer,
    wordings,
};
use crate::{ModelError, ModelMessage, ModelRequest, UserPart};
use holdpoint_core::tool::ToolCatalog;

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probed {
    /// It has the model.
    Listed,
    /// It has only other models.
    NotListed {
        /// How many.
        others: usize,
    },
    /// It responds, but has no list, like some OpenAI-compatible servers.
    NoList,
}

impl ProviderModel {
    /// Asks the provider for its list of models.
    pub async fn probe(&self) -> Result<Probed, ModelError> {
        let inner = &self.inner;
        match inner.http.get(inner.list_url.clone()).await {
            Ok(list) => {
                let model = &inner.spec.model;
                // Gemini lists `models/NAME`, and Ollama adds `:latest` to a name without a tag.
                let is_it = |id: &str| {
                    let id = id.strip_prefix("models/").unwrap_or(id);
                    id == model || id.strip_suffix(":latest") == Some(model)
                };
                let listed = inner.wire.listed(&list);
                Ok(match listed.iter().any(|listed| is_it(listed)) {
                    true => Probed::Listed,
                    false => Probed::NotListed { others: listed.len() },
                })
            }
            Err(HttpError::Status(response)) if matches!(response.status, 404 | 405 | 501) => Ok(Probed::NoList),
            Err(error) => Err(ProviderFailure::of(&error, false).to_model_error(inner)),
        }
    }
}

/// As many tokens are asked for. OpenAI's Responses takes no smaller limit.
const TRIAL_TOKENS: u64 = 16;

impl ProviderModel {
    /// Asks the model for a few tokens with these tools and what is said about them, to see whether it takes what it is sent. It costs next to nothing: the
    /// answer is not read beyond its beginning. The fallbacks are not asked.
    pub async fn try_out(&self, tools: &ToolCatalog) -> Result<(), ModelError> {
        let inner = &self.inner;
        let hello = ModelMessage::User(vec![UserPart::Text("Hello".to_owned())]);
        let (tools, instructions) = (tools.offered_specs(), tools.instructions());
        let request = ModelRequest { messages: [hello].into(), tools, instructions };
        // A budget for thinking has to be smaller than the limit.
        let has_budget =
            matches!(inner.reasoning, Some(Reasoning::Budget(_))) || inner.settings.options.contains_key("thinking");
        let max_tokens = if has_budget { inner.settings.max_tokens } else { Some(TRIAL_TOKENS) };
        let failed = match self.begin(&request, max_tokens).await {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        // What a request does by itself when a server does not know the binding of thinking.
        if failed.kind == FailureKind::Rejected && inner.binds_thinking() && wordings::refuses_binding(&failed.detail) {
            inner.leave_thinking_unbound();
            return self.begin(&request, max_tokens).await.map_err(|failed| failed.to_model_error(inner));
        }
        Err(failed.to_model_error(inner))
    }

    async fn begin(&self, request: &ModelRequest, max_tokens: Option<u64>) -> Result<(), ProviderFailure> {
        let inner = &self.inner;
        let Built { body, beta, .. } = request::build_within(inner, request, &Without::default(), max_tokens);
        let opened = inner.http.stream(inner.url.clone(), beta, body, inner.wire.framing()).await;
        let mut events = opened.map_err(|error| ProviderFailure::of(&error, false))?;
        match events.next().await.map_err(|error| ProviderFailure::of(&error, false))? {
            Some(event) => {
                let read = inner.wire.reader().event(&event, &mut Answer::default());
                read.map_err(|error| ProviderFailure::of_event(&error))
            }
            None => Err(ProviderFailure::new(FailureKind::Empty, "the answer has no events")),
        }
    }
}
