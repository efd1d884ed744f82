//! What is sent and must never be shown.

use std::fmt;

/// How short a word can be and still be hidden: shorter ones are in every other sentence.
const SHORTEST: usize = 4;
const MASK: &str = "•••";

/// A text that is sent to somebody and never shown: a header's value, a variable of a program's environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one who sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Takes secrets out of what others say: an endpoint may well repeat a header in its error.
#[derive(Clone, Default)]
pub(crate) struct Mask(Vec<String>);

impl Mask {
    pub(crate) fn of<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut words: Vec<String> = Vec::new();
        for Secret(text) in secrets {
            words.push(text.clone());
            // Of `Bearer abcd` the second word alone is the secret.
            words.extend(text.split([' ', '=', ';', ',', ':']).map(str::to_owned));
        }
        words.retain(|word| word.chars().count() >= SHORTEST && !word.eq_ignore_ascii_case("bearer"));
        // The longest first: a short one may be a part of it.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        Self(words)
    }

    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, word| text.replace(word, MASK))
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
    }
}
