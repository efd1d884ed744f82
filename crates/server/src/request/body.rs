//! Reading bodies and frames, within limits.

use axum::body::Body;
use holdpoint_protocol::json::{self, ReadError};
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use super::Failure;

/// The whole body, if it is not too large.
pub(crate) async fn body(body: Body, limit: usize) -> Result<Vec<u8>, Failure> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes().into()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Failure::TooLarge { limit }),
        Err(_) => Err(Failure::Incomplete),
    }
}

/// Reads JSON, naming what is wrong with it. Not for a `Value`: see [`value`].
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], limits: json::Limits) -> Result<T, Failure> {
    read(value(bytes, limits)?)
}

/// The JSON itself.
pub(crate) fn value(bytes: &[u8], limits: json::Limits) -> Result<Value, Failure> {
    json::parse_within(bytes, limits).map_err(|error| match error {
        ReadError::TooDeep { limit } => Failure::TooDeep { limit },
        ReadError::TooManyNodes { limit } => Failure::TooManyNodes { limit },
        ReadError::Syntax(error) => Failure::NotJson(error.to_string()),
    })
}

/// Reads what the JSON says, naming the field that is wrong.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, text) = (error.path().to_string(), error.inner().to_string());
        let detail = if path == "." { text } else { format!("{path}: {text}") };
        Failure::Invalid { detail, pointer: Some(pointer(error.path())) }
    })
}

/// A JSON Pointer (RFC 6901) to where reading stopped.
fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => pointer.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            // The name of a variant stands in no path.
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
        let at = |text: &str| match parse::<HashMap<String, Vec<bool>>>(text.as_bytes(), json::Limits::NONE) {
            Err(Failure::Invalid { pointer, .. }) => pointer.expect("a pointer"),
            other => panic!("{other:?}"),
        };
        assert_eq!(at(r#"{"a/b~c": [true, 5]}"#), "/a~1b~0c/1");
        assert_eq!(at("[]"), "");
    }
}
