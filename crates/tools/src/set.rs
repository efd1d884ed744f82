//! The tools of a server, by name.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use holdpoint_core::tool::{Instructions, ToolCatalog, ToolOrigin, ToolSpec};

use super::Tool;

/// The tools of a server, by name.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    tools: Arc<BTreeMap<String, Tool>>,
    /// Their descriptions, and what is known of those that are not listed yet.
    catalog: ToolCatalog,
    /// A name that two of the tools had. A runtime does not start with such a set.
    duplicate: Option<Arc<str>>,
}

/// Two tools have the same name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools have the name {name:?}: rename one of them")]
pub struct DuplicateTool {
    /// The name.
    pub name: String,
}

impl ToolSet {
    /// A set of these tools. Their names must differ.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, DuplicateTool> {
        let set: Self = tools.into_iter().collect();
        set.check()?;
        Ok(set)
    }

    /// Checks that no two tools had the same name.
    pub fn check(&self) -> Result<(), DuplicateTool> {
        match &self.duplicate {
            Some(name) => Err(DuplicateTool { name: name.to_string() }),
            None => Ok(()),
        }
    }

    /// The descriptions of the tools: what the turn machine and the lists need of them.
    pub fn catalog(&self) -> &ToolCatalog {
        &self.catalog
    }

    /// Adds MCP servers that have not listed their tools yet: see [`ToolCatalog::with_pending_servers`].
    #[must_use]
    pub fn with_pending_servers(mut self, servers: impl IntoIterator<Item = (String, Duration)>) -> Self {
        self.catalog = self.catalog.with_pending_servers(servers);
        self
    }

    /// Adds what MCP servers say about the use of their tools.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl IntoIterator<Item = Instructions>) -> Self {
        self.catalog = self.catalog.with_instructions(instructions);
        self
    }

    /// What MCP servers say about the use of their tools.
    pub fn instructions(&self) -> Arc<[Instructions]> {
        self.catalog.instructions()
    }

    /// Says that more tools are about to be listed: see [`ToolCatalog::with_awaited`].
    #[must_use]
    pub fn with_awaited(mut self, timeout: Option<Duration>) -> Self {
        self.catalog = self.catalog.with_awaited(timeout);
        self
    }

    /// Whether more tools are about to be listed.
    pub fn is_awaiting(&self) -> bool {
        self.catalog.awaited().is_some()
    }

    /// The tool of this name and origin: an approval is for no other.
    pub fn of_origin(&self, name: &str, origin: Option<&ToolOrigin>) -> Option<&Tool> {
        self.get(name).filter(|tool| tool.spec.origin.as_ref() == origin)
    }

    /// A tool by its name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// A tool by its name, if the model can call it.
    pub fn offered(&self, name: &str) -> Option<&Tool> {
        self.get(name).filter(|tool| tool.spec.is_offered())
    }

    /// All tools, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }

    /// The descriptions of all tools, ordered by name.
    pub fn specs(&self) -> Arc<[Arc<ToolSpec>]> {
        self.catalog.specs()
    }

    /// The descriptions of the tools that the model can call, ordered by name.
    pub fn offered_specs(&self) -> Arc<[Arc<ToolSpec>]> {
        self.catalog.offered_specs()
    }

    /// These tools, and the budget's own, unless it is among them. `None` stands for no budget.
    #[must_use]
    pub fn with_budget(self, tool: Option<&Tool>) -> Self {
        let Some(tool) = tool.filter(|tool| self.get(&tool.spec.name).is_none()) else { return self };
        let Self { tools, catalog, .. } = self.iter().chain([tool]).cloned().collect();
        let specs = catalog.specs();
        Self { tools, catalog: self.catalog.with_specs(specs.iter().cloned()), ..self }
    }
}

/// A runtime does not start with a set in which two tools have the same name.
impl FromIterator<Tool> for ToolSet {
    fn from_iter<T: IntoIterator<Item = Tool>>(all: T) -> Self {
        let mut tools = BTreeMap::new();
        let mut duplicate = None;
        for tool in all {
            let name = tool.spec.name.clone();
            if let Some(first) = tools.insert(name, tool) {
                duplicate = Some(first.spec.name.as_str().into());
            }
        }
        let catalog = tools.values().map(|tool: &Tool| Arc::clone(&tool.spec)).collect();
        Self { tools: Arc::new(tools), catalog, duplicate }
    }
}
