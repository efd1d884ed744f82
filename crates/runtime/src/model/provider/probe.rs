//! A free check of a provider: lists its models, to see whether it is reachable, accepts the key and has the model.

use super::{ProviderModel, failure::ProviderFailure, http::HttpError};
use crate::model::ModelError;

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
