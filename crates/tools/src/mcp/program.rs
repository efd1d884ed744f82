//! A server's program, in its own process group, which is killed when the server stops or we end.

use std::{io, process::Stdio, time::Duration};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{Transport, async_rw::AsyncRwTransport},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    process::{ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};

use super::{McpProblem, Secret, lines::LastLines, screen::Screened, server::Shared};
use crate::text::plain;
use holdpoint_core::redact::Mask;

/// The only variables passed to a program: our own environment contains other keys.
const INHERITED: [&str; 12] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TZ", "SYSTEMROOT", "APPDATA"];
/// Characters of a program's log line that are logged.
const MAX_LINE_CHARS: usize = 1000;
/// Bytes of a line that are read at once.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// How long a program has to exit after its input is closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// A running program. It replaces the library's own transport, so that its output is screened before it is parsed.
pub(super) struct Program {
    child: Option<Box<dyn ChildWrapper>>,
    lines: LastLines,
    transport: AsyncRwTransport<RoleClient, Screened<ChildStdout>, ChildStdin>,
}

/// How long the log of a program that has ended is read.
const LOG_DRAIN: Duration = Duration::from_millis(500);

/// The log of a program, which is forwarded until it ends.
pub(super) struct ProgramLog(JoinHandle<()>);

impl ProgramLog {
    /// Waits until what the program wrote has been read. What it has started may go on writing, so not for long.
    pub(super) async fn finish(self) {
        let _ = tokio::time::timeout(LOG_DRAIN, self.0).await;
    }
}

/// Starts a program. Its log is forwarded until it ends.
pub(super) fn start(
    shared: &Shared,
    command: &[String],
    env: &[(String, Secret)],
) -> Result<(Program, ProgramLog), McpProblem> {
    let (program, args) = command.split_first().ok_or(McpProblem::NoCommand)?;
    let mut command = Command::new(program);
    command.args(args).env_clear().kill_on_drop(true);
    command.envs(INHERITED.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
    command.envs(env.iter().map(|(name, value)| (name, value.reveal())));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    let command = group::in_own_group(command);
    #[cfg(not(unix))]
    let command = CommandWrap::from(command);
    // Only what this one writes explains its end.
    shared.lines.clear();
    let spawned = spawn(command, shared.lines.clone());
    let (program, log) = spawned.map_err(|error| McpProblem::Spawn { program: program.clone(), error })?;
    let name = shared.settings.name.clone();
    let log = tokio::spawn(take_over(log, name, shared.mask.clone(), shared.lines.clone()));
    Ok((program, ProgramLog(log)))
}

fn spawn(mut command: CommandWrap, lines: LastLines) -> io::Result<(Program, impl AsyncRead + Unpin + use<>)> {
    let mut child = command.spawn()?;
    let missing = || io::Error::other("a pipe is missing");
    let output = child.stdout().take().ok_or_else(missing)?;
    let input = child.stdin().take().ok_or_else(missing)?;
    let log = child.stderr().take().ok_or_else(missing)?;
    let transport = AsyncRwTransport::new(Screened::new(output), input);
    Ok((Program { child: Some(child), lines, transport }, log))
}

impl Transport<RoleClient> for Program {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleClient>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await;
        if message.is_none()
            && let Some(child) = &mut self.child
            && let Ok(Ok(status)) = tokio::time::timeout(LOG_DRAIN, child.wait()).await
        {
            self.lines.end(status);
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        self.transport.close().await?;
        if tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await.is_err() {
            child.start_kill()?;
            child.wait().await?;
        }
        Ok(())
    }
}

/// Forwards a program's log to ours. It must always be read, or the program would block.
async fn take_over(log: impl AsyncRead + Unpin, server: String, mask: Mask, lines: LastLines) {
    let mut log = BufReader::new(log);
    loop {
        // Read whole lines and mask before cutting: half a secret would not be recognized.
        let mut line = Vec::new();
        match (&mut log).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = plain(&mask.hide(String::from_utf8_lossy(&line).trim_end()), MAX_LINE_CHARS);
        tracing::debug!(server, "{line}");
        lines.push(line);
    }
}

/// Programs are often started by another (`sh -c`, `npx`), which alone is our child. Signals go to the whole group.
#[cfg(unix)]
mod group {
    use std::{
        io,
        pin::Pin,
        process::{ExitStatus, Stdio},
    };

    use process_wrap::tokio::{ChildWrapper, CommandWrap, CommandWrapper, ProcessGroup};
    use tokio::process::{Child, Command};

    const SIGKILL: i32 = 9;

    /// Reads its input from us. When that closes, because we ended in any way, it kills the group.
    const WATCHDOG: &str = r#"read -r _; kill -s KILL -- "-$1""#;

    /// Runs a command in its own process group. Ctrl-C is for us: running calls may still need the program.
    pub(super) fn in_own_group(command: Command) -> CommandWrap {
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessGroup::leader()).wrap(Watched);
        command
    }

    #[derive(Debug)]
    struct Watched;

    impl CommandWrapper for Watched {
        fn wrap_child(
            &mut self,
            inner: Box<dyn ChildWrapper>,
            _core: &CommandWrap,
        ) -> io::Result<Box<dyn ChildWrapper>> {
            let watchdog = inner.id().map(watch).transpose();
            if let Err(error) = &watchdog {
                tracing::warn!(%error, "no shell can be started: an MCP program may survive us if we are killed");
            }
            Ok(Box::new(Group { inner, _watchdog: watchdog.ok().flatten() }))
        }
    }

    fn watch(group: u32) -> io::Result<Child> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", WATCHDOG, "holdpoint-watchdog", &group.to_string()]).env_clear().process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn()
    }

    /// A program and everything it has started.
    #[derive(Debug)]
    struct Group {
        inner: Box<dyn ChildWrapper>,
        /// Dropped, and so ended, after the group.
        _watchdog: Option<Child>,
    }

    impl Group {
        fn kill_all(&self) {
            // An error means that no process is left, which is fine.
            let _ = self.inner.signal(SIGKILL);
        }
    }

    impl ChildWrapper for Group {
        fn inner(&self) -> &dyn ChildWrapper {
            &*self.inner
        }

        fn inner_mut(&mut self) -> &mut dyn ChildWrapper {
            &mut *self.inner
        }

        fn into_inner(self: Box<Self>) -> Box<dyn ChildWrapper> {
            self
        }

        fn start_kill(&mut self) -> io::Result<()> {
            self.kill_all();
            Ok(())
        }

        /// When the first process has ended, the others are of no use.
        fn wait(&mut self) -> Pin<Box<dyn Future<Output = io::Result<ExitStatus>> + Send + '_>> {
            Box::pin(async {
                let ended = self.inner.wait().await;
                self.kill_all();
                ended
            })
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            self.kill_all();
        }
    }
}
