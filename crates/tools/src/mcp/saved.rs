//! What is saved of a call to a server of protocol 2026-07-28, so that it can be resumed.

use holdpoint_protocol::json;
use rmcp::model::InputResponses;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{prompts, server::Shared};
use crate::{CallState, Prompt, PromptResponse};

/// The number of prompts that a server may send at once.
const MAX_PROMPTS: usize = 16;

/// A saved state. The log and an import may contain anything, so reading it can fail.
#[derive(Serialize, Deserialize)]
#[serde(tag = "waits", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Saved {
    /// The server needs input: the call is made again with the answers and the server's own state.
    ForInput { round: u32, request_state: Option<String>, questions: Vec<Question> },
    /// The server works on it.
    ForTask {
        task: String,
        round: u32,
        /// What the server has asked for, and was not told yet.
        questions: Vec<Question>,
        /// The keys of what it was told.
        answered: Vec<String>,
    },
}

/// One input request of a server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Question {
    /// By which the server knows it.
    key: String,
    /// The schema of the answer; `None` if the prompt is declined without asking anybody.
    #[serde(default, deserialize_with = "json::some", skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
}

/// The input requests of a result.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) questions: Vec<Question>,
    /// Those that are shown, in the order of the questions with a schema.
    pub(super) prompts: Vec<Prompt>,
}

/// Why input requests can't be met.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputProblem {
    /// The request is of a kind that we did not announce.
    Unsupported(String),
    /// The result is not what the protocol says.
    Odd,
}

impl Saved {
    /// The state as it is stored.
    pub(super) fn write(&self) -> String {
        // This can't fail: all keys are strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn read(state: &CallState) -> Option<Self> {
        serde_json::from_str(&state.data).ok()
    }
}

impl Inputs {
    /// Reads `inputRequests`. Keys in `answered` are left out: the server was told.
    pub(super) fn read(shared: &Shared, requests: Option<&Value>, answered: &[String]) -> Result<Self, InputProblem> {
        let mut inputs = Self::default();
        let requests = match requests {
            None | Some(Value::Null) => return Ok(inputs),
            Some(Value::Object(requests)) => requests,
            Some(_) => return Err(InputProblem::Odd),
        };
        for (key, request) in requests.iter().filter(|(key, _)| !answered.contains(key)) {
            let method = request.get("method").and_then(Value::as_str).ok_or(InputProblem::Odd)?;
            if method != "elicitation/create" {
                return Err(InputProblem::Unsupported(method.to_owned()));
            }
            let params = request.get("params").ok_or(InputProblem::Odd)?;
            // We did not announce support for URLs to visit.
            let is_form = params.get("mode").is_none_or(|mode| mode == "form");
            let prompt = if is_form {
                let message = params.get("message").and_then(Value::as_str).ok_or(InputProblem::Odd)?;
                prompts::prompt(shared, message, params.get("requestedSchema").ok_or(InputProblem::Odd)?)
            } else {
                None
            };
            let schema = prompt.as_ref().map(|prompt| prompt.schema.clone());
            inputs.questions.push(Question { key: key.clone(), schema });
            inputs.prompts.extend(prompt);
        }
        if inputs.questions.len() > MAX_PROMPTS { Err(InputProblem::Odd) } else { Ok(inputs) }
    }
}

/// The answers as the server gets them. A missing one counts as dismissed.
pub(super) fn responses(shared: &Shared, questions: &[Question], answers: Vec<PromptResponse>) -> InputResponses {
    let mut answers = answers.into_iter();
    let response = |question: &Question| {
        let result = match &question.schema {
            Some(schema) => {
                let answer = answers.next().unwrap_or(PromptResponse::Cancelled);
                prompts::result(shared, schema, answer)
            }
            None => prompts::declined(),
        };
        // This can't fail: all keys are strings.
        (question.key.clone(), serde_json::to_value(result).unwrap_or_default())
    };
    questions.iter().map(response).collect()
}

/// The keys of these questions.
pub(super) fn keys(questions: &[Question]) -> impl Iterator<Item = String> {
    questions.iter().map(|question| question.key.clone())
}
