//! Redaction of keys in every text that leaves this module.

use std::sync::LazyLock;

use regex::Regex;

const HIDDEN: &str = "[hidden]";
/// Maximum length of a text for the log.
const LENGTH: usize = 2000;

/// Patterns of keys that a provider or an HTTP client may repeat: in a URL, in a header, in a sentence.
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [
        r"(?i)(?P<before>[?&](?:api[_-]?)?key=)[^&\s()'\x22<>]+",
        r"(?i)(?P<before>\bbearer\s+)[^\s,'\x22]+",
        r"(?i)(?P<before>\bx-(?:goog-)?api-key\x22?\s*[:=]\s*\x22?)[^\s,'\x22]+",
        r"(?P<before>://)[^/@\s]+@",
        r"(?P<before>)\bsk-[\w*.-]+",
        r"(?P<before>)\bAIza[\w*-]+",
    ];
    // The patterns are constants: an invalid one fails the tests.
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

/// Texts that must not be shown.
#[derive(Clone)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Keys, and URLs that may contain a password.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut secrets = Vec::new();
        for text in texts.into_iter().flatten() {
            match reqwest::Url::parse(text) {
                Ok(url) if url.has_host() => {
                    secrets.extend(url.password().map(str::to_owned));
                    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
                }
                _ => secrets.push(text.to_owned()),
            }
        }
        // A key of three characters or fewer is a placeholder, and masking it would garble every text.
        secrets.retain(|secret| secret.len() > 3);
        // Longest first: one may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// The text without secrets, cut to a length fit for the log.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret.as_str(), HIDDEN);
        }
        for pattern in PATTERNS.iter() {
            text = pattern.replace_all(&text, format!("${{before}}{HIDDEN}")).into_owned();
        }
        // Cut last: half a key would not be recognized.
        match text.char_indices().nth(LENGTH) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_left_in_a_text() {
        assert_eq!(PATTERNS.len(), 6);
        let secrets = Secrets::new([Some("Very+Secret"), Some("https://me:pass-word@proxy.example/v1?token=tok-en")]);
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
            let clean = secrets.clean(text);
            assert!(clean.contains(HIDDEN), "{clean}");
            for secret in ["Secret", "abcdef", "pass-word", "tok-en", "xyz", "SyAbc"] {
                assert!(!clean.contains(secret), "{clean}");
            }
        }
        assert_eq!(secrets.clean("no key here, only a keyboard"), "no key here, only a keyboard");
        assert_eq!(Secrets::new([Some("k")]).clean("ok"), "ok");
    }

    #[test]
    fn a_text_is_cut_after_it_was_cleaned() {
        let long = format!("{}Very+Secret", "é".repeat(LENGTH - 4));
        let clean = Secrets::new([Some("Very+Secret")]).clean(&long);
        assert_eq!(clean.chars().count(), LENGTH + 1);
        assert!(!clean.contains("Very"), "{clean}");
    }
}
