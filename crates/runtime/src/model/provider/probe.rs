//! A free check of a provider: lists its models, to see whether it is reachable, accepts the key and has the model.

use futures::future::BoxFuture;
use rig_core::{ProviderError, model::ModelList};

use super::{ProviderModel, failure::ProviderFailure};
use crate::model::ModelError;

/// Lists the provider's models.
pub(super) type List = Box<dyn Fn() -> BoxFuture<'static, Result<ModelList, ProviderError>> + Send + Sync>;

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
        let model = &self.inner.spec.model;
        match (self.inner.list)().await {
            Ok(list) => {
                // Gemini lists `models/NAME`, and Ollama adds `:latest` to a name without a tag.
                let is_it = |id: &str| {
                    let id = id.strip_prefix("models/").unwrap_or(id);
                    id == model || id.strip_suffix(":latest") == Some(model)
                };
                Ok(match list.data.iter().any(|listed| is_it(&listed.id)) {
                    true => Probed::Listed,
                    false => Probed::NotListed { others: list.data.len() },
                })
            }
            Err(error) => {
                let status = error.provider_response().and_then(|response| response.status);
                match status.map(|status| status.as_u16()) {
                    Some(404 | 405 | 501) => Ok(Probed::NoList),
                    _ => Err(ProviderFailure::of(&error, false).to_model_error(&self.inner)),
                }
            }
        }
    }
}
