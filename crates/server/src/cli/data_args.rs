//! The settings and the data folder of an offline command.

use std::path::{Path, PathBuf};

use holdpoint_runtime::tool::demo::demo_tools;
use holdpoint_server::config::{Config, ConfigError};

/// The default data folder.
pub(super) const DATA: &str = Config::DEFAULT_DATA;

#[derive(clap::Args)]
pub(super) struct DataArgs {
    /// The data folder [default: ./holdpoint-data].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The settings file (TOML).
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

impl DataArgs {
    /// The settings.
    pub(super) fn settings(&self) -> Result<Config, ConfigError> {
        settings(self.config.as_deref())
    }

    /// The data folder. The command line overrides the settings.
    pub(super) fn folder(&self, config: &Config) -> PathBuf {
        self.data.clone().or_else(|| config.data.clone()).unwrap_or_else(|| DATA.into())
    }
}

/// The settings of the file and the environment.
pub(super) fn settings(file: Option<&Path>) -> Result<Config, ConfigError> {
    let names: Vec<String> = demo_tools().iter().map(|tool| tool.spec.name.clone()).collect();
    Config::load(file, std::env::vars(), &names)
}
