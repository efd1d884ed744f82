//! Pages of lists: `?limit=` and `?after=`, and the `link` to the next page.

use std::{fmt::Display, str::FromStr};

use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use serde::Deserialize;

use crate::request::Failure;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1000;

/// The query of a list.
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// The maximum number of entries, 1 to 1000. 100 by default.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// Only entries after this cursor, which is that of a `next` link.
    after: Option<String>,
}

impl PageQuery {
    /// The query of a list that has parameters of its own, and refuses others.
    pub(super) fn new(limit: Option<String>, after: Option<String>) -> Self {
        Self { limit, after }
    }

    /// The limit and the cursor.
    pub(super) fn read<C: FromStr<Err: Display>>(&self) -> Result<(usize, Option<C>), Failure> {
        let wrong = |limit: &str| Failure::invalid(format!("limit: {limit:?} is not a number from 1 to {MAX_LIMIT}"));
        let limit = match self.limit.as_deref() {
            None => DEFAULT_LIMIT,
            Some(text) => {
                let limit = text.parse().map_err(|_| wrong(text))?;
                if !(1..=MAX_LIMIT).contains(&limit) {
                    return Err(wrong(text));
                }
                limit
            }
        };
        let cursor = |text: &String| {
            let bytes = hex::decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            bytes.unwrap_or_default().parse().map_err(|error: C::Err| Failure::invalid(format!("after: {error}")))
        };
        Ok((limit, self.after.as_ref().map(cursor).transpose()?))
    }
}

/// Adds the link to the next page. It is relative, since the server may be mounted anywhere.
pub(super) fn with_next(response: Response, limit: usize, next: Option<impl Display>) -> Response {
    with_next_of("", response, limit, next)
}

/// The same for a list that has parameters of its own, such as `&all=true`.
pub(super) fn with_next_of(
    parameters: &str,
    mut response: Response,
    limit: usize,
    next: Option<impl Display>,
) -> Response {
    let link = next
        .map(|cursor| format!("<?limit={limit}&after={}{parameters}>; rel=\"next\"", hex::encode(cursor.to_string())));
    if let Some(link) = link.and_then(|link| HeaderValue::try_from(link).ok()) {
        response.headers_mut().insert(header::LINK, link);
    }
    response
}

/// The parameters of a list for its `next` link: those that are set, escaped.
pub(super) fn escaped(parameters: &[(&str, Option<&str>)]) -> String {
    let mut text = String::new();
    for (name, value) in parameters {
        if let Some(value) = value {
            text += &format!("&{name}=");
            text.extend(value.bytes().map(escaped_byte));
        }
    }
    text
}

/// A byte of a query's value: as it is, or with a percent sign.
fn escaped_byte(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use holdpoint_runtime::ChatCursor;

    use super::*;

    fn read(limit: Option<&str>, after: Option<&str>) -> Result<(usize, Option<ChatCursor>), Failure> {
        PageQuery { limit: limit.map(str::to_owned), after: after.map(str::to_owned) }.read()
    }

    #[test]
    fn a_link_leads_to_the_next_page() {
        let cursor: ChatCursor = "7.a<b>,\u{fc}".parse().expect("a cursor");
        let response = with_next(Response::default(), 5, Some(&cursor));
        let link = response.headers()[header::LINK].to_str().expect("text").to_owned();
        let after = link.strip_prefix("<?limit=5&after=").and_then(|rest| rest.strip_suffix(">; rel=\"next\""));
        assert_eq!(read(Some("5"), after), Ok((5, Some(cursor))), "{link}");
        assert!(!with_next(Response::default(), 5, None::<ChatCursor>).headers().contains_key(header::LINK));
    }

    #[test]
    fn what_is_no_limit_or_cursor_is_refused() {
        assert_eq!(read(None, None), Ok((100, None)));
        for limit in ["0", "1001", "-1", "x", "", "1.5"] {
            assert!(read(Some(limit), None).is_err(), "{limit}");
        }
        for after in ["", "x", "zz", "37", "ff2e"] {
            assert!(read(None, Some(after)).is_err(), "{after}");
        }
    }
}
