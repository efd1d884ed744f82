//! The guides of the starters in `examples`: what they show is what the starters contain, and their server lets them in.
//! `cargo xtask full apps` installs each starter and plays it in a browser.

use std::fs;

use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{
    page::root,
    people::sources,
    reader::{Reader, link_packages},
};

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect(path)
}

/// A test of `tests/apps` plays the starter.
fn is_played(spec: &str, example: &str) {
    let test = read(&format!("tests/apps/{spec}"));
    assert!(test.contains(example), "tests/apps/{spec} does not play {example}");
}

pub(crate) async fn vite(reader: &mut Reader) {
    is_played("vite.spec.ts", r#"example: "vite""#);
    let start = reader.block("holdpoint");
    reader.serve(&start);
    // A copy of the folder, with the packages of the checkout in place of an installation.
    let copy = format!("cp -r {} clone/app", root().join("examples/vite").display());
    reader
        .terminal(&reader.block(&format!("{copy} && echo copied")), ".")
        .until(|printed| printed.contains("copied").then_some(()));
    link_packages(&reader.path("clone/app"));
    let commands = reader.next("Vite and React", "sh");
    assert!(commands.text.starts_with("npm install\n"), "{}", commands.text);
    // Where nobody else can have the same address.
    let commands = commands.with("npm install\n", "").with("npm run dev", "npm run dev -- --host 127.0.0.1");
    reader.set("AGENT_URL", &format!("http://{}", reader.address()));
    reader.set("NO_COLOR", "1");
    let mut dev = reader.terminal(&commands, "clone/app");
    let address = dev.until(|printed| {
        let line = printed.lines().find(|line| line.contains("http://127.0.0.1:"))?;
        Some(line.split_once("http://")?.1.trim().trim_end_matches('/').to_owned())
    });
    // Vite's dev server passes `/api` on: a payment is asked for, approved and made through it.
    reader.page.promises("Vite's dev server passes `/api` and `/live` on to the server");
    reader.turn_to(&address);
    let shown = reader.say("rent", "send 50 dollars to Hanako").await;
    assert!(shown.contains("tool-approval-request"), "{shown}");
    reader.decide(&json!({"approved": true})).await;
    assert_eq!(reader.settled("rent", "process_payment").await["state"], "output-available");
    dev.stop();

    let config = read("examples/vite/vite.config.ts");
    for setting in reader.page.rows("| setting | why |") {
        assert!(config.contains(setting.trim_matches('`')), "vite.config.ts has no {setting}");
    }
    reader.page.promises("asks the hook: `callStatus(toolCallId)`");
    assert!(read("examples/vite/src/CallCard.tsx").contains("chat.callStatus(part.toolCallId)"));
}

pub(crate) async fn nextjs(reader: &mut Reader) {
    is_played("nextjs.ts", r#"example: "nextjs""#);
    let code = sources("examples/nextjs");
    let _picture = reader.next("A Next.js app", "text");
    let stays = "The key stays on the server";
    for (heading, language) in [(stays, "ts"), (stays, "ts")] {
        let piece = reader.next(heading, language);
        assert!(code.contains(&piece.text), "{}: the app has no\n{}", piece.place, piece.text);
    }

    // The settings let the app in, with its key and from its own pages, and nobody else.
    let key = "key-of-the-app-for-a-trial";
    let digest: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
    let example = "9dca666eb54730714630d1519264a7bf1eeaad00b8f2edc90d3ecbfad928d163";
    let settings = reader.next(stays, "toml").with(example, &digest);
    reader.save("holdpoint.toml", &settings);
    reader.serve_settings();
    reader.page.promises("The Holdpoint server refuses these by their `origin` header");
    let from = |origin: &str| {
        let send = r#"--json '{"id":"pages","messages":[{"role":"user","content":"hello"}]}'"#;
        format!("curl -sN localhost:8787/api/chat -H 'authorization: Bearer {key}' -H 'origin: {origin}' {send}")
    };
    assert!(reader.run(&reader.block(&from("https://app.example"))).contains("[DONE]"));
    assert!(reader.fails(&from("https://other.example")).1.contains("origin"));
    assert_eq!(reader.ask("", Method::GET, "/api/chats", None).await.0, 401);
    let shown = reader.say_as(key, "rent", "send 50 dollars to Hanako").await;
    assert!(shown.contains("tool-approval-request"), "{shown}");
    let open = reader.get_as(key, "/api/approvals").await;
    let path = format!("/api/approvals/{}", open[0]["approvalId"].as_str().expect("an id"));
    assert_eq!(reader.ask(key, Method::POST, &path, Some(&json!({"approved": true}))).await.0, 200);
    assert_eq!(reader.settled_as(key, "rent", "process_payment").await["state"], "output-available");
    let (status, ticket) = reader.ask(key, Method::POST, "/api/ticket", None).await;
    assert!(status == 200 && ticket.contains("\"ticket\""), "{status} {ticket}");

    for heading in ["History", "`useChat`"] {
        let piece = reader.next(heading, "tsx");
        assert!(code.contains(&piece.text), "{}: the app has no\n{}", piece.place, piece.text);
    }
    // `tests/apps/nextjs-guide.spec.ts` compiles it.
    let whole = reader.next("WebSockets", "ts");
    assert!(whole.text.starts_with("import "), "{}", whole.place);
}

pub(crate) async fn assistant_ui(reader: &mut Reader) {
    is_played("assistant-ui.spec.ts", r#"example: "assistant-ui""#);
    is_played("stock-assistant-ui.spec.ts", "stock/assistant-ui");
    let code = sources("examples/assistant-ui");
    // What the page names is what the starter uses.
    for name in ["useAISDKRuntime", "useHoldpoint", "approval", "respondToApproval", "handlers"] {
        reader.page.promises(&format!("`{name}`"));
        assert!(code.contains(name), "the starter does not use {name}");
    }
    let status = reader.page.promises("callStatus(toolCallId)");
    assert!(code.contains(status), "the starter has no {status}");
    reader.page.promises("the example uses `live`");
    assert!(code.contains(r#"mode: "live""#));
    let stock = sources("tests/apps/stock/assistant-ui");
    for name in ["useChatRuntime", "AssistantChatTransport", "prepareSendMessagesRequest", "onToolCall"] {
        reader.page.promises(&format!("`{name}`"));
        assert!(stock.contains(name), "the app of the tests does not use {name}");
    }
}
