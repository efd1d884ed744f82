//! The providers' own formats. Each module has one API: the body of its request, and the reader of its answer.

mod answer;
mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

pub(super) use answer::{Answer, Ending, Piece, Reason};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::{Inner, OpenAiApi, Provider, offer::OfferedTool, replay::Restored, spec::Access};

/// What the model is asked, in no provider's words.
pub(super) struct Ask<'a> {
    pub(super) inner: &'a Inner,
    pub(super) system: Option<&'a str>,
    pub(super) said: Vec<Said>,
    pub(super) tools: &'a [OfferedTool],
    /// Maximum tokens of the answer, if not the provider's default.
    pub(super) max_tokens: Option<u64>,
}

/// One message.
pub(super) enum Said {
    User(Vec<Part>),
    /// The model's text and calls.
    Assistant {
        text: Option<String>,
        calls: Vec<Made>,
    },
    /// The same, from what the provider gave us for it.
    Restored(Vec<Restored>),
    Results(Vec<Told>),
}

/// A call that the model made.
#[derive(Debug, Clone)]
pub(super) struct Made {
    /// The chat's own id: the provider's may repeat, and it only has to match results to calls.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Map<String, Value>,
}

/// The result of a call.
pub(super) struct Told {
    pub(super) id: String,
    pub(super) name: String,
    /// The output, or a text if it failed.
    pub(super) output: Value,
    pub(super) is_error: bool,
    /// Notes on files, and the pictures that the model gets.
    pub(super) files: Vec<Part>,
}

impl Told {
    /// The output as text, and the notes behind it.
    fn text(&self) -> String {
        let output = match &self.output {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let notes = self.files.iter().filter_map(|part| match part {
            Part::Text(note) => Some(note.as_str()),
            _ => None,
        });
        std::iter::once(output.as_str()).chain(notes).collect::<Vec<_>>().join("\n")
    }

    fn pictures(&self) -> impl Iterator<Item = &Part> {
        self.files.iter().filter(|part| !matches!(part, Part::Text(_)))
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// Its type is not known if only its address is.
    Image {
        media_type: Option<String>,
        source: Source,
    },
    Pdf {
        name: Option<String>,
        source: Source,
    },
    Audio {
        media_type: String,
        source: Source,
    },
    Video {
        media_type: String,
        source: Source,
    },
}

/// The contents of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// In base64.
    Data(String),
    Address(String),
}

impl Source {
    /// As a URL.
    fn url(&self, media_type: &str) -> String {
        match self {
            Self::Data(data) => format!("data:{media_type};base64,{data}"),
            Self::Address(url) => url.clone(),
        }
    }
}

/// An error that comes in the place of an event.
#[derive(Debug)]
pub(super) enum EventError {
    /// The provider's own.
    Told(Value),
    /// The data is not an event.
    Malformed(&'static str),
}

/// Reads the events of an answer.
pub(super) trait Read: Send {
    fn event(&mut self, event: &Value, answer: &mut Answer) -> Result<(), EventError>;

    /// The stream is over. `false`: it was cut off.
    fn end(&mut self, answer: &mut Answer) -> bool;
}

/// How events are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Sse,
    /// One JSON value a line.
    Lines,
}

/// An API of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Chat,
    Responses,
    Messages,
    Gemini,
    Ollama,
}

impl Api {
    pub(super) fn of(provider: Provider, api: OpenAiApi) -> Self {
        match (provider, api) {
            (Provider::OpenAi, OpenAiApi::Chat) => Self::Chat,
            (Provider::OpenAi, OpenAiApi::Responses) => Self::Responses,
            (Provider::Anthropic, _) => Self::Messages,
            (Provider::Gemini, _) => Self::Gemini,
            (Provider::Ollama, _) => Self::Ollama,
        }
    }

    pub(super) fn framing(self) -> Framing {
        if self == Self::Ollama { Framing::Lines } else { Framing::Sse }
    }

    pub(super) fn reader(self) -> Box<dyn Read> {
        match self {
            Self::Chat => Box::<chat::Reader>::default(),
            Self::Responses => Box::<responses::Reader>::default(),
            Self::Messages => Box::<messages::Reader>::default(),
            Self::Gemini => Box::<gemini::Reader>::default(),
            Self::Ollama => Box::<ollama::Reader>::default(),
        }
    }

    fn base(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "https://api.openai.com/v1",
            Self::Messages => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Ollama => "http://localhost:11434",
        }
    }

    /// Where a model is asked.
    pub(super) fn url(self, base: Option<&str>, model: &str) -> Option<reqwest::Url> {
        let path = match self {
            Self::Chat => "chat/completions".to_owned(),
            Self::Responses => "responses".to_owned(),
            Self::Messages => "v1/messages".to_owned(),
            Self::Gemini => {
                let folder = if model.contains('/') { "" } else { "models/" };
                format!("v1beta/{folder}{model}:streamGenerateContent")
            }
            Self::Ollama => "api/chat".to_owned(),
        };
        let mut url = self.at(base, &path)?;
        if self == Self::Gemini {
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        Some(url)
    }

    /// Where its models are listed.
    pub(super) fn list_url(self, base: Option<&str>) -> Option<reqwest::Url> {
        let (path, limit) = match self {
            Self::Chat | Self::Responses => ("models", None),
            Self::Messages => ("v1/models", Some("limit")),
            Self::Gemini => ("v1beta/models", Some("pageSize")),
            Self::Ollama => ("api/tags", None),
        };
        let mut url = self.at(base, path)?;
        if let Some(limit) = limit {
            url.query_pairs_mut().append_pair(limit, "1000");
        }
        Some(url)
    }

    fn at(self, base: Option<&str>, path: &str) -> Option<reqwest::Url> {
        let mut url = reqwest::Url::parse(base.unwrap_or(self.base())).ok()?;
        url.path_segments_mut().ok()?.pop_if_empty().extend(path.split('/'));
        Some(url)
    }

    /// The names in its list of models.
    pub(super) fn listed(self, list: &Value) -> Vec<String> {
        let (items, name) = match self {
            Self::Chat | Self::Responses | Self::Messages => ("data", "id"),
            Self::Gemini | Self::Ollama => ("models", "name"),
        };
        let items = list.get(items).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|item| Some(item.get(name)?.as_str()?.to_owned())).collect()
    }

    /// The headers of every request. Without a key, none is sent: some servers reject an empty one.
    pub(super) fn headers(self, access: &Access) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self == Self::Messages {
            headers.insert("anthropic-version", HeaderValue::from_static(messages::VERSION));
        }
        let (name, prefix) = match self {
            Self::Chat | Self::Responses | Self::Ollama => ("authorization", "Bearer "),
            Self::Messages => ("x-api-key", ""),
            Self::Gemini => ("x-goog-api-key", ""),
        };
        let key = access.key.as_deref().and_then(|key| HeaderValue::try_from(format!("{prefix}{key}")).ok());
        if let Some(mut key) = key {
            key.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), key);
        }
        headers
    }

    /// The body of a request, with the options of the settings.
    pub(super) fn body(self, ask: &Ask<'_>) -> Map<String, Value> {
        let mut body = match self {
            Self::Chat => chat::body(ask),
            Self::Responses => responses::body(ask),
            Self::Messages => messages::body(ask),
            Self::Gemini => gemini::body(ask),
            Self::Ollama => ollama::body(ask),
        };
        merge(&mut body, &ask.inner.settings.options);
        match self {
            Self::Messages => messages::bind(&mut body, ask.inner),
            Self::Responses => responses::include(&mut body),
            Self::Chat | Self::Gemini | Self::Ollama => {}
        }
        body
    }

    /// What a request needs of beta headers.
    pub(super) fn beta(self, body: &Map<String, Value>) -> Option<&'static str> {
        (self == Self::Messages).then(|| messages::beta(body)).flatten()
    }
}

/// Sets the fields of `over` in `body`, those of objects one by one.
fn merge(body: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (body.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => merge(inner, value),
            _ => drop(body.insert(key.clone(), value.clone())),
        }
    }
}

/// A text at a place in a value.
fn text_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// A number at a place in a value; 0 if there is none.
fn number_at(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_keep_what_is_behind_the_path() {
        let at = |api: Api, base: Option<&str>| api.url(base, "m").map(String::from).unwrap_or_default();
        assert_eq!(at(Api::Chat, None), "https://api.openai.com/v1/chat/completions");
        assert_eq!(
            at(Api::Responses, Some("https://a.example/openai?api-version=1")),
            "https://a.example/openai/responses?api-version=1"
        );
        assert_eq!(at(Api::Messages, Some("http://gateway/")), "http://gateway/v1/messages");
        assert_eq!(
            at(Api::Gemini, None),
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
        );
        let tuned = Api::Gemini.url(Some("http://proxy"), "tunedModels/x").map(String::from);
        assert_eq!(tuned.as_deref(), Some("http://proxy/v1beta/tunedModels/x:streamGenerateContent?alt=sse"));
        assert_eq!(Api::Ollama.list_url(None).map(String::from).as_deref(), Some("http://localhost:11434/api/tags"));
    }

    #[test]
    fn options_are_merged_field_by_field() {
        let (mut body, over) = (json!({"options": {"a": 1, "b": 2}, "c": [1]}), json!({"options": {"b": 3}, "c": 4}));
        merge(body.as_object_mut().expect("an object"), over.as_object().expect("an object"));
        assert_eq!(body, json!({"options": {"a": 1, "b": 3}, "c": 4}));
    }
}
