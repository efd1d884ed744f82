//! The state of an MCP server, for those who do not run it.

use std::sync::{Arc, PoisonError};

use super::{McpWarning, server::Shared};

/// Reads the state of a server, and does not keep it running.
#[derive(Clone)]
pub struct McpWatch(pub(super) Arc<Shared>);

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpSnapshot {
    /// Its name.
    pub name: String,
    /// Whether it can be called.
    pub is_connected: bool,
    /// The names of its tools, as offered.
    pub tools: Vec<String>,
    /// Why it is not connected.
    pub problem: Option<String>,
    /// What in its settings has no effect.
    pub warnings: Vec<McpWarning>,
    /// The last lines that its program wrote to standard error, with secrets masked.
    pub last_lines: Vec<String>,
}

impl McpWatch {
    /// The state now.
    pub fn read(&self) -> McpSnapshot {
        let shared = &self.0;
        let tools = shared.tools.borrow().clone().unwrap_or_default();
        let clashes = shared.clashes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_offered =
            |name: &str| !clashes.iter().any(|clash| matches!(clash, McpWarning::LeftOut { tool, .. } if tool == name));
        McpSnapshot {
            name: shared.settings.name.clone(),
            is_connected: shared.peer.borrow().as_ref().is_some_and(|peer| !peer.is_transport_closed()),
            tools: tools.iter().map(|tool| tool.spec.name.clone()).filter(|name| is_offered(name)).collect(),
            problem: shared.problem(),
            warnings: shared.warnings(),
            last_lines: shared.lines.read(),
        }
    }
}
