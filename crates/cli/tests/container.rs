//! `Dockerfile` and `compose.yaml`, as far as they can be tested without Docker: what they name exists, and the server
//! starts with the command and the settings of a node.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use holdpoint_testkit::Postgres;
use serde_json::{Value, json};

const DIGEST: &str = "9dca666eb54730714630d1519264a7bf1eeaad00b8f2edc90d3ecbfad928d163";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect(name)
}

fn compose() -> Value {
    let mut value: serde_yaml_ng::Value = serde_yaml_ng::from_str(&read("compose.yaml")).expect("YAML");
    value.apply_merge().expect("anchors that exist");
    serde_json::to_value(value).expect("JSON")
}

/// The services that run the server.
fn nodes(compose: &Value) -> Vec<(String, Value)> {
    let services = compose["services"].as_object().expect("services");
    let nodes = services.iter().filter(|(_, service)| service["image"] == "holdpoint");
    nodes.map(|(name, service)| (name.clone(), service.clone())).collect()
}

/// Replaces `${NAME:?message}` and `$$`, as Compose does.
fn interpolated(text: &str) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        done += before;
        rest = if let Some(after) = after.strip_prefix('$') {
            done.push('$');
            after
        } else {
            let (variable, after) = after.strip_prefix('{').and_then(|after| after.split_once('}')).expect(text);
            let name = variable.split(':').next().unwrap_or_default();
            done += match name {
                "POSTGRES_PASSWORD" => "of-nobody",
                "KEY_SHA256" => DIGEST,
                other => panic!("the file says how to set {other}?"),
            };
            after
        };
    }
    done + rest
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().expect("a list").iter().map(|text| text.as_str().expect("text").to_owned()).collect()
}

/// The lines of the Dockerfile that begin with this word, without it.
fn instructions(word: &str) -> Vec<String> {
    let joined = read("Dockerfile").replace("\\\n", " ");
    joined.lines().filter_map(|line| Some(line.strip_prefix(word)?.strip_prefix(' ')?.trim().to_owned())).collect()
}

/// Kills it at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_node_of_compose_starts_with_its_command_and_settings() {
    let compose = compose();
    let nodes = nodes(&compose);
    assert_eq!(nodes.len(), 3);
    assert!(nodes.iter().all(|(_, node)| *node == nodes[0].1), "they differ");
    let node = &nodes[0].1;
    assert_eq!(node["depends_on"], json!({"postgres": {"condition": "service_healthy"}}));

    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    let args = texts(&node["command"]);
    assert!(args.contains(&"0.0.0.0:8787".to_owned()), "{args:?}");
    command.args(args.iter().map(|arg| interpolated(arg).replace("0.0.0.0:8787", "0.0.0.0:0")));
    for (name, value) in node["environment"].as_object().expect("variables") {
        command.env(name, interpolated(value.as_str().expect("text")));
    }
    let user = &compose["services"]["postgres"]["environment"];
    let url = format!(
        "postgres://{}:of-nobody@postgres/{}",
        user["POSTGRES_USER"].as_str().unwrap_or_default(),
        user["POSTGRES_DB"].as_str().unwrap_or_default()
    );
    assert_eq!(interpolated(node["environment"]["DATABASE_URL"].as_str().unwrap_or_default()), url);
    let server = Postgres::start(&[]);
    command.env("DATABASE_URL", server.url("postgres"));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running(command.spawn().expect("starts"));
    let mut line = String::new();
    BufReader::new(running.0.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let port = line.trim().rsplit(':').next().expect("a port");

    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let get = async |path: &str| {
        let answer = client.get(format!("http://127.0.0.1:{port}{path}")).send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a body"))
    };
    // The path of the health check, by a shared log, and with keys.
    let check = instructions("HEALTHCHECK").join(" ");
    assert!(check.contains("http://127.0.0.1:8787/ready"), "{check}");
    let (status, body) = get("/ready").await;
    assert!(status == 200 && body.contains("\"node\""), "{status} {body}");
    assert_eq!(get("/api/chats").await.0, 401);
}

#[test]
fn the_load_balancer_knows_the_nodes() {
    let compose = compose();
    let settings = compose["configs"]["caddy"]["content"].as_str().expect("text").to_owned();
    let balancer = &compose["services"]["balancer"];
    let line = settings.lines().find_map(|line| line.trim().strip_prefix("reverse_proxy ")).expect("upstreams");
    for (name, _) in nodes(&compose) {
        assert!(line.contains(&format!("{name}:8787")), "{line}");
        assert_eq!(balancer["depends_on"][&name]["condition"], "service_healthy");
    }
    for setting in ["health_uri /ready", "flush_interval -1", "lb_policy round_robin"] {
        assert!(settings.contains(setting), "{setting}");
    }
    let published = balancer["ports"][0].as_str().expect("a port");
    assert_eq!(published, "127.0.0.1:8787:8080", "not to other machines");
    assert!(settings.starts_with(":8080 {"), "{settings}");
}

#[test]
fn what_the_dockerfile_copies_exists() {
    let copied: Vec<String> = instructions("COPY").into_iter().filter(|line| !line.starts_with("--from")).collect();
    let sources: Vec<&str> = copied.iter().flat_map(|line| line.split(' ').rev().skip(1)).collect();
    for source in &sources {
        assert!(root().join(source).exists(), "COPY {source}");
    }
    // Cargo reads the manifests of all members.
    let members = read("Cargo.toml").lines().find(|line| line.starts_with("members")).expect("members").to_owned();
    for member in members.split('"').skip(1).step_by(2) {
        let folder = member.trim_end_matches("/*");
        assert!(sources.contains(&folder), "{folder} is a member of the workspace, and not copied");
    }
}

#[test]
fn the_image_refuses_to_serve_other_machines_without_keys() {
    let entry = instructions("ENTRYPOINT").pop().expect("an entry point");
    assert_eq!(entry, "[\"holdpoint\"]");
    let command: Value = instructions("CMD").pop().expect("a command").parse().expect("a list");
    let done = Command::new(env!("CARGO_BIN_EXE_holdpoint")).args(texts(&command)).output().expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains("[[auth.keys]]"), "{said}");
}
