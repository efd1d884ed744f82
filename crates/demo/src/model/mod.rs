//! The demo model: understands plain requests for the demo tools in English and Japanese. Needs no key and no network.

mod answer;
mod language;
mod outcome;
mod payment;
mod phrase;
mod plan;
mod talk;
#[cfg(test)]
mod tests;

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use holdpoint_protocol::chunk::FinishReason;
use serde_json::{Value, json};

use self::{
    answer::{FinishedCall, answer, users},
    language::{Language, pieces},
    outcome::Outcome,
    plan::{Action, Plan},
};
use holdpoint_runtime::model::{
    Model, ModelError, ModelEvent, ModelMessage, ModelRequest, Usage, UserPart, last_user_text, since_user,
};

const VERSION: &str = "holdpoint-demo";

/// A model that understands plain requests for the demo tools and replies from their real results.
///
/// It is stateless: the last user message and everything since decide each step.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoModel;

impl Model for DemoModel {
    fn name(&self) -> &str {
        VERSION
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::iter(events(&request).into_iter().map(Ok)).boxed()
    }
}

/// Bytes of a message that are examined.
const MAX_MATCHED_BYTES: usize = 4096;

/// The content of one step.
#[derive(Debug, Default)]
struct Step {
    reasoning: String,
    calls: Vec<PlannedCall>,
    text: String,
}

/// A call to make: the tool, and its input or the invalid text in its place.
#[derive(Debug)]
struct PlannedCall {
    name: String,
    input: Result<Value, String>,
}

/// Decides a step.
fn decide(request: &ModelRequest) -> Step {
    // It matches keywords, so the beginning is enough.
    let mut text = last_user_text(&request.messages);
    text.truncate(text.floor_char_boundary(MAX_MATCHED_BYTES));
    let language = Language::of(&text);
    let is_tool = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let plan = Plan::parse(&text, is_tool);
    let since = since_user(&request.messages);
    if since.is_empty() {
        return begin(&text, plan, language, is_tool);
    }
    let done = done(since);
    if done.is_empty() || !matches!(since.last(), Some(ModelMessage::Results(_))) {
        return Step::default();
    }
    let is_clean_up = plan.actions.contains(&Action::CleanUp) && is_tool("update_database");
    if let Some(step) = is_clean_up.then(|| deactivate(&done, language)).flatten() {
        return step;
    }
    let missing = plan.actions.iter().map(Action::tool).filter(|tool| !is_tool(tool));
    let sentences = std::iter::once(answer(&done, language)).chain(missing.map(|tool| talk::missing(tool, language)));
    Step { text: sentences.collect::<Vec<_>>().join(language.pick(" ", "")), ..Step::default() }
}

fn begin(text: &str, plan: Plan, language: Language, is_tool: impl Fn(&str) -> bool) -> Step {
    if let Some(missing_detail) = plan.missing_detail {
        return Step { text: talk::ask_for(missing_detail, language), ..Step::default() };
    }
    let Some(first) = plan.actions.first() else {
        return Step { text: talk::chat(text, language, is_tool), ..Step::default() };
    };
    let actions: Vec<&Action> = plan.actions.iter().filter(|action| is_tool(action.tool())).collect();
    if actions.is_empty() {
        return Step { text: talk::missing(first.tool(), language), ..Step::default() };
    }
    let call = |action: &&Action| PlannedCall { name: action.tool().to_owned(), input: action.input(language) };
    Step::calling(actions.iter().map(call).collect(), language)
}

/// The second half of "find inactive users and deactivate them", with the ids found by the first half.
fn deactivate(done: &[FinishedCall<'_>], language: Language) -> Option<Step> {
    if done.iter().any(|done| done.call.name == "update_database") {
        return None;
    }
    let search = done.iter().find(|done| done.call.name == "search_database")?;
    let Outcome::Done(output) = Outcome::of(search.result) else { return None };
    let ids: Vec<Value> = users(output)?.into_iter().map(|(_, id)| id).collect();
    if ids.is_empty() {
        return None;
    }
    let input = json!({"ids": ids, "set": {"status": "deactivated"}});
    Some(Step::calling(vec![PlannedCall { name: "update_database".to_owned(), input: Ok(input) }], language))
}

/// The calls since the last user message, with their results.
fn done(since: &[ModelMessage]) -> Vec<FinishedCall<'_>> {
    let results = || {
        since.iter().flat_map(|message| match message {
            ModelMessage::Results(results) => results.as_slice(),
            _ => &[],
        })
    };
    let calls = since.iter().flat_map(|message| match message {
        ModelMessage::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    calls
        .filter_map(|call| results().find(|result| result.id == call.id).map(|result| FinishedCall { call, result }))
        .collect()
}

impl Step {
    /// A step with these calls, preceded by reasoning.
    fn calling(calls: Vec<PlannedCall>, language: Language) -> Self {
        let null = Value::Null;
        let actions =
            calls.iter().map(|call| phrase::phrase(&call.name, call.input.as_ref().unwrap_or(&null), language));
        let actions = actions.collect::<Vec<_>>().join(language.pick(" and ", "と"));
        let reasoning = language.pick(format!("I am asked to {actions}."), format!("{actions}を頼まれました。"));
        Self { reasoning, calls, text: String::new() }
    }
}

/// The events of a step.
fn events(request: &ModelRequest) -> Vec<ModelEvent> {
    let step = decide(request);
    let is_answer = |message: &&ModelMessage| matches!(message, ModelMessage::Assistant { .. });
    let index = since_user(&request.messages).iter().filter(is_answer).count();
    let mut events = Vec::new();
    let mut written = 0;
    if !step.reasoning.is_empty() {
        let pieces = pieces(&step.reasoning);
        written += pieces.len();
        events.push(ModelEvent::ReasoningStart);
        events.extend(pieces.into_iter().map(ModelEvent::ReasoningDelta));
        events.push(ModelEvent::ReasoningEnd);
    }
    if !step.text.is_empty() {
        let pieces = pieces(&step.text);
        written += pieces.len();
        events.push(ModelEvent::TextStart);
        events.extend(pieces.into_iter().map(ModelEvent::TextDelta));
        events.push(ModelEvent::TextEnd);
    }
    let reason = if step.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    for (number, PlannedCall { name, input }) in step.calls.into_iter().enumerate() {
        let id = format!("call-{index}-{number}");
        let delta = input.as_ref().map_or_else(String::clone, Value::to_string);
        written += words(&delta);
        events.push(ModelEvent::InputStart { id: id.clone(), name: name.clone() });
        events.push(ModelEvent::InputDelta { id: id.clone(), delta });
        events.push(ModelEvent::Call { id, name, input });
    }
    let usage = Usage { prompt_tokens: read(&request.messages), completion_tokens: written as u64, ..Usage::default() };
    events.push(ModelEvent::Finish { usage, reason, version: Some(VERSION.to_owned()), state: None });
    events
}

/// The prompt's size in words, since this model has no tokens.
fn read(messages: &[ModelMessage]) -> u64 {
    let words = messages.iter().map(|message| match message {
        ModelMessage::User(parts) => parts
            .iter()
            .map(|part| match part {
                UserPart::Text(text) => words(text),
                _ => 1,
            })
            .sum(),
        ModelMessage::Assistant { text, calls, .. } => {
            words(text) + calls.iter().map(|call| words(&call.input.to_string())).sum::<usize>()
        }
        ModelMessage::Results(results) => {
            let output =
                |outcome: &Result<Value, String>| outcome.as_ref().map_or_else(String::clone, Value::to_string);
            results.iter().map(|result| words(&output(&result.outcome))).sum()
        }
    });
    words.sum::<usize>() as u64
}

/// Number of words in a text. In JSON, commas and colons separate them.
fn words(text: &str) -> usize {
    text.split([',', ':']).map(|part| pieces(part).len()).sum()
}
