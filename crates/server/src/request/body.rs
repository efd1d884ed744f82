//! Reading bodies and frames, within limits.

use axum::body::Body;
use holdpoint_protocol::json::{self, ReadError};
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;

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
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8], limits: json::Limits) -> Result<T, Failure> {
    let value = json::parse_within(bytes, limits).map_err(|error| match error {
        ReadError::TooDeep { limit } => Failure::TooDeep { limit },
        ReadError::TooManyNodes { limit } => Failure::TooManyNodes { limit },
        ReadError::Syntax(error) => Failure::NotJson(error.to_string()),
    })?;
    read(value)
}

/// Reads what the JSON says, naming the field that is wrong.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, text) = (error.path().to_string(), error.inner().to_string());
        Failure::Invalid(if path == "." { text } else { format!("{path}: {text}") })
    })
}
