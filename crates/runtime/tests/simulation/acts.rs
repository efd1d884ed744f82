//! One request of a client to one node, and what its response promises.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::{
    grants::Remember,
    ids::{ApprovalId, ChatId, GrantId, MessageId, ToolCallId},
    message::Role,
    request::{ChatRequest, DecisionRequest, Verdict},
};
use holdpoint_runtime::{LiveStream, Profile, Resume, Runtime, RuntimeError, fact::Fact, turn::Answered, wire::View};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    journal::{Commit, Entry},
    random::Random,
    wire::{End, read, read_live, write_live},
    world::{World, me},
};

/// A request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Say {
        view: View,
        message: Value,
        edited: Option<MessageId>,
    },
    Decide {
        approval: ApprovalId,
        verdict: Verdict,
        remember: Option<Remember>,
    },
    Revoke {
        grant: GrantId,
    },
    Result {
        call: ToolCallId,
        ack: Value,
    },
    /// Sends the history back, with answers to everything that waits in it, and perhaps a new message.
    Answer {
        view: View,
        approved: bool,
        says: Option<Value>,
    },
    Stop,
    Regenerate {
        view: View,
    },
    Resume {
        view: View,
    },
    Live {
        view: View,
        messages: Vec<(Duration, Value)>,
        stays: Duration,
    },
    Messages,
    Delete,
}

/// How often a client repeats a request that was not confirmed.
const ATTEMPTS: usize = 6;

/// A client of a node.
pub(crate) struct Client {
    world: Arc<World>,
    node: usize,
    chat: ChatId,
    random: Random,
}

impl Client {
    pub(crate) fn new(world: &Arc<World>, node: usize, chat: ChatId, seed: u64) -> Self {
        Self { world: Arc::clone(world), node, chat, random: Random::new(seed, "client") }
    }

    /// Sends the request until it is confirmed or refused.
    pub(crate) async fn send(mut self, act: Act) {
        let waiting = self.world.waiting(format!("{act:?} in {} on node {}", self.chat, self.node));
        for _ in 0..ATTEMPTS {
            let Some(runtime) = self.world.runtime(self.node) else { return };
            let done = self.once(&runtime, &act).await;
            drop(runtime);
            match done {
                Ok(None) => return,
                Ok(Some(follow)) => {
                    drop(waiting);
                    return follow.await;
                }
                Err(RuntimeError::Unconfirmed | RuntimeError::Log(_) | RuntimeError::Busy) => {
                    sleep(self.random.millis(1500)).await;
                }
                Err(RuntimeError::NotFound | RuntimeError::IdTaken | RuntimeError::Rejected(_)) => return,
                Err(error) => return self.world.violation(format!("{act:?} failed: {error}")),
            }
        }
    }

    async fn once(&mut self, runtime: &Runtime, act: &Act) -> Result<Option<Follow>, RuntimeError> {
        let (world, chat) = (Arc::clone(&self.world), self.chat.clone());
        match act {
            Act::Say { view, message, edited } => {
                let body = json!({"id": chat, "messages": [message], "messageId": edited});
                let follow = self.submit(runtime, body, *view).await?;
                self.must_have_said(message);
                Ok(follow)
            }
            Act::Answer { view, approved, says } => {
                let Some(body) = self.answers(runtime, *approved, says.as_ref()).await? else { return Ok(None) };
                let follow = self.submit(runtime, body, *view).await?;
                says.iter().for_each(|message| self.must_have_said(message));
                Ok(follow)
            }
            Act::Regenerate { view } => {
                let from = world.journal.len();
                let body = json!({"id": chat, "trigger": "regenerate-message", "messages": []});
                let follow = self.submit(runtime, body, *view).await?;
                let is_there = self.since(from).iter().any(|fact| matches!(fact, Fact::Regenerated { .. }));
                if !is_there {
                    world.violation(format!("{chat}: a regenerate was confirmed and is not in the log"));
                }
                Ok(follow)
            }
            Act::Decide { approval, verdict, remember } => {
                let remember = remember.clone();
                let decision = DecisionRequest { verdict: verdict.clone(), reason: None, remember };
                let answered = runtime.inbox(me()).decide(approval.clone(), decision).await?;
                self.check_decision(approval, verdict, &answered);
                Ok(None)
            }
            Act::Revoke { grant } => {
                runtime.grants(me()).revoke(grant).await?;
                let is_it = |entry: &Entry| matches!(&entry.what, Commit::Revoked(revoked) if revoked == grant);
                if !world.journal.entries().iter().any(is_it) {
                    world.violation(format!("the revocation of {grant} was confirmed and is not in the log"));
                }
                Ok(None)
            }
            Act::Result { call, ack } => {
                let mut raw = ack.clone();
                raw["toolCallId"] = json!(call);
                raw["requestedAt"] = json!("2027-01-15T08:00:00.000Z");
                let request = serde_json::from_value(raw.clone()).expect("an ack");
                let answered = runtime.chats(&me()).ack(request, raw).await?;
                let is_settled = |fact: &Arc<Fact>| matches!(&**fact, Fact::Settled { call: of, .. } if of == call);
                if matches!(answered, Answered::Taken | Answered::Again)
                    && !world.journal.facts(&chat).iter().any(is_settled)
                {
                    world.violation(format!("the result of {call} was confirmed and is not in the log"));
                }
                Ok(None)
            }
            Act::Stop => {
                let before = world.state(&chat).turn.map(|turn| turn.position);
                let deletions = self.deletions();
                runtime.chats(&me()).stop(&chat, None).await?;
                let after = world.state(&chat).turn.map(|turn| turn.position);
                if before.is_some() && before == after && deletions == self.deletions() {
                    world.violation(format!("{chat}: the stop was confirmed, and the turn is open"));
                }
                Ok(None)
            }
            Act::Resume { view } => {
                let request = json!({"method": "GET", "url": format!("/api/chat/{chat}/stream")});
                let resumed = runtime.chats(&me()).resume(&chat, *view, Resume::Message).await?;
                Ok(resumed.map(|response| {
                    let number = world.responses.begin(&chat, self.node, *view, Some(request));
                    self.reader(number, read(Arc::clone(&world), number, response))
                }))
            }
            Act::Live { view, messages, stays } => self.connect(runtime, *view, messages, *stays).await.map(|()| None),
            Act::Messages => self.read_messages(runtime).await.map(|()| None),
            Act::Delete => {
                let deletions = self.deletions();
                runtime.chats(&me()).delete(&chat).await?;
                if self.deletions() == deletions && world.state(&chat).subject.is_some() {
                    world.violation(format!("{chat}: its deletion was confirmed, and it is there"));
                }
                Ok(None)
            }
        }
    }

    async fn submit(&mut self, runtime: &Runtime, body: Value, view: View) -> Result<Option<Follow>, RuntimeError> {
        let request: ChatRequest = serde_json::from_value(body.clone()).expect("a body");
        let (_, response) = runtime.submit(&me(), request, view).await?;
        let url = if view.profile == Profile::AiSdk { "/api/chat" } else { "/stream" };
        let request = json!({"method": "POST", "url": url, "body": body});
        let number = self.world.responses.begin(&self.chat, self.node, view, Some(request));
        Ok(Some(self.reader(number, read(Arc::clone(&self.world), number, response))))
    }

    /// Reads a response, perhaps not to its end.
    fn reader(&mut self, number: usize, reading: impl Future<Output = ()> + Send + 'static) -> Follow {
        let (leaves, after) = (self.random.chance(300), self.random.millis(4000));
        let world = Arc::clone(&self.world);
        Box::pin(async move {
            if !leaves {
                return reading.await;
            }
            if timeout(after, reading).await.is_err() {
                world.responses.end(number, End::Left);
            }
        })
    }

    /// The client's copy of the history, with answers to all that waits in its last message.
    async fn answers(
        &mut self,
        runtime: &Runtime,
        approved: bool,
        says: Option<&Value>,
    ) -> Result<Option<Value>, RuntimeError> {
        let messages = runtime.chats(&me()).messages(&self.chat).await?;
        let Ok(Value::Array(mut messages)) = serde_json::to_value(messages) else { return Ok(None) };
        let Some(last) = messages.last_mut().filter(|last| last["role"] == "assistant") else { return Ok(None) };
        let mut answers = 0;
        for part in last["parts"].as_array_mut().into_iter().flatten() {
            if part["state"] == "approval-requested" {
                part["state"] = json!("approval-responded");
                part["approval"]["approved"] = json!(approved);
                answers += 1;
            } else if part["state"] == "input-available" {
                part["state"] = json!("output-available");
                part["output"] = json!({"x": 1});
                answers += 1;
            }
        }
        let is_said = says.is_some_and(|says| messages.iter().any(|message| message["id"] == says["id"]));
        if answers == 0 && says.is_none() || is_said {
            return Ok(None);
        }
        messages.extend(says.cloned());
        sleep(self.random.millis(300)).await;
        Ok(Some(json!({"id": self.chat, "messages": messages})))
    }

    async fn connect(
        &mut self,
        runtime: &Runtime,
        view: View,
        messages: &[(Duration, Value)],
        stays: Duration,
    ) -> Result<(), RuntimeError> {
        let (world, chat) = (Arc::clone(&self.world), self.chat.clone());
        let mut live = runtime.live(me()).follow(&chat, view).await?;
        let number = world.responses.begin(&chat, self.node, view, None);
        for (pause, message) in messages {
            if timeout(*pause, read_live(&world, number, &mut live)).await.is_ok() {
                return Ok(());
            }
            let body = json!({"id": chat, "messages": [message]});
            self.say_live(runtime, body, view, number, &mut live, message).await;
        }
        if timeout(stays, read_live(&world, number, &mut live)).await.is_err() {
            world.responses.end(number, End::Left);
        }
        Ok(())
    }

    async fn say_live(
        &mut self,
        runtime: &Runtime,
        body: Value,
        view: View,
        number: usize,
        live: &mut LiveStream,
        message: &Value,
    ) {
        let request: ChatRequest = serde_json::from_value(body).expect("a body");
        // What is not confirmed is not repeated here. It may still take effect.
        if let Ok(taken) = runtime.live(me()).submit(&self.chat, request, view).await {
            self.must_have_said(message);
            let mut written = Vec::new();
            let _ = live.respond(taken, &mut written);
            write_live(&self.world, number, written);
        }
    }

    /// Whatever was confirmed by any node is read on every node.
    async fn read_messages(&mut self, runtime: &Runtime) -> Result<(), RuntimeError> {
        // With their positions: a message may have been cut, and sent again.
        let said = |world: &World| -> Vec<(MessageId, u64)> {
            let messages = world.state(&self.chat).messages.into_iter();
            messages.filter(|(_, role, _)| *role == Role::User).map(|(id, _, position)| (id, position)).collect()
        };
        let (before, deletions) = (said(&self.world), self.deletions());
        let read = runtime.chats(&me()).messages(&self.chat).await?;
        let after = said(&self.world);
        let is_missing = |(id, _): &&(MessageId, u64)| read.iter().all(|message| message.id != *id);
        let missing = before.iter().filter(|message| after.contains(message)).find(is_missing);
        if let Some((missing, _)) = missing.filter(|_| deletions == self.deletions()) {
            let (node, chat) = (self.node, &self.chat);
            self.world.violation(format!("{chat}: node {node} does not show the message {missing}"));
        }
        Ok(())
    }

    fn must_have_said(&self, message: &Value) {
        let is_it =
            |fact: &Arc<Fact>| matches!(&**fact, Fact::Said { message: said, .. } if message["id"] == said.id.as_str());
        if !self.world.journal.facts(&self.chat).iter().any(is_it) {
            self.world.violation(format!("{}: {} was confirmed and is not in the log", self.chat, message["id"]));
        }
    }

    fn check_decision(&self, approval: &ApprovalId, verdict: &Verdict, answered: &Answered) {
        let facts = self.world.journal.facts(&self.chat);
        let call = facts.iter().find_map(|fact| match &**fact {
            Fact::Asked { call, approval: of, .. } if of == approval => Some(call),
            _ => None,
        });
        let decided = facts.iter().find_map(|fact| match &**fact {
            Fact::Decided { call: of, verdict, .. } if Some(of) == call => Some(verdict.clone()),
            _ => None,
        });
        let wanted = verdict.clone();
        let grants = facts.iter().filter_map(|fact| match &**fact {
            Fact::Granted { call: of, grant, .. } if Some(of) == call => Some(grant),
            _ => None,
        });
        let grants: Vec<&GrantId> = grants.collect();
        let is_true = match answered {
            Answered::Remembered(grant) => decided == Some(wanted) && grants == [grant],
            Answered::Taken => decided == Some(wanted) && grants.is_empty(),
            Answered::Again => decided == Some(wanted),
            // The same verdict, and something else to remember.
            Answered::Contradicts if verdict.is_approval() && decided == Some(wanted.clone()) => grants.len() <= 1,
            Answered::Contradicts => decided.is_some() && decided != Some(wanted),
            _ => true,
        };
        if !is_true {
            self.world.violation(format!("{verdict:?} on {approval}: {answered:?}, but it is {decided:?}"));
        }
    }

    /// The facts that were added to the chat since.
    fn since(&self, from: usize) -> Vec<Fact> {
        let entries = self.world.journal.entries().into_iter().skip(from).filter(|entry| entry.chat == self.chat);
        let facts = entries.flat_map(|entry| match entry.what {
            Commit::Facts { facts, .. } => facts,
            Commit::Deleted | Commit::Revoked(_) => Vec::new(),
        });
        facts.map(|fact| Fact::clone(&fact)).collect()
    }

    fn deletions(&self) -> usize {
        self.world.journal.deletions(&self.chat)
    }
}

type Follow = futures::future::BoxFuture<'static, ()>;
