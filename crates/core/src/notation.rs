//! A short notation for facts, used by table-driven tests.
//!
//! The id of a call is the name of its tool: `asked pay` is the approval request for the call of `pay`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use holdpoint_protocol::{
    audit::AuditChannel,
    chunk::FinishReason,
    ids::{ApprovalId, MessageId, PartId, ToolCallId},
    message::UiMessage,
    request::Verdict,
};
use serde_json::json;

use crate::{
    clock::Timestamp,
    fact::{BlockKind, CallOrder, Caller, Cause, Fact, NextTurn, Outcome, TurnEnd},
    model::Usage,
    request_terms::RequestTerms,
    subject::Subject,
    tool::{
        ApprovalPolicy, ApprovalTimeout, BUDGET_TOOL, CallState, Execution, InputSchema, Returns, ToolCatalog,
        ToolSpec, budget_spec,
    },
};

/// The time of the given facts.
pub(crate) const START: Timestamp = Timestamp(1_000_000);
/// The timeout of approval requests and frontend calls.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The tools of the examples. `pay` needs approval, and so does `fetch`, which only reads. `look` and `again` run at once, and `again` is idempotent. `locate`
/// and `open` run in the browser, and `locate` needs approval as well.
pub(crate) fn tools() -> ToolCatalog {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = |name: &str, execution| {
        ToolSpec::new(name, "", InputSchema::new(schema.clone()).expect("a valid schema"), execution)
    };
    let server = |name: &str| tool(name, Execution::Server);
    let browser = |name: &str| ToolSpec { timeout: Some(TIMEOUT), ..tool(name, Execution::Frontend) };
    let asks = |spec: ToolSpec| ToolSpec {
        approval: ApprovalPolicy::Always,
        approval_timeout: ApprovalTimeout::After(TIMEOUT),
        ..spec
    };
    [
        asks(server("pay")),
        asks(ToolSpec { is_read: true, ..server("fetch") }),
        server("look"),
        ToolSpec { is_idempotent: true, ..server("again") },
        asks(browser("locate")),
        ToolSpec { returns: Returns::Ack, ..browser("open") },
        budget_spec(),
    ]
    .into_iter()
    .map(Arc::new)
    .collect()
}

pub(crate) fn fact(text: &str, tools: &ToolCatalog) -> Fact {
    let (kind, name) = text.split_once(' ').unwrap_or((text, ""));
    let call = ToolCallId::from(name);
    match (kind, name) {
        ("opened", _) => Fact::Opened { subject: Subject::local() },
        ("said", id) => {
            let later = NextTurn { order: CallOrder::Together, holds_text: false, is_resubmit: false };
            let (id, next) = id.strip_suffix(" for later").map_or((id, None), |id| (id, Some(later)));
            Fact::Said { message: message(id), cut: None, next }
        }
        ("turn", how) => Fact::TurnStarted {
            message: MessageId::from("answer"),
            order: if how == "one by one" { CallOrder::OneByOne } else { CallOrder::Together },
            holds_text: false,
            can_ask: true,
            is_resubmit: how == "resubmit",
            model: "dice".to_owned(),
            at: START,
        },
        ("step", "") => Fact::StepStarted,
        ("step", ended) => {
            // With its tokens: `step ended 100`.
            let prompt_tokens = ended.split_once(' ').map_or(0, |(_, tokens)| tokens.parse().expect("a number"));
            let usage = Usage { prompt_tokens, ..Usage::default() };
            Fact::StepEnded { usage, reason: FinishReason::ToolCalls, version: None, state: None }
        }
        ("text", _) => Fact::BlockStarted { kind: BlockKind::Text, id: PartId::from("0") },
        ("words", _) => Fact::BlockDelta { id: PartId::from("0"), delta: "hello".into() },
        ("block", _) => Fact::BlockEnded { id: PartId::from("0") },
        ("writing", name) => Fact::InputStarted { call, name: name.to_owned() },
        ("called", name) => {
            let spec = tools.get(name).expect("one of the tools");
            Fact::Called {
                call,
                by: if name == BUDGET_TOOL { Caller::Budget } else { Caller::Model },
                name: name.to_owned(),
                input: if name == BUDGET_TOOL {
                    json!({"scope": "turn", "used": 1, "limit": 1, "more": 1})
                } else {
                    json!({"n": 1})
                },
                execution: spec.execution,
                wait: spec.wait,
                returns: spec.returns,
                origin: None,
                needs_approval: spec.approval.approval_reason(&json!({"n": 1})).is_some(),
                checked: None,
                at: START,
            }
        }
        ("invalid", name) => {
            Fact::Invalid { call, name: name.to_owned(), input: json!("{"), error: "no JSON".to_owned(), at: START }
        }
        ("asked", name) => Fact::Asked {
            call,
            approval: ApprovalId::from(name),
            at: START,
            expires: Some(START.after(TIMEOUT)),
            terms: RequestTerms::of(tools.get(name).expect("one of the tools"), String::new()).into(),
        },
        ("approved" | "denied" | "edited" | "answered", _) => Fact::Decided {
            call,
            verdict: match kind {
                "edited" => Verdict::Approve { input: Some(json!({"n": 2})) },
                "answered" => Verdict::Answer { output: json!(2) },
                kind => Verdict::from(kind == "approved"),
            },
            reason: None,
            by: Subject::local(),
            at: START,
            channel: AuditChannel::Inbox,
        },
        ("granted", _) => Fact::Used { call, grant: "g".into(), by: Subject::local(), at: START },
        ("started", name) => {
            let is_browser = tools.get(name).is_some_and(|tool| tool.execution == Execution::Frontend);
            Fact::Started { call, deadline: is_browser.then(|| START.after(TIMEOUT)), at: START }
        }
        ("delayed", _) => Fact::ModelDelayed { message: "Busy.".to_owned(), seconds: 7 },
        ("progressed", _) => Fact::Progressed { call, output: json!("half") },
        ("resumable", _) => {
            let state = CallState { origin: None, data: "state".to_owned(), prompts: Vec::new() };
            Fact::Resumable { call, state: Some(Arc::new(state)) }
        }
        ("ran", _) => Fact::Settled {
            call,
            outcome: Outcome::Output(json!(1)),
            cause: Cause::Ran,
            at: START,
            channel: None,
            is_repeatable: false,
        },
        ("reported", _) => Fact::Settled {
            call,
            outcome: Outcome::Output(json!(1)),
            cause: Cause::Result,
            at: START,
            channel: Some(AuditChannel::Ack),
            is_repeatable: false,
        },
        ("refused", _) => Fact::Settled {
            call,
            outcome: Outcome::Denied { reason: None },
            cause: Cause::Decision,
            at: START,
            channel: None,
            is_repeatable: false,
        },
        ("expired", _) => Fact::Settled {
            call,
            outcome: Outcome::Error("late".to_owned()),
            cause: Cause::Expired,
            at: START,
            channel: None,
            is_repeatable: false,
        },
        ("stop", how) => Fact::StopRequested { reason: None, is_superseded: how == "superseded" },
        ("abandoned", _) => Fact::StepAbandoned,
        ("ended", _) => Fact::TurnEnded { end: TurnEnd::Finished { reason: FinishReason::Stop }, at: START },
        _ => panic!("there is no fact {text:?}"),
    }
}

pub(crate) fn short(fact: &Fact, names: &HashMap<ToolCallId, String>) -> String {
    let name = |call: &ToolCallId| names.get(call).map_or(call.as_str(), String::as_str).to_owned();
    match fact {
        Fact::Opened { .. } => "opened".to_owned(),
        Fact::Context { messages } => format!("context {}", messages.len()),
        Fact::Said { message, cut, next, .. } => {
            let cut = cut.as_ref().map_or(String::new(), |cut| format!(" in place of {}", cut.message));
            format!("said {}{cut}{}", message.id, if next.is_some() { " for later" } else { "" })
        }
        Fact::Regenerated { cut, .. } => format!("regenerated {}", cut.as_ref().map_or("", |cut| cut.message.as_str())),
        Fact::StopRequested { is_superseded, .. } => {
            format!("stop requested{}", if *is_superseded { ": superseded" } else { "" })
        }
        Fact::TurnStarted { .. } => "turn".to_owned(),
        Fact::StepStarted => "step".to_owned(),
        Fact::BlockStarted { kind: BlockKind::Text, .. } => "text".to_owned(),
        Fact::BlockStarted { kind: BlockKind::Reasoning, .. } => "reasoning".to_owned(),
        Fact::BlockDelta { delta, .. } => format!("delta {:?}", delta.text()),
        Fact::BlockEnded { .. } => "block ended".to_owned(),
        Fact::InputStarted { name, .. } => format!("writing {name}"),
        Fact::InputDelta { call, delta } => format!("input {} {:?}", name(call), delta.text()),
        Fact::Called { name, .. } => format!("called {name}"),
        Fact::Invalid { name, error, .. } => format!("invalid {name}: {error}"),
        Fact::StepEnded { .. } => "step ended".to_owned(),
        Fact::StepAbandoned => "step abandoned".to_owned(),
        Fact::Nothing => "nothing".to_owned(),
        Fact::Asked { call, .. } => format!("asked {}", name(call)),
        Fact::Voted { call, by, .. } => format!("voted for {} by {}", name(call), by.as_str()),
        Fact::Escalated { call, .. } => format!("escalated {}", name(call)),
        Fact::Decided { call, verdict, .. } => match verdict {
            Verdict::Deny => format!("denied {}", name(call)),
            Verdict::Approve { input: Some(input) } => format!("edited {} to {input}", name(call)),
            Verdict::Answer { output } => format!("answered {} with {output}", name(call)),
            Verdict::Approve { input: None } => format!("approved {}", name(call)),
        },
        Fact::Granted { call, .. } => format!("remembered {}", name(call)),
        Fact::Used { call, .. } => format!("granted {}", name(call)),
        Fact::Started { call, .. } => format!("started {}", name(call)),
        Fact::ModelDelayed { message, seconds } => format!("delayed by {seconds} s: {message}"),
        Fact::Progressed { call, output } => format!("progressed {} {output}", name(call)),
        Fact::Stored { call, files } => format!("stored {} of {}", files.len(), name(call)),
        Fact::Resumable { call, state } => {
            format!("{} {}", if state.is_some() { "resumable" } else { "not resumable" }, name(call))
        }
        Fact::Settled { call, outcome, cause, .. } => {
            let cause = serde_json::to_value(cause).expect("a name");
            let outcome = match outcome {
                Outcome::Output(output) => format!("output {output}"),
                Outcome::Error(text) => format!("error {text:?}"),
                Outcome::Denied { .. } => "denied".to_owned(),
            };
            format!("settled {} by {}: {outcome}", name(call), cause.as_str().expect("a name"))
        }
        Fact::TurnEnded { end, .. } => match end {
            TurnEnd::Finished { .. } => "ended".to_owned(),
            TurnEnd::Failed { message } => format!("failed: {message}"),
            TurnEnd::Stopped { reason } => {
                format!("stopped{}", reason.as_ref().map_or(String::new(), |why| format!(": {why}")))
            }
            TurnEnd::Superseded => "superseded".to_owned(),
        },
    }
}

pub(crate) fn message(id: &str) -> UiMessage {
    serde_json::from_value(json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "go"}]}))
        .expect("a message")
}

/// The facts of a comma-separated list.
pub(crate) fn facts(list: &str) -> Vec<Fact> {
    let tools = tools();
    list.split(", ").filter(|text| !text.is_empty()).map(|text| fact(text, &tools)).collect()
}
