//! Somebody who can write to the database: what `holdpoint verify` finds of what they did, row by row of the table in
//! `docs/guides/record.md`, and what they can make a running server do, which is nothing that was not shown.

mod columns;
mod postgres;
#[path = "../support/mod.rs"]
mod support;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use holdpoint_runtime::{
    approvers::Approvers,
    clock::Timestamp,
    input_sha256,
    log::{BatchHash, SqliteLog, Store},
    tool::{Tool, ToolBuilder, ToolContext, ToolSet},
};
use holdpoint_server::Role;
use holdpoint_testkit::Postgres;
use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{PATIENCE, Person, Setup, TestServer, keys_of};
use tempfile::TempDir;

const PEOPLE: [Person; 4] = [
    ("ann", &[Role::User], &[]),
    ("bob", &[Role::User, Role::Approver], &["finance"]),
    ("carol", &[Role::Approver], &["finance"]),
    ("root", &[Role::User, Role::Admin], &[]),
];

/// The inputs that calls ran with.
type Ran = Arc<Mutex<Vec<Value>>>;

fn tool(name: &str, ran: &Ran) -> ToolBuilder {
    let ran = Arc::clone(ran);
    let tool = Tool::server(name, "Pays", move |input: Value, _: ToolContext| {
        ran.lock().expect("no panic").push(input.clone());
        async move { Ok(input) }
    });
    tool.schema(json!({"type": "object"})).approve_always()
}

/// A server on a data folder.
struct Scene {
    server: TestServer,
    client: reqwest::Client,
    ran: Ran,
    folder: TempDir,
}

impl Scene {
    async fn set() -> Self {
        let folder = TempDir::new().expect("a folder");
        let log = SqliteLog::open(&folder.path().join("data")).expect("it opens");
        Self::on(Arc::new(log), folder).await
    }

    async fn on(log: Arc<dyn Store>, folder: TempDir) -> Self {
        let ran = Ran::default();
        let turn = |says: &str, tool: &str| {
            json!({"when": says, "steps": [
                [{"toolCall": {"name": tool, "input": {"amount": 150, "to": "Hanako"}}}],
                [{"text": ["Done."]}],
            ]})
        };
        let mut setup = Setup::script(&json!({"turns": [turn("pay", "pay"), turn("wire", "wire")]}));
        let finance = Approvers::new(["group:finance"]).expect("good names").quorum(2);
        let tools = [tool("pay", &ran), tool("wire", &ran).approvers(finance)];
        let tools = ToolSet::new(tools.map(|tool| tool.build().expect("a good tool"))).expect("different names");
        setup.builder = setup.builder.tools(tools);
        setup.keys = keys_of(&PEOPLE);
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { server: setup.log(log).start().await, client, ran, folder }
    }

    async fn ask(&self, who: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.request(method, self.server.url(path)).bearer_auth(format!("key-of-{who}"));
        let request = request.header("content-type", "application/json").body(body.to_string());
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    async fn get(&self, who: &str, path: &str) -> Value {
        let (status, body) = self.ask(who, Method::GET, path, &Value::Null).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn say(&self, chat: &str, text: &str) {
        let body = json!({"id": chat, "messages": [{"role": "user", "parts": [{"type": "text", "text": text}]}]});
        let (status, stream) = self.ask("ann", Method::POST, "/api/chat", &body).await;
        assert_eq!(status, 200, "{stream}");
    }

    /// The open approval request of a chat.
    async fn approval(&self, chat: &str) -> String {
        let holds = self.get("ann", &format!("/api/chat/{chat}/holds")).await;
        let open = holds.as_array().into_iter().flatten().find(|hold| hold["state"] == "waiting");
        open.and_then(|hold| hold["approvalId"].as_str()).unwrap_or_else(|| panic!("{holds}")).to_owned()
    }

    async fn decide(&self, who: &str, approval: &str, body: &Value) -> (u16, Value) {
        self.ask(who, Method::POST, &format!("/api/approvals/{approval}"), body).await
    }

    /// A payment, decided by its owner.
    async fn paid(&self, chat: &str, decision: Value) -> Value {
        self.say(chat, "pay").await;
        let (status, body) = self.decide("ann", &self.approval(chat).await, &decision).await;
        assert_eq!(status, 200, "{body}");
        self.settled(chat).await;
        body
    }

    /// Waits until something is so.
    async fn until(&self, is_so: impl AsyncFn() -> bool) -> bool {
        let since = std::time::Instant::now();
        while since.elapsed() < PATIENCE {
            if is_so().await {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    async fn settled(&self, chat: &str) {
        for _ in 0..1000 {
            let chats = self.get("ann", "/api/chats").await;
            let is_it = |entry: &&Value| entry["id"] == chat;
            let found = chats.as_array().into_iter().flatten().find(is_it);
            if found.is_some_and(|entry| entry["status"] != "running" && entry["holds"] == 0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it is not settled");
    }

    fn ran(&self) -> Vec<Value> {
        self.ran.lock().expect("no panic").clone()
    }

    /// A connection of somebody else to the running server's file.
    fn database(&self) -> Connection {
        let file = Connection::open(self.folder.path().join("data/holdpoint.db")).expect("it opens");
        file.busy_timeout(Duration::from_secs(5)).expect("it is set");
        file
    }

    /// A copy of the file as it is now, in a folder of its own.
    fn copy(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        let file = folder.join("holdpoint.db");
        self.database().execute("VACUUM INTO ?1", [file.to_str().expect("a path")]).expect("it is copied");
        folder
    }

    fn verify(&self, data: &Path, more: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        let command = command.arg("verify").arg("--data").arg(data).args(more).current_dir(self.folder.path());
        let done = command.output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (done.status.code(), text(done.stdout) + &text(done.stderr))
    }
}

/// What a command says of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// It is a finding, and the exit code is 1.
    Found,
    /// It is printed, and is no finding: it may be right.
    Named,
    /// Nothing.
    No,
}
use Verdict::{Found, Named, No};

/// What somebody does to the file.
type Change = fn(&Connection);

/// A row of the guide's table: what is changed, what `verify` says, what `verify --against` says.
type Row = (&'static str, Verdict, Verdict, &'static [Change]);

fn sql(file: &Connection, statement: &str) {
    let changed = file.execute(statement, []).unwrap_or_else(|error| panic!("{statement}: {error}"));
    assert!(changed > 0, "{statement}");
}

fn number(file: &Connection, chat: &str) -> i64 {
    file.query_row("SELECT number FROM chats WHERE id = ?1", [chat], |row| row.get(0)).expect("it is there")
}

/// Replaces a text in a column of bytes.
fn replace(file: &Connection, table: &str, column: &str, from: &str, to: &str) {
    sql(
        file,
        &format!(
            "UPDATE {table} SET {column} = CAST(replace(CAST({column} AS TEXT), '{from}', '{to}') AS BLOB)
             WHERE instr(CAST({column} AS TEXT), '{from}') > 0"
        ),
    );
}

/// Computes all hashes of a chat anew.
fn rehash(file: &Connection, chat: &str) {
    let number = number(file, chat);
    let mut select = file
        .prepare("SELECT first, count, payload FROM batches WHERE chat = ?1 ORDER BY first")
        .expect("the database answers");
    let batches: Vec<(i64, u32, Vec<u8>)> = select
        .query_map([number], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("the database answers")
        .collect::<Result<_, _>>()
        .expect("it reads");
    let mut hash = BatchHash::BEGINNING;
    for (first, count, payload) in batches {
        let set = "UPDATE batches SET previous_hash = ?3 WHERE chat = ?1 AND first = ?2";
        file.execute(set, (number, first, hash.as_bytes())).expect("it writes");
        hash = BatchHash::of(&chat.into(), first.cast_unsigned(), count, &payload, hash);
    }
    file.execute("UPDATE chats SET hash = ?2 WHERE number = ?1", (number, hash.as_bytes())).expect("it writes");
}

/// The bytes of a line that are hashed.
fn line_bytes(position: i64, at: i64, owner: &str, tool: &str, by: Option<&str>, data: &[u8]) -> Vec<u8> {
    let mut bytes = [position.to_be_bytes(), at.to_be_bytes()].concat();
    bytes.push(u8::from(by.is_some()));
    for part in [owner.as_bytes(), tool.as_bytes(), by.unwrap_or_default().as_bytes(), data] {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}

/// Deletes a chat, or what is left of one, as the server would: with a line that has all the right hashes.
fn forge_deletion(file: &Connection, chat: &str, by: &str) {
    let number = number(file, chat);
    let (mut len, hash, owner): (i64, [u8; 32], String) = file
        .query_row("SELECT len, hash, subject FROM chats WHERE number = ?1", [number], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .expect("it is there");
    let mut previous = BatchHash::from(hash);
    let old = "SELECT position, data FROM audit WHERE chat = ?1 AND tool = '' ORDER BY position DESC LIMIT 1";
    let deleted: Option<(i64, Vec<u8>)> = file.query_row(old, [number], |row| Ok((row.get(0)?, row.get(1)?))).ok();
    if let Some((position, data)) = deleted {
        // It is deleted already: its line is written anew.
        let data: Value = serde_json::from_slice(&data).expect("JSON");
        previous = data["previousHash"].as_str().expect("a hash").parse().expect("a hash");
        len = position;
        file.execute("DELETE FROM audit WHERE chat = ?1 AND position = ?2", (number, position)).expect("it writes");
    }
    let mut lines = Sha256::new();
    let mut select = file
        .prepare(
            "SELECT position, at, owner, tool, actor, data FROM audit WHERE chat = ?1 AND position < ?2 ORDER BY 1",
        )
        .expect("the database answers");
    let mut rows = select.query((number, 1_i64 << 52)).expect("the database answers");
    while let Some(row) = rows.next().expect("it reads") {
        let text = |at: usize| row.get::<_, Option<String>>(at).expect("the database answers");
        let data: Vec<u8> = row.get(5).expect("the database answers");
        let (owner, tool) = (text(2).expect("the database answers"), text(3).expect("the database answers"));
        lines.update(line_bytes(
            row.get(0).expect("the database answers"),
            row.get(1).expect("the database answers"),
            &owner,
            &tool,
            text(4).as_deref(),
            &data,
        ));
    }
    let lines: String = lines.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let data = json!({"step": "deleted", "call": "", "linesSha256": lines, "previousHash": previous.to_string()});
    let data = data.to_string().into_bytes();
    let at = 1_700_000_000_000_i64;
    let hash = BatchHash::of(
        &chat.into(),
        len.cast_unsigned(),
        1,
        &line_bytes(len, at, &owner, "", Some(by), &data),
        previous,
    );
    file.execute(
        "INSERT INTO audit (chat, position, at, owner, tool, actor, data) VALUES (?1, ?2, ?3, ?4, '', ?5, ?6)",
        (number, len, at, &owner, by, &data),
    )
    .expect("it writes");
    for table in ["batches", "digests", "keys", "holds", "approvers"] {
        file.execute(&format!("DELETE FROM {table} WHERE chat = ?1"), [number]).expect("it writes");
    }
    file.execute("UPDATE audit SET contents = NULL WHERE chat = ?1", [number]).expect("it writes");
    file.execute(
        "UPDATE chats SET len = ?2, hash = ?3, is_open = 0, head = x'', owner = NULL, deleted_at = ?4 WHERE number = ?1",
        (number, len + 1, hash.as_bytes(), at),
    )
    .expect("it writes");
}

const ROWS: &[Row] = &[
    ("nothing", No, No, &[|_| {}]),
    (
        "facts of a chat changed, removed, added, exchanged, or moved to another chat",
        Found,
        Found,
        &[
            |file| replace(file, "batches", "payload", "\"verdict\":{\"approve\"", "\"verdict\":{\"answer\" "),
            |file| sql(file, "DELETE FROM batches WHERE first = (SELECT max(first) FROM batches)"),
            |file| sql(file, "DELETE FROM batches WHERE first = 0"),
            |file| {
                sql(file, "UPDATE chats SET id = 'other' WHERE id = 'paid'");
                sql(file, "UPDATE chats SET id = 'paid' WHERE id = 'used'");
                sql(file, "UPDATE chats SET id = 'used' WHERE id = 'other'");
            },
        ],
    ),
    (
        "the hashes of a chat, or of all chats, removed",
        Found,
        Found,
        &[
            |file| sql(file, "UPDATE batches SET previous_hash = NULL WHERE first > 0"),
            |file| {
                sql(file, "UPDATE batches SET previous_hash = NULL");
                sql(file, "UPDATE chats SET hash = NULL");
            },
        ],
    ),
    (
        "facts changed and all later hashes computed anew",
        Found,
        Found,
        &[|file| {
            replace(file, "batches", "payload", "\"by\":\"ann\"", "\"by\":\"eve\"");
            ["paid", "free", "used"].iter().for_each(|chat| rehash(file, chat));
        }],
    ),
    (
        "facts changed, all later hashes computed anew, and every line and row that follows from them changed too",
        No,
        Found,
        &[|file| {
            let number = number(file, "paid");
            sql(
                file,
                &format!(
                    "UPDATE batches SET payload = CAST(replace(CAST(payload AS TEXT), '\"by\":\"ann\"', '\"by\":\"eve\"') AS BLOB)
                     WHERE chat = {number}"
                ),
            );
            sql(file, &format!("UPDATE audit SET actor = 'eve' WHERE actor = 'ann' AND chat = {number}"));
            rehash(file, "paid");
        }],
    ),
    (
        "a line of the record changed, removed or added",
        Found,
        Found,
        &[
            |file| sql(file, "UPDATE audit SET actor = 'eve' WHERE actor = 'ann'"),
            |file| replace(file, "audit", "data", "\"approve\"", "\"deny\""),
            |file| {
                sql(
                    file,
                    "UPDATE audit SET at = at - 1000 WHERE position = (SELECT max(position) FROM audit WHERE position < 1000)",
                )
            },
            |file| sql(file, "UPDATE audit SET tool = 'other' WHERE tool = 'pay'"),
            |file| sql(file, "UPDATE audit SET owner = 'bob' WHERE owner = 'ann'"),
            |file| replace(file, "audit", "contents", "too much", "very well"),
            |file| sql(file, "DELETE FROM audit WHERE actor = 'bob' AND position < 1000"),
            |file| {
                sql(
                    file,
                    "INSERT INTO audit SELECT chat, 1, at, owner, tool, 'eve', data, contents FROM audit
                WHERE chat = (SELECT number FROM chats WHERE id = 'paid') AND actor = 'ann' LIMIT 1",
                )
            },
        ],
    ),
    (
        "a line of a deleted chat changed, removed, added, or given an input",
        Found,
        Found,
        &[
            |file| {
                sql(
                    file,
                    "UPDATE audit SET actor = 'eve' WHERE actor = 'ann' AND chat = (SELECT number FROM chats WHERE id = 'gone')",
                )
            },
            |file| {
                sql(
                    file,
                    "DELETE FROM audit WHERE position < 1000 AND tool = 'pay' AND chat = (SELECT number FROM chats WHERE id = 'gone')",
                )
            },
            |file| {
                sql(
                    file,
                    "INSERT INTO audit SELECT chat, 1, at, owner, tool, actor, data, contents FROM audit
                WHERE chat = (SELECT number FROM chats WHERE id = 'gone') AND actor = 'ann' LIMIT 1",
                )
            },
            |file| {
                sql(
                    file,
                    "UPDATE audit SET contents = CAST('{\"reason\":\"x\"}' AS BLOB) WHERE tool = 'pay'
                AND chat = (SELECT number FROM chats WHERE id = 'gone')",
                )
            },
            // Who deleted it, and that it was.
            |file| sql(file, "UPDATE audit SET actor = 'ann' WHERE actor = 'root'"),
            |file| {
                sql(file, "DELETE FROM audit WHERE tool = '' AND chat = (SELECT number FROM chats WHERE id = 'gone')")
            },
            // Of one whose id is used again.
            |file| {
                sql(
                    file,
                    "UPDATE audit SET actor = 'eve' WHERE actor = 'ann' AND tool = 'pay'
                AND chat = (SELECT number FROM chats WHERE id = 'again')",
                )
            },
            |file| {
                sql(
                    file,
                    "UPDATE audit SET actor = 'eve' WHERE tool = '' AND chat = (SELECT number FROM chats WHERE id = 'again')",
                )
            },
        ],
    ),
    (
        "lines of a deleted chat changed, and the hashes of its deletion computed anew",
        No,
        Found,
        &[|file| {
            sql(
                file,
                "UPDATE audit SET actor = 'eve' WHERE actor = 'ann' AND tool = 'pay'
                AND chat = (SELECT number FROM chats WHERE id = 'gone')",
            );
            forge_deletion(file, "gone", "root");
        }],
    ),
    (
        "a chat made to look deleted, with a wrong hash or length",
        Found,
        Found,
        &[|file| {
            sql(file, "DELETE FROM batches WHERE chat = (SELECT number FROM chats WHERE id = 'paid')");
            sql(file, "UPDATE chats SET deleted_at = 1, len = len + 1, head = x'' WHERE id = 'paid'");
        }],
    ),
    (
        "a chat made to look deleted, with all hashes computed anew",
        No,
        Named,
        &[|file| forge_deletion(file, "paid", "ann")],
    ),
    (
        "the end of a chat removed, with every line and row that follows from it",
        No,
        Found,
        &[|file| {
            // All of the second turn.
            let number = number(file, "talk");
            let (first, hash): (i64, Vec<u8>) = file
                .query_row(
                    "SELECT first, previous_hash FROM batches WHERE chat = ?1
                     AND instr(CAST(payload AS TEXT), '\"text\":\"more\"') > 0",
                    [number],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .expect("it is there");
            file.execute("DELETE FROM batches WHERE chat = ?1 AND first >= ?2", (number, first)).expect("it writes");
            file.execute("UPDATE chats SET len = ?2, hash = ?3 WHERE number = ?1", (number, first, hash))
                .expect("it writes");
        }],
    ),
    (
        "a whole chat removed, with its lines",
        No,
        Found,
        &[|file| {
            for table in ["batches", "audit", "keys", "digests"] {
                file.execute(&format!("DELETE FROM {table} WHERE chat = ?1"), [number(file, "paid")])
                    .expect("it writes");
            }
            sql(file, "DELETE FROM chats WHERE id = 'paid'");
        }],
    ),
    (
        "the row of a hold changed, removed or added",
        Found,
        Found,
        &[
            |file| {
                let change = |data: &mut Value| data["input"] = json!("{\"amount\":1,\"to\":\"Hanako\"}");
                change_hold(file, "waits", change);
            },
            |file| change_hold(file, "waits", |data| data["request"]["terms"]["reason"] = json!("It is routine.")),
            |file| change_hold(file, "voting", |data| data["request"]["votes"] = json!(["bob", "carol"])),
            |file| sql(file, "UPDATE holds SET due_at = due_at + 86400000"),
            |file| sql(file, "DELETE FROM holds WHERE tool = 'pay'"),
            |file| {
                sql(
                    file,
                    "INSERT INTO holds SELECT chat, 'other', subject, tool, approval, since, due_at, data FROM holds LIMIT 1",
                )
            },
        ],
    ),
    (
        "those whose inbox lists a hold changed",
        Found,
        Found,
        &[
            |file| sql(file, "DELETE FROM approvers"),
            |file| {
                sql(file, "INSERT INTO approvers SELECT chat, call, 'subject', 'mallory', since FROM approvers LIMIT 1")
            },
            |file| sql(file, "UPDATE approvers SET kind = 'subject'"),
            |file| sql(file, "UPDATE approvers SET since = since + 1"),
            |file| sql(file, "UPDATE holds SET subject = 'eve' WHERE tool = 'pay'"),
        ],
    ),
    (
        "the owner or the time of deletion of a deleted chat changed in the list of chats",
        Found,
        Found,
        &[
            |file| sql(file, "UPDATE chats SET subject = 'eve' WHERE id = 'gone'"),
            |file| sql(file, "UPDATE chats SET deleted_at = deleted_at + 1 WHERE id = 'gone'"),
            |file| sql(file, "UPDATE chats SET is_open = 1 WHERE id = 'gone'"),
        ],
    ),
    (
        "a line or a row added that belongs to no chat, or to a deleted one",
        Found,
        Found,
        &[
            |file| {
                sql(
                    file,
                    "INSERT INTO audit SELECT 999, position, at, owner, tool, actor, data, contents FROM audit LIMIT 1",
                )
            },
            |file| {
                sql(
                    file,
                    "INSERT INTO holds SELECT (SELECT number FROM chats WHERE id = 'gone'), call, subject, tool, approval, since,
                due_at, data FROM holds LIMIT 1",
                )
            },
            |file| sql(file, "INSERT INTO keys (subject, key, chat, at) VALUES ('ann', 'other', 999, 0)"),
        ],
    ),
    (
        "anything made unreadable",
        Found,
        Found,
        &[
            |file| sql(file, "UPDATE batches SET owner = x'01' WHERE first = 0"),
            |file| sql(file, "UPDATE batches SET count = -1 WHERE first = 0"),
            |file| sql(file, "UPDATE chats SET hash = x'01' WHERE id = 'paid'"),
            |file| sql(file, "UPDATE chats SET id = CAST(x'ff' AS TEXT) WHERE id = 'paid'"),
            |file| sql(file, "UPDATE grants SET maker = CAST(x'ff' AS TEXT)"),
            |file| sql(file, "UPDATE audit SET tool = CAST(x'ff' AS TEXT) WHERE actor = 'bob'"),
        ],
    ),
    (
        "the owner or the title of a chat, or whether something waits in it, changed in the list of chats",
        Found,
        Found,
        &[
            |file| sql(file, "UPDATE chats SET subject = 'eve' WHERE id = 'paid'"),
            |file| sql(file, "UPDATE chats SET is_open = 0 WHERE id = 'waits'"),
        ],
    ),
    (
        "a grant added, or its terms, its uses or its revocation changed",
        Found,
        Found,
        &[
            |file| {
                sql(file, "INSERT INTO grants SELECT 'grant_x', subject, chat, tool, maker, made_in, position, made_at, expires_at,
                uses, 0, NULL, NULL, NULL, data FROM grants LIMIT 1")
            },
            |file| sql(file, "UPDATE grants SET maker = 'bob'"),
            |file| {
                sql(
                    file,
                    "UPDATE grants SET uses = 99, data = CAST(replace(CAST(data AS TEXT), '\"uses\":5', '\"uses\":99') AS BLOB) WHERE uses = 5",
                )
            },
            |file| sql(file, "UPDATE grants SET used = 0 WHERE used > 0"),
            |file| sql(file, "UPDATE grants SET revoked_at = NULL, revoked_by = NULL WHERE revoked_at IS NOT NULL"),
            |file| sql(file, "UPDATE grants SET revoked_by = 'eve' WHERE revoked_at IS NOT NULL"),
            |file| sql(file, "DELETE FROM audit WHERE position > 1000000"),
            |file| sql(file, "UPDATE grants SET made_in = made_in + 1"),
            |file| sql(file, "UPDATE grants SET position = position + 1"),
            |file| {
                sql(
                    file,
                    "UPDATE grants SET chat = (SELECT number FROM chats WHERE id = 'paid') WHERE chat IS NOT NULL",
                )
            },
        ],
    ),
    (
        "a revocation removed, with its line",
        No,
        Found,
        &[|file| {
            sql(file, "DELETE FROM audit WHERE position > 1000000");
            sql(file, "UPDATE grants SET revoked_at = NULL, revoked_by = NULL WHERE revoked_at IS NOT NULL");
        }],
    ),
    ("a grant removed", No, Found, &[|file| sql(file, "DELETE FROM grants WHERE revoked_at IS NULL")]),
    (
        "by which ids a chat is found, when it changed last, or what the model gets of earlier turns",
        No,
        No,
        &[
            |file| sql(file, "DELETE FROM keys"),
            |file| sql(file, "UPDATE chats SET updated_at = updated_at + 1 WHERE deleted_at IS NULL"),
            |file| sql(file, "UPDATE digests SET data = CAST('[]' AS BLOB)"),
        ],
    ),
];

/// FNV-1a over everything but the checksum, as the server computes it: no secret is needed for it.
fn sealed(data: &Value) -> Vec<u8> {
    let mut text = data.to_string();
    text.pop();
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{text},\"sum\":\"{hash:016x}\"}}").into_bytes()
}

/// Changes the row of the hold of a chat, with a checksum that fits.
fn change_hold(file: &Connection, chat: &str, change: impl FnOnce(&mut Value)) {
    let number = number(file, chat);
    let data: Vec<u8> =
        file.query_row("SELECT data FROM holds WHERE chat = ?1", [number], |row| row.get(0)).expect("something waits");
    let mut data: Value = serde_json::from_slice(&data).expect("JSON");
    data.as_object_mut().expect("an object").remove("sum");
    change(&mut data);
    let set = "UPDATE holds SET data = ?2 WHERE chat = ?1";
    assert_eq!(file.execute(set, (number, sealed(&data))).expect("it writes"), 1);
}

/// Everything that can be in a record.
async fn played() -> Scene {
    let scene = Scene::set().await;
    scene.play().await;
    scene
}

impl Scene {
    /// Something of everything that is stored.
    async fn play(&self) {
        self.paid("paid", json!({"approved": true, "input": {"amount": 5}, "reason": "too much"})).await;
        let remember =
            |uses: u32| json!({"approved": true, "remember": {"scope": "subject", "match": "tool", "uses": uses}});
        let here = json!({"approved": true, "remember": {"scope": "chat", "match": "tool"}});
        self.paid("only", here).await;
        let grant = self.paid("free", remember(7)).await["grant"].as_str().expect("a grant").to_owned();
        let (status, body) = self.ask("ann", Method::DELETE, &format!("/api/grants/{grant}"), &Value::Null).await;
        assert_eq!(status, 200, "{body}");
        self.paid("free2", remember(5)).await;
        self.say("used", "pay").await;
        self.settled("used").await;
        for chat in ["gone", "again"] {
            self.say(chat, "pay").await;
            self.settled(chat).await;
        }
        let (status, _) = self.ask("root", Method::DELETE, "/api/chat/gone", &Value::Null).await;
        assert_eq!(status, 204);
        let (status, _) = self.ask("ann", Method::DELETE, "/api/chat/again", &Value::Null).await;
        assert_eq!(status, 204);
        self.say("again", "pay").await;
        self.settled("again").await;
        self.say("talk", "hello").await;
        self.say("talk", "more").await;
        // What the grants cover is asked no more, so they end before something waits.
        let grants = self.get("ann", "/api/grants").await;
        let live =
            grants.as_array().into_iter().flatten().find(|grant| grant["state"] == "active").expect("one").clone();
        assert_eq!(live["used"], 4, "{live}");
        self.say("voting", "wire").await;
        let (status, body) = self.decide("bob", &self.approval("voting").await, &json!({"approved": true})).await;
        assert_eq!((status, &body["votes"]), (200, &json!(1)), "{body}");
        self.paid_by_hand("waits").await;
    }

    /// A payment that waits, although a grant would cover it: it is for the other tool.
    async fn paid_by_hand(&self, chat: &str) {
        // The last use of the grant.
        self.say("last", "pay").await;
        self.settled("last").await;
        self.say(chat, "pay").await;
        self.approval(chat).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_finds_every_change_that_the_guide_names() {
    let scene = played().await;
    let whole = scene.copy("whole");
    let (code, said) = scene.verify(&whole, &["--save", "kept.ndjson"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("1 deleted chats, 3 grants, 0 broken"), "{said}");
    let guide = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/record.md"));
    let guide = guide.expect("the guide");
    let mut wrong = Vec::new();
    for (number, (what, alone, against, changes)) in ROWS.iter().enumerate() {
        let say = |verdict: &Verdict| match verdict {
            Found => "found",
            Named => "named",
            No => "no",
        };
        let row = format!("| {what} | {} | {} |", say(alone), say(against));
        assert!(*what == "nothing" || guide.contains(&row), "the guide has no row {row}");
        for (each, change) in changes.iter().enumerate() {
            let copy = scene.copy(&format!("{number}-{each}"));
            let file = Connection::open(copy.join("holdpoint.db")).expect("it opens");
            change(&file);
            drop(file);
            for (more, verdict) in [(&[][..], alone), (&["--against", "kept.ndjson"], against)] {
                let (code, said) = scene.verify(&copy, more);
                let expected = if *verdict == Found { 1 } else { 0 };
                let is_named = said.contains("it was deleted since, by \"ann\"");
                if code != Some(expected) || is_named != (*verdict == Named) {
                    wrong.push(format!("{what}, change {each}, {more:?}: {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rows = guide
        .lines()
        .filter(|line| line.ends_with(" | found |") || line.ends_with(" | no |") || line.ends_with(" | named |"));
    assert_eq!(rows.count(), ROWS.len() - 1 + UNTOUCHED, "a row of the guide that nothing tests");
}

/// Rows of the guide that have a test of their own: an earlier copy, an invented chat, and a ticket.
const UNTOUCHED: usize = 3;

/// An earlier copy of the file in place of the newer one, and a chat that never was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_finds_a_rollback_but_not_an_invented_chat() {
    let scene = Scene::set().await;
    scene.paid("paid", json!({"approved": true})).await;
    let earlier = scene.copy("earlier");
    scene.paid("paid", json!({"approved": false})).await;
    let now = scene.copy("now");
    assert_eq!(scene.verify(&now, &["--save", "kept.ndjson"]).0, Some(0));
    assert_eq!(scene.verify(&earlier, &[]).0, Some(0));
    let (code, said) = scene.verify(&earlier, &["--against", "kept.ndjson"]);
    assert!(code == Some(1) && said.contains("the hash that was kept"), "{said}");

    let binary = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        let done = command.args(args).current_dir(scene.folder.path()).output().expect("it runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    };
    let other = Scene::set().await;
    other.paid("invented", json!({"approved": true})).await;
    let lines = binary(&["export", "invented", "--data", other.copy("other").to_str().expect("a path")]);
    std::fs::write(scene.folder.path().join("invented.ndjson"), lines).expect("it writes");
    binary(&["import", "invented.ndjson", "--data", "now"]);
    assert_eq!(scene.verify(&now, &["--against", "kept.ndjson"]).0, Some(0));
}

/// `holdpoint verify | head -1`: what reads the report may go away, and the exit code still says what was found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_exit_code_needs_no_reader_of_the_report() {
    let scene = Scene::set().await;
    scene.paid("mine", json!({"approved": true})).await;
    sql(&scene.database(), "UPDATE audit SET actor = 'eve'");
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    let command = command.arg("verify").arg("--data").arg(scene.copy("changed")).current_dir(scene.folder.path());
    let mut verify = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    drop(verify.stdout.take());
    let done = verify.wait_with_output().expect("it ends");
    let said = String::from_utf8(done.stderr).expect("text");
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

/// The tombstone says who may use the id of a deleted chat again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_finds_a_changed_owner_of_a_deleted_chat() {
    let scene = Scene::set().await;
    scene.paid("mine", json!({"approved": true})).await;
    let (status, _) = scene.ask("ann", Method::DELETE, "/api/chat/mine", &Value::Null).await;
    assert_eq!(status, 204);
    let body = json!({"id": "mine", "messages": [{"role": "user", "parts": [{"type": "text", "text": "hello"}]}]});
    let (status, _) = scene.ask("bob", Method::POST, "/api/chat", &body).await;
    assert_eq!(status, 404, "it is ann's");
    sql(&scene.database(), "UPDATE chats SET subject = 'bob' WHERE id = 'mine'");
    let (code, said) = scene.verify(&scene.copy("before"), &[]);
    assert!(code == Some(1) && said.contains("another owner"), "{said}");
    let (status, answer) = scene.ask("bob", Method::POST, "/api/chat", &body).await;
    assert_eq!(status, 200, "{answer}");
    let (code, said) = scene.verify(&scene.copy("after"), &[]);
    assert!(code == Some(1) && said.contains("deleted chat of \"ann\""), "{said}");
}

/// The one who decides was shown a row, and what runs is in the facts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_row_runs_nothing_that_was_not_shown() {
    let scene = Scene::set().await;
    scene.say("waits", "pay").await;
    let approval = scene.approval("waits").await;
    let (path, yes) = (format!("/api/approvals/{approval}"), json!({"approved": true}));
    let file = scene.database();
    let original: (Vec<u8>, Option<i64>) =
        file.query_row("SELECT data, due_at FROM holds", [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a row");
    let restore = || {
        let set = "UPDATE holds SET data = ?1, due_at = ?2";
        assert_eq!(file.execute(set, (&original.0, original.1)).expect("it writes"), 1);
    };

    change_hold(&file, "waits", |data| data["input"] = json!("{\"amount\":1,\"to\":\"Hanako\"}"));
    let listed = scene.get("ann", "/api/approvals").await;
    assert_eq!(listed[0]["input"]["amount"], 1, "the list shows the row: {listed}");
    let single = scene.get("ann", &path).await;
    assert_eq!(single["input"]["amount"], 150, "the request itself shows what is recorded: {single}");
    for decision in [&yes, &json!({"approved": false}), &json!({"approved": true, "input": {"amount": 2}})] {
        change_hold(&file, "waits", |data| data["input"] = json!("{\"amount\":1,\"to\":\"Hanako\"}"));
        let (status, problem) = scene.decide("ann", &approval, decision).await;
        assert_eq!((status, &problem["type"]), (409, &json!("urn:holdpoint:problem:conflict")), "{problem}");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains("not what is recorded") && detail.contains("holdpoint verify"), "{detail}");
    }
    assert_eq!(scene.get("ann", &path).await, single, "it is still open");

    // Everything else that the row says.
    let changes: &[fn(&Connection)] = &[
        |file| change_hold(file, "waits", |data| data["request"]["terms"]["reason"] = json!("It is routine.")),
        |file| change_hold(file, "waits", |data| data["request"]["terms"]["headline"] = json!("Pay {to} nothing")),
        |file| {
            change_hold(file, "waits", |data| {
                data["request"]["terms"]["schema"] = json!({"type": "object", "required": ["to"]})
            })
        },
        |file| change_hold(file, "waits", |data| data["deadline"] = json!(1_900_000_000_000_u64)),
        |file| change_hold(file, "waits", |data| data["request"]["votes"] = json!(["bob"])),
        |file| change_hold(file, "waits", |data| data["request"]["isEscalated"] = json!(true)),
        |file| {
            change_hold(file, "waits", |data| {
                data["request"]["terms"]["approvers"] = json!({"by": ["subject:mallory"]})
            });
        },
        |file| sql(file, "UPDATE holds SET due_at = due_at + 1"),
        |file| sql(file, "UPDATE holds SET since = since - 1"),
    ];
    for (each, change) in changes.iter().enumerate() {
        restore();
        change(&file);
        let (status, problem) = scene.decide("ann", &approval, &yes).await;
        assert!(status == 409 || status == 404, "change {each}: {status} {problem}");
        assert_eq!(scene.ran(), Vec::<Value>::new(), "change {each}");
        file.execute("UPDATE holds SET since = ?1", [listed_since(&original.0)]).expect("it writes");
    }

    // The row is put back before the decision comes. What was shown is in the decision.
    restore();
    let shown = |sha256: &Value| json!({"approved": true, "inputSha256": sha256});
    // Whoever may not see the request learns nothing of it, right or wrong.
    for sha256 in [&listed[0]["inputSha256"], &single["inputSha256"]] {
        assert_eq!(scene.decide("carol", &approval, &shown(sha256)).await.0, 404);
    }
    let (status, problem) = scene.decide("ann", &approval, &shown(&listed[0]["inputSha256"])).await;
    assert_eq!(status, 409, "{problem}");
    assert_eq!(scene.ran(), Vec::<Value>::new());
    let (status, body) = scene.decide("ann", &approval, &shown(&single["inputSha256"])).await;
    assert_eq!(status, 200, "{body}");
    scene.settled("waits").await;
    assert_eq!(scene.ran(), [json!({"amount": 150, "to": "Hanako"})]);

    // After the decision as before it: whoever was shown something else is told so, and not that it was decided.
    let (status, problem) = scene.decide("ann", &approval, &shown(&listed[0]["inputSha256"])).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:holdpoint:problem:conflict")), "{problem}");
    let (status, body) = scene.decide("ann", &approval, &shown(&single["inputSha256"])).await;
    assert_eq!((status, &body["ignored"]), (200, &json!(true)), "{body}");
    assert_eq!(scene.decide("ann", &approval, &yes).await.0, 200);
    assert_eq!(scene.ran().len(), 1);

    // What an edit was decided on is what was asked, not what runs.
    scene.say("edited", "pay").await;
    let approval = scene.approval("edited").await;
    let single = scene.get("ann", &format!("/api/approvals/{approval}")).await;
    let edit =
        |sha256: &Value| json!({"approved": true, "input": {"amount": 7, "to": "Hanako"}, "inputSha256": sha256});
    assert_eq!(scene.decide("ann", &approval, &edit(&single["inputSha256"])).await.0, 200);
    scene.settled("edited").await;
    let (status, body) = scene.decide("ann", &approval, &edit(&single["inputSha256"])).await;
    assert_eq!((status, &body["ignored"]), (200, &json!(true)), "{body}");
    let runs = input_sha256(&json!({"amount": 7, "to": "Hanako"}));
    assert_eq!(scene.decide("ann", &approval, &edit(&json!(runs))).await.0, 409);
}

fn listed_since(data: &[u8]) -> i64 {
    let data: Value = serde_json::from_slice(data).expect("JSON");
    data["since"].as_i64().expect("a time")
}

/// A row that was changed is refused once, and then it is what is recorded: otherwise nobody could decide any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_was_refused_is_written_anew() {
    let scene = Scene::set().await;
    scene.say("waits", "wire").await;
    let approval = scene.approval("waits").await;
    let shown = scene.get("bob", "/api/approvals").await;
    let changes: [Change; 3] = [
        |file| change_hold(file, "waits", |data| data["input"] = json!("{\"amount\":1,\"to\":\"Hanako\"}")),
        |file| {
            change_hold(file, "waits", |data| data["request"]["terms"]["approvers"] = json!({"by": ["group:finance"]}))
        },
        |file| {
            sql(file, "UPDATE holds SET due_at = due_at + 86400000");
            sql(file, "UPDATE approvers SET since = since + 1");
        },
    ];
    for change in changes {
        change(&scene.database());
        assert_eq!(scene.verify(&scene.folder.path().join("data"), &[]).0, Some(1));
        let (status, problem) = scene.decide("bob", &approval, &json!({"approved": true})).await;
        assert_eq!(status, 409, "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("Load it again")), "{problem}");
        assert_eq!(scene.get("bob", "/api/approvals").await, shown);
        let (code, said) = scene.verify(&scene.folder.path().join("data"), &[]);
        assert_eq!(code, Some(0), "{said}");
    }
    assert_eq!(scene.ran(), Vec::<Value>::new());
    for who in ["bob", "carol"] {
        let (status, body) = scene.decide(who, &approval, &json!({"approved": true})).await;
        assert_eq!(status, 200, "{body}");
    }
    scene.settled("waits").await;
    assert_eq!(scene.ran(), [json!({"amount": 150, "to": "Hanako"})]);
}

/// Rows that are gone, or can't be read, are written anew without anybody asking: a hold expires when it has to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_expires_although_its_row_was_changed() {
    let changes: [Change; 5] = [
        |file| sql(file, "DELETE FROM holds"),
        |file| sql(file, "UPDATE holds SET data = x'01', due_at = NULL"),
        |file| sql(file, "UPDATE holds SET call = CAST(x'ff' AS TEXT)"),
        |file| sql(file, "UPDATE holds SET due_at = NULL"),
        |file| sql(file, "UPDATE holds SET due_at = due_at + 86400000"),
    ];
    for (each, change) in changes.iter().enumerate() {
        let scene = Scene::set().await;
        scene.say("waits", "pay").await;
        let stored = || {
            let row = "SELECT due_at, data, CAST(call AS BLOB) FROM holds";
            let row = scene.database().query_row(row, [], |row| {
                Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, Vec<u8>>(2)?))
            });
            row.ok()
        };
        let row = stored();
        let deadline = row.as_ref().and_then(|row| row.0).expect("it expires");
        change(&scene.database());
        assert_ne!(stored(), row);
        // Long before the deadline.
        scene.server.clock.advance(Duration::from_secs(20));
        assert!(scene.until(async || stored() == row).await, "change {each}: the row is not what it was");
        assert_eq!(scene.get("ann", "/api/approvals").await.as_array().map(Vec::len), Some(1), "it waits");
        scene.server.clock.set(Timestamp(deadline.cast_unsigned()));
        let has_expired = async || {
            let holds = scene.get("ann", "/api/chat/waits/holds").await;
            holds[0]["outcome"]["cause"] == "expired"
        };
        assert!(scene.until(has_expired).await, "change {each}: it does not expire");
        assert_eq!(scene.ran(), Vec::<Value>::new());
    }
}

/// A row that is gone hides the question, and does not end it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_whose_row_was_deleted_still_waits() {
    let scene = Scene::set().await;
    scene.say("waits", "pay").await;
    let approval = scene.approval("waits").await;
    sql(&scene.database(), "DELETE FROM holds");
    assert_eq!(scene.get("ann", "/api/approvals").await, json!([]));
    let single = scene.get("ann", &format!("/api/approvals/{approval}")).await;
    assert_eq!(single["input"]["amount"], 150, "{single}");
    let (status, body) = scene.decide("ann", &approval, &json!({"approved": true})).await;
    assert_eq!(status, 200, "{body}");
    scene.settled("waits").await;
    assert_eq!(scene.ran().len(), 1);
}

/// The record says who deleted a chat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_log_has_a_line_for_a_deletion() {
    let scene = Scene::set().await;
    for (chat, by) in [("mine", "ann"), ("theirs", "root")] {
        scene.paid(chat, json!({"approved": true})).await;
        let (status, _) = scene.ask(by, Method::DELETE, &format!("/api/chat/{chat}"), &Value::Null).await;
        assert_eq!(status, 204);
        let lines = scene.get("ann", &format!("/api/audit?chat={chat}")).await;
        let lines = lines.as_str().expect("lines of JSON");
        let last: Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
        assert_eq!(
            (&last["step"], &last["by"], &last["owner"]),
            (&json!("deleted"), &json!(by), &json!("ann")),
            "{last}"
        );
        assert_eq!(last["linesSha256"].as_str().map(str::len), Some(64), "{last}");
        assert!(last.get("input").is_none() && last["toolName"] == "", "{last}");
    }
}

/// A database in which no node has ever run: what is imported is in the chain, and PostgreSQL's rows are compared too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_imported_chat_passes_verify() {
    let scene = Scene::set().await;
    scene.paid("paid", json!({"approved": true, "reason": "fine"})).await;
    scene.say("voting", "wire").await;
    let (status, body) = scene.decide("bob", &scene.approval("voting").await, &json!({"approved": true})).await;
    assert_eq!(status, 200, "{body}");
    let postgres = Postgres::shared();
    let database = postgres.fresh_database();
    let url = postgres.url(&database);
    let binary = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        let done = command.args(args).current_dir(scene.folder.path()).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (done.status.code(), text(done.stdout), text(done.stderr))
    };
    let data = scene.copy("copy");
    let (code, lines, said) = binary(&["export", "--all", "--data", data.to_str().expect("a path")]);
    assert_eq!(code, Some(0), "{said}");
    std::fs::write(scene.folder.path().join("all.ndjson"), lines).expect("it writes");
    let (code, _, said) = binary(&["import", "all.ndjson", "--log", &url]);
    assert!(code == Some(0) && said.contains("2 imported"), "{said}");
    let (code, found, said) = binary(&["verify", "--log", &url, "--save", "kept.ndjson"]);
    assert!(code == Some(0) && said.contains("2 chats") && !said.contains("no hash"), "{found}{said}");
    assert_eq!(postgres.sql(&database, "SELECT count(*) FROM batches WHERE previous_hash IS NULL"), "0");
    let replaced = |table: &str, column: &str, from: &str, to: &str| {
        format!(
            "UPDATE {table} SET {column} = convert_to(replace(convert_from({column}, 'UTF8'), '{from}', '{to}'), 'UTF8')"
        )
    };
    for (change, says) in [
        (replaced("audit", "data", "\"approve\"", "\"deny\""), "the line of the record was changed"),
        ("UPDATE holds SET due_at = due_at + 1".to_owned(), "the row of the hold"),
        ("DELETE FROM approvers".to_owned(), "those whose inbox lists the hold"),
        ("UPDATE chats SET subject = 'eve' WHERE id = 'paid'".to_owned(), "the owner"),
        ("UPDATE holds SET subject = 'eve'".to_owned(), "another owner than its chat's"),
        ("UPDATE chats SET owner = gen_random_uuid() WHERE id = 'paid'".to_owned(), "another node's"),
        (
            "INSERT INTO audit (chat, position, at, owner, tool, data) VALUES (999, 0, 0, 'ann', 'pay', '{}')"
                .to_owned(),
            "it belongs to no chat",
        ),
        ("INSERT INTO keys (subject, key, chat, at) VALUES ('ann', 'other', 999, 0)".to_owned(), "the table keys"),
        (replaced("batches", "payload", "Hanako", "Hanaka"), "were changed"),
        ("UPDATE batches SET previous_hash = NULL; UPDATE chats SET hash = NULL".to_owned(), "is not recorded"),
    ] {
        postgres.sql(&database, &change);
        let (code, found, said) = binary(&["verify", "--log", &url]);
        assert!(code == Some(1) && found.contains(says), "{change}: {found}{said}");
    }
    let (code, found, _) = binary(&["verify", "--log", &url, "--against", "kept.ndjson"]);
    assert!(code == Some(1) && found.contains("the hash that was kept"), "{found}");
}
