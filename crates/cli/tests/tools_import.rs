//! `holdpoint tools import`: what it writes starts, and does what the description says.

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

/// The exit code, the tools and the notes for a description.
fn import(description: &Value, args: &[&str]) -> (Option<i32>, Value, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(["tools", "import", "-"]).args(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(description.to_string().as_bytes()).expect("written");
    drop(input);
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, notes) = (text(stdout), text(stderr));
    let table: toml::Table = out.parse().unwrap_or_else(|error| panic!("{error}: {out}"));
    let tools = table.get("tools").map_or_else(|| json!({}), |tools| serde_json::to_value(tools).expect("JSON"));
    starts(&out);
    (status.code(), tools, notes)
}

/// Whatever is written can be used.
fn starts(text: &str) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let config = holdpoint_cli::config::Config::load(Some(file.path()), [], &[]);
    let config = config.unwrap_or_else(|error| panic!("{error}: {text}"));
    let none = holdpoint_runtime::tool::ToolSet::default();
    config.own_tools(&none, &|_| Some("secret".to_owned())).unwrap_or_else(|error| panic!("{error}: {text}"));
}

fn api(paths: Value) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "My API"},
        "servers": [{"url": "https://api.example/v1"}],
        "paths": paths,
    })
}

fn body(schema: Value) -> Value {
    json!({"content": {"application/json": {"schema": schema}}, "required": true})
}

fn parameter(name: &str, place: &str) -> Value {
    json!({"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}})
}

#[test]
fn parameters_of_the_path_get_names_that_a_url_takes() {
    let odd = json!({"get": {
        "operationId": "odd",
        "parameters": [parameter("order-id", "path"), parameter("file.name", "path"), parameter("file_name", "query")],
    }});
    let two = json!({"get": {"operationId": "two", "parameters": [parameter("id", "path"), parameter("id", "query")]}});
    let both = json!({"post": {
        "operationId": "both",
        "parameters": [parameter("id", "path")],
        "requestBody": body(json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}})),
    }});
    let silent = json!({"get": {"operationId": "silent"}});
    let (code, tools, notes) = import(
        &api(json!({
            "/odd/{order-id}/{file.name}": odd, "/two/{id}": two, "/both/{id}": both, "/silent/{what}": silent,
        })),
        &[],
    );
    assert_eq!(code, Some(0), "{notes}");
    assert_eq!(tools["odd"]["url"], "https://api.example/v1/odd/{order-id}/{path_file_name}");
    assert_eq!(tools["odd"]["input_schema"]["required"], json!(["order-id", "path_file_name"]));
    assert_eq!(tools["two"]["url"], "https://api.example/v1/two/{path_id}");
    assert_eq!(tools["two"]["input_schema"]["required"], json!(["path_id"]));
    assert!(tools["two"]["input_schema"]["properties"]["id"].is_object(), "{tools}");
    assert_eq!(tools["both"]["url"], "https://api.example/v1/both/{path_id}");
    assert_eq!(tools["both"]["input_schema"]["properties"]["id"]["type"], "integer");
    assert_eq!(tools["silent"]["input_schema"]["required"], json!(["what"]));
    for part in ["odd: the parameter \"file.name\" of the path is called", "silent: the parameter \"what\""] {
        assert!(notes.contains(part), "{part} in: {notes}");
    }
}

#[test]
fn an_unusable_operation_is_left_out_and_the_rest_is_written() {
    let fields = json!({"type": "object", "properties": {
        "n": {"type": "number", "required": true, "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
        "p": {"type": "string", "pattern": "^(?<n>\\p{Nonsense}+)\\Z("},
        "q": {"type": "string", "pattern": "^a+$", "maxLength": "5"},
    }});
    let (code, tools, notes) = import(
        &api(json!({
            "/good": {"post": {"operationId": "good", "requestBody": body(fields)}},
            "/${HOME}/x": {"get": {"operationId": "home"}},
            "/a#b": {"get": {"operationId": "fragment"}},
            "/a{b": {"get": {"operationId": "brace"}},
            "/form": {"post": {"operationId": "form", "requestBody": {"content": {
                "application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"x": {"type": "string"}}}},
            }}}},
        })),
        &[],
    );
    assert_eq!(code, Some(0), "{notes}");
    let names: Vec<&String> = tools.as_object().expect("tools").keys().collect();
    assert_eq!(names, ["form", "good"], "{notes}");
    let schema = &tools["good"]["input_schema"];
    assert_eq!(schema["required"], json!(["n"]));
    assert_eq!(schema["properties"]["n"], json!({"type": "number", "exclusiveMinimum": 0, "maximum": 9}));
    assert_eq!(schema["properties"]["p"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["q"], json!({"type": "string", "pattern": "^a+$"}));
    for part in
        ["/${HOME}/x is left out: `${", "GET /a#b is left out", "GET /a{b is left out", "form: its body is not JSON"]
    {
        assert!(notes.contains(part), "{part} in: {notes}");
    }
    assert!(notes.contains("good: ") && notes.contains("pattern"), "{notes}");
}

#[test]
fn every_operation_gets_the_credential_that_it_asks_for() {
    let get = |id: &str, security: Value| json!({"get": {"operationId": id, "security": security}});
    let mut description = api(json!({
        "/a": get("a", json!([{"b": []}])),
        "/b": get("b", json!([{"k": []}])),
        "/c": get("c", json!([])),
        "/d": get("d", json!([{"q": []}])),
        "/e": get("e", json!([{"q": []}, {"b": [], "k": []}])),
        "/f": {"get": {"operationId": "f"}},
        "/g": get("g", json!([{"ba": []}])),
        "/h": get("h", json!([{"nowhere": []}])),
        "/i": get("i", json!([{}, {"b": []}])),
        "/j": get("j", json!([{"c": []}])),
    }));
    description["components"] = json!({"securitySchemes": {
        "b": {"type": "http", "scheme": "bearer"},
        "ba": {"type": "http", "scheme": "basic"},
        "k": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "q": {"type": "apiKey", "in": "query", "name": "key"},
        "c": {"type": "apiKey", "in": "cookie", "name": "sid"},
    }});
    description["security"] = json!([{"k": []}]);
    let (code, tools, notes) = import(&description, &[]);
    assert_eq!(code, Some(0), "{notes}");
    let bearer = "Bearer ${MY_API_B_TOOLS_TOKEN}";
    for (name, headers) in [
        ("a", json!({"authorization": bearer})),
        ("b", json!({"x-key": "${MY_API_K_TOOLS_TOKEN}"})),
        ("c", Value::Null),
        ("d", Value::Null),
        ("e", json!({"authorization": bearer, "x-key": "${MY_API_K_TOOLS_TOKEN}"})),
        ("f", json!({"x-key": "${MY_API_K_TOOLS_TOKEN}"})),
        ("g", json!({"authorization": "Basic ${MY_API_BA_TOOLS_TOKEN}"})),
        ("h", Value::Null),
        ("i", json!({"authorization": bearer})),
        ("j", json!({"cookie": "sid=${MY_API_C_TOOLS_TOKEN}"})),
    ] {
        assert_eq!(tools[name].get("headers").unwrap_or(&Value::Null), &headers, "{name}: {notes}");
    }
    assert!(notes.contains("d: its credential") && notes.contains("h: its credential"), "{notes}");
    assert!(!notes.contains("c: its credential"), "{notes}");
    assert_eq!(notes.matches("MY_API_K_TOOLS_TOKEN").count(), 1, "{notes}");
}

#[test]
fn an_operation_is_called_at_its_own_server() {
    let mut description = api(json!({
        "/a": {"get": {"operationId": "a"}},
        "/b": {"servers": [{"url": "https://b.example/"}], "get": {"operationId": "b"}, "post": {
            "operationId": "c", "servers": [{"url": "https://{host}.example", "variables": {"host": {"default": "c"}}}],
        }},
        "/d": {"servers": [{"url": "https://{region}.example"}], "get": {"operationId": "d"}},
        "/e": {"servers": [{"url": "http://169.254.169.254/latest"}], "get": {"operationId": "e"}},
    }));
    let (code, tools, notes) = import(&description, &[]);
    assert_eq!(code, Some(0), "{notes}");
    assert_eq!(tools["a"]["url"], "https://api.example/v1/a");
    assert_eq!(
        (&tools["b"]["url"], &tools["c"]["url"]),
        (&json!("https://b.example/b"), &json!("https://c.example/b"))
    );
    assert!(tools.get("d").is_none() && notes.contains("GET /d is left out"), "{notes}");
    assert!(tools.get("e").is_none() && notes.contains("GET /e is left out"), "{notes}");
    assert!(notes.contains("b: it is called at https://b.example"), "{notes}");
    let (_, tools, _) = import(&description, &["--base-url", "http://127.0.0.1:80/"]);
    assert_eq!(tools["b"]["url"], "http://127.0.0.1:80/b");
    assert_eq!(tools["e"]["allow_private"], true, "whoever names the address allows it");
    description["servers"] = json!([{"url": "https://{region}.example", "variables": {"region": {"default": "eu"}}}]);
    let (_, tools, _) = import(&description, &[]);
    assert_eq!(tools["a"]["url"], "https://eu.example/a");
}

#[test]
fn too_many_operations_get_one_note_and_none_is_an_error() {
    let many = (0..1500).map(|at| (format!("/p{at}"), json!({"get": {"operationId": format!("op{at}")}})));
    let (code, tools, notes) = import(&api(many.collect()), &[]);
    assert_eq!((code, tools.as_object().map(serde_json::Map::len)), (Some(0), Some(1000)));
    assert_eq!(notes.matches("1000 operations").count(), 1, "{notes}");
    let (code, _, notes) = import(&api(json!({})), &[]);
    assert!(code == Some(2) && notes.contains("no operation"), "{notes}");
    let (code, _, notes) = import(&api(json!({"/a": {"get": {"tags": ["x"]}}})), &["--tag", "y"]);
    assert!(code == Some(2) && notes.contains("no operation"), "{notes}");
}

/// What is in the query goes there, also where there is a body.
#[test]
fn query_parameters_stay_out_of_the_body() {
    let fields = || body(json!({"type": "object", "properties": {"x": {"type": "string"}}}));
    let mut required = parameter("dry-run", "query");
    required["required"] = json!(true);
    let (_, tools, notes) = import(
        &api(json!({
            "/a": {"delete": {"operationId": "a", "parameters": [required, parameter("opt", "query")], "requestBody": fields()}},
            "/b": {"post": {"operationId": "b", "parameters": [parameter("opt", "query")]}},
        })),
        &[],
    );
    assert_eq!(tools["a"]["url"], "https://api.example/v1/a?dry-run={dry-run}");
    assert_eq!((&tools["a"]["send"], &tools["b"]["send"]), (&json!("json"), &json!("query")));
    assert!(notes.contains("a: the parameter \"opt\", in the query, is left out"), "{notes}");
    assert!(tools["b"]["input_schema"]["properties"]["opt"].is_object(), "{tools}");
}

/// Whoever writes a description must not choose which variables of the environment are sent to them.
#[test]
fn a_name_in_a_description_never_expands_a_variable() {
    let names = [
        ("cookie", "sid=${PAYMENTS_API_KEY}; session"),
        ("cookie", "a;b"),
        ("cookie", "a=b"),
        ("cookie", "$x"),
        ("cookie", "a b"),
        ("cookie", ""),
        ("header", "x-${PAYMENTS_API_KEY}"),
        ("header", "x: y"),
        ("header", "x\r\ny"),
        ("header", "{x}"),
        ("header", ""),
    ];
    let mut description = api((0..names.len())
        .map(|at| {
            let scheme = format!("s{at}");
            (format!("/p{at}"), json!({"get": {"operationId": format!("op{at}"), "security": [{scheme: []}]}}))
        })
        .collect());
    let schemes = names.iter().enumerate();
    let schemes =
        schemes.map(|(at, (place, name))| (format!("s{at}"), json!({"type": "apiKey", "in": place, "name": name})));
    description["components"] = json!({"securitySchemes": schemes.collect::<serde_json::Map<_, _>>()});
    let (code, tools, notes) = import(&description, &[]);
    assert_eq!(code, Some(0), "{notes}");
    for (at, (place, name)) in names.iter().enumerate() {
        assert_eq!(tools[format!("op{at}")].get("headers"), None, "{place} {name:?}");
        assert!(notes.contains(&format!("op{at}: its credential")), "{notes}");
    }
    assert!(!tools.to_string().contains("PAYMENTS_API_KEY"), "{tools}");

    // Names of schemes and the title only become names of our own variables.
    let mut description = api(json!({"/a": {"get": {"operationId": "a", "security": [{"${HOME}": []}]}}}));
    description["info"]["title"] = json!("${PATH}; x=");
    description["components"] = json!({"securitySchemes": {
        "${HOME}": {"type": "http", "scheme": "bearer"}, "other": {"type": "http", "scheme": "bearer"},
    }});
    let (_, tools, _) = import(&description, &[]);
    assert_eq!(tools["a"]["headers"], json!({"authorization": "Bearer ${PATH_X_HOME_TOOLS_TOKEN}"}));
    // Parameters too.
    let odd = ["${HOME}", "a;b", "{x}", "a=b"];
    let parameters: Vec<Value> = odd
        .iter()
        .map(|name| json!({"name": name, "in": "query", "required": true, "schema": {"type": "string"}}))
        .collect();
    let (_, tools, notes) = import(
        &api(json!({"/a": {"post": {
            "operationId": "a", "parameters": parameters, "requestBody": body(json!({"type": "object", "properties": {"n": {"type": "string"}}})),
        }}})),
        &[],
    );
    let url = tools["a"]["url"].as_str().expect("a URL");
    assert!(!url.contains("${"), "{url} {notes}");
}
