//! A chat, a model, a server and everybody who has to do with them, played by random acts.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU64,
    sync::Arc,
    time::Duration,
};

use holdpoint_protocol::{
    chunk::FinishReason,
    ids::{ApprovalId, GrantId, ToolCallId},
    request::{AckStatus, ChatRequest, DecisionRequest, Verdict},
};
use holdpoint_runtime::{
    Identity,
    approvers::Approvers,
    call::{Call, Stage},
    chat::{Chat, Phase},
    clock::Timestamp,
    fact::{CallOrder, Fact, NextTurn},
    grants::{GrantMatch, GrantScope, GrantTerms, Remember, UsableGrant},
    identity::Role,
    model::{ModelEvent, Usage},
    tool::{ApprovalPolicy, Budget, Execution, Prompt, Returns, Tool, ToolBuilder, ToolSet, budget_tool},
    turn::{Answered, Env, FrontendResult, Input, Reply, Submit, step},
    wire::{ResponsePlan, history},
};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};

/// The tokens of two steps a turn, and of six a chat.
pub(crate) const BUDGET: Budget = Budget { turn: NonZeroU64::new(14), chat: NonZeroU64::new(42) };

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
        build(server("pay").approval(ApprovalPolicy::Always)),
        build(server("look")),
        build(server("again").idempotent()),
        build(server("slow").approval(ApprovalPolicy::Always).approval_timeout(None)),
        build(browser("locate", Execution::Frontend).approval(ApprovalPolicy::Always)),
        build(browser("open", Execution::Frontend).returns(Returns::Ack)),
        build(browser("hand", Execution::Delegate)),
        build(server("wire").approval(ApprovalPolicy::Always).approvers(wire())),
        budget_tool(),
    ]
    .into_iter()
    .collect()
}

const NAMES: [&str; 9] = ["pay", "look", "again", "slow", "locate", "open", "hand", "wire", "nonsense"];

/// Two of the finance group or dora, not the owner; after a while a director will do too.
fn wire() -> Approvers {
    let approvers =
        Approvers::new(["group:finance", "subject:dora", "self"]).expect("names").excluding_self().quorum(2);
    approvers.escalating(Duration::from_secs(60), ["group:directors"]).expect("names")
}

/// Those whose approval of a `wire` counts, and those whose does after the escalation.
pub(crate) const WIRERS: ([&str; 3], [&str; 4]) = (["bob", "carol", "dora"], ["bob", "carol", "dora", "dick"]);

/// Somebody who decides. The owner of the chat is `local`.
fn decider(which: usize) -> Arc<Identity> {
    let person = |name: &str, groups: &[&str]| {
        Identity::new(name).with_roles([Role::User, Role::Approver]).with_groups(groups.iter().copied())
    };
    Arc::new(match which % 12 {
        0 | 1 => person("bob", &["finance"]),
        2 | 3 => person("carol", &["finance", "sales"]),
        4 => person("dora", &[]),
        5 => person("dick", &["directors"]),
        6 => person("local", &["finance", "directors"]),
        7 => person("mallory", &["sales"]),
        8 => Identity::new("eve").with_groups(["finance"]),
        9 => Identity::new("root").with_roles([Role::Admin]).with_groups(["finance"]),
        _ => Identity::local(),
    })
}

/// What can happen next. Which of the things that are possible it is, the world decides from the numbers.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Model {
        kind: u8,
        tool: usize,
        n: Option<i64>,
    },
    ToolDone {
        which: usize,
        fails: bool,
    },
    Decide {
        which: usize,
        /// Deny, approve, approve another input, answer in the tool's place, or approve an input that does not fit.
        verdict: u8,
        /// What else an approval approves: nothing if it is odd.
        remember: usize,
    },
    Result {
        which: usize,
        status: u8,
    },
    Time {
        seconds: u64,
        is_watched: bool,
    },
    Resend {
        approved: bool,
    },
    Message,
    /// A new message, and answers to what is open in the same request.
    AnswerAndMessage {
        approved: bool,
        is_edit: bool,
    },
    Edit {
        which: usize,
    },
    Regenerate,
    Ask {
        which: usize,
    },
    Progress {
        which: usize,
    },
    Revoke {
        which: usize,
    },
    Stop,
    ResumeIdle,
    Crash,
}

pub(crate) fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        30 => (0..10u8, 0..NAMES.len(), prop::option::of(-5..5i64)).prop_map(|(kind, tool, n)| Act::Model { kind, tool, n }),
        10 => (any::<usize>(), any::<bool>()).prop_map(|(which, fails)| Act::ToolDone { which, fails }),
        10 => (any::<usize>(), 0..5u8, any::<usize>()).prop_map(|(which, verdict, remember)| Act::Decide { which, verdict, remember }),
        6 => (any::<usize>(), 0..3u8).prop_map(|(which, status)| Act::Result { which, status }),
        4 => (1..400u64, any::<bool>()).prop_map(|(seconds, is_watched)| Act::Time { seconds, is_watched }),
        3 => any::<bool>().prop_map(|approved| Act::Resend { approved }),
        1 => Just(Act::Message),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(approved, is_edit)| Act::AnswerAndMessage { approved, is_edit }),
        1 => any::<usize>().prop_map(|which| Act::Edit { which }),
        1 => Just(Act::Regenerate),
        3 => any::<usize>().prop_map(|which| Act::Ask { which }),
        4 => any::<usize>().prop_map(|which| Act::Progress { which }),
        2 => any::<usize>().prop_map(|which| Act::Revoke { which }),
        1 => Just(Act::Stop),
        2 => Just(Act::ResumeIdle),
        3 => Just(Act::Crash),
    ]
}

/// Acts that make, use and revoke grants more often than others do.
pub(crate) fn act_with_grants() -> impl Strategy<Value = Act> {
    let asked = prop_oneof![3 => Just(0usize), 1 => Just(3), 1 => Just(4)];
    prop_oneof![
        8 => (asked, 0..5i64).prop_map(|(tool, n)| Act::Model { kind: 5, tool, n: Some(n) }),
        8 => Just(Act::Model { kind: 7, tool: 0, n: None }),
        // By the owner, about what is open.
        8 => (any::<u16>(), 1..3u8, any::<u16>()).prop_map(|(which, verdict, remember)| Act::Decide {
            which: usize::from(which) * 12 + 3,
            verdict,
            remember: usize::from(remember) * 2,
        }),
        6 => (any::<usize>(), any::<bool>()).prop_map(|(which, fails)| Act::ToolDone { which, fails }),
        2 => (any::<usize>(), 0..3u8).prop_map(|(which, status)| Act::Result { which, status }),
        2 => (1..60u64, any::<bool>()).prop_map(|(seconds, is_watched)| Act::Time { seconds, is_watched }),
        2 => any::<usize>().prop_map(|which| Act::Revoke { which }),
        2 => Just(Act::Message),
        1 => Just(Act::Crash),
        2 => act(),
    ]
}

pub(crate) struct World {
    pub(crate) facts: Vec<Arc<Fact>>,
    pub(crate) state: Chat,
    pub(crate) tools: ToolSet,
    now: Timestamp,
    ids: u64,
    order: CallOrder,
    /// Server tools that run in this life of the server.
    running: Vec<ToolCallId>,
    /// Decisions that were acknowledged.
    pub(crate) acknowledged: Vec<(ApprovalId, Verdict)>,
    /// Grants that were revoked, and how many facts there were then.
    pub(crate) revoked: BTreeMap<GrantId, usize>,
    /// The plan of each response, and how many facts there were when it was made.
    pub(crate) responses: Vec<(ResponsePlan, u64)>,
    /// Where appends ended: one is written whole or not at all.
    pub(crate) appends: Vec<usize>,
}

impl World {
    pub(crate) fn new(order: CallOrder) -> Self {
        Self {
            facts: Vec::new(),
            state: Chat::default(),
            tools: tools(),
            now: Timestamp(1_000_000),
            ids: 0,
            order,
            running: Vec::new(),
            acknowledged: Vec::new(),
            revoked: BTreeMap::new(),
            responses: Vec::new(),
            appends: Vec::new(),
        }
    }

    fn decide(&mut self, input: Input, is_stale: bool, refused: &BTreeSet<GrantId>) -> (Vec<Fact>, Reply) {
        let mut grants = self.usable(is_stale);
        grants.retain(|grant| !refused.contains(&grant.id));
        let ids = &mut self.ids;
        let mut new_id = || {
            *ids += 1;
            ids.to_string()
        };
        let mut env = Env {
            now: self.now,
            tools: self.tools.catalog(),
            model: "dice",
            max_steps: 6,
            max_holds: 3,
            budget: BUDGET,
            is_elsewhere: false,
            grants: &grants,
            full_of_grants: None,
            unsent: &BTreeSet::new(),
            refuses: None,
            channel: holdpoint_protocol::audit::AuditChannel::Inbox,
            new_id: &mut new_id,
            has_room: &mut |_| true,
        };
        let (facts, reply) = step(&mut self.state, input, &mut env);
        (facts, reply)
    }

    fn input(&mut self, input: Input) -> Reply {
        // As the driver does it: what the log does not grant is decided again without that. Now and then what is known of
        // the grants is from before the last revocation or use.
        let (mut is_stale, mut refused) = (self.ids.is_multiple_of(3), BTreeSet::new());
        let (facts, reply) = loop {
            let before = self.state.clone();
            let (facts, reply) = self.decide(input.clone(), is_stale, &refused);
            if self.grants_all(&facts) {
                break (facts, reply);
            }
            self.state = before;
            refused.extend(uses(&facts).map(|(_, grant, _)| grant.clone()));
            is_stale = false;
        };
        for fact in facts {
            match &fact {
                Fact::Started { call, .. } if self.call(call).execution != Execution::Frontend => {
                    self.running.push(call.clone());
                }
                Fact::Settled { call, .. } => self.running.retain(|running| running != call),
                _ => {}
            }
            self.facts.push(Arc::new(fact));
        }
        self.appends.push(self.facts.len());
        if let Some(plan) = ResponsePlan::of(&self.state, &input, &reply) {
            self.responses.push((plan, self.facts.len() as u64));
        }
        reply
    }

    /// What the log says of the grants: made and used by the facts, and revoked or not.
    pub(crate) fn usable(&self, is_stale: bool) -> Vec<UsableGrant> {
        let made = self.facts.iter().filter_map(|fact| match &**fact {
            Fact::Granted { call, grant, terms, by, .. } => Some((call, grant, terms, by)),
            _ => None,
        });
        let grants = made.map(|(call, grant, terms, by)| {
            let used = uses(&self.facts).filter(|(_, used, _)| *used == grant).count() as u64;
            let used = if is_stale { 0 } else { used };
            UsableGrant {
                id: grant.clone(),
                tool: self.call(call).name.as_str().into(),
                maker: by.clone(),
                left: terms.uses.map(|uses| u64::from(uses).saturating_sub(used)),
                terms: GrantTerms::clone(terms),
            }
        });
        grants.filter(|grant| is_stale || !self.revoked.contains_key(&grant.id)).collect()
    }

    /// Whether every grant that these facts use can be used, as the log sees it.
    fn grants_all(&self, facts: &[Fact]) -> bool {
        let usable = self.usable(false);
        let is_granted = |(_, grant, at): (&ToolCallId, &GrantId, Timestamp)| {
            let uses = uses(facts).filter(|(_, used, _)| *used == grant).count() as u64;
            usable.iter().any(|usable| {
                usable.id == *grant
                    && usable.left.is_none_or(|left| uses <= left)
                    && usable.terms.until.is_none_or(|until| at < until)
            })
        };
        uses(facts).all(is_granted)
    }

    /// Calls with an environment that gives the same ids each time.
    pub(crate) fn with_env<T>(&self, call: impl FnOnce(&mut Env<'_>) -> T) -> T {
        let mut ids = self.ids;
        let mut new_id = || {
            ids += 1;
            ids.to_string()
        };
        let grants = self.usable(false);
        call(&mut Env {
            now: self.now,
            tools: self.tools.catalog(),
            model: "dice",
            max_steps: 6,
            max_holds: 3,
            budget: BUDGET,
            is_elsewhere: false,
            grants: &grants,
            full_of_grants: None,
            unsent: &BTreeSet::new(),
            refuses: None,
            channel: holdpoint_protocol::audit::AuditChannel::Inbox,
            new_id: &mut new_id,
            has_room: &mut |_| true,
        })
    }

    fn submit(&mut self, body: Value) -> Reply {
        let request: ChatRequest = serde_json::from_value(body).expect("a valid body");
        let next = NextTurn { order: self.order, holds_text: true, is_resubmit: false };
        self.input(Input::Submit(Arc::new(Submit { request, by: Identity::local(), next })))
    }

    pub(crate) fn say(&mut self) -> Reply {
        self.ids += 1;
        let id = format!("u{}", self.ids);
        self.submit(json!({"messages": [{"id": id, "role": "user", "parts": [{"type": "text", "text": "go"}]}]}))
    }

    fn asked(&self) -> Vec<ApprovalId> {
        let calls = self.state.open_calls().filter(|(_, call)| call.is_asked());
        calls.filter_map(|(_, call)| Some(call.request.as_ref()?.approval.clone())).collect()
    }

    fn in_browser(&self) -> Vec<ToolCallId> {
        let calls = self.state.open_calls().filter(|(_, call)| matches!(call.stage(), Stage::Running(_)));
        calls.filter(|(_, call)| call.execution == Execution::Frontend).map(|(id, _)| id.clone()).collect()
    }

    pub(crate) fn call(&self, id: &ToolCallId) -> &Call {
        self.state.calls.get(id).expect("a call of the chat")
    }

    fn is_model_writing(&self) -> bool {
        self.state.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Model)
    }

    pub(crate) fn act(&mut self, act: &Act) {
        match act {
            Act::Model { kind, tool, n } if self.is_model_writing() => {
                let name = NAMES[*tool].to_owned();
                let event = match kind {
                    0 => ModelEvent::TextDelta("hello ".into()),
                    1 => ModelEvent::ReasoningDelta("hm ".into()),
                    2 if n.is_none() => ModelEvent::Retry { message: "Busy.".into(), delay: Duration::from_secs(7) },
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
                        usage: Usage { prompt_tokens: 3, completion_tokens: 4, ..Usage::default() },
                        reason: if *kind == 7 { FinishReason::Stop } else { FinishReason::Length },
                        version: None,
                        state: None,
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
                self.input(Input::ToolDone { call, outcome, files: Arc::default() });
            }
            Act::Ask { which } if !self.running.is_empty() => {
                let by = self.running[which % self.running.len()].clone();
                let prompt = Prompt { message: "Really?".into(), schema: json!({}), timeout: Duration::from_secs(60) };
                self.input(Input::Prompt { by, prompt });
            }
            Act::Progress { which } if !self.running.is_empty() => {
                let call = self.running[which % self.running.len()].clone();
                self.input(Input::Progress { call, output: json!({"done": which % 100}) });
            }
            Act::Decide { which, verdict, remember } => {
                let verdict = match verdict {
                    0 => Verdict::Deny,
                    1 => Verdict::APPROVE,
                    2 => Verdict::Approve { input: Some(json!({"n": which % 100})) },
                    3 => Verdict::Answer { output: json!({"instead": which % 100}) },
                    _ => Verdict::Approve { input: Some(json!({"n": "many"})) },
                };
                let asked = self.asked();
                // Now and then somebody answers what was answered before, or differently.
                let known: Vec<ApprovalId> = self.state.approvals.keys().cloned().collect();
                let from = if asked.is_empty() || which % 4 == 0 { &known } else { &asked };
                let Some(approval) = from.get(which % from.len().max(1)).cloned() else { return };
                let is_approval = matches!(verdict, Verdict::Approve { .. });
                let remember = self.remember(*remember).filter(|_| is_approval);
                let reply = self.input(Input::Decide {
                    approval: approval.clone(),
                    decision: DecisionRequest { verdict: verdict.clone(), reason: None, remember },
                    by: if which % 3 == 0 { Arc::new(Identity::local()) } else { decider(which / 16) },
                });
                if matches!(reply, Reply::Answered(Answered::Taken | Answered::Remembered(_))) {
                    self.acknowledged.push((approval, verdict));
                }
            }
            Act::Result { which, status } => {
                let open = self.in_browser();
                let all: Vec<ToolCallId> = self.state.calls.iter().map(|(id, _)| id.clone()).collect();
                let from = if open.is_empty() || which % 4 == 0 { &all } else { &open };
                let Some(call) = from.get(which % from.len().max(1)).cloned() else { return };
                let status = [AckStatus::Success, AckStatus::Failed, AckStatus::Timeout][usize::from(*status)];
                let result = FrontendResult { status, output: Some(json!({"x": 1})), error_text: None, ack: None };
                self.input(Input::Result { call, result: Arc::new(result) });
            }
            Act::Revoke { which } => {
                let grants = self.usable(false);
                if let Some(grant) = grants.get(which % grants.len().max(1)) {
                    self.revoked.insert(grant.id.clone(), self.facts.len());
                }
            }
            Act::Time { seconds, is_watched } => self.pass(*seconds, *is_watched),
            Act::Resend { approved } => self.resend(*approved),
            Act::Message => drop(self.say()),
            Act::AnswerAndMessage { approved, is_edit } => self.answer_and_say(*approved, *is_edit),
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
            Act::ResumeIdle => drop(self.input(Input::ResumeIdle)),
            Act::Crash => self.crash(),
            _ => {}
        }
    }

    /// What else an approval approves, if anything.
    fn remember(&self, which: usize) -> Option<Remember> {
        let (is_wanted, which) = (which.is_multiple_of(2), which / 2);
        let covers = match which % 4 {
            0 => GrantMatch::Input,
            1 => match json!({"when": "/n", "under": 3}) {
                Value::Object(rule) => GrantMatch::Rule(rule),
                _ => GrantMatch::Tool,
            },
            _ => GrantMatch::Tool,
        };
        let scope = if which.is_multiple_of(2) { GrantScope::Chat } else { GrantScope::Subject };
        let until = which.is_multiple_of(3).then(|| self.now.after(Duration::from_secs(90)).iso8601());
        let uses = (which % 5 < 3).then_some(1 + which as u32 % 2);
        is_wanted.then_some(Remember { scope, covers, until, uses })
    }

    fn pass(&mut self, seconds: u64, is_watched: bool) {
        self.now = self.now.after(Duration::from_secs(seconds));
        let due: Vec<ToolCallId> = self
            .state
            .open_calls()
            .filter(|(_, call)| {
                let escalates = call.escalates_at();
                call.deadline().into_iter().chain(escalates).any(|due| due <= self.now)
            })
            .map(|(id, _)| id.clone())
            .collect();
        for call in due {
            self.input(Input::Due { call, is_watched });
        }
    }

    /// A client sends its whole history back, with what it thinks it has answered.
    fn resend(&mut self, approved: bool) {
        let Some(messages) = self.answered(approved).filter(|messages| !messages.is_empty()) else { return };
        self.submit(json!({"messages": messages}));
    }

    /// The user answers what is open, and goes on to something else, in one request.
    fn answer_and_say(&mut self, approved: bool, is_edit: bool) {
        let Some(mut messages) = self.answered(approved) else { return };
        let first = messages.iter().find(|message| message["role"] == "user").map(|message| message["id"].clone());
        self.ids += 1;
        let id = if is_edit { first.clone().unwrap_or_default() } else { json!(format!("u{}", self.ids)) };
        messages.push(json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "and"}]}));
        let edited = first.filter(|_| is_edit);
        self.submit(json!({"messages": messages, "messageId": edited}));
    }

    /// The client's copy of the history, if it ends with an answer of ours; every open question in it is answered.
    fn answered(&self, approved: bool) -> Option<Vec<Value>> {
        let Ok(Value::Array(mut messages)) = serde_json::to_value(history(&shown(&self.facts))) else { return None };
        let last = messages.last_mut().filter(|last| last["role"] == "assistant")?;
        for part in last["parts"].as_array_mut().into_iter().flatten() {
            if part["state"] == "approval-requested" {
                part["state"] = json!("approval-responded");
                part["approval"]["approved"] = json!(approved);
            }
        }
        Some(messages)
    }

    /// Only the log survives.
    pub(crate) fn crash(&mut self) {
        let facts: Vec<Fact> = self
            .facts
            .iter()
            .map(|fact| {
                serde_json::from_str(&serde_json::to_string(&**fact).expect("json")).expect("a fact can be read back")
            })
            .collect();
        self.state = Chat::default();
        facts.iter().for_each(|fact| self.state.apply(fact));
        self.running.clear();
        self.input(Input::Recover);
    }

    /// Everybody does what is asked of them until nothing is left to do.
    pub(crate) fn finish(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..200 {
            if self.state.turn.is_none() {
                return Ok(());
            }
            if self.is_model_writing() {
                let usage = Usage::default();
                self.input(Input::Model(ModelEvent::Finish {
                    usage,
                    reason: FinishReason::Stop,
                    version: None,
                    state: None,
                }));
            } else if let Some(call) = self.running.first().cloned() {
                self.input(Input::ToolDone { call, outcome: Ok(json!(1)), files: Arc::default() });
            } else if let Some(approval) = self.asked().first().cloned() {
                for by in [Arc::new(Identity::local()), decider(0), decider(2)] {
                    self.input(Input::Decide { approval: approval.clone(), decision: true.into(), by });
                }
            } else if let Some(call) = self.in_browser().first().cloned() {
                let result = FrontendResult { status: AckStatus::Success, output: None, error_text: None, ack: None };
                self.input(Input::Result { call, result: Arc::new(result) });
            } else {
                self.input(Input::ResumeIdle);
            }
        }
        Err(TestCaseError::fail("the turn does not end"))
    }
}

/// The uses of grants in these facts: the call, the grant and the time.
pub(crate) fn uses<T: std::borrow::Borrow<Fact>>(
    facts: &[T],
) -> impl Iterator<Item = (&ToolCallId, &GrantId, Timestamp)> {
    facts.iter().filter_map(|fact| match fact.borrow() {
        Fact::Used { call, grant, at, .. } => Some((call, grant, *at)),
        _ => None,
    })
}

/// What a feed shows: a step that was taken back is not in it.
pub(crate) fn shown(facts: &[Arc<Fact>]) -> Vec<Arc<Fact>> {
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
