//! What an engine must do.

mod cluster;
mod index;
mod log;
mod secrets;

pub use cluster::{Cluster, OneNode};
pub use index::Index;
pub use log::Log;
pub use secrets::{Secrets, StoredSecret};

/// A log engine: the log, its index, the server's own secrets, and the nodes that share them.
///
/// The contract suite of `holdpoint-testkit` (`log_contract_suite!`) tests an engine for all that the traits say.
///
/// An engine says which cluster it is of. One that a single node at a time uses is of [`OneNode`]; an engine around
/// another is of the inner one's. There is no default, because the wrong answer would let a node take over the calls of
/// one that lives.
///
/// An engine on top of another is a [`ForwardLog`](crate::ForwardLog). It passes on all that it does not change, so it is as
/// safe as the inner one. This one counts what it stores:
///
/// ```
/// use std::sync::{
///     Arc,
///     atomic::{AtomicUsize, Ordering},
/// };
///
/// use futures::future::BoxFuture;
/// use holdpoint_runtime::{
///     Runtime, Subject, View,
///     log::{Append, AppendResult, ForwardLog, MemoryLog, Store},
///     model::ScriptModel,
///     protocol::request::ChatRequest,
/// };
///
/// #[derive(Debug)]
/// struct Counting {
///     inner: Arc<dyn Store>,
///     bytes: AtomicUsize,
/// }
///
/// impl ForwardLog for Counting {
///     fn inner(&self) -> &dyn Store {
///         &*self.inner
///     }
///
///     fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>> {
///         let sizes: Vec<usize> = appends.iter().map(|append| append.payload.len()).collect();
///         Box::pin(async move {
///             let results = self.inner.append_many(appends).await;
///             for (result, size) in results.iter().zip(sizes) {
///                 if matches!(result, AppendResult::Committed { .. }) {
///                     self.bytes.fetch_add(size, Ordering::Relaxed);
///                 }
///             }
///             results
///         })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = Arc::new(Counting { inner: Arc::new(MemoryLog::default()), bytes: AtomicUsize::default() });
/// let model = Arc::new(ScriptModel::from_text(r#"{"turns": [{"steps": [[{"text": ["Hello."]}]]}]}"#)?);
/// let runtime = Runtime::builder(model).log(Arc::clone(&log) as _).start().await?;
/// let (chat, _) = runtime.submit(&Subject::local(), ChatRequest::user("c", "Hello"), View::default()).await?;
/// runtime.chats(&Subject::local()).idle(&chat).await?;
/// assert!(log.bytes.load(Ordering::Relaxed) > 0);
/// # Ok(())
/// # }
/// ```
///
/// Its test, in a crate with `holdpoint-testkit`:
///
/// ```ignore
/// fn counting() -> ((), Arc<dyn Store>) {
///     ((), Arc::new(Counting { inner: Arc::new(MemoryLog::default()), bytes: AtomicUsize::default() }))
/// }
/// holdpoint_testkit::log_contract_suite!(counting_log, counting);
/// ```
pub trait Store: Log + Index + Secrets {
    /// The nodes that share the log.
    fn cluster(&self) -> &dyn Cluster;
}
