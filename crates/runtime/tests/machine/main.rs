//! The turn machine under random models, random people, random deadlines, and crashes after any fact.
//!
//! Whatever happens: exactly one outcome a call; a server tool starts at most once; nothing runs without the approval that it needs; every
//! turn ends; recovery loses nothing; whatever a client is shown of it breaks no rule; and every history that is stored is valid for the
//! SDK's own `validateUIMessages`.

mod partial;
mod stored;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use holdpoint_protocol::{
    check::{Options, Profile, StreamChecker, Violation},
    chunk::{Chunk, Chunks},
    ids::{GrantId, ToolCallId},
    request::Verdict,
};
use holdpoint_runtime::{
    GONE,
    chat::Chat,
    fact::{CallOrder, Caller, Fact, Outcome},
    gone_chunks,
    grants::{Coverage, GrantTerms, JsonDigest},
    model::ModelMessage,
    tool::BUDGET_TOOL,
    wire::{
        AdkLive, AdkSse, AiSdk, Event, PlannedTurn, Projection, Response, Resume, View, conversation, earlier, history,
    },
};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::Value;
use world::{Act, BUDGET, World, act, act_with_grants, shown};

fn check_facts(world: &World) -> Result<(), TestCaseError> {
    let facts = &world.facts;
    check_budget(facts, &world.state)?;
    let abandoned: Vec<Arc<Fact>> = shown(facts);
    for (id, call) in world.state.calls.iter() {
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
        prop_assert!(
            started <= 1 || ["again", BUDGET_TOOL].contains(&&*call.name),
            "{:?} was started {} times",
            call,
            started
        );
        let asks = ["pay", "slow", "locate", "wire", BUDGET_TOOL].contains(&&*call.name);
        let approved = facts
            .iter()
            .any(|fact| matches!(&**fact, Fact::Decided { call, verdict, .. } if call == id && verdict.is_approval()));
        let granted = world::uses(facts).filter(|(call, ..)| *call == id).count();
        prop_assert!(started == 0 || !asks || approved || granted > 0, "{:?} ran without its approval", call);
        prop_assert!(
            granted == 0 || granted == 1 && call.request.is_none(),
            "{:?} was granted {} times",
            call,
            granted
        );
        if call.name == "wire" {
            check_votes(facts, id, started > 0)?;
        }
    }
    for (approval, verdict) in &world.acknowledged {
        let id = &world.state.approvals[approval];
        let call = world.call(id);
        // An edit that changes nothing is an approval. What runs is compared below.
        let is_plain = matches!(verdict, Verdict::Approve { .. }) && call.is_decided_as(&Verdict::APPROVE);
        prop_assert!(
            call.is_decided_as(verdict) || is_plain,
            "the decision on {} was acknowledged and lost: {:?}, {:?}",
            approval,
            call.decision,
            verdict
        );
        if let Verdict::Approve { input: Some(input) } = verdict {
            prop_assert_eq!(&call.input, input, "what runs is what the decision showed");
        }
        let is_started = facts.iter().any(|fact| matches!(&**fact, Fact::Started { call: of, .. } if of == id));
        let may_start = matches!(verdict, Verdict::Approve { .. });
        prop_assert!(may_start || !is_started, "{:?} was started in spite of {:?}", id, verdict);
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

/// A revoked, used-up or expired grant approves nothing, a grant covers what it says, and nobody makes one for what they
/// could not decide alone.
/// Every step was within the budget, or somebody had let it go on.
fn check_budget(facts: &[Arc<Fact>], state: &Chat) -> Result<(), TestCaseError> {
    let (mut turn, mut chat) = (0, 0);
    for (at, fact) in facts.iter().enumerate() {
        match &**fact {
            Fact::TurnStarted { .. } => turn = 0,
            Fact::StepEnded { usage, .. } => (turn, chat) = (turn + usage.total(), chat + usage.total()),
            Fact::Settled { call, outcome: Outcome::Output(_), .. } => {
                let asked = state.calls.get(call).filter(|call| call.by == Caller::Budget);
                if let Some(asked) = asked {
                    turn = 0;
                    chat = if asked.input["scope"] == "chat" { 0 } else { chat };
                }
            }
            Fact::StepStarted => {
                let asks =
                    matches!(facts.get(at + 2).map(|fact| &**fact), Some(Fact::Called { by: Caller::Budget, .. }));
                let is_within = BUDGET.turn.is_none_or(|limit| turn < limit.get())
                    && BUDGET.chat.is_none_or(|limit| chat < limit.get());
                prop_assert_ne!(
                    asks,
                    is_within,
                    "after {} facts: {} tokens of the turn, {} of the chat",
                    at,
                    turn,
                    chat
                );
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_grants(world: &World) -> Result<(), TestCaseError> {
    let mut grants: BTreeMap<&GrantId, (&str, &GrantTerms, u32)> = BTreeMap::new();
    let mut inputs: BTreeMap<&ToolCallId, &Value> = BTreeMap::new();
    for (at, fact) in world.facts.iter().enumerate() {
        match &**fact {
            Fact::Called { call, input, .. } => _ = inputs.insert(call, input),
            Fact::Decided { call, verdict, .. } => inputs.extend(verdict.edited_input().map(|input| (call, input))),
            Fact::Granted { call, grant, terms, by, .. } => {
                let name = world.call(call).name.as_str();
                prop_assert_eq!(by.as_str(), "local", "{} was remembered by {:?}", name, by);
                prop_assert!(name != "wire", "a quorum makes no grants");
                if let Coverage::Input(digest) = &terms.covers {
                    prop_assert_eq!(Some(*digest), JsonDigest::of(inputs[call]), "of the input that was approved");
                }
                prop_assert!(grants.insert(grant, (name, terms, 0)).is_none(), "{:?} was made twice", grant);
            }
            Fact::Used { call, grant, at: time, .. } => {
                let Some((name, terms, used)) = grants.get_mut(grant) else {
                    return Err(TestCaseError::fail(format!("{grant:?} was used and never made")));
                };
                *used += 1;
                prop_assert_eq!(world.call(call).name.as_str(), *name, "a grant for another tool");
                prop_assert!(terms.uses.is_none_or(|uses| *used <= uses), "{:?} was used {} times", terms, used);
                prop_assert!(terms.until.is_none_or(|until| *time < until), "{:?} had expired at {:?}", terms, time);
                let revoked = world.revoked.get(grant);
                prop_assert!(revoked.is_none_or(|revoked| at < *revoked), "{:?} was used after its revocation", grant);
                let is_covered = match &terms.covers {
                    Coverage::Input(digest) => JsonDigest::of(inputs[call]) == Some(*digest),
                    Coverage::Tool => true,
                    Coverage::Rule(_) => inputs[call]["n"].as_i64().is_some_and(|n| n < 3),
                };
                prop_assert!(is_covered, "{:?} does not cover {:?}", terms, inputs[call]);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whoever is not named never counts, the owner does not either, and nothing starts below the quorum.
fn check_votes(facts: &[Arc<Fact>], id: &ToolCallId, is_started: bool) -> Result<(), TestCaseError> {
    let (mut voters, mut is_escalated, mut has_started) = (BTreeSet::new(), false, false);
    for fact in facts {
        let (by, approved) = match &**fact {
            Fact::Escalated { call, .. } if call == id => {
                prop_assert!(!is_escalated, "it escalates once");
                is_escalated = true;
                continue;
            }
            Fact::Started { call, .. } if call == id => {
                prop_assert!(voters.len() >= 2, "started with the approval of {:?}", voters);
                has_started = true;
                continue;
            }
            Fact::Voted { call, by, .. } if call == id => (by, true),
            Fact::Decided { call, by, verdict, .. } if call == id => (by, verdict.is_approval()),
            _ => continue,
        };
        let named = if is_escalated { &world::WIRERS.1[..] } else { &world::WIRERS.0[..] };
        prop_assert!(named.contains(&by.as_str()), "{:?} decided", by);
        prop_assert!(!approved || voters.insert(by.clone()), "{:?} counted twice", by);
    }
    prop_assert_eq!(has_started, is_started);
    Ok(())
}

/// The format of a stock client.
fn ai_sdk() -> View {
    View { profile: holdpoint_runtime::wire::Profile::AiSdk, ..View::default() }
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
            match written.into_chunks() {
                Some(chunks) => chunks.for_each(|chunk| {
                    let text = serde_json::to_string(&chunk).expect("json");
                    checker.payload(lines.len() as u64 + 1, text.as_bytes());
                    lines.push(text);
                }),
                None => {
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
    let (mut state, mut projection) = (Chat::default(), AiSdk::new(view));
    let mut checker = StreamChecker::new(Options { profile: Profile::AiSdk, progressive_text: false });
    let (mut out, mut lines, mut segment) = (Vec::new(), Vec::new(), Vec::new());
    for fact in shown(facts) {
        state.apply(&fact);
        projection.apply(&fact, &mut out);
        for written in out.drain(..) {
            if let Some(chunks) = written.into_chunks() {
                chunks.for_each(|chunk| match chunk {
                    Chunk::Start(_) if !segment.is_empty() => {}
                    chunk => segment.push(chunk),
                });
                continue;
            }
            let asks = segment.iter().any(|chunk| matches!(chunk, Chunk::ToolApprovalRequest(_)));
            if !asks && state.open_calls().any(|(_, call)| call.is_asked()) {
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
    let mut state = Chat::default();
    known.iter().for_each(|fact| state.apply(fact));
    let Some(turn) = &state.turn else {
        prop_assert!(Response::resume(&known, ai_sdk(), Resume::Message).is_none());
        return Ok(());
    };
    let is_in_history = history(&known).iter().any(|message| message.id == turn.message);
    let Some(mut response) = Response::resume(&known, ai_sdk(), Resume::Message) else {
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
    let mut gone: Vec<Chunks> = Vec::new();
    if response.is_cut_off() {
        // A part of an abandoned step was shown. A transport ends such a response like that of a chat that has moved.
        gone = gone_chunks(GONE, true).into_iter().flatten().map(Chunks::One).collect();
    }
    let mut checker = StreamChecker::new(Options { profile: Profile::AiSdk, progressive_text: false });
    let mut lines = Vec::new();
    for chunks in written.into_iter().filter_map(Event::into_chunks).chain(gone) {
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
        let (mut written, mut gone) = (Vec::new(), Vec::new());
        let mut flow = ControlFlow::Break(());
        if let Some(about) = &plan.earlier {
            written = earlier(about, plan, holdpoint_runtime::wire::Profile::AiSdk, "dice");
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
            if response.is_cut_off() {
                gone = gone_chunks(GONE, true).into_iter().flatten().map(Chunks::One).collect();
            }
        }
        let mut chunks = Vec::new();
        let written = written.into_iter().filter_map(Event::into_chunks).chain(gone);
        written.for_each(|written| written.for_each(|chunk| chunks.push(chunk)));
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
        check_grants(&world)?;
        check_projections(&world)?;
        check_responses(&world)?;
        drop(history(&shown(&world.facts)));
    }

    #[test]
    fn grants_approve_what_they_say_and_nothing_else(
        acts in prop::collection::vec(act_with_grants(), 20..80),
        remember in any::<u16>(),
        one_by_one in any::<bool>(),
    ) {
        let mut world = World::new(if one_by_one { CallOrder::OneByOne } else { CallOrder::Together });
        world.say();
        let remembered = Act::Decide { which: 3, verdict: 1, remember: usize::from(remember) * 2 };
        let first = [Act::Model { kind: 5, tool: 0, n: Some(1) }, Act::Model { kind: 7, tool: 0, n: None }, remembered];
        for act in first.iter().chain(&acts) {
            world.act(act);
            if world.state.turn.is_none() {
                world.say();
            }
        }
        world.finish()?;
        check_facts(&world)?;
        check_grants(&world)?;
        check_projections(&world)?;
        check_responses(&world)?;
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
        // What was revoked after that was not there yet.
        world.revoked.retain(|_, at| *at <= cut);
        world.acknowledged.clear();
        world.crash();
        if world.state.turn.is_none() {
            world.say();
        }
        world.finish()?;
        check_facts(&world)?;
        check_grants(&world)?;
        check_projections(&world)?;
    }
}
