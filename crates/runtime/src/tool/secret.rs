//! Secrets, which are sent but never shown.

use std::fmt;

use crate::redact::{self, MASK};

/// The shortest word that is masked: shorter ones occur in ordinary text.
const SHORTEST: usize = 4;
/// The same for parts of a URL, most of which are not secret: `?format=json`.
const SHORTEST_OF_URL: usize = 8;

/// A text that is sent but never shown: a header's value, a variable of a program's environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for sending.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Masks secrets in text from elsewhere: an endpoint may repeat a header in its error.
#[derive(Clone, Default)]
pub(crate) struct Mask(Vec<String>);

impl Mask {
    pub(crate) fn of<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut words: Vec<String> = Vec::new();
        for Secret(text) in secrets {
            words.push(text.clone());
            // In `Bearer abcd`, the second word alone is the secret.
            words.extend(text.split([' ', '=', ';', ',', ':']).map(str::to_owned));
        }
        words.retain(|word| word.chars().count() >= SHORTEST && !word.eq_ignore_ascii_case("bearer"));
        // Longest first: one may be part of another.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        Self(words)
    }

    /// Adds the parts of a URL that may be secret: its query, and path segments that look like a key.
    pub(crate) fn and_url(mut self, url: &str) -> Self {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let values = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
        self.0.extend(values.filter(|value| value.len() >= SHORTEST_OF_URL).map(str::to_owned));
        let segments = path.split_once("://").map_or("", |(_, path)| path).split('/').skip(1);
        let is_key = |segment: &&str| {
            segment.len() >= 2 * SHORTEST_OF_URL && segment.contains(|char: char| char.is_ascii_digit())
        };
        self.0.extend(segments.filter(is_key).map(str::to_owned));
        self.0.sort_by_key(|word| std::cmp::Reverse(word.len()));
        self
    }

    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(redact::urls(text).into_owned(), |text, word| text.replace(word, MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new("Bearer s3cr3t-value");
        assert_eq!(format!("{secret:?}"), MASK);
        let mask = Mask::of([&secret, &Secret::new("on")]);
        assert_eq!(mask.hide("got Bearer s3cr3t-value"), "got •••");
        assert_eq!(mask.hide("the key s3cr3t-value is based on nothing"), "the key ••• is based on nothing");
        assert_eq!(mask.hide("at http://me:you@h/a?b=c"), "at http://•••@h/a?•••");
    }

    #[test]
    fn the_keys_of_an_address_are_hidden_wherever_they_are_said() {
        let url = "https://mcp.example/api/s/Zm9vYmFyMTIzNDU2Nzg5/mcp?apiKey=k-12345678&format=json";
        let mask = Mask::default().and_url(url);
        assert_eq!(mask.hide(url), "https://mcp.example/api/s/•••/mcp?•••");
        assert_eq!(mask.hide("no such key k-12345678, send json"), "no such key •••, send json");
    }
}
