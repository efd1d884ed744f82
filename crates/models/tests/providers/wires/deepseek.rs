//! DeepSeek: Chat Completions, with a thinking mode that wants its reasoning back.

use holdpoint_runtime::model::provider::Provider;

use super::*;

pub(crate) struct DeepSeek;

impl Wire for DeepSeek {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn model(&self) -> &'static str {
        "gpt-test"
    }

    /// The service is recognised by its address.
    fn base(&self, url: &str) -> String {
        format!("{url}/deepseek.com")
    }

    fn path(&self) -> &'static str {
        "/deepseek.com/chat/completions"
    }

    fn answer(&self, answer: &Answer) -> Reply {
        OpenAi.answer(answer)
    }

    fn sent(&self, asked: &Asked) -> Vec<Sent> {
        OpenAi.sent(asked)
    }

    fn reasoning(&self, asked: &Asked) -> Vec<String> {
        OpenAi.reasoning(asked)
    }

    /// <https://api-docs.deepseek.com/guides/thinking_mode.md>: for turns that do perform tool calls, `reasoning_content`
    /// must be passed back in all subsequent requests; otherwise the API returns a 400 error.
    fn refusal(&self, asked: &Asked) -> Option<String> {
        let system = list(&asked.body, "/messages").iter().find(|message| message["role"] == "system");
        if system.is_some_and(|message| !message["content"].is_string()) {
            return Some("messages[0]: invalid type: sequence, expected a string".to_owned());
        }
        let calls = |message: &&Value| message["role"] == "assistant" && message["tool_calls"].is_array();
        let mut calls = list(&asked.body, "/messages").iter().filter(calls);
        let is_missing = calls.any(|message| !message["reasoning_content"].is_string());
        is_missing.then(|| "The `reasoning_content` in the thinking mode must be passed back to the API.".to_owned())
    }

    fn settings(&self, asked: &Asked) -> SentSettings {
        OpenAi.settings(asked)
    }

    fn effort(&self, asked: &Asked) -> String {
        OpenAi.effort(asked)
    }

    fn has_key(&self, asked: &Asked, key: &str) -> bool {
        OpenAi.has_key(asked, key)
    }

    fn wrong_key(&self, key: &str) -> Reply {
        OpenAi.wrong_key(key)
    }

    fn unknown_model(&self) -> Reply {
        OpenAi.unknown_model()
    }

    fn too_long(&self) -> Reply {
        OpenAi.too_long()
    }

    fn filtered(&self) -> Option<Reply> {
        OpenAi.filtered()
    }

    fn broken(&self) -> Reply {
        OpenAi.broken()
    }

    fn malformed(&self) -> Reply {
        OpenAi.malformed()
    }

    fn streams_arguments(&self) -> bool {
        true
    }
}
