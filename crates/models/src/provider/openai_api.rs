//! Which of OpenAI's two APIs a model is asked through.

use super::spec::is_host_of;

/// An API of OpenAI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenAiApi {
    /// Chat Completions, which every compatible server has.
    Chat,
    /// Responses. Current models of OpenAI take function tools only there.
    Responses,
}

/// Families of models for which Chat Completions does all that they can.
const EARLIER: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt-4"];

impl OpenAiApi {
    /// Both, with their names in settings.
    pub const ALL: [(&'static str, Self); 2] = [("chat", Self::Chat), ("responses", Self::Responses)];

    /// The API of a model, where none is set.
    pub(super) fn of(model: &str, base_url: Option<&str>) -> Self {
        let family = model.strip_prefix("ft:").unwrap_or(model);
        let is_earlier = EARLIER.iter().any(|earlier| family.starts_with(earlier));
        let is_openai = base_url.is_none_or(|url| is_host_of(url, "openai.com"));
        if is_openai && !is_earlier { Self::Responses } else { Self::Chat }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `gpt-5.4` and later refuse function tools on Chat Completions, whether or not an effort is set:
    /// <https://github.com/openai/openai-openapi/issues/541>.
    #[test]
    fn the_api_follows_from_the_family_and_the_address() {
        use OpenAiApi::{Chat, Responses};
        for (model, url, api) in [
            ("gpt-5.4-mini", None, Responses),
            ("gpt-5", Some("https://api.openai.com/v1"), Responses),
            ("o4-mini", None, Responses),
            ("gpt-6", Some("https://eu.api.openai.com/v1"), Responses),
            ("gpt-4o", None, Chat),
            ("ft:gpt-4.1-mini:acme::x", None, Chat),
            ("gpt-3.5-turbo", None, Chat),
            ("gpt-5.4", Some("https://openrouter.ai/api/v1"), Chat),
            ("qwen3-8b", Some("http://127.0.0.1:8000/v1"), Chat),
        ] {
            assert_eq!(OpenAiApi::of(model, url), api, "{model} at {url:?}");
        }
    }
}
