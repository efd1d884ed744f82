//! The TypeScript types of the wire protocol, generated from the Rust types (`cargo xtask codegen`).

use ts_rs::{Config, TS};

use crate::{
    audit::{AuditChannel, AuditLine, AuditStep},
    check::Rule,
    chunk::{Chunk, Citation, FinishReason, InputEncoding},
    grants::{Grant, GrantMatch, GrantScope, GrantState, Remember},
    holds::{
        Allowed, Cause, ChatHold, Decision, DecisionKind, HoldKind, HoldOutcome, HoldState, SettledMetadata, Votes,
    },
    identity::{Me, Role as IdentityRole},
    message::{
        Approval, CustomPart, FilePart, ReasoningPart, Role, SourceDocumentPart, SourceUrlPart, StreamState, TextPart,
        ToolState,
    },
    problem::{Problem, ProblemKind},
    request::{AckRequest, AckResponse, AckStatus, ApprovalRecord, DecisionBody, PendingApproval, Trigger},
    response::{Execution, ListedChat, ListedTool, Returns, ServerEvent, Ticket, Wait},
    status::{McpState, McpStatus, Status, ToolStatus},
};

/// Generates the whole file.
pub fn generate() -> String {
    let config = Config::new().with_large_int("number");
    let mut out = String::from(
        "// Generated from crates/protocol by `cargo xtask codegen`: do not edit.\n// The wire of Holdpoint; field names are the AI SDK's own.\n\n",
    );
    for id in ["ChatId", "MessageId", "PartId", "ToolCallId", "ApprovalId", "GrantId", "RequestId"] {
        out.push_str(&format!("export type {id} = string;\n"));
    }
    out.push_str(
        "export type JsonValue = unknown;\nexport type Payload = unknown;\nexport type MessageMetadata = unknown;\n",
    );
    out.push_str(
        "export type CitedSource = Record<string, unknown>;\nexport type SteeringPart = Record<string, unknown>;\n",
    );
    out.push_str("export type ProviderMetadata = Record<string, Record<string, unknown>>;\n\n");

    let mut declare = |declaration: String| out.push_str(&format!("export {declaration}\n"));
    declare(FinishReason::decl(&config));
    declare(InputEncoding::decl(&config));
    declare(Citation::decl(&config));
    declare(Role::decl(&config));
    declare(StreamState::decl(&config));
    declare(ToolState::decl(&config));
    declare(Approval::decl(&config));
    declare(TextPart::decl(&config));
    declare(ReasoningPart::decl(&config));
    declare(FilePart::decl(&config));
    declare(SourceUrlPart::decl(&config));
    declare(SourceDocumentPart::decl(&config));
    declare(CustomPart::decl(&config));
    declare(crate::message::ToolFields::decl(&config));
    declare(Trigger::decl(&config));
    declare(AckStatus::decl(&config));
    declare(AckRequest::decl(&config));
    declare(AckResponse::decl(&config));
    declare(GrantScope::decl(&config));
    declare(GrantMatch::decl(&config));
    declare(Remember::decl(&config));
    declare(DecisionBody::decl(&config));
    declare(PendingApproval::decl(&config));
    declare(HoldKind::decl(&config));
    declare(HoldState::decl(&config));
    declare(DecisionKind::decl(&config));
    declare(Allowed::decl(&config));
    declare(Cause::decl(&config));
    declare(Decision::decl(&config));
    declare(Votes::decl(&config));
    declare(HoldOutcome::decl(&config));
    declare(ChatHold::decl(&config));
    declare(ApprovalRecord::decl(&config));
    declare(SettledMetadata::decl(&config));
    declare(GrantState::decl(&config));
    declare(Grant::decl(&config));
    declare(Execution::decl(&config));
    declare(Wait::decl(&config));
    declare(Returns::decl(&config));
    declare(ListedTool::decl(&config));
    declare(ListedChat::decl(&config));
    declare(McpState::decl(&config));
    declare(McpStatus::decl(&config));
    declare(ToolStatus::decl(&config));
    declare(Status::decl(&config));
    declare(AuditStep::decl(&config));
    declare(AuditChannel::decl(&config));
    declare(AuditLine::decl(&config));
    declare(ServerEvent::decl(&config));
    declare(Ticket::decl(&config));
    declare(IdentityRole::decl(&config));
    declare(Me::decl(&config));
    declare(ProblemKind::decl(&config));
    declare(Problem::decl(&config));

    out.push_str("\n/** One chunk of the UI message stream. */\nexport type Chunk =\n");
    for (tag, _, body) in Chunk::declarations(&config) {
        let body = if body.contains(':') { format!(" & {body}") } else { String::new() };
        out.push_str(&format!("  | {{ type: {tag:?} }}{body}\n"));
    }
    out.push_str("  | { type: `data-${string}`; id?: PartId; data: unknown; transient?: boolean };\n");

    out.push_str("\n/** A tool call inside a message. */\nexport type ToolPart = { toolCallId: ToolCallId; state: ToolState } & ToolFields &\n");
    out.push_str("  ({ type: `tool-${string}` } | { type: \"dynamic-tool\"; toolName: string });\n");
    out.push_str("\n/** One part of a message. */\nexport type Part =\n");
    for (tag, name) in [
        ("text", "TextPart"),
        ("reasoning", "ReasoningPart"),
        ("file", "FilePart"),
        ("reasoning-file", "FilePart"),
        ("source-url", "SourceUrlPart"),
        ("source-document", "SourceDocumentPart"),
        ("custom", "CustomPart"),
    ] {
        out.push_str(&format!("  | ({{ type: {tag:?} }} & {name})\n"));
    }
    out.push_str("  | ToolPart\n  | { type: \"steering-message\"; id: PartId; parts: SteeringPart[] }\n");
    out.push_str("  | { type: `data-${string}`; id?: PartId; data: unknown }\n  | { type: \"step-start\" };\n");
    out.push_str("\n/** A message as the AI SDK's client keeps it. */\n");
    out.push_str("export type UiMessage = { id: MessageId; role: Role; metadata?: unknown; parts: Part[] };\n");

    let rules: Vec<String> = Rule::ALL.iter().map(|rule| format!("{:?}", rule.id())).collect();
    out.push_str(&format!("\n/** A rule of the checker. */\nexport type Rule =\n  | {};\n", rules.join("\n  | ")));
    out.push_str("\n/** One broken rule, as `holdpoint check --json` prints it. */\n");
    out.push_str("export type Violation = { line: number; rule: Rule; text: string };\n");
    out
}
