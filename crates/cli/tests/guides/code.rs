//! The Rust of the guides, in functions that the compiler checks: a block has to be in this file, whatever its indent.

use std::sync::Arc;

use axum::http::{HeaderMap, request::Parts};
use holdpoint_protocol::ids::{ApprovalId, GrantId};
use holdpoint_runtime::{
    Runtime,
    approvers::Approvers,
    clock::Timestamp,
    tool::{Tool, ToolContext, ToolError},
};
use holdpoint_server::{Identity, IdentityError, Role, Server};
use serde_json::Value;

use crate::page::Block;

type Failure = Box<dyn std::error::Error>;

/// Whether the compiler has seen the block.
pub(crate) fn compiles(block: &Block) {
    // As rustfmt leaves it: with a comma before a closing brace of its own line.
    let words = |text: &str| text.split_whitespace().collect::<String>().replace(",}", "}").replace(",)", ")");
    let code = words(include_str!("code.rs"));
    assert!(code.contains(&words(&block.text)), "{}: this is not in code.rs:\n{}", block.place, block.text);
}

async fn pay(input: Value, _: ToolContext) -> Result<Value, ToolError> {
    Ok(input)
}

pub(crate) fn approvers() -> Result<Tool, Failure> {
    let tool =
        // The block has no schema, since its function would have an input of its own type.
        Tool::server("pay", "Pays", pay)
            .approve_always()
            .approvers(Approvers::new(["group:finance"])?.excluding_self().quorum(2))
            .build()?;
    Ok(tool)
}

#[allow(dead_code, reason = "it is compiled, and the tests of grants run it")]
async fn grants(runtime: Runtime, identity: Identity, approval: ApprovalId, grant: GrantId) -> Result<(), Failure> {
    use holdpoint_runtime::protocol::{
        grants::{GrantMatch, GrantScope, Remember},
        request::{DecisionRequest, Verdict},
    };

    let remember = Remember { scope: GrantScope::Subject, covers: GrantMatch::Input, until: None, uses: Some(5) };
    let decision = DecisionRequest { verdict: Verdict::APPROVE, reason: None, remember: Some(remember) };
    runtime.inbox(&identity).decide(approval, decision).await?;
    runtime.grants(&identity).revoke(&grant).await?;
    Ok(())
}

struct Session {
    user: String,
    groups: Vec<String>,
    is_manager: bool,
    ends: Timestamp,
}

#[derive(Clone)]
struct Sessions(Arc<str>);

impl Sessions {
    async fn of(&self, headers: &HeaderMap) -> Option<Session> {
        let user = headers.get("cookie")?.to_str().ok()?.strip_prefix(&*self.0)?.to_owned();
        Some(Session { user, groups: vec!["finance".to_owned()], is_manager: true, ends: Timestamp(u64::MAX) })
    }
}

#[allow(dead_code, reason = "it is compiled, and the tests of logins run it")]
fn login(runtime: Runtime, sessions: Sessions) -> [Server; 1] {
    let server = Server::builder(runtime)
        .identify(move |parts: Parts| {
            let sessions = sessions.clone();
            async move {
                let session = sessions.of(&parts.headers).await.ok_or("log in first")?;
                let identity =
                    Identity::new(session.user.as_str()).with_groups(session.groups.iter().map(String::as_str));
                let identity =
                    if session.is_manager { identity.with_roles([Role::User, Role::Approver]) } else { identity };
                Ok::<_, IdentityError>(identity.expiring(session.ends))
            }
        })
        .build();
    [server]
}
