//! What can be known to be wrong with servers before they are started.

use std::{ffi::OsString, io, path::Path};

use super::{McpError, McpProblem, McpSettings, McpTransport, Secret, connect, tokens::SentTokens};

/// Everything in the settings of these servers that can never work. Nothing is started, and nobody is connected to.
pub fn problems(settings: &[McpSettings]) -> Vec<McpError> {
    let mut problems = Vec::new();
    for (index, one) in settings.iter().enumerate() {
        let mut add = |problem| problems.push(McpError { server: one.name.clone(), problem });
        if settings[..index].iter().any(|other| other.name == one.name) {
            add(McpProblem::Twice);
        }
        if let Err(problem) = one.check().and_then(|()| transport(&one.transport)) {
            add(problem);
        }
    }
    problems
}

fn transport(transport: &McpTransport) -> Result<(), McpProblem> {
    match transport {
        McpTransport::Http { url, headers } => connect::endpoint(url, headers, &SentTokens::default()).map(drop),
        McpTransport::Command { command, env } => {
            let program = command.first().ok_or(McpProblem::NoCommand)?;
            find(program, env).map_err(|error| McpProblem::Spawn { program: program.clone(), error })
        }
    }
}

/// Looks for a program where starting it would.
fn find(program: &str, env: &[(String, Secret)]) -> io::Result<()> {
    if program.contains('/') {
        return is_executable(Path::new(program));
    }
    let own = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| OsString::from(path.reveal()));
    // Without it, the system has places of its own.
    let Some(path) = own.or_else(|| std::env::var_os("PATH")) else { return Ok(()) };
    let missing = || io::Error::new(io::ErrorKind::NotFound, "program not found");
    let mut found = Err(missing());
    for place in std::env::split_paths(&path).map(|place| place.join(program)).filter(|place| place.exists()) {
        found = is_executable(&place);
        if found.is_ok() {
            break;
        }
    }
    found
}

#[cfg(unix)]
fn is_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let found = path.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), "program not found"),
        _ => error,
    })?;
    let can_run = found.is_file() && found.permissions().mode() & 0o111 != 0;
    let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "it is not an executable file");
    can_run.then_some(()).ok_or_else(refused)
}

/// Which files can be started depends on their names there, so starting it shows.
#[cfg(not(unix))]
fn is_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
