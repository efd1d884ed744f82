//! The saved state of a running call, from which it is resumed when its process has gone down.

use std::fmt;

use holdpoint_protocol::ids::ToolCallId;
use serde::{Deserialize, Serialize};

use super::ToolOrigin;

/// The maximum size of a saved state. A call with a larger one works, but it does not survive a restart.
pub const MAX_CALL_STATE_BYTES: usize = 64 * 1024;

/// What a running call can be resumed from. It is opaque, goes to nobody but the tool that it comes from, and never to a
/// client.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    /// The origin of the tool that it comes from. Another one does not get it.
    pub origin: Option<ToolOrigin>,
    /// In the tool's own format.
    pub data: String,
    /// The prompts that the call waits for, in the tool's order; `None` for one that could not be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<Option<ToolCallId>>,
}

impl fmt::Debug for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The data may be all that protects the call at its server.
        let Self { origin, data, prompts } = self;
        f.debug_struct("CallState")
            .field("origin", origin)
            .field("bytes", &data.len())
            .field("prompts", prompts)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_in_no_log() {
        let origin = ToolOrigin::Mcp { server: "bank".to_owned(), tool: "pay".to_owned() };
        let state = CallState { origin: Some(origin), data: "hunter2".to_owned(), prompts: vec![] };
        let debug = format!("{state:?}");
        assert!(debug.contains("bank") && !debug.contains("hunter2"), "{debug}");
    }
}
