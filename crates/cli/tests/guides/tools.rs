//! The guides of tools that are HTTP endpoints, and of rules over their input.

use serde_json::{Value, json};

use crate::{
    page::Block,
    reader::Reader,
    server::{Asked, Fake, Reply},
};

fn answers(body: &Value) -> Reply {
    Reply::Plain { status: 200, headers: Vec::new(), body: body.to_string() }
}

/// The endpoint of the page is on this machine, which the page says how to allow.
fn here(reader: &Reader, block: Block, site: &str, fake: &Fake) -> Block {
    reader.page.promises("If the endpoint is internal, allow it:");
    let allowed = "execution = \"server\"\nallow_private = true";
    block.with(site, &fake.url).with("execution = \"server\"", allowed)
}

fn header(asked: &Asked, name: &str) -> String {
    let mut lines = asked.head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).unwrap_or_default()
}

pub(crate) async fn http_tools(reader: &mut Reader) {
    let title = "A tool that is an HTTP endpoint";
    let replies = [
        json!({"refunded": 40}),
        json!([{"order": "A-17", "key": "key-of-the-shop"}]),
        json!({"refunded": 250}),
        json!({"stock": 3}),
        json!({"cleared": true}),
        json!({"kWh": 1234}),
    ];
    let shop = Fake::start(replies.iter().map(answers)).await;
    let block = reader.next(title, "toml");
    let block = here(reader, block, "https://shop.example", &shop);
    reader.save("holdpoint.toml", &block);

    let start = reader.next(title, "sh");
    reader.page.promises("A missing variable is an error at the start");
    let (code, said) = reader.fails("holdpoint --config holdpoint.toml");
    assert!(code == Some(2) && said.contains("SHOP_KEY"), "{said}");
    reader.serve(
        &start.with("SHOP_TOKEN=…", "SHOP_TOKEN=token-of-the-shop").with("SHOP_KEY=…", "SHOP_KEY=key-of-the-shop"),
    );

    // Not over 100: made at once.
    let refund = reader.next(title, "sh");
    let shown = reader.run(&refund);
    assert!(shown.contains(r#""output":{"refunded":40}"#), "{shown}");
    let asked = shop.asked().pop().expect("it was asked");
    assert!(asked.head.starts_with("POST /api/orders/A-17/refund "), "{}", asked.head);
    assert_eq!(
        (asked.body.clone(), header(&asked, "authorization")),
        (json!({"amount": 40}), "Bearer token-of-the-shop".into())
    );
    let call = reader.settled("refund", "refund_order").await;
    reader.page.promises("Every request carries `idempotency-key: ID`, the id of the call");
    assert_eq!(call["toolCallId"], header(&asked, "idempotency-key"));

    reader.page.promises("If an endpoint repeats a secret in its answer, the answer has `•••` in its place.");
    let shown = reader.say("orders", r#"call find_orders {"customer":"Ann Lee"}"#).await;
    assert!(shown.contains("A-17") && !shown.contains("key-of-the-shop"), "{shown}");
    let asked = shop.asked().pop().expect("it was asked");
    assert!(asked.head.starts_with("GET /api/orders?customer=Ann"), "{}", asked.head);
    assert_eq!(header(&asked, "x-api-key"), "key-of-the-shop");

    // Over 100: it waits, and the endpoint is asked only after the approval.
    reader.say("large", r#"call refund_order {"order":"A-18","amount":250}"#).await;
    assert_eq!(shop.asked().len(), 2);
    assert_eq!(reader.open_request().await["reason"], "amount is 250, over 100");
    reader.decide(&json!({"approved": true})).await;
    assert_eq!(reader.settled("large", "refund_order").await["output"], json!({"refunded": 250}));

    // An OpenAPI description.
    let schema = json!({"type": "string"});
    let item = json!([{"name": "item", "in": "path", "required": true, "schema": schema}]);
    let operation = |id: &str| json!({"operationId": id, "summary": id, "parameters": item, "responses": {"200": {"description": "done"}}});
    let paths = json!({"/stock/{item}": {"get": operation("read_stock"), "delete": operation("clear_stock")}});
    let info = json!({"title": "Shop", "version": "1"});
    let servers = json!([{"url": "https://shop.example"}]);
    let description = json!({"openapi": "3.1.0", "info": info, "servers": servers, "paths": paths});
    reader.write("openapi.yaml", &description.to_string());
    let import = reader.next("From an OpenAPI description", "sh");
    reader.page.promises("`--base-url` overrides them all, and allows that address if it is private.");
    reader.run(&import.with("openapi.yaml", &format!("openapi.yaml --base-url {}", shop.url)));
    reader.serve_settings();
    reader.page.promises("Operations that are not GET need approval.");
    let shown = reader.say("stock", r#"call read_stock {"item":"tea"}"#).await;
    assert!(shown.contains(r#""output":{"stock":3}"#), "{shown}");
    reader.say("clear", r#"call clear_stock {"item":"tea"}"#).await;
    reader.decide(&json!({"approved": true})).await;
    assert_eq!(reader.settled("clear", "clear_stock").await["output"], json!({"cleared": true}));
    let asked = shop.asked().pop().expect("it was asked");
    assert!(asked.head.starts_with("DELETE /stock/tea "), "{}", asked.head);

    // An address of the own network is called only where that is allowed.
    let block = reader.next("Where it may call", "toml").with("http://192.168.1.20", &shop.url);
    reader.save("holdpoint.toml", &block.clone().with("allow_private = true", ""));
    reader.page.promises("Loopback and private addresses are refused");
    let (code, said) = reader.fails("holdpoint --config holdpoint.toml");
    assert!(code == Some(2) && said.contains("allow_private"), "{said}");
    reader.save("holdpoint.toml", &block);
    reader.serve_settings();
    let shown = reader.say("meter", "call read_meter {}").await;
    assert!(shown.contains("1234"), "{shown}");
}

pub(crate) async fn spending_limit(reader: &mut Reader) {
    let title = "An agent that may not spend more than 100 dollars without me";
    let settings = reader.next(title, "toml");
    reader.save("holdpoint.toml", &settings);
    let start = reader.next(title, "sh");
    reader.serve(&start);
    let pay = reader.next(title, "sh");
    let printed = reader.run(&pay);
    reader.page.promises("A payment of 80 runs. A payment of 250 waits in the inbox");
    assert_eq!(reader.settled("little", "process_payment").await["state"], "output-available");
    let reason = reader.page.promises("`amount is 250, over 100`").trim_matches('`');
    assert!(printed.contains(reason), "{printed}");
    let request = reader.open_request().await;
    assert_eq!((&request["chatId"], &request["reason"]), (&json!("much"), &json!(reason)));
    let approve = reader.next(title, "sh");
    reader.run(&approve);
    let call = reader.settled("much", "process_payment").await;
    assert_eq!((&call["state"], &call["input"]["amount"]), (&json!("output-available"), &json!(250)), "{call}");
    reader.page.promises("A call without an amount, or with the amount as a string, does not bypass the rule.");
    let shown =
        reader.say("string", r#"call process_payment {"amount":"80","recipient":"Bob","currency":"USD"}"#).await;
    assert!(!shown.contains("tool-output-available"), "{shown}");

    let settings = reader.next("More than one condition", "toml");
    reader.save("holdpoint.toml", &settings);
    reader.serve_settings();
    for (chat, input, waits) in [
        ("usd", json!({"amount": 80, "recipient": "Bob", "currency": "USD"}), false),
        ("jpy", json!({"amount": 80, "recipient": "Bob", "currency": "JPY"}), true),
        ("mail", json!({"amount": 20, "recipient": "bob@b.example", "currency": "EUR"}), true),
        ("over", json!({"amount": 101, "recipient": "Bob", "currency": "EUR"}), true),
    ] {
        let shown = reader.say(chat, &format!("call process_payment {input}")).await;
        assert_eq!(shown.contains("tool-approval-request"), waits, "{chat}: {shown}");
        if waits {
            reader.decide(&json!({"approved": false, "reason": "not today"})).await;
            assert_eq!(reader.settled(chat, "process_payment").await["approval"]["approved"], false);
        }
    }
    let start = reader.next("More than one condition", "sh");
    reader.serve(&start);
    assert_eq!(reader.offered("process_payment").await["approval"], json!({"when": "/amount", "over": 100}));

    // With a budget that the first step uses up.
    let title = "A limit on tokens";
    let settings = reader.next(title, "toml");
    reader.save("holdpoint.toml", &settings.with("turn_token_budget = 100_000", "turn_token_budget = 1"));
    reader.serve_settings();
    reader.page.promises("there is an approval request for the tool `continue_turn`");
    let weather = r#"call get_weather {"location":"Rome"}"#;
    let shown = reader.say("yes", weather).await;
    assert!(shown.contains("continue_turn") && !shown.contains("text-delta"), "{shown}");
    let request = reader.open_request().await;
    assert_eq!((&request["input"]["scope"], &request["input"]["limit"]), (&json!("turn"), &json!(1)), "{request}");
    reader.page.promises("A yes allows as many tokens again; a no, or no answer in time, ends the turn.");
    reader.decide(&json!({"approved": true})).await;
    reader
        .until("", "/api/chat/yes/messages", |messages| messages.to_string().contains("In Rome it is").then_some(()))
        .await;
    reader.say("no", weather).await;
    reader.decide(&json!({"approved": false})).await;
    assert_eq!(reader.settled("no", "continue_turn").await["approval"]["approved"], false);
    reader.page.promises("The chat stays usable.");
    assert!(reader.say("no", "hello").await.contains("text-delta"));
    let settings = reader.next(title, "toml");
    reader.save("holdpoint.toml", &settings);
    reader.serve_settings();
    assert_eq!(reader.offered("continue_turn").await["approvalTimeoutSec"], 3600);
}
