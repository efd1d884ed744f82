//! The runtime, for embedding in a Rust program: agents whose turns stop at holds, wait, and continue exactly once.
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `sqlite` | yes | the log in SQLite (`log::SqliteLog`), built from source |
//! | `providers` | no | models of OpenAI, Anthropic, Gemini and Ollama (`model::provider`) |
//! | `mcp` | no | tools of MCP servers (`tool::mcp`) |
//! | `http-tools` | no | tools that are HTTP endpoints (`tool::http`) |
//!
//! Turn `sqlite` off in a program that links another `sqlite3`, for example by sqlx, diesel or sea-orm.

mod backoff;
pub mod clock;
pub mod driver;
pub mod fact;
pub mod log;
mod metrics;
pub mod model;
#[cfg(test)]
mod notation;
pub mod project;
pub mod redact;
pub mod subject;
pub mod tool;
pub mod turn;
pub mod value;
