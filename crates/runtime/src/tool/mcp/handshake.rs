//! How a connection to a server begins: with `server/discover` of protocol 2026-07-28, or with the older `initialize`.

use std::time::Duration;

use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode},
};

/// The time after which the library takes a server that says nothing to `server/discover` for an older one.
const SILENCE: Duration = Duration::from_secs(10);
/// The number of failures before `initialize` is tried first: a program may also fail for another reason.
const MAX_FAILURES: u32 = 2;

/// What is known of a server's protocol.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// Whether it has spoken the newer one. Then it is not asked by the older one again: calls may wait that only the newer
    /// one can resume.
    was_modern: bool,
    /// Whether it was found to be older the hard way.
    is_legacy: bool,
    /// Attempts that have failed since the last connection.
    failures: u32,
}

impl Handshake {
    /// How the next connection begins. A server that refuses `server/discover` is asked by `initialize` at once. But there
    /// are older servers that end at a request that they do not know, or answer it with nonsense. So after some failures,
    /// both ways are tried in turn.
    pub(super) fn next(&self) -> ClientLifecycleMode {
        let is_turn = self.failures >= MAX_FAILURES && self.failures.is_multiple_of(2);
        if !self.was_modern && (self.is_legacy || is_turn) {
            return ClientLifecycleMode::Initialize;
        }
        ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        }
    }

    /// The connection is there, after this time.
    pub(super) fn connected(&mut self, is_modern: bool, after: Duration) {
        let is_hard = matches!(self.next(), ClientLifecycleMode::Initialize) || after >= SILENCE;
        self.was_modern |= is_modern;
        self.is_legacy = !is_modern && is_hard;
        self.failures = 0;
    }

    /// The connection has failed.
    pub(super) fn failed(&mut self, error: &ClientInitializeError) {
        use ClientInitializeError::{ConflictInitResponseId, LegacyFallbackFailed, UncorrelatedErrorResponse};
        match error {
            LegacyFallbackFailed { fallback, .. } => self.failed(fallback),
            // An answer came late, to the request before: the program was slow to start.
            ConflictInitResponseId(..) | UncorrelatedErrorResponse { .. } => {}
            _ => {
                self.is_legacy = false;
                self.failures = self.failures.saturating_add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone() -> ClientInitializeError {
        ClientInitializeError::ConnectionClosed(String::new())
    }

    fn begins(handshake: &Handshake) -> &'static str {
        match handshake.next() {
            ClientLifecycleMode::Initialize => "initialize",
            _ => "discover",
        }
    }

    #[test]
    fn both_ways_are_tried_in_turn() {
        let mut handshake = Handshake::default();
        let mut tried = Vec::new();
        for _ in 0..5 {
            tried.push(begins(&handshake));
            handshake.failed(&gone());
        }
        assert_eq!(tried, ["discover", "discover", "initialize", "discover", "initialize"]);
    }

    #[test]
    fn what_was_hard_to_find_out_is_remembered() {
        let mut handshake = Handshake::default();
        handshake.connected(false, Duration::ZERO);
        assert_eq!(begins(&handshake), "discover", "it has said so at once, and may be newer next time");
        handshake.connected(false, SILENCE);
        assert_eq!(begins(&handshake), "initialize", "it said nothing");
        handshake.connected(false, Duration::ZERO);
        assert_eq!(begins(&handshake), "initialize");
        handshake.failed(&gone());
        assert_eq!(begins(&handshake), "discover");
    }

    #[test]
    fn a_newer_server_stays_newer() {
        let mut handshake = Handshake::default();
        handshake.connected(true, Duration::ZERO);
        for _ in 0..5 {
            handshake.failed(&gone());
            assert_eq!(begins(&handshake), "discover");
        }
    }
}
