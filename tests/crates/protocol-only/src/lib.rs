//! A proxy that watches the streams of a backend written in any language: what the user sees, and what would break it.

use holdpoint_protocol::{
    check::{Checker, Options, Violation},
    ids::MessageId,
    message::UiMessage,
    reduce::{Reducer, Sdk},
    sse::{Decoder, Event},
};

/// The message that a stock client builds from a response, and the rules that the response breaks.
pub fn watch(response: &[u8]) -> (UiMessage, Vec<Violation>) {
    let mut client = Reducer::new(Sdk::V7, MessageId::from("message-1"));
    Decoder::new(1024 * 1024).feed(response, |event| {
        if let Event::Data { data, .. } = event
            && let Ok(chunk) = Sdk::V7.read(data)
        {
            // A client that throws stops reading. The checker says why.
            let _ = client.apply_read(&chunk);
        }
    });
    let mut checker = Checker::new(Options::default());
    checker.feed(response);
    checker.finish();
    (client.into_message(), checker.take_violations())
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::{check::Rule, message::Part};

    use super::*;

    const RESPONSE: &str = concat!(
        "data: {\"type\":\"start\",\"messageId\":\"a\"}\n\n",
        "data: {\"type\":\"text-start\",\"id\":\"0\"}\n\n",
        "data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"Hello\"}\n\n",
        "data: {\"type\":\"text-end\",\"id\":\"0\"}\n\n",
        "data: {\"type\":\"finish\"}\n\n",
        "data: [DONE]\n\n",
    );

    #[test]
    fn a_good_response() {
        let (message, violations) = watch(RESPONSE.as_bytes());
        assert!(matches!(&message.parts[..], [Part::Text(text)] if text.text == "Hello"), "{message:?}");
        assert_eq!(violations, []);
    }

    #[test]
    fn a_response_that_breaks_clients() {
        let (_, violations) = watch(RESPONSE.replace("text-start", "text-end").as_bytes());
        assert_eq!(violations[0].rule, Rule::B1);
    }
}
