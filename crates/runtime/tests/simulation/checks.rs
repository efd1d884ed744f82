//! What must be true at the end of a run: nothing lost, nothing doubled, nothing unapproved, nothing stuck.

use std::{collections::BTreeMap, sync::Arc};

use futures::FutureExt;
use holdpoint_protocol::{
    holds::DecisionKind,
    ids::{ChatId, GrantId, ToolCallId},
};
use holdpoint_runtime::{
    Finding,
    chat::Chat,
    fact::{CallOrder, Cause, Fact, Outcome},
    grants::{GrantScope, GrantTerms},
    log::{HoldQuery, HoldsOf, Index, Log, Stored},
    verify, verify_grants,
    wire::history,
};

use super::{
    journal::{Commit, Entry},
    tools::{Run, is_idempotent, needs_approval, runs_on_server},
    world::{World, me},
};

/// What became of a call, as of the log.
#[derive(Debug, Default)]
struct CallFacts {
    name: String,
    asked: usize,
    decisions: Vec<bool>,
    /// How many grants approved it.
    granted: usize,
    /// Somebody answered in the tool's place.
    is_answered: bool,
    started: usize,
    outcomes: Vec<(Outcome, Cause)>,
    /// Something came after the outcome.
    is_late: bool,
}

/// Checks everything. `is_answered` says that all holds were answered, so nothing may wait.
pub(crate) async fn check(world: &World, is_answered: bool) -> Vec<String> {
    let mut found = world.violations();
    found.extend(world.unanswered().into_iter().map(|what| format!("no response: {what}")));
    check_grants(world, &mut found);
    for chat in &world.chats {
        check_calls(world, chat, &mut found);
        check_chat(world, chat, is_answered, &mut found);
        check_nodes(world, chat, &mut found).await;
    }
    check_record(world, &mut found).await;
    for run in world.ledger.runs() {
        if let Some(forbidden) = run.forbidden {
            found.push(format!("{} was run on node {}: {forbidden}", run.call, run.node));
        }
    }
    found.extend(world.responses.violations());
    found
}

/// The record, and everything else beside the facts, follows from them, whoever wrote it and in whatever order.
async fn check_record(world: &World, found: &mut Vec<String>) {
    let log = &world.journal.log;
    for chat in log.ids(None, usize::MAX).await.expect("it lists") {
        let mut report = |finding: Finding| found.push(format!("{chat}, verified: {finding}"));
        verify(log, &chat, None, &mut report).await.expect("it reads").expect("it is there");
    }
    let mut report = |finding: Finding| found.push(format!("verified: {finding}"));
    verify_grants(log, &mut report, &mut |_| {}).await.expect("it reads");
}

fn check_calls(world: &World, chat: &ChatId, found: &mut Vec<String>) {
    let mut calls: BTreeMap<ToolCallId, CallFacts> = BTreeMap::new();
    for fact in world.journal.facts(chat) {
        let (call, is_late) = match &*fact {
            Fact::Called { call, name, .. } => {
                calls.entry(call.clone()).or_default().name.clone_from(name);
                continue;
            }
            Fact::Asked { call, .. } => (call, true),
            Fact::Decided { call, .. } | Fact::Used { call, .. } => (call, true),
            Fact::Started { call, .. } => (call, true),
            Fact::Settled { call, .. } => (call, false),
            _ => continue,
        };
        let entry = calls.entry(call.clone()).or_default();
        entry.is_late |= is_late && !entry.outcomes.is_empty();
        match &*fact {
            Fact::Asked { .. } => entry.asked += 1,
            Fact::Decided { verdict, .. } => {
                entry.decisions.push(verdict.is_approval());
                entry.is_answered |= verdict.kind() == DecisionKind::Answer;
            }
            Fact::Used { .. } => entry.granted += 1,
            Fact::Started { .. } => entry.started += 1,
            Fact::Settled { outcome, cause, .. } => entry.outcomes.push((outcome.clone(), *cause)),
            _ => {}
        }
    }
    let runs = world.ledger.runs();
    for (id, call) in &calls {
        let runs: Vec<&Run> = runs.iter().filter(|run| run.call == *id).collect();
        for problem in problems(call, &runs) {
            found.push(format!("{chat}: {id}: {problem}: {call:?}, {runs:?}"));
        }
    }
}

/// A grant that has been made, as of the journal.
struct Made {
    tool: String,
    chat: ChatId,
    terms: Arc<GrantTerms>,
    used: u32,
    /// Revoked, or gone with its chat.
    is_over: bool,
}

/// A revoked, used-up or expired grant approves nothing, and neither does one for another tool or chat.
fn check_grants(world: &World, found: &mut Vec<String>) {
    let mut grants: BTreeMap<GrantId, Made> = BTreeMap::new();
    let mut tools: BTreeMap<ToolCallId, String> = BTreeMap::new();
    for Entry { chat, what, .. } in world.journal.entries() {
        let facts = match what {
            Commit::Facts { facts, .. } => facts,
            Commit::Revoked(grant) => {
                grants.entry(grant).and_modify(|made| made.is_over = true);
                continue;
            }
            Commit::Deleted => {
                let is_its = |made: &&mut Made| made.chat == chat && made.terms.scope == GrantScope::Chat;
                grants.values_mut().filter(is_its).for_each(|made| made.is_over = true);
                continue;
            }
        };
        for fact in facts {
            match &*fact {
                Fact::Called { call, name, .. } => _ = tools.insert(call.clone(), name.clone()),
                Fact::Granted { call, grant, terms, .. } => {
                    let tool = tools.get(call).cloned().unwrap_or_default();
                    let (chat, terms) = (chat.clone(), Arc::clone(terms));
                    grants.insert(grant.clone(), Made { tool, chat, terms, used: 0, is_over: false });
                }
                Fact::Used { call, grant, at, .. } => {
                    let Some(made) = grants.get_mut(grant) else {
                        found.push(format!("{chat}: {call}: a grant that was never made"));
                        continue;
                    };
                    made.used += 1;
                    let checks = [
                        (made.is_over, "a grant that was revoked, or whose chat is gone"),
                        (made.terms.uses.is_some_and(|uses| made.used > uses), "a grant that was used up"),
                        (made.terms.until.is_some_and(|until| until <= *at), "a grant that had expired"),
                        (tools.get(call) != Some(&made.tool), "a grant for another tool"),
                        (made.terms.scope == GrantScope::Chat && made.chat != chat, "a grant for another chat"),
                    ];
                    let wrong = checks.into_iter().filter(|(is_wrong, _)| *is_wrong);
                    found.extend(wrong.map(|(_, text)| format!("{chat}: {call} was approved by {text}: {grant}")));
                }
                _ => {}
            }
        }
    }
}

fn problems(call: &CallFacts, runs: &[&Run]) -> Vec<&'static str> {
    let CallFacts { name, asked, decisions, granted, is_answered, started, outcomes, is_late } = call;
    let is_approved = decisions.first() == Some(&true) || *granted > 0;
    let reported = outcomes.iter().find_map(|(outcome, cause)| match outcome {
        Outcome::Output(output) if *cause == Cause::Ran => Some(output),
        _ => None,
    });
    let is_reported = reported.is_none_or(|output| runs.iter().any(|run| run.output.as_ref() == Some(output)));
    let was_cut_off = |outcome: &Outcome| matches!(outcome, Outcome::Error(text) if text.contains("cancelled"));
    let is_said_to_have_run = outcomes.iter().any(|(outcome, cause)| *cause == Cause::Ran && was_cut_off(outcome));
    let is_stopped = outcomes.iter().any(|(_, cause)| *cause == Cause::Stopped);
    let is_settled_by_denial = outcomes.iter().any(|(_, cause)| *cause == Cause::Decision);
    let checks = [
        (outcomes.len() > 1, "more than one outcome"),
        (*is_late, "something after its outcome"),
        (*asked > 1, "asked about more than once"),
        (decisions.len() + granted > 1, "more than one decision"),
        (*granted > 0 && *asked > 0, "granted and asked about"),
        (*started > 1 && !is_idempotent(name), "started more than once"),
        (*started > 0 && needs_approval(name) && !is_approved, "started without approval"),
        (decisions.first() == Some(&false) && *started > 0, "denied and started"),
        (is_settled_by_denial && decisions.first() != Some(&false) && !is_answered, "denied by nobody"),
        (*is_answered && *started > 0, "answered and started"),
        (runs.len() > *started, "more runs than starts"),
        (is_stopped && !runs.is_empty(), "stopped, as if it had not begun"),
        (is_said_to_have_run, "cut off, as if it had come to its end"),
        (!is_reported && runs_on_server(name), "an output that no run had"),
    ];
    checks.into_iter().filter_map(|(is_wrong, text)| is_wrong.then_some(text)).collect()
}

fn check_chat(world: &World, chat: &ChatId, is_answered: bool, found: &mut Vec<String>) {
    let state = world.state(chat);
    let mut problem = |text: &str| found.push(format!("{chat}: {text}: {:?}", state.turn));
    if state.is_running() {
        problem("something runs");
    }
    if !state.next.is_empty() {
        problem("a turn has not begun");
    }
    if state.turn.as_ref().is_some_and(|turn| turn.stop.is_some()) {
        problem("a turn was to be stopped");
    }
    // On live, a call that is not asked about yet waits for the one before it.
    let is_live = state.turn.as_ref().is_some_and(|turn| turn.order == CallOrder::OneByOne);
    if state.open_calls().take(if is_live { 1 } else { usize::MAX }).any(|(_, call)| !call.is_held()) {
        problem("a call neither ended nor waits");
    }
    if state.is_idle() && !expired_last(&state) {
        problem("the turn does not go on");
    }
    if is_answered && state.turn.is_some() {
        problem("everything is answered, and the turn is open");
    }
    if world.journal.owner_of(chat).is_some() {
        problem("it has an owner");
    }
    let open = world.responses.open(chat);
    if state.turn.is_none() && !open.is_empty() {
        problem(&format!("a response goes on, and no turn is open:\n{}", open.join("\n")));
    }
    check_holds(world, chat, &state, found);
}

/// Whether the turn waits for a client, because its last hold expired while nobody was there.
fn expired_last(state: &Chat) -> bool {
    let calls = state.turn.iter().flat_map(|turn| &turn.calls).filter_map(|id| state.calls.get(id));
    let last = calls.filter_map(|call| call.settled.as_ref()).max_by_key(|settled| settled.position);
    last.is_some_and(|settled| settled.cause == Cause::Expired)
}

/// The rows of the holds are those of the facts.
fn check_holds(world: &World, chat: &ChatId, state: &Chat, found: &mut Vec<String>) {
    let query = HoldQuery { of: HoldsOf::Chat(chat.clone()), only_approvals: false, after: None };
    let rows = world.journal.log.holds(query, 1000).now_or_never().expect("memory does not wait").expect("it lists");
    let mut rows: Vec<_> =
        rows.into_iter().map(|(_, row)| (row.call, row.approval, Some(row.since), row.due_at)).collect();
    let mut held: Vec<_> = state
        .open_calls()
        .filter(|(_, call)| call.is_held())
        .map(|(id, call)| {
            let request = call.open_request();
            (id.clone(), request.map(|request| request.approval.clone()), call.since(), call.deadline())
        })
        .collect();
    rows.sort();
    held.sort();
    if rows != held {
        found.push(format!("{chat}: the rows of its holds are {rows:?}, and its holds are {held:?}"));
    }
    let due = held.iter().find(|(.., deadline)| deadline.is_some_and(|deadline| deadline <= now(world)));
    if let Some(due) = due {
        found.push(format!("{chat}: a hold has not expired: {due:?}"));
    }
    let stored = world.journal.log.stored(chat).now_or_never().expect("memory does not wait").expect("it reads");
    if let Some(Stored::Chat { head, .. }) = stored
        && head.is_open != (state.is_running() || !held.is_empty())
    {
        found.push(format!("{chat}: its head says open: {}, and its holds are {held:?}", head.is_open));
    }
}

fn now(world: &World) -> holdpoint_runtime::clock::Timestamp {
    holdpoint_runtime::clock::Clock::now(&world.clock)
}

/// Every node shows what is in the log, and nothing runs on any.
async fn check_nodes(world: &World, chat: &ChatId, found: &mut Vec<String>) {
    let facts = shown(&world.journal.stored_facts(chat));
    let expected = serde_json::to_string(&history(&facts)).expect("JSON");
    for node in 0..world.len() {
        let Some(runtime) = world.runtime(node) else {
            found.push(format!("node {node} is not up"));
            continue;
        };
        if runtime.admin().turns() != 0 {
            found.push(format!("node {node} counts {} running turns", runtime.admin().turns()));
        }
        match runtime.chats(&me()).messages(chat).await {
            Ok(messages) => {
                let messages = serde_json::to_string(&messages).expect("JSON");
                if messages != expected {
                    found.push(format!("{chat}: node {node} shows\n{messages}\nand not\n{expected}"));
                }
            }
            Err(error) if !facts.is_empty() => found.push(format!("{chat}: node {node} shows nothing: {error}")),
            Err(_) => {}
        }
    }
}

/// The facts as a feed has them: without the steps that were abandoned.
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
