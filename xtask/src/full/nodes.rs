//! The suites of the AI SDK's clients and of the console, on three nodes behind a load balancer (`tests/nodes`).

use std::path::Path;

use crate::console::heading;
use crate::failure::Result;
use crate::stages;

/// How requests are spread over the nodes: see `tests/nodes/README.md`.
const ROUTES: [&str; 2] = ["apart", "round"];

pub(super) fn run(root: &Path) -> Result {
    stages::npm(root, &[&["run", "nodes:front"]])?;
    ROUTES.iter().try_for_each(|route| {
        heading(&format!("route {route}"));
        let variables = [("TEST_NODES", "3"), ("TEST_ROUTE", route)];
        stages::npm_with(root, &variables, &[&["run", "e2e", "-w", "tests/sdk"], &["run", "e2e", "-w", "apps/web"]])
    })
}
