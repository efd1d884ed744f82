//! The turn machine under random models, random people, random deadlines, and crashes after any fact.
//!
//! Whatever happens: exactly one outcome a call; a server tool starts at most once; nothing runs without the approval that it needs; every
//! turn ends; recovery loses nothing; whatever a client is shown of it breaks no rule; and every history that is stored is valid for the
//! SDK's own `validateUIMessages`.

mod partial;
mod stored;
mod world;

use std::ops::ControlFlow;
use std::sync::Arc;

use holdpoint_protocol::{
    check::{Options, Profile, StreamChecker, Violation},
    chunk::Chunk,
    ids::ToolCallId,
};
use holdpoint_runtime::{
    internals::{
        fact::{CallOrder, Fact},
        project::{AdkLive, AdkSse, AiSdk, Out, Projection, Response, Resume, View, conversation, earlier, history},
        turn::{ChatState, PlannedTurn, Stage},
    },
    model::ModelMessage,
};
use proptest::{prelude::*, test_runner::TestCaseError};
use world::{Act, World, act, shown};

fn check_facts(world: &World) -> Result<(), TestCaseError> {
    let facts = &world.facts;
    let abandoned: Vec<Arc<Fact>> = shown(facts);
    for (id, call) in &world.state.calls {
        let of =
            |wanted: fn(&Fact) -> Option<&ToolCallId>| facts.iter().filter(|fact| wanted(fact) == Some(id)).count();
        let settled = of(|fact| match fact {
            Fact::Settled { call, .. } | Fact::Invalid { call, .. } => Some(call),
            _ => None,
        });
        prop_assert_eq!(settled, 1, "outcomes of {:?}: {:?}", id, call);
        let started = of(|fact| match fact {
            Fact::Started { call, .. } => Some(call),
            _ => None,
        });
        prop_assert!(started <= 1 || call.name == "again", "{:?} was started {} times", call, started);
        let asks = ["pay", "slow", "locate"].contains(&&*call.name);
        let approved =
            facts.iter().any(|fact| matches!(&**fact, Fact::Decided { call, approved: true, .. } if call == id));
        prop_assert!(started == 0 || !asks || approved, "{:?} ran without its approval", call);
    }
    for (approval, approved) in &world.acknowledged {
        let call = &world.state.approvals[approval];
        let kept = facts.iter().any(|fact| matches!(&**fact, Fact::Decided { call: of, approved: answer, .. } if of == call && answer == approved));
        prop_assert!(kept, "the decision {approved} on {approval} was acknowledged and lost");
    }
    // Every call in what the model is told has its result.
    let messages = conversation(&abandoned);
    for (at, message) in messages.iter().enumerate() {
        if let ModelMessage::Assistant { calls, .. } = message
            && !calls.is_empty()
        {
            let Some(ModelMessage::Results(results)) = messages.get(at + 1) else {
                return Err(TestCaseError::fail("calls without results"));
            };
            let ids = |id: &ToolCallId| id.clone();
            let (called, answered): (Vec<_>, Vec<_>) = (
                calls.iter().map(|call| ids(&call.id)).collect(),
                results.iter().map(|result| ids(&result.id)).collect(),
            );
            prop_assert_eq!(called, answered);
        }
    }
    Ok(())
}

fn violations(
    profile: Profile,
    projection: &mut dyn Projection,
    facts: &[Arc<Fact>],
    progressive_text: bool,
) -> (Vec<Violation>, Vec<String>) {
    let mut checker = StreamChecker::new(Options { profile, progressive_text });
    let (mut out, mut lines) = (Vec::new(), Vec::new());
    for fact in shown(facts) {
        projection.apply(&fact, &mut out);
        for written in out.drain(..) {
            match written {
                Out::Chunks(chunks) => chunks.for_each(|chunk| {
                    let text = serde_json::to_string(&chunk).expect("json");
                    checker.payload(lines.len() as u64 + 1, text.as_bytes());
                    lines.push(text);
                }),
                Out::End => {
                    checker.done(lines.len() as u64 + 1);
                    lines.push("[DONE]".to_owned());
                }
            }
        }
    }
    checker.end();
    (checker.take_violations(), lines)
}

/// In the ai-sdk profile. A stock client goes on when all questions of a message are answered, and that is what the checker goes by: a
/// segment between the first answer and the last (from the inbox, or a client of somebody's own) is read as a part of the next.
fn stock_violations(facts: &[Arc<Fact>], view: View) -> (Vec<Violation>, Vec<String>) {
    let (mut state, mut projection) = (ChatState::default(), AiSdk::new(view));
    let mut checker = StreamChecker::new(Options { profile: Profile::AiSdk, progressive_text: false });
    let (mut out, mut lines, mut segment) = (Vec::new(), Vec::new(), Vec::new());
    for fact in shown(facts) {
        state.apply(&fact);
        projection.apply(&fact, &mut out);
        for written in out.drain(..) {
            if let Out::Chunks(chunks) = written {
                chunks.for_each(|chunk| match chunk {
                    Chunk::Start(_) if !segment.is_empty() => {}
                    chunk => segment.push(chunk),
                });
                continue;
            }
            let asks = segment.iter().any(|chunk| matches!(chunk, Chunk::ToolApprovalRequest(_)));
            if !asks && state.open_calls().any(|(_, call)| call.stage == Stage::Asked) {
                segment.pop();
                continue;
            }
            for chunk in segment.drain(..) {
                let text = serde_json::to_string(&chunk).expect("json");
                checker.payload(lines.len() as u64 + 1, text.as_bytes());
                lines.push(text);
            }
            checker.done(lines.len() as u64 + 1);
            lines.push("[DONE]".to_owned());
        }
    }
    checker.end();
    (checker.take_violations(), lines)
}

fn check_projections(world: &World) -> Result<(), TestCaseError> {
    for is_progressive in [false, true] {
        for is_resubmit in [false, true] {
            let mut sse = AdkSse::new(View { is_progressive, is_resubmit, ..View::default() });
            let (found, lines) = violations(Profile::AdkSse, &mut sse, &world.facts, is_progressive);
            prop_assert!(found.is_empty(), "SSE: {:#?}\n{}\n{:#?}", found, numbered(&lines), world.facts);
        }
        let mut live = AdkLive::new(View { is_progressive, ..View::default() });
        let (found, lines) = violations(Profile::AdkLive, &mut live, &world.facts, is_progressive);
        prop_assert!(found.is_empty(), "live: {:#?}\n{}\n{:#?}", found, numbered(&lines), world.facts);
    }
    for is_resubmit in [false, true] {
        let (found, lines) = stock_violations(&world.facts, View { is_resubmit, ..View::default() });
        prop_assert!(found.is_empty(), "ai-sdk: {:#?}\n{}\n{:#?}", found, numbered(&lines), world.facts);
    }
    Ok(())
}

/// Whoever comes back after any append gets the whole message, and no settled call that would run again; or nothing, and then the
/// history has it.
fn check_resume(world: &World, cut: usize) -> Result<(), TestCaseError> {
    let facts = shown(&world.facts);
    let known = shown(&world.facts[..cut]);
    let mut state = ChatState::default();
    known.iter().for_each(|fact| state.apply(fact));
    let Some(turn) = &state.turn else {
        prop_assert!(Response::resume(&known, View::default(), Resume::Message).is_none());
        return Ok(());
    };
    let is_in_history = history(&known).iter().any(|message| message.id == turn.message);
    let Some(mut response) = Response::resume(&known, View::default(), Resume::Message) else {
        prop_assert!(is_in_history, "neither resumed nor in the history: {:#?}", known);
        return Ok(());
    };
    // What is resumed while calls of this turn still run for a newer message is the turn of that message. This one is in the history, or
    // was edited away.
    let is_next = !state.next.is_empty();
    prop_assert!(!is_in_history || is_next, "resumed, and in the history too (rule R4): {:#?}", known);
    let mut written = Vec::new();
    let mut flow = response.take(known.iter().map(|fact| &**fact), &mut written);
    for fact in &facts[cut..] {
        if flow == ControlFlow::Break(()) {
            break;
        }
        flow = response.take([&**fact], &mut written);
    }
    let mut checker = StreamChecker::new(Options { profile: Profile::AiSdk, progressive_text: false });
    let mut lines = Vec::new();
    for chunks in written {
        chunks.for_each(|chunk| {
            if let Chunk::ToolInputAvailable(input) = &chunk {
                let is_settled = state.calls.get(&input.tool_call_id).is_some_and(|call| call.is_settled());
                assert!(!is_settled, "rule T8: {chunk:?}");
            }
            let text = serde_json::to_string(&chunk).expect("json");
            checker.payload(lines.len() as u64 + 1, text.as_bytes());
            lines.push(text);
        });
    }
    if flow == ControlFlow::Break(()) {
        checker.done(lines.len() as u64 + 1);
        checker.end();
    }
    let found = checker.take_violations();
    prop_assert!(found.is_empty(), "resume: {:#?}\n{}\n{:#?}", found, numbered(&lines), facts);
    Ok(())
}

/// Every request gets one response: one `start`, no outcome twice, and an end.
fn check_responses(world: &World) -> Result<(), TestCaseError> {
    let facts = shown(&world.facts);
    for (plan, known) in &world.responses {
        let mut written = Vec::new();
        let mut flow = ControlFlow::Break(());
        if let Some(about) = &plan.earlier {
            written = earlier(about, plan, holdpoint_runtime::internals::project::Profile::AiSdk, "dice");
        } else {
            let mut response = Response::new(Box::new(AiSdk::new(View::default())), plan.clone(), *known);
            let (before, after) = facts.split_at(*known as usize);
            flow = response.take(before.iter().map(|fact| &**fact), &mut written);
            for fact in after {
                if flow == ControlFlow::Break(()) {
                    break;
                }
                flow = response.take([&**fact], &mut written);
            }
        }
        let mut chunks = Vec::new();
        written.into_iter().for_each(|written| written.for_each(|chunk| chunks.push(chunk)));
        let starts = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Start(_))).count();
        prop_assert!(matches!(chunks.first(), Some(Chunk::Start(_))) && starts == 1, "{:?}: {:#?}", plan, chunks);
        prop_assert!(
            flow == ControlFlow::Break(()) && matches!(chunks.last(), Some(Chunk::Finish(_))),
            "{:?}: {:#?}\n{:#?}",
            plan,
            chunks,
            facts
        );
        if plan.turn != PlannedTurn::Continued
            && let Some(Chunk::Start(start)) = chunks.first()
        {
            let of_its_own = facts[plan.from as usize..]
                .iter()
                .any(|fact| matches!(&**fact, Fact::TurnStarted { message, .. } if Some(message) == start.message_id.as_ref()));
            prop_assert!(of_its_own, "a new message gets its own turn only: {:?}: {:#?}", plan, chunks);
        }
        let outcomes: Vec<&ToolCallId> = chunks.iter().filter_map(settled).collect();
        let distinct: std::collections::HashSet<&ToolCallId> = outcomes.iter().copied().collect();
        prop_assert_eq!(distinct.len(), outcomes.len(), "rule T9: {:#?}", chunks);
    }
    Ok(())
}

fn settled(chunk: &Chunk) -> Option<&ToolCallId> {
    match chunk {
        Chunk::ToolOutputAvailable(c) => (c.preliminary != Some(true)).then_some(&c.tool_call_id),
        Chunk::ToolOutputError(c) => Some(&c.tool_call_id),
        Chunk::ToolOutputDenied(c) => Some(&c.tool_call_id),
        Chunk::ToolInputError(c) => Some(&c.tool_call_id),
        _ => None,
    }
}

fn numbered(lines: &[String]) -> String {
    lines.iter().enumerate().map(|(at, line)| format!("{} {line}\n", at + 1)).collect()
}

/// How many cases: a short form by default, and the long one by `HOLDPOINT_MACHINE_CASES=20000 cargo test -p holdpoint-runtime --test machine`.
fn cases() -> u32 {
    std::env::var("HOLDPOINT_MACHINE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens(acts in prop::collection::vec(act(), 0..60), one_by_one in any::<bool>()) {
        let mut world = World::new(if one_by_one { CallOrder::OneByOne } else { CallOrder::Together });
        world.say();
        for act in &acts {
            world.act(act);
            prop_assert_eq!(world.state.len as usize, world.facts.len());
        }
        world.finish()?;
        check_facts(&world)?;
        check_projections(&world)?;
        check_responses(&world)?;
        drop(history(&shown(&world.facts)));
    }

    #[test]
    fn coming_back_after_any_fact(acts in prop::collection::vec(act(), 0..60), one_by_one in any::<bool>(), cut in any::<prop::sample::Index>()) {
        let mut world = World::new(if one_by_one { CallOrder::OneByOne } else { CallOrder::Together });
        world.say();
        for act in acts.iter().filter(|act| !matches!(act, Act::Crash)) {
            world.act(act);
        }
        let cut = world.appends[cut.index(world.appends.len())];
        check_resume(&world, cut)?;
    }

    /// The acts of several turns, and then whatever can be asked for.
    #[test]
    fn from_the_last_turn_on(turns in prop::collection::vec(prop::collection::vec(act(), 0..12), 2..5), one_by_one in any::<bool>()) {
        let mut world = World::new(if one_by_one { CallOrder::OneByOne } else { CallOrder::Together });
        let mut decided = 0;
        for acts in &turns {
            world.say();
            acts.iter().for_each(|act| world.act(act));
            decided += partial::check(&world)?;
            partial::check_conversation(&world)?;
        }
        prop_assert!(decided > 0 || partial::check(&world)? == 0, "a partial state must decide something");
    }

    /// The state after a crash is what the log says, at every place.
    #[test]
    fn a_crash_after_any_fact(acts in prop::collection::vec(act(), 0..40), cut in any::<prop::sample::Index>()) {
        let mut world = World::new(CallOrder::Together);
        world.say();
        for act in &acts {
            world.act(act);
        }
        let cut = world.appends[cut.index(world.appends.len())];
        world.facts.truncate(cut);
        world.acknowledged.clear();
        world.crash();
        if world.state.turn.is_none() {
            world.say();
        }
        world.finish()?;
        check_facts(&world)?;
        check_projections(&world)?;
    }
}
