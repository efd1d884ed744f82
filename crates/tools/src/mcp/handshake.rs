//! How a connection to a server begins: with `server/discover` of protocol 2026-07-28, or with the older `initialize`.

use std::time::Duration;

use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode},
};

use super::McpProtocol;

/// The time after which the library takes a server that says nothing to `server/discover` for an older one.
const SILENCE: Duration = Duration::from_secs(10);
/// The number of failures before `initialize` is tried first: a program may also fail for another reason.
const MAX_FAILURES: u32 = 2;

/// What is known of a server's protocol.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// The version that the settings say.
    pinned: Option<McpProtocol>,
    /// Whether it has spoken the newer one. Then it is not asked by the older one again: calls may wait that only the newer
    /// one can resume.
    was_modern: bool,
    /// Whether it was found to be older the hard way.
    is_legacy: bool,
    /// Whether it has answered `server/discover` after the library had given that up: it is slow, and newer.
    is_slow: bool,
    /// Attempts that have failed since the last connection.
    failures: u32,
}

/// The version that `initialize` offers.
pub(super) fn offered(pinned: Option<McpProtocol>) -> ProtocolVersion {
    match pinned {
        Some(McpProtocol::V2025_06_18) => ProtocolVersion::V_2025_06_18,
        Some(McpProtocol::V2025_11_25) => ProtocolVersion::V_2025_11_25,
        Some(McpProtocol::V2026_07_28) | None => ProtocolVersion::LATEST_WITH_INITIALIZE,
    }
}

impl Handshake {
    pub(super) fn new(pinned: Option<McpProtocol>) -> Self {
        Self { pinned, ..Self::default() }
    }

    /// How the next connection begins. A server that refuses `server/discover` is asked by `initialize` at once. But there
    /// are older servers that end at a request that they do not know, or answer it with nonsense. So after some failures,
    /// both ways are tried in turn.
    pub(super) fn next(&self) -> ClientLifecycleMode {
        match self.pinned {
            Some(McpProtocol::V2025_06_18 | McpProtocol::V2025_11_25) => return ClientLifecycleMode::Initialize,
            Some(McpProtocol::V2026_07_28) => {
                return ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
            }
            None => {}
        }
        let is_turn = self.failures >= MAX_FAILURES && self.failures.is_multiple_of(2);
        if !self.was_modern && (self.is_legacy || is_turn) {
            return ClientLifecycleMode::Initialize;
        }
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        if self.is_slow {
            return ClientLifecycleMode::Discover { preferred_versions };
        }
        ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE) }
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
            // An answer came late, to the request before: the program is slow to start. It says which way is the right one.
            ConflictInitResponseId(..) => self.is_slow = true,
            UncorrelatedErrorResponse { .. } => self.is_legacy = true,
            _ => {
                (self.is_legacy, self.is_slow) = (false, false);
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
    fn what_the_settings_say_is_spoken() {
        for (pinned, expected) in [(McpProtocol::V2025_06_18, "initialize"), (McpProtocol::V2026_07_28, "discover")] {
            let mut handshake = Handshake::new(Some(pinned));
            for _ in 0..5 {
                assert_eq!(begins(&handshake), expected, "{pinned:?}");
                handshake.failed(&gone());
            }
        }
        assert_eq!(offered(Some(McpProtocol::V2025_06_18)), ProtocolVersion::V_2025_06_18);
        assert_eq!(offered(None), ProtocolVersion::LATEST_WITH_INITIALIZE);
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

    /// Otherwise a program that takes longer than the library waits would never be connected to.
    #[test]
    fn a_late_answer_says_how_to_begin() {
        use rmcp::model::RequestId;
        let (first, second) = (RequestId::Number(0), RequestId::Number(1));
        let mut newer = Handshake::default();
        newer.failed(&ClientInitializeError::ConflictInitResponseId(second.clone(), first.clone()));
        assert!(
            matches!(newer.next(), ClientLifecycleMode::Discover { .. }),
            "it is waited for, and not asked otherwise"
        );
        newer.failed(&gone());
        assert!(matches!(newer.next(), ClientLifecycleMode::Auto { .. }), "it may have been replaced");
        let mut older = Handshake::default();
        older.failed(&ClientInitializeError::UncorrelatedErrorResponse { expected: second, received: first });
        assert_eq!(begins(&older), "initialize");
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
