//! The rules of the three timing documents, each with its test: when `[DONE]` comes, when text comes, when the client sends by itself.

mod support;

use holdpoint_protocol::auto_send::{AutoSend, Context, decide};
use serde_json::{Value, json};
use support::{Answer, Live, TestServer, types};

const PAY: &str = "send 50 dollars to Hanako";
const IN_A_ROW: &str = "find inactive users and deactivate them";

fn dones(chunks: &[Value]) -> usize {
    chunks.iter().filter(|chunk| **chunk == "[DONE]").count()
}

/// `[DONE]` after every response of a server tool, the intermediate ones included.
#[tokio::test]
async fn seed_000_done_after_every_response_of_a_server_tool() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    let first = chat.ask(PAY).await;
    assert_eq!((dones(&first), first.last()), (1, Some(&json!("[DONE]"))));
    let approval = chat.approval(0);
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    let second = chat.read(&mut sse).await;
    assert_eq!((dones(&second), second.last()), (1, Some(&json!("[DONE]"))));
    let start = |chunks: &[Value]| chunks[0]["messageId"].clone();
    assert_eq!(start(&first), start(&second), "a continuation reuses the message's id");
}

/// After the approval of a frontend tool the response stays open: no `[DONE]` before the result.
#[tokio::test]
async fn seed_000_no_done_between_approval_and_result() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask("where am I").await;
    let (call, approval) = (chat.call(0), chat.approval(0));
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    let start = sse.next().await.expect("start");
    assert!(start.contains("\"start\""), "{start}");
    // Whatever else came before the result would be read here first.
    let (status, _) = server.ack(&call, "success", json!({"latitude": 1, "longitude": 2, "accuracy": 3})).await;
    assert_eq!(status, 200);
    let next = sse.next().await.expect("the outcome");
    assert!(next.contains("tool-output-available"), "{next}");
    let mut payloads = vec![start, next];
    payloads.extend(sse.rest().await);
    let chunks = chat.take(payloads);
    assert_eq!(dones(&chunks), 1);
}

/// The result brings the answer and one `[DONE]`, a failure as well as a success.
#[tokio::test]
async fn seed_000_done_after_the_result() {
    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say("where am I").await;
    live.until("finish-step").await;
    let (call, approval) = live.last_call();
    live.decide(&call, &approval.expect("a question"), true).await;
    live.send(&json!({"type": "tool_result", "toolCallId": call, "errorText": "User denied Geolocation"})).await;
    let chunks = live.until("[DONE]").await;
    assert_eq!(types(&chunks), ["tool-output-error", "text-delta", "finish", "[DONE]"]);
    assert_eq!(chunks[0]["errorText"], "User denied Geolocation");
}

/// An approval and the result that follows it may come in one request or in two; in two, both responses carry what follows.
#[tokio::test]
async fn seed_000_answers_in_one_request_or_two() {
    let server = TestServer::demo().await;
    let place = json!({"latitude": 1, "longitude": 2, "accuracy": 3});
    let mut chat = server.chat();
    chat.ask("where am I").await;
    let (call, approval) = (chat.call(0), chat.approval(0));
    chat.put(&[Answer::Approve(&approval)]);
    let mut sse = chat.answer(&[Answer::Output(&call, place.clone())]).await;
    let chunks = chat.read(&mut sse).await;
    assert_eq!(types(&chunks), ["start", "tool-output-available", "text-delta", "finish", "[DONE]"]);

    let mut chat = server.chat();
    chat.ask("where am I").await;
    let (call, approval) = (chat.call(0), chat.approval(0));
    let mut first = chat.answer(&[Answer::Approve(&approval)]).await;
    let start = first.next().await.expect("start");
    let mut second_tab = chat.another_tab();
    let mut second = second_tab.answer(&[Answer::Output(&call, place)]).await;
    let mut payloads = vec![start];
    payloads.extend(first.rest().await);
    let (first, second) = (chat.take(payloads), second_tab.read(&mut second).await);
    let expected = ["start", "tool-output-available", "text-delta", "finish", "[DONE]"];
    assert_eq!(
        (types(&first), types(&second)),
        (expected.map(str::to_owned).to_vec(), expected.map(str::to_owned).to_vec())
    );
}

#[tokio::test]
async fn seed_003_rule_1_no_text_with_the_first_request() {
    let server = TestServer::script(json!({"turns": [{"steps": [
        [{"text": ["Let me ", "pay."]}, {"toolCall": {"name": "process_payment", "input": {"amount": 5, "recipient": "K", "currency": "USD"}}}],
        [{"text": ["Paid."]}],
    ]}]}))
    .await;
    let mut chat = server.chat();
    let chunks = chat.ask("go").await;
    assert_eq!(
        types(&chunks),
        ["start", "tool-input-start", "tool-input-available", "tool-approval-request", "finish", "[DONE]"]
    );
    let approval = chat.approval(0);
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    let chunks = chat.read(&mut sse).await;
    assert_eq!(chat.text(), "Let me pay.Paid.");
    let deltas: Vec<&str> = chunks.iter().filter_map(|chunk| chunk["delta"].as_str()).collect();
    assert_eq!(deltas, ["Let me ", "pay.", "Paid."], "delta by delta");
}

#[tokio::test]
async fn seed_003_rule_2_intermediate_has_only_the_request() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(IN_A_ROW).await;
    let approval = chat.approval(0);
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    let chunks = chat.read(&mut sse).await;
    assert_eq!(
        types(&chunks),
        ["start", "tool-input-start", "tool-input-available", "tool-approval-request", "finish", "[DONE]"]
    );
}

#[tokio::test]
async fn seed_003_rule_3_all_text_then_all_results() {
    let server = TestServer::demo().await;
    let mut chat = server.chat();
    chat.ask(IN_A_ROW).await;
    for at in 0..2 {
        let approval = chat.approval(at);
        let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
        chat.read(&mut sse).await;
    }
    let last = chat.segments.last().expect("a segment");
    assert_eq!(
        types(last),
        ["start", "text-delta", "tool-output-available", "tool-output-available", "finish", "[DONE]"]
    );
}

/// On live the first result is sent before the second request, and there is one `[DONE]`.
#[tokio::test]
async fn seed_003_live_results_at_once() {
    let server = TestServer::demo().await;
    let mut live = Live::connect(&server, "").await;
    live.say(IN_A_ROW).await;
    live.until("finish-step").await;
    let (call, approval) = live.last_call();
    live.decide(&call, &approval.expect("a question"), true).await;
    let chunks = live.until("tool-approval-request").await;
    assert_eq!(
        types(&chunks),
        ["tool-output-available", "tool-input-start", "tool-input-available", "start-step", "tool-approval-request"]
    );
    live.until("finish-step").await;
    let (call, approval) = live.last_call();
    live.decide(&call, &approval.expect("a question"), true).await;
    live.until("[DONE]").await;
    assert_eq!(dones(&live.chunks), 1);
}

/// The client's own decision, asked after every response and every answer: it sends once for each answered round, and never again.
#[tokio::test]
async fn seed_004_the_client_sends_exactly_when_it_should() {
    for (said, rounds) in [
        (PAY, 1),
        (IN_A_ROW, 1),
        ("send 30 dollars to Alice and 40 dollars to Bob", 1),
        ("what's the weather in Tokyo", 0),
    ] {
        let server = TestServer::demo().await;
        let mut chat = server.chat();
        let mut context = Context {
            frontend_tools: Some(["get_location".to_owned(), "open-url".to_owned()].into()),
            ..Context::default()
        };
        chat.ask(said).await;
        let mut sends = 0;
        loop {
            assert!(!decide(&chat.messages, &context).is_send(), "{said}: not before anything is answered");
            let open: Vec<String> = serde_json::to_value(chat.messages.last()).expect("json")["parts"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|part| part["state"] == "approval-requested")
                .filter_map(|part| part["approval"]["id"].as_str().map(str::to_owned))
                .collect();
            let Some((last, first)) = open.split_last() else { break };
            for id in first {
                chat.put(&[Answer::Approve(id)]);
                assert!(!decide(&chat.messages, &context).is_send(), "{said}: not while a question is open");
            }
            chat.put(&[Answer::Deny(last, None)]);
            let AutoSend::Send { answers, .. } = decide(&chat.messages, &context) else {
                panic!("{said}: it must send")
            };
            context.sent.extend(answers);
            sends += 1;
            let mut sse = chat.answer(&[]).await;
            chat.read(&mut sse).await;
        }
        // A denied search is not followed by an update: one round.
        assert_eq!(sends, rounds, "{said}");
    }
}

/// A client that can take text early gets it as it comes.
#[tokio::test]
async fn progressive_text_comes_at_once() {
    let script = json!({"turns": [{"steps": [
        [{"text": ["Let me pay."]}, {"toolCall": {"name": "process_payment", "input": {"amount": 5, "recipient": "K", "currency": "USD"}}}],
        [{"text": ["Paid."]}],
    ]}]});
    let server = TestServer::script(script.clone()).await;
    let mut chat = server.chat().progressive();
    let chunks = chat.ask("go").await;
    assert_eq!(
        types(&chunks),
        [
            "start",
            "text-delta",
            "tool-input-start",
            "tool-input-available",
            "tool-approval-request",
            "finish",
            "[DONE]"
        ]
    );
    let mut live = Live::connect(&server, "?text=progressive").await;
    live.say("go").await;
    let chunks = live.until("finish-step").await;
    assert_eq!(types(&chunks)[..2], ["start", "text-delta"]);
}

/// A client without the ack: the response ends, and its next request carries the result.
#[tokio::test]
async fn resubmit_ends_the_response() {
    let server = TestServer::demo().await;
    let mut chat = server.chat().resubmit();
    let chunks = chat.ask("open https://example.com").await;
    assert_eq!(types(&chunks), ["start", "tool-input-start", "tool-input-available", "finish", "[DONE]"]);
    assert_eq!(chunks[chunks.len() - 2]["finishReason"], "stop");
    let call = chat.call(0);
    let mut sse = chat.answer(&[Answer::Output(&call, json!({"url": "https://example.com", "viewKey": "v"}))]).await;
    let chunks = chat.read(&mut sse).await;
    assert_eq!(types(&chunks), ["start", "tool-output-available", "text-delta", "finish", "[DONE]"]);
    assert_eq!(
        chunks[1]["output"],
        json!({"toolCallId": call, "status": "success", "output": {"url": "https://example.com", "viewKey": "v"}})
    );

    // Where the call needs approval too, it is announced once more after it.
    let mut chat = server.chat().resubmit();
    chat.ask("where am I").await;
    let (call, approval) = (chat.call(0), chat.approval(0));
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    let chunks = chat.read(&mut sse).await;
    assert_eq!(types(&chunks), ["start", "tool-input-available", "finish", "[DONE]"]);
    assert_eq!(chunks[2]["finishReason"], "tool-calls");
    let mut sse = chat.answer(&[Answer::Output(&call, json!({"latitude": 1, "longitude": 2}))]).await;
    assert!(types(&chat.read(&mut sse).await).contains(&"tool-output-available".to_owned()));
}

/// An approval and its browser's result in one request: nothing waits in between, so no outcome is sent in a segment that
/// asks again.
#[tokio::test]
async fn resubmit_with_an_approval_and_its_result_in_one_request() {
    let pay = json!({"toolCall": {"name": "process_payment", "input": {"amount": 5, "recipient": "Mika", "currency": "USD"}}});
    let (locate, open) = (
        json!({"toolCall": {"name": "get_location", "input": {}}}),
        json!({"toolCall": {"name": "open-url", "input": {"url": "https://example.com"}}}),
    );
    for browser in [vec![locate.clone()], vec![locate.clone(), locate.clone()], vec![locate, open]] {
        let steps = json!([[pay.clone()], browser, [pay.clone()], [{"text": ["All done."]}]]);
        let server = TestServer::script(json!({"turns": [{"when": "go", "steps": steps}]})).await;
        let mut chat = server.chat().resubmit();
        chat.ask("go").await;
        let first = chat.approval(0);
        let mut sse = chat.answer(&[Answer::Approve(&first)]).await;
        chat.read(&mut sse).await;
        let calls = chat.calls();
        for (name, call, approval) in &calls[1..] {
            let output = json!({"latitude": 1, "longitude": 2, "accuracy": 3});
            approval.iter().for_each(|id| chat.put(&[Answer::Approve(id)]));
            chat.put(&[Answer::Output(call, output)]);
            assert_eq!(approval.is_some(), name == "get_location");
        }
        let mut sse = chat.answer(&[]).await;
        let asked = chat.read(&mut sse).await;
        let expected =
            ["start", "tool-input-start", "tool-input-available", "tool-approval-request", "finish", "[DONE]"];
        assert_eq!(types(&asked), expected, "{calls:?}");
        let last = chat.approval(calls.len());
        let mut sse = chat.answer(&[Answer::Approve(&last)]).await;
        let end = types(&chat.read(&mut sse).await);
        let outcomes = end.iter().filter(|kind| *kind == "tool-output-available").count();
        assert_eq!(outcomes, calls.len() + 1, "{end:?}");
    }
}

/// The inbox decides while no response is open, so nobody gets what follows from that at once. The client's next request
/// brings the browser's result too: the outcomes of the first step are still not sent in a segment that asks again, and
/// the same request from another tab gets the same.
#[tokio::test]
async fn resubmit_after_a_decision_in_the_inbox() {
    let pay = json!({"toolCall": {"name": "process_payment", "input": {"amount": 5, "recipient": "Mika", "currency": "USD"}}});
    let locate = json!({"toolCall": {"name": "get_location", "input": {}}});
    let open = json!({"toolCall": {"name": "open-url", "input": {"url": "https://example.com"}}});
    for (second, approved) in [(vec![locate], true), (vec![pay.clone(), open], false)] {
        let steps = json!([[pay.clone()], second, [pay.clone()], [{"text": ["All done."]}]]);
        let server = TestServer::script(json!({"turns": [{"when": "go", "steps": steps}]})).await;
        let mut chat = server.chat().resubmit();
        chat.ask("go").await;
        let first = chat.approval(0);
        let mut sse = chat.answer(&[Answer::Approve(&first)]).await;
        chat.read(&mut sse).await;
        let (asked, browser) = (chat.approval(1), chat.calls().pop().expect("a call").1);
        let (status, _) = server.post(&format!("/api/approvals/{asked}"), &json!({"approved": approved})).await;
        assert_eq!(status, 200);
        chat.put(&[Answer::Approve(&asked)]);
        chat.put(&[Answer::Output(&browser, json!({"url": "https://example.com", "viewKey": "v"}))]);
        let mut tab = chat.another_tab();
        let expected =
            ["start", "tool-input-start", "tool-input-available", "tool-approval-request", "finish", "[DONE]"];
        for chat in [&mut chat, &mut tab] {
            let mut sse = chat.answer(&[]).await;
            assert_eq!(types(&chat.read(&mut sse).await), expected);
        }
        let (calls, last) = (chat.calls().len(), chat.calls().pop().and_then(|call| call.2).expect("a question"));
        let mut sse = chat.answer(&[Answer::Approve(&last)]).await;
        let end = types(&chat.read(&mut sse).await);
        assert_eq!(end.iter().filter(|kind| kind.starts_with("tool-output-")).count(), calls, "{end:?}");
    }
}

/// A browser's call that was announced again after its approval, and whose time is over, is not announced once more: the
/// browser would run it.
#[tokio::test]
async fn resubmit_after_the_deadline() {
    let steps = json!([
        [
            {"toolCall": {"name": "open-url", "input": {"url": "https://example.com"}}},
            {"toolCall": {"name": "get_location", "input": {}}},
        ],
        [{"text": ["All done."]}],
    ]);
    let server = TestServer::script(json!({"turns": [{"when": "go", "steps": steps}]})).await;
    let mut chat = server.chat().resubmit();
    chat.ask("go").await;
    let (open, approval) = (chat.call(0), chat.approval(1));
    let mut sse = chat.answer(&[Answer::Approve(&approval)]).await;
    assert_eq!(types(&chat.read(&mut sse).await), ["start", "tool-input-available", "finish", "[DONE]"]);
    server.clock.advance(std::time::Duration::from_secs(61));
    let mut sse = chat.answer(&[Answer::Output(&open, json!({"viewKey": "v"}))]).await;
    let chunks = chat.read(&mut sse).await;
    let expected = ["start", "tool-output-available", "tool-output-error", "text-delta", "finish", "[DONE]"];
    assert_eq!(types(&chunks), expected);
    assert_eq!(chunks[1]["output"], json!({"status": "timeout"}));
}

/// Which chats and approvals changed is told to whoever listens.
#[tokio::test]
async fn events_tell_of_chats_and_approvals() {
    let server = TestServer::demo().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let response = client.get(server.url("/api/events")).send().await.expect("an answer");
    let mut events = support::Sse::new(response);
    assert_eq!(events.next().await.as_deref(), Some("{\"type\":\"ready\"}"));
    let mut chat = server.chat();
    chat.ask(PAY).await;
    let mut seen = Vec::new();
    while !seen.iter().any(|event: &Value| event["type"] == "approvals") {
        seen.push(serde_json::from_str(&events.next().await.expect("an event")).expect("json"));
    }
    assert!(seen.iter().all(|event| event["chatId"] == json!(chat.id)), "{seen:?}");
    let (_, chats) = server.get("/api/chats").await;
    assert_eq!((&chats[0]["id"], &chats[0]["holds"], &chats[0]["title"]), (&json!(chat.id), &json!(1), &json!(PAY)));
    let (_, tools) = server.get("/api/tools").await;
    let pay = tools
        .as_array()
        .and_then(|tools| tools.iter().find(|tool| tool["name"] == "process_payment"))
        .expect("the tool");
    assert_eq!(
        (&pay["execution"], &pay["approval"], &pay["approvalTimeoutSec"]),
        (&json!("server"), &json!("always"), &json!(300))
    );
}
