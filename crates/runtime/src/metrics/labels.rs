//! Labels, all of them bounded. Values known in advance are exported from the start, so that the first event is an
//! increase.

use std::sync::Arc;

use holdpoint_protocol::{PROMPT_TOOL, request::Verdict};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder},
    metrics::{counter::Counter, family::Family, histogram::Histogram},
};

use super::{Cause, Histograms, TurnEnd};
use crate::{call::Call, clock::Timestamp, wire::Channel};

/// What a hold waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum HoldKind {
    Approval,
    Frontend,
    Prompt,
}

impl HoldKind {
    pub(super) const ALL: [Self; 3] = [Self::Approval, Self::Frontend, Self::Prompt];

    pub(crate) fn of(is_approval: bool, tool: &str) -> Self {
        match (is_approval, tool) {
            (true, _) => Self::Approval,
            (false, PROMPT_TOOL) => Self::Prompt,
            (false, _) => Self::Frontend,
        }
    }

    /// What a call waited for last.
    pub(super) fn of_call(call: &Call) -> Self {
        match call.open_request() {
            Some(_) => Self::Approval,
            None if call.by.tool().is_some() => Self::Prompt,
            None => Self::Frontend,
        }
    }
}

/// The age bucket of an open hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Age(&'static str);

impl Age {
    const ALL: [&str; 5] = ["under 1m", "1m to 10m", "10m to 1h", "1h to 1d", "over 1d"];

    /// The bucket of holds that began before this many of the [`age_limits`].
    pub(crate) fn at(limits: usize) -> Self {
        Self(Self::ALL[limits.min(Self::ALL.len() - 1)])
    }
}

/// The times between two age buckets, latest first.
pub(crate) fn age_limits(now: Timestamp) -> Vec<Timestamp> {
    [60, 600, 3600, 86_400].map(|seconds: u64| Timestamp(now.0.saturating_sub(seconds * 1000))).to_vec()
}

/// A tool's name as a label. See [`super::names::ToolNames`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ToolName(pub(super) Arc<str>);

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        pub(super) struct $name { $(pub(super) $field: $type),* }
    )*};
}

labels! {
    StateLabels { state: State }
    HoldLabels { tool: ToolName, kind: HoldKind, age: Age }
    ExpiryLabels { kind: HoldKind }
    EndLabels { end: End }
    KindLabels { kind: Kind }
    DecisionLabels { kind: Kind, channel: ChannelLabel }
    CallLabels { tool: ToolName, cause: CauseLabel }
    ToolLabels { tool: ToolName, result: RunResult }
    ModelLabels { result: StepResult }
    TokenLabels { kind: Tokens }
    AppendLabels { result: AppendStatus }
    OperationLabels { operation: Operation }
}

macro_rules! values {
    ($($name:ident { $($variant:ident),* })*) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(super) enum $name { $($variant),* }

        impl $name {
            #[allow(dead_code, reason = "not every label is written from the start")]
            pub(super) const ALL: &[Self] = &[$(Self::$variant),*];
        }
    )*};
}

values! {
    State { Running, Waiting }
    End { Finished, Failed, Stopped, Superseded }
    Kind { Approve, Deny, Edit, Answer }
    Tokens { Prompt, Completion }
    RunResult { Ok, Error, Cancelled }
    StepResult { Finished, Failed, Cancelled }
    AppendStatus { Committed, Conflict, NotGranted, Unknown }
    Operation { Append, Read, List, Find, Renew, Delete, Revoke }
}

/// The endpoint that an answer came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ChannelLabel(pub(super) Channel);

/// The cause of a call's end, as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CauseLabel(Cause);

impl From<Cause> for CauseLabel {
    fn from(cause: Cause) -> Self {
        Self(cause)
    }
}

/// Implements how each value is written.
macro_rules! written {
    ($($type:ty: |$value:ident| $text:expr;)*) => {$(
        impl EncodeLabelValue for $type {
            fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), std::fmt::Error> {
                let $value = self;
                let text: &str = $text;
                text.encode(encoder)
            }
        }
    )*};
}

written! {
    Age: |age| age.0;
    ToolName: |name| &name.0;
    ChannelLabel: |channel| match channel.0 {
        Channel::Inbox => "inbox",
        Channel::Chat => "chat",
        Channel::Live => "live",
        Channel::Ws => "ws",
    };
    HoldKind: |kind| match kind {
        HoldKind::Approval => "approval",
        HoldKind::Frontend => "frontend",
        HoldKind::Prompt => "prompt",
    };
    State: |state| match state {
        State::Running => "running",
        State::Waiting => "waiting",
    };
    End: |end| match end {
        End::Finished => "finished",
        End::Failed => "failed",
        End::Stopped => "stopped",
        End::Superseded => "superseded",
    };
    Kind: |kind| match kind {
        Kind::Approve => "approve",
        Kind::Deny => "deny",
        Kind::Edit => "edit",
        Kind::Answer => "answer",
    };
    Tokens: |kind| match kind {
        Tokens::Prompt => "prompt",
        Tokens::Completion => "completion",
    };
    RunResult: |result| match result {
        RunResult::Ok => "ok",
        RunResult::Error => "error",
        RunResult::Cancelled => "cancelled",
    };
    StepResult: |result| match result {
        StepResult::Finished => "finished",
        StepResult::Failed => "failed",
        StepResult::Cancelled => "cancelled",
    };
    AppendStatus: |result| match result {
        AppendStatus::Committed => "committed",
        AppendStatus::Conflict => "conflict",
        AppendStatus::NotGranted => "not_granted",
        AppendStatus::Unknown => "unknown",
    };
    Operation: |operation| match operation {
        Operation::Append => "append",
        Operation::Revoke => "revoke",
        Operation::Read => "read",
        Operation::List => "list",
        Operation::Find => "find",
        Operation::Renew => "renew",
        Operation::Delete => "forget",
    };
    CauseLabel: |cause| match cause.0 {
        Cause::Ran => "ran",
        Cause::Result => "result",
        Cause::Decision => "decision",
        Cause::Expired => "expired",
        Cause::Stopped => "stopped",
        Cause::Superseded => "superseded",
        Cause::Interrupted => "interrupted",
        Cause::Refused => "refused",
    };
}

impl StateLabels {
    pub(super) const RUNNING: Self = Self { state: State::Running };
    pub(super) const WAITING: Self = Self { state: State::Waiting };
}

impl TokenLabels {
    pub(super) const PROMPT: Self = Self { kind: Tokens::Prompt };
    pub(super) const COMPLETION: Self = Self { kind: Tokens::Completion };

    pub(super) fn family() -> Family<Self, Counter> {
        from_the_start(Tokens::ALL.iter().map(|kind| Self { kind: *kind }))
    }
}

impl EndLabels {
    pub(super) fn of(end: &TurnEnd) -> Self {
        let end = match end {
            TurnEnd::Finished { .. } => End::Finished,
            TurnEnd::Failed { .. } => End::Failed,
            TurnEnd::Stopped { .. } => End::Stopped,
            TurnEnd::Superseded => End::Superseded,
        };
        Self { end }
    }

    pub(super) fn family() -> Family<Self, Counter> {
        from_the_start(End::ALL.iter().map(|end| Self { end: *end }))
    }
}

impl Kind {
    pub(super) fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Approve { input: None } => Self::Approve,
            Verdict::Approve { input: Some(_) } => Self::Edit,
            Verdict::Deny => Self::Deny,
            Verdict::Answer { .. } => Self::Answer,
        }
    }
}

impl KindLabels {
    pub(super) fn histograms(new: fn() -> Histogram) -> Histograms<Self> {
        let family = Histograms::new_with_constructor(new);
        Kind::ALL.iter().for_each(|kind| drop(family.get_or_create(&Self { kind: *kind })));
        family
    }
}

impl ModelLabels {
    pub(super) fn histograms(new: fn() -> Histogram) -> Histograms<Self> {
        let family = Histograms::new_with_constructor(new);
        StepResult::ALL.iter().for_each(|result| drop(family.get_or_create(&Self { result: *result })));
        family
    }
}

impl DecisionLabels {
    pub(super) fn family() -> Family<Self, Counter> {
        let channels = [Channel::Inbox, Channel::Chat, Channel::Live, Channel::Ws];
        from_the_start(
            Kind::ALL
                .iter()
                .flat_map(|kind| channels.map(|channel| Self { kind: *kind, channel: ChannelLabel(channel) })),
        )
    }
}

impl ExpiryLabels {
    pub(super) fn family() -> Family<Self, Counter> {
        from_the_start(HoldKind::ALL.into_iter().map(|kind| Self { kind }))
    }
}

impl AppendLabels {
    pub(super) fn family() -> Family<Self, Counter> {
        from_the_start(AppendStatus::ALL.iter().map(|result| Self { result: *result }))
    }
}

impl OperationLabels {
    pub(super) fn family() -> Family<Self, Counter> {
        from_the_start(Operation::ALL.iter().map(|operation| Self { operation: *operation }))
    }
}

fn from_the_start<L>(labels: impl Iterator<Item = L>) -> Family<L, Counter>
where
    L: Clone + std::hash::Hash + Eq,
{
    let family = Family::default();
    labels.for_each(|labels| drop(family.get_or_create(&labels)));
    family
}
