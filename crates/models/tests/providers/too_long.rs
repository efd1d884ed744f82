//! Refusals that only words tell, in the words of those who say them.

use serde_json::json;

use crate::{
    ask, failure, said,
    server::{Fake, Reply},
    wires::{Anthropic, Gemini, Ollama, OpenAi, Responses, Wire},
};

crate::for_all!(a_missing_permission_is_reported_as_that);

/// Status and body, as the services answer.
#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_too_long_is_known_in_all_words() {
    let openai = |text: &str| json!({"error": {"message": text, "type": "invalid_request_error", "code": null}});
    let plain = |text: &str| json!({"error": text});
    let anthropic = |text: &str| json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}});
    let coded = json!({"error": {"message": "Too much.", "code": "context_length_exceeded"}});
    let cases: [(&dyn Wire, u16, serde_json::Value); 20] = [
        (&OpenAi, 400, coded.clone()),
        (
            &OpenAi,
            400,
            openai(
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
            ),
        ),
        (&Responses, 400, coded),
        (&Responses, 400, openai("Your input exceeds the context window of this model.")),
        (
            &Gemini,
            400,
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}),
        ),
        (&Anthropic, 400, anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
        (
            &Anthropic,
            400,
            anthropic(
                "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000, decrease input length or `max_tokens` and try again",
            ),
        ),
        (
            &Anthropic,
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        ),
        (&Anthropic, 400, json!({"message": "Input is too long for requested model."})),
        (&OpenAi, 400, openai("the request exceeds the available context size, try increasing it")),
        (
            &OpenAi,
            400,
            openai(
                "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens",
            ),
        ),
        (&OpenAi, 400, openai("The decoder prompt (length 9000) is longer than the maximum model length of 8192.")),
        (&OpenAi, 400, openai("This model's maximum prompt length is 131072 but the request contains 140000 tokens.")),
        (
            &OpenAi,
            422,
            openai(
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens and 512 `max_new_tokens`",
            ),
        ),
        (
            &OpenAi,
            400,
            openai(
                "Trying to keep the first 5000 tokens when context the overflows. However, the number of tokens to keep from the initial prompt is greater than the context length.",
            ),
        ),
        (
            &OpenAi,
            400,
            openai(
                "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            ),
        ),
        (&OpenAi, 400, openai("Please reduce the length of the messages or completion.")),
        (&OpenAi, 400, openai("Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)")),
        (&Ollama, 400, plain("the input length exceeds the context length")),
        (&Ollama, 500, plain("prompt too long; exceeded max context length by 200 tokens")),
    ];
    for (wire, status, body) in cases {
        let fake = Fake::start([Reply::error(status, body.to_string())]).await;
        let events = ask(wire, &fake, vec![said("Hi")]).await;
        assert!(failure(&events).message.contains("too long for the model"), "{body}: {events:?}");
        assert_eq!(fake.asked().len(), 1, "it would be as long again: {body}");
    }
}

/// A region, a policy, a model that the account does not have: the key is a good one.
async fn a_missing_permission_is_reported_as_that(wire: &dyn Wire) {
    let words = "Your organization must be verified to use this model.";
    let body = json!({"error": {"message": words, "type": "permission_error", "status": "PERMISSION_DENIED"}});
    let fake = Fake::start([Reply::error(403, body.to_string())]).await;
    let events = ask(wire, &fake, vec![said("Hi")]).await;
    let error = failure(&events);
    assert!(error.message.contains("does not permit") && !error.message.contains("API key"), "{}", error.message);
    assert!(error.detail.contains(words), "{}", error.detail);
    assert_eq!(fake.asked().len(), 1);
}
