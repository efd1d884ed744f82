//! Which of the values that are sent with a call are secret.

use super::Secret;

/// Names with one of these in them have secret values, whoever wrote them: `x-api-key`, `GITHUB_TOKEN`.
const CREDENTIALS: [&str; 11] = [
    "authentication",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "key",
    "passphrase",
    "password",
    "secret",
    "signature",
    "token",
];
/// The same as a whole word: `x-auth`, but not `x-author`.
const CREDENTIAL_WORDS: [&str; 6] = ["auth", "jwt", "pass", "passwd", "pwd", "session"];
/// Headers whose values are not secret, even if they come from a variable.
const PLAIN_HEADERS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-type",
    "origin",
    "prefer",
    "referer",
    "user-agent",
];
/// What comes before the credential in a value.
const SCHEMES: [&str; 6] = ["apikey ", "basic ", "bearer ", "digest ", "key ", "token "];

/// What is secret in the value of this name.
pub(super) fn secrets<'a>(name: &str, value: &'a Secret) -> Vec<&'a str> {
    let name = name.to_ascii_lowercase();
    if PLAIN_HEADERS.contains(&name.as_str()) {
        return Vec::new();
    }
    let all = is_credential(&name).then(|| value.reveal());
    all.into_iter().chain(value.certain()).flat_map(|text| [text, without_scheme(text)]).collect()
}

/// Whether the value of this name is a secret, whatever it is.
pub(super) fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|char: char| !char.is_ascii_alphanumeric());
    CREDENTIALS.iter().any(|part| name.contains(part)) || words.any(|word| CREDENTIAL_WORDS.contains(&word))
}

fn without_scheme(text: &str) -> &str {
    let has = |scheme: &&&str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().find(has).map_or(text, |scheme| text[scheme.len()..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whether_a_value_is_secret() {
        for name in ["Authorization", "x-api-key", "API_KEY", "cookie", "X-Auth", "db_password", "private-token"] {
            assert!(is_credential(name), "{name}");
        }
        for name in ["x-from", "X-GitHub-Api-Version", "x-author", "accept", "x-compass", "LANG"] {
            assert!(!is_credential(name), "{name}");
        }
    }

    #[test]
    fn variables_are_secret_and_literals_by_their_name() {
        let part =
            |text: &str, parts: &[&str]| Secret::with_secret_parts(text, parts.iter().map(|part| (*part).to_owned()));
        assert!(secrets("x-from", &part("production", &[])).is_empty());
        assert!(secrets("accept", &part("text/plain", &["text/plain"])).is_empty());
        assert!(secrets("x-from", &part("to abc", &["abc"])).iter().all(|secret| *secret == "abc"));
        assert!(secrets("authorization", &part("Bearer abc", &[])).contains(&"abc"));
        assert!(secrets("x-shop", &Secret::new("abc")).contains(&"abc"));
    }
}
