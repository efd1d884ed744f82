//! Asking a provider which models it has: whether it can be reached, takes the key, and knows the model. It costs nothing.

use futures::future::BoxFuture;
use rig_core::{ProviderError, model::ModelList};

use super::{ProviderModel, trouble::Trouble};
use crate::model::ModelError;

/// Lists the provider's models.
pub(super) type List = Box<dyn Fn() -> BoxFuture<'static, Result<ModelList, ProviderError>> + Send + Sync>;

/// What a provider says of its models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probed {
    /// It has the model.
    Listed,
    /// It has others.
    NotListed {
        /// How many.
        others: usize,
    },
    /// It answers, and has no list: some servers that are compatible with OpenAI's have none.
    NoList,
}

impl ProviderModel {
    /// Asks the provider which models it has.
    pub async fn probe(&self) -> Result<Probed, ModelError> {
        let model = &self.inner.spec.model;
        match (self.inner.list)().await {
            Ok(list) => {
                // Gemini calls them `models/NAME`, Ollama adds `:latest` where nothing else is said.
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
                    _ => Err(Trouble::of(&error, false).told(&self.inner.spec, &self.inner.mask)),
                }
            }
        }
    }
}
