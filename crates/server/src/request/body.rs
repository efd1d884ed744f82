//! Reading bodies and frames, within limits.

use axum::body::Body;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;

use super::{BodyTimedOut, Failure};

/// The whole body, if it is not too large.
pub(crate) async fn body(body: Body, limit: usize) -> Result<Vec<u8>, Failure> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes().into()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => Err(Failure::TooLarge { limit }),
        Err(error) => Err(timed_out(&*error).map_or(Failure::Incomplete, |limit| Failure::TooSlow { limit })),
    }
}

/// How long the body had, if that is why it did not come.
fn timed_out(error: &(dyn std::error::Error + 'static)) -> Option<std::time::Duration> {
    let errors = std::iter::successors(Some(error), |error| error.source());
    errors.into_iter().find_map(|error| error.downcast_ref::<BodyTimedOut>()).map(|BodyTimedOut(limit)| *limit)
}

/// Reads JSON, naming what is wrong with it.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], depth: usize) -> Result<T, Failure> {
    check_depth(bytes, depth)?;
    let value = holdpoint_protocol::json::parse(bytes).map_err(|error| Failure::NotJson(error.to_string()))?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, text) = (error.path().to_string(), error.inner().to_string());
        Failure::Invalid(if path == "." { text } else { format!("{path}: {text}") })
    })
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
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings() {
        assert_eq!(check_depth(br#"{"a":["[[[[","\"[["]}"#, 2), Ok(()));
        assert_eq!(check_depth(b"[[[]]]", 2), Err(Failure::TooDeep { limit: 2 }));
        assert_eq!(check_depth(b"]]]][", 1), Ok(()));
    }
}
