//! A chat's log without a task: what it does when somebody else has written to the chat first.

use std::collections::BTreeSet;

use holdpoint_protocol::request::ChatRequest;
use serde_json::json;

use super::*;
use crate::{
    driver::{Runtime, command::ChatError, grants::KnownGrants, load::load},
    fact::{CallOrder, NextTurn},
    identity::Identity,
    model::{ModelEvent, ScriptModel},
    turn::Submit,
    wire::Channel,
};

async fn runtime() -> Runtime {
    let script = json!({"turns": [{"steps": [[{"text": ["an answer"]}]]}]});
    let model = ScriptModel::from_text(&script.to_string()).expect("a valid script");
    Runtime::builder(Arc::new(model)).start().await.expect("starts")
}

/// Somebody who writes to the chat.
struct Writer {
    log: ChatLog,
    shown: Feed,
}

impl Writer {
    async fn load(runtime: &Runtime) -> Self {
        let chat = ChatId::from("c");
        let loaded = load(&runtime.inner, &chat, None).await.ok().expect("it loads");
        let (log, facts) = ChatLog::new(Arc::clone(&runtime.inner), chat, loaded);
        let shown = Feed::new(log.origin().clone(), None);
        shown.push(facts);
        Self { log, shown }
    }

    /// What follows from an input.
    fn decide(&mut self, input: Input) -> Vec<Arc<Fact>> {
        let (tools, grants, unsent) = (self.log.inner.tools(), KnownGrants::default(), BTreeSet::new());
        let (tools, channel) = (tools.catalog(), Channel::Chat);
        let with = Deciding { tools, model: "a model", grants: &grants, unsent: &unsent, refuses: None, channel };
        self.log.decide(vec![input], &with).facts.into_iter().map(Arc::new).collect()
    }

    /// Writes facts and shows them. Returns whether others had written before.
    async fn commit(&mut self, facts: Vec<Arc<Fact>>, on_conflict: OnConflict) -> Result<bool, ChatError> {
        let writing = Writing { on_conflict, may_refuse: false };
        let committed = self.log.commit(&facts, writing, &self.shown).await?;
        assert!(committed.is_written);
        self.shown.push(facts);
        Ok(self.absorb(&committed.foreign))
    }

    fn absorb(&mut self, foreign: &Foreign) -> bool {
        let is_news = !foreign.facts().is_empty();
        if is_news {
            assert!(self.log.absorb(foreign).is_none(), "it is the same node");
            self.shown.push(foreign.facts().to_vec());
        }
        is_news
    }

    async fn say(&mut self, text: &str) {
        let facts = self.decide(message(text));
        assert_eq!(self.commit(facts, OnConflict::Decide).await, Ok(false));
    }

    /// Text of the model, which is shown before it is written. Returns the number of its facts.
    fn show_text(&mut self) -> u64 {
        let facts = self.decide(Input::Model(ModelEvent::TextDelta("text".to_owned())));
        let count = facts.len() as u64;
        assert!(count > 0 && !self.log.put_off(&facts));
        self.shown.push(facts);
        count
    }
}

fn message(text: &str) -> Input {
    let next = NextTurn { order: CallOrder::Together, holds_text: false, is_resubmit: false };
    Input::Submit(Arc::new(Submit { request: ChatRequest::user("c", text), by: Identity::local(), next }))
}

#[tokio::test]
async fn what_lost_to_another_writer_is_taken_out_of_the_state() {
    let runtime = runtime().await;
    Writer::load(&runtime).await.say("first").await;
    let (mut quick, mut slow) = (Writer::load(&runtime).await, Writer::load(&runtime).await);
    quick.say("second").await;
    slow.show_text();
    let (end, shown) = (slow.log.end(), slow.shown.end());
    let facts = slow.decide(message("third"));
    assert!(slow.log.state().len > shown);
    assert_eq!(slow.commit(facts, OnConflict::Decide).await, Err(ChatError::Conflict));
    assert_eq!((slow.log.end(), slow.log.state().len), (end, shown));
    assert!(slow.log.has_pending(), "the text is still to be written");
    let foreign = slow.log.read_conflict().await.expect("it reads");
    assert!(slow.absorb(&foreign));
    assert_eq!(slow.log.end(), quick.log.end());
    let facts = slow.decide(message("third"));
    assert_eq!(slow.commit(facts, OnConflict::Decide).await, Ok(false));
    assert!(!slow.log.has_pending());
}

#[tokio::test]
async fn what_has_happened_is_written_behind_what_others_have_added() {
    let runtime = runtime().await;
    Writer::load(&runtime).await.say("first").await;
    let (mut quick, mut slow) = (Writer::load(&runtime).await, Writer::load(&runtime).await);
    quick.say("second").await;
    let text = slow.show_text();
    assert_eq!(slow.commit(Vec::new(), OnConflict::Rebase).await, Ok(true));
    assert_eq!(slow.log.end(), quick.log.end() + text);
    assert_eq!((slow.log.state().len, slow.log.end()), (slow.shown.end(), Writer::load(&runtime).await.log.end()));
    assert!(slow.log.take_news() && !slow.log.has_pending());
}

#[tokio::test]
async fn the_first_message_in_the_log_is_the_title() {
    let runtime = runtime().await;
    let (mut quick, mut slow) = (Writer::load(&runtime).await, Writer::load(&runtime).await);
    let facts = slow.decide(message("late"));
    quick.say("early").await;
    assert_eq!(slow.commit(facts, OnConflict::Decide).await, Err(ChatError::Conflict));
    let foreign = slow.log.read_conflict().await.expect("it reads");
    slow.absorb(&foreign);
    assert_eq!((&*slow.log.title, &*quick.log.title), ("early", "early"));
}
