//! Masking of secrets in texts: in addresses here, anywhere in a text by `Mask`.

mod credential;
mod mask;
mod secret;

use std::borrow::Cow;

pub use mask::Mask;
pub use secret::Secret;

/// Stands for what is not shown.
pub const MASK: &str = "•••";

/// Masks the user, password, query and fragment of every URL in a text, which may contain keys. The rest still
/// identifies the server.
pub fn urls(text: &str) -> Cow<'_, str> {
    if !text.contains(['?', '@', '#']) {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(is_delimiter).unwrap_or(rest.len());
        address(&rest[..end], &mut masked);
        rest = &rest[end..];
        let gap = rest.find(|char| !is_delimiter(char)).unwrap_or(rest.len());
        masked.push_str(&rest[..gap]);
        rest = &rest[gap..];
    }
    Cow::Owned(masked)
}

/// Characters that end a URL inside a text.
fn is_delimiter(char: char) -> bool {
    char.is_whitespace() || matches!(char, '"' | '\'' | '`' | '<' | '>' | '(' | ')' | '{' | '}' | '\\')
}

fn address(token: &str, masked: &mut String) {
    let mut rest = token;
    if let Some((scheme, after)) = token.split_once("://") {
        let authority = after.find(['/', '?', '#']).map_or(after, |end| &after[..end]);
        masked.push_str(scheme);
        masked.push_str("://");
        rest = after;
        if let Some(at) = authority.rfind('@') {
            masked.push_str(MASK);
            rest = &after[at..];
        }
    } else if !token.contains('/') {
        return masked.push_str(token);
    }
    match rest.find(['?', '#']) {
        // A question mark at the end of a sentence does not start a query. Without a scheme, only `name=value` is a
        // query.
        Some(at) if rest.len() > at + 1 && (rest.len() < token.len() || rest[at..].contains('=')) => {
            masked.push_str(&rest[..=at]);
            masked.push_str(MASK);
        }
        _ => masked.push_str(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_users_are_masked() {
        for (text, masked) in [
            ("https://h.example/mcp?apiKey=s3cret", "https://h.example/mcp?•••"),
            (
                "error for url (http://10.0.0.1:8080/mcp?apiKey=s3cret&a=b): refused",
                "error for url (http://10.0.0.1:8080/mcp?•••): refused",
            ),
            ("https://me:s3cret@h.example/a", "https://•••@h.example/a"),
            ("https://s3cret@h.example", "https://•••@h.example"),
            ("wss://me:s3@cret@h.example?s3cret", "wss://•••@h.example?•••"),
            ("\"http://h/?s3cret\" and 'http://h/#token=s3cret'", "\"http://h/?•••\" and 'http://h/#•••'"),
            ("GET /live?ticket=s3cret HTTP/1.1", "GET /live?••• HTTP/1.1"),
            ("{\"url\":\"http://h/a?k=s3cret\",\"n\":1}", "{\"url\":\"http://h/a?•••\",\"n\":1}"),
            ("http://[::1]:80/mcp?k=s3cret", "http://[::1]:80/mcp?•••"),
            ("a postgres://u:s3cret@db/x\nnext?", "a postgres://•••@db/x\nnext?"),
        ] {
            assert_eq!(urls(text), masked);
        }
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "",
            "is it http://h.example/a?",
            "either/or? yes",
            "ada@example.com asked: 1 + 1 = ?",
            "see https://h.example/a, item #3",
            "a/b?c",
            "日本語 https://例え.jp/あ",
        ] {
            assert_eq!(urls(text), text);
        }
    }
}
