//! File descriptors: each connection uses one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::ConnectionLimits;

/// The minimum left for files, programs, and connections to models and tools.
const SPARE: usize = 16;
/// The assumed number of open descriptors if the system can't tell.
const USUALLY_OPEN: usize = 32;

/// Raises the limit on descriptors as far as the system permits, and lowers the limit on connections to match.
pub(super) fn fit(limits: ConnectionLimits) -> ConnectionLimits {
    let Some(descriptors) = raise() else { return limits };
    let fitting = within(limits, descriptors, open());
    if fitting != limits {
        tracing::warn!(
            descriptors,
            wanted = limits.connections,
            connections = fitting.connections,
            "the limit on open files allows fewer connections: raise it (`ulimit -n`, LimitNOFILE=)"
        );
    }
    fitting
}

fn within(limits: ConnectionLimits, descriptors: usize, open: usize) -> ConnectionLimits {
    let all = descriptors.saturating_sub(open + SPARE.max(descriptors / 16)).max(2);
    if limits.connections.saturating_add(limits.reserved) <= all {
        return limits;
    }
    let reserved = limits.reserved.min(all / 4);
    ConnectionLimits { connections: limits.connections.min(all - reserved), reserved, ..limits }
}

fn raise() -> Option<usize> {
    // `None` means no limit.
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: maximum, maximum };
    let raised = if current != maximum && setrlimit(Resource::Nofile, wanted).is_ok() { maximum } else { current };
    raised.map(|raised| usize::try_from(raised).unwrap_or(usize::MAX))
}

fn open() -> usize {
    std::fs::read_dir("/dev/fd").map_or(USUALLY_OPEN, Iterator::count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_fewer_than_descriptors() {
        let limits = ConnectionLimits { connections: 100, reserved: 16, ..ConnectionLimits::default() };
        let fit = |descriptors| {
            let ConnectionLimits { connections, reserved, .. } = within(limits, descriptors, 10);
            (connections, reserved)
        };
        assert_eq!(fit(100_000), (100, 16));
        assert_eq!(fit(116 + 10 + SPARE), (100, 16), "just enough");
        assert_eq!(fit(115 + 10 + SPARE), (99, 16), "one less");
        assert_eq!(fit(64), (29, 9));
        assert_eq!(fit(10), (2, 0), "something has to be served");
    }
}
