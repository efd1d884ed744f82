//! Grants: which calls run without a question, and what becomes of them.

use holdpoint_protocol::request::{DecisionRequest, Verdict};

use super::*;
use crate::fact::Outcome;
use crate::grants::{Coverage, GrantMatch, GrantScope, GrantTerms, JsonDigest, Remember, RememberError, tool_digest};

/// A grant for a tool of the notation, in all its calls.
fn grant(tool: &str) -> UsableGrant {
    let digest = tool_digest(tools().get(tool).expect("one of the tools")).expect("a digest");
    let terms =
        GrantTerms { scope: GrantScope::Subject, covers: Coverage::Tool, tool: digest, until: None, uses: None };
    UsableGrant { id: "g".into(), tool: tool.into(), maker: "carol".into(), left: None, terms }
}

fn covering(tool: &str, covers: Coverage) -> UsableGrant {
    let grant = grant(tool);
    UsableGrant { terms: GrantTerms { covers, ..grant.terms }, ..grant }
}

const CALLED: &str = "opened, said u1, turn, step, called pay";

#[test]
fn a_grant_stands_in_for_a_question() {
    let digest = |value: Value| Coverage::Input(JsonDigest::of(&value).expect("a digest"));
    let other_tool = UsableGrant { tool: "pay".into(), ..grant("locate") };
    let until = |seconds| {
        let grant = grant("pay");
        let until = Some(START.after(Duration::from_secs(seconds)));
        UsableGrant { terms: GrantTerms { until, ..grant.terms }, ..grant }
    };
    let rule = |rule: Value| covering("pay", Coverage::Rule(rule));
    let (asked, runs) = ("step ended, asked pay", "step ended, granted pay, started pay");
    let table = [
        ("there is none", vec![], asked),
        ("for all calls", vec![grant("pay")], runs),
        ("for another tool", vec![grant("locate")], asked),
        ("for a tool of this name that was another one", vec![other_tool], asked),
        ("for this input", vec![covering("pay", digest(json!({"n": 1})))], runs),
        ("for another input", vec![covering("pay", digest(json!({"n": 2})))], asked),
        ("by a rule", vec![rule(json!({"when": "/n", "under": 2}))], runs),
        ("by a rule that does not hold", vec![rule(json!({"when": "/n", "under": 1}))], asked),
        ("by a rule about what is not there", vec![rule(json!({"when": "/m", "under": 2}))], asked),
        ("by the opposite of that", vec![rule(json!({"not": {"when": "/m", "under": 2}}))], asked),
        ("by a rule that can't be read", vec![rule(json!({"when": "/n"}))], asked),
        ("until later", vec![until(11)], runs),
        ("until now", vec![until(10)], asked),
        ("used up", vec![UsableGrant { left: Some(0), ..grant("pay") }], asked),
        ("with another one that covers it", vec![grant("locate"), until(10), grant("pay")], runs),
    ];
    for (name, grants, expected) in table {
        assert_eq!(facts_of(given(CALLED).after(10).with(grants).when(model_finishes())), expected, "{name}");
    }
    let elsewhere = given("opened, said u1, turn, step, called pay, step ended").elsewhere().with([grant("pay")]);
    assert_eq!(facts_of(elsewhere.when(Input::Follow { is_watched: true })), "", "the node that runs the turn uses it");
}

#[test]
fn a_call_that_was_granted_is_no_hold() {
    let two = "opened, said u1, turn, step, called pay, called locate";
    let pays = given(two).max_holds(1).with([grant("pay")]);
    assert_eq!(facts_of(pays.when(model_finishes())), "step ended, granted pay, started pay, asked locate");
}

#[test]
fn what_a_grant_approved_ends_as_what_a_person_approved() {
    let browser = "opened, said u1, turn, step, called locate, step ended, granted locate, started locate";
    let superseded = facts_of(given(browser).when(say("u2")));
    let expected = r#"settled locate by superseded: error "superseded by a newer message: not done", superseded"#;
    assert!(superseded.starts_with(expected), "{superseded}");
    let cut_off = "opened, said u1, turn, step, called again, step ended, granted again, started again";
    let recovered = facts_of(given(cut_off).with([grant("again")]).when(Input::Recover));
    assert_eq!(recovered, r#"settled again by interrupted: error "interrupted: outcome unknown", step"#);
}

/// Nobody knows whether it ran, so the model can't just do it again on the grant.
#[test]
fn the_same_tool_again_after_an_interruption_is_asked_about() {
    let pay = "opened, said u1, turn, step, called pay, step ended, granted pay, started pay";
    let fetch = "opened, said u1, turn, step, called fetch, step ended, granted fetch, started fetch";
    let again = |name: &str, cause| {
        let outcome = Outcome::Error("unknown".to_owned());
        let settled =
            Fact::Settled { call: name.into(), outcome, cause, at: START, channel: None, is_repeatable: false };
        let called = facts(&format!("called {name}")).into_iter().map(|fact| match fact {
            Fact::Called { name, input, execution, wait, returns, origin, needs_approval, checked, by, .. } => {
                Fact::Called {
                    call: "second".into(),
                    name,
                    input,
                    execution,
                    wait,
                    returns,
                    origin,
                    needs_approval,
                    checked,
                    by,
                    at: START,
                }
            }
            other => other,
        });
        let ran = if name == "pay" { pay } else { fetch };
        given(ran).and([settled, Fact::StepStarted].into_iter().chain(called)).with([grant(name)])
    };
    assert_eq!(facts_of(again("pay", Cause::Interrupted).when(model_finishes())), "step ended, asked pay");
    assert_eq!(facts_of(again("pay", Cause::Ran).when(model_finishes())), "step ended, granted pay, started pay");
    // A read can be made again, whatever came of it.
    let fetched = facts_of(again("fetch", Cause::Interrupted).when(model_finishes()));
    assert_eq!(fetched, "step ended, granted fetch, started fetch");
}

#[test]
fn an_approval_makes_a_grant_or_is_not_in_force() {
    let asked = "opened, said u1, turn, step, called pay, step ended, asked pay";
    let decide = |remember: Remember| {
        let decision = DecisionRequest { verdict: Verdict::APPROVE, reason: None, remember: Some(remember) };
        Input::Decide { approval: "pay".into(), decision, by: Arc::new(Identity::local()) }
    };
    let remember = Remember { scope: GrantScope::Chat, covers: GrantMatch::Input, until: None, uses: None };
    let (facts, reply) = given(asked).when(decide(remember.clone()));
    assert_eq!(facts, "approved pay, remembered pay, started pay");
    assert_eq!(reply, Reply::Answered(Answered::Remembered("grant_1".into())));
    let (facts, _) = given(asked).elsewhere().when(decide(remember.clone()));
    assert_eq!(facts, "approved pay, remembered pay", "the node that runs the turn does the rest");
    let (facts, reply) = given(asked).when(decide(Remember { uses: Some(0), ..remember }));
    assert_eq!((facts.as_str(), reply), ("", Reply::Answered(Answered::NotRemembered(RememberError::Uses))));
}
