//! From the result of an answer to a hold to the response.

use holdpoint_protocol::{
    holds::{Cause, DecisionKind},
    request::AckResponse,
};
use holdpoint_runtime::turn::Answered;

use super::Failure;

/// The response to an answer that is in force, given now or before. Everything else is a failure.
pub(crate) fn in_force(answered: Answered) -> Result<AckResponse, Failure> {
    match answered {
        Answered::Taken => Ok(AckResponse::taken(false)),
        Answered::Again => Ok(AckResponse::taken(true)),
        Answered::Voted { votes, quorum } => Ok(AckResponse::voted(votes, quorum)),
        Answered::NotTheirs => Err(Failure::NotTheirs),
        Answered::Contradicts => Err(Failure::ContradictsDecision),
        Answered::TooLate(cause) => Err(Failure::TooLate(cause)),
        Answered::InvalidValue(error) => {
            Err(Failure::Invalid { detail: format!("output: {error}"), pointer: Some("/output".to_owned()) })
        }
        Answered::UnfitAnswer { text, pointer } => {
            let detail = format!("output: it does not answer the prompt: {text}");
            Err(Failure::Invalid { detail, pointer: Some(format!("/output{pointer}")) })
        }
        Answered::InvalidInput(error) => {
            Err(Failure::Invalid { detail: format!("input: {error}"), pointer: Some("/input".to_owned()) })
        }
        Answered::UnfitInput { text, pointer } => {
            let detail = format!("input: it does not fit the tool's schema: {text}");
            Err(Failure::Invalid { detail, pointer: Some(format!("/input{pointer}")) })
        }
        Answered::Remembered(grant) => Ok(AckResponse::remembered(grant)),
        Answered::NotRemembered(error) => Err(match error.pointer() {
            Some(pointer) => {
                Failure::Invalid { detail: format!("remember: {error}"), pointer: Some(pointer.to_owned()) }
            }
            None => Failure::NotRemembered(error),
        }),
        Answered::NotAllowed(kind) => Err(Failure::NotAllowed(kind)),
        Answered::NeedsApproval => Err(Failure::ApprovalRequired),
        Answered::Unknown | Answered::NotAwaited => Err(Failure::NotHeld),
    }
}

/// The name of a decision, as in `allowed`.
pub(super) fn decision_text(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Approve => "approve",
        DecisionKind::Deny => "deny",
        DecisionKind::Edit => "edit",
        DecisionKind::Answer => "answer",
    }
}

/// Why the hold can no longer be answered.
pub(super) fn too_late(cause: Cause) -> &'static str {
    match cause {
        Cause::Superseded => "superseded",
        Cause::Stopped => "stopped",
        Cause::Interrupted => "interrupted",
        Cause::Refused => "refused",
        Cause::Expired => "expired",
        Cause::Ran | Cause::Result | Cause::Decision => "decided",
    }
}
