//! Tool names as label values.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

use super::labels::ToolName;

/// Maximum number of distinct names. An MCP server can rename its tools without end.
pub(super) const MAX_NAMES: usize = 200;

/// The label of all further names.
const OTHER: &str = "other";

/// The names seen so far.
#[derive(Debug, Default)]
pub(super) struct ToolNames(RwLock<HashSet<Arc<str>>>);

impl ToolNames {
    /// The label of a tool.
    pub(super) fn label(&self, name: &str) -> ToolName {
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return ToolName(Arc::clone(known));
        }
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= MAX_NAMES && !names.contains(name) {
            return ToolName(OTHER.into());
        }
        let name: Arc<str> = name.into();
        names.insert(Arc::clone(&name));
        ToolName(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded() {
        let names = ToolNames::default();
        for index in 0..MAX_NAMES {
            assert_eq!(&*names.label(&format!("tool_{index}")).0, format!("tool_{index}"));
        }
        assert_eq!(&*names.label("one_more").0, OTHER);
        assert_eq!(&*names.label("tool_0").0, "tool_0");
    }
}
