//! An approval policy that is an async function: a limit from a database, for example.

use std::{fmt, future::Future, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use futures::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use holdpoint_protocol::ids::ChatId;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::MAX_REASON_CHARS;
use crate::{
    subject::Subject,
    tool::{ToolError, input, text::plain},
};

/// How long a check may take. After that the call needs approval.
pub const CHECK_TIME_LIMIT: Duration = Duration::from_secs(10);
/// The reason of an approval request whose check has no result.
pub(super) const UNCHECKED: &str = "It could not be checked whether this call needs approval";

/// The context of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalContext {
    /// The chat.
    pub chat: ChatId,
    /// The owner of the chat.
    pub subject: Subject,
}

impl ApprovalContext {
    /// A context: also for tests of a check.
    pub fn new(chat: ChatId, subject: Subject) -> Self {
        Self { chat, subject }
    }
}

type Check = dyn Fn(Value, ApprovalContext) -> BoxFuture<'static, Result<Option<String>, ToolError>> + Send + Sync;

/// An async function that decides whether a call needs approval: see `ToolBuilder::approve_if` of the tools.
#[derive(Clone)]
pub struct ApprovalCheck(Arc<Check>);

impl ApprovalCheck {
    /// A check with a typed input.
    pub fn new<I, F, R>(check: F) -> Self
    where
        I: DeserializeOwned,
        F: Fn(I, ApprovalContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Option<String>, ToolError>> + Send + 'static,
    {
        Self(Arc::new(move |value, context| match input::read(&value) {
            Ok(input) => Box::pin(check(input, context)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }))
    }

    /// `None` if the call may run; otherwise the reason for the approval request. A check without a result requires
    /// approval, and so does one that has none when `time_is_up` completes, after [`CHECK_TIME_LIMIT`].
    pub async fn approval_reason(
        &self,
        input: Value,
        context: ApprovalContext,
        time_is_up: impl Future<Output = ()>,
    ) -> Option<String> {
        // The function itself may panic too, before it returns a future.
        let checking = AssertUnwindSafe(async { (self.0)(input, context).await }).catch_unwind();
        let reason = match select(pin!(checking), pin!(time_is_up)).await {
            Either::Left((Ok(Ok(reason)), _)) => reason?,
            Either::Left((Ok(Err(error)), _)) => format!("{UNCHECKED}: {error}"),
            Either::Left((Err(_), _)) => {
                tracing::error!("an approval check panicked");
                UNCHECKED.to_owned()
            }
            Either::Right(_) => format!("{UNCHECKED}: it took longer than {} s", CHECK_TIME_LIMIT.as_secs()),
        };
        Some(plain(&reason, MAX_REASON_CHARS))
    }
}

impl fmt::Debug for ApprovalCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovalCheck")
    }
}

/// Two checks are equal if they are the same function.
impl PartialEq for ApprovalCheck {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
