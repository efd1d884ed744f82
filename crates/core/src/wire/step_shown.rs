//! What a client has of the step that is being written.

use super::Event;
use crate::fact::Fact;

/// Whether a client has something of the step that is being written. If that step is abandoned, it can't be taken back: the
/// client would show it beside its repetition.
#[derive(Debug, Clone, Copy, Default)]
pub struct StepShown {
    is_in_step: bool,
    is_shown: bool,
}

impl StepShown {
    /// Takes a fact, and what the client gets because of it. Returns whether the client has something of an abandoned step.
    pub fn is_taken_back<'a>(&mut self, fact: &Fact, written: impl IntoIterator<Item = &'a Event>) -> bool {
        match fact {
            Fact::StepStarted => *self = Self { is_in_step: true, is_shown: false },
            // What is shown from here on belongs to no step that could be abandoned.
            Fact::StepEnded { .. } => *self = Self::default(),
            Fact::StepAbandoned => return std::mem::take(self).is_shown,
            _ => {}
        }
        self.is_shown |= self.is_in_step && written.into_iter().any(is_content);
        false
    }
}

/// Whether a client keeps it as a part of the message.
fn is_content(event: &Event) -> bool {
    matches!(
        event,
        Event::BlockStart { .. }
            | Event::BlockDelta { .. }
            | Event::Call { .. }
            | Event::InputDelta { .. }
            | Event::Input { .. }
            | Event::InputError { .. }
    )
}
