//! Synthetic chunks and captures such as a server writes. They are deterministic and break no rule.

use std::fmt::Write;

use holdpoint_protocol::{
    chunk::{
        Chunk, Finish, FinishReason, FinishStep, Start, StartStep, TextDelta, TextEnd, TextStart, ToolInputAvailable,
        ToolInputDelta, ToolInputStart, ToolOutputAvailable,
    },
    json::Payload,
    sse,
};
use serde_json::{Value, json};

/// Texts of about 20 characters, like bundled tokens: words, punctuation, a line end, quotes, umlauts, Japanese, an
/// emoji.
pub(crate) const TEXTS: [&str; 16] = [
    "The payment of 50 do",
    "llars to Hanako was ",
    "approved and has gon",
    "e through. Your new ",
    "balance is 950 dolla",
    "rs.\n\nHere is what ch",
    "anged:\n- one transfe",
    "r was made today, an",
    "d the reason given w",
    "as \"rent, November\".",
    " The weather in Köln",
    " is 7 °C with light ",
    "rain; 京都は晴れです。",
    "In Tokyo it is sunny",
    " ☀️ and 18 °C, so tak",
    "e no umbrella there.",
];

/// Text deltas of about 20 characters.
pub(crate) fn text_deltas() -> Vec<Chunk> {
    TEXTS.iter().map(|text| text_delta(text)).collect()
}

pub(crate) fn text_delta(text: &str) -> Chunk {
    TextDelta { id: "0".into(), delta: text.to_owned(), provider_metadata: None }.into()
}

/// The chunks before a turn's first text delta.
pub(crate) fn opening(message: &str) -> Vec<Chunk> {
    let start = Start { message_id: Some(message.into()), message_metadata: None };
    vec![start.into(), StartStep {}.into(), text_start()]
}

pub(crate) fn text_start() -> Chunk {
    TextStart { id: "0".into(), provider_metadata: None }.into()
}

pub(crate) fn text_end() -> Chunk {
    TextEnd { id: "0".into(), citations: None, provider_metadata: None }.into()
}

/// A tool's output of about 1 KB: the rows of a search.
pub(crate) fn tool_output(call: &str) -> Chunk {
    let rows: Vec<Value> = (0..8)
        .map(|n| {
            json!({"id": 1000 + n, "title": format!("Invoice {n} of the month"), "amount": 12.5 * f64::from(n),
                "paid": n % 2 == 0, "tags": ["invoice", "november"], "due": "2026-11-30T12:00:00Z"})
        })
        .collect();
    ToolOutputAvailable {
        tool_call_id: call.into(),
        output: Payload::from(json!({"rows": rows, "next": null})),
        provider_executed: None,
        provider_metadata: None,
        tool_metadata: None,
        dynamic: None,
        preliminary: None,
    }
    .into()
}

/// A turn with one tool call, followed by `deltas` text deltas.
pub(crate) fn turn(number: usize, deltas: usize) -> Vec<Chunk> {
    let call = format!("call-{number}");
    let input = json!({"query": "invoices of November", "limit": 8, "order": {"by": "due", "descending": false}});
    let mut chunks = opening(&format!("message-{number}"));
    chunks.extend([text_delta("Let me look that up."), text_end()]);
    chunks.push(
        ToolInputStart {
            tool_call_id: (&*call).into(),
            tool_name: "search_invoices".to_owned(),
            input_encoding: None,
            provider_executed: None,
            provider_metadata: None,
            tool_metadata: None,
            dynamic: None,
            title: None,
        }
        .into(),
    );
    let text: Vec<char> = input.to_string().chars().collect();
    chunks.extend(text.chunks(10).map(|piece| {
        Chunk::from(ToolInputDelta { tool_call_id: (&*call).into(), input_text_delta: piece.iter().collect() })
    }));
    chunks.push(
        ToolInputAvailable {
            tool_call_id: (&*call).into(),
            tool_name: "search_invoices".to_owned(),
            input: Payload::from(input),
            provider_executed: None,
            provider_metadata: None,
            tool_metadata: None,
            dynamic: None,
            title: None,
        }
        .into(),
    );
    chunks.extend([tool_output(&call), FinishStep {}.into(), StartStep {}.into(), text_start()]);
    chunks.extend((0..deltas).map(|n| text_delta(TEXTS[n % TEXTS.len()])));
    let finish = Finish { finish_reason: Some(FinishReason::Stop), message_metadata: None };
    chunks.extend([text_end(), FinishStep {}.into(), finish.into()]);
    chunks
}

/// A turn with this many chunks.
pub(crate) fn turn_of(chunks: usize) -> Vec<Chunk> {
    let others = turn(0, 0).len();
    turn(0, chunks.saturating_sub(others))
}

/// The SSE bytes of chunks.
pub(crate) fn encoded(chunks: &[Chunk]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in chunks {
        sse::encode(chunk, &mut bytes);
    }
    bytes
}

/// A capture of at least this many bytes: whole turns of one chat, with an occasional keep-alive. Every turn has its
/// own ids.
pub(crate) fn capture(bytes: usize) -> Vec<u8> {
    let template = String::from_utf8(encoded(&turn(0, 250))).expect("JSON is UTF-8");
    let mut capture = String::with_capacity(bytes + template.len() + 1000);
    let mut number = 0;
    while capture.len() < bytes {
        number += 1;
        let turn = template
            .replace("\"message-0\"", &format!("\"message-{number}\""))
            .replace("\"call-0\"", &format!("\"call-{number}\""));
        let _ = write!(capture, "{turn}data: [DONE]\n\n: keep-alive\n\n");
    }
    capture.into_bytes()
}

/// A capture of one turn of at least this many bytes, nearly all of them text deltas of about 20 characters.
pub(crate) fn capture_of_deltas(bytes: usize) -> Vec<u8> {
    let deltas = encoded(&text_deltas());
    let mut capture = encoded(&opening("message"));
    capture.reserve(bytes + deltas.len());
    while capture.len() < bytes {
        capture.extend_from_slice(&deltas);
    }
    let finish = Finish { finish_reason: Some(FinishReason::Stop), message_metadata: None };
    capture.extend(encoded(&[text_end(), FinishStep {}.into(), finish.into()]));
    sse::encode_done(&mut capture);
    capture
}

#[cfg(test)]
mod tests {
    use holdpoint_protocol::check::{Checker, Options};

    use super::*;

    #[test]
    fn what_is_made_up_breaks_no_rule_and_has_the_size_it_should() {
        for capture in [capture(300_000), capture_of_deltas(300_000)] {
            assert!((300_000..400_000).contains(&capture.len()));
            let mut checker = Checker::new(Options::default());
            checker.feed(&capture);
            checker.finish();
            assert_eq!(checker.take_violations(), []);
            assert_eq!(checker.unreadable(), None);
        }
        assert_eq!(turn_of(1000).len(), 1000);
        assert!((950..1150).contains(&encoded(&[tool_output("call-0")]).len()));
        let lengths: Vec<usize> = TEXTS.iter().map(|text| text.chars().count()).collect();
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len() as f64;
        assert!((19.0..21.0).contains(&mean), "{lengths:?}");
    }
}
