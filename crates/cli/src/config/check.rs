//! Checks of the settings beyond their types: values that would have no effect, or not the intended one.

use std::path::PathBuf;

use super::{Config, ConfigError};

/// The longest duration: ten years.
const MAX_DURATION_SEC: u64 = 10 * 365 * 24 * 3600;
/// The longest lease: an hour.
pub(super) const MAX_LEASE_SEC: u64 = 3600;
/// The deepest JSON that can be read.
pub(super) const MAX_DEPTH: u64 = 100;

impl Config {
    pub(super) fn check(self) -> Result<Self, ConfigError> {
        self.check_variables()?;
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

    /// Refuses `${…}` where it would be taken as it is written: addresses, files and names, which never have it.
    fn check_variables(&self) -> Result<(), ConfigError> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let jwt = self.auth.jwt.clone().unwrap_or_default();
        let mut texts = vec![
            ("data".to_owned(), path(&self.data)),
            ("model.base_url".to_owned(), self.model.base_url.clone()),
            ("model.use".to_owned(), self.model.use_model.clone()),
            ("logging.otlp".to_owned(), self.logging.otlp.clone()),
            ("auth.jwt.issuer".to_owned(), Some(jwt.issuer)),
            ("auth.jwt.audience".to_owned(), Some(jwt.audience)),
            ("auth.jwt.jwks_url".to_owned(), jwt.jwks_url),
            ("auth.jwt.jwks_file".to_owned(), path(&jwt.jwks_file)),
        ];
        texts.extend(self.origins.iter().enumerate().map(|(at, text)| (format!("origins[{at}]"), Some(text.clone()))));
        for (at, key) in self.auth.keys.iter().enumerate() {
            texts.push((format!("auth.keys[{at}].key_sha256"), Some(key.key_sha256.clone())));
            texts.push((format!("auth.keys[{at}].subject"), Some(key.subject.clone())));
        }
        for server in &self.mcp {
            texts.push((format!("mcp {}.oauth_file", server.name), path(&server.oauth_file)));
        }
        let is_wrong = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains("${"));
        match texts.into_iter().find(|(_, text)| is_wrong(text)) {
            None => Ok(()),
            Some((key, _)) => {
                let variable = match key.contains([' ', '[']) {
                    true => String::new(),
                    false => {
                        let name = key.to_uppercase().replace('.', "__");
                        format!(", or set the variable HOLDPOINT_{name} instead of this setting")
                    }
                };
                Err(wrong(&key, format!("`${{…}}` is not replaced in this setting: write its value{variable}")))
            }
        }
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
