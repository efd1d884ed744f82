//! Checks of the settings beyond their types: values that would have no effect, or not the intended one.

use super::{Config, ConfigError};

/// The longest duration: ten years.
const MAX_DURATION_SEC: u64 = 10 * 365 * 24 * 3600;
/// The longest lease: an hour.
pub(super) const MAX_LEASE_SEC: u64 = 3600;
/// The deepest JSON that can be read.
pub(super) const MAX_DEPTH: u64 = 100;

impl Config {
    pub(super) fn check(self) -> Result<Self, ConfigError> {
        for (at, origin) in self.origins.iter().enumerate() {
            if let Some(problem) = origin_problem(origin) {
                return Err(ConfigError::Value { key: format!("origins[{at}]"), problem });
            }
        }
        if self.log.is_some() && self.data.is_some() {
            return Err(wrong("data", "has no effect with `log`: remove one of them".to_owned()));
        }
        let times = self.tools.iter().map(|(name, tool)| (format!("tools.{name}"), tool.approval_timeout_sec));
        let times = times.chain(self.mcp.iter().map(|mcp| (format!("mcp {}", mcp.name), mcp.approval_timeout_sec)));
        for (key, seconds) in times {
            if seconds.is_some_and(|seconds| seconds > MAX_DURATION_SEC) {
                let found = seconds.unwrap_or_default();
                let problem = format!("{found}: must be from 0 to {MAX_DURATION_SEC} (ten years); 0 means no limit");
                return Err(wrong(&format!("{key}.approval_timeout_sec"), problem));
            }
        }
        Ok(self)
    }
}

fn wrong(key: &str, problem: String) -> ConfigError {
    ConfigError::Value { key: key.to_owned(), problem }
}

/// Browsers send `scheme://host[:port]`, in lower case and without the scheme's default port. Nothing else would ever
/// match.
fn origin_problem(origin: &str) -> Option<String> {
    let example = "write it as a browser sends it, such as https://app.example or http://localhost:5173";
    if origin.contains('*') {
        return Some(format!("{origin:?}: there are no wildcards; list every origin. {example}"));
    }
    let authority = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let Some(authority) = authority else { return Some(format!("{origin:?} has no http:// or https://; {example}")) };
    let port = match origin.starts_with("https") {
        true => ":443",
        false => ":80",
    };
    let is_sent = !authority.is_empty()
        && !authority.contains(['/', '?', '#', '@', ' '])
        && !authority.ends_with(port)
        && authority.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase());
    (!is_sent).then(|| format!("{origin:?} is never sent by a browser; {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_what_browsers_send() {
        for good in ["https://app.example", "http://localhost:5173", "http://[::1]:8080", "https://app.example:8443"] {
            assert_eq!(origin_problem(good), None, "{good}");
        }
        for bad in [
            "*",
            "https://*.example",
            "app.example",
            "https://app.example/",
            "https://APP.example",
            "https://app.example:443",
            "http://app.example:80",
            "https://",
            "https://user@app.example",
            "https://bücher.example",
            "",
            "null",
        ] {
            assert!(origin_problem(bad).is_some(), "{bad}");
        }
    }
}
