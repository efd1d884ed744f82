//! Where the chats are: a data folder, or a PostgreSQL database.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use holdpoint_cli::config::{Config, ConfigError, MissingVariable, SecretText};
use holdpoint_demo::demo_tools;
use holdpoint_runtime::{
    log::{PostgresError, PostgresLog, PostgresOptions, SqliteError, SqliteLog, Store},
    tool::Secret,
};

/// The default data folder.
const DATA: &str = Config::DEFAULT_DATA;

/// The settings and the place of an offline command.
#[derive(clap::Args)]
pub(super) struct DataArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// The settings file (TOML).
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

impl DataArgs {
    /// The settings.
    pub(super) fn settings(&self) -> Result<Config, ConfigError> {
        settings(self.config.as_deref())
    }

    /// Where the chats are.
    pub(super) fn place(&self, config: &Config) -> Result<Place, PlaceError> {
        self.place.read(config)
    }
}

/// Where the chats are. The command line overrides the settings.
#[derive(Default, clap::Args)]
pub(super) struct PlaceArgs {
    /// The data folder [default: ./holdpoint-data].
    #[arg(long, value_name = "DIR", conflicts_with = "log")]
    pub(super) data: Option<PathBuf>,
    /// A PostgreSQL database in place of the data folder, for one or more servers: postgres://USER@HOST/DATABASE.
    /// `${NAME}` is an environment variable.
    #[arg(long, value_name = "URL")]
    pub(super) log: Option<String>,
}

/// Where the chats are.
pub(super) enum Place {
    Folder(PathBuf),
    Postgres { url: Secret, lease: Duration, poll_only: bool },
}

/// Why the log can't be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    #[error("--log: {0}")]
    Argument(&'static str),
    #[error("{key} has an effect only with a PostgreSQL log: remove it, or name the database in `log` or --log")]
    NoDatabase { key: &'static str },
    #[error(transparent)]
    Variable(#[from] MissingVariable),
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    #[error(transparent)]
    Postgres(#[from] PostgresError),
}

impl PlaceArgs {
    /// Where the chats are.
    pub(super) fn read(&self, config: &Config) -> Result<Place, PlaceError> {
        let argument = self.log.as_deref().map(SecretText::read).transpose().map_err(PlaceError::Argument)?;
        let url = match (argument, &self.data) {
            (Some(url), _) => Some(url),
            (None, Some(_)) => None,
            (None, None) => config.log.clone(),
        };
        let Some(url) = url else {
            // With `log` in the settings, these are for that, and `--data` is the exception.
            let unused = [("lease_sec", config.lease_sec.is_some()), ("poll_only", config.poll_only.is_some())];
            if let Some((key, _)) = unused.into_iter().find(|(_, is_set)| *is_set && config.log.is_none()) {
                return Err(PlaceError::NoDatabase { key });
            }
            let folder = self.data.clone().or_else(|| config.data.clone());
            return Ok(Place::Folder(folder.unwrap_or_else(|| DATA.into())));
        };
        let seconds = config.lease_sec.map_or(Config::DEFAULT_LEASE_SEC, std::num::NonZeroU32::get);
        Ok(Place::Postgres {
            url: url.resolve("log", &|name| std::env::var(name).ok())?,
            lease: Duration::from_secs(seconds.into()),
            poll_only: config.poll_only.unwrap_or_default(),
        })
    }
}

impl Place {
    /// Opens the log for reading and writing.
    pub(super) async fn open(&self) -> Result<Arc<dyn Store>, PlaceError> {
        match self {
            Self::Folder(folder) => Ok(Arc::new(SqliteLog::open(folder)?)),
            Self::Postgres { url, lease, poll_only } => open_database(url, *lease, *poll_only).await,
        }
    }

    /// Opens the log, also while servers use it. Nothing is created in a folder.
    pub(super) async fn open_to_read(&self) -> Result<Arc<dyn Store>, PlaceError> {
        match self {
            Self::Folder(folder) => Ok(Arc::new(SqliteLog::open_read_only(folder)?)),
            Self::Postgres { url, lease, poll_only } => open_database(url, *lease, *poll_only).await,
        }
    }
}

async fn open_database(url: &Secret, lease: Duration, poll_only: bool) -> Result<Arc<dyn Store>, PlaceError> {
    let mut options = PostgresOptions::of(url);
    options.lease = lease;
    options.poll_only = poll_only;
    Ok(Arc::new(PostgresLog::open(options).await?))
}

/// The settings of the file and the environment.
pub(super) fn settings(file: Option<&Path>) -> Result<Config, ConfigError> {
    let names: Vec<String> = demo_tools().iter().map(|tool| tool.spec.name.clone()).collect();
    Config::load(file, std::env::vars(), &names)
}
