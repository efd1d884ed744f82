//! All MCP servers of a runtime.

use futures::future::{join_all, select_all};

use super::{McpError, McpProblem, McpServer, McpSettings};
use crate::tool::{Tool, ToolSet};

/// The MCP servers of a runtime.
#[derive(Default)]
pub struct McpServers {
    servers: Vec<McpServer>,
}

impl McpServers {
    /// Starts all of them concurrently. Settings that can never work are an error; an unreachable server is not.
    pub async fn start(settings: impl IntoIterator<Item = McpSettings>) -> Result<Self, McpError> {
        let settings: Vec<McpSettings> = settings.into_iter().collect();
        for (index, one) in settings.iter().enumerate() {
            if settings[..index].iter().any(|other| other.name == one.name) {
                return Err(McpError { server: one.name.clone(), problem: McpProblem::Twice });
            }
        }
        let started = join_all(settings.into_iter().map(McpServer::start)).await;
        Ok(Self { servers: started.into_iter().collect::<Result<_, _>>()? })
    }

    /// The servers.
    pub fn iter(&self) -> impl Iterator<Item = &McpServer> {
        self.servers.iter()
    }

    /// These tools and those of all servers. Tools of a server that has not listed any yet are awaited. On equal names
    /// the first wins.
    pub fn with(&self, tools: &ToolSet) -> ToolSet {
        let mut all: Vec<Tool> = tools.iter().cloned().collect();
        for server in &self.servers {
            for tool in server.tools().iter() {
                let name = &tool.spec.name;
                if all.iter().any(|other| other.spec.name == *name) {
                    tracing::warn!(
                        server = server.name(),
                        name,
                        "a tool of an MCP server has another tool's name: left out"
                    );
                } else {
                    all.push(tool.clone());
                }
            }
        }
        let unlisted = self.servers.iter().filter(|server| !server.is_listed());
        let tools = all.into_iter().collect::<ToolSet>().with_pending_origins(unlisted.map(McpServer::pending_origin));
        let undecided = self.servers.iter().filter(|server| !server.is_decided());
        tools.with_awaited(undecided.map(|server| server.pending_origin().1).max())
    }

    /// Completes when the tools of any server have changed, or its first connection has failed; never, if there are no servers.
    pub async fn changed(&mut self) {
        if self.servers.is_empty() {
            return std::future::pending().await;
        }
        select_all(self.servers.iter_mut().map(|server| Box::pin(server.changed()))).await;
    }

    /// Closes all connections and stops the programs.
    pub async fn stop(&self) {
        join_all(self.servers.iter().map(McpServer::stop)).await;
    }
}
