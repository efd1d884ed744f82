//! Reading bodies and frames, within limits.

use axum::body::Body;
use holdpoint_protocol::json::{self, ReadError};
use holdpoint_runtime::subject::Subject;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::{BodyTimedOut, Failure, Held, Share};
use crate::app::Inner;

/// A body, and the bytes in flight that it holds until the request is done.
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    held: Held,
    /// For what is parsed of it.
    parsed: Held,
}

impl Received {
    /// Keeps only the reservations: the parsed content is still in memory.
    pub(crate) fn into_held(self) -> (Held, Held) {
        (self.held, self.parsed)
    }
}

impl Inner {
    /// Reads the whole body of a subject's request, and reserves the memory for parsing it as JSON.
    pub(crate) async fn json_body(&self, request: Body, subject: &Subject) -> Result<Received, Failure> {
        let received = body(request, self.limits.body, &self.bodies.of(subject)).await?;
        // From a budget of its own: no request that waits for it already has a part of it.
        let parsed = self.parsed.of(subject).hold(json::parsed_bytes(&received.bytes)).await?;
        Ok(Received { parsed, ..received })
    }
}

/// The step in which bytes in flight are reserved.
const RESERVE_STEP_BYTES: usize = 256 * 1024;

/// Reads the whole body, within the limit. Bytes in flight are reserved as it arrives: a peer that sends nothing holds
/// none.
pub(crate) async fn body(body: Body, limit: usize, in_flight: &Share) -> Result<Received, Failure> {
    // A body that declares an excessive length is rejected before it is read.
    if axum::body::HttpBody::size_hint(&body).lower() > limit as u64 {
        return Err(Failure::TooLarge { limit });
    }
    let mut received = Received { bytes: Vec::new(), held: Held::default(), parsed: Held::default() };
    let mut body = Limited::new(body, limit);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
            true => Failure::TooLarge { limit },
            false => timed_out(&*error).map_or(Failure::Incomplete, |limit| Failure::TooSlow { limit }),
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let needed = received.bytes.len() + data.len();
        if needed > received.bytes.capacity() {
            let room = match needed > RESERVE_STEP_BYTES {
                true => needed.next_multiple_of(RESERVE_STEP_BYTES).min(limit),
                false => needed,
            };
            in_flight.grow(&mut received.held, room).await?;
            received.bytes.reserve_exact(room - received.bytes.len());
        }
        received.bytes.extend_from_slice(&data);
    }
    Ok(received)
}

/// The time limit that the body exceeded, if that is the cause of the error.
fn timed_out(error: &(dyn std::error::Error + 'static)) -> Option<std::time::Duration> {
    let errors = std::iter::successors(Some(error), |error| error.source());
    errors.into_iter().find_map(|error| error.downcast_ref::<BodyTimedOut>()).map(|BodyTimedOut(limit)| *limit)
}

/// Parses JSON into a type, naming what is wrong. Not for a `Value`: see [`value`].
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], limits: json::JsonLimits) -> Result<T, Failure> {
    read(value(bytes, limits)?)
}

/// Parses JSON, in which no key may be there twice.
pub(crate) fn value(bytes: &[u8], limits: json::JsonLimits) -> Result<Value, Failure> {
    json::parse_strictly(bytes, limits).map_err(failed)
}

fn failed(error: ReadError) -> Failure {
    match error {
        ReadError::TooDeep { limit } => Failure::TooDeep { limit },
        ReadError::TooManyNodes { limit } => Failure::TooManyNodes { limit },
        error @ (ReadError::NotUnicode | ReadError::Syntax(_)) => Failure::NotJson(error.to_string()),
    }
}

/// Converts JSON into a type, naming the field that is wrong.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    // Derived types accept an array as their fields in order, which no client intends.
    if !value.is_object() {
        let (detail, pointer) = ("a JSON object is expected".to_owned(), Some(String::new()));
        return Err(Failure::Invalid { detail, pointer });
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, text) = (error.path().to_string(), error.inner().to_string());
        let detail = if path == "." { text } else { format!("{path}: {text}") };
        // A pointer that was cut would point to something else.
        let pointer = Some(pointer(error.path())).filter(|pointer| pointer.len() <= MAX_DETAIL_BYTES);
        Failure::Invalid { detail: shortened(detail), pointer }
    })
}

/// The maximum length of what an error says. It may repeat a value of the body.
const MAX_DETAIL_BYTES: usize = 1024;

/// The beginning of an error's text.
pub(crate) fn shortened(mut text: String) -> String {
    if text.len() > MAX_DETAIL_BYTES {
        text.truncate(text.floor_char_boundary(MAX_DETAIL_BYTES));
        text.push('…');
    }
    text
}

/// A JSON Pointer (RFC 6901) to the place of the error.
fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            // A pointer does not contain names of variants.
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_field_at_fault_is_pointed_at() {
        let at = |text: &str| match parse::<HashMap<String, Vec<bool>>>(text.as_bytes(), json::JsonLimits::NONE) {
            Err(Failure::Invalid { pointer, .. }) => pointer.expect("a pointer"),
            other => panic!("{other:?}"),
        };
        assert_eq!(at(r#"{"a/b~c": [true, 5]}"#), "/a~1b~0c/1");
        assert_eq!(at("[]"), "");
    }

    /// A short text can take much memory once it is parsed.
    #[tokio::test]
    async fn the_memory_for_parsing_is_reserved() {
        let runtime = holdpoint_demo::builder().start().await.expect("starts");
        let server = crate::Server::new(runtime);
        let text = format!("[{}]", vec!["[[]]"; 20_000].join(","));
        let received = server.inner.json_body(Body::from(text), &Subject::local()).await.expect("it is read");
        assert!(server.inner.parsed.taken() > 12_000_000, "{}", server.inner.parsed.taken());
        let held = received.into_held();
        assert!(server.inner.parsed.taken() > 12_000_000, "until the request is done");
        drop(held);
        assert_eq!(server.inner.parsed.taken(), 0);
        let small = server.inner.json_body(Body::from(r#"{"approved":true}"#), &Subject::local()).await;
        assert_eq!((small.is_ok(), server.inner.parsed.taken()), (true, 0), "decisions always get through");
    }
}
