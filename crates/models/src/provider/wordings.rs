//! What providers say only in words. Where a vendor has a code for it, the code decides; these are the rest, in one place.

use serde_json::Value;

/// The codes of an error: names that are not for people.
pub(super) fn codes(body: &Value) -> Vec<&str> {
    // Some gateways answer with a list of one.
    let body = body.get(0).unwrap_or(body);
    let error = body.get("error").unwrap_or(body);
    let mut codes: Vec<&str> = ["code", "type", "status"].iter().filter_map(|key| error.get(key)?.as_str()).collect();
    // Azure has the reason of a filter inside, Google that of a key.
    codes.extend(error.pointer("/innererror/code").and_then(Value::as_str));
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    codes.extend(details.filter_map(|detail| detail.get("reason")?.as_str()));
    codes
}

/// Who says it, and how. All of them have to be in one text, in this order; upper and lower case are the same.
const TOO_LONG: [(&str, &[&str]); 17] = [
    // "This model's maximum context length is 8192 tokens", also of vLLM and DeepSeek, without a code.
    ("OpenAI", &["maximum context length"]),
    ("OpenAI Responses", &["exceeds the context window"]),
    ("Anthropic", &["prompt is too long"]),
    ("Anthropic", &["input length and", "exceed context limit"]),
    ("Gemini", &["input token count", "exceeds the maximum number of tokens"]),
    ("llama.cpp", &["exceeds the available context size"]),
    ("OpenRouter", &["maximum context length"]),
    ("vLLM", &["longer than the maximum model length"]),
    ("xAI", &["maximum prompt length"]),
    ("Together", &["`inputs` tokens + `max_new_tokens` must be"]),
    ("LM Studio", &["greater than the context length"]),
    ("LM Studio", &["trying to keep the first", "loaded with context length of only"]),
    ("Groq", &["reduce the length of the messages"]),
    ("Moonshot", &["exceeded model token limit"]),
    ("Bedrock", &["input is too long for requested model"]),
    ("Ollama", &["input length exceeds the context length"]),
    ("Ollama", &["prompt too long"]),
];

/// Whether a conversation does not fit the model's context.
pub(super) fn is_too_long(body: &str) -> bool {
    let body = body.to_lowercase();
    TOO_LONG.iter().any(|(_, words)| has_in_order(&body, words))
}

fn has_in_order(text: &str, words: &[&str]) -> bool {
    let mut rest = Some(text);
    for word in words {
        rest = rest.and_then(|rest| rest.split_once(word)).map(|(_, rest)| rest);
    }
    rest.is_some()
}

/// Whether the account has no credit left. Anthropic has no code for it.
pub(super) fn is_out_of_credit(body: &str) -> bool {
    body.to_lowercase().contains("credit balance is too low")
}

/// Whether Anthropic does not take thinking blocks back:
/// <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation>.
pub(super) fn is_bound_elsewhere(body: &str) -> bool {
    let body = body.to_lowercase();
    body.contains("bound to a different conversation")
        || ["`thinking` block", "`redacted_thinking` block"]
            .iter()
            .any(|block| has_in_order(&body, &["invalid `signature` in", block]))
}

/// Whether a server, or a gateway, refuses what is sent so that thinking blocks are dropped.
pub(super) fn refuses_binding(body: &str) -> bool {
    let body = body.to_lowercase();
    !is_bound_elsewhere(&body)
        && ["block_binding", "thinking-binding-controls", "adaptive"].iter().any(|word| body.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn codes_are_found_where_vendors_put_them() {
        for (body, code) in [
            (json!({"error": {"message": "m", "type": "a", "code": null}}), "a"),
            (
                json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}),
                "API_KEY_INVALID",
            ),
            (json!({"type": "error", "error": {"type": "overloaded_error"}}), "overloaded_error"),
            (json!({"type": "error", "code": "server_error"}), "server_error"),
            (json!([{"error": {"status": "NOT_FOUND"}}]), "NOT_FOUND"),
        ] {
            assert!(codes(&body).contains(&code), "{code} in {body}");
        }
        assert_eq!(codes(&json!({"error": "text"})), [""; 0]);
    }

    #[test]
    fn other_trouble_with_lengths_is_not_that() {
        for text in
            ["max_tokens: 300000 > 128000, which is the maximum", "string too long", "array too long. Expected 128"]
        {
            assert!(!is_too_long(text), "{text}");
        }
    }
}
