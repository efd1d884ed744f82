//! Every history that is stored is valid for `validateUIMessages` of both SDK versions: the real function is run over generated ones.

use std::{
    collections::HashSet,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use holdpoint_runtime::Identity;
use holdpoint_runtime::{
    fact::CallOrder,
    wire::{Listed, history, holds},
};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use super::world::{World, act, shown};

/// How many chats are played; each is looked at after every append.
const CHATS: usize = 400;

/// Runs the SDK's function over the histories; gives what each version says about those that it refuses.
fn refused(histories: &[Value]) -> Vec<Value> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert!(root.join("node_modules/ai7").is_dir(), "the SDK is not installed: run `cargo xtask setup`");
    let mut node = Command::new("node")
        .arg("tests/sdk/validate.mjs")
        .current_dir(&root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node can be started: `cargo xtask setup` says how to get it");
    let mut stdin = node.stdin.take().expect("stdin is piped");
    let input = json!({ "histories": histories }).to_string();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = node.wait_with_output().expect("node ends");
    writer.join().expect("the writer does not panic").expect("node reads its input");
    assert!(output.status.success(), "validate.mjs failed");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("an answer");
    assert_eq!(answer["checked"], histories.len() * 2, "each is checked by both versions");
    answer["refused"].as_array().cloned().expect("a list")
}

#[test]
fn every_stored_history_is_valid() {
    let mut runner = TestRunner::deterministic();
    let acts = prop::collection::vec(act(), 0..60);
    let mut histories: HashSet<String> = HashSet::new();
    for chat in 0..CHATS {
        let order = if chat % 3 == 0 { CallOrder::OneByOne } else { CallOrder::Together };
        let mut world = World::new(order);
        world.say();
        for act in acts.new_tree(&mut runner).expect("acts").current() {
            world.act(&act);
            histories.insert(serde_json::to_string(&history(&shown(&world.facts))).expect("JSON"));
        }
    }
    let histories: Vec<Value> = histories.iter().map(|history| serde_json::from_str(history).expect("JSON")).collect();
    assert!(histories.len() > CHATS, "{} histories", histories.len());
    let refused = refused(&histories);
    assert!(refused.is_empty(), "{} of {}: {:#}", refused.len(), histories.len(), refused[0]);
}

/// The judge can say no.
#[test]
fn a_history_that_the_sdk_refuses_is_reported() {
    let part = json!({"type": "tool-pay", "toolCallId": "c", "state": "output-error", "input": {}, "errorText": "late", "approval": {"id": "a"}});
    let history = json!([{"id": "m", "role": "assistant", "parts": [part]}]);
    assert_eq!(refused(&[history]).len(), 2, "by both versions");
}

/// What `/messages` shows of a call and what the list of calls says about it are the same, also after a step was taken back.
#[test]
fn the_list_of_calls_is_what_the_history_shows() {
    let mut runner = TestRunner::deterministic();
    let acts = prop::collection::vec(act(), 0..60);
    for chat in 0..CHATS {
        let order = if chat % 3 == 0 { CallOrder::OneByOne } else { CallOrder::Together };
        let mut world = World::new(order);
        world.say();
        for act in acts.new_tree(&mut runner).expect("acts").current() {
            world.act(&act);
            let facts = shown(&world.facts);
            let listed = holds(&facts, Listed::Calls, &Identity::local());
            for message in history(&facts) {
                for part in message.parts.iter().filter_map(|part| part.as_tool()) {
                    let is_settled = part.fields.call_provider_metadata.is_some();
                    let hold = listed.iter().find(|hold| hold.tool_call_id == part.tool_call_id);
                    let is_told = hold.is_some_and(|hold| hold.outcome.is_some() || !is_settled);
                    assert!(is_told || !is_settled, "{part:?} is settled, and the list says {hold:?}");
                }
            }
        }
    }
}
