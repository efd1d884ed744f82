//! The sections, one file each. A new one is a file and a line here.

mod growth;
mod nodes;
mod protocol;
mod server;

pub(crate) use server::child;

use crate::{measure::Effort, report::Report};

/// A part of the benchmarks that can be run separately.
#[derive(Debug)]
pub(crate) struct Section {
    /// The value for `--section`.
    pub(crate) name: &'static str,
    /// What it measures.
    pub(crate) what: &'static str,
    /// Runs the measurements.
    pub(crate) run: fn(&Effort) -> Report,
}

/// All sections, in the order in which they run.
pub(crate) const SECTIONS: &[Section] = &[
    Section { name: "protocol", what: "encoding, decoding, checking and reducing chunks", run: protocol::run },
    Section { name: "server", what: "a turn over HTTP, and what an open hold costs", run: server::run },
    Section { name: "waiting", what: "what a connection that waits costs", run: server::waits },
    Section { name: "growth", what: "what an operation costs as the log grows", run: growth::run },
    Section { name: "nodes", what: "one node and three on PostgreSQL, beside SQLite", run: nodes::run },
];
