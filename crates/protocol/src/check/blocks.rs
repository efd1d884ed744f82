//! Blocks of text and reasoning: B1 to B3.

use super::{Rule, stream::StreamChecker};
use crate::ids::PartId;

#[derive(Debug)]
pub(super) struct Block {
    id: PartId,
    pub(super) is_text: bool,
    /// Already reported as not closed in time.
    is_reported: bool,
    /// The step and its number of calls when the block started.
    pub(super) place: (u32, usize),
}

impl StreamChecker {
    pub(super) fn block(&self, is_text: bool, id: &str) -> Option<usize> {
        self.segment.blocks.iter().position(|block| block.is_text == is_text && block.id.as_str() == id)
    }

    pub(super) fn delta(&mut self, is_text: bool, id: &PartId, chunk: &'static str) {
        if self.block(is_text, id.as_str()).is_none() {
            self.report(Rule::B1, format!("`{chunk}` for the block {id:?}, which is not open: the client throws"));
        }
    }

    pub(super) fn start_block(&mut self, is_text: bool, id: &PartId, chunk: &'static str) {
        self.new_content(chunk);
        if let Some(at) = self.block(is_text, id.as_str()) {
            self.report(
                Rule::B3,
                format!("`{chunk}` for the block {id:?}, which is open: the first one is never ended"),
            );
            self.segment.blocks.swap_remove(at);
        }
        let place = (self.message.step.number, self.message.step.calls);
        self.segment.blocks.push(Block { id: id.clone(), is_text, is_reported: false, place });
    }

    pub(super) fn end_block(&mut self, is_text: bool, id: &PartId, chunk: &'static str) {
        match self.block(is_text, id.as_str()) {
            Some(at) => drop(self.segment.blocks.swap_remove(at)),
            None => {
                self.report(Rule::B1, format!("`{chunk}` for the block {id:?}, which is not open: the client throws"))
            }
        }
    }

    pub(super) fn still_open(&mut self, rule: Rule, chunk: &'static str) {
        let mut blocks = std::mem::take(&mut self.segment.blocks);
        for block in blocks.iter_mut().filter(|block| !block.is_reported) {
            block.is_reported = true;
            let kind = if block.is_text { "text" } else { "reasoning" };
            self.report(rule, format!("the {kind} block {:?} is still open at `{chunk}`", block.id));
        }
        self.segment.blocks = blocks;
    }
}
