//! Reading a server's list of tools.

use rmcp::{
    RoleClient,
    model::{
        ClientRequest, CustomResult, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ServerResult,
        Tool as McpTool,
    },
    service::Peer,
};
use serde_json::Value;

use super::{McpProblem, connect::short, server::Shared};

/// Maximum number of tool pages and of tools.
const MAX_PAGES: usize = 100;
const MAX_TOOLS: usize = 1000;

/// What a server has listed.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tools: Vec<McpTool>,
    /// Entries that are not what the protocol says, by their names as far as they have one.
    pub(super) odd: Vec<String>,
}

/// All tools of a server, up to a limit.
pub(super) async fn list(shared: &Shared, peer: &Peer<RoleClient>) -> Result<Listed, McpProblem> {
    let mut listed = Listed::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut params = PaginatedRequestParams::default();
        params.cursor = cursor.take();
        let request = ListToolsRequest::with_param(params);
        // Not the library's own function, which knows a list as a whole or not at all.
        let page = peer.send_request(ClientRequest::ListToolsRequest(request)).await;
        let page = page.map_err(|error| McpProblem::List(short(shared, &error.to_string())))?;
        let page = listed.add(page).ok_or_else(|| McpProblem::List("the answer is not a list of tools".to_owned()))?;
        if listed.tools.len() + listed.odd.len() > MAX_TOOLS {
            return Err(McpProblem::List(format!("there are more than {MAX_TOOLS}")));
        }
        match page {
            Some(next) => cursor = Some(next),
            None => return Ok(listed),
        }
    }
    Err(McpProblem::List(format!("the list has more than {MAX_PAGES} pages")))
}

impl Listed {
    /// Adds a page. Returns the cursor of the next page, if any; `None` if the result is not a page.
    fn add(&mut self, page: ServerResult) -> Option<Option<String>> {
        match page {
            ServerResult::ListToolsResult(ListToolsResult { tools, next_cursor, .. }) => {
                self.tools.extend(tools);
                Some(next_cursor)
            }
            // One entry that the library can't read is enough for this.
            ServerResult::CustomResult(CustomResult(Value::Object(mut page))) => {
                let Some(Value::Array(entries)) = page.remove("tools") else { return None };
                for entry in entries {
                    let name = entry.get("name").and_then(Value::as_str).unwrap_or("without a name").to_owned();
                    match serde_json::from_value(entry) {
                        Ok(tool) => self.tools.push(tool),
                        Err(_) => self.odd.push(name),
                    }
                }
                Some(page.get("nextCursor").and_then(Value::as_str).map(str::to_owned))
            }
            _ => None,
        }
    }
}
