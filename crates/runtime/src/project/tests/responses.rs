//! A response: from the position of its request to the end of the segment.

use super::*;
use crate::turn::{PlannedTurn, ResponsePlan};

const TWO_TURNS: &str = "opened, said u1, turn, step, text, words, block ended, step ended, ended, said u2, turn, step, text, words, \
     block ended, step ended, ended";

fn response(plan: ResponsePlan, known: usize) -> Response {
    Response::new(Box::new(AiSdk::new(View { profile: Profile::AiSdk, ..View::default() })), plan, known as u64)
}

fn written(response: &mut Response, facts: &[crate::fact::Fact]) -> (String, bool) {
    let mut out = Vec::new();
    let is_over = response.take(facts, &mut out).is_break();
    (out.iter().map(short_chunks).collect::<Vec<_>>().join(" "), is_over)
}

const ONE: &str = "start start-step text-start … text-end finish-step finish";

#[test]
fn it_shows_its_own_turn_only() {
    let facts = facts(TWO_TURNS);
    let second = facts.len() - 7;
    let plan = ResponsePlan { turn: PlannedTurn::New, ..ResponsePlan::from(second as u64) };
    assert_eq!(written(&mut response(plan.clone(), facts.len()), &facts), (ONE.to_owned(), true));
    // Starting at the turn itself gives the same result.
    let mut late = response(plan, facts.len());
    late.skip_earlier_turns(0, &facts.iter().cloned().map(std::sync::Arc::new).collect::<Vec<_>>());
    assert_eq!(late.position(), second as u64);
    assert_eq!(written(&mut late, &facts[second..]), (ONE.to_owned(), true));
}

#[test]
fn a_missed_outcome_of_an_earlier_turn_is_not_skipped() {
    let list = "opened, said u1, turn, step, called look, step ended, started look, ran look, step, step ended, ended, said u2, turn, step";
    let facts = facts(list);
    let from = facts.len() as u64 - 2;
    let unsettled = vec![holdpoint_protocol::ids::ToolCallId::from("look")];
    let plan = ResponsePlan { turn: PlannedTurn::New, unsettled, ..ResponsePlan::from(from) };
    let mut response = response(plan, facts.len());
    response.skip_earlier_turns(0, &facts.iter().cloned().map(std::sync::Arc::new).collect::<Vec<_>>());
    assert_eq!(response.position(), 0);
}

#[test]
fn it_goes_on_until_its_segment_ends() {
    let facts = facts(TWO_TURNS);
    let first = &facts[..9];
    let plan = ResponsePlan { turn: PlannedTurn::New, ..ResponsePlan::from(2) };
    let mut response = response(plan, 4);
    assert_eq!(written(&mut response, &first[..4]), ("start start-step".to_owned(), false));
    assert_eq!(written(&mut response, &first[4..6]), ("text-start …".to_owned(), false));
    assert_eq!(written(&mut response, &first[6..]), ("text-end finish-step finish".to_owned(), true));
}
