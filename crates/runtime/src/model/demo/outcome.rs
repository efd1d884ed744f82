//! The outcome of a call, read from the text that the model gets.

use serde_json::Value;

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
    /// Reads an outcome. The texts are the server's own; any other text is a failure.
    pub(super) fn of(result: &'a Result<Value, String>) -> Self {
        match result {
            Ok(output) => Self::of_output(output),
            Err(text) => Self::of_error(text),
        }
    }

    fn of_error(text: &'a str) -> Self {
        let lower = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let reason = text.split_once(':').map(|(_, reason)| reason.trim()).filter(|reason| !reason.is_empty());
        if lower.starts_with("user denied") || lower.starts_with("denied") {
            return if reason == Some("superseded") { Self::Superseded } else { Self::Denied(reason) };
        }
        if has(&["superseded"]) {
            Self::Superseded
        } else if has(&["approval"]) && has(&["timed out", "expired"]) {
            Self::Expired
        } else if has(&["timed out", "timeout", "no answer in time"]) {
            Self::TimedOut
        } else if lower.starts_with("interrupted") {
            Self::Interrupted
        } else if has(&["stopped", "aborted", "cancelled", "canceled"]) {
            Self::Stopped
        } else {
            Self::Failed(text)
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

    #[test]
    fn errors_are_told_apart() {
        for (text, outcome) in [
            ("User denied the tool call", Outcome::Denied(None)),
            ("User denied the tool call: too expensive: really", Outcome::Denied(Some("too expensive: really"))),
            ("User denied the tool call: superseded", Outcome::Superseded),
            ("superseded", Outcome::Superseded),
            ("Approval request timed out", Outcome::Expired),
            ("The frontend timed out", Outcome::TimedOut),
            ("interrupted: outcome unknown", Outcome::Interrupted),
            ("stopped", Outcome::Stopped),
            ("Permission denied by the browser", Outcome::Failed("Permission denied by the browser")),
            ("", Outcome::Failed("")),
        ] {
            assert_eq!(Outcome::of(&Err(text.to_owned())), outcome, "{text}");
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
            assert_eq!(Outcome::of(&Ok(output)), outcome);
        }
        for output in [json!({"status": "success"}), json!({"success": true}), json!(null), json!([1])] {
            assert_eq!(Outcome::of(&Ok(output.clone())), Outcome::Done(&output));
        }
    }
}
