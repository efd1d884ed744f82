//! What the providers put on the wire, and how they are to be asked.

mod anthropic;
mod deepseek;
mod gemini;
mod ollama;
mod openai;
mod responses;

#[allow(unused_imports, reason = "not every test binary with these fakes uses all of them")]
pub(crate) use anthropic::{Anthropic, BOUND_ELSEWHERE};
pub(crate) use deepseek::DeepSeek;
pub(crate) use gemini::Gemini;
use holdpoint_runtime::model::provider::{OpenAiApi, Provider};
pub(crate) use ollama::Ollama;
pub(crate) use openai::OpenAi;
pub(crate) use responses::Responses;
use serde_json::Value;

use crate::server::{Asked, Reply};

/// One answer of a model, in no provider's words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub reasoning: Vec<&'static str>,
    pub text: Vec<&'static str>,
    pub calls: Vec<Called>,
    pub end: End,
}

/// A call, its arguments in the pieces in which they are written.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub name: &'static str,
    pub pieces: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    #[default]
    Stop,
    Length,
    Filter,
    /// The connection breaks.
    Cut,
}

/// All of them.
pub(crate) const ALL: [&dyn Wire; 6] = [&OpenAi, &DeepSeek, &Responses, &Anthropic, &Gemini, &Ollama];

/// The signature of reasoning, where there is one.
pub(crate) const SIGNATURE: &str = "c2lnbmVk";

/// Why the provider would refuse a request.
pub(crate) fn refusal(asked: &Asked) -> Option<String> {
    ALL.iter().find(|wire| asked.path.starts_with(wire.path()))?.refusal(asked)
}

/// Every answer of the fakes has these.
pub(crate) const USAGE: (u64, u64) = (12, 34);

/// The parts of them that came from a cache, and that were reasoning.
pub(crate) const PARTS: (u64, u64) = (5, 6);

/// A message as a provider was sent it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sent {
    System(String),
    User { texts: Vec<String>, images: Vec<String> },
    Assistant { text: String, calls: Vec<SentCall> },
    Results(Vec<SentResult>),
}

/// `id` is empty where the provider knows no ids.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentCall {
    pub id: String,
    pub name: String,
    pub input: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentResult {
    pub id: String,
    pub name: String,
    pub text: String,
}

/// What is asked of a provider besides the messages.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentSettings {
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    /// Names and schemas.
    pub tools: Vec<(String, Value)>,
}

/// A provider's side.
pub(crate) trait Wire: Sync {
    fn provider(&self) -> Provider;
    fn model(&self) -> &'static str;
    /// The API, where the provider has several.
    fn api(&self) -> Option<OpenAiApi> {
        None
    }
    /// The base URL for a fake that runs here.
    fn base(&self, url: &str) -> String {
        url.to_owned()
    }
    /// Where it expects to be asked.
    fn path(&self) -> &'static str;
    fn answer(&self, answer: &Answer) -> Reply;
    /// The messages of a request.
    fn sent(&self, asked: &Asked) -> Vec<Sent>;
    /// The reasoning in the assistant messages of a request, each with its signature.
    fn reasoning(&self, asked: &Asked) -> Vec<String>;
    /// Whether reasoning, or what follows it, is signed.
    fn is_signed(&self) -> bool {
        false
    }
    /// Reasoning with its signature, as `reasoning` has it.
    fn signed(&self, text: &str) -> String {
        text.to_owned()
    }
    /// Why the provider would refuse this request, by its documents.
    fn refusal(&self, _: &Asked) -> Option<String> {
        None
    }
    fn settings(&self, asked: &Asked) -> SentSettings;
    /// How much it is to reason.
    fn effort(&self, asked: &Asked) -> String;
    /// What it reports of [`PARTS`].
    fn parts_of_usage(&self) -> (u64, u64) {
        PARTS
    }
    /// Whether the key is where it belongs.
    fn has_key(&self, asked: &Asked, key: &str) -> bool;
    /// How it says that a key is wrong, and repeats it while doing so.
    fn wrong_key(&self, key: &str) -> Reply;
    fn unknown_model(&self) -> Reply;
    fn too_long(&self) -> Reply;
    /// The whole prompt is refused; `None` where there is no filter.
    fn filtered(&self) -> Option<Reply>;
    /// An error that comes as an event of a stream that has begun; its name is one of overload.
    fn broken(&self) -> Reply;
    /// Arguments that are not an object.
    fn malformed(&self) -> Reply;
    /// Whether arguments come in pieces.
    fn streams_arguments(&self) -> bool;
}

pub(crate) fn event_stream(pieces: Vec<String>, is_cut: bool) -> Reply {
    Reply::Stream { content_type: "text/event-stream", pieces, is_cut }
}

/// A string at a place in a value.
pub(crate) fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
