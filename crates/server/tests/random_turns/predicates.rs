//! When a client sends by itself, as the specification's documents put it: the one on response timing (for approvals in
//! a row) and the one on the order of the checks. Written from their text.

use holdpoint_protocol::message::{Part, Role, ToolPart, ToolState, UiMessage};

fn parts(messages: &[UiMessage]) -> Option<&[Part]> {
    messages.last().filter(|message| message.role == Role::Assistant).map(|message| &message.parts[..])
}

fn tools(parts: &[Part]) -> impl Iterator<Item = &ToolPart> {
    parts.iter().filter_map(Part::as_tool)
}

fn has(parts: &[Part], state: ToolState) -> bool {
    tools(parts).any(|tool| tool.state == state)
}

fn has_text(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Text(_)))
}

/// Response timing: an answered confirmation, no text, no completed tool. In SSE mode without a check for pending ones.
pub(crate) fn by_timing(messages: &[UiMessage], is_live: bool) -> bool {
    let Some(parts) = parts(messages) else { return false };
    let is_completed = has(parts, ToolState::OutputAvailable) || has(parts, ToolState::OutputError);
    let is_pending = is_live && has(parts, ToolState::ApprovalRequested);
    has(parts, ToolState::ApprovalResponded) && !has_text(parts) && !is_pending && !is_completed
}

/// The order of the checks: text, an answered confirmation, pending ones, another tool's error.
pub(crate) fn by_order(messages: &[UiMessage]) -> bool {
    let Some(parts) = parts(messages) else { return false };
    !has_text(parts)
        && has(parts, ToolState::ApprovalResponded)
        && !has(parts, ToolState::ApprovalRequested)
        && !has(parts, ToolState::OutputError)
}
