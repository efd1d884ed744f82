//! Removes known secrets, and what looks like one, from texts that leave the process.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use serde_json::{Map, Value};

use super::Secret;
use super::credential;
use super::{MASK, urls};

/// Shorter words are not masked: they occur in every other sentence.
const MIN_SECRET: usize = 4;
/// The same for parts of an address, most of which are not secret: `?format=json`.
const MIN_URL_SECRET: usize = 8;
/// The same for an answer, which is data: a shorter value, such as `true` or `live`, is masked nowhere in it.
const MIN_ANSWER_SECRET: usize = 6;

/// Keys as providers and HTTP clients repeat them: in an address, in a header, in a sentence.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"(?i)(?P<before>[?&](?:api[_-]?)?key=)[^&\s()'\x22<>]+",
        r"(?i)(?P<before>\bbearer\s+)[^\s,'\x22]+",
        r"(?i)(?P<before>\bx-(?:goog-)?api-key\x22?\s*[:=]\s*\x22?)[^\s,'\x22]+",
        r"(?P<before>://)[^/@\s]+@",
        r"(?P<before>)\bsk-[\w*.-]+",
        r"(?P<before>)\bAIza[\w*-]+",
    ];
    // Constant patterns: the tests fail if one does not compile.
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// Removes secrets from texts of others: an endpoint may well repeat a header in its error.
#[derive(Clone, Default)]
pub struct Mask {
    /// The longest first: one may be a part of another.
    words: Vec<String>,
    /// Whether keys are also recognised by their form.
    has_patterns: bool,
}

impl Mask {
    /// A mask for these secrets, and for the words in them: of `Bearer abcd` the second word alone is the secret.
    pub fn of<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let texts: Vec<&str> = secrets.into_iter().map(Secret::reveal).collect();
        let words = texts.iter().flat_map(|text| text.split([' ', '=', ';', ',', ':']));
        let is_secret = |word: &&str| word.chars().count() >= MIN_SECRET && !word.eq_ignore_ascii_case("bearer");
        Self::default().with(texts.iter().copied().chain(words).filter(is_secret))
    }

    /// A mask for the secrets in these headers, for an answer that repeats them. Unlike an error, an answer is data, so
    /// nothing is masked that may be in it for another reason: a literal in the settings, a short word.
    pub fn of_headers(headers: &[(String, Secret)]) -> Self {
        Self::default().with_answer_secrets(headers.iter().flat_map(|(name, value)| credential::secrets(name, value)))
    }

    /// The same for the environment of a program. It is also made of paths, which answers are full of, so only what is
    /// secret by its name counts.
    pub fn of_environment(env: &[(String, Secret)]) -> Self {
        let named = env.iter().filter(|(name, _)| credential::is_credential(name));
        Self::default().with_answer_secrets(named.flat_map(|(name, value)| credential::secrets(name, value)))
    }

    /// A mask for the secrets in these headers, for errors and logs.
    pub fn of_headers_in_errors(headers: &[(String, Secret)]) -> Self {
        let secrets = headers.iter().flat_map(|(name, value)| credential::secrets(name, value));
        let secrets: Vec<Secret> = secrets.map(Secret::new).collect();
        Self::of(&secrets)
    }

    fn with_answer_secrets<'a>(self, secrets: impl Iterator<Item = &'a str>) -> Self {
        let long: Vec<&str> = secrets.filter(|text| text.len() >= MIN_ANSWER_SECRET).collect();
        let words = long.iter().flat_map(|text| text.split([' ', '=', ';', ',', ':']));
        let words = words.filter(|word| word.len() >= MIN_URL_SECRET);
        self.with(long.iter().copied().chain(words))
    }

    /// Also masks these secrets in an answer.
    pub fn and_answer_secrets(self, secrets: &[Secret]) -> Self {
        self.with_answer_secrets(secrets.iter().map(Secret::reveal))
    }

    /// Whether one of the secrets is in these bytes.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        let mut words = self.words.iter().map(String::as_bytes).filter(|word| !word.is_empty());
        words.any(|word| bytes.windows(word.len()).any(|window| window == word))
    }

    /// The value with every secret in its texts and its keys masked. The rest of a text stays as it is, and so does every
    /// field: keys that would become the same are numbered.
    pub fn hide_in(&self, value: &mut Value) {
        if self.words.is_empty() {
            return;
        }
        match value {
            Value::String(text) => self.hide_words(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in(value)),
            Value::Object(map) => {
                if map.keys().any(|key| self.words.iter().any(|word| key.contains(word))) {
                    self.hide_keys(map);
                }
                map.values_mut().for_each(|value| self.hide_in(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn hide_keys(&self, map: &mut Map<String, Value>) {
        let entries = std::mem::take(map);
        let hidden = |key: &str| {
            let mut key = key.to_owned();
            self.hide_words(&mut key);
            key
        };
        // A key without a secret keeps its name, also if it comes after one that would take it.
        let mut taken: HashSet<String> = entries.keys().filter(|key| hidden(key) == **key).cloned().collect();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for (key, value) in entries {
            let base = hidden(&key);
            let mut name = base.clone();
            while base != key && !taken.insert(name.clone()) {
                let number = numbers.entry(base.clone()).or_insert(1);
                *number += 1;
                name = format!("{base} ({number})");
            }
            map.insert(name, value);
        }
    }

    fn hide_words(&self, text: &mut String) {
        for word in &self.words {
            if text.contains(word) {
                *text = text.replace(word, MASK);
            }
        }
    }

    /// A mask for a provider's key and for an address that may contain a password. Other keys are recognised by their form.
    pub fn of_provider<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut words = Vec::new();
        for text in texts.into_iter().flatten() {
            match url::Url::parse(text) {
                Ok(url) if url.has_host() => {
                    words.extend(url.password().map(str::to_owned));
                    words.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
                }
                _ => words.push(text.to_owned()),
            }
        }
        // A key of one or two characters is a placeholder; masking it would make every text unreadable.
        let long = words.iter().map(String::as_str).filter(|word| word.len() >= MIN_SECRET);
        Self { has_patterns: true, ..Self::default() }.with(long)
    }

    /// Also masks what may be secret in an address: the values of its query, and segments of its path that look like a key.
    pub fn and_url(self, url: &str) -> Self {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let values = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value);
        let segments = path.split_once("://").map_or("", |(_, path)| path).split('/').skip(1);
        let is_key = |segment: &&str| {
            segment.len() >= 2 * MIN_URL_SECRET && segment.contains(|char: char| char.is_ascii_digit())
        };
        self.with(values.filter(|value| value.len() >= MIN_URL_SECRET).chain(segments.filter(is_key)))
    }

    /// Also masks these secrets, as a whole and however short: they are known to be secret.
    pub fn and_whole(self, secrets: &[Secret]) -> Self {
        self.with(secrets.iter().map(Secret::reveal).filter(|secret| !secret.is_empty()))
    }

    fn with<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.words.extend(words.into_iter().map(str::to_owned));
        self.words.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.words.dedup();
        self
    }

    /// The text without secrets.
    pub fn hide(&self, text: &str) -> String {
        let hidden = self.words.iter().fold(urls(text).into_owned(), |text, word| text.replace(word, MASK));
        if !self.has_patterns {
            return hidden;
        }
        let replacement = format!("${{before}}{MASK}");
        PATTERNS.iter().fold(hidden, |text, pattern| pattern.replace_all(&text, &*replacement).into_owned())
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

    #[test]
    fn an_answer_that_repeats_a_secret_is_masked_and_the_rest_is_data() {
        let headers = [("authorization", "Bearer s3cr3t-value"), ("accept", "application/json"), ("x-mode", "on")];
        let headers = headers.map(|(name, value)| (name.to_owned(), Secret::new(value)));
        let mut answer = serde_json::json!({
            "headers": {"authorization": "Bearer s3cr3t-value", "accept": "application/json"},
            "s3cr3t-value": ["on", "the bearer of s3cr3t-value", 5, null],
            "next": "https://h.example/list?page=2",
        });
        Mask::of_headers(&headers).hide_in(&mut answer);
        let masked = serde_json::json!({
            "headers": {"authorization": "•••", "accept": "application/json"},
            "•••": ["on", "the bearer of •••", 5, null],
            "next": "https://h.example/list?page=2",
        });
        assert_eq!(answer, masked);
    }

    #[test]
    fn masked_keys_stay_apart() {
        let headers =
            [("x-key".to_owned(), Secret::new("hunter22")), ("x-other-key".to_owned(), Secret::new("hunter33"))];
        let mut answer = serde_json::json!({"hunter22": 1, "hunter33": 2, "•••": 3, "••• (2)": 4, "a": 5});
        Mask::of_headers(&headers).hide_in(&mut answer);
        assert_eq!(answer, serde_json::json!({"••• (3)": 1, "••• (4)": 2, "•••": 3, "••• (2)": 4, "a": 5}));
    }

    #[test]
    fn a_secret_is_found_in_bytes() {
        let mask = Mask::of_headers(&[("x-key".to_owned(), Secret::new("hunter22"))]);
        assert!(mask.is_in(b"\xff\x00hunter22\xff") && !mask.is_in(b"\xffhunter2\xff") && !mask.is_in(b""));
        assert!(!Mask::default().is_in(b"anything"));
    }

    #[test]
    fn no_key_is_left_in_a_text() {
        assert_eq!(PATTERNS.len(), 6);
        let mask = Mask::of_provider([Some("Very+Secret"), Some("https://me:pass-word@proxy.example/v1?token=tok-en")]);
        for text in [
            "a Very+Secret b",
            "error sending request for url (http://x/v1beta/models/m:stream?alt=sse&key=Very%2BSecret)",
            "?key=Very+Secret&alt=sse",
            "Authorization: Bearer abcdef",
            r#"{"x-api-key": "abcdef"}"#,
            "https://me:pass-word@proxy.example/v1",
            "the token tok-en",
            "Incorrect API key provided: sk-proj-abc***xyz.",
            "API key AIzaSyAbc-def not valid",
        ] {
            let clean = mask.hide(text);
            assert!(clean.contains(MASK), "{clean}");
            for secret in ["Secret", "abcdef", "pass-word", "tok-en", "xyz", "SyAbc"] {
                assert!(!clean.contains(secret), "{clean}");
            }
        }
        assert_eq!(mask.hide("no key here, only a keyboard"), "no key here, only a keyboard");
        assert_eq!(Mask::of_provider([Some("k")]).hide("ok"), "ok");
    }
}
