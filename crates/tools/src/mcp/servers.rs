//! All MCP servers of a runtime.

use std::collections::BTreeMap;

use futures::future::{join_all, select_all};

use super::{McpError, McpProblem, McpServer, McpSettings, McpWarning};
use crate::{Tool, ToolSet};

/// The MCP servers of a runtime.
#[derive(Default)]
pub struct McpServers {
    servers: Vec<McpServer>,
}

impl FromIterator<McpServer> for McpServers {
    fn from_iter<I: IntoIterator<Item = McpServer>>(servers: I) -> Self {
        Self { servers: servers.into_iter().collect() }
    }
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

    /// These tools and those of all servers. Tools of a server that has not listed any yet are awaited. These keep their
    /// names; of servers that have the same name for a tool, none offers it: otherwise one server could take the place of
    /// another's tool. The servers' warnings say so. What a server says about its tools is there if any of them is.
    pub fn with(&self, tools: &ToolSet) -> ToolSet {
        let mut all: Vec<Tool> = tools.iter().cloned().collect();
        let mut instructions = tools.instructions().to_vec();
        let listed: Vec<_> = self.servers.iter().map(|server| (server, server.tools())).collect();
        let mut owners: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (server, tools) in &listed {
            tools.iter().for_each(|tool| owners.entry(&tool.spec.name).or_default().push(server.name()));
        }
        for (server, offered) in &listed {
            let (mut clashes, before) = (Vec::new(), all.len());
            for tool in offered.iter() {
                let name = tool.spec.name.as_str();
                let others = owners.get(name).into_iter().flatten().find(|other| **other != server.name());
                let problem = match (tools.get(name), others) {
                    (Some(_), _) => "a tool of this name is not one of an MCP server".to_owned(),
                    (None, Some(other)) => {
                        format!("the MCP server {other:?} has a tool of this name too. Rename one of the servers")
                    }
                    (None, None) => {
                        all.push(tool.clone());
                        continue;
                    }
                };
                clashes.push(McpWarning::LeftOut { tool: name.to_owned(), problem });
            }
            server.set_clashes(clashes);
            instructions.extend(server.instructions().filter(|_| all.len() > before));
        }
        let unlisted = self.servers.iter().filter(|server| !server.is_listed());
        let tools = all.into_iter().collect::<ToolSet>().with_pending_servers(unlisted.map(McpServer::pending));
        let undecided = self.servers.iter().filter(|server| !server.is_decided());
        tools.with_instructions(instructions).with_awaited(undecided.map(|server| server.pending().1).max())
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
