//! What a server says about the use of its tools, when it is connected.

use std::sync::PoisonError;

use rmcp::{RoleClient, service::Peer};

use super::server::Shared;
use crate::Instructions;

impl Shared {
    /// What the server says, if it may.
    pub(super) fn instructions(&self) -> Option<Instructions> {
        self.instructions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes what the server has said at the beginning of this connection. Returns whether it is not what it said before.
    pub(super) fn read_instructions(&self, peer: &Peer<RoleClient>) -> bool {
        let info = peer.peer_info().filter(|_| self.settings.instructions);
        let said = info.as_ref().and_then(|info| info.instructions.as_deref());
        // It may repeat what it was given, as an answer may.
        let said = said.map(|said| self.tokens.mask().hide(&self.echo.hide(said)));
        let said = said.and_then(|said| Instructions::new(&self.settings.name, &said));
        let mut known = self.instructions.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = *known != said;
        *known = said;
        is_other
    }
}
