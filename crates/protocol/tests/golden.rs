//! One good and one bad capture for every rule (`fixtures/rules`), read whole and in pieces of every awkward size.

use std::{collections::BTreeSet, fs, path::PathBuf};

use holdpoint_protocol::check::{Checker, Options, Profile, Rule, Violation};
use serde::Deserialize;

#[derive(Deserialize)]
struct Entry {
    file: String,
    profile: String,
    text: Option<String>,
    violations: Vec<Expected>,
}

#[derive(Deserialize, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Expected {
    line: u64,
    rule: String,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules")
}

fn manifest() -> Vec<Entry> {
    let text = fs::read_to_string(folder().join("manifest.json")).expect("fixtures/rules/manifest.json");
    serde_json::from_str(&text).expect("the manifest is valid")
}

fn check(entry: &Entry, bytes: &[u8], piece: usize) -> Vec<Violation> {
    let profile = match &*entry.profile {
        "ai-sdk" => Profile::AiSdk,
        "adk-sse" => Profile::AdkSse,
        "adk-live" => Profile::AdkLive,
        other => panic!("{}: unknown profile {other}", entry.file),
    };
    let mut checker = Checker::new(Options { profile, progressive_text: entry.text.as_deref() == Some("progressive") });
    for piece in bytes.chunks(piece) {
        checker.feed(piece);
    }
    checker.finish();
    assert_eq!(checker.unreadable(), None, "{}", entry.file);
    checker.take_violations()
}

#[test]
fn every_capture_has_exactly_the_violations_of_the_manifest() {
    let mut wrong = Vec::new();
    for entry in manifest() {
        let bytes = fs::read(folder().join(&entry.file)).expect("a capture that the manifest names");
        for piece in [bytes.len().max(1), 1, 7] {
            let found = check(&entry, &bytes, piece);
            let mut told: Vec<_> = found.iter().map(|v| Expected { line: v.line, rule: v.rule.to_string() }).collect();
            told.sort();
            if told != entry.violations {
                wrong.push(format!(
                    "{} (in pieces of {piece}): expected {:?}, found {found:#?}",
                    entry.file, entry.violations
                ));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} captures:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_a_good_and_a_bad_capture() {
    let files: BTreeSet<String> = manifest().into_iter().map(|entry| entry.file).collect();
    for rule in Rule::ALL {
        for verdict in ["good", "bad"] {
            let prefix = format!("{rule}.{verdict}.");
            assert!(files.iter().any(|file| file.starts_with(&prefix)), "no {prefix}* in fixtures/rules");
        }
    }
}
