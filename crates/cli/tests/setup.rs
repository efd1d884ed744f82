//! What an operator does before the first start: settings by `holdpoint init`, their check, tools from an OpenAPI description;
//! and afterwards, the status.

mod support;

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use support::Setup;

fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).env_remove("OPENAI_API_KEY");
    let Output { status, stdout, stderr } = command.output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn init_writes_settings_that_are_good_and_never_overwrites() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, errors) = run(folder.path(), &["init", "--user", "ann", "--data", "chats"]);
    assert_eq!(code, Some(0), "{errors}");
    let written = std::fs::read_to_string(folder.path().join("holdpoint.toml")).expect("it is there");
    let key = out.lines().find(|line| line.starts_with("hp_")).expect("a key");
    assert!(!written.contains(key) && written.contains("data = \"chats\""), "{written}");
    let (code, out, errors) = run(folder.path(), &["config", "check", "--config", "holdpoint.toml"]);
    assert!(code == Some(0) && out.contains("good"), "{out}{errors}");
    let (code, _, errors) = run(folder.path(), &["init", "--yes"]);
    assert!(code == Some(2) && errors.contains("exists"), "{errors}");
    assert_eq!(std::fs::read_to_string(folder.path().join("holdpoint.toml")).expect("it is there"), written);
    let (code, _, errors) = run(folder.path(), &["init", "other.toml", "--model", " "]);
    assert!(code == Some(2) && errors.contains("--model"), "{errors}");
    assert!(!folder.path().join("other.toml").exists());
}

#[test]
fn config_check_lists_every_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |text: &str| {
        std::fs::write(folder.path().join("c.toml"), text).expect("written");
        run(folder.path(), &["config", "check", "--config", "c.toml"])
    };
    let (code, _, errors) = check(
        "listen = '0.0.0.0:1'\n[model]\nuse = 'opnai:x'\n[tools.process_payment]\nurl = 'https://{x}/'\n\
         [[mcp]]\nname = 'a'\n[[mcp]]\nname = 'b'\nurl = 'https://h/${NOT_SET}'",
    );
    assert_eq!(code, Some(1));
    for part in ["0.0.0.0:1", "opnai:x", "process_payment", "\"a\"", "`command` or `url`", "NOT_SET"] {
        assert!(errors.contains(part), "{part} in: {errors}");
    }
    let (code, _, errors) = check("lisen = 1");
    assert!(code == Some(1) && errors.contains("lisen"), "{errors}");
}

/// Whatever the server refuses at its start, and everything at once.
#[test]
fn config_check_refuses_what_the_start_refuses() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |text: &str| {
        std::fs::write(folder.path().join("c.toml"), text).expect("written");
        let (code, out, errors) = run(folder.path(), &["config", "check", "--config", "c.toml"]);
        assert_eq!(code, Some(1), "{text}: {out}");
        let (code, _, at_start) = run(folder.path(), &["--config", "c.toml", "--listen", "127.0.0.1:0"]);
        assert_eq!((code, &at_start), (Some(2), &errors), "{text}");
        errors
    };
    for (text, part) in [
        ("[[mcp]]\nname = 'a'\ncommand = []", "`command` is empty"),
        ("[[mcp]]\nname = 'a'\ncommand = ['sh']\n[[mcp]]\nname = 'a'\ncommand = ['sh']", "two of that name"),
        ("[[mcp]]\nname = 'a b'\ncommand = ['sh']", "\"a b\": its name must have 1 to 32"),
        ("[[mcp]]\nname = ''\ncommand = ['sh']", "its name must have 1 to 32"),
        ("[[mcp]]\nname = 'a'\nurl = 'h.example/mcp'", "must begin with http"),
        ("[[mcp]]\nname = 'a'\nurl = 'ftp://h.example/mcp'", "must begin with http"),
        ("[[mcp]]\nname = 'a'\nurl = 'http://h.example:99999/mcp'", "its URL"),
        ("[[mcp]]\nname = 'a'\nurl = 'http://h.example/'\nheaders = { 'b c' = 'd' }", "b c"),
        ("[[mcp]]\nname = 'a'\ncommand = ['no-such-program']", "no-such-program"),
        ("[[mcp]]\nname = 'a'\ncommand = ['./c.toml']", "./c.toml"),
        ("lease_sec = 5", "lease_sec"),
        ("poll_only = true", "poll_only"),
        ("log = 'postgres://${NOT_SET}@h/d'", "NOT_SET"),
        ("[logging]\nfilter = 'holdpoint=verbose'", "logging.filter"),
    ] {
        let errors = refused(text);
        assert!(errors.contains(part), "{part} in: {errors}");
    }
    let errors = refused(
        "lease_sec = 5\n[model]\nuse = 'opnai:x'\n[tools.b]\nurl = 'ftp://h'\n[tools.c]\nexecution = 'server'\n\
         [[mcp]]\nname = 'm'\ncommand = ['no-such-program']\n[[mcp]]\nname = 'n n'\ncommand = ['sh']\n\
         [[mcp]]\nname = 'o'\ncommand = ['sh']\n[tools.o_x]\nurl = 'x'\nwait = 'stream'\n[tools.o_y]\nwait = 'stream'\n\
         [tools.o_z]\nreturns = 'ack'\n",
    );
    for part in ["lease_sec", "opnai:x", "tools.b", "tools.c", "no-such-program", "n n", "tools.o_x", "o_y", "o_z"] {
        assert!(errors.contains(part), "{part} in: {errors}");
    }
}

#[test]
fn init_takes_only_what_the_settings_take() {
    let folder = tempfile::tempdir().expect("a folder");
    for (args, part) in [
        (["--model", "nonsense"], "nonsense"),
        (["--model", "x\"y"], "x\"y"),
        (["--model", "openai:"], "name of the model"),
        (["--user", "a b"], "--user"),
        (["--user", "openai:"], "--user"),
        (["--user", "ann\u{7}"], "--user"),
        (["--user", ""], "--user"),
        (["--data", " "], "--data"),
    ] {
        let (code, _, errors) = run(folder.path(), &[&["init"], &args[..]].concat());
        assert!(code == Some(2) && errors.contains(part), "{args:?}: {errors}");
        assert!(!folder.path().join("holdpoint.toml").exists(), "{args:?}");
    }
    // A script finds out that nobody was asked.
    let (code, _, errors) = run(folder.path(), &["init", "--user", "ann@shop.example"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("--model demo") && errors.contains("--data holdpoint-data"), "{errors}");
    assert!(!errors.contains("--user"), "{errors}");
    let (code, _, errors) = run(folder.path(), &["init", "b.toml", "--yes", "--model", "script:not-there-yet.json"]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
}

const API: &str = r##"
openapi: 3.0.3
info: { title: Pet Shop, version: "1" }
servers: [{ url: "https://pets.example/v1/" }]
paths:
  /pets:
    get:
      operationId: listPets
      summary: Lists pets
      tags: [pets]
      parameters:
        - { name: limit, in: query, schema: { type: integer, maximum: 100 }, description: How many }
      responses: { 200: { description: ok } }
    post:
      operationId: "create pet"
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } }
  /pets/{id}:
    parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
    delete: { description: "Removes a\n pet" }
    put:
      operationId: upload
      requestBody: { required: true, content: { image/png: {} } }
    get:
      operationId: getPet
      parameters: [{ name: x-trace, in: header, schema: { type: string } }]
components:
  securitySchemes: { key: { type: apiKey, in: header, name: X-Pet-Key } }
  schemas:
    Pet:
      type: object
      required: [id, name]
      properties:
        id: { type: integer, readOnly: true }
        name: { type: string, example: Rex }
        owner: { $ref: "#/components/schemas/Pet" }
"##;

/// What is imported is read by the settings: whatever is not GET needs approval, and what can't be a tool is said.
#[test]
fn tools_come_from_an_openapi_description() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("api.yaml"), API).expect("written");
    let (code, out, notes) = run(folder.path(), &["tools", "import", "api.yaml", "--prefix", "shop_"]);
    assert_eq!(code, Some(0), "{notes}");
    let tools: toml::Table = out.parse().unwrap_or_else(|error| panic!("{error}: {out}"));
    let tools: Value = serde_json::to_value(&tools["tools"]).expect("JSON");
    let names: Vec<&String> = tools.as_object().expect("tools").keys().collect();
    assert_eq!(names, ["shop_create_pet", "shop_delete_pets_id", "shop_getPet", "shop_listPets"], "{out}");
    let list = &tools["shop_listPets"];
    assert_eq!((&list["approval"], &list["method"]), (&json!("never"), &json!("GET")));
    assert_eq!(list["url"], "https://pets.example/v1/pets");
    assert_eq!(list["headers"], json!({"x-pet-key": "${PET_SHOP_TOOLS_TOKEN}"}));
    assert_eq!(list["input_schema"]["properties"]["limit"]["maximum"], 100);
    let create = &tools["shop_create_pet"];
    assert_eq!((&create["approval"], &create["input_schema"]["required"]), (&json!("always"), &json!(["name"])));
    let delete = &tools["shop_delete_pets_id"];
    assert_eq!((&delete["approval"], &delete["description"]), (&json!("always"), &json!("Removes a pet")));
    assert_eq!(delete["url"], "https://pets.example/v1/pets/{id}");
    for part in ["PUT /pets/{id} is left out: its body is not JSON", "x-trace", "PET_SHOP_TOOLS_TOKEN"] {
        assert!(notes.contains(part), "{part} in: {notes}");
    }
    std::fs::write(folder.path().join("tools.toml"), &out).expect("written");
    let config = holdpoint_cli::config::Config::load(Some(&folder.path().join("tools.toml")), [], &[]).expect("good");
    let known = holdpoint_runtime::tool::ToolSet::default();
    assert_eq!(config.own_tools(&known, &|_| Some("secret".to_owned())).expect("good").iter().count(), 4);

    let (_, out, _) = run(folder.path(), &["tools", "import", "api.yaml", "--tag", "pets"]);
    assert!(out.contains("listPets") && !out.contains("getPet"), "{out}");
    for (text, part) in [
        ("swagger: '2.0'", "version 3"),
        ("openapi: 3.1.0\npaths: {}", "--base-url"),
        ("openapi: 3.1.0\nservers: [{url: 'https://{region}.example'}]", "--base-url"),
        ("openapi: [", "api.yaml"),
    ] {
        std::fs::write(folder.path().join("api.yaml"), text).expect("written");
        let (code, _, errors) = run(folder.path(), &["tools", "import", "api.yaml"]);
        assert!(code == Some(2) && errors.contains(part), "{part} in: {errors}");
    }
}

/// A tool that the model can't be offered is told before the start, in the log and in the status: every chat would fail for it.
#[tokio::test]
async fn config_check_and_status_warn_of_tools_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let tools = (0..130).map(|at| {
        format!("[tools.t{at:03}]\ndescription = 'Does it.'\nurl = 'https://x.example/'\ninput_schema = {{}}\n")
    });
    let settings = "[model]\nuse = 'openai:m'\nbase_url = 'http://127.0.0.1:9/v1'\n";
    let text = format!("{settings}{}", tools.collect::<String>());
    std::fs::write(folder.path().join("c.toml"), text).expect("written");
    let (code, out, said) = run(folder.path(), &["config", "check", "--config", "c.toml"]);
    assert!(code == Some(0) && out.contains("good"), "{out}{said}");
    assert_eq!(said.matches("warning: the tool").count(), 2, "{said}");
    assert!(said.contains("t128") && said.contains("t129") && said.contains("128 tools"), "{said}");
    let path = folder.path().join("c.toml").display().to_string();
    let server = support::process::start(&["--ephemeral", "--config", &path]);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let answer = client.get(format!("http://{}/api/status", server.address)).send().await.expect("an answer");
    let status: Value = serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
    assert!(status["warnings"][0].as_str().is_some_and(|warning| warning.contains("t128")), "{}", status["warnings"]);
}

/// The status says what there is, and no secret.
#[tokio::test]
async fn the_status_shows_tools_and_their_policies() {
    let server = Setup::demo().start().await;
    let (code, status) = server.get("/api/status").await;
    assert_eq!(code, 200, "without a login everybody is an admin: {status}");
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&status["mcp"], &status["limits"]["turns"]), (&json!([]), &json!(1000)));
    let tools = status["tools"].as_array().expect("tools");
    let pay = tools.iter().find(|tool| tool["name"] == "process_payment").expect("it is there");
    assert_eq!((&pay["approval"], &pay["approvers"]), (&json!("always"), &json!({"by": ["self"]})));
    assert_eq!(pay["decisions"], json!(["approve", "deny", "edit", "answer"]));
}

/// A server that can't be connected is shown with what is wrong, and without its secrets.
#[tokio::test]
async fn the_status_shows_mcp_servers() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/fake.mjs");
    let config = format!(
        "[[mcp]]\nname = 'fake'\ncommand = ['node', '{}']\n[tools.fake_typo]\napproval = 'always'\n\
         [[mcp]]\nname = 'broken'\ncommand = ['sh', '-c', 'read -r _; echo no key $KEY >&2']\nenv = {{ KEY = 'hunter22' }}",
        script.display()
    );
    let path = folder.path().join("config.toml");
    std::fs::write(&path, config).expect("written");
    let server = support::process::start(&["--ephemeral", "--config", &path.display().to_string()]);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let of = |status: &Value, name: &str| {
        status["mcp"].as_array().and_then(|all| all.iter().find(|one| one["name"] == name)).cloned().expect("a server")
    };
    let read = async {
        loop {
            let answer = client.get(format!("http://{}/api/status", server.address)).send().await.expect("an answer");
            let status: Value = serde_json::from_str(&answer.text().await.expect("a body")).expect("JSON");
            if of(&status, "fake")["state"] == "connected" && of(&status, "broken")["lastLines"][0].is_string() {
                return status;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let status = tokio::time::timeout(support::PATIENCE, read).await.expect("both are known");
    let fake = of(&status, "fake");
    assert!(fake["tools"].to_string().contains("fake_echo") && fake.get("problem").is_none(), "{fake}");
    assert!(fake["warnings"][0].as_str().is_some_and(|warning| warning.contains("fake_typo")), "{fake}");
    let echo = status["tools"].as_array().expect("tools").iter().find(|tool| tool["name"] == "fake_echo");
    assert_eq!(echo.expect("it is there")["mcp"], "fake");
    let broken = of(&status, "broken");
    assert!(broken["state"] == "connecting" && broken["problem"].is_string(), "{broken}");
    assert_eq!(broken["lastLines"][0], "no key •••");
    assert!(!status.to_string().contains("hunter22"));
}
