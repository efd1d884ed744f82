//! The guides, followed to the letter: the blocks of each page are taken out of it in their order, and run, saved or
//! compared with what is printed. Each page ends in an agent whose call was approved, denied or run as the page promises.
//! A block that no script follows fails the test, and so does a page without a script.

mod apps;
mod cluster;
mod code;
mod first;
mod mcp;
mod models;
mod page;
mod people;
mod reader;
mod terminal;
mod tools;

/// The fakes of the providers, which refuse what the real ones refuse.
#[allow(dead_code, reason = "the tests of the providers use the rest")]
#[path = "../../../models/tests/providers/server.rs"]
mod server;
#[allow(dead_code, reason = "the tests of the providers use the rest")]
#[path = "../../../models/tests/providers/wires/mod.rs"]
mod wires;

use std::{collections::BTreeSet, fs};

use reader::Reader;

/// Makes a test of each script, and the list of the pages that have one.
macro_rules! scripts {
    ($($name:ident: $page:literal, $script:path;)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(
            // The reader waits for processes, and the fakes answer meanwhile.
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let mut reader = Reader::open($page);
                $script(&mut reader).await;
                reader.page.finish();
            }
        )*
    };
}

scripts! {
    getting_started: "docs/getting-started.md", first::getting_started;
    anthropic: "docs/guides/anthropic.md", models::anthropic;
    approvers: "docs/guides/approvers.md", people::approvers;
    assistant_ui: "docs/guides/assistant-ui.md", apps::assistant_ui;
    authentication: "docs/guides/authentication.md", people::authentication;
    cluster_guide: "docs/guides/cluster.md", cluster::cluster;
    console: "docs/guides/console.md", people::console;
    gemini: "docs/guides/gemini.md", models::gemini;
    grants: "docs/guides/grants.md", people::grants;
    http_tools: "docs/guides/http-tools.md", tools::http_tools;
    mcp_guide: "docs/guides/mcp.md", mcp::mcp;
    nextjs: "docs/guides/nextjs.md", apps::nextjs;
    ollama: "docs/guides/ollama.md", models::ollama;
    openai: "docs/guides/openai.md", models::openai;
    record: "docs/guides/record.md", people::record;
    spending_limit: "docs/guides/spending-limit.md", tools::spending_limit;
    vite: "docs/guides/vite.md", apps::vite;
}

#[test]
fn every_guide_has_a_script() {
    let folder = fs::read_dir(page::root().join("docs/guides")).expect("the guides");
    let names = folder.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut guides: BTreeSet<String> = names.map(|name| format!("docs/guides/{name}")).collect();
    guides.insert("docs/getting-started.md".to_owned());
    let scripts: BTreeSet<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(guides, scripts, "pages on the left, scripts on the right");
}

/// A reader who begins with a guide, and not with the first page, has no such command.
#[test]
fn every_guide_that_runs_the_binary_says_what_it_is() {
    for name in PAGES.iter().filter(|page| page.starts_with("docs/guides/")) {
        let page = page::Page::open(name);
        if page.runs("holdpoint") {
            page.promises(
                "In commands, `holdpoint` is the binary. In a clone, `cargo run --release --` does the same.",
            );
        }
    }
}
