//! What a handler gets besides its input: its chat and subject, cancellation, prompts and progress.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::{ChatId, ToolCallId};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CallState, FileLink, Files, NotOurs, Prompt, PromptResponse, StateKeeper, ToolError};
use holdpoint_core::subject::Subject;

/// The context of a handler's call.
///
/// A test of a handler makes its own with [`ToolContext::new`]:
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use holdpoint_runtime::tool::{ToolContext, ToolError};
///
/// async fn copy(files: u32, context: ToolContext) -> Result<u32, ToolError> {
///     for done in 1..=files {
///         // The copying goes here.
///         context.progress(format!("{done} of {files} files"))?;
///     }
///     Ok(files)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (context, seen) = (ToolContext::new("chat-1", "ann", "call-1"), Arc::new(Mutex::new(Vec::new())));
/// let reported = Arc::clone(&seen);
/// let context = context.with_reporter(Arc::new(move |progress| reported.lock().unwrap().push(progress)));
/// assert_eq!(copy(2, context).await, Ok(2));
/// assert_eq!(*seen.lock().unwrap(), ["1 of 2 files", "2 of 2 files"]);
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The chat.
    pub chat: ChatId,
    /// The owner of the chat.
    pub subject: Subject,
    /// The call.
    pub call: ToolCallId,
    /// Cancelled when the turn is stopped, the time limit is over or the server shuts down. The handler then has
    /// [`CANCELLATION_GRACE`] to clean up before it is dropped.
    pub cancellation: CancellationToken,
    /// The last output of this tool in this chat before this turn's step, if there was one.
    pub last_output: Option<Arc<Value>>,
    /// Prompts the user; `None` where no user can be prompted.
    pub prompter: Option<Prompter>,
    /// Shows the call's progress; `None` where nobody sees it.
    pub reporter: Option<ProgressReporter>,
    /// The files that the call has produced.
    pub(crate) files: Files,
    /// Keeps the call's state in its chat; `None` where nothing is kept.
    pub(crate) keeper: Option<Arc<dyn StateKeeper>>,
    /// The state from which the call is resumed; `None` if it begins.
    pub(crate) resumed: Option<Arc<CallState>>,
    /// Passed before the call's request is sent; `None` where nothing holds it back.
    pub(crate) gate: Option<Arc<dyn Gate>>,
    /// Whether the call's request may have been sent.
    is_sent: Arc<AtomicBool>,
}

/// Stands between a call and what it does to the outside.
pub trait Gate: Send + Sync {
    /// Completes when the call's request may be sent. From then on, it may have been.
    fn pass(&self) -> BoxFuture<'_, Result<(), NotOurs>>;

    /// Nothing was done after all.
    fn back(&self) -> BoxFuture<'_, ()>;
}

/// How long a handler may run on after its cancellation.
pub const CANCELLATION_GRACE: Duration = Duration::from_secs(2);

/// Delivers a tool's prompts to its chat.
pub type Prompter = Arc<dyn Fn(Prompt) -> BoxFuture<'static, PromptResponse> + Send + Sync>;

/// Takes the preliminary outputs of a call.
pub type ProgressReporter = Arc<dyn Fn(Value) + Send + Sync>;

/// The maximum size of one preliminary output, as JSON.
pub const MAX_PROGRESS_BYTES: usize = 16 * 1024;

impl ToolContext {
    /// A context without a user to prompt, for tests of a handler.
    pub fn new(chat: impl Into<ChatId>, subject: impl Into<Subject>, call: impl Into<ToolCallId>) -> Self {
        Self {
            chat: chat.into(),
            subject: subject.into(),
            call: call.into(),
            cancellation: CancellationToken::new(),
            last_output: None,
            prompter: None,
            reporter: None,
            files: Files::default(),
            keeper: None,
            resumed: None,
            gate: None,
            is_sent: Arc::default(),
        }
    }

    /// A context of a call that is run by the driver.
    pub fn of_call(chat: ChatId, subject: Subject, call: ToolCallId, gate: Arc<dyn Gate>) -> Self {
        Self { gate: Some(gate), ..Self::new(chat, subject, call) }
    }

    /// With what keeps the call's state, and the state from which the call is resumed, if it does not begin.
    #[must_use]
    pub fn with_state(mut self, keeper: Arc<dyn StateKeeper>, resumed: Option<Arc<CallState>>) -> Self {
        self.keeper = Some(keeper);
        self.resumed = resumed;
        self
    }

    /// The files that the call has produced so far, and will produce.
    pub fn files(&self) -> Files {
        self.files.clone()
    }

    /// To be awaited directly before a request of the call is sent. An error means that the call is not run here any more,
    /// so nothing may be sent.
    #[cfg_attr(
        not(any(feature = "http", feature = "mcp")),
        expect(dead_code, reason = "only tools that send requests use it")
    )]
    pub(crate) async fn before_sending(&self) -> Result<(), NotOurs> {
        if let Some(gate) = &self.gate {
            gate.pass().await?;
        }
        self.is_sent.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Nothing was done yet: the request is still to be sent, or whoever got it has answered so. A handler that never says
    /// so counts as begun when it is called.
    #[cfg_attr(
        not(any(feature = "http", feature = "mcp")),
        expect(dead_code, reason = "only tools that send requests use it")
    )]
    pub(crate) async fn nothing_done(&self) {
        if let Some(gate) = &self.gate {
            gate.back().await;
        }
        self.is_sent.store(false, Ordering::SeqCst);
    }

    /// Whether the call may have been carried out.
    #[cfg_attr(
        not(any(feature = "http", feature = "mcp")),
        expect(dead_code, reason = "only tools that send requests use it")
    )]
    pub(crate) fn is_sent(&self) -> bool {
        self.is_sent.load(Ordering::SeqCst)
    }

    /// With this cancellation.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// With this prompter.
    #[must_use]
    pub fn with_prompter(mut self, prompter: Prompter) -> Self {
        self.prompter = Some(prompter);
        self
    }

    /// With this reporter.
    #[must_use]
    pub fn with_reporter(mut self, reporter: ProgressReporter) -> Self {
        self.reporter = Some(reporter);
        self
    }

    /// Shows the user how far the call is: a preliminary output, which the next one or the outcome replaces. The model
    /// does not see it. Call it as often as you like: only the latest is shown, at most ten a second and fewer in a
    /// long run. It is an error if the output is larger than [`MAX_PROGRESS_BYTES`].
    pub fn progress(&self, output: impl Serialize) -> Result<(), ToolError> {
        let Some(reporter) = &self.reporter else { return Ok(()) };
        let output = serde_json::to_value(output)?;
        let bytes = output.to_string().len();
        if bytes > MAX_PROGRESS_BYTES {
            return Err(ToolError::new(format!(
                "a preliminary output has {bytes} bytes, more than the limit of {MAX_PROGRESS_BYTES}"
            )));
        }
        reporter(output);
        Ok(())
    }

    /// Stores a file that the call has produced, such as a picture, and gives the link to put into the output in its
    /// place. Whoever may read the chat may read the file, and it is deleted with the chat. The model is shown pictures, if
    /// it can see. All files of a call can have [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES); what is over is not stored, and
    /// the link says so. If the call fails, its files are not stored.
    pub fn store_file(&self, media_type: &str, bytes: &[u8]) -> FileLink {
        self.files.add(&self.chat, &self.call, media_type, bytes)
    }

    /// Like [`Self::store_file`], for a file in base64.
    pub fn store_base64(&self, media_type: &str, data: &str) -> Result<FileLink, ToolError> {
        self.files.add_base64(&self.chat, &self.call, media_type, data)
    }

    /// Prompts the user. This is a hold like any other and survives a reload of the page. If the server goes down, the
    /// tool goes down with it.
    pub async fn prompt(&self, prompt: Prompt) -> PromptResponse {
        match &self.prompter {
            Some(prompter) => prompter(prompt).await,
            None => PromptResponse::Cancelled,
        }
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chat, subject, call, .. } = self;
        f.debug_struct("ToolContext")
            .field("chat", chat)
            .field("subject", subject)
            .field("call", call)
            .finish_non_exhaustive()
    }
}
