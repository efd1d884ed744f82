//! Getting started: from a clone to an approval, with curl, in a front end, and with a tool of one's own.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    page::{root, shows},
    reader::{Reader, link_packages},
};

/// `npm install` takes the packages of the checkout, in place of an installation at every run. One that the checkout
/// does not have fails.
const NPM: &str = r#"#!/bin/sh
if [ "$1" != install ]; then exec NPM "$@"; fi
shift
[ "$1" = --save-dev ] && shift
for package in "$@"; do
  [ -d "node_modules/$package" ] || [ -d "ROOT/node_modules/$package" ] || { echo "no package $package" >&2; exit 1; }
done
"#;

pub(crate) async fn getting_started(reader: &mut Reader) {
    let heading = "1. Run the server";
    let start = reader.next(heading, "sh");
    let printed = reader.serve(&start);
    let expected = reader.next(heading, "text").with("127.0.0.1:8787", reader.address());
    shows(&expected, &printed);

    with_curl(reader).await;
    in_a_front_end(reader).await;
    with_a_tool(reader).await;
}

async fn with_curl(reader: &mut Reader) {
    let heading = "2. Approve a call with curl";
    let ask = reader.next(heading, "sh");
    let printed = reader.run(&ask);
    let expected = reader.next(heading, "text");
    shows(&expected, &printed);
    reader.page.promises("Nothing has been paid.");
    assert_eq!(reader.open_request().await["toolName"], "process_payment");
    let approve = reader.next(heading, "sh");
    let printed = reader.run(&approve);
    reader.page.promises(r#"The last command prints `{"ok":true}`"#);
    assert!(printed.trim_end().ends_with(r#"{"ok":true}"#), "{printed}");
    reader.settled("first", "process_payment").await;
    let history = reader.next(heading, "sh");
    let messages: Value = serde_json::from_str(&reader.run(&history)).expect("JSON");
    let parts = messages[1]["parts"].as_array().expect("parts");
    reader.page.promises("The payment runs, and the turn resumes. The history shows both");
    assert!(parts.iter().any(|part| part["type"] == "tool-process_payment" && part["state"] == "output-available"));
    assert!(parts.iter().any(|part| part["type"] == "text"), "{messages}");
}

/// The page is made and served, and the compiler has nothing to say about it. `cargo xtask full apps` installs the
/// packages and plays it in a browser.
async fn in_a_front_end(reader: &mut Reader) {
    let heading = "3. Approve a call in your own front end";
    let npm = Command::new("sh").args(["-c", "command -v npm"]).output().expect("a shell").stdout;
    let npm = NPM.replace("NPM", String::from_utf8_lossy(&npm).trim());
    reader.program("npm", &npm.replace("ROOT", &root().display().to_string()));
    let make = reader.next(heading, "sh");
    reader.run(&make);
    link_packages(&reader.path("clone/my-agent"));
    for (name, language, heading) in
        [("index.html", "html", heading), ("tsconfig.json", "json", heading), ("src/main.tsx", "tsx", "The component")]
    {
        reader.page.promises(&format!("`{name}`"));
        let file = reader.next(heading, language);
        reader.save(&format!("my-agent/{name}"), &file);
    }
    let compile = reader.block("node node_modules/typescript/bin/tsc");
    let mut compiler = reader.terminal(&reader.block(&format!("{} && echo compiled", compile.text)), "clone/my-agent");
    compiler.until(|printed| printed.contains("compiled").then_some(()));

    // Where nobody else can have the same address.
    let start = reader.next("The component", "sh").with("npx vite", "npx vite --host 127.0.0.1");
    reader.set("NO_COLOR", "1");
    let mut vite = reader.terminal(&start, "clone/my-agent");
    reader.page.promises("Start it, and open the address that it prints");
    let address = vite.until(|printed| {
        let line = printed.lines().find(|line| line.contains("http://127.0.0.1:"))?;
        Some(line.split_once("http://")?.1.trim().trim_end_matches('/').to_owned())
    });
    let agent = reader.address().to_owned();
    reader.turn_to(&address);
    let (status, page) = reader.ask("", reqwest::Method::GET, "/", None).await;
    assert!(status == 200 && page.contains("/src/main.tsx"), "{page}");
    let (status, component) = reader.ask("", reqwest::Method::GET, "/src/main.tsx", None).await;
    assert!(status == 200 && component.contains("addToolApprovalResponse"), "{component}");
    vite.stop();
    reader.turn_to(&agent);
    // What its page asks, and with the origin that it has.
    reader.page.promises("A front end on the same machine may use any port.");
    let origin = format!("curl -s -H 'origin: http://{address}' localhost:8787/api/chat/first/messages");
    assert!(reader.run(&reader.block(&origin)).contains("process_payment"));
}

async fn with_a_tool(reader: &mut Reader) {
    let heading = "4. Add your own tool";
    let shop = reader.next(heading, "js");
    let port = "listen(0, \"127.0.0.1\", function () { console.log(this.address().port); })";
    reader.save(reader.page.promises("`shop.mjs`").trim_matches('`'), &shop.with("listen(4000, \"127.0.0.1\")", port));
    let start = reader.next(heading, "sh");
    let mut shop = reader.terminal(&start, "clone");
    let port = shop.until(|printed| printed.lines().next().map(str::to_owned));
    let settings = reader.next(heading, "toml").with(":4000", &format!(":{port}"));
    reader.save(reader.page.promises("`holdpoint.toml`").trim_matches('`'), &settings);
    let start = reader.next(heading, "sh");
    reader.serve(&start);

    reader.page.promises("The refund is made at once: 40 is not over 100.");
    let little = reader.next(heading, "text");
    let shown = reader.say("little", little.text.trim()).await;
    assert!(shown.contains(r#""output":{"refunded":40,"order":"A-17"}"#), "{shown}");
    let call = reader.settled("little", "refund_order").await;
    reader.page.promises("The `idempotency-key` is the id of the call.");
    let line = format!("refunding 40 dollars for A-17 (call {})", call["toolCallId"].as_str().expect("an id"));
    shop.until(|printed| printed.contains(&line).then_some(()));

    let much = reader.next(heading, "text");
    let shown = reader.say("much", much.text.trim()).await;
    assert!(shown.contains("tool-approval-request"), "{shown}");
    reader.page.promises("the shop prints nothing until you approve");
    assert!(!shop.printed().contains("A-18"), "{}", shop.printed());
    let reason = reader.page.promises("`amount is 250, over 100`").trim_matches('`');
    assert_eq!(reader.open_request().await["reason"], reason);
    reader.decide(&json!({"approved": true})).await;
    assert_eq!(reader.settled("much", "refund_order").await["output"], json!({"refunded": 250, "order": "A-18"}));
    shop.until(|printed| printed.contains("refunding 250 dollars for A-18").then_some(()));
}
