//! A response: from the position of its request to the end of the segment.

use super::*;

const TWO_TURNS: &str = "opened, said u1, turn, step, text, words, block ended, step ended, ended, said u2, turn, step, text, words, \
     block ended, step ended, ended";

fn response(plan: ResponsePlan, known: usize) -> Response {
    Response::new(Box::new(AiSdk::new(View { profile: Profile::AiSdk, ..View::default() })), plan, known as u64)
}

fn written(response: &mut Response, facts: &[crate::fact::Fact]) -> (String, bool) {
    let mut out = Vec::new();
    let is_over = response.take(facts, &mut out).is_break();
    (short(&out), is_over)
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

/// A repeated request can come so late that its turn is over, and others have followed.
#[test]
fn it_ends_with_its_turn_although_others_have_followed() {
    let facts = facts(TWO_TURNS);
    let plan = ResponsePlan { is_replay: true, ..ResponsePlan::from(2) };
    assert_eq!(written(&mut response(plan, facts.len()), &facts), (ONE.to_owned(), true));
}

/// The client learns the beginning together with the end: it is not asked what is decided, and runs nothing that has run.
#[test]
fn what_is_past_is_shown_as_past() {
    let facts = facts(
        "opened, said u1, turn, step, writing locate, called locate, writing look, called look, step ended, asked locate, \
         started look, ran look, approved locate, started locate, ran locate",
    );
    let plan = ResponsePlan { turn: PlannedTurn::New, ..ResponsePlan::from(2) };
    let (chunks, is_over) = written(&mut response(plan, facts.len()), &facts);
    assert!(!chunks.contains("approval-request") && !chunks.contains("input-available"), "{chunks}");
    assert_eq!((chunks.matches("tool-output-available").count(), is_over), (2, false), "{chunks}");
}

/// The history shows more than the responses: a client that has loaded it has outcomes that no response has sent.
#[test]
fn what_the_client_has_is_not_sent_again() {
    let facts = facts(
        "opened, said u1, turn, step, writing look, called look, writing pay, called pay, step ended, started look, asked pay, \
         ran look, approved pay",
    );
    let (plan, known) = (ResponsePlan::from(facts.len() as u64 - 2), facts.len());
    let outcome = "tool-output-available";
    assert!(written(&mut response(plan.clone(), known), &facts).0.contains(outcome));
    let has = vec![("look".into(), ClientHas::Outcome), ("pay".into(), ClientHas::Request)];
    let chunks = written(&mut response(ResponsePlan { has, ..plan }, known), &facts).0;
    assert!(!chunks.contains(outcome), "{chunks}");
}

/// The approval came from elsewhere, so the client that has answered it too was not told to run the call.
#[test]
fn a_client_is_told_to_run_what_it_has_approved() {
    let facts = facts(
        "opened, said u1, turn resubmit, step, writing locate, called locate, writing open, called open, step ended, \
         asked locate, started open, approved locate, started locate, ran open",
    );
    let from = facts.len() as u64 - 1;
    let plan = ResponsePlan { unsettled: vec!["locate".into()], ..ResponsePlan::from(from) };
    let view = View { profile: Profile::AiSdk, is_resubmit: true, ..View::default() };
    let mut response = Response::new(Box::new(AiSdk::new(view)), plan, from + 1);
    let (chunks, is_over) = written(&mut response, &facts);
    assert_eq!((&*chunks, is_over), ("start tool-input-available tool-output-available finish", true));
}

/// Whether a response has confirmed a browser's result shows in what the client has got since.
#[test]
fn a_result_is_confirmed_once() {
    let facts = facts(
        "opened, said u1, turn, step, called open, step ended, started open, reported open, step, called pay, called look, \
         step ended, asked pay, started look, ran look",
    );
    let reported = facts.iter().position(|fact| matches!(fact, Fact::Settled { .. })).expect("it is there");
    let own_results = vec!["open".into()];
    for from in [reported, facts.len() - 1] {
        let plan =
            ResponsePlan { is_replay: true, own_results: own_results.clone(), ..ResponsePlan::from(from as u64) };
        let shown = |has| {
            let plan = ResponsePlan { has, ..plan.clone() };
            written(&mut Response::new(Box::new(AdkSse::new(View::default())), plan, facts.len() as u64), &facts).0
        };
        let is_confirmed = |chunks: &str| chunks.contains("tool-output-available");
        let has = vec![("open".into(), ClientHas::Outcome)];
        let chunks = shown(has.clone());
        assert!(is_confirmed(&chunks), "{chunks}");
        let chunks = shown([has, vec![("pay".into(), ClientHas::Request)]].concat());
        assert!(!is_confirmed(&chunks), "{chunks}");
    }
}
