//! What a start needs of the settings, checked before anything is started. `config check` uses the same.

use std::{fmt, net::SocketAddr};

use holdpoint_cli::config::{Config, McpConfigError, SecretsKeyError, ToolConfigError};
use holdpoint_runtime::tool::{
    Secret, ToolSet,
    mcp::{McpError, McpSettings, problems},
};
use holdpoint_server::{Jwt, JwtError, KeyError, Keys};

use super::{
    data_args::{Place, PlaceArgs, PlaceError},
    logging::{self, LoggingError},
    model::{Chosen, ModelSetupError, model},
};

/// What the command line says.
#[derive(Default)]
pub(super) struct Options<'a> {
    pub(super) listen: Option<SocketAddr>,
    pub(super) model: Option<&'a str>,
    pub(super) base_url: Option<&'a str>,
    /// Where the chats are; `None` if only in memory.
    pub(super) place: Option<&'a PlaceArgs>,
}

/// Everything that the settings are good for.
pub(super) struct Prepared {
    pub(super) address: SocketAddr,
    pub(super) keys: Keys,
    pub(super) jwt: Option<Jwt>,
    pub(super) tools: ToolSet,
    pub(super) mcp: Vec<McpSettings>,
    pub(super) model: Chosen,
    /// `None`: in memory.
    pub(super) place: Option<Place>,
    pub(super) secrets_key: Option<Secret>,
}

/// Why the server can't start with these settings.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(
        "{0} can be reached from other machines, and there are no keys: anybody could use the server. Listen on 127.0.0.1, or set [[auth.keys]] or [auth.jwt]"
    )]
    Open(SocketAddr),
    #[error(transparent)]
    Logging(#[from] LoggingError),
    #[error(transparent)]
    Model(#[from] ModelSetupError),
    #[error(transparent)]
    Tools(#[from] ToolConfigError),
    #[error(transparent)]
    Mcp(#[from] McpError),
    #[error(transparent)]
    McpConfig(#[from] McpConfigError),
    #[error(transparent)]
    Keys(#[from] KeyError),
    #[error(transparent)]
    Jwt(#[from] JwtError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    SecretsKey(#[from] SecretsKeyError),
}

/// All problems at once.
#[derive(Debug)]
pub(super) struct Refused(pub(super) Vec<Problem>);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if at == 0 { "" } else { "\nholdpoint: " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// Checks the settings, as far as that is possible without network and without starting anything.
pub(super) fn prepare(config: &Config, options: &Options<'_>) -> Result<Prepared, Refused> {
    let variables = |name: &str| std::env::var(name).ok();
    let mut found = Vec::new();
    if let Err(error) = logging::check(&config.logging, variables) {
        found.push(error.into());
    }
    let keys = kept(Keys::new(&config.auth.keys), &mut found);
    let jwt = kept(config.auth.jwt.as_ref().map(Jwt::new).transpose(), &mut found);
    let address = options.listen.or(config.listen).unwrap_or(Config::DEFAULT_LISTEN);
    let is_open = keys.as_ref().is_some_and(Keys::allows_anonymous) && config.auth.jwt.is_none();
    if is_open && !address.ip().is_loopback() {
        found.push(Problem::Open(address));
    }
    let known = config.known_tools(options.model);
    let tools = match config.own_tools(&known, &variables) {
        Ok(tools) => Some(tools),
        Err(errors) => {
            found.extend(errors.into_iter().map(Problem::from));
            None
        }
    };
    let mut mcp = Vec::new();
    for server in &config.mcp {
        match config.settings_of(server, &known, &variables) {
            Ok(settings) => mcp.push(settings),
            Err(errors) => found.extend(errors.into_iter().map(Problem::from)),
        }
    }
    found.extend(problems(&mcp).into_iter().map(Problem::from));
    let model = kept(model(options.model, options.base_url, &config.model), &mut found);
    let place = kept(options.place.map(|place| place.read(config)).transpose(), &mut found);
    let secrets_key = kept(config.key_of_secrets(&variables), &mut found);
    match (keys, jwt, tools, model, place, secrets_key) {
        (Some(keys), Some(jwt), Some(tools), Some(model), Some(place), Some(secrets_key)) if found.is_empty() => {
            Ok(Prepared { address, keys, jwt, tools, mcp, model, place, secrets_key })
        }
        _ => Err(Refused(found)),
    }
}

/// The value; or its problem is added to the others.
fn kept<T, E: Into<Problem>>(result: Result<T, E>, found: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|problem| found.push(problem.into())).ok()
}
