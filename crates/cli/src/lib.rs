//! The settings of the `holdpoint` command: what is in its file, and what becomes of it.
//!
//! The command itself is the binary of this package. A program that embeds Holdpoint needs neither: it has its own settings,
//! and mounts the router of `holdpoint-server`.
//!
//! ```
//! use holdpoint_cli::config::Config;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = tempfile::NamedTempFile::new()?;
//! std::fs::write(file.path(), "listen = '127.0.0.1:8800'\n[model]\nuse = 'openai:gpt-5'\n")?;
//! // Variables of the environment take the place of what the file says.
//! let variables = [("HOLDPOINT_LISTEN".to_owned(), "127.0.0.1:9000".to_owned())];
//! let config = Config::load(Some(file.path()), variables, &[])?;
//! assert_eq!(config.listen.map(|address| address.port()), Some(9000));
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `console` | yes | the console at `/`; in a checkout its build needs Node.js |
//! | `otlp` | no | spans sent to an OpenTelemetry collector |

pub mod config;
