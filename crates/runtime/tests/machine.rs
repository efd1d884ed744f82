//! The turn machine under random models, random people, random deadlines, and crashes after any fact.
//!
//! Whatever happens: exactly one outcome a call; a server tool starts at most once; nothing runs without the approval that it needs; every
//! turn ends; recovery loses nothing; and whatever a client is shown of it breaks no rule.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::{
    check::{Options, Profile, StreamChecker, Violation},
    chunk::{Chunk, FinishReason},
    ids::{ApprovalId, ToolCallId},
    request::{AckStatus, ChatRequest},
};
use holdpoint_runtime::{
    clock::Timestamp,
    fact::{CallOrder, Fact, NextTurn},
    model::{ModelEvent, ModelMessage, Usage},
    project::{AdkLive, AdkSse, AiSdk, Flow, Follower, Out, Projection, Resume, View, conversation, history},
    subject::Subject,
    tool::{Approval, Execution, Question, Returns, Tool, ToolBuilder, ToolSet},
    turn::{Answered, ChatState, Env, FrontendResult, Input, Phase, Reply, Stage, Submit, step},
};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};

fn tools() -> ToolSet {
    let server = |name: &str| {
        Tool::server(name, "for tests", async |input: Value, _| Ok(input))
            .schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
    };
    let browser = |name: &str, execution| {
        ToolBuilder::browser::<Value>(name, "for tests", execution)
            .schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
    };
    let build = |builder: ToolBuilder| builder.build().expect("a valid tool");
    [
        build(server("pay").approval(Approval::Always)),
        build(server("look")),
        build(server("again").idempotent()),
        build(server("slow").approval(Approval::Always).approval_timeout(None)),
        build(browser("locate", Execution::Frontend).approval(Approval::Always)),
        build(browser("open", Execution::Frontend).returns(Returns::Ack)),
        build(browser("hand", Execution::Delegate)),
    ]
    .into_iter()
    .collect()
}

const NAMES: [&str; 8] = ["pay", "look", "again", "slow", "locate", "open", "hand", "nonsense"];

/// What can happen next. Which of the things that are possible it is, the world decides from the numbers.
#[derive(Debug, Clone)]
enum Act {
    Model { kind: u8, tool: usize, n: Option<i64> },
    ToolDone { which: usize, fails: bool },
    Decide { which: usize, approved: bool },
    Result { which: usize, status: u8 },
    Time { seconds: u64, is_watched: bool },
    Resend { approved: bool },
    Message,
    Edit { which: usize },
    Regenerate,
    Ask { which: usize },
    Stop,
    GoOn,
    Crash,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        30 => (0..10u8, 0..NAMES.len(), prop::option::of(-5..5i64)).prop_map(|(kind, tool, n)| Act::Model { kind, tool, n }),
        10 => (any::<usize>(), any::<bool>()).prop_map(|(which, fails)| Act::ToolDone { which, fails }),
        10 => (any::<usize>(), any::<bool>()).prop_map(|(which, approved)| Act::Decide { which, approved }),
        6 => (any::<usize>(), 0..3u8).prop_map(|(which, status)| Act::Result { which, status }),
        4 => (1..400u64, any::<bool>()).prop_map(|(seconds, is_watched)| Act::Time { seconds, is_watched }),
        3 => any::<bool>().prop_map(|approved| Act::Resend { approved }),
        1 => Just(Act::Message),
        1 => any::<usize>().prop_map(|which| Act::Edit { which }),
        1 => Just(Act::Regenerate),
        3 => any::<usize>().prop_map(|which| Act::Ask { which }),
        1 => Just(Act::Stop),
        2 => Just(Act::GoOn),
        3 => Just(Act::Crash),
    ]
}

struct World {
    facts: Vec<Arc<Fact>>,
    state: ChatState,
    tools: ToolSet,
    now: Timestamp,
    ids: u64,
    order: CallOrder,
    /// Server tools that run in this life of the server.
    running: Vec<ToolCallId>,
    /// Decisions that were acknowledged.
    acknowledged: Vec<(ApprovalId, bool)>,
    /// Where appends ended: one is written whole or not at all.
    appends: Vec<usize>,
}

impl World {
    fn new(order: CallOrder) -> Self {
        Self {
            facts: Vec::new(),
            state: ChatState::default(),
            tools: tools(),
            now: Timestamp(1_000_000),
            ids: 0,
            order,
            running: Vec::new(),
            acknowledged: Vec::new(),
            appends: Vec::new(),
        }
    }

    fn input(&mut self, input: Input) -> Reply {
        let ids = &mut self.ids;
        let mut new_id = || {
            *ids += 1;
            ids.to_string()
        };
        let mut env =
            Env { now: self.now, tools: &self.tools, model: "dice", max_steps: 6, max_holds: 3, new_id: &mut new_id };
        let (facts, reply) = step(&mut self.state, input, &mut env);
        for fact in facts {
            match &fact {
                Fact::Started { call, .. } if self.state.calls[call].execution != Execution::Frontend => {
                    self.running.push(call.clone());
                }
                Fact::Settled { call, .. } => self.running.retain(|running| running != call),
                _ => {}
            }
            self.facts.push(Arc::new(fact));
        }
        self.appends.push(self.facts.len());
        reply
    }

    fn submit(&mut self, body: Value) -> Reply {
        let request: ChatRequest = serde_json::from_value(body).expect("a valid body");
        let next = NextTurn { order: self.order, holds_text: true, is_resubmit: false };
        self.input(Input::Submit(Box::new(Submit { request, subject: Subject::local(), next })))
    }

    fn say(&mut self) -> Reply {
        self.ids += 1;
        let id = format!("u{}", self.ids);
        self.submit(json!({"messages": [{"id": id, "role": "user", "parts": [{"type": "text", "text": "go"}]}]}))
    }

    fn asked(&self) -> Vec<ApprovalId> {
        let calls = self.state.open_calls().filter(|(_, call)| call.stage == Stage::Asked);
        calls.filter_map(|(_, call)| Some(call.question.as_ref()?.approval.clone())).collect()
    }

    fn in_browser(&self) -> Vec<ToolCallId> {
        let calls = self.state.open_calls().filter(|(_, call)| matches!(call.stage, Stage::Running { .. }));
        calls.filter(|(_, call)| call.execution == Execution::Frontend).map(|(id, _)| id.clone()).collect()
    }

    fn is_model_writing(&self) -> bool {
        self.state.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Model)
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Model { kind, tool, n } if self.is_model_writing() => {
                let name = NAMES[*tool].to_owned();
                let event = match kind {
                    0 => ModelEvent::TextDelta("hello ".into()),
                    1 => ModelEvent::ReasoningDelta("hm ".into()),
                    2 => ModelEvent::TextStart,
                    3 => ModelEvent::TextEnd,
                    4 => ModelEvent::InputStart { id: "x".into(), name },
                    5 | 6 => {
                        let input = match n {
                            Some(n) if *n < -3 => Err("{\"n\":".to_owned()),
                            Some(n) if *n < -1 => Ok(json!({"n": "many"})),
                            n => Ok(json!({"n": n.unwrap_or(1)})),
                        };
                        ModelEvent::Call { id: "x".into(), name, input }
                    }
                    7 | 8 => ModelEvent::Finish {
                        usage: Usage { prompt_tokens: 3, completion_tokens: 4 },
                        reason: FinishReason::Stop,
                        version: None,
                    },
                    _ => {
                        self.input(Input::ModelFailed("The model failed.".into()));
                        return;
                    }
                };
                self.input(Input::Model(event));
            }
            Act::ToolDone { which, fails } if !self.running.is_empty() => {
                let call = self.running[which % self.running.len()].clone();
                let outcome = if *fails { Err("no luck".to_owned()) } else { Ok(json!({"ok": which % 5})) };
                self.input(Input::ToolDone { call, outcome });
            }
            Act::Ask { which } if !self.running.is_empty() => {
                let by = self.running[which % self.running.len()].clone();
                let question =
                    Question { message: "Really?".into(), schema: json!({}), timeout: Duration::from_secs(60) };
                self.input(Input::Ask { by, question });
            }
            Act::Decide { which, approved } => {
                let asked = self.asked();
                // Now and then somebody answers what was answered before, or differently.
                let known: Vec<ApprovalId> = self.state.approvals.keys().cloned().collect();
                let from = if asked.is_empty() || which % 4 == 0 { &known } else { &asked };
                let Some(approval) = from.get(which % from.len().max(1)).cloned() else { return };
                let reply = self.input(Input::Decide {
                    approval: approval.clone(),
                    approved: *approved,
                    reason: None,
                    by: Subject::local(),
                });
                if reply == Reply::Answered(Answered::Taken) {
                    self.acknowledged.push((approval, *approved));
                }
            }
            Act::Result { which, status } => {
                let open = self.in_browser();
                let all: Vec<ToolCallId> = self.state.calls.keys().cloned().collect();
                let from = if open.is_empty() || which % 4 == 0 { &all } else { &open };
                let Some(call) = from.get(which % from.len().max(1)).cloned() else { return };
                let status = [AckStatus::Success, AckStatus::Failed, AckStatus::Timeout][usize::from(*status)];
                let result = FrontendResult { status, output: Some(json!({"x": 1})), error_text: None, ack: None };
                self.input(Input::Result { call, result });
            }
            Act::Time { seconds, is_watched } => self.pass(*seconds, *is_watched),
            Act::Resend { approved } => self.resend(*approved),
            Act::Message => drop(self.say()),
            Act::Edit { which } => {
                let users: Vec<_> = self
                    .state
                    .messages
                    .iter()
                    .filter(|(_, role, _)| *role == holdpoint_protocol::message::Role::User)
                    .collect();
                if let Some((id, ..)) = users.get(which % users.len().max(1)) {
                    let id = id.to_string();
                    self.submit(json!({"messageId": id, "messages": [{"id": id, "role": "user", "parts": [{"type": "text", "text": "edited"}]}]}));
                }
            }
            Act::Regenerate => drop(self.submit(json!({"trigger": "regenerate-message", "messages": []}))),
            Act::Stop => drop(self.input(Input::Stop { reason: None })),
            Act::GoOn => drop(self.input(Input::GoOn)),
            Act::Crash => self.crash(),
            _ => {}
        }
    }

    fn pass(&mut self, seconds: u64, is_watched: bool) {
        self.now = self.now.after(Duration::from_secs(seconds));
        let due: Vec<ToolCallId> = self
            .state
            .open_calls()
            .filter(|(_, call)| call.deadline().is_some_and(|deadline| deadline <= self.now))
            .map(|(id, _)| id.clone())
            .collect();
        for call in due {
            self.input(Input::Expired { call, is_watched });
        }
    }

    /// A client sends its whole history back, with what it thinks it has answered.
    fn resend(&mut self, approved: bool) {
        let mut messages = serde_json::to_value(history(&self.facts)).expect("json");
        let Some(last) = messages.as_array_mut().and_then(|messages| messages.last_mut()) else { return };
        if last["role"] != "assistant" {
            return;
        }
        for part in last["parts"].as_array_mut().into_iter().flatten() {
            if part["state"] == "approval-requested" {
                part["state"] = json!("approval-responded");
                part["approval"]["approved"] = json!(approved);
            }
        }
        self.submit(json!({"messages": messages}));
    }

    /// Only the log survives.
    fn crash(&mut self) {
        let facts: Vec<Fact> = self
            .facts
            .iter()
            .map(|fact| {
                serde_json::from_str(&serde_json::to_string(&**fact).expect("json")).expect("a fact can be read back")
            })
            .collect();
        self.state = ChatState::default();
        facts.iter().for_each(|fact| self.state.apply(fact));
        self.running.clear();
        self.input(Input::Recover);
    }

    /// Everybody does what is asked of them until nothing is left to do.
    fn finish(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..200 {
            if self.state.turn.is_none() {
                return Ok(());
            }
            if self.is_model_writing() {
                let usage = Usage::default();
                self.input(Input::Model(ModelEvent::Finish { usage, reason: FinishReason::Stop, version: None }));
            } else if let Some(call) = self.running.first().cloned() {
                self.input(Input::ToolDone { call, outcome: Ok(json!(1)) });
            } else if let Some(approval) = self.asked().first().cloned() {
                self.input(Input::Decide { approval, approved: true, reason: None, by: Subject::local() });
            } else if let Some(call) = self.in_browser().first().cloned() {
                let result = FrontendResult { status: AckStatus::Success, output: None, error_text: None, ack: None };
                self.input(Input::Result { call, result });
            } else {
                self.input(Input::GoOn);
            }
        }
        Err(TestCaseError::fail("the turn does not end"))
    }
}

/// What a feed shows: a step that was taken back is not in it.
fn shown(facts: &[Arc<Fact>]) -> Vec<Arc<Fact>> {
    let mut shown: Vec<Arc<Fact>> = Vec::new();
    for fact in facts {
        if **fact == Fact::StepAbandoned {
            let step = shown.iter().rposition(|fact| **fact == Fact::StepStarted).unwrap_or(shown.len());
            shown[step..].iter_mut().for_each(|fact| *fact = Arc::new(Fact::Nothing));
        }
        shown.push(Arc::clone(fact));
    }
    shown
}

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
        prop_assert!(Follower::resume(&known, View::default(), Resume::Message).is_none());
        return Ok(());
    };
    let is_in_history = history(&known).iter().any(|message| message.id == turn.message);
    let Some(mut follower) = Follower::resume(&known, View::default(), Resume::Message) else {
        prop_assert!(is_in_history, "neither resumed nor in the history: {:#?}", known);
        return Ok(());
    };
    prop_assert!(!is_in_history, "resumed, and in the history too (rule R4): {:#?}", known);
    let mut written = Vec::new();
    let mut flow = follower.take(known.iter().map(|fact| &**fact), &mut written);
    for fact in &facts[cut..] {
        if flow == Flow::End {
            break;
        }
        flow = follower.take([&**fact], &mut written);
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
    if flow == Flow::End {
        checker.done(lines.len() as u64 + 1);
        checker.end();
    }
    let found = checker.take_violations();
    prop_assert!(found.is_empty(), "resume: {:#?}\n{}\n{:#?}", found, numbered(&lines), facts);
    Ok(())
}

fn numbered(lines: &[String]) -> String {
    lines.iter().enumerate().map(|(at, line)| format!("{} {line}\n", at + 1)).collect()
}

/// How many cases: a short form by default, and the long one by `HOLDPOINT_MACHINE_CASES=20000 cargo test -p holdpoint-runtime --test machine`.
fn cases() -> u32 {
    std::env::var("HOLDPOINT_MACHINE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1500)
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
