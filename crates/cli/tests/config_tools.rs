//! Tools, MCP servers and approval policies from the settings: as a file, from the environment, and from the guides.

mod support;

use std::{collections::BTreeMap, path::Path};

use holdpoint_cli::config::Config;
use holdpoint_demo::demo_tools;
use holdpoint_runtime::{
    approvers::Approvers,
    tool::{
        ApprovalPolicy, ApprovalTimeout, Decisions, Execution, Tool, ToolSet,
        mcp::{McpSettings, McpTransport},
    },
};
use serde_json::{Value, json};
use support::Setup;

fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("written");
    let names: Vec<String> = demo_tools().iter().map(|tool| tool.spec.name.clone()).collect();
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::load(Some(file.path()), environment, &names).map_err(|error| error.to_string())
}

/// Every variable of the tests is set, to a secret that must not be seen anywhere.
fn variables(name: &str) -> Option<String> {
    (!name.starts_with("MISSING")).then(|| format!("hunter22-{name}"))
}

fn tools_with(text: &str, environment: &[(&str, &str)]) -> Result<ToolSet, String> {
    let config = load(text, environment)?;
    config.own_tools(&demo_tools(), &variables).map_err(|error| error.to_string())
}

/// The settings of the only MCP server.
fn server_with(text: &str) -> Result<McpSettings, String> {
    let config = load(text, &[])?;
    config.own_tools(&demo_tools(), &variables).map_err(|error| error.to_string())?;
    let servers = config.mcp_settings(&demo_tools(), &variables).map_err(|error| error.to_string())?;
    Ok(servers.into_iter().next().expect("a server"))
}

fn tool(text: &str, name: &str) -> Tool {
    let tools = tools_with(text, &[]).unwrap_or_else(|error| panic!("{error}"));
    tools.get(name).unwrap_or_else(|| panic!("{name} is there")).clone()
}

const PHOTO: &str = r#"
[tools.take-photo]
execution = "frontend"
title = "Take a photo"
description = "Takes a photo with the user's camera"
timeout_sec = 30
approval = "always"
wait = "resubmit"
input_schema = { type = "object", properties = { facing = { enum = ["user", "environment"] } } }
"#;

#[test]
fn a_browsers_tool_by_its_schema() {
    let spec = tool(PHOTO, "take-photo").spec;
    assert_eq!(
        (spec.execution, spec.frontend_timeout().as_secs(), &spec.approval),
        (Execution::Frontend, 30, &ApprovalPolicy::Always)
    );
    assert_eq!(
        (spec.title.as_deref(), spec.description.as_str()),
        (Some("Take a photo"), "Takes a photo with the user's camera")
    );
    assert!(spec.input.check(&json!({"facing": "user"})).is_ok());
    assert!(spec.input.check(&json!({"facing": "up"})).is_err());
    // A variable can't spell a dash, and still finds the tool of the file.
    let tools = tools_with(PHOTO, &[("HOLDPOINT_TOOLS__TAKE_PHOTO__TIMEOUT_SEC", "7")]).expect("good");
    assert_eq!(tools.get("take-photo").expect("it is there").spec.frontend_timeout().as_secs(), 7);
}

#[test]
fn an_invalid_tool_is_reported_with_its_name_and_key() {
    for (text, parts) in [
        ("[tools.pay]\napproval = 'never'", &["tools.pay", "no such tool", "[[mcp]]"][..]),
        ("[tools.pay]\nexecution = 'server'", &["tools.pay", "`url`"]),
        ("[tools.pay]\nurl = 'https://h'\nwait = 'stream'", &["tools.pay", "`wait`", "browser"]),
        ("[tools.pay]\nurl = 'https://h'\nreturns = 'ack'", &["tools.pay", "`returns`", "browser"]),
        ("[tools.pay]\nurl = 'https://h'\nmethod = 'CONNECT'", &["tools.pay", "CONNECT"]),
        ("[tools.pay]\nurl = 'https://h'\nmax_response_bytes = 99999999999", &["tools.pay", "5242880"]),
        ("[tools.pay]\nurl = 'https://h'\ninput_schema = 'x'", &["tools.pay", "type = \"object\""]),
        ("[tools.pay]\nexecution = 'frontend'\nurl = 'https://a.example/'", &["tools.pay", "`url`"]),
        ("[tools.pay]\nexecution = 'frontend'\ntimeout_sec = 0", &["`timeout_sec` must be at least 1"]),
        ("[tools.pay]\nexecution = 'frontend'\ninput_schema = { type = 'string' }", &["tools.pay", "schema"]),
        (
            "[tools.process_payment]\ninput_schema = { type = 'object' }",
            &["`input_schema`", "can't be changed", "`url`"],
        ),
        ("[tools.process_payment]\nexecution = 'server'", &["tools.process_payment", "`url`"]),
        ("[tools.process_payment]\nheaders = { a = 'b' }", &["`headers`"]),
        ("[tools.process_payment]\napproval = { when = '/amount', ovr = 5 }", &["line 2", "unknown key `ovr`"]),
        ("[tools.process_payment]\naproval = 'never'", &["line 2", "`aproval`"]),
        ("[tools.pay]\nurl = 'https://{host}/'", &["tools.pay", "host"]),
        ("[tools.pay]\nurl = 'http://10.0.0.1/'", &["tools.pay", "allow_private"]),
        ("[tools.pay]\nurl = 'https://a.example/'\nmax_response_bytes = 0", &["`max_response_bytes`"]),
        (
            "[tools.pay]\nurl = 'https://a.example/'\nheaders = { a = '${MISSING_KEY}' }",
            &["tools.pay", "`headers.a`", "MISSING_KEY is not set"],
        ),
        ("[tools.pay]\nurl = 'https://${MISSING}/'", &["tools.pay", "`${…}` is not replaced in the URL"]),
        ("[tools.'two words']\nexecution = 'frontend'", &["two words"]),
        (
            "[tools.process_payment]\ngrants = true\napprovers = { by = ['group:a'], quorum = 2 }",
            &["tools.process_payment", "`quorum` is above 1, so `grants` can't be true"],
        ),
        (
            "[tools.process_payment]\ndecisions = ['approve', 'deny', 'remember']",
            &["tools.process_payment", "`decisions`", "`grants`"],
        ),
        ("[[mcp]]\nname = 'a'\ncomand = ['x']", &["line 3", "`comand`"]),
        (
            "[[mcp]]\nname = 'a'\ncommand = ['x']\ntools = { t = { approval = 'never' } }",
            &["line 4", "[tools.SERVER_tool]"],
        ),
        ("[[mcp]]\nname = 'a'\ncommand = ['x']\ntools = [5]", &["line 4", "a list of names"]),
        ("[tools.process_payment]\nignore_hints = true", &["`ignore_hints`", "MCP"]),
        ("[tools.pay]\nexecution = 'frontend'\nignore_hints = true", &["`ignore_hints`", "MCP"]),
        ("[tools.a_b]\napproval = 'never'\n[[mcp]]\nname = 'b'\ncommand = ['x']", &["tools.a_b", "SERVER_tool"]),
    ] {
        let error = tools_with(text, &[]).map(drop).expect_err(text);
        for part in parts {
            assert!(error.contains(part), "{part} in: {error}");
        }
    }
}

/// A real model must not get a simulated payment.
#[test]
fn demo_tools_are_for_the_models_demo_and_script() {
    let names = |text: &str, model: Option<&str>| {
        let tools = load(text, &[])?.tool_set(model, &variables).map_err(|error| error.to_string())?;
        Ok::<_, String>(tools.iter().map(|tool| tool.spec.name.clone()).collect::<Vec<_>>())
    };
    let demo: Vec<String> = demo_tools().iter().map(|tool| tool.spec.name.clone()).collect();
    for model in ["demo", "script:x.json"] {
        assert_eq!(names("", Some(model)).as_ref(), Ok(&demo), "{model}");
        assert_eq!(names(&format!("[model]\nuse = '{model}'"), None).as_ref(), Ok(&demo), "{model}");
        assert_eq!(names("demo_tools = false", Some(model)), Ok(vec![]), "{model}");
    }
    assert_eq!(names("", None).as_ref(), Ok(&demo));
    for model in ["openai:m", "anthropic:m", "gemini:m", "ollama:m"] {
        assert_eq!(names("", Some(model)), Ok(vec![]), "{model}");
        assert_eq!(names(&format!("[model]\nuse = '{model}'"), None), Ok(vec![]), "{model}");
        assert_eq!(names(PHOTO, Some(model)), Ok(vec!["take-photo".to_owned()]), "{model}");
        assert_eq!(names("demo_tools = true", Some(model)).as_ref(), Ok(&demo), "{model}");
    }
    // The command line goes before the settings.
    assert_eq!(names("[model]\nuse = 'openai:m'", Some("demo")).as_ref(), Ok(&demo));
    let changed = "[tools.process_payment]\napproval = 'never'";
    let error = names(changed, Some("openai:m")).expect_err("there is none");
    assert!(["process_payment", "demo tool", "`demo_tools = true`"].iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn a_tool_of_the_settings_replaces_a_demo_tool_of_its_name() {
    let spec = tool("[tools.process_payment]\nurl = 'https://pay.example/'", "process_payment").spec;
    assert_eq!((spec.title.as_deref(), spec.description.as_str()), (None, "process_payment"));
    assert!(spec.input.check(&json!({"anything": 1})).is_ok(), "the demo tool's schema is gone");
    let spec = tool("[tools.get_weather]\nexecution = 'frontend'\ndescription = 'Looks outside'", "get_weather").spec;
    assert_eq!((spec.execution, spec.description.as_str()), (Execution::Frontend, "Looks outside"));
    assert_eq!(tools_with("[tools.get_weather]\nexecution = 'frontend'", &[]).expect("good").iter().count(), 7);
}

#[test]
fn grants_are_allowed_unless_the_settings_say_otherwise() {
    let allows = |text: &str| tool(&format!("[tools.process_payment]\n{text}"), "process_payment").spec.allows_grants();
    assert!(allows("approval = 'always'") && allows("grants = true"));
    assert!(!allows("grants = false"));
    assert!(!allows("approvers = { by = ['group:a'], quorum = 2 }"), "with a quorum nobody decides alone");
}

#[test]
fn mcp_servers_of_the_settings_are_parsed_and_validated() {
    let text = r#"
[[mcp]]
name = "files"
command = ["mcp-server-files", "/srv/docs"]
env = { MODE = "plain", KEY = { env = "FILES_KEY" } }
approval = "never"
approval_timeout_sec = 0
tools = ["wipe", "tidy"]
deny = ["format"]
grants = false
instructions = false
[tools.files_wipe]
approval = "always"
[tools.files_tidy]
ignore_hints = true
timeout_sec = 5
[[mcp]]
name = "web"
url = "https://mcp.example/${WEB_PATH}/mcp?apiKey=${WEB_KEY}"
headers = { authorization = "Bearer ${WEB_KEY}" }
approval = { when = "/amount", over = 100 }
timeout_sec = 5
"#;
    let config = load(text, &[]).expect("good");
    assert!(!format!("{config:?}").contains("plain"), "a value may be a secret");
    let settings = config.mcp_settings(&demo_tools(), &variables).expect("good");
    let [files, web] = settings.as_slice() else { panic!("two servers") };
    let McpTransport::Command { command, env } = &files.transport else { panic!("a program") };
    assert_eq!((command.len(), env.len()), (2, 2));
    assert_eq!((&files.approval, files.approval_timeout), (&ApprovalPolicy::Never, ApprovalTimeout::Never));
    assert_eq!(files.tools["files_wipe"].approval, Some(ApprovalPolicy::Always));
    assert!(files.tools["files_tidy"].ignore_hints);
    assert_eq!(files.tools["files_tidy"].timeout.map(|timeout| timeout.as_secs()), Some(5));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!((&files.offered, &files.denied), (&Some(names(&["wipe", "tidy"])), &names(&["format"])));
    assert!(web.tools.is_empty() && web.offered.is_none());
    assert!(!files.grants && web.grants, "if nothing is said, approvals can be remembered");
    assert!(!files.instructions && web.instructions, "if nothing is said, the model is told what a server says");
    assert_eq!((web.timeout.as_secs(), web.approval_timeout), (5, ApprovalTimeout::Usual));
    assert_eq!(web.approval.approval_reason(&json!({"amount": 250})).as_deref(), Some("amount is 250, over 100"));
    assert!(!format!("{settings:?}").contains("hunter22"), "{settings:?}");

    let plain = load("[[mcp]]\nname = 'a'\ncommand = ['x']", &[]).expect("good");
    assert_eq!(
        plain.mcp[0].settings(&variables).expect("good").approval,
        ApprovalPolicy::Always,
        "nothing said: always"
    );
    let array = "[{ name = 'env', command = ['x'], approval = 'never' }]";
    assert_eq!(load(text, &[("HOLDPOINT_MCP", array)]).expect("good").mcp[0].name, "env");
    for (text, part) in [
        ("", "either `command` or `url`"),
        ("command = ['x']\nurl = 'https://a.example'", "either `command` or `url`"),
        ("command = ['x']\nheaders = { a = 'b' }", "`headers` is for a server with `url`"),
        ("url = 'https://a.example'\nenv = { a = 'b' }", "`env` is for a server with `command`"),
        ("command = ['x']\ntimeout_sec = 0", "`timeout_sec`"),
        ("command = ['x']\nenv = { a = { env = 'MISSING' } }", "`env.a`: the environment variable MISSING is not set"),
        ("url = 'https://a.example/${MISSING}'", "`url`: the environment variable MISSING is not set"),
        ("url = 'https://${MISSING}/'", "`url`: the environment variable MISSING is not set"),
        (
            "url = 'https://a.example'\nheaders = { x = '${MISSING}' }",
            "`headers.x`: the environment variable MISSING is not set",
        ),
        ("command = ['x']\noauth_file = 'f'", "`oauth_file` is for a server with `url`"),
        ("url = 'https://a.example'\noauth_client_id = 'f'", "`oauth_client_id` is for a server with `oauth_file`"),
        ("url = 'https://a.example'\noauth_key = 'f'", "`oauth_key` is for a server with `oauth_file`"),
        ("url = 'https://a.example'\noauth_file = 'f'", "`oauth_file` needs `oauth_key`"),
        ("url = 'https://a.example'\noauth_file = 'f'\noauth_key = 'short'", "at least 16 characters"),
        (
            "url = 'https://a.example'\noauth_file = 'f'\noauth_key = { env = 'MISSING' }",
            "`oauth_key`: the environment variable MISSING is not set",
        ),
        ("url = 'https://a.example'\noauth_file = 'f'\nheaders = { Authorization = 'x' }", "two logins"),
    ] {
        let config = load(&format!("[[mcp]]\nname = 'a'\n{text}"), &[]).expect("it can be read");
        let error = config.mcp[0].settings(&variables).map(drop).expect_err(text).to_string();
        assert!(error.contains("\"a\"") && error.contains(part), "{error}");
    }
}

/// Who may decide, from a file and from the environment; what could never be decided is an error that names the key.
#[test]
fn approvers_are_set_and_checked() {
    let text = r#"
[tools.process_payment]
approval = { when = "/amount", over = 100 }
approval_timeout_sec = 3600
[tools.process_payment.approvers]
by = ["group:finance", "subject:carol"]
exclude_self = true
quorum = 2
escalate = { after_sec = 600, to = ["group:directors"] }
"#;
    let spec = tool(text, "process_payment").spec;
    let wanted = Approvers::new(["group:finance", "subject:carol"]).expect("names").excluding_self().quorum(2);
    let wanted = wanted.escalating(std::time::Duration::from_secs(600), ["group:directors"]).expect("names");
    assert_eq!((&*spec.approvers, spec.decisions), (&wanted, Decisions::PLAIN));
    // Others have a day, unless the settings say otherwise; whoever asked has five minutes.
    assert_eq!(spec.expires_after().map(|timeout| timeout.as_secs()), Some(3600));
    for (text, seconds) in [
        ("approvers = { by = ['group:finance'] }", Some(86_400)),
        ("approvers = { by = ['self', 'subject:Carol'] }", Some(86_400)),
        ("approvers = { escalate = { after_sec = 600, to = ['group:a'] } }", Some(86_400)),
        ("approvers = { by = ['self'] }", Some(300)),
        ("title = 'Pay'", Some(300)),
        ("approvers = { by = ['group:finance'] }\napproval_timeout_sec = 300", Some(300)),
        ("approvers = { by = ['group:finance'] }\napproval_timeout_sec = 0", None),
    ] {
        let spec = tool(&format!("[tools.process_payment]\n{text}"), "process_payment").spec;
        assert_eq!(spec.expires_after().map(|timeout| timeout.as_secs()), seconds, "{text}");
    }
    let variables = [
        ("HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVERS__QUORUM", "3"),
        ("HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVERS__BY", "['group:finance']"),
    ];
    let tools = tools_with(text, &variables).unwrap_or_else(|error| panic!("{error}"));
    let spec = &tools.get("process_payment").expect("it is there").spec;
    assert_eq!((spec.approvers.quorum, spec.approvers.by.len(), spec.approvers.exclude_self), (3, 1, true));

    for (approvers, part) in [
        ("by = []", "`by`: nobody is named"),
        ("by = ['carol']", "`approvers.by`: \"carol\" names nobody"),
        ("by = ['role:admin']", "`approvers.by`: \"role:admin\" names nobody"),
        ("by = ['group:']", "`approvers.by`: \"group:\" has no name"),
        ("exclude_self = true", "`exclude_self`: nobody but \"self\""),
        ("quorum = 0", "`quorum` must be at least 1"),
        ("quorum = 2", "`quorum` is 2, but at most 1"),
        ("escalate = { after_sec = 60, to = ['carol'] }", "`approvers.escalate.to`: \"carol\""),
        ("escalate = { after_sec = 60, to = [] }", "`escalate.to`: nobody"),
        ("escalate = { to = ['group:a'] }", "`approvers.escalate` needs `after_sec`"),
        ("escalate = { after_sec = 0, to = ['group:a'] }", "`escalate.after_sec` must be at least 1"),
        (
            "escalate = { after_sec = 86400, to = ['group:a'] }",
            "`escalate.after_sec` is 86400 s, but the request expires",
        ),
        ("escalate = { after = 5, to = ['group:a'] }", "after"),
        ("quorums = 2", "quorums"),
    ] {
        let text =
            format!("[tools.process_payment]\napproval = 'always'\n[tools.process_payment.approvers]\n{approvers}");
        let error = tools_with(&text, &[]).map(drop).expect_err(approvers);
        let is_named = error.contains("process_payment") || error.contains("line 4");
        assert!(is_named && error.contains(part), "{approvers}: {error}");
    }
    let edits =
        "approval = 'always'\ndecisions = ['approve', 'deny', 'edit']\napprovers = { by = ['group:a'], quorum = 2 }";
    let never = "approval = 'never'\napprovers = { by = ['group:a'] }";
    for (text, part) in [(edits, "`decisions` can only be"), (never, "never needs approval")] {
        let error = tools_with(&format!("[tools.process_payment]\n{text}"), &[]).map(drop).expect_err(text);
        assert!(error.contains("process_payment") && error.contains(part), "{error}");
    }
}

/// What a tool's policy can say, it can say for a tool of an MCP server; what could never be decided is told at the start.
#[test]
fn a_policy_for_a_tool_of_a_server_is_checked_at_the_start() {
    let server = "[[mcp]]\nname = 'bank'\ncommand = ['x']\napproval = 'never'\n";
    for (text, parts) in [
        ("approval = 'always'\napprovers = { by = ['carol'] }", &["`approvers.by`", "names nobody"][..]),
        ("approval = 'always'\napprovers = { exclude_self = true }", &["`exclude_self`"]),
        ("approvers = { by = ['group:a'] }", &["never needs approval"]),
        ("approval = 'always'\ndecisions = ['approve']", &["`decisions`"]),
        (
            "approval = 'always'\napprovers = { escalate = { after_sec = 86400, to = ['group:a'] } }",
            &["`escalate.after_sec`"],
        ),
        ("input_schema = {}", &["`input_schema`", "can't be changed"]),
        ("method = 'GET'", &["`method`", "`url`"]),
        ("wait = 'stream'", &["`wait`", "browser"]),
        ("timeout_sec = 0", &["`timeout_sec`"]),
    ] {
        let error = server_with(&format!("{server}[tools.bank_pay]\n{text}")).map(drop).expect_err(text);
        for part in ["tools.bank_pay"].iter().chain(parts) {
            assert!(error.contains(part), "{part} in: {error}");
        }
    }
    let two = format!("{server}[[mcp]]\nname = 'bank_eu'\ncommand = ['x']\n[tools.bank_eu_pay]\napproval = 'always'");
    let error = server_with(&two).map(drop).expect_err("whose is it?");
    assert!(error.contains("tools.bank_eu_pay") && error.contains("\"bank_eu\""), "{error}");
    let own = format!("{server}[tools.bank_photo]\nexecution = 'frontend'");
    assert!(server_with(&own).expect("a tool of the settings").tools.is_empty());
}

#[test]
fn no_error_shows_a_secret() {
    for text in [
        "[tools.pay]\nurl = 'https://a.example/'\nheaders = { authorization = 'hunter22', x = 5 }",
        "[tools.pay]\nurl = 'https://a.example/'\nheaders = 'hunter22'",
        "[tools.pay]\nurl = 'https://a.example/'\nheaders = { authorization = 'hunter22' }\nmethd = 'GET'",
        "[tools.pay]\nurl = 'https://a.example/'\nheaders = { authorization = { evn = 'hunter22' } }",
        "[tools.pay]\nurl = 'https://a.example/'\nheaders = { authorization = \"hunter22\\nx: y\" }",
        "[tools.pay]\nurl = 'https://me:hunter22@a.example/'",
        "[[mcp]]\nname = 'a'\nenv = { KEY = ['hunter22'] }",
        "[[mcp]]\nname = 'a'\ncommand = ['x']\nenv = { KEY = 'hunter22', }, x = 5",
    ] {
        let error = tools_with(text, &[]).map(drop).expect_err(text);
        assert!(!error.contains("hunter22"), "{error}");
    }
    let error = load("", &[("HOLDPOINT_TOOLS__PAY__HEADERS", "{ authorization = ['hunter22'] }")]).unwrap_err();
    assert!(error.contains("HOLDPOINT_TOOLS__PAY__HEADERS") && !error.contains("hunter22"), "{error}");
}

/// What a rule over a payment says to 250 dollars, from a file and from the environment.
#[test]
fn every_rule_can_be_written_and_says_why_it_asks() {
    let input = json!({"amount": 250, "recipient": "Bob", "currency": "USD", "items": [{"price": 5}]});
    for (rule, reason) in [
        ("'always'", Some("This tool always needs approval")),
        ("'never'", None),
        ("{ when = '/amount', over = 100 }", Some("amount is 250, over 100")),
        ("{ when = '/amount', over = 250 }", None),
        ("{ when = '/amount', under = 300.5 }", Some("amount is 250, under 300.5")),
        ("{ when = '/recipient', equals = 'Bob' }", Some("recipient is \"Bob\"")),
        ("{ when = '/currency', one_of = ['EUR', 'USD'] }", Some("currency is \"USD\", one of \"EUR\", \"USD\"")),
        ("{ when = '/recipient', matches = '^B' }", Some("recipient is \"Bob\", a match of ^B")),
        ("{ when = '/items/0/price', under = 10 }", Some("items.0.price is 5, under 10")),
        ("{ when = '/note', equals = 'x' }", Some("note is missing, so it can't be checked whether it is \"x\"")),
        ("{ not = { when = '/currency', equals = 'EUR' } }", Some("currency is \"USD\", not \"EUR\"")),
        (
            "{ all = [{ when = '/amount', over = 100 }, { when = '/recipient', matches = 'o' }] }",
            Some("amount is 250, over 100 and recipient is \"Bob\", a match of o"),
        ),
        (
            "{ any = [{ when = '/amount', over = 1000 }, { when = '/currency', equals = 'USD' }] }",
            Some("currency is \"USD\""),
        ),
    ] {
        let file = format!("[tools.process_payment]\napproval = {rule}");
        let variable = [("HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVAL", rule)];
        for tools in [tools_with(&file, &[]), tools_with("", &variable)] {
            let tools = tools.unwrap_or_else(|error| panic!("{rule}: {error}"));
            let asks = tools.get("process_payment").expect("it is there").spec.approval.approval_reason(&input);
            assert_eq!(asks.as_deref(), reason, "{rule}");
        }
    }
    // Words without quotes are words in the environment.
    let tools = tools_with("", &[("HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVAL", "never")]).expect("good");
    assert_eq!(tools.get("process_payment").expect("it is there").spec.approval, ApprovalPolicy::Never);
    let error = tools_with("", &[("HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVAL", "{ when = '/amount' }")]).unwrap_err();
    assert!(error.contains("HOLDPOINT_TOOLS__PROCESS_PAYMENT__APPROVAL"), "{error}");
}

const SPENDING: &str = "docs/guides/spending-limit.md";

fn guide(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let text = std::fs::read_to_string(&path).expect("the guide is there");
    let blocks =
        text.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```").map(|(block, _)| block.to_owned()));
    blocks.collect()
}

/// The Markdown files of a folder, below the root of the repository.
fn pages(folder: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = std::fs::read_dir(root.join(folder)).expect("the folder is there");
    let entries = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let page = |name: String| name.ends_with(".md").then(|| format!("{folder}/{name}"));
    entries.filter_map(page).collect()
}

/// What the documentation shows can be loaded, and does what it says.
#[test]
fn the_settings_in_the_documentation_are_valid() {
    let mut pages = [vec!["README.md".to_owned()], pages("docs"), pages("docs/guides")].concat();
    pages.sort();
    let with_settings: Vec<&String> = pages.iter().filter(|page| !guide(page).is_empty()).collect();
    assert!(with_settings.len() > 8, "settings are shown in these pages only: {with_settings:?}");
    for name in with_settings {
        for block in guide(name) {
            let config = load(&block, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
            config.tool_set(None, &variables).unwrap_or_else(|error| panic!("{name}: {error}"));
            config.mcp_settings(&demo_tools(), &variables).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    let pays = |block: &str, input: Value| tool(block, "process_payment").spec.approval.approval_reason(&input);
    let blocks = guide(SPENDING);
    assert_eq!(pays(&blocks[0], json!({"amount": 250})).as_deref(), Some("amount is 250, over 100"));
    assert_eq!(pays(&blocks[0], json!({"amount": 80})), None);
    assert!(pays(&blocks[0], json!({"amount": "80"})).is_some());
    let payment = |amount, currency, recipient| json!({"amount": amount, "currency": currency, "recipient": recipient});
    assert_eq!(pays(&blocks[1], payment(80, "USD", "Bob")), None);
    assert!(pays(&blocks[1], payment(80, "JPY", "Bob")).is_some());
    assert!(pays(&blocks[1], payment(20, "EUR", "bob@b.example")).is_some());
}

/// From the settings to the inbox: what is under the limit runs, what is over it waits with its reason.
#[tokio::test]
async fn the_inbox_says_which_rule_asked() {
    let call = |amount: u32| json!({"toolCall": {"name": "process_payment", "input": {"amount": amount, "recipient": "Bob", "currency": "USD"}}});
    let script = json!({"turns": [
        {"when": "little", "steps": [[call(80)], [{"text": ["paid"]}]]},
        {"when": "much", "steps": [[call(250)], [{"text": ["paid"]}]]},
    ]});
    let mut setup = Setup::script(&script);
    let tools = tools_with(&guide(SPENDING)[0], &[]).expect("good");
    setup.builder = setup.builder.tools(tools);
    let server = setup.start().await;
    let mut little = server.chat();
    little.ask("a little").await;
    assert!(server.approvals().await.is_empty());
    let mut much = server.chat();
    much.ask("much").await;
    let waiting = server.approvals().await;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(waiting[0]["reason"], "amount is 250, over 100");
}

/// `/api/tools` tells what a client needs, and nothing that is secret.
#[tokio::test]
async fn the_list_of_tools_has_no_secrets() {
    let mut setup = Setup::demo();
    setup.builder = setup.builder.tools(tools_with(&guide("docs/guides/http-tools.md")[0], &[]).expect("good"));
    let server = setup.start().await;
    let (status, tools) = server.get("/api/tools").await;
    assert_eq!(status, 200);
    let by_name: BTreeMap<&str, &Value> =
        tools.as_array().expect("a list").iter().map(|tool| (tool["name"].as_str().expect("a name"), tool)).collect();
    assert_eq!(by_name["refund_order"]["execution"], "server");
    assert_eq!(by_name["refund_order"]["approval"], json!({"when": "/amount", "over": 100}));
    assert!(!tools.to_string().contains("hunter22") && !tools.to_string().contains("SHOP_TOKEN"));
}

/// What the settings say literally may be in an answer for another reason. What comes from a variable, and what a header is
/// known to be secret for, is masked.
#[tokio::test]
async fn only_secrets_are_masked_in_an_answer() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let text = format!(
        "[tools.ask]\nurl = 'http://{}/'\nallow_private = true\n[tools.ask.headers]\nx-from = 'production'\nx-to = 'staging'\n\
         X-GitHub-Api-Version = '2022-11-28'\nx-flag = 'true'\nx-shop = 'for ${{SHOP}}'\nx-other = {{ env = 'OTHER' }}\n\
         authorization = 'Bearer literal-token'",
        listener.local_addr().expect("an address")
    );
    let ask = tool(&text, "ask");
    let body = json!({
        "production": 1, "staging": 2, "date": "2022-11-28", "is": "true",
        "hunter22-SHOP": "for hunter22-SHOP", "hunter22-OTHER": ["literal-token"],
    });
    let body = body.to_string();
    let answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a call");
        let _ = stream.read(&mut [0; 4096]).await;
        stream.write_all(answer.as_bytes()).await.expect("written");
        let _ = stream.read(&mut [0; 1]).await;
    });
    let context = holdpoint_runtime::tool::ToolContext::new("chat", "ann", "call");
    let output = (ask.handler.expect("a handler"))(json!({}), context).await.expect("an output");
    let masked = json!({
        "production": 1, "staging": 2, "date": "2022-11-28", "is": "true", "•••": "for •••", "••• (2)": ["•••"],
    });
    assert_eq!(output, masked);
}

/// What people write first, and what they should have written.
#[test]
fn an_error_in_the_settings_says_what_to_write_instead() {
    for (text, parts) in [
        ("[mcp.files]\ncommand = ['x']", &["[[mcp]]", "name"][..]),
        ("[model]\nfallback = 'anthropic:x'", &["fallback", "a list, such as [\"a\", \"b\"]"]),
        ("[model]\napi_key = 'sk-123'", &["api_key", "environment", "OPENAI_API_KEY"]),
        ("[[mcp]]\nname = 'a'\nurl = 'https://a.example'\nprotocol = '2020'", &["protocol", "2025-06-18"]),
    ] {
        let error = load(text, &[]).map(drop).expect_err(text);
        for part in parts {
            assert!(error.contains(part), "{part} in: {error}");
        }
        assert!(!error.contains("sk-123"), "{error}");
    }
    assert!(load("[model]\nfallback = ['anthropic:x']", &[]).is_ok());
}

/// A field that can't be in the input would make every call ask, and nobody would know why.
#[test]
fn a_rule_about_an_unknown_field_is_refused() {
    let with = |more: &str, rule: &str| {
        let schema = format!(
            "{{ type = 'object', properties = {{ amount = {{ type = 'number' }}, to = {{ type = 'object', properties = {{ iban = {{ type = 'string' }} }} }} }}{more} }}"
        );
        tools_with(&format!("[tools.pay]\nurl = 'https://a.example'\ninput_schema = {schema}\napproval = {rule}"), &[])
    };
    let closed = ", additionalProperties = false";
    for rule in [
        "{ when = '/amuont', over = 5 }",
        "{ all = [{ when = '/amount', over = 5 }, { not = { when = '/amuont', over = 5 } }] }",
    ] {
        let error = with(closed, rule).map(drop).expect_err(rule);
        assert!(error.contains("tools.pay") && error.contains("/amuont") && error.contains("amount"), "{error}");
        assert!(with("", rule).is_ok(), "other fields are allowed");
    }
    for rule in [
        "{ when = '/amount', over = 5 }",
        "{ when = '/to/bic', equals = 'x' }",
        "{ when = '/to/iban', equals = 'x' }",
        "'always'",
    ] {
        assert!(with(closed, rule).is_ok(), "{rule}");
    }
}

/// What looks like a variable is either replaced or refused, never taken as it is written.
#[test]
fn a_variable_reference_where_none_is_expanded_is_refused() {
    for (text, key, hint) in [
        ("data = '${NOPE}/x'", "data:", "HOLDPOINT_DATA"),
        ("[model]\nuse = 'openai:x'\nbase_url = 'https://${NOPE}/v1'", "model.base_url:", "HOLDPOINT_MODEL__BASE_URL"),
        ("[model]\nuse = '${NOPE}'", "model.use:", "HOLDPOINT_MODEL__USE"),
        ("[logging]\notlp = 'http://${NOPE}:4318'", "logging.otlp:", "HOLDPOINT_LOGGING__OTLP"),
        (
            "[auth.jwt]\nissuer = 'i'\naudience = 'a'\njwks_url = 'https://${NOPE}/'",
            "auth.jwt.jwks_url:",
            "HOLDPOINT_AUTH__JWT__JWKS_URL",
        ),
        ("origins = ['https://a.example', 'https://${NOPE}']", "origins[1]:", "write its value"),
        ("[[auth.keys]]\nkey_sha256 = '${NOPE}'\nsubject = 'a'", "auth.keys[0].key_sha256:", "write its value"),
    ] {
        let error = load(text, &[]).expect_err(text).to_string();
        assert!(error.contains(key) && error.contains("is not replaced") && error.contains(hint), "{error}");
    }
}
