//! The `holdpoint` binary as a process, beside what the tests of the server have: a server in this process, and clients that
//! check everything they are sent.
#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

mod binary;
pub(crate) mod process;
#[path = "../../../server/tests/support/mod.rs"]
mod server;

pub(crate) use binary::Binary;
pub(crate) use server::*;
