//! People and browsers: they send messages, decide, report results, stop, regenerate, resume and delete, on any node.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use holdpoint_protocol::{
    grants::{GrantMatch, GrantScope, Remember},
    ids::{ApprovalId, ChatId, GrantId, ToolCallId},
    message::Role,
    request::Verdict,
};
use holdpoint_runtime::{
    Profile,
    clock::{Clock, Timestamp},
    fact::Fact,
    log::{HoldQuery, HoldRow, HoldsOf, Index},
    wire::View,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    acts::{Act, Client},
    random::Random,
    world::World,
};

/// Plays the users of a run.
pub(crate) async fn play(world: Arc<World>) {
    let mut users = Users { random: Random::new(world.seed, "users"), world, messages: 0 };
    for _ in 0..8 + users.random.below(25) {
        let pause = if users.random.chance(300) { Duration::ZERO } else { users.random.millis(1200) };
        sleep(pause).await;
        users.act();
    }
}

/// Answers everything that waits, until nothing does. Returns whether that was so.
pub(crate) async fn answer_everything(world: Arc<World>) -> bool {
    let mut users = Users { random: Random::new(world.seed, "answers"), world: Arc::clone(&world), messages: 1000 };
    for _ in 0..40 {
        let of_chat = |chat: &ChatId| users.open(chat).into_iter().map(|hold| (chat.clone(), hold)).collect::<Vec<_>>();
        let open: Vec<(ChatId, HoldRow)> = world.chats.iter().flat_map(of_chat).collect();
        let is_over = world.chats.iter().all(|chat| world.state(chat).turn.is_none());
        if is_over {
            return true;
        }
        for (chat, hold) in open {
            let act = match hold.approval {
                Some(approval) => Act::Decide { approval, verdict: users.verdict(), remember: None },
                None => Act::Result { call: hold.call, ack: success() },
            };
            users.send(chat, act);
        }
        // A turn that is idle since its last hold expired resumes when a client connects.
        for chat in world.chats.clone() {
            users.send(chat, Act::Live { view: View::default(), messages: Vec::new(), stays: Duration::from_secs(5) });
        }
        sleep(Duration::from_secs(12)).await;
    }
    false
}

struct Users {
    random: Random,
    world: Arc<World>,
    messages: usize,
}

impl Users {
    fn open(&self, chat: &ChatId) -> Vec<HoldRow> {
        let query = HoldQuery { of: HoldsOf::Chat(chat.clone()), only_approvals: false, after: None };
        let holds = self.world.journal.log.holds(query, 100).now_or_never().expect("memory does not wait");
        holds.expect("it lists").into_iter().map(|(_, hold)| hold).collect()
    }

    /// Sends a request to any node.
    fn send(&mut self, chat: ChatId, act: Act) {
        let node = self.random.index(self.world.len());
        let client = Client::new(&self.world, node, chat, self.random.next());
        self.world.spawn(node, client.send(act));
    }

    fn view(&mut self) -> View {
        let (is_progressive, is_resubmit) = (self.random.chance(300), self.random.chance(200));
        match self.random.chance(600) {
            true => View { profile: Profile::AiSdk, is_resubmit, ..View::default() },
            false => View { profile: Profile::Adk, is_progressive, is_resubmit },
        }
    }

    /// Approve, deny, approve another input, or answer in the tool's place.
    fn verdict(&mut self) -> Verdict {
        match self.random.below(10) {
            0..3 => Verdict::Deny,
            3..7 => Verdict::APPROVE,
            7..9 => Verdict::Approve { input: Some(json!({"n": 1000 + self.random.below(9)})) },
            _ => Verdict::Answer { output: json!({"instead": self.random.below(9)}) },
        }
    }

    /// What else an approval approves, if anything.
    fn remember(&mut self) -> Option<Remember> {
        let scope = if self.random.chance(300) { GrantScope::Chat } else { GrantScope::Subject };
        let covers = match self.random.below(10) {
            0 => GrantMatch::Input,
            1..3 => match json!({"when": "/n", "under": 2000}) {
                Value::Object(rule) => GrantMatch::Rule(rule),
                _ => GrantMatch::Tool,
            },
            _ => GrantMatch::Tool,
        };
        let now = self.world.clock.now();
        let until = self.random.chance(300).then(|| now.after(Duration::from_secs(2 + self.random.below(20))));
        let uses = self.random.chance(400).then(|| 1 + self.random.below(2) as u32);
        let remember = Remember { scope, covers, until: until.map(Timestamp::iso8601), uses };
        self.random.chance(500).then_some(remember)
    }

    /// Revokes any grant that was ever made.
    fn revoke(&mut self) -> Act {
        let facts = self.world.chats.iter().flat_map(|chat| self.world.journal.facts(chat));
        let made: Vec<GrantId> = facts
            .filter_map(|fact| match &*fact {
                Fact::Granted { grant, .. } => Some(grant.clone()),
                _ => None,
            })
            .collect();
        self.random.pick(&made).map_or(Act::Messages, |grant| Act::Revoke { grant: grant.clone() })
    }

    fn message(&mut self) -> Value {
        self.messages += 1;
        let (id, text) = (format!("u{}", self.messages), format!("m{}", self.messages));
        json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
    }

    fn act(&mut self) {
        let chats = self.world.chats.clone();
        let Some(chat) = self.random.pick(&chats).cloned() else { return };
        let open = self.open(&chat);
        let act = match self.random.below(100) {
            0..22 => self.say(&chat),
            22..42 => self.decide(&chat, &open),
            42..57 => self.result(&chat, &open),
            57..64 => Act::Answer { view: self.view(), approved: self.random.chance(700), says: None },
            64..67 => {
                let says = Some(self.message());
                Act::Answer { view: self.view(), approved: self.random.chance(700), says }
            }
            67..70 => Act::Stop,
            70..72 => self.revoke(),
            72..76 => Act::Regenerate { view: self.view() },
            76..82 => Act::Resume { view: View { profile: Profile::AiSdk, ..self.view() } },
            82..90 => self.live(),
            90..98 => Act::Messages,
            _ => Act::Delete,
        };
        // Now and then a client sends the same again, to any node.
        if self.random.chance(150) {
            self.send(chat.clone(), act.clone());
        }
        self.send(chat, act);
    }

    fn say(&mut self, chat: &ChatId) -> Act {
        let mut message = self.message();
        let state = self.world.state(chat);
        let users: Vec<_> = state.messages.iter().filter(|(_, role, _)| *role == Role::User).collect();
        let edited = if self.random.chance(100) { self.random.pick(&users).map(|(id, ..)| id.clone()) } else { None };
        if let Some(id) = &edited {
            message["id"] = json!(id);
        }
        Act::Say { view: self.view(), message, edited }
    }

    fn decide(&mut self, chat: &ChatId, open: &[HoldRow]) -> Act {
        let asked: Vec<ApprovalId> = open.iter().filter_map(|hold| hold.approval.clone()).collect();
        let ever = self.world.journal.facts(chat).into_iter().filter_map(|fact| match &*fact {
            Fact::Asked { approval, .. } => Some(approval.clone()),
            _ => None,
        });
        let from = if self.random.chance(150) { ever.collect() } else { asked };
        let verdict = self.verdict();
        match self.random.pick(&from) {
            Some(approval) => {
                let remember = self.remember().filter(|_| matches!(verdict, Verdict::Approve { .. }));
                Act::Decide { approval: approval.clone(), verdict, remember }
            }
            None => self.say(chat),
        }
    }

    fn result(&mut self, chat: &ChatId, open: &[HoldRow]) -> Act {
        let waiting: Vec<ToolCallId> =
            open.iter().filter(|hold| hold.approval.is_none()).map(|hold| hold.call.clone()).collect();
        let ever = self.world.journal.facts(chat).into_iter().filter_map(|fact| match &*fact {
            Fact::Called { call, .. } => Some(call.clone()),
            _ => None,
        });
        let from = if self.random.chance(150) { ever.collect() } else { waiting };
        let ack = match self.random.below(6) {
            0 => json!({"status": "failed", "errorText": "no luck"}),
            1 => json!({"status": "timeout"}),
            _ => success(),
        };
        match self.random.pick(&from) {
            Some(call) => Act::Result { call: call.clone(), ack },
            None => Act::Messages,
        }
    }

    fn live(&mut self) -> Act {
        let view = View { profile: Profile::Adk, is_progressive: self.random.chance(300), ..View::default() };
        let messages = (0..self.random.below(3)).map(|_| (self.random.millis(2000), self.message())).collect();
        Act::Live { view, messages, stays: self.random.millis(8000) }
    }
}

fn success() -> Value {
    json!({"status": "success", "output": {"x": 1}})
}
