//! Whether anybody gets a segment, as far as the facts tell.

use holdpoint_protocol::audit::AuditChannel;

use crate::fact::{Cause, Fact};

/// Who gets a segment. What is held back stays so in one that nobody gets: the client's next request is answered with another.
/// It follows from the facts alone, so that every response agrees on what was sent before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// The response to the request that it began with.
    Request,
    /// Nobody: it began with a decision made elsewhere, or with a stop.
    Nobody,
    /// Nobody, unless the turn goes on: it began with an expiry, after which the turn waits for a request.
    NobodyYet,
}

impl Audience {
    /// The audience after a fact, which begins a segment unless one is open. A client's request also joins an open one.
    pub(super) fn with(self, fact: &Fact, is_open: bool) -> Self {
        match (self, fact) {
            (Self::NobodyYet, Fact::StepStarted) => Self::Request,
            (_, Fact::Decided { channel, .. } | Fact::Settled { channel: Some(channel), cause: Cause::Result, .. }) => {
                match (channel, is_open) {
                    (AuditChannel::Chat | AuditChannel::Live, _) => Self::Request,
                    (_, true) => self,
                    (_, false) => Self::Nobody,
                }
            }
            (_, Fact::Settled { cause: Cause::Expired, .. }) if !is_open || self == Self::Nobody => Self::NobodyYet,
            (_, Fact::Settled { .. }) if !is_open => Self::Nobody,
            (_, _) if is_open => self,
            _ => Self::Request,
        }
    }

    /// Whether somebody does.
    pub(super) fn is_there(self) -> bool {
        self == Self::Request
    }
}
