//! A faster reader for requests to a known chat. A stock client sends its whole history every time. Of the parts that
//! the server has itself, only possible answers are built; the rest is skipped in the bytes.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::{
    ids::{ChatId, MessageId},
    json::{Budget, JsonLimits},
    message::{ClientMessage, Part, Role},
    request::{ChatRequest, Trigger},
};

/// The outline of a request, read without building anything else.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outline {
    /// The chat.
    #[serde(default)]
    pub id: Option<ChatId>,
    #[serde(default)]
    message_id: Option<MessageId>,
    messages: Counted,
}

/// The number of messages, and the id and author of the last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Counted {
    count: usize,
    last: Option<MessageId>,
    is_last_from_assistant: bool,
}

impl Outline {
    /// Scans the bytes. `None` if they are not a request; [`ChatRequest`] gives the reason.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether skimming pays off: there is a history, and the request is about its last message.
    pub fn has_history(&self) -> bool {
        self.messages.count > 1 && (self.message_id.is_none() || self.message_id == self.messages.last)
    }

    /// Reads the request: the user's last message, and only the answering parts of all others. `None` if it can't be
    /// read this way, exceeds the limits, or has a key twice in what is read.
    pub fn skim(&self, bytes: &[u8], limits: JsonLimits) -> Option<ChatRequest> {
        let budget = Budget::strict(limits.nodes);
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let last = self.messages.count.checked_sub(1)?;
        // An assistant message is the server's own, so only its answers count. Its calls have inputs of any size.
        let whole = if self.messages.is_last_from_assistant { None } else { Some(last) };
        let request = Skim { budget: &budget, levels: limits.levels, whole };
        let request = deserializer.deserialize_map(request).ok()?;
        deserializer.end().ok().map(|()| request)
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Message {
            #[serde(default)]
            id: Option<MessageId>,
            #[serde(default)]
            role: Option<Role>,
        }
        struct Count;
        impl<'de> Visitor<'de> for Count {
            type Value = Counted;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Counted, A::Error> {
                let mut counted = Counted { count: 0, last: None, is_last_from_assistant: false };
                while let Some(Message { id, role }) = seq.next_element()? {
                    counted.count += 1;
                    counted.last = id;
                    counted.is_last_from_assistant = role == Some(Role::Assistant);
                }
                Ok(counted)
            }
        }
        deserializer.deserialize_seq(Count)
    }
}

#[derive(Clone, Copy)]
struct Skim<'a> {
    budget: &'a Budget,
    levels: usize,
    /// Index of the message to read in full.
    whole: Option<usize>,
}

impl<'de> Visitor<'de> for Skim<'_> {
    type Value = ChatRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a chat request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ChatRequest, A::Error> {
        let mut request = ChatRequest { id: None, messages: Vec::new(), trigger: Trigger::default(), message_id: None };
        let mut read = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            once(&mut read, &key, &["id", "messages", "trigger", "messageId"])?;
            match &*key {
                "id" => request.id = map.next_value()?,
                "messages" => request.messages = map.next_value_seed(Messages(self))?,
                "trigger" => request.trigger = map.next_value::<Option<Trigger>>()?.unwrap_or_default(),
                "messageId" => request.message_id = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(request)
    }
}

/// Fails if one of these keys is there twice. The request is then read as a whole, which says so.
fn once<E: serde::de::Error>(read: &mut Vec<&'static str>, key: &str, keys: &[&'static str]) -> Result<(), E> {
    let Some(key) = keys.iter().copied().find(|known| *known == key) else { return Ok(()) };
    if read.contains(&key) {
        return Err(E::custom(format_args!("the key {key:?} is there twice")));
    }
    read.push(key);
    Ok(())
}

struct Messages<'a>(Skim<'a>);

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = Vec<ClientMessage>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = Vec<ClientMessage>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let Skim { budget, levels, whole } = self.0;
        let mut messages = Vec::new();
        loop {
            let message = if whole == Some(messages.len()) {
                // Two levels enclose it.
                let value = seq.next_element_seed(budget.plain(levels.saturating_sub(2)))?;
                value.map(ClientMessage::deserialize).transpose().map_err(serde::de::Error::custom)?
            } else {
                seq.next_element_seed(Earlier(self.0))?
            };
            match message {
                Some(message) => messages.push(message),
                None => return Ok(messages),
            }
        }
    }
}

/// A message of which only the answers are read.
struct Earlier<'a>(Skim<'a>);

impl<'de> DeserializeSeed<'de> for Earlier<'_> {
    type Value = ClientMessage;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ClientMessage, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Earlier<'_> {
    type Value = ClientMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ClientMessage, A::Error> {
        let (mut id, mut role, mut parts, mut content) =
            (None::<MessageId>, None::<Role>, Parts::default(), Parts::default());
        let mut read = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            once(&mut read, &key, &["id", "role", "parts", "content"])?;
            match &*key {
                "id" => id = map.next_value()?,
                "role" => role = Some(map.next_value()?),
                "parts" => parts = map.next_value_seed(PartsOf(self.0))?,
                // The older shape. Used if there are no parts.
                "content" => content = map.next_value_seed(PartsOf(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let role = role.ok_or_else(|| serde::de::Error::missing_field("role"))?;
        let parts = if parts.is_empty { content.answers } else { parts.answers };
        Ok(ClientMessage { id, role, metadata: None, parts })
    }
}

/// The parts of a message that answer something.
struct Parts {
    answers: Vec<Part>,
    /// Whether there are no parts at all.
    is_empty: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self { answers: Vec::new(), is_empty: true }
    }
}

struct PartsOf<'a>(Skim<'a>);

impl<'de> DeserializeSeed<'de> for PartsOf<'_> {
    type Value = Parts;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parts, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PartsOf<'_> {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence of parts, or a text")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parts, A::Error> {
        let mut parts = Parts::default();
        while let Some(part) = seq.next_element_seed(PartOf(self.0))? {
            parts.is_empty = false;
            parts.answers.extend(part);
        }
        Ok(parts)
    }

    fn visit_str<E>(self, _: &str) -> Result<Parts, E> {
        Ok(Parts::default())
    }

    fn visit_unit<E>(self) -> Result<Parts, E> {
        Ok(Parts::default())
    }
}

/// The keys that make up an answer, in both shapes.
const KEPT: [&str; 9] =
    ["type", "toolName", "toolCallId", "state", "approval", "output", "errorText", "result", "preliminary"];

struct PartOf<'a>(Skim<'a>);

impl<'de> DeserializeSeed<'de> for PartOf<'_> {
    type Value = Option<Part>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Part>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for PartOf<'_> {
    type Value = Option<Part>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Part>, A::Error> {
        let (mut fields, mut read) = (Map::new(), Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            once(&mut read, &key, &KEPT)?;
            match KEPT.contains(&&*key) {
                // Five levels enclose it.
                true => {
                    drop(fields.insert(key, map.next_value_seed(self.0.budget.plain(self.0.levels.saturating_sub(5)))?))
                }
                false => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let part = Part::deserialize(Value::Object(fields)).map_err(serde::de::Error::custom)?;
        Ok(Some(part).filter(|part| !part.answers().is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn history() -> Value {
        json!([
            {"id": "1", "role": "user", "metadata": {"a": [1, 2, 3]}, "parts": [{"type": "text", "text": "hello"}]},
            {"id": "2", "role": "assistant", "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm"},
                {"type": "tool-pay", "toolCallId": "a", "state": "approval-responded", "input": {"x": [1, 2]}, "approval": {"id": "q", "approved": true, "reason": "fine"}},
                {"type": "dynamic-tool", "toolName": "look", "toolCallId": "b", "state": "output-available", "input": {}, "output": {"y": 1}},
                {"type": "tool-pay", "toolCallId": "c", "state": "output-error", "input": {}, "errorText": "no"},
                {"type": "tool-pay", "toolCallId": "d", "state": "input-available", "input": {}},
                {"type": "tool-pay", "toolCallId": "e", "state": "output-available", "output": 1, "preliminary": true},
                {"type": "tool-result", "toolCallId": "f", "result": {"z": null}},
                {"type": "confirmation", "approval": {"id": "p", "approved": false}},
                {"type": "file", "mediaType": "a/b", "url": "data:,x"},
            ]},
            {"role": "user", "content": "older"},
            {"role": "user", "content": [{"type": "tool-result", "toolCallId": "g", "result": 5}]},
            {"role": "user", "content": [{"type": "tool-result", "toolCallId": "h", "result": 5}], "parts": [{"type": "text", "text": "x"}]},
            {"id": "9", "role": "user", "metadata": {"b": 1}, "parts": [{"type": "text", "text": "and now?"}, {"type": "data-x", "data": [1]}]},
        ])
    }

    fn skim(body: &Value, limits: JsonLimits) -> Option<ChatRequest> {
        let bytes = serde_json::to_vec(body).expect("JSON");
        Outline::read(&bytes).expect("a request").skim(&bytes, limits)
    }

    #[test]
    fn the_last_message_and_all_answers_are_what_they_are_in_the_whole_request() {
        let body = json!({"x": {"y": [1]}, "id": "c", "trigger": "regenerate-message", "messageId": "9", "messages": history()});
        let whole = ChatRequest::deserialize(&body).expect("a request");
        let bytes = serde_json::to_vec(&body).expect("JSON");
        assert!(Outline::read(&bytes).expect("a request").has_history());
        let skimmed = skim(&body, JsonLimits::NONE).expect("a request");
        assert_eq!((&skimmed.id, skimmed.trigger, &skimmed.message_id), (&whole.id, whole.trigger, &whole.message_id));
        assert_eq!(skimmed.messages.last(), whole.messages.last());
        assert_eq!(skimmed.messages.len(), whole.messages.len());
        for (skimmed, whole) in skimmed.messages.iter().zip(&whole.messages) {
            assert_eq!((&skimmed.id, skimmed.role), (&whole.id, whole.role));
            assert_eq!(skimmed.answers(), whole.answers());
        }
        assert!(skimmed.messages[0].parts.is_empty());
    }

    #[test]
    fn what_is_skipped_is_not_counted_and_what_is_built_is() {
        let long = json!({"type": "data-x", "data": vec![0; 1000]});
        let body = |last: Value| json!({"id": "c", "messages": [{"role": "user", "parts": [long]}, {"role": "user", "parts": [last]}]});
        let limits = JsonLimits { levels: 10, nodes: 50 };
        assert!(skim(&body(json!({"type": "text", "text": "hi"})), limits).is_some());
        assert!(skim(&body(long.clone()), limits).is_none());
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        // The body, its messages, the message, its parts, the part.
        assert!(skim(&body(json!({"type": "data-x", "data": nested(5)})), limits).is_some());
        assert!(skim(&body(json!({"type": "data-x", "data": nested(6)})), limits).is_none());
    }

    /// An approval is sent with the call's whole input, which the server already has.
    #[test]
    fn the_calls_of_a_last_message_are_answered_whatever_their_input_is() {
        let call = json!({"type": "tool-pay", "toolCallId": "a", "state": "approval-responded", "input": vec![0; 1000], "approval": {"id": "q", "approved": true}});
        let body = json!({"id": "c", "messages": [{"role": "user", "parts": []}, {"id": "m", "role": "assistant", "parts": [call]}]});
        let skimmed = skim(&body, JsonLimits { levels: 10, nodes: 50 }).expect("a request");
        let last = skimmed.messages.last().expect("a message");
        assert_eq!((last.id.as_ref().map(MessageId::as_str), last.answers().len()), (Some("m"), 1));
    }

    /// A request about an earlier message may need that message in full.
    #[test]
    fn a_request_about_an_earlier_message_is_read_whole() {
        let has_history =
            |body: Value| Outline::read(&serde_json::to_vec(&body).expect("JSON")).map(|o| o.has_history());
        let messages = json!([{"id": "1", "role": "user"}, {"id": "2", "role": "assistant"}]);
        assert_eq!(has_history(json!({"messages": messages})), Some(true));
        assert_eq!(has_history(json!({"messages": messages, "messageId": "2"})), Some(true));
        assert_eq!(has_history(json!({"messages": messages, "messageId": "1"})), Some(false));
        assert_eq!(has_history(json!({"messages": [{"id": "1", "role": "user"}]})), Some(false));
    }

    #[test]
    fn what_is_no_request_is_left_to_others() {
        for text in ["", "[]", "{}", r#"{"messages":5}"#, r#"{"messages":[]"#] {
            assert_eq!(Outline::read(text.as_bytes()), None, "{text}");
        }
        let skimmed = |text: &str| {
            Outline::read(text.as_bytes()).and_then(|outline| outline.skim(text.as_bytes(), JsonLimits::NONE))
        };
        for text in [
            r#"{"messages":[]}"#,
            r#"{"messages":[{"role":"wizard"},{"role":"user","content":"x"}]}"#,
            r#"{"messages":[{"parts":[]},{"role":"user","content":"x"}]}"#,
            r#"{"messages":[{"role":"user","parts":[5]},{"role":"user","content":"x"}]}"#,
            r#"{"messages":[{"role":"user"}],"trigger":"dance"}"#,
        ] {
            assert_eq!(skimmed(text), None, "{text}");
        }
    }
}
