//! The tools, and the ledger in which each run is entered by the tool itself.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt,
    num::NonZeroU64,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use holdpoint_protocol::{
    ids::{ChatId, ToolCallId},
    request::Verdict,
};
use holdpoint_runtime::{
    fact::{Cause, Fact},
    tool::{BUDGET_TOOL, Budget, Execution, Prompt, Returns, Tool, ToolBuilder, ToolContext, ToolError, ToolSet, Wait},
};
use serde_json::{Value, json};

use super::{
    condition::Condition,
    journal::{Commit, Defect, Journal},
    node_log::unless_dead,
    random::Random,
};

/// The tools by name.
pub(crate) const NAMES: [&str; 10] =
    ["look", "slow", "pay", "refund", "again", "locate", "sign", "open", "hand", "survey"];

/// Whether the server runs such a call.
pub(crate) fn runs_on_server(name: &str) -> bool {
    ["look", "slow", "pay", "refund", "again", "survey"].contains(&name)
}

pub(crate) fn needs_approval(name: &str) -> bool {
    ["pay", "refund", "sign", BUDGET_TOOL].contains(&name)
}

pub(crate) fn is_idempotent(name: &str) -> bool {
    ["again", BUDGET_TOOL].contains(&name)
}

/// In a third of the runs: the tokens of two steps a turn, and of ten a chat.
pub(crate) fn budget(seed: u64) -> Budget {
    match seed % 3 {
        0 => Budget { turn: NonZeroU64::new(14), chat: NonZeroU64::new(70) },
        _ => Budget::default(),
    }
}

/// What the tools have done, whatever the log says.
#[derive(Debug)]
pub(crate) struct Ledger {
    journal: Arc<Journal>,
    runs: Mutex<Vec<Run>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) call: ToolCallId,
    pub(crate) node: usize,
    pub(crate) output: Option<Value>,
    /// What the log said when it began, if that forbids it.
    pub(crate) forbidden: Option<&'static str>,
}

impl Ledger {
    pub(crate) fn new(journal: Arc<Journal>) -> Self {
        Self { journal, runs: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn runs(&self) -> Vec<Run> {
        self.lock().clone()
    }

    fn begin(&self, chat: &ChatId, call: &ToolCallId, name: &str, input: Option<&Value>, node: usize) -> usize {
        let (mut is_started, mut decision, mut is_settled) = (false, None, false);
        // What ran is what the last decision showed.
        let mut shown = None;
        for entry in self.journal.entries().into_iter().filter(|entry| entry.chat == *chat) {
            let Commit::Facts { facts, .. } = entry.what else { continue };
            for fact in facts {
                match &*fact {
                    Fact::Started { call: of, .. } if of == call => is_started = true,
                    // A tool may begin in the moment in which its own node cuts it off, and the log says that it may have.
                    Fact::Settled { call: of, cause: Cause::Interrupted, .. } if of == call && entry.node == node => {}
                    Fact::Settled { call: of, .. } if of == call => is_settled = true,
                    Fact::Used { call: of, .. } if of == call => decision = Some(true),
                    Fact::Called { call: of, input, .. } if of == call => shown = Some(input.clone()),
                    Fact::Decided { call: of, verdict, .. } if of == call => {
                        decision = Some(matches!(verdict, Verdict::Approve { .. }));
                        shown = verdict.edited_input().cloned().or(shown);
                    }
                    _ => {}
                }
            }
        }
        let forbidden = match (is_started, decision, is_settled) {
            (_, Some(false), _) => Some("it was denied, or answered"),
            (_, None, _) if needs_approval(name) => Some("it was not approved"),
            (false, ..) => Some("its start is not in the log"),
            (.., true) => Some("it had its outcome"),
            _ if input.is_some() && input != shown.as_ref() => Some("its input was not the one that was shown"),
            _ => None,
        };
        let mut runs = self.lock();
        runs.push(Run { call: call.clone(), node, output: None, forbidden });
        runs.len() - 1
    }

    fn end(&self, run: usize, output: &Value) {
        self.lock()[run].output = Some(output.clone());
    }
}

/// What a handler has of its node.
#[derive(Clone)]
pub(crate) struct Host {
    seed: u64,
    ledger: Arc<Ledger>,
    condition: Arc<Condition>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.condition.node)
    }
}

impl Host {
    async fn run(self, name: &'static str, input: Value, context: ToolContext) -> Result<Value, ToolError> {
        unless_dead(&self.condition).await;
        let ToolContext { chat, call, .. } = &context;
        let run = self.ledger.begin(chat, call, name, Some(&input), self.condition.node);
        self.misbehave(name, chat, call);
        let mut random = Random::new(self.seed, ("tool", name, input["n"].as_u64()));
        let time = if name == "slow" { 6000 } else { 800 };
        let is_obedient = random.chance(500);
        let time = random.millis(time);
        tokio::select! {
            biased;
            () = tokio::time::sleep(time) => {}
            () = context.cancellation.cancelled(), if is_obedient => return Err(ToolError::new("cancelled")),
        }
        unless_dead(&self.condition).await;
        let mut output = json!({ "run": run });
        if name == "survey"
            && let Some(prompter) = &context.prompter
        {
            let timeout = Duration::from_secs(8);
            let prompt = Prompt { message: "Really?".to_owned(), schema: json!({"type": "object"}), timeout };
            output["answer"] = json!(format!("{:?}", prompter(prompt).await));
            unless_dead(&self.condition).await;
        }
        if random.chance(100) {
            return Err(ToolError::new("no luck"));
        }
        self.ledger.end(run, &output);
        Ok(output)
    }

    fn misbehave(&self, name: &str, chat: &ChatId, call: &ToolCallId) {
        let journal = &self.ledger.journal;
        match journal.defect() {
            Some(Defect::SecondRun) if !is_idempotent(name) => _ = self.ledger.begin(chat, call, name, None, 0),
            Some(Defect::Unapproved) => {
                let asked = journal.facts(chat).into_iter().find_map(|fact| match &*fact {
                    Fact::Asked { call, .. } => Some(call.clone()),
                    _ => None,
                });
                if let Some(asked) = asked {
                    self.ledger.begin(chat, &asked, "pay", None, 0);
                }
            }
            _ => {}
        }
    }
}

thread_local! {
    /// The nodes of the run on this thread.
    static HOSTS: RefCell<BTreeMap<usize, Host>> = const { RefCell::new(BTreeMap::new()) };
    /// Their tools. Schemas take long to compile.
    static TOOLS: RefCell<BTreeMap<usize, ToolSet>> = const { RefCell::new(BTreeMap::new()) };
}

/// The tools of a node that starts on this thread.
pub(crate) fn tools(seed: u64, ledger: &Arc<Ledger>, condition: &Arc<Condition>) -> ToolSet {
    let host = Host { seed, ledger: Arc::clone(ledger), condition: Arc::clone(condition) };
    let node = condition.node;
    HOSTS.with_borrow_mut(|hosts| hosts.insert(node, host));
    TOOLS.with_borrow_mut(|tools| tools.entry(node).or_insert_with(|| tools_of(node)).clone())
}

fn tools_of(node: usize) -> ToolSet {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let server = |name: &'static str| {
        Tool::server(name, "simulated", move |input: Value, context: ToolContext| {
            let host = HOSTS.with_borrow(|hosts| hosts[&node].clone());
            host.run(name, input, context)
        })
        .schema(schema.clone())
    };
    let browser = |name, execution| ToolBuilder::browser::<Value>(name, "simulated", execution).schema(schema.clone());
    let (seconds, frontend) = (Duration::from_secs, Execution::Frontend);
    let all = [
        server("look"),
        server("slow"),
        server("pay").approve_always().approval_timeout(None),
        server("refund").approve_always().approval_timeout(Some(seconds(10))),
        server("again").idempotent(),
        server("survey"),
        browser("locate", frontend).timeout(seconds(20)),
        browser("sign", frontend).approve_always().approval_timeout(None).timeout(seconds(600)),
        browser("open", frontend).returns(Returns::Ack).wait(Wait::Resubmit).timeout(seconds(600)),
        browser("hand", Execution::Delegate),
    ];
    all.into_iter().map(|builder| builder.build().expect("a valid tool")).collect()
}
