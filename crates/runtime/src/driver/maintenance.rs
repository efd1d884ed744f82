//! Verification and export of a runtime's own log, while it runs.

use std::io::Write;

use holdpoint_protocol::ids::ChatId;

use super::{
    Admin, Anchor, Finding, RuntimeError, Verified,
    transfer::{ExportError, export},
    verify,
};

impl Admin<'_> {
    /// Verifies a chat: see [`verify`]. `None` if there has never been such a chat.
    pub async fn verify(
        &self,
        chat: &ChatId,
        anchor: Option<&Anchor>,
        report: &mut (dyn FnMut(Finding) + Send),
    ) -> Result<Option<Verified>, RuntimeError> {
        verify(&*self.runtime.inner.log, chat, anchor, report).await.map_err(RuntimeError::Log)
    }

    /// Writes a chat as lines of JSON: see [`export`]. [`Importer`](super::transfer::Importer)
    /// reads them into another log.
    pub async fn export(&self, chat: &ChatId, out: &mut (dyn Write + Send)) -> Result<u64, ExportError> {
        export(&*self.runtime.inner.log, chat, out).await
    }
}
