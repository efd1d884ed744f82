//! Schemathesis: generates valid and invalid requests from `/openapi.json` and checks the responses against it.

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::fresh::serve;
use crate::process::Run;
use crate::setup;

/// The checks on each response.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,unsupported_method,allow_header_conformance";

/// Generated cases per operation, besides the examples and the boundary values of each field.
const CASES: &str = "100";

/// Starts the server and runs Schemathesis.
pub(super) fn run(root: &Path) -> Result {
    setup::ensure(root, setup::SCHEMATHESIS)?;
    Run::cargo().args(["build", "--package", "holdpoint-cli"]).dir(root).wait()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let server = target.join("debug").join("holdpoint");
    let server = server.to_str().ok_or_else(|| Failure::new("this checkout's path is not UTF-8"))?;
    let mut times = serve::Times::new();
    let running = serve::start(
        Run::new(server)
            .args(["--ephemeral", "--listen", "127.0.0.1:0"])
            .env("HOLDPOINT_LIMITS__STREAMS_PER_SUBJECT", "100000"),
        &mut times,
    )?;
    let played = Run::new(&root.join(setup::TOOLS).join("schemathesis/bin/st").display().to_string())
        .args(["run", &format!("http://{}/openapi.json", running.address())])
        // This stream never ends.
        .args(["--exclude-operation-id", "events"])
        .args(["--checks", CHECKS, "--phases", "examples,coverage,fuzzing", "--max-examples", CASES])
        .args(["--request-timeout", "30", "--warnings", "off", "--continue-on-failure"])
        .env("NO_PROXY", "127.0.0.1")
        .dir(&target)
        .show_and_wait();
    // The server must still be alive and ready, whatever was found.
    running.stop(&mut times)?;
    played
}
