//! The allowed dependencies between crates: `protocol <- core <- log, models, tools <- runtime <- demo <- server <- cli`, and
//! nothing points back or sideways.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::Violation;
use super::tree::Tree;

/// The shipped layers, lowest first, with the folders of their crates. Each may depend on those before it.
const LAYERS: &[&[&str]] = &[
    &["crates/protocol"],
    &["crates/core"],
    &["crates/log", "crates/models", "crates/tools"],
    &[RUNTIME],
    &[DEMO],
    &["crates/server"],
    &["crates/cli"],
];

/// What a program embeds.
const RUNTIME: &str = "crates/runtime";

/// How many layers are pure, from the lowest on.
const PURE: usize = 2;

/// The demo, which tests of every layer may use.
const DEMO: &str = "crates/demo";

/// Test support, which no shipped crate may depend on.
const TESTKIT: &str = "crates/testkit";

/// Crates that must not be anywhere in the tree of a pure one, which has to run in a browser too: they do I/O, or need what does.
const NOT_BELOW_PURE: [&str; 6] = ["tokio", "mio", "socket2", "axum", "hyper", "reqwest"];

/// Crates that what serves nothing must not depend on directly: up to the runtime, nothing serves HTTP. (Clients below may.)
const NOT_BELOW_SERVER: [&str; 4] = ["axum", "hyper", "http", "tower-http"];

/// Checks the output of `cargo metadata`. Layers that do not exist yet are skipped.
pub(super) fn check(metadata: &Value, tree: &Tree) -> Vec<Violation> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut violations = Vec::new();
    for package in items(&metadata["packages"]) {
        let Some(folder) = package["manifest_path"].as_str().and_then(|path| folder(root, path)) else {
            continue;
        };
        for dependency in items(&package["dependencies"]) {
            if let Some(message) = judge(root, folder, dependency) {
                let name = dependency["name"].as_str().unwrap_or_default();
                violations.push(at_dependency(tree, folder, name, message));
            }
        }
        if rank(folder).is_some_and(|rank| rank < PURE) {
            for path in forbidden_below(metadata, package["id"].as_str().unwrap_or_default()) {
                let message = format!("{} must not be in its tree: {}", path[path.len() - 1], path.join(" -> "));
                let first = path.get(1).map_or("", String::as_str);
                violations.push(at_dependency(tree, folder, first, message));
            }
        }
    }
    violations
}

/// The problem with one declared dependency of the crate in `folder`, if any.
fn judge(root: &str, folder: &str, dependency: &Value) -> Option<String> {
    let name = dependency["name"].as_str()?;
    let is_dev = dependency["kind"].as_str() == Some("dev");
    if rank(folder).is_some_and(|own| Some(own) <= rank(RUNTIME)) && !is_dev && NOT_BELOW_SERVER.contains(&name) {
        return Some(format!("{folder} serves no HTTP, but depends on {name}"));
    }
    let target = dependency["path"].as_str().and_then(|path| path.strip_prefix(root))?.trim_start_matches('/');
    if target == TESTKIT && folder != TESTKIT && folder.starts_with("crates/") && !is_dev {
        return Some(format!("{name} is for tests: make it a dev-dependency"));
    }
    match (rank(folder)?, rank(target)?) {
        // Tests play with the demo, and with what stands beside a crate.
        (own, other) if is_dev && own >= PURE && (other == own || target == DEMO || target == RUNTIME) => None,
        (own, other) if other >= own => Some(format!(
            "{folder} must not depend on {target}: protocol <- core <- log, models, tools <- runtime <- demo <- server"
        )),
        _ => None,
    }
}

/// The layer of a crate, by its folder.
fn rank(folder: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&folder))
}

/// For each crate forbidden below a pure one, the shortest path down to it by normal dependencies.
fn forbidden_below(metadata: &Value, pure: &str) -> Vec<Vec<String>> {
    let names: BTreeMap<&str, &str> = items(&metadata["packages"])
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let nodes: BTreeMap<&str, &Value> =
        items(&metadata["resolve"]["nodes"]).filter_map(|node| Some((node["id"].as_str()?, node))).collect();

    let mut found = Vec::new();
    let mut seen = BTreeSet::from([pure]);
    let mut queue = VecDeque::from([vec![pure]]);
    while let Some(path) = queue.pop_front() {
        let last = path[path.len() - 1];
        let name = |id: &str| names.get(id).copied().unwrap_or(id).to_owned();
        if NOT_BELOW_PURE.contains(&name(last).as_str()) {
            found.push(path.iter().map(|id| name(id)).collect());
            continue;
        }
        for dependency in nodes.get(last).into_iter().flat_map(|node| items(&node["deps"])) {
            let normal = items(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null());
            if let Some(id) = dependency["pkg"].as_str()
                && normal
                && seen.insert(id)
            {
                queue.push_back([path.as_slice(), &[id]].concat());
            }
        }
    }
    found
}

/// Points to the line of the manifest that names the dependency.
fn at_dependency(tree: &Tree, folder: &str, name: &str, message: String) -> Violation {
    let manifest = format!("{folder}/Cargo.toml");
    let names_it = |line: &str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
            || (line.starts_with('[') && line.trim_end().ends_with(&format!("dependencies.{name}]")))
    };
    let line = tree.text(&manifest).and_then(|text| text.lines().position(names_it));
    Violation::new(manifest, line.map_or(1, |at| at + 1), message)
}

/// The folder of a manifest, relative to the workspace root.
fn folder<'a>(root: &str, manifest: &'a str) -> Option<&'a str> {
    manifest.strip_prefix(root)?.trim_start_matches('/').strip_suffix("/Cargo.toml")
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The findings for two crates, where the first depends on the second with this kind.
    fn found(from: &str, to: &str, kind: Value) -> Vec<String> {
        let package = |folder: &str, dependencies: Value| {
            json!({"id": folder, "name": folder.replace("crates/", "holdpoint-"),
                "manifest_path": format!("/w/{folder}/Cargo.toml"), "dependencies": dependencies})
        };
        let name = to.replace("crates/", "holdpoint-");
        let dependency = json!([{"name": name, "kind": kind, "path": format!("/w/{to}")}]);
        let packages = [package(from, dependency), package(to, json!([]))];
        let metadata = json!({"workspace_root": "/w", "packages": packages, "resolve": {"nodes": []}});
        let manifest = format!("[package]\n\n[dependencies]\n{name}.workspace = true\n");
        let tree = Tree::of(&[(&format!("{from}/Cargo.toml"), &manifest)]);
        check(&metadata, &tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn downwards_is_fine() {
        assert_eq!(found("crates/server", "crates/runtime", Value::Null), [""; 0]);
        assert_eq!(found("crates/server", "crates/protocol", Value::Null), [""; 0]);
        assert_eq!(found("xtask", "crates/protocol", Value::Null), [""; 0]);
        assert_eq!(found("crates/testkit", "crates/runtime", Value::Null), [""; 0]);
    }

    #[test]
    fn upwards_is_found_even_in_tests() {
        for kind in [Value::Null, json!("dev"), json!("build")] {
            for folder in ["crates/protocol", "crates/core"] {
                let violations = found(folder, "crates/runtime", kind.clone());
                assert_eq!(violations.len(), 1, "{violations:?}");
                assert!(violations[0].starts_with(&format!("{folder}/Cargo.toml:4: ")), "{violations:?}");
            }
        }
        assert_eq!(found("crates/runtime", "crates/server", Value::Null).len(), 1);
    }

    #[test]
    fn sideways_is_found_except_in_tests() {
        assert_eq!(found("crates/models", "crates/tools", Value::Null).len(), 1);
        assert_eq!(found("crates/models", "crates/tools", json!("dev")), [""; 0]);
        assert_eq!(found("crates/log", "crates/runtime", json!("dev")), [""; 0]);
        assert_eq!(found("crates/runtime", "crates/demo", json!("dev")), [""; 0]);
    }

    #[test]
    fn the_testkit_is_for_tests_only() {
        assert_eq!(found("crates/server", "crates/testkit", json!("dev")), [""; 0]);
        assert_eq!(found("bench", "crates/testkit", Value::Null), [""; 0], "what is not shipped may use it");
        assert_eq!(found("crates/server", "crates/testkit", Value::Null).len(), 1);
        assert_eq!(found("crates/protocol", "crates/testkit", json!("build")).len(), 1);
    }

    #[test]
    fn nothing_below_the_server_serves_http() {
        assert_eq!(found("crates/runtime", "axum", Value::Null).len(), 1);
        assert_eq!(found("crates/tools", "axum", Value::Null).len(), 1);
        assert_eq!(found("crates/runtime", "axum", json!("dev")), [""; 0]);
        assert_eq!(found("crates/server", "axum", Value::Null), [""; 0]);
    }

    /// The findings for a crate, a crate below it, and tokio below that with this kind.
    fn below(name: &str, kind: Value) -> Vec<String> {
        let package = |name: &str, folder: &str| {
            let manifest = format!("{folder}/Cargo.toml");
            json!({"id": name, "name": name, "manifest_path": manifest, "dependencies": []})
        };
        let node = |id: &str, below: &str, kind: Value| json!({"id": id, "deps": [{"pkg": below, "dep_kinds": [{"kind": kind}]}]});
        let packages = [
            package(&format!("holdpoint-{name}"), &format!("/w/crates/{name}")),
            package("middle", "/r/middle"),
            package("tokio", "/r/tokio"),
        ];
        let nodes = [node(&format!("holdpoint-{name}"), "middle", Value::Null), node("middle", "tokio", kind)];
        let metadata = json!({"workspace_root": "/w", "packages": packages, "resolve": {"nodes": nodes}});
        let manifest = "[dependencies]\nmiddle-other = \"1\"\nmiddle = \"1\"\n";
        let tree = Tree::of(&[(&format!("crates/{name}/Cargo.toml"), manifest)]);
        check(&metadata, &tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tokio_anywhere_below_a_pure_crate_is_found_with_the_way_to_it() {
        for name in ["protocol", "core"] {
            let way = format!("tokio must not be in its tree: holdpoint-{name} -> middle -> tokio");
            assert_eq!(below(name, Value::Null), [format!("crates/{name}/Cargo.toml:3: {way}")]);
            assert_eq!(below(name, json!("dev")), [""; 0]);
        }
        assert_eq!(below("runtime", Value::Null), [""; 0]);
    }
}
