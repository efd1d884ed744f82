//! The conversation as the model gets it: every call has a result, whatever happened to it.

use std::{collections::HashSet, sync::Arc};

use holdpoint_protocol::{
    holds::Cause,
    ids::{MessageId, PartId},
    message::{Part, Role, UiMessage},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{calls::TurnCalls, messages::Messages};
use crate::{
    call::Call,
    fact::{BlockKind, Caller, Cut, Fact, Outcome, text_of},
    model::{ModelCall, ModelMessage, ModelResult, ProviderState, ResultCause, UserPart},
};

/// Builds the conversation from the facts of a chat.
pub fn conversation<T: AsRef<Fact>>(facts: &[T]) -> Vec<ModelMessage> {
    Conversation::default().followed_by(facts)
}

/// What a stretch of facts adds to the conversation: one or more turns, from their beginning to their end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Passage {
    /// Earlier messages that are removed, one after the other, each with all that follow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cuts: Vec<MessageId>,
    messages: Vec<Entry>,
}

/// A message of the chat, and what the model is sent of it: nothing, if the model was stopped before it wrote anything.
type Entry = (MessageId, Vec<ModelMessage>);

impl Passage {
    /// The passage of these facts.
    pub fn of<T: AsRef<Fact>>(facts: &[T]) -> Self {
        let mut talk = Talk { cuts: Some(Vec::new()), ..Talk::default() };
        talk.apply_all(facts);
        Self { cuts: talk.cuts.unwrap_or_default(), messages: talk.messages.into_vec() }
    }
}

/// The conversation up to the end of a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    messages: Messages<Vec<ModelMessage>>,
}

impl Conversation {
    /// Adds the next passage.
    pub fn add(&mut self, passage: Passage) {
        for id in &passage.cuts {
            drop(self.messages.cut_from(id));
        }
        self.messages.extend(passage.messages);
    }

    /// The whole conversation, with the facts of the turns after it.
    pub fn followed_by<T: AsRef<Fact>>(self, facts: &[T]) -> Vec<ModelMessage> {
        let mut talk = Talk { messages: self.messages, ..Talk::default() };
        talk.apply_all(facts);
        talk.messages.into_vec().into_iter().flat_map(|(_, messages)| messages).collect()
    }
}

#[derive(Default)]
struct Talk {
    messages: Messages<Vec<ModelMessage>>,
    turn: Option<TurnCalls>,
    /// User messages that wait for calls of the previous turn.
    waiting: Vec<Entry>,
    /// Whether a step is open.
    is_in_step: bool,
    /// The text of the step, and the blocks it consists of.
    text: String,
    blocks: HashSet<PartId>,
    /// What the provider needs back of the step.
    state: Option<ProviderState>,
    /// Set for a passage: the messages before it that are cut.
    cuts: Option<Vec<MessageId>>,
}

impl Talk {
    fn apply_all<T: AsRef<Fact>>(&mut self, facts: &[T]) {
        for fact in facts.iter().map(AsRef::as_ref) {
            self.apply(fact);
        }
        self.end_step();
    }

    fn apply(&mut self, fact: &Fact) {
        if *fact == Fact::StepStarted {
            self.end_step();
            self.is_in_step = true;
        }
        if let Some(turn) = &mut self.turn {
            turn.apply(fact);
        }
        match fact {
            Fact::Context { messages } => messages.iter().for_each(|message| self.context(message)),
            Fact::Said { message, cut, next, .. } => {
                if cut.is_some() {
                    self.waiting.clear();
                }
                if cut.is_some() || next.is_none() {
                    self.cut(cut.as_ref());
                }
                let said = vec![ModelMessage::User(user_parts(message))];
                match next {
                    None => self.messages.push(message.id.clone(), said),
                    // The calls of the previous turn come first, with their outcomes.
                    Some(_) => self.waiting.push((message.id.clone(), said)),
                }
            }
            Fact::Regenerated { cut, .. } => self.cut(cut.as_ref()),
            Fact::TurnStarted { message, .. } => {
                self.turn = TurnCalls::begin(fact, false);
                self.messages.push(message.clone(), Vec::new());
            }
            Fact::TurnEnded { .. } => {
                self.end_step();
                self.messages.extend(self.waiting.drain(..));
            }
            Fact::StepEnded { state, .. } => self.state = state.as_deref().cloned(),
            Fact::BlockStarted { kind: BlockKind::Text, id } => drop(self.blocks.insert(id.clone())),
            Fact::BlockDelta { id, delta } if self.blocks.contains(id) => self.text.push_str(delta.text()),
            _ => {}
        }
    }

    fn context(&mut self, message: &UiMessage) {
        let said = match message.role {
            Role::Assistant => ModelMessage::Assistant { text: text_of(message), calls: Vec::new(), state: None },
            Role::User | Role::System => ModelMessage::User(user_parts(message)),
        };
        self.messages.push(message.id.clone(), vec![said]);
    }

    fn cut(&mut self, cut: Option<&Cut>) {
        self.end_step();
        if let (None, Some(cut), Some(cuts)) = (self.messages.cut(cut), cut, &mut self.cuts) {
            // It is older than all of these.
            self.messages.clear();
            cuts.push(cut.message.clone());
        }
    }

    /// Adds the completed step. Later outcomes of its calls are not shown to the model.
    fn end_step(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.blocks.clear();
        let state = self.state.take();
        let is_in_step = std::mem::take(&mut self.is_in_step);
        let Some(turn) = self.turn.as_ref().filter(|_| is_in_step) else { return };
        let step = turn.made_in_step().iter().filter_map(|id| Some((id, turn.get(id)?)));
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        // The model made neither the prompts of tools nor the question whether to go on.
        for (id, call) in step.filter(|(_, call)| call.by == Caller::Model) {
            calls.push(ModelCall { id: id.clone(), name: call.name.clone(), input: call.input.clone() });
            results.push(ModelResult {
                id: id.clone(),
                name: call.name.clone(),
                outcome: outcome(call),
                cause: cause(call),
                files: Arc::clone(&call.files),
            });
        }
        if text.is_empty() && calls.is_empty() {
            return;
        }
        // A message that was cut gets nothing more.
        let Some(written) = self.messages.get_mut(&turn.message) else { return };
        written.push(ModelMessage::Assistant { text, calls, state });
        if !results.is_empty() {
            written.push(ModelMessage::Results(results));
        }
    }
}

/// What the model is told of a call that failed with an input that is not its own.
const EDITED: &str =
    "A person changed the input of this call before it ran. The call as it is shown is the one that ran.";

/// What the model is told of a call of which nobody knows whether it was carried out.
const UNKNOWN: &str = "It is not known whether the call was carried out: do not repeat it without asking the user";
/// The same, if that does not matter.
const REPEATABLE: &str = "The call can be made again";

/// The outcome of a call, as shown to the model. That an input was changed is part of a failure; beside an output, the
/// provider's request says so.
fn outcome(call: &Call) -> Result<Value, String> {
    settled_outcome(call).map_err(|text| if call.is_edited() { format!("{EDITED} {text}") } else { text })
}

fn settled_outcome(call: &Call) -> Result<Value, String> {
    if let Some(error) = call.input_error() {
        // An input that is no JSON can't be shown as the input of the call.
        let written = call.input.as_str().map(|text| format!(". It was: {text}")).unwrap_or_default();
        return Err(format!("The call was not valid and did not run: {error}{written}"));
    }
    match call.settled.as_ref().map(|settled| settled.told()) {
        Some(Outcome::Output(output)) => Ok(output),
        Some(Outcome::Error(text)) if cause(call) == ResultCause::Interrupted => {
            let is_repeatable = call.settled.as_ref().is_some_and(|settled| settled.is_repeatable);
            Err(format!("{text}. {}", if is_repeatable { REPEATABLE } else { UNKNOWN }))
        }
        Some(Outcome::Error(text)) => Err(text),
        Some(Outcome::Denied { reason }) => Err(Outcome::denial_text(reason.as_deref())),
        None => Err("The call was not run.".to_owned()),
    }
}

/// How a call came to its outcome.
fn cause(call: &Call) -> ResultCause {
    let Some(settled) = &call.settled else { return ResultCause::Refused };
    match (settled.cause, settled.told()) {
        (Cause::Decision, Outcome::Denied { reason }) => ResultCause::Denied { reason },
        (Cause::Ran | Cause::Result, _) if call.is_edited() => ResultCause::Edited,
        (Cause::Ran | Cause::Result | Cause::Decision, _) => ResultCause::Reported,
        (Cause::Expired, _) if call.request.is_some() && call.decision.is_none() => ResultCause::ApprovalExpired,
        (Cause::Expired, _) => ResultCause::ResultExpired,
        (Cause::Stopped, _) => ResultCause::Stopped,
        (Cause::Superseded, _) => ResultCause::Superseded,
        (Cause::Interrupted, _) => ResultCause::Interrupted,
        (Cause::Refused, _) => ResultCause::Refused,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation;

    /// Whether the call has an output or not, its input is not the model's own.
    #[test]
    fn an_edited_call_that_fails_is_told_as_edited() {
        let asked = "opened, said u1, turn, step, called pay, step ended, asked pay";
        let facts = |text: &str| notation::facts(text).into_iter().map(Arc::new).collect::<Vec<_>>();
        let told = |decided: &str| {
            let messages = conversation(&facts(&format!("{asked}, {decided}")));
            let Some(ModelMessage::Results(results)) = messages.last() else { panic!("{messages:?}") };
            results[0].outcome.clone()
        };
        for failed in ["edited pay, started pay, expired pay", "edited pay, started pay, stop"] {
            let text = told(failed).expect_err("it failed");
            assert!(text.contains("A person changed the input of this call"), "{failed}: {text}");
        }
        assert!(told("edited pay, started pay, expired pay").expect_err("it failed").ends_with("late"));
        let plain = told("approved pay, started pay, expired pay").expect_err("it failed");
        assert!(!plain.contains("changed"), "{plain}");
    }
}
