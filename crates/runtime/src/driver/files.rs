//! The files that calls have produced.

use holdpoint_protocol::ids::{ChatId, ToolCallId};

use super::{Chats, RuntimeError, load::FactReader};
use crate::{fact::Fact, tool::StoredFile};

impl Chats<'_> {
    /// A file that a call has produced, by its place among those of the call. Only the turn of the call is read.
    pub async fn file(
        &self,
        chat: &ChatId,
        call: &ToolCallId,
        index: usize,
    ) -> Result<Option<StoredFile>, RuntimeError> {
        let found = self.runtime.inner.log.find(self.owner, call.as_str()).await.map_err(RuntimeError::Log)?;
        let Some(found) = found.filter(|found| found.chat == *chat) else { return Ok(None) };
        let mut facts = FactReader::new(&self.runtime.inner, found);
        while let Some(batch) = facts.next().await? {
            for fact in batch {
                match fact {
                    Fact::Stored { call: of, files } if of == *call => return Ok(files.get(index).cloned()),
                    Fact::Settled { call: of, .. } if of == *call => return Ok(None),
                    _ => {}
                }
            }
        }
        Ok(None)
    }
}
