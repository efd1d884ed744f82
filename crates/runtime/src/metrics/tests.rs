//! Tests of the exported metrics.

use holdpoint_protocol::{ids::ToolCallId, request::Verdict};
use prometheus_client::encoding::text::encode_eof;

use super::*;
use crate::{
    fact::{Caller, Outcome},
    subject::Subject,
    tool::Execution,
};

fn text(metrics: &Metrics) -> String {
    let mut out = String::new();
    metrics.write(Waiting::default(), Counts::default(), &mut out);
    encode_eof(&mut out).expect("a string");
    out
}

fn value(text: &str, sample: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn series_that_are_known_beforehand_begin_at_zero() {
    let text = text(&Metrics::new());
    for sample in [
        "holdpoint_turns_started_total",
        "holdpoint_turns_ended_total{end=\"failed\"}",
        "holdpoint_decisions_total{kind=\"deny\",channel=\"ws\"}",
        "holdpoint_hold_expiries_total{kind=\"prompt\"}",
        "holdpoint_log_appends_total{result=\"unknown\"}",
        "holdpoint_log_failures_total{operation=\"append\"}",
        "holdpoint_turns{state=\"running\"}",
        "holdpoint_hold_oldest_age_seconds{kind=\"approval\"}",
    ] {
        assert_eq!(value(&text, sample), Some(0.0), "{sample} in\n{text}");
    }
}

#[test]
fn two_runtimes_do_not_mix() {
    let (one, other) = (Metrics::new(), Metrics::new());
    one.expired(HoldKind::Prompt);
    assert_eq!(value(&text(&one), "holdpoint_hold_expiries_total{kind=\"prompt\"}"), Some(1.0));
    assert_eq!(value(&text(&other), "holdpoint_hold_expiries_total{kind=\"prompt\"}"), Some(0.0));
}

#[test]
fn what_the_driver_counts_is_written() {
    let (waiting, counts) =
        (Waiting { running: 3, ..Waiting::default() }, Counts { unreadable_heads: 2, ..Counts::default() });
    let mut text = String::new();
    Metrics::new().write(waiting, counts, &mut text);
    assert_eq!(value(&text, "holdpoint_turns{state=\"running\"}"), Some(3.0), "{text}");
    assert_eq!(value(&text, "holdpoint_unreadable_heads_total"), Some(2.0), "{text}");
}

#[test]
fn names_that_the_model_makes_up_are_no_labels() {
    let metrics = Metrics::new();
    let invalid = Fact::Invalid {
        call: ToolCallId::from("c"),
        name: "made_up".to_owned(),
        input: serde_json::Value::Null,
        error: "there is no such tool".to_owned(),
        at: Timestamp(0),
    };
    metrics.fact(&invalid, &Chat::default(), Channel::Chat);
    let text = text(&metrics);
    assert_eq!(value(&text, "holdpoint_calls_settled_total{tool=\"unknown\",cause=\"refused\"}"), Some(1.0), "{text}");
    assert!(!text.contains("made_up"), "{text}");
}

#[test]
fn facts_become_counts() {
    let metrics = Metrics::new();
    let mut state = Chat::default();
    let call = ToolCallId::from("c");
    let decided = |verdict| Fact::Decided {
        call: ToolCallId::from("c"),
        verdict,
        reason: None,
        by: Subject::local(),
        at: Timestamp(7_000),
        channel: holdpoint_protocol::audit::AuditChannel::Inbox,
    };
    let facts = [
        Fact::Opened { subject: Subject::local() },
        Fact::Called {
            call: call.clone(),
            by: Caller::Model,
            name: "pay".to_owned(),
            input: serde_json::Value::Null,
            execution: Execution::Server,
            wait: Default::default(),
            returns: Default::default(),
            origin: None,
            needs_approval: true,
            checked: None,
            at: Timestamp(0),
        },
        Fact::Asked {
            call: call.clone(),
            approval: "a".into(),
            at: Timestamp(0),
            expires: None,
            terms: Default::default(),
        },
        decided(Verdict::APPROVE),
        decided(Verdict::Approve { input: Some(serde_json::json!({"n": 2})) }),
        decided(Verdict::Answer { output: serde_json::json!(2) }),
        Fact::Settled {
            call,
            outcome: Outcome::Error("late".to_owned()),
            cause: Cause::Expired,
            at: Timestamp(8_000),
            channel: None,
            is_repeatable: false,
        },
        Fact::TurnEnded { end: TurnEnd::Superseded, at: Timestamp(9_000) },
    ];
    for fact in &facts {
        state.apply(fact);
        metrics.fact(fact, &state, Channel::Inbox);
    }
    let text = text(&metrics);
    for (sample, wanted) in [
        ("holdpoint_decisions_total{kind=\"approve\",channel=\"inbox\"}", 1.0),
        ("holdpoint_decisions_total{kind=\"edit\",channel=\"inbox\"}", 1.0),
        ("holdpoint_decisions_total{kind=\"answer\",channel=\"inbox\"}", 1.0),
        ("holdpoint_decision_wait_seconds_sum{kind=\"approve\"}", 7.0),
        ("holdpoint_decision_wait_seconds_bucket{le=\"5.0\",kind=\"approve\"}", 0.0),
        ("holdpoint_decision_wait_seconds_bucket{le=\"15.0\",kind=\"approve\"}", 1.0),
        ("holdpoint_hold_expiries_total{kind=\"frontend\"}", 1.0),
        ("holdpoint_calls_settled_total{tool=\"pay\",cause=\"expired\"}", 1.0),
        ("holdpoint_turns_ended_total{end=\"superseded\"}", 1.0),
    ] {
        assert_eq!(value(&text, sample), Some(wanted), "{sample} in\n{text}");
    }
}
