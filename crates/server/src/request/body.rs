//! Reading bodies and frames, within limits.

use axum::body::Body;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
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

/// Reads JSON, naming what is wrong with it.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], depth: usize) -> Result<T, Failure> {
    check_depth(bytes, depth)?;
    let value = holdpoint_protocol::json::parse(bytes).map_err(|error| Failure::NotJson(error.to_string()))?;
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

/// Counts brackets outside strings, before anything is built of them.
fn check_depth(bytes: &[u8], limit: usize) -> Result<(), Failure> {
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for byte in bytes {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > limit {
                    return Err(Failure::TooDeep { limit });
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_field_at_fault_is_pointed_at() {
        let at = |json: &str| match parse::<HashMap<String, Vec<bool>>>(json.as_bytes(), 10) {
            Err(Failure::Invalid { pointer, .. }) => pointer.expect("a pointer"),
            other => panic!("{other:?}"),
        };
        assert_eq!(at(r#"{"a/b~c": [true, 5]}"#), "/a~1b~0c/1");
        assert_eq!(at("[]"), "");
    }

    #[test]
    fn depth_is_counted_outside_strings() {
        assert_eq!(check_depth(br#"{"a":["[[[[","\"[["]}"#, 2), Ok(()));
        assert_eq!(check_depth(b"[[[]]]", 2), Err(Failure::TooDeep { limit: 2 }));
        assert_eq!(check_depth(b"]]]][", 1), Ok(()));
    }
}
