// Generated from crates/protocol by `cargo xtask codegen`: do not edit.
// The wire of Holdpoint; field names are the AI SDK's own.

export type ChatId = string;
export type MessageId = string;
export type PartId = string;
export type ToolCallId = string;
export type ApprovalId = string;
export type GrantId = string;
export type RequestId = string;
export type JsonValue = unknown;
export type Payload = unknown;
export type MessageMetadata = unknown;
export type CitedSource = Record<string, unknown>;
export type SteeringPart = Record<string, unknown>;
export type ProviderMetadata = Record<string, Record<string, unknown>>;

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "interrupted" | "other";
export type InputEncoding = "json" | "text";
export type Citation = { source: CitedSource, startIndex?: number, endIndex?: number, citedText?: string, };
export type Role = "system" | "user" | "assistant";
export type StreamState = "streaming" | "done";
export type ToolState = "input-streaming" | "input-available" | "approval-requested" | "approval-responded" | "output-available" | "output-error" | "output-denied";
export type Approval = { 
/**
 * Its id.
 */
id: ApprovalId, 
/**
 * The decision.
 */
approved?: boolean, 
/**
 * The person's reason.
 */
reason?: string, 
/**
 * The reason for the request (`ai` 7).
 */
requestReason?: string, };
export type TextPart = { text: string, state?: StreamState, citations?: Array<Citation>, providerMetadata?: ProviderMetadata, };
export type ReasoningPart = { id?: PartId, text: string, state?: StreamState, providerMetadata?: ProviderMetadata, };
export type FilePart = { mediaType: string, url: string, filename?: string, providerMetadata?: ProviderMetadata, };
export type SourceUrlPart = { sourceId: PartId, url: string, title?: string, providerMetadata?: ProviderMetadata, };
export type SourceDocumentPart = { sourceId: PartId, mediaType: string, title: string, filename?: string, providerMetadata?: ProviderMetadata, };
export type CustomPart = { kind: string, providerMetadata?: ProviderMetadata, };
export type ToolFields = { title?: string, input?: unknown, rawInput?: unknown, inputEncoding?: InputEncoding, approval?: Approval, output?: unknown, errorText?: string, preliminary?: boolean, providerExecuted?: boolean, toolMetadata?: Object, callProviderMetadata?: ProviderMetadata, resultProviderMetadata?: ProviderMetadata, };
export type Trigger = "submit-message" | "regenerate-message";
export type AckStatus = "success" | "failed" | "timeout";
export type AckRequest = { 
/**
 * The call.
 */
toolCallId: ToolCallId, 
/**
 * The status.
 */
status: AckStatus, 
/**
 * The output.
 */
output?: unknown, 
/**
 * The error; null means none.
 */
errorText?: string | null, 
/**
 * When the frontend began, ISO 8601. Required, and not compared with anything.
 */
requestedAt: string, };
export type AckResponse = { 
/**
 * Whether it is in force.
 */
ok: boolean, 
/**
 * Whether the same answer was in force already.
 */
ignored?: boolean, 
/**
 * Why it was rejected.
 */
reason?: string, 
/**
 * How many have approved, if others have to as well: nothing is decided yet.
 */
votes?: number, 
/**
 * How many have to.
 */
quorum?: number, 
/**
 * The grant that the decision made.
 */
grant?: GrantId, };
export type GrantScope = "chat" | "subject";
export type GrantMatch = "input" | "tool" | Record<string, unknown>;
export type Remember = { 
/**
 * The chats it applies to.
 */
scope: GrantScope, 
/**
 * The calls it covers: `input` (the same input, after an edit the edited one), `tool`, or a rule. `input` by
 * default.
 */
match?: GrantMatch, 
/**
 * When it ends, ISO 8601. Without it, it ends when it is revoked.
 */
until?: string, 
/**
 * How often it can be used. Without it, any number of times.
 */
uses?: number, };
export type DecisionRequest = { 
/**
 * Whether the call may run.
 */
approved?: boolean, 
/**
 * With `approved: true`: the input that the call runs with in place of the model's. It replaces all of it.
 */
input?: unknown, 
/**
 * In place of `approved`: the output of the call, which does not run.
 */
output?: unknown, 
/**
 * The person's reason.
 */
reason?: string, 
/**
 * With `approved: true`: later calls that are approved as well, without a request.
 */
remember?: Remember, 
/**
 * The `inputSha256` of the approval request as it was shown. If the call would run with another input, nothing is
 * decided, and the answer is 409.
 */
inputSha256?: string, };
export type PendingApproval = { 
/**
 * The id of the request.
 */
approvalId: ApprovalId, 
/**
 * The call that it is about.
 */
toolCallId: ToolCallId, 
/**
 * Its chat.
 */
chatId: ChatId, 
/**
 * The tool.
 */
toolName: string, 
/**
 * The tool's display name.
 */
title?: string, 
/**
 * What the tool does.
 */
description?: string, 
/**
 * The JSON Schema of the tool's input.
 */
inputSchema?: unknown, 
/**
 * What the call would do: `Pay {amount} to {recipient}`, with the names of properties of the input in braces.
 */
headline?: string, 
/**
 * The input that the call will run with.
 */
input: unknown, 
/**
 * The SHA-256 of `input` in its canonical form (RFC 8785), in hexadecimal digits. A decision that repeats it is bound to
 * this input.
 */
inputSha256?: string, 
/**
 * Why the call needs approval.
 */
reason: string | null, 
/**
 * ISO 8601.
 */
requestedAt: string, 
/**
 * ISO 8601; null where it never expires.
 */
expiresAt: string | null, 
/**
 * What the caller may do about it.
 */
allowed: Array<Allowed>, 
/**
 * The owner of the chat.
 */
requestedBy: string, 
/**
 * The approvals so far, if it takes several.
 */
votes?: Votes, 
/**
 * Whether the request was escalated: nobody decided in time, so the escalation's approvers may decide too.
 */
isEscalated?: boolean, };
export type HoldKind = "approval" | "frontend" | "prompt" | "none";
export type HoldState = "waiting" | "running" | "settled";
export type DecisionKind = "approve" | "deny" | "edit" | "answer";
export type Allowed = "approve" | "deny" | "edit" | "answer" | "remember";
export type Cause = "ran" | "result" | "decision" | "expired" | "stopped" | "superseded" | "interrupted" | "refused";
export type Decision = { 
/**
 * The kind of decision.
 */
kind: DecisionKind, 
/**
 * The subjects who decided.
 */
by: Array<string>, 
/**
 * ISO 8601.
 */
at: string, 
/**
 * The reason that was given.
 */
reason?: string, 
/**
 * The model's input, if the call runs with another one.
 */
originalInput?: unknown, 
/**
 * The grant that approved it, in place of a question. `by` is who made the grant.
 */
grant?: GrantId, };
export type Votes = { 
/**
 * The subjects who have approved.
 */
by: Array<string>, 
/**
 * How many have to.
 */
quorum: number, };
export type HoldOutcome = { 
/**
 * Why it ended.
 */
cause: Cause, 
/**
 * ISO 8601.
 */
at: string, 
/**
 * The output, if any.
 */
output?: unknown, 
/**
 * The error, if any.
 */
errorText?: string, };
export type ChatHold = { 
/**
 * The call.
 */
toolCallId: ToolCallId, 
/**
 * The tool.
 */
toolName: string, 
/**
 * The input that the call runs with.
 */
input: unknown, 
/**
 * What it waits for.
 */
kind: HoldKind, 
/**
 * Whether it waits, runs or is settled.
 */
state: HoldState, 
/**
 * The approval request, if there was one.
 */
approvalId?: ApprovalId, 
/**
 * When it began to wait. ISO 8601.
 */
requestedAt: string, 
/**
 * The deadline, while it waits. ISO 8601.
 */
expiresAt?: string, 
/**
 * What the caller may do about it now.
 */
allowed: Array<Allowed>, 
/**
 * The approvals so far, if it takes several.
 */
votes?: Votes, 
/**
 * The decision, once one is in force.
 */
decision?: Decision, 
/**
 * The outcome.
 */
outcome?: HoldOutcome, 
/**
 * Whether its turn was replaced by a regeneration or an edit.
 */
cut: boolean, 
/**
 * The assistant message that shows it; for a cut call, the message that replaced its own.
 */
messageId?: MessageId, };
export type ApprovalRecord = { 
/**
 * The request as it was made: `input` is what was asked about, also after an edit. `allowed` is empty once it has
 * ended.
 */
approval: PendingApproval, 
/**
 * Whether its call waits, runs or is settled.
 */
state: HoldState, 
/**
 * The decision, once one is in force.
 */
decision?: Decision, 
/**
 * The input that the call runs with, if an approver has changed it.
 */
editedInput?: unknown, 
/**
 * How the call ended.
 */
outcome?: HoldOutcome, };
export type SettledMetadata = { 
/**
 * Why it ended.
 */
cause: Cause, 
/**
 * The subjects who decided; empty if there was no decision.
 */
decidedBy: Array<string>, 
/**
 * The grant that approved it, in place of a question. `decidedBy` is who made the grant.
 */
grant?: GrantId, 
/**
 * When. ISO 8601.
 */
decidedAt?: string, 
/**
 * Whether an approver changed the input.
 */
edited: boolean, };
export type GrantState = "active" | "suspended" | "revoked" | "expired" | "used-up";
export type Grant = { 
/**
 * Its id.
 */
id: GrantId, 
/**
 * The tool whose calls it approves.
 */
toolName: string, 
/**
 * The chats it applies to.
 */
scope: GrantScope, 
/**
 * The owner of these chats.
 */
subject: string, 
/**
 * The chat, with the scope `chat`.
 */
chatId?: ChatId, 
/**
 * The calls it covers.
 */
match: GrantMatch, 
/**
 * With the match `input`: the SHA-256 of that input in its canonical form (RFC 8785).
 */
inputSha256?: string, 
/**
 * Whether it approves calls.
 */
state: GrantState, 
/**
 * Who made it.
 */
maker: string, 
/**
 * When it was made, ISO 8601.
 */
madeAt: string, 
/**
 * When it ends, ISO 8601.
 */
until?: string, 
/**
 * How often it can be used.
 */
uses?: number, 
/**
 * How often it was used.
 */
used: number, 
/**
 * When it was used last, ISO 8601.
 */
lastUsedAt?: string, 
/**
 * When it was revoked, ISO 8601.
 */
revokedAt?: string, 
/**
 * Who revoked it.
 */
revokedBy?: string, };
export type ToolExecution = "server" | "frontend" | "delegate";
export type ToolWait = "stream" | "resubmit";
export type ToolReturns = "output" | "ack";
export type ToolSpec = { 
/**
 * The name.
 */
name: string, 
/**
 * The display name.
 */
title?: string, 
/**
 * The description for the model.
 */
description: string, 
/**
 * The JSON Schema of the input.
 */
inputSchema: unknown, 
/**
 * `server`, `frontend` (runs in the browser and is waited for) or `delegate` (runs in the browser, not waited
 * for).
 */
execution: ToolExecution, 
/**
 * `always`, `never`, or a rule over the input, which only the server evaluates.
 */
approval: "always" | "never" | Record<string, unknown>, 
/**
 * Timeout for an approval, in seconds; 0 never expires.
 */
approvalTimeoutSec: number, 
/**
 * Timeout for the browser's result, in seconds.
 */
timeoutSec?: number, 
/**
 * How the response waits for a browser tool's result.
 */
wait?: ToolWait, 
/**
 * The output of a browser tool.
 */
returns?: ToolReturns, };
export type ChatSummary = { 
/**
 * The chat.
 */
id: ChatId, 
/**
 * Its owner. Only in the list of all chats.
 */
subject?: string, 
/**
 * The beginning of the first user message.
 */
title: string, 
/**
 * ISO 8601.
 */
updatedAt: string, 
/**
 * The number of open holds.
 */
holds: number, 
/**
 * Whether one of them waits for the caller: an approval request that they may decide and have not approved yet or, in
 * a chat of their own, a call in the browser or a prompt.
 */
waitsForYou: boolean, 
/**
 * Whether a turn is running.
 */
isRunning: boolean, };
export type McpState = "connected" | "connecting";
export type McpStatus = { 
/**
 * Its name, the prefix of its tools.
 */
name: string, 
/**
 * Whether it can be called.
 */
state: McpState, 
/**
 * The names of its tools that are offered.
 */
tools: Array<string>, 
/**
 * Why it is not connected.
 */
problem?: string, 
/**
 * What in its settings has no effect.
 */
warnings: Array<string>, 
/**
 * The last lines that its program wrote to standard error.
 */
lastLines: Array<string>, };
export type ToolStatus = { 
/**
 * Its name.
 */
name: string, 
/**
 * The display name.
 */
title?: string, 
/**
 * Where it runs.
 */
execution: ToolExecution, 
/**
 * The MCP server that it comes from.
 */
mcp?: string, 
/**
 * `always`, `never`, or a rule over the input.
 */
approval: "always" | "never" | Record<string, unknown>, 
/**
 * Timeout for an approval, in seconds; 0 never expires.
 */
approvalTimeoutSec: number, 
/**
 * What a person may decide.
 */
decisions: Array<DecisionKind>, 
/**
 * Who may decide: `{by, excludeSelf?, quorum?, escalate?}`.
 */
approvers: Record<string, unknown>, };
export type ServerStatus = { 
/**
 * The version of the server.
 */
version: string, 
/**
 * This node, if several share a log.
 */
node?: string, 
/**
 * By how many milliseconds the clock of this node is behind that of the database, which is followed for deadlines;
 * negative if it is ahead. Only if several nodes share a log.
 */
clockOffsetMs?: number, 
/**
 * The model.
 */
model: string, 
/**
 * What people should know of the tools with this model: those that it is not offered, and why.
 */
warnings: Array<string>, 
/**
 * The MCP servers.
 */
mcp: Array<McpStatus>, 
/**
 * The tools and their policies, including the tools of MCP servers.
 */
tools: Array<ToolStatus>, 
/**
 * The limits, by name.
 */
limits: { [key in string]: number }, };
export type AuditStep = "proposed" | "asked" | "voted" | "escalated" | "decided" | "started" | "settled" | "granted" | "used" | "revoked" | "deleted";
export type AuditChannel = "inbox" | "chat" | "ack" | "live" | "grant" | "hold-api" | "mcp";
export type AuditLine = { 
/**
 * The chat. It may have been deleted since.
 */
chatId: ChatId, 
/**
 * The position of the step in the log of its chat.
 */
position: number, 
/**
 * ISO 8601.
 */
at: string, 
/**
 * The owner of the chat.
 */
owner: string, 
/**
 * The call.
 */
toolCallId: ToolCallId, 
/**
 * The tool.
 */
toolName: string, 
/**
 * The step.
 */
step: AuditStep, 
/**
 * Who did it, if it was a person. If it is missing, the chat was removed because of its age.
 */
by?: string, 
/**
 * Through what a vote, a decision or a browser's result came.
 */
channel?: AuditChannel, 
/**
 * The approval request.
 */
approvalId?: ApprovalId, 
/**
 * What was decided.
 */
decision?: DecisionKind, 
/**
 * Why a call ended.
 */
cause?: Cause, 
/**
 * For `granted`, `used` and `revoked`: the grant.
 */
grant?: GrantId, 
/**
 * Whether the call was refused as soon as it was made: an unknown tool, or an input that does not fit.
 */
invalid?: boolean, 
/**
 * The SHA-256 of the input at this step in its canonical form (RFC 8785), in hexadecimal digits.
 */
inputSha256?: string, 
/**
 * For an edit: the same of the model's input.
 */
originalInputSha256?: string, 
/**
 * For `granted`: the SHA-256 of the grant's terms as they are stored, in hexadecimal digits.
 */
termsSha256?: string, 
/**
 * For `deleted`: the SHA-256 of all lines of the chat before this one, in hexadecimal digits.
 */
linesSha256?: string, 
/**
 * For `deleted`: the hash that the chat had, in hexadecimal digits.
 */
previousHash?: string, 
/**
 * For an edit: the input that the call runs with. Not of a deleted chat.
 */
input?: unknown, 
/**
 * For an edit: the model's input. Not of a deleted chat.
 */
originalInput?: unknown, 
/**
 * The reason that was given for a decision. Not of a deleted chat.
 */
reason?: string, };
export type ServerEvent = { "type": "ready" } | { "type": "missed" } | { "type": "chat", 
/**
 * The chat.
 */
chatId: ChatId, } | { "type": "approvals", 
/**
 * The chat.
 */
chatId: ChatId, };
export type Ticket = { 
/**
 * For the URL of one WebSocket, as `?ticket=`, within a minute.
 */
ticket: string, };
export type IdentityRole = "user" | "approver" | "admin";
export type Me = { 
/**
 * The name that owns chats and is recorded in decisions.
 */
subject: string, 
/**
 * What it may do.
 */
roles: Array<IdentityRole>, 
/**
 * The groups that it belongs to.
 */
groups: Array<string>, 
/**
 * When the credential of this request is no longer accepted, in ISO 8601; left out if it does not expire.
 */
expiresAt?: string, };
export type ProblemKind = "urn:holdpoint:problem:key-required" | "urn:holdpoint:problem:key-invalid" | "urn:holdpoint:problem:ticket-required" | "urn:holdpoint:problem:ticket-invalid" | "urn:holdpoint:problem:token-invalid" | "urn:holdpoint:problem:too-many-wrong-keys" | "urn:holdpoint:problem:role-required" | "urn:holdpoint:problem:unauthenticated" | "urn:holdpoint:problem:not-found" | "urn:holdpoint:problem:method-not-allowed" | "urn:holdpoint:problem:upgrade-required" | "urn:holdpoint:problem:too-large" | "urn:holdpoint:problem:too-deep" | "urn:holdpoint:problem:too-many-values" | "urn:holdpoint:problem:incomplete" | "urn:holdpoint:problem:not-json" | "urn:holdpoint:problem:invalid" | "urn:holdpoint:problem:conflict" | "urn:holdpoint:problem:contradicts-decision" | "urn:holdpoint:problem:not-an-approver" | "urn:holdpoint:problem:decision-not-allowed" | "urn:holdpoint:problem:approval-required" | "urn:holdpoint:problem:too-late" | "urn:holdpoint:problem:foreign-host" | "urn:holdpoint:problem:foreign-origin" | "urn:holdpoint:problem:unsupported-content-type" | "urn:holdpoint:problem:too-slow" | "urn:holdpoint:problem:too-many-connections" | "urn:holdpoint:problem:too-many-requests" | "urn:holdpoint:problem:too-many-turns" | "urn:holdpoint:problem:too-many-open-chats" | "urn:holdpoint:problem:too-many-grants" | "urn:holdpoint:problem:too-many-chats" | "urn:holdpoint:problem:storage-full" | "urn:holdpoint:problem:chat-full" | "urn:holdpoint:problem:busy" | "urn:holdpoint:problem:too-many-streams" | "urn:holdpoint:problem:unreadable" | "urn:holdpoint:problem:unavailable";
export type Problem = { 
/**
 * What kind it is.
 */
type: ProblemKind, 
/**
 * The kind, in words.
 */
title: string, 
/**
 * The HTTP status.
 */
status: number, 
/**
 * What is wrong with this request, and what to do.
 */
detail: string, 
/**
 * The field at fault, as a JSON Pointer into the body. For a missing field, the object that lacks it.
 */
pointer?: string, 
/**
 * The ack and inbox endpoints only: always false.
 */
ok?: boolean, 
/**
 * The ack and inbox endpoints only: why the answer was not taken.
 */
reason?: string, };

/** One chunk of the UI message stream. */
export type Chunk =
  | { type: "start" } & { messageId?: MessageId, messageMetadata?: MessageMetadata, }
  | { type: "finish" } & { finishReason?: FinishReason, messageMetadata?: MessageMetadata, }
  | { type: "start-step" }
  | { type: "finish-step" }
  | { type: "reset-step" }
  | { type: "abort" } & { reason?: string, }
  | { type: "error" } & { errorText: string, }
  | { type: "message-metadata" } & { messageMetadata: MessageMetadata, }
  | { type: "text-start" } & { id: PartId, providerMetadata?: ProviderMetadata, }
  | { type: "text-delta" } & { id: PartId, delta: string, providerMetadata?: ProviderMetadata, }
  | { type: "text-end" } & { id: PartId, citations?: Array<Citation>, providerMetadata?: ProviderMetadata, }
  | { type: "reasoning-start" } & { id: PartId, providerMetadata?: ProviderMetadata, }
  | { type: "reasoning-delta" } & { id: PartId, delta: string, providerMetadata?: ProviderMetadata, }
  | { type: "reasoning-end" } & { id: PartId, providerMetadata?: ProviderMetadata, }
  | { type: "tool-input-start" } & { toolCallId: ToolCallId, toolName: string, inputEncoding?: InputEncoding, providerExecuted?: boolean, providerMetadata?: ProviderMetadata, toolMetadata?: Object, dynamic?: boolean, title?: string, }
  | { type: "tool-input-delta" } & { toolCallId: ToolCallId, inputTextDelta: string, }
  | { type: "tool-input-available" } & { toolCallId: ToolCallId, toolName: string, input: Payload, providerExecuted?: boolean, providerMetadata?: ProviderMetadata, toolMetadata?: Object, dynamic?: boolean, title?: string, }
  | { type: "tool-input-error" } & { toolCallId: ToolCallId, toolName: string, input: Payload, errorText: string, providerExecuted?: boolean, providerMetadata?: ProviderMetadata, toolMetadata?: Object, dynamic?: boolean, title?: string, }
  | { type: "tool-approval-request" } & { toolCallId: ToolCallId, approvalId: ApprovalId, approvalDescriptor?: Payload, inputSchemaInput?: Payload, reason?: string, isAutomatic?: boolean, signature?: string, }
  | { type: "tool-approval-response" } & { approvalId: ApprovalId, approved: boolean, reason?: string, providerExecuted?: boolean, providerMetadata?: ProviderMetadata, }
  | { type: "tool-output-available" } & { toolCallId: ToolCallId, output: Payload, providerExecuted?: boolean, providerMetadata?: ProviderMetadata, toolMetadata?: Object, dynamic?: boolean, preliminary?: boolean, }
  | { type: "tool-output-error" } & { toolCallId: ToolCallId, errorText: string, providerExecuted?: boolean, providerMetadata?: ProviderMetadata, toolMetadata?: Object, dynamic?: boolean, }
  | { type: "tool-output-denied" } & { toolCallId: ToolCallId, }
  | { type: "source-url" } & { sourceId: PartId, url: string, title?: string, providerMetadata?: ProviderMetadata, }
  | { type: "source-document" } & { sourceId: PartId, mediaType: string, title: string, filename?: string, providerMetadata?: ProviderMetadata, }
  | { type: "file" } & { url: string, mediaType: string, providerMetadata?: ProviderMetadata, }
  | { type: "reasoning-file" } & { url: string, mediaType: string, providerMetadata?: ProviderMetadata, }
  | { type: "custom" } & { kind: string, providerMetadata?: ProviderMetadata, }
  | { type: "steering-message" } & { id: PartId, parts: Array<SteeringPart>, }
  | { type: `data-${string}`; id?: PartId; data: unknown; transient?: boolean };

/** A tool call inside a message. */
export type ToolPart = { toolCallId: ToolCallId; state: ToolState } & ToolFields &
  ({ type: `tool-${string}` } | { type: "dynamic-tool"; toolName: string });

/** One part of a message. */
export type Part =
  | ({ type: "text" } & TextPart)
  | ({ type: "reasoning" } & ReasoningPart)
  | ({ type: "file" } & FilePart)
  | ({ type: "reasoning-file" } & FilePart)
  | ({ type: "source-url" } & SourceUrlPart)
  | ({ type: "source-document" } & SourceDocumentPart)
  | ({ type: "custom" } & CustomPart)
  | ToolPart
  | { type: "steering-message"; id: PartId; parts: SteeringPart[] }
  | { type: `data-${string}`; id?: PartId; data: unknown }
  | { type: "step-start" };

/** A message as the AI SDK's client keeps it. */
export type UiMessage = { id: MessageId; role: Role; metadata?: unknown; parts: Part[] };

/** A rule of the checker. */
export type Rule =
  | "F1"
  | "F2"
  | "F3"
  | "F4"
  | "F5"
  | "S1"
  | "S2"
  | "S3"
  | "S4"
  | "S5"
  | "S6"
  | "M1"
  | "M2"
  | "M3"
  | "M4"
  | "B1"
  | "B2"
  | "B3"
  | "T1"
  | "T2"
  | "T3"
  | "T4"
  | "T5"
  | "T6"
  | "T7"
  | "T8"
  | "T9"
  | "T10"
  | "A1"
  | "A2"
  | "A3"
  | "A4"
  | "A5"
  | "A6"
  | "A7"
  | "R1"
  | "R2"
  | "R3"
  | "R4"
  | "W1"
  | "W2"
  | "W3"
  | "W4"
  | "K1"
  | "K2"
  | "K3"
  | "K4"
  | "K5"
  | "K6"
  | "K7"
  | "K8"
  | "K9";

/** One broken rule, as `holdpoint check --json` prints it. */
export type Violation = { line: number; rule: Rule; text: string };
