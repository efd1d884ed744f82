//! The rounds of a call. A server of protocol 2026-07-28 may answer with what it needs from the user, or with a task
//! instead of a result (SEP-2322, SEP-2663).

use std::time::Duration;

use rmcp::{
    RoleClient,
    model::{CallToolResult, CustomResult, InputResponses, ProtocolVersion, ServerResult},
    service::Peer,
};
use serde_json::Value;

use super::{
    run::{Call, CallError},
    saved::{InputProblem, Inputs, Saved, responses},
    task,
};

/// The number of times that a server may answer a call with something other than its result.
pub(super) const MAX_ROUNDS: u32 = 16;
/// The pause before a call is repeated for a server that asks for nothing but its own state: it is busy.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// What the server said to a call.
enum Answer {
    Result(CallToolResult),
    Input(Value),
    Task(Value),
}

/// A call that is made again, with what its server has asked for.
struct Retry {
    round: u32,
    request_state: Option<String>,
    responses: Option<InputResponses>,
}

impl From<InputProblem> for CallError {
    fn from(problem: InputProblem) -> Self {
        match problem {
            InputProblem::Unsupported(method) => Self::Unsupported(method),
            InputProblem::Odd => Self::Odd,
        }
    }
}

/// Makes a call, or resumes it.
pub(super) async fn make(mut call: Call) -> Result<CallToolResult, CallError> {
    let mut retry = match resumed(&call)? {
        None => None,
        Some(Saved::ForTask { task, round, questions, answered }) => {
            return task::resume(call, task, round, questions, answered).await;
        }
        Some(Saved::ForInput { round, request_state, questions }) => {
            let state = call.context.resumed.clone().ok_or(CallError::NotResumable)?;
            let answers = call.context.saved_answers(&state).await?;
            let responses = Some(responses(&call.shared, &questions, answers));
            Some(Retry { round, request_state, responses })
        }
    };
    loop {
        let peer = call.peer().await?;
        let is_modern = is_modern(&peer);
        let round = retry.as_ref().map_or(0, |retry| retry.round);
        let mut params = call.params();
        if let Some(Retry { request_state, responses, .. }) = retry.take() {
            if !is_modern {
                // The server came back as an older one, which would take this for a new call.
                return Err(CallError::NotResumable);
            }
            params.request_state = request_state;
            params.input_responses = responses;
            // From here on, the call may be carried out. If we go down now, nobody knows.
            call.context.save(None).await?;
        }
        match read(call.send(peer, params).await?, is_modern)? {
            Answer::Result(result) => return Ok(result),
            Answer::Task(created) => return task::follow(call, &created, round).await,
            Answer::Input(asked) => {
                // It is made again once the server has what it needs. Until then, nothing is carried out.
                call.context.nothing_done().await;
                if round >= MAX_ROUNDS {
                    return Err(CallError::Rounds(MAX_ROUNDS));
                }
                retry = Some(ask(&mut call, &asked, round + 1).await?);
            }
        }
    }
}

/// What the call is resumed from. A state of another tool or server is never sent to this one.
fn resumed(call: &Call) -> Result<Option<Saved>, CallError> {
    let Some(state) = &call.context.resumed else { return Ok(None) };
    if state.origin.as_ref() != Some(&call.origin()) {
        return Err(CallError::NotResumable);
    }
    Saved::read(state).map(Some).ok_or(CallError::NotResumable)
}

/// Whether a server is spoken to by protocol 2026-07-28.
pub(super) fn is_modern(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info().is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28)
}

fn read(result: ServerResult, is_modern: bool) -> Result<Answer, CallError> {
    let json = |value: Result<Value, serde_json::Error>| value.map_err(|_| CallError::Odd);
    let kind = |value: &Value| value.get("resultType").and_then(Value::as_str).map(str::to_owned);
    match result {
        ServerResult::CallToolResult(result) => Ok(Answer::Result(result)),
        ServerResult::InputRequiredResult(asked) if is_modern => Ok(Answer::Input(json(serde_json::to_value(asked))?)),
        ServerResult::CreateTaskResult(task) if is_modern => Ok(Answer::Task(json(serde_json::to_value(task))?)),
        // A prompt with a richer schema than the protocol's is unknown to the library.
        ServerResult::CustomResult(CustomResult(asked))
            if is_modern && kind(&asked).as_deref() == Some("input_required") =>
        {
            Ok(Answer::Input(asked))
        }
        _ => Err(CallError::Odd),
    }
}

/// Asks the user for what the server needs.
async fn ask(call: &mut Call, asked: &Value, round: u32) -> Result<Retry, CallError> {
    let request_state = match asked.get("requestState") {
        None | Some(Value::Null) => None,
        Some(Value::String(state)) => Some(state.clone()),
        Some(_) => return Err(CallError::Odd),
    };
    let Inputs { questions, prompts } = Inputs::read(&call.shared, asked.get("inputRequests"), &[])?;
    if questions.is_empty() {
        call.pause(BUSY_PAUSE).await?;
        return Ok(Retry { round, request_state, responses: None });
    }
    let answers = if prompts.is_empty() {
        Vec::new()
    } else {
        let state = Saved::ForInput { round, request_state: request_state.clone(), questions: questions.clone() };
        call.context.save_and_prompt(state.write(), prompts).await?
    };
    Ok(Retry { round, request_state, responses: Some(responses(&call.shared, &questions, answers)) })
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc, time::Duration};

    use serde_json::json;

    use super::super::{McpServer, McpSettings, McpTransport};
    use crate::{CallState, Secret, ToolContext, ToolOrigin};

    /// What is saved goes to the tool that it comes from, and is not trusted.
    #[tokio::test]
    async fn a_state_of_another_origin_is_sent_to_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("log");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/modern.mjs");
        let command = vec!["node".to_owned(), script.display().to_string()];
        let env = vec![("FAKE_LOG".to_owned(), Secret::new(log.display().to_string()))];
        let start_wait = Duration::from_secs(60);
        let settings = McpSettings::new("new", McpTransport::Command { command, env });
        let server = McpServer::start(McpSettings { start_wait, ..settings }).await.expect("starts");
        let tools = server.tools();
        let handler = tools.iter().find(|tool| tool.spec.name == "new_effect").and_then(|tool| tool.handler.clone());
        let handler = handler.expect("a handler");
        let state = r#"{"waits":"forInput","round":1,"requestState":"secret","questions":[]}"#;
        for (origin, data) in [
            (Some(("other", "effect")), state),
            (Some(("new", "ask")), state),
            (None, state),
            (Some(("new", "effect")), "nonsense"),
            (Some(("new", "effect")), r#"{"waits":"forever"}"#),
        ] {
            let mut context = ToolContext::new("chat", "me", "call");
            let origin =
                origin.map(|(server, tool)| ToolOrigin::Mcp { server: server.to_owned(), tool: tool.to_owned() });
            let state = CallState { origin: origin.clone(), data: data.to_owned(), prompts: Vec::new() };
            context.resumed = Some(Arc::new(state));
            let error = handler(json!({}), context).await.expect_err("it is not resumed");
            assert!(error.0.contains("can't be resumed") && error.is_outcome_unknown(), "{origin:?}: {error}");
        }
        let told = std::fs::read_to_string(&log).expect("a log");
        assert!(!told.contains("call "), "{told}");
    }
}
