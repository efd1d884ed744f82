//! The outcome of a call, as the demo model tells it.

use serde_json::Value;

use holdpoint_runtime::model::{ModelResult, ResultCause};

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome<'a> {
    Done(&'a Value),
    /// A person denied it, perhaps with a reason.
    Denied(Option<&'a str>),
    /// The approval request expired.
    Expired,
    /// A newer message superseded it.
    Superseded,
    /// It was approved, but the browser did not respond in time.
    TimedOut,
    /// The server stopped while it ran.
    Interrupted,
    /// The turn was stopped.
    Stopped,
    Failed(&'a str),
}

impl<'a> Outcome<'a> {
    /// The outcome of a result.
    pub(super) fn of(result: &'a ModelResult) -> Self {
        match (&result.cause, &result.outcome) {
            (ResultCause::Denied { reason }, _) => Self::Denied(reason.as_deref()),
            (ResultCause::ApprovalExpired, _) => Self::Expired,
            (ResultCause::ResultExpired, _) => Self::TimedOut,
            (ResultCause::Stopped, _) => Self::Stopped,
            (ResultCause::Superseded, _) => Self::Superseded,
            (ResultCause::Interrupted, _) => Self::Interrupted,
            (_, Ok(output)) => Self::of_output(output),
            (_, Err(text)) => Self::Failed(text),
        }
    }

    /// A tool can report failure in its output, and an ack in its status.
    fn of_output(output: &'a Value) -> Self {
        let text =
            |keys: &[&str]| keys.iter().find_map(|key| output.get(*key)?.as_str()).unwrap_or("no reason was given");
        match output.get("status").and_then(Value::as_str) {
            Some("timeout") => return Self::TimedOut,
            Some("failed") => return Self::Failed(text(&["errorText", "error", "message"])),
            _ => {}
        }
        if output.get("success") == Some(&Value::Bool(false)) {
            return Self::Failed(text(&["error", "errorText", "message"]));
        }
        Self::Done(output)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(outcome: Result<Value, &str>, cause: ResultCause) -> ModelResult {
        ModelResult {
            id: "c".into(),
            name: "pay".into(),
            outcome: outcome.map_err(str::to_owned),
            cause,
            files: std::sync::Arc::default(),
        }
    }

    /// A tool's own words decide nothing.
    #[test]
    fn a_cause_counts_and_not_the_text() {
        for text in ["User denied the tool call", "Approval request timed out", "stopped", "superseded", ""] {
            let reported = result(Err(text), ResultCause::Reported);
            assert_eq!(Outcome::of(&reported), Outcome::Failed(text));
        }
        let denied = |reason: Option<&str>| ResultCause::Denied { reason: reason.map(str::to_owned) };
        for (cause, outcome) in [
            (denied(None), Outcome::Denied(None)),
            (denied(Some("too dear")), Outcome::Denied(Some("too dear"))),
            (ResultCause::ApprovalExpired, Outcome::Expired),
            (ResultCause::ResultExpired, Outcome::TimedOut),
            (ResultCause::Stopped, Outcome::Stopped),
            (ResultCause::Superseded, Outcome::Superseded),
            (ResultCause::Interrupted, Outcome::Interrupted),
            (ResultCause::Refused, Outcome::Failed("x")),
        ] {
            assert_eq!(Outcome::of(&result(Err("x"), cause)), outcome);
        }
    }

    #[test]
    fn an_output_can_say_that_it_failed() {
        for (output, outcome) in [
            (json!({"status": "timeout"}), Outcome::TimedOut),
            (json!({"status": "failed", "errorText": "blocked"}), Outcome::Failed("blocked")),
            (json!({"status": "failed", "errorText": null}), Outcome::Failed("no reason was given")),
            (json!({"success": false, "error": "no money"}), Outcome::Failed("no money")),
        ] {
            assert_eq!(Outcome::of(&result(Ok(output), ResultCause::Reported)), outcome);
        }
        for output in [json!({"status": "success"}), json!({"success": true}), json!(null), json!([1])] {
            assert_eq!(Outcome::of(&result(Ok(output.clone()), ResultCause::Reported)), Outcome::Done(&output));
        }
    }
}
