//! Metrics of one runtime, in its own registry: two runtimes in one process never mix.
//!
//! Labels are bounded. Tools are labelled by name, or as `other` after [`names::MAX_NAMES`] different names; chats, calls
//! and subjects are never labels. Latencies use the machine's clock, waiting times the injected one.

mod call;
mod labels;
mod log;
mod model;
mod names;

use std::sync::Arc;

pub(crate) use call::ToolTimer;
pub(crate) use labels::{Age, HoldKind, age_limits};
use labels::{
    AppendLabels, CallLabels, ChannelLabel, DecisionLabels, EndLabels, ExpiryLabels, HoldLabels, Kind, KindLabels,
    ModelLabels, OperationLabels, StateLabels, TokenLabels, ToolLabels, ToolName,
};
pub(crate) use log::MeteredLog;
use names::ToolNames;
use prometheus_client::{
    encoding::text::encode_registry,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::{
    chat::Chat,
    clock::Timestamp,
    driver::Counts,
    fact::{Cause, Fact, TurnEnd},
    log::{HoldCount, HoldCounts},
    wire::Channel,
};

/// The prefix of every metric.
const PREFIX: &str = "holdpoint";

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of a runtime. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    tools: ToolNames,
    turns_started: Counter,
    turns_ended: Family<EndLabels, Counter>,
    decisions: Family<DecisionLabels, Counter>,
    decision_wait: Histograms<KindLabels>,
    expiries: Family<ExpiryLabels, Counter>,
    calls: Family<CallLabels, Counter>,
    tool_time: Histograms<ToolLabels>,
    model_time: Histograms<ModelLabels>,
    model_first: Histogram,
    tokens: Family<TokenLabels, Counter>,
    append_time: Histogram,
    appends: Family<AppendLabels, Counter>,
    log_failures: Family<OperationLabels, Counter>,
    retention_removed: Counter,
    retention_kept: Gauge,
}

/// The current gauges, read when the metrics are exported.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Chats with at least one open hold.
    pub(crate) chats: usize,
    /// Chats in memory.
    pub(crate) awake: usize,
    /// Running turns.
    pub(crate) running: usize,
    /// Open holds by tool, kind and age.
    pub(crate) holds: Vec<(Box<str>, HoldKind, Age, u64)>,
    /// The age of the oldest hold of each kind, in seconds.
    pub(crate) oldest: Vec<(HoldKind, f64)>,
}

impl Waiting {
    /// The gauges of the holds.
    pub(crate) fn of((now, counts): (Timestamp, HoldCounts)) -> Self {
        let mut waiting = Self { chats: usize::try_from(counts.chats).unwrap_or(usize::MAX), ..Self::default() };
        for HoldCount { tool, is_approval, age, count, oldest } in counts.holds {
            let kind = HoldKind::of(is_approval, &tool);
            let seconds = now.0.saturating_sub(oldest.0) as f64 / 1000.0;
            match waiting.oldest.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, oldest)) => *oldest = oldest.max(seconds),
                None => waiting.oldest.push((kind, seconds)),
            }
            waiting.holds.push((tool, kind, Age::at(age), count));
        }
        waiting
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let inner = Inner {
            tools: ToolNames::default(),
            turns_started: Counter::default(),
            turns_ended: EndLabels::family(),
            decisions: DecisionLabels::family(),
            decision_wait: KindLabels::histograms(|| Histogram::new(WAITS)),
            expiries: ExpiryLabels::family(),
            calls: Family::default(),
            tool_time: Family::new_with_constructor(|| Histogram::new(LATENCIES)),
            model_time: ModelLabels::histograms(|| Histogram::new(LATENCIES)),
            model_first: Histogram::new(LATENCIES),
            tokens: TokenLabels::family(),
            append_time: Histogram::new(APPENDS),
            appends: AppendLabels::family(),
            log_failures: OperationLabels::family(),
            retention_removed: Counter::default(),
            retention_kept: Gauge::default(),
            registry: Registry::default(),
        };
        inner.register(&mut registry);
        Self(Arc::new(Inner { registry, ..inner }))
    }

    /// Appends all metrics in the OpenMetrics text format, without its end marker.
    pub(crate) fn write(&self, waiting: Waiting, counts: Counts, out: &mut String) {
        let inner = &self.0;
        let mut now = Registry::with_prefix(PREFIX);
        let turns = Family::<StateLabels, Gauge>::default();
        turns.get_or_create(&StateLabels::RUNNING).set(gauge(waiting.running));
        turns.get_or_create(&StateLabels::WAITING).set(gauge(waiting.chats));
        now.register("turns", "Open turns: a step or a tool runs on the server, or a hold is open", turns);
        let holds = Family::<HoldLabels, Gauge>::default();
        for (tool, kind, age, count) in waiting.holds {
            let labels = HoldLabels { tool: inner.tools.label(&tool), kind, age };
            holds.get_or_create(&labels).inc_by(i64::try_from(count).unwrap_or(i64::MAX));
        }
        now.register("holds", "Open holds", holds);
        let oldest = Family::<ExpiryLabels, Gauge<f64, std::sync::atomic::AtomicU64>>::default();
        for kind in HoldKind::ALL {
            let age = waiting.oldest.iter().find(|(of, _)| *of == kind).map_or(0.0, |(_, age)| *age);
            oldest.get_or_create(&ExpiryLabels { kind }).set(age);
        }
        now.register_with_unit("hold_oldest_age", "Age of the oldest open hold", Unit::Seconds, oldest);
        let awake = Gauge::<i64>::default();
        awake.set(gauge(waiting.awake));
        now.register("chats_awake", "Chats in memory: something runs in them, or somebody looks at them", awake);
        counted(&mut now, counts);
        // Writing into a string can't fail.
        let _ = encode_registry(out, &now).and_then(|()| encode_registry(out, &inner.registry));
    }

    /// Records a durable fact.
    pub(crate) fn fact(&self, fact: &Fact, state: &Chat, channel: Channel) {
        let inner = &self.0;
        match fact {
            Fact::TurnStarted { .. } => drop(inner.turns_started.inc()),
            Fact::TurnEnded { end, .. } => drop(inner.turns_ended.get_or_create(&EndLabels::of(end)).inc()),
            Fact::StepEnded { usage, .. } => {
                inner.tokens.get_or_create(&TokenLabels::PROMPT).inc_by(usage.prompt_tokens);
                inner.tokens.get_or_create(&TokenLabels::COMPLETION).inc_by(usage.completion_tokens);
            }
            Fact::Decided { call, verdict, at, .. } => {
                let kind = Kind::of(verdict);
                inner.decisions.get_or_create(&DecisionLabels { kind, channel: ChannelLabel(channel) }).inc();
                let asked = state.calls.get(call).and_then(|call| call.request.as_ref());
                if let Some(asked) = asked {
                    inner.decision_wait.get_or_create(&KindLabels { kind }).observe(seconds(asked.asked_at, *at));
                }
            }
            Fact::Invalid { .. } => self.settled(ToolName(UNKNOWN_TOOL.into()), Cause::Refused),
            Fact::Settled { call, cause, .. } => {
                let Some(call) = state.calls.get(call) else { return };
                self.settled(inner.tools.label(&call.name), *cause);
                if *cause == Cause::Expired {
                    self.expired(HoldKind::of_call(call));
                }
            }
            _ => {}
        }
    }

    fn settled(&self, tool: ToolName, cause: Cause) {
        self.0.calls.get_or_create(&CallLabels { tool, cause: cause.into() }).inc();
    }

    /// Counts an expired hold.
    pub(crate) fn expired(&self, kind: HoldKind) {
        self.0.expiries.get_or_create(&ExpiryLabels { kind }).inc();
    }

    /// Counts a chat deleted by retention.
    pub(crate) fn retention_removed(&self) {
        self.0.retention_removed.inc();
    }

    /// Records how many old chats the last sweep kept because something waits or runs in them.
    pub(crate) fn retention_kept(&self, count: usize) {
        self.0.retention_kept.set(gauge(count));
    }
}

impl Inner {
    fn register(&self, to: &mut Registry) {
        to.register("turns_started", "Turns that have begun", self.turns_started.clone());
        to.register("turns_ended", "Turns that have ended, by how they ended", self.turns_ended.clone());
        to.register("decisions", "Decisions in force, by kind and channel", self.decisions.clone());
        let wait = self.decision_wait.clone();
        to.register_with_unit("decision_wait", "Time from an approval request to its decision", Unit::Seconds, wait);
        to.register("hold_expiries", "Holds whose deadline passed", self.expiries.clone());
        to.register("calls_settled", "Tool calls with an outcome, by tool and cause", self.calls.clone());
        let tool = self.tool_time.clone();
        to.register_with_unit("tool_duration", "Run time of tools on the server", Unit::Seconds, tool);
        let model = self.model_time.clone();
        to.register_with_unit("model_duration", "Duration of the model's steps", Unit::Seconds, model);
        let first = self.model_first.clone();
        to.register_with_unit("model_first_event", "Time to the first event of a step", Unit::Seconds, first);
        to.register("tokens", "Tokens that the model reports", self.tokens.clone());
        let append = self.append_time.clone();
        to.register_with_unit("log_append_duration", "Duration of appends to the log", Unit::Seconds, append);
        to.register("log_appends", "Appends to the log, by result", self.appends.clone());
        to.register("log_failures", "Failed operations of the log", self.log_failures.clone());
        let removed = self.retention_removed.clone();
        to.register("retention_removed", "Chats that were removed because of their age", removed);
        let kept = self.retention_kept.clone();
        to.register("retention_kept", "Old chats that are kept because something waits or runs in them", kept);
    }
}

/// The label of calls to unknown tools, whose names the model made up.
const UNKNOWN_TOOL: &str = "unknown";

/// Buckets for a person's response time, in seconds.
const WAITS: [f64; 11] = [1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 259_200.0, 604_800.0];
/// Buckets for tools and models, in seconds.
const LATENCIES: [f64; 13] = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Buckets for appends, in seconds.
const APPENDS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Registers the driver's own counters.
fn counted(to: &mut Registry, counts: Counts) {
    let counters = [
        (
            "unreadable_heads",
            "Heads of chats that could not be decoded; the chat was folded instead",
            counts.unreadable_heads,
        ),
        ("unreadable_chats", "Chats whose facts could not be decoded when they were needed", counts.unreadable_chats),
        ("log_append_retries", "Appends that were repeated because their fate was unknown", counts.repeated_appends),
        ("log_unanswered", "Requests that were given up because the log could not be written", counts.unanswered),
        ("turns_refused", "New turns that a limit refused", counts.refused_turns),
        ("chat_loads_refused", "Chats that were not loaded because of the memory limit", counts.refused_loads),
    ];
    for (name, help, value) in counters {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        to.register(name, help, counter);
    }
    let gauges = [
        ("log_appends_stuck", "Appends that wait for the log for longer than they should", counts.stuck_appends),
        ("chat_bytes_loaded", "Bytes that the chats in memory take, as estimated", counts.loaded_bytes),
    ];
    for (name, help, value) in gauges {
        let current = Gauge::<i64>::default();
        current.set(gauge(value));
        to.register(name, help, current);
    }
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.0.saturating_sub(from.0) as f64 / 1000.0
}

#[cfg(test)]
mod tests;
