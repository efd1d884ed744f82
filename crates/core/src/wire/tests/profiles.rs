//! The same facts in each profile.

use super::*;

fn written(mut projection: impl Projection, list: &str) -> String {
    let mut out = Vec::new();
    facts(list).iter().for_each(|fact| projection.apply(fact, &mut out));
    short(&out)
}

fn ai_sdk(list: &str) -> String {
    written(AiSdk::new(View { profile: Profile::AiSdk, is_resubmit: true, ..View::default() }), list)
}

fn adk_sse(list: &str) -> String {
    written(AdkSse::new(View::default()), list)
}

fn adk_live(list: &str) -> String {
    written(AdkLive::new(View::default()), list)
}

const TEXT: &str = "opened, said u1, turn, step, text, words, block ended, step ended, ended";
const HELD: &str = "opened, said u1, turn, step, writing pay, called pay, step ended, asked pay";
const APPROVED: &str = "opened, said u1, turn, step, writing pay, called pay, step ended, asked pay, approved pay, started pay, \
     ran pay, step, step ended, ended";
const DENIED: &str = "opened, said u1, turn, step, writing pay, called pay, step ended, asked pay, denied pay, refused pay, step, \
     step ended, ended";
const BROWSER: &str = "opened, said u1, turn, step, writing open, called open, step ended, started open";

#[test]
fn text() {
    assert_eq!(ai_sdk(TEXT), "start start-step text-start … text-end finish-step finish |");
    assert_eq!(adk_sse(TEXT), "start text-start … text-end finish |");
    assert_eq!(adk_live(TEXT), "start text-start … text-end finish |");
}

/// Over HTTP the segment ends, and the decision comes with the next request. A live connection stays open.
#[test]
fn an_approval_request() {
    let asked = "tool-input-start tool-input-available tool-approval-request";
    assert_eq!(ai_sdk(HELD), format!("start start-step {asked} finish-step finish |"));
    assert_eq!(adk_sse(HELD), format!("start {asked} finish |"));
    let step = "start-step tool-approval-request finish-step";
    assert_eq!(adk_live(HELD), format!("start tool-input-start tool-input-available {step}"));
}

#[test]
fn an_approved_call() {
    let ai_sdk_rest = "start tool-output-available start-step finish-step finish |";
    assert_eq!(ai_sdk(APPROVED), format!("{} {ai_sdk_rest}", ai_sdk(HELD)));
    assert_eq!(adk_sse(APPROVED), format!("{} start tool-output-available finish |", adk_sse(HELD)));
    assert_eq!(adk_live(APPROVED), format!("{} tool-output-available finish |", adk_live(HELD)));
}

/// A transient part, which clients of both versions pass on and do not keep.
#[test]
fn a_model_that_is_asked_again() {
    let delayed = "opened, said u1, turn, step, delayed, text, words, block ended, step ended, ended";
    let text = "text-start … text-end";
    assert_eq!(ai_sdk(delayed), format!("start start-step data-holdpoint-retry {text} finish-step finish |"));
    assert_eq!(adk_sse(delayed), format!("start data-holdpoint-retry {text} finish |"));
    assert_eq!(adk_live(delayed), format!("start data-holdpoint-retry {text} finish |"));
}

/// The token limit has cut a call off. The client must not send its error back by itself, so the last step is empty.
#[test]
fn a_turn_that_ends_with_a_call() {
    let cut = "opened, said u1, turn, step, writing pay, invalid pay, step ended, ended";
    let call = "tool-input-start tool-input-error";
    assert_eq!(ai_sdk(cut), format!("start start-step {call} finish-step start-step finish-step finish |"));
    assert_eq!(adk_sse(cut), format!("start {call} finish |"));
    assert_eq!(adk_live(cut), format!("start {call} finish |"));
}

/// The adk profile has no denials: a denial is an error.
#[test]
fn a_denied_call() {
    let ai_sdk_rest = "start tool-output-denied start-step finish-step finish |";
    assert_eq!(ai_sdk(DENIED), format!("{} {ai_sdk_rest}", ai_sdk(HELD)));
    assert_eq!(adk_sse(DENIED), format!("{} start tool-output-error finish |", adk_sse(HELD)));
    assert_eq!(adk_live(DENIED), format!("{} tool-output-error finish |", adk_live(HELD)));
}

/// A stock client sends nothing while a response is open, so the response ends. In the adk profile it waits for the
/// result.
#[test]
fn a_call_of_the_browser() {
    let called = "tool-input-start tool-input-available";
    assert_eq!(ai_sdk(BROWSER), format!("start start-step {called} finish-step finish |"));
    assert_eq!(adk_sse(BROWSER), format!("start {called}"));
    assert_eq!(adk_live(BROWSER), format!("start {called}"));
}

/// The browser runs it as soon as it is shown, so it is shown once its result can be taken: while the model still writes the
/// step, it can't, and the step may be abandoned.
#[test]
fn a_call_of_the_browser_while_the_model_writes() {
    let writing = "opened, said u1, turn, step, writing open, called open, text, words, block ended";
    for shown in [ai_sdk(writing), adk_sse(writing), adk_live(writing)] {
        assert!(!shown.contains("tool-input-available"), "{shown}");
    }
    let stored = format!("{writing}, step ended, started open");
    for shown in [ai_sdk(&stored), adk_sse(&stored), adk_live(&stored)] {
        assert_eq!(shown.matches("tool-input-available").count(), 1, "{shown}");
    }
    // Stopped before: it is not to run any more.
    let stopped = format!("{writing}, step ended, expired open");
    for shown in [ai_sdk(&stopped), adk_sse(&stopped)] {
        assert!(!shown.contains("tool-input-available") && shown.contains("tool-output-error"), "{shown}");
    }
}

/// A preliminary output is shown where the outcome would be: over SSE in the adk profile, not after an approval request.
#[test]
fn the_progress_of_a_call() {
    let called = "opened, said u1, turn, step, writing look, called look, step ended, started look, progressed look";
    let look = format!("{called}, progressed look, ran look, step, step ended, ended");
    let outputs = "preliminary preliminary tool-output-available";
    let shown = "tool-input-start tool-input-available";
    assert_eq!(
        ai_sdk(&look),
        format!("start start-step {shown} {outputs} finish-step start-step finish-step finish |")
    );
    assert_eq!(adk_sse(&look), format!("start {shown} {outputs} finish |"));
    assert_eq!(adk_live(&look), format!("start {shown} {outputs} finish |"));
    let pay = format!("{HELD}, approved pay, started pay, progressed pay, ran pay, step, step ended, ended");
    let rest = "start preliminary tool-output-available start-step finish-step finish |";
    assert_eq!(ai_sdk(&pay), format!("{} {rest}", ai_sdk(HELD)));
    assert_eq!(adk_sse(&pay), adk_sse(APPROVED));
    assert_eq!(adk_live(&pay), format!("{} preliminary tool-output-available finish |", adk_live(HELD)));
}

/// A replay shows the outcome of a call, not its way there.
#[test]
fn a_replay_of_progress() {
    let facts = facts(
        "opened, said u1, turn, step, writing look, called look, step ended, started look, progressed look, ran look, step",
    );
    let mut replay = AiSdk::new(View { profile: Profile::AiSdk, ..View::default() });
    replay.set_past(Past::of(facts.iter()));
    let mut out = Vec::new();
    facts.iter().for_each(|fact| replay.apply(fact, &mut out));
    assert!(!short(&out).contains("preliminary"), "{}", short(&out));
}

/// What a client was shown of a step that another node abandons is closed, and what is held back is dropped.
#[test]
fn an_abandoned_step() {
    const REST: &str = "abandoned, step, text, words, block ended, step ended, ended";
    let answer = "text-start … text-end";
    let call = format!("opened, said u1, turn, step, writing open, called open, text, words, {REST}");
    assert_eq!(
        ai_sdk(&call),
        format!(
            "start start-step tool-input-start text-start … text-end tool-input-error finish-step start-step {answer} finish-step finish |"
        )
    );
    assert_eq!(adk_sse(&call), format!("start {answer} finish |"));
    assert_eq!(adk_live(&call), format!("start {answer} finish |"));
    let server = call.replace(" open", " look");
    let shown = "tool-input-start tool-input-available";
    assert_eq!(adk_sse(&server), format!("start {shown} tool-input-error {answer} finish |"));
    let text = format!("opened, said u1, turn, step, text, words, {REST}");
    let progressive = View { is_progressive: true, ..View::default() };
    let both = format!("start {answer} {answer} finish |");
    assert_eq!(written(AdkSse::new(progressive), &text), both);
    assert_eq!(written(AdkLive::new(progressive), &text), both);
    // Another node ends the turn, and has nothing of what this one could not write.
    let unwritten = "opened, said u1, turn, step, writing open, called open, writing look, text, words, ended";
    let closed = "text-start … text-end tool-input-error tool-input-error finish-step finish |";
    assert_eq!(ai_sdk(unwritten), format!("start start-step tool-input-start tool-input-start {closed}"));
    assert_eq!(adk_sse(unwritten), format!("start {answer} finish |"));
    assert_eq!(adk_live(unwritten), format!("start {answer} finish |"));
    // It ends what this one has ended.
    let again = "opened, said u1, turn, step, text, words, block ended, block ended, ended";
    assert_eq!(ai_sdk(again), format!("start start-step {answer} finish-step finish |"));
    for view in [View::default(), progressive] {
        assert_eq!(written(AdkSse::new(view), again), format!("start {answer} finish |"));
        assert_eq!(written(AdkLive::new(view), again), format!("start {answer} finish |"));
    }
    let text = "opened, said u1, turn, step, text, words, ended";
    assert_eq!(written(AdkSse::new(progressive), text), format!("start {answer} finish |"));
    assert_eq!(written(AdkLive::new(progressive), text), format!("start {answer} finish |"));
    // The call of the step before stays, also for who comes later and gets no fact of the abandoned step.
    let before = "opened, said u1, turn, step, writing look, called look, step ended, started look, ran look";
    let shown = "start start-step tool-input-start tool-input-available tool-output-available finish-step start-step";
    assert_eq!(ai_sdk(&format!("{before}, {REST}")), format!("{shown} {answer} finish-step finish |"));
}

/// A turn of a live connection: no client sees a call before it begins, so a client of another profile that joins later
/// gets each with what happens to it.
#[test]
fn a_turn_of_a_live_connection_over_sse() {
    let begun = "opened, said u1, turn one by one, step, called look, called pay, step ended, started look";
    let look = "start tool-input-start tool-input-available";
    assert_eq!(adk_sse(begun), look);
    let asked = format!("{begun}, ran look, asked pay");
    let pay = "tool-input-start tool-input-available tool-approval-request";
    assert_eq!(adk_sse(&asked), format!("{look} tool-output-available {pay} finish |"));
}

const EDITED: &str = "opened, said u1, turn, step, writing pay, called pay, step ended, asked pay, edited pay, started pay, ran pay, \
     step, step ended, ended";

/// The client has the model's input. It gets the other one directly before the outcome, and before any step.
#[test]
fn an_edited_input() {
    let rest = "start tool-input-available tool-output-available start-step finish-step finish |";
    assert_eq!(ai_sdk(EDITED), format!("{} {rest}", ai_sdk(HELD)));
    assert_eq!(adk_sse(EDITED), format!("{} start tool-input-available tool-output-available finish |", adk_sse(HELD)));
    // A step stands between, so it can't be announced again.
    assert_eq!(adk_live(EDITED), format!("{} data-holdpoint-input tool-output-available finish |", adk_live(HELD)));
}

fn inputs(written: &[Event]) -> Vec<serde_json::Value> {
    let chunks = written.iter().filter_map(|event| match event.clone().into_chunks()? {
        Chunks::One(chunk) => serde_json::to_value(chunk).ok(),
        Chunks::Run(run) => Some(serde_json::json!({"inputTextDelta": run.pieces.text()})),
    });
    let input = |chunk: serde_json::Value| {
        let input = chunk.get("input").or_else(|| chunk["data"].get("input")).cloned();
        input.or_else(|| chunk.get("inputTextDelta").and_then(|text| serde_json::from_str(text.as_str()?).ok()))
    };
    chunks.filter_map(input).collect()
}

/// What is shown last is what ran. A replay shows only that.
#[test]
fn a_replay_shows_the_edited_input_only() {
    use serde_json::json;
    let facts = facts(EDITED);
    let projections: [(&str, Box<dyn Projection>); 3] = [
        ("ai-sdk", Box::new(AiSdk::new(View { profile: Profile::AiSdk, is_resubmit: true, ..View::default() }))),
        ("adk sse", Box::new(AdkSse::new(View::default()))),
        ("adk live", Box::new(AdkLive::new(View::default()))),
    ];
    for (name, mut projection) in projections {
        let (mut replay, mut out, mut replayed) = (projection.fresh(), Vec::new(), Vec::new());
        facts.iter().for_each(|fact| projection.apply(fact, &mut out));
        assert_eq!(inputs(&out), [json!({"n": 1}), json!({"n": 2})], "{name}");
        replay.set_past(Past::of(&facts));
        facts.iter().for_each(|fact| replay.apply(fact, &mut replayed));
        assert_eq!(inputs(&replayed), [json!({"n": 2})], "{name}: {}", short(&replayed));
    }
}

/// Another call of the step still runs, so the response is open: announced again, the client would take it for another
/// call.
#[test]
fn an_input_that_is_edited_in_the_response_that_shows_it() {
    let list = "opened, said u1, turn, step, writing pay, called pay, writing look, called look, step ended, asked pay, started look, \
         edited pay, started pay, ran pay, ran look, step, step ended, ended";
    let expected = "start start-step tool-input-start tool-input-available tool-input-start tool-input-available \
         data-holdpoint-input tool-output-available tool-output-available finish-step start-step finish-step finish |";
    assert_eq!(ai_sdk(list), expected);
}
