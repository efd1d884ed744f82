//! Example bodies.

use axum::http::StatusCode;
use holdpoint_protocol::problem::ProblemKind;
use serde_json::{Value, json};

use crate::request::Form;

/// A short stream.
pub(crate) const SSE: &str = "data: {\"type\":\"start\",\"messageId\":\"msg_1\"}\n\ndata: {\"type\":\"text-start\",\"id\":\"1\"}\n\ndata: {\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"Hello!\"}\n\ndata: {\"type\":\"text-end\",\"id\":\"1\"}\n\ndata: {\"type\":\"finish\"}\n\ndata: [DONE]\n\n";

pub(crate) fn event() -> Value {
    json!({"data": "{\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"Hello!\"}"})
}

pub(crate) fn chat() -> Value {
    json!({
        "id": "chat_1",
        "trigger": "submit-message",
        "messages": [
            {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "send 50 dollars to Hanako"}]},
        ],
    })
}

pub(crate) fn ack() -> Value {
    json!({
        "toolCallId": "call_1",
        "status": "success",
        "output": {"latitude": 35.68, "longitude": 139.69, "accuracy": 20},
        "requestedAt": "2026-11-20T09:30:00.000Z",
    })
}

fn input() -> Value {
    json!({"amount": 50, "recipient": "Hanako", "currency": "USD"})
}

pub(crate) fn approval() -> Value {
    json!({
        "approvalId": "approval_1",
        "toolCallId": "call_1",
        "chatId": "chat_1",
        "toolName": "process_payment",
        "input": input(),
        "reason": "process_payment always needs approval",
        "requestedAt": "2026-11-20T09:30:00.000Z",
        "expiresAt": "2026-11-20T09:35:00.000Z",
        "allowed": ["approve", "deny"],
    })
}

pub(crate) fn hold() -> Value {
    json!({
        "toolCallId": "call_1",
        "toolName": "process_payment",
        "input": input(),
        "kind": "approval",
        "state": "waiting",
        "approvalId": "approval_1",
        "requestedAt": "2026-11-20T09:30:00.000Z",
        "expiresAt": "2026-11-20T09:35:00.000Z",
        "allowed": ["approve", "deny"],
        "cut": false,
    })
}

pub(crate) fn record() -> Value {
    json!({
        "approval": approval(),
        "state": "settled",
        "decision": {"kind": "approve", "by": ["bob"], "at": "2026-11-20T09:31:00.000Z"},
        "outcome": {"cause": "ran", "at": "2026-11-20T09:31:01.000Z", "errorText": "The endpoint answered 500"},
    })
}

pub(crate) fn messages() -> Value {
    json!([
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "send 50 dollars to Hanako"}]},
        {"id": "msg_1", "role": "assistant", "parts": [{
            "type": "tool-process_payment",
            "toolCallId": "call_1",
            "state": "approval-requested",
            "input": input(),
            "approval": {"id": "approval_1"},
        }]},
    ])
}

pub(crate) fn tool() -> Value {
    json!({
        "name": "process_payment",
        "description": "Pays somebody",
        "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
        "execution": "server",
        "approval": "always",
        "approvalTimeoutSec": 300,
    })
}

/// A problem with this status.
pub(super) fn problem(status: u16, form: Form) -> Value {
    let kind = match status {
        400 => ProblemKind::NotJson,
        401 => ProblemKind::KeyRequired,
        403 => ProblemKind::RoleRequired,
        404 => ProblemKind::NotFound,
        409 => ProblemKind::ContradictsDecision,
        410 => ProblemKind::TooLate,
        413 => ProblemKind::TooLarge,
        422 => ProblemKind::Invalid,
        426 => ProblemKind::UpgradeRequired,
        429 => ProblemKind::TooManyStreams,
        500 => ProblemKind::Unreadable,
        _ => ProblemKind::Unavailable,
    };
    let title = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or_default();
    let mut problem =
        json!({"type": kind, "title": title, "status": status, "detail": "What is wrong, and what to do."});
    if status == 422 {
        problem["pointer"] = json!("/approved");
    }
    if form == Form::Answer {
        problem["ok"] = json!(false);
        problem["reason"] = json!(if status == 410 { "expired" } else { "What is wrong, and what to do." });
    }
    problem
}

/// A grant.
pub(crate) fn grant() -> Value {
    json!({
        "id": "grant_1",
        "toolName": "process_payment",
        "scope": "subject",
        "subject": "alice",
        "match": {"when": "/amount", "under": 100},
        "state": "active",
        "maker": "carol",
        "madeAt": "2026-11-20T09:31:12.000Z",
        "until": "2026-12-20T00:00:00.000Z",
        "uses": 20,
        "used": 3,
        "lastUsedAt": "2026-11-21T08:02:41.000Z",
    })
}

/// A line of the record.
pub(crate) fn audit_line() -> Value {
    json!({
        "chatId": "chat_1",
        "position": 14,
        "at": "2026-11-20T09:31:12.000Z",
        "owner": "alice",
        "toolCallId": "call_1",
        "toolName": "process_payment",
        "step": "decided",
        "by": "carol",
        "channel": "inbox",
        "approvalId": "approval_1",
        "decision": "approve",
        "inputSha256": "0f9d9be0c8d1e5be7ea2c2eb6ac47d9a4a4f8ac1d3a1cbd0d1bd6dc1f0b7c1f3",
    })
}
