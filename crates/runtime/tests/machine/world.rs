//! A chat, a model, a server and everybody who has to do with them, played by random acts.

use std::{sync::Arc, time::Duration};

use holdpoint_protocol::{
    chunk::FinishReason,
    ids::{ApprovalId, ToolCallId},
    request::{AckStatus, ChatRequest},
};
use holdpoint_runtime::{
    clock::Timestamp,
    internals::{
        fact::{CallOrder, Fact, NextTurn},
        project::history,
        turn::{Answered, ChatState, Env, FrontendResult, Input, Phase, Reply, ResponsePlan, Stage, Submit, step},
    },
    model::{ModelEvent, Usage},
    subject::Subject,
    tool::{ApprovalPolicy, Execution, Prompt, Returns, Tool, ToolBuilder, ToolSet},
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
        build(server("pay").approval(ApprovalPolicy::Always)),
        build(server("look")),
        build(server("again").idempotent()),
        build(server("slow").approval(ApprovalPolicy::Always).approval_timeout(None)),
        build(browser("locate", Execution::Frontend).approval(ApprovalPolicy::Always)),
        build(browser("open", Execution::Frontend).returns(Returns::Ack)),
        build(browser("hand", Execution::Delegate)),
    ]
    .into_iter()
    .collect()
}

const NAMES: [&str; 8] = ["pay", "look", "again", "slow", "locate", "open", "hand", "nonsense"];

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
        approved: bool,
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
    Stop,
    ResumeIdle,
    Crash,
}

pub(crate) fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        30 => (0..10u8, 0..NAMES.len(), prop::option::of(-5..5i64)).prop_map(|(kind, tool, n)| Act::Model { kind, tool, n }),
        10 => (any::<usize>(), any::<bool>()).prop_map(|(which, fails)| Act::ToolDone { which, fails }),
        10 => (any::<usize>(), any::<bool>()).prop_map(|(which, approved)| Act::Decide { which, approved }),
        6 => (any::<usize>(), 0..3u8).prop_map(|(which, status)| Act::Result { which, status }),
        4 => (1..400u64, any::<bool>()).prop_map(|(seconds, is_watched)| Act::Time { seconds, is_watched }),
        3 => any::<bool>().prop_map(|approved| Act::Resend { approved }),
        1 => Just(Act::Message),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(approved, is_edit)| Act::AnswerAndMessage { approved, is_edit }),
        1 => any::<usize>().prop_map(|which| Act::Edit { which }),
        1 => Just(Act::Regenerate),
        3 => any::<usize>().prop_map(|which| Act::Ask { which }),
        4 => any::<usize>().prop_map(|which| Act::Progress { which }),
        1 => Just(Act::Stop),
        2 => Just(Act::ResumeIdle),
        3 => Just(Act::Crash),
    ]
}

pub(crate) struct World {
    pub(crate) facts: Vec<Arc<Fact>>,
    pub(crate) state: ChatState,
    tools: ToolSet,
    now: Timestamp,
    ids: u64,
    order: CallOrder,
    /// Server tools that run in this life of the server.
    running: Vec<ToolCallId>,
    /// Decisions that were acknowledged.
    pub(crate) acknowledged: Vec<(ApprovalId, bool)>,
    /// The plan of each response, and how many facts there were when it was made.
    pub(crate) responses: Vec<(ResponsePlan, u64)>,
    /// Where appends ended: one is written whole or not at all.
    pub(crate) appends: Vec<usize>,
}

impl World {
    pub(crate) fn new(order: CallOrder) -> Self {
        Self {
            facts: Vec::new(),
            state: ChatState::default(),
            tools: tools(),
            now: Timestamp(1_000_000),
            ids: 0,
            order,
            running: Vec::new(),
            acknowledged: Vec::new(),
            responses: Vec::new(),
            appends: Vec::new(),
        }
    }

    fn input(&mut self, input: Input) -> Reply {
        let ids = &mut self.ids;
        let mut new_id = || {
            *ids += 1;
            ids.to_string()
        };
        let mut env = Env {
            now: self.now,
            tools: &self.tools,
            model: "dice",
            max_steps: 6,
            max_holds: 3,
            is_elsewhere: false,
            refuses: None,
            new_id: &mut new_id,
        };
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
        if let Reply::Response(plan) = &reply {
            self.responses.push((plan.clone(), self.facts.len() as u64));
        }
        reply
    }

    /// Calls with an environment that gives the same ids each time.
    pub(crate) fn with_env<T>(&self, call: impl FnOnce(&mut Env<'_>) -> T) -> T {
        let mut ids = self.ids;
        let mut new_id = || {
            ids += 1;
            ids.to_string()
        };
        call(&mut Env {
            now: self.now,
            tools: &self.tools,
            model: "dice",
            max_steps: 6,
            max_holds: 3,
            is_elsewhere: false,
            refuses: None,
            new_id: &mut new_id,
        })
    }

    fn submit(&mut self, body: Value) -> Reply {
        let request: ChatRequest = serde_json::from_value(body).expect("a valid body");
        let next = NextTurn { order: self.order, holds_text: true, is_resubmit: false };
        self.input(Input::Submit(Arc::new(Submit { request, subject: Subject::local(), next })))
    }

    pub(crate) fn say(&mut self) -> Reply {
        self.ids += 1;
        let id = format!("u{}", self.ids);
        self.submit(json!({"messages": [{"id": id, "role": "user", "parts": [{"type": "text", "text": "go"}]}]}))
    }

    fn asked(&self) -> Vec<ApprovalId> {
        let calls = self.state.open_calls().filter(|(_, call)| call.stage == Stage::Asked);
        calls.filter_map(|(_, call)| Some(call.request.as_ref()?.approval.clone())).collect()
    }

    fn in_browser(&self) -> Vec<ToolCallId> {
        let calls = self.state.open_calls().filter(|(_, call)| matches!(call.stage, Stage::Running { .. }));
        calls.filter(|(_, call)| call.execution == Execution::Frontend).map(|(id, _)| id.clone()).collect()
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
                let prompt = Prompt { message: "Really?".into(), schema: json!({}), timeout: Duration::from_secs(60) };
                self.input(Input::Prompt { by, prompt });
            }
            Act::Progress { which } if !self.running.is_empty() => {
                let call = self.running[which % self.running.len()].clone();
                self.input(Input::Progress { call, output: json!({"done": which % 100}) });
            }
            Act::Decide { which, approved } => {
                let asked = self.asked();
                // Now and then somebody answers what was answered before, or differently.
                let known: Vec<ApprovalId> = self.state.approvals.keys().cloned().collect();
                let from = if asked.is_empty() || which % 4 == 0 { &known } else { &asked };
                let Some(approval) = from.get(which % from.len().max(1)).cloned() else { return };
                let reply = self.input(Input::Decide {
                    approval: approval.clone(),
                    decision: (*approved).into(),
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
                self.input(Input::Result { call, result: Arc::new(result) });
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
        self.state = ChatState::default();
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
                self.input(Input::Model(ModelEvent::Finish { usage, reason: FinishReason::Stop, version: None }));
            } else if let Some(call) = self.running.first().cloned() {
                self.input(Input::ToolDone { call, outcome: Ok(json!(1)) });
            } else if let Some(approval) = self.asked().first().cloned() {
                self.input(Input::Decide { approval, decision: true.into(), by: Subject::local() });
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
