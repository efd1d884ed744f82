//! The followers of a chat: its facts in memory, for everybody who reads them.
//!
//! They begin when the chat is loaded, with the facts from there on, and end when this is dropped, however the task ends: every
//! reader is told that nothing more comes, so that it asks for the chat again or learns that it was deleted. As long as there
//! is a reader, the chat stays awake.

use std::sync::Arc;

use crate::{
    chat::Chat,
    driver::feed::{Earlier, Feed, FeedReader},
    fact::Fact,
};

/// Those who follow a chat.
pub(in crate::driver) struct Followers {
    feed: Arc<Feed>,
}

impl Followers {
    /// Nobody yet, of a chat with these facts after this state.
    pub(super) fn new(origin: Chat, earlier: Earlier, facts: Vec<Arc<Fact>>) -> Self {
        let feed = Arc::new(Feed::new(origin, Some(earlier)));
        feed.push(facts);
        Self { feed }
    }

    /// What they are shown.
    pub(in crate::driver) fn shown(&self) -> &Feed {
        &self.feed
    }

    /// One more.
    pub(super) fn reader(&self) -> FeedReader {
        self.feed.reader()
    }

    /// Whether there are any.
    pub(in crate::driver) fn exist(&self) -> bool {
        self.feed.is_watched()
    }

    /// Completes when there are none.
    pub(super) async fn gone(&self) {
        self.feed.unwatched().await;
    }

    /// Shows facts.
    pub(super) fn show(&self, facts: Vec<Arc<Fact>>) {
        self.feed.push(facts);
    }

    /// Blanks facts that were shown and will never be written.
    pub(super) fn take_back(&self, unwritten: &[Arc<Fact>]) {
        self.feed.take_back(unwritten);
    }

    /// Tells what the chat takes on disk, and what of it is in memory.
    pub(super) fn set_bytes(&self, stored: usize, loaded: usize) {
        self.feed.set_bytes(stored, loaded);
    }

    /// Nothing more comes because the chat was deleted.
    pub(super) fn set_deleted(&self) {
        self.feed.set_deleted();
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        self.feed.close();
    }
}
