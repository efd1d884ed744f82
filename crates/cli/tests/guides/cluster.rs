//! The guide of several nodes, with a real PostgreSQL. `cargo xtask cluster` has a test of its own, which reads the
//! same guide, and `tests/container.rs` starts what `compose.yaml` starts.

use std::{fs, path::Path};

use holdpoint_testkit::Postgres;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    page::{Block, root},
    reader::{Reader, search_path},
    terminal::Terminal,
};

const KEY: &str = "key-of-the-reader-for-a-trial";

/// A node on a free port, and its address.
fn node(reader: &Reader, start: &Block) -> (Terminal, String) {
    let mut terminal = reader.terminal(start, "clone");
    let port =
        terminal.until(|printed| printed.lines().next()?.rsplit_once(':').map(|(_, port)| port.trim().to_owned()));
    (terminal, format!("127.0.0.1:{port}"))
}

/// What a node needs from its database: a chat, whatever node it was held at.
async fn paid(reader: &Reader, chat: &str) -> Value {
    let call = reader.settled_as(KEY, chat, "process_payment").await;
    assert_eq!((&call["state"], &call["approval"]["approved"]), (&json!("output-available"), &json!(true)), "{call}");
    call
}

async fn approve(reader: &Reader) {
    let open = reader.get_as(KEY, "/api/approvals").await;
    assert_eq!(open.as_array().map(Vec::len), Some(1), "{open}");
    let path = format!("/api/approvals/{}", open[0]["approvalId"].as_str().expect("an id"));
    let (status, said) = reader.ask(KEY, Method::POST, &path, Some(&json!({"approved": true}))).await;
    assert_eq!(status, 200, "{said}");
}

pub(crate) async fn cluster(reader: &mut Reader) {
    let trial = reader.next("Try it", "sh");
    assert_eq!(trial.text, "cargo xtask cluster\n", "{}: change the test of xtask/src/cluster too", trial.place);

    let postgres = Postgres::shared();
    let (first, second) = (postgres.fresh_database(), postgres.fresh_database());
    reader.set("DATABASE_URL", &postgres.url(&first));
    // Those of the version that runs.
    let dump = postgres.command("pg_dump");
    let programs = Path::new(dump.get_program()).parent().expect("a folder");
    reader.set("PATH", &search_path(&[&reader.path("bin"), programs]));

    // Two nodes: what is asked on one is approved on the other.
    let start = reader.next("Set it up", "sh").with(":8787", ":0");
    let digest: String = Sha256::digest(KEY).iter().map(|byte| format!("{byte:02x}")).collect();
    let example = "9dca666eb54730714630d1519264a7bf1eeaad00b8f2edc90d3ecbfad928d163";
    let settings = reader.next("Set it up", "toml").with(example, &digest);
    let (_, entry) = settings.text.split_once("[[auth.keys]]").expect("a key");
    reader.page.promises("so the server starts only with [keys or tokens]");
    reader.write("holdpoint.toml", &settings.text.replace(entry, "").replace("[[auth.keys]]", ""));
    let (code, said) = reader.fails(&start.text);
    assert!(code == Some(2) && said.contains("auth.keys"), "{said}");
    reader.save("holdpoint.toml", &settings);
    let ((mut one, here), (mut two, there)) = (node(reader, &start), node(reader, &start));
    reader.turn_to(&here);
    let shown = reader.say_as(KEY, "rent", "send 50 dollars to Hanako").await;
    assert!(shown.contains("tool-approval-request"), "{shown}");
    reader.turn_to(&there);
    approve(reader).await;
    paid(reader, "rent").await;
    reader.turn_to(&here);
    paid(reader, "rent").await;

    // A chat that waits is not affected by the end of the node on which it was begun.
    reader.say_as(KEY, "tea", "send 5 dollars to Jun").await;
    reader.page.promises("A chat that waits for a person belongs to no node, and is not affected by the end of any.");
    one.signal("KILL");
    one.stop();
    reader.turn_to(&there);
    approve(reader).await;
    paid(reader, "tea").await;

    compose(reader);
    tls(reader);

    // A dump while a node runs, and a node on the restored database.
    reader.set("NEW_DATABASE_URL", &postgres.url(&second));
    let dump = reader.next("Back up and restore", "sh");
    reader.run(&dump);
    two.stop();
    let old = postgres.url(&first);
    reader.set("DATABASE_URL", &postgres.url(&second));
    let (mut restored, address) = node(reader, &start);
    reader.turn_to(&address);
    paid(reader, "rent").await;
    restored.stop();
    reader.set("DATABASE_URL", &old);

    moved(reader, postgres, &start).await;
}

/// The commands of the page give Docker what `compose.yaml` asks for. Docker itself is not run.
fn compose(reader: &mut Reader) {
    reader.page.promises("**Our tests do not run these files with Docker.**");
    let asked = reader.path("docker").display().to_string();
    reader.program(
        "docker",
        &format!("#!/bin/sh\nprintf '%s\\n' \"$*\" \"$POSTGRES_PASSWORD\" \"$KEY_SHA256\" > {asked}\n"),
    );
    let block = reader.next("Docker Compose", "sh");
    reader.run(&block);
    let asked = fs::read_to_string(asked).expect("docker was run");
    let [command, password, digest] = asked.lines().collect::<Vec<_>>()[..] else { panic!("{asked}") };
    let expected: String = Sha256::digest("YOUR-KEY").iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((command, password.len(), digest), ("compose up --build", 32, expected.as_str()));
    let file = fs::read_to_string(root().join("compose.yaml")).expect("the file");
    for variable in ["${POSTGRES_PASSWORD", "${KEY_SHA256"] {
        assert!(file.contains(variable), "compose.yaml does not use {variable}");
    }
}

/// The URL of the page is one that the server takes, up to the connection.
fn tls(reader: &mut Reader) {
    let url = reader.next("TLS", "text");
    let url = url.with("db.internal", "127.0.0.1:1").text;
    let (code, said) = reader.fails(&format!("holdpoint --listen 127.0.0.1:0 --log '{}'", url.trim()));
    assert!(code == Some(2) && said.contains("/etc/holdpoint/ca.pem"), "it looks for the authorities: {said}");
    assert!(!said.contains("PASSWORD"), "{said}");
}

/// From a data folder to a database: an open approval request still waits.
async fn moved(reader: &mut Reader, postgres: &Postgres, start: &Block) {
    let settings = fs::read_to_string(reader.path("clone/holdpoint.toml")).expect("the settings");
    let (_, keys) = settings.split_once("lease_sec = 5").expect("the database's settings");
    reader.write("folder.toml", keys);
    let alone = reader.block("holdpoint --config folder.toml");
    reader.serve(&alone);
    reader.say_as(KEY, "moved", "send 7 dollars to Hanako").await;
    reader.stop();
    reader.set("DATABASE_URL", &postgres.url(&postgres.fresh_database()));
    let block = reader.next("Move from a data folder", "sh");
    reader.run(&block);
    let (_node, address) = node(reader, start);
    reader.turn_to(&address);
    reader.page.promises("Open approval requests wait in the database as they did before");
    approve(reader).await;
    paid(reader, "moved").await;
}
