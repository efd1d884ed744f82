//! The conversation as a model sees it: every call has its result, whatever happened to it.

use std::collections::HashMap;

use holdpoint_protocol::{
    ids::{MessageId, PartId, ToolCallId},
    message::{Part, Role, UiMessage},
};
use serde_json::Value;

use crate::{
    fact::{BlockKind, Fact, Outcome, text_of},
    model::{ModelCall, ModelMessage, ModelResult, UserPart},
};

/// Builds it from the facts of a chat.
pub fn conversation<T: AsRef<Fact>>(facts: &[T]) -> Vec<ModelMessage> {
    let mut talk = Talk::default();
    for fact in facts.iter().map(AsRef::as_ref) {
        talk.apply(fact);
    }
    talk.end_step();
    talk.messages.into_iter().map(|(_, message)| message).collect()
}

#[derive(Default)]
struct Talk {
    /// Each with the chat's message that it belongs to.
    messages: Vec<(MessageId, ModelMessage)>,
    turn: Option<MessageId>,
    /// What the user has said while calls of the turn before still run.
    waiting: Vec<(MessageId, ModelMessage)>,
    /// The step that is being read.
    text: String,
    texts: HashMap<PartId, ()>,
    calls: Vec<ModelCall>,
    outcomes: HashMap<ToolCallId, Result<Value, String>>,
}

impl Talk {
    fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Context { messages } => messages.iter().for_each(|message| self.context(message)),
            Fact::Said { message, cut, next } => {
                if cut.is_some() {
                    self.waiting.clear();
                }
                if cut.is_some() || next.is_none() {
                    self.cut(cut.as_ref());
                }
                let said = (message.id.clone(), ModelMessage::User(user_parts(message)));
                match next {
                    None => self.messages.push(said),
                    // The calls of the turn before it come first, with their outcomes.
                    Some(_) => self.waiting.push(said),
                }
            }
            Fact::Regenerated { cut } => self.cut(cut.as_ref()),
            Fact::TurnStarted { message, .. } => self.turn = Some(message.clone()),
            Fact::StepStarted => self.end_step(),
            Fact::TurnEnded { .. } => {
                self.end_step();
                self.messages.append(&mut self.waiting);
            }
            Fact::BlockStarted { kind: BlockKind::Text, id } => {
                self.texts.insert(id.clone(), ());
            }
            Fact::BlockDelta { id, delta } if self.texts.contains_key(id) => self.text.push_str(delta.text()),
            Fact::Called { call, name, input, asked_by: None, .. } => {
                self.calls.push(ModelCall { id: call.clone(), name: name.clone(), input: input.clone() });
            }
            Fact::Invalid { call, name, input, error } => {
                self.calls.push(ModelCall { id: call.clone(), name: name.clone(), input: input.clone() });
                self.outcomes.insert(call.clone(), Err(format!("The call was not valid and did not run: {error}")));
            }
            Fact::Settled { call, outcome, .. } => {
                let outcome = match outcome {
                    Outcome::Output(output) => Ok(output.clone()),
                    Outcome::Error(text) => Err(text.clone()),
                    Outcome::Denied { reason } => Err(Outcome::denial_text(reason.as_deref())),
                };
                self.outcomes.insert(call.clone(), outcome);
            }
            _ => {}
        }
    }

    fn context(&mut self, message: &UiMessage) {
        let said = match message.role {
            Role::Assistant => ModelMessage::Assistant { text: text_of(message), calls: Vec::new() },
            Role::User | Role::System => ModelMessage::User(user_parts(message)),
        };
        self.messages.push((message.id.clone(), said));
    }

    fn cut(&mut self, from: Option<&MessageId>) {
        self.end_step();
        if let Some(at) = from.and_then(|id| self.messages.iter().position(|(message, _)| message == id)) {
            self.messages.truncate(at);
        }
    }

    fn end_step(&mut self) {
        let (text, calls) = (std::mem::take(&mut self.text), std::mem::take(&mut self.calls));
        self.texts.clear();
        let Some(turn) = self.turn.clone() else { return };
        if text.is_empty() && calls.is_empty() {
            return;
        }
        let results: Vec<ModelResult> = calls
            .iter()
            .map(|call| {
                let outcome = self.outcomes.remove(&call.id);
                let outcome = outcome.unwrap_or_else(|| Err("The call was not run.".to_owned()));
                ModelResult { id: call.id.clone(), name: call.name.clone(), outcome }
            })
            .collect();
        self.messages.push((turn.clone(), ModelMessage::Assistant { text, calls }));
        if !results.is_empty() {
            self.messages.push((turn, ModelMessage::Results(results)));
        }
    }
}

fn user_parts(message: &UiMessage) -> Vec<UserPart> {
    let parts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(UserPart::Text(text.text.clone())),
        Part::File(file) => Some(UserPart::File {
            media_type: file.media_type.clone(),
            url: file.url.clone(),
            filename: file.filename.clone(),
        }),
        _ => None,
    });
    parts.collect()
}
