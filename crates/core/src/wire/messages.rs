//! The messages of a chat, oldest first, with what a projection keeps of each.

use holdpoint_protocol::ids::MessageId;

use crate::fact::Cut;

/// Messages, each with what is kept of it. What a cut does to them is said here and nowhere else in `wire/`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Messages<T>(Vec<(MessageId, T)>);

impl<T> Default for Messages<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Messages<T> {
    /// Adds a message to the end.
    pub(super) fn push(&mut self, id: MessageId, kept: T) {
        self.0.push((id, kept));
    }

    /// Removes the message that is cut and everything after it, and returns that. `None` if there is no cut, or its message is not
    /// among these: they are all older than it, or all younger.
    pub(super) fn cut(&mut self, cut: Option<&Cut>) -> Option<Vec<(MessageId, T)>> {
        self.cut_from(&cut?.message)
    }

    /// Like `cut`, from a message on.
    pub(super) fn cut_from(&mut self, id: &MessageId) -> Option<Vec<(MessageId, T)>> {
        let at = self.0.iter().position(|(message, _)| message == id)?;
        Some(self.0.split_off(at))
    }

    /// Removes all of them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What is kept of a message.
    pub(super) fn get_mut(&mut self, id: &MessageId) -> Option<&mut T> {
        self.0.iter_mut().rfind(|(message, _)| message == id).map(|(_, kept)| kept)
    }

    pub(super) fn into_vec(self) -> Vec<(MessageId, T)> {
        self.0
    }
}

impl<T> Extend<(MessageId, T)> for Messages<T> {
    fn extend<I: IntoIterator<Item = (MessageId, T)>>(&mut self, messages: I) {
        self.0.extend(messages);
    }
}
