//! The memory that a chat's facts occupy: what is loaded, and what is reserved for what an input adds, until that is written
//! and counted.

use serde_json::Value;

use crate::{
    driver::{memory::Memory, ready, weight},
    model::ModelError,
    subject::Subject,
    turn::Input,
};

pub(super) struct Room {
    memory: Memory,
    /// What was reserved for what the inputs that are being handled add.
    reserved: usize,
    /// The part of it for inputs of calls that the model has made.
    for_inputs: usize,
    /// That of turns before those that are shown, which inputs needed.
    earlier: Vec<Memory>,
}

impl Room {
    pub(super) fn new(memory: Memory) -> Self {
        Self { memory, reserved: 0, for_inputs: 0, earlier: Vec::new() }
    }

    /// What is loaded, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Whether the owner of the chat has reached their share, or all have reached theirs.
    pub(super) fn is_over(&self) -> bool {
        self.memory.is_over()
    }

    /// Reserves what these events take until their facts are written and counted. Returns whether there was room. Inputs of
    /// calls without room are left to the turn machine, which tells the model.
    pub(super) fn reserve_for(&mut self, events: &[Result<Input, ModelError>]) -> bool {
        let (all, inputs) = ready::weights(events);
        if all < weight::UNRESERVED_BYTES {
            return true;
        }
        if self.memory.reserve(all) {
            self.reserved += all;
            self.for_inputs = inputs;
            return true;
        }
        inputs > 0
    }

    /// What is reserved for inputs of calls that the model has made.
    pub(super) fn for_inputs(&self) -> usize {
        self.for_inputs
    }

    /// Whether there is room for a value that a call is to keep. `left` is what is left for inputs.
    pub(super) fn has_room_for(&mut self, value: &Value, left: &mut usize) -> bool {
        let weight = weight::of_value(value);
        if weight < weight::UNRESERVED_BYTES || *left >= weight {
            *left = left.saturating_sub(weight);
            return true;
        }
        self.reserve(weight)
    }

    /// Reserves room for what is about to be written. Little always has room.
    pub(super) fn reserve(&mut self, weight: usize) -> bool {
        if weight < weight::UNRESERVED_BYTES {
            return true;
        }
        let has_room = self.memory.reserve(weight);
        self.reserved += if has_room { weight } else { 0 };
        has_room
    }

    /// Facts of this weight were written, so what was reserved for them is counted.
    pub(super) fn written(&mut self, owner: &Subject, weight: usize) {
        self.memory.belongs_to(owner);
        self.memory.grow(weight);
        self.memory.give_back(std::mem::take(&mut self.reserved));
    }

    /// Facts of this weight came from elsewhere.
    pub(super) fn grew(&mut self, weight: usize) {
        self.memory.grow(weight);
    }

    /// The inputs are handled. What was reserved for them stays only as long as something is still to be written.
    pub(super) fn handled(&mut self, is_all_written: bool) {
        self.for_inputs = 0;
        if is_all_written {
            self.memory.give_back(std::mem::take(&mut self.reserved));
        }
    }

    /// One more earlier turn is loaded.
    pub(super) fn add_earlier(&mut self, memory: Memory) {
        self.earlier.push(memory);
    }

    /// All earlier turns are loaded, in place of single ones.
    pub(super) fn set_earlier(&mut self, memory: Memory) {
        self.earlier = vec![memory];
    }
}
