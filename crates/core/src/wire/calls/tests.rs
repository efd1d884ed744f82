//! The fold by example: given these facts, this is the state of the calls. One table per topic.

use serde_json::json;

use super::*;
use crate::{
    fact::{Caller, Cause, Outcome},
    subject::Subject,
    tool::Returns,
};

const NOW: Timestamp = Timestamp(1_000);
const LATER: Timestamp = Timestamp(2_000);

fn id(call: &str) -> ToolCallId {
    ToolCallId::from(call)
}

fn turn_started(order: CallOrder) -> Fact {
    let (message, model) = (MessageId::from("m"), "dice".to_owned());
    Fact::TurnStarted { message, order, holds_text: false, can_ask: false, is_resubmit: false, model, at: NOW }
}

fn called(call: &str, execution: Execution, wait: Wait) -> Fact {
    Fact::Called {
        call: id(call),
        by: Caller::Model,
        name: "pay".to_owned(),
        input: json!({"n": 1}),
        execution,
        wait,
        returns: Returns::Output,
        origin: None,
        needs_approval: false,
        checked: None,
        at: NOW,
    }
}

fn on_server(call: &str) -> Fact {
    called(call, Execution::Server, Wait::Stream)
}

fn in_browser(call: &str, wait: Wait) -> Fact {
    called(call, Execution::Frontend, wait)
}

fn prompt(call: &str, by: &str) -> Fact {
    let mut fact = in_browser(call, Wait::Stream);
    if let Fact::Called { by: caller, .. } = &mut fact {
        *caller = Caller::Tool(id(by));
    }
    fact
}

fn writing(call: &str) -> Fact {
    Fact::InputStarted { call: id(call), name: "pay".to_owned() }
}

fn invalid(call: &str) -> Fact {
    Fact::Invalid { call: id(call), name: "pay".to_owned(), input: json!("?"), error: "no object".to_owned(), at: NOW }
}

fn asked(call: &str) -> Fact {
    let terms = std::sync::Arc::default();
    Fact::Asked { call: id(call), approval: "a".into(), at: NOW, expires: Some(LATER), terms }
}

fn decided(call: &str, approved: bool) -> Fact {
    Fact::Decided {
        call: id(call),
        verdict: approved.into(),
        reason: None,
        by: Subject::local(),
        at: NOW,
        channel: holdpoint_protocol::audit::AuditChannel::Inbox,
    }
}

fn started(call: &str) -> Fact {
    Fact::Started { call: id(call), deadline: Some(LATER), at: NOW }
}

fn settled(call: &str, outcome: Outcome, cause: Cause) -> Fact {
    Fact::Settled { call: id(call), outcome, cause, at: LATER, channel: None, is_repeatable: false }
}

fn ran(call: &str) -> Fact {
    settled(call, Outcome::Output(json!("paid")), Cause::Ran)
}

fn step_ended(prompt_tokens: u64) -> Fact {
    let usage = Usage { prompt_tokens, completion_tokens: 1, ..Usage::default() };
    let reason = holdpoint_protocol::chunk::FinishReason::ToolCalls;
    Fact::StepEnded { usage, reason, version: Some("dice-2".to_owned()), state: None }
}

fn fold(order: CallOrder, is_resubmit: bool, facts: &[Fact]) -> TurnCalls {
    let mut turn = TurnCalls::begin(&turn_started(order), is_resubmit).expect("a turn");
    turn.apply(&Fact::StepStarted);
    facts.iter().for_each(|fact| turn.apply(fact));
    turn
}

/// What the only call of a turn is waiting for.
fn waits(order: CallOrder, is_resubmit: bool, facts: &[Fact]) -> Waits {
    let turn = fold(order, is_resubmit, facts);
    turn.get(&id("c")).expect("the call").waits(turn.reader())
}

#[test]
fn what_a_call_waits_for() {
    let denied = || settled("c", Outcome::Denied { reason: None }, Cause::Decision);
    let table = [
        ("the model writes it", vec![writing("c")], Waits::Here),
        ("it is complete", vec![on_server("c")], Waits::Here),
        ("a person is asked", vec![on_server("c"), asked("c")], Waits::Person),
        ("approved", vec![on_server("c"), asked("c"), decided("c", true)], Waits::Here),
        ("approved, and runs", vec![on_server("c"), asked("c"), decided("c", true), started("c")], Waits::Here),
        ("it ran", vec![on_server("c"), started("c"), ran("c")], Waits::Nothing),
        ("denied", vec![on_server("c"), asked("c"), decided("c", false), denied()], Waits::Nothing),
        ("its input does not fit", vec![invalid("c")], Waits::Nothing),
    ];
    for (name, facts, expected) in table {
        assert_eq!(waits(CallOrder::Together, false, &facts), expected, "{name}");
    }
}

#[test]
fn one_by_one_a_call_waits_for_those_before_it() {
    let facts = [on_server("first"), on_server("c"), started("first")];
    assert_eq!(waits(CallOrder::OneByOne, false, &facts), Waits::Queue);
    let facts = [on_server("first"), on_server("c"), started("first"), ran("first"), started("c")];
    assert_eq!(waits(CallOrder::OneByOne, false, &facts), Waits::Here);
}

/// The resubmit rule: a browser's result comes with the client's next request if the tool or the client says so, unless
/// it answers a prompt.
#[test]
fn where_a_browsers_result_is_waited_for() {
    let table = [
        ("by ack", in_browser("c", Wait::Stream), false, Waits::Here),
        ("the tool says resubmit", in_browser("c", Wait::Resubmit), false, Waits::Browser),
        ("the client says resubmit", in_browser("c", Wait::Stream), true, Waits::Browser),
        ("a prompt is answered by ack", prompt("c", "tool"), true, Waits::Here),
        ("a server tool is not the browser's", called("c", Execution::Server, Wait::Resubmit), true, Waits::Here),
        ("nor is a call that is handed over", called("c", Execution::Delegate, Wait::Resubmit), true, Waits::Here),
    ];
    for (name, call, is_resubmit, expected) in table {
        assert_eq!(waits(CallOrder::Together, is_resubmit, &[call, started("c")]), expected, "{name}");
    }
}

#[test]
fn an_approval_comes_before_a_browsers_result() {
    let facts = [in_browser("c", Wait::Resubmit), asked("c"), decided("c", true), started("c")];
    let expected = [Waits::Here, Waits::Person, Waits::Here, Waits::Browser];
    for (at, expected) in expected.into_iter().enumerate() {
        assert_eq!(waits(CallOrder::Together, false, &facts[..=at]), expected, "after {:?}", facts[at]);
    }
}

#[test]
fn an_outcome_keeps_its_cause() {
    let denied = || Outcome::Denied { reason: Some("too much".to_owned()) };
    let superseded = Outcome::Error(crate::fact::SUPERSEDED.to_owned());
    let refused = Outcome::Error("no object".to_owned());
    let table = [
        ("it ran", ran("c"), Cause::Ran, Outcome::Output(json!("paid"))),
        ("a person's no", settled("c", denied(), Cause::Decision), Cause::Decision, denied()),
        ("nobody denied it", settled("c", denied(), Cause::Superseded), Cause::Superseded, superseded),
        ("its input does not fit", invalid("c"), Cause::Refused, refused),
    ];
    for (name, fact, cause, told) in table {
        let made = if matches!(fact, Fact::Invalid { .. }) { Vec::new() } else { vec![on_server("c"), asked("c")] };
        let facts: Vec<Fact> = made.into_iter().chain([fact]).collect();
        let turn = fold(CallOrder::Together, false, &facts);
        let settled = turn.get(&id("c")).and_then(|call| call.settled.as_ref()).expect("an outcome");
        assert_eq!((settled.cause, settled.told()), (cause, told), "{name}");
    }
}

#[test]
fn calls_have_the_order_of_their_step() {
    // The model begins `a` first and completes `b` first.
    let facts = [writing("a"), writing("b"), on_server("b"), on_server("a")];
    let turn = fold(CallOrder::Together, false, &facts);
    assert_eq!(turn.begun_in_step(), [id("a"), id("b")]);
    assert_eq!(turn.made_in_step(), [id("b"), id("a")]);
    // The next step starts empty; the turn keeps its calls.
    let facts: Vec<Fact> =
        facts.into_iter().chain([step_ended(1), Fact::StepStarted, writing("c"), on_server("c")]).collect();
    let turn = fold(CallOrder::Together, false, &facts);
    assert_eq!((turn.begun_in_step(), turn.made_in_step()), (&[id("c")][..], &[id("c")][..]));
    assert_eq!(
        turn.all().map(|(id, _)| (id.as_str(), turn.number(id))).collect::<Vec<_>>(),
        [("b", Some(0)), ("a", Some(1)), ("c", Some(2))]
    );
}

#[test]
fn usage_is_counted_by_step() {
    let turn = fold(CallOrder::Together, false, &[step_ended(10), Fact::StepStarted, step_ended(5)]);
    assert_eq!(turn.usage_since(0), Usage { prompt_tokens: 15, completion_tokens: 2, ..Usage::default() });
    assert_eq!(turn.usage_since(1), Usage { prompt_tokens: 5, completion_tokens: 1, ..Usage::default() });
    assert_eq!(turn.usage_since(turn.steps()), Usage::default());
    assert_eq!(turn.model, "dice-2", "as the model itself has said");
}
