//! Access tokens that were sent to a server. Tokens rotate, so responses are redacted with
//! the tokens that were sent last.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use crate::Secret;
use holdpoint_core::redact::Mask;

/// How many are remembered: an answer may come after the token was refreshed.
const REMEMBERED: usize = 4;

/// The tokens that were sent last.
#[derive(Debug, Clone, Default)]
pub(super) struct SentTokens(Arc<Mutex<VecDeque<Secret>>>);

impl SentTokens {
    pub(super) fn add(&self, token: &str) {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.iter().any(|known| known.reveal() == token) {
            return;
        }
        tokens.push_back(Secret::new(token));
        if tokens.len() > REMEMBERED {
            tokens.pop_front();
        }
    }

    /// A mask for them.
    pub(super) fn mask(&self) -> Mask {
        let tokens: Vec<Secret> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        Mask::default().and_whole(&tokens)
    }
}
