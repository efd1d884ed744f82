//! The log of Holdpoint: the facts of each chat, in order, each once.
//!
//! An engine knows chats, positions and bytes, and does not interpret the bytes. Its compare-and-set gives the
//! product's guarantees: a hold is settled once, a server tool starts at most once, two nodes can't both run a turn.
//!
//! ```
//! use holdpoint_log::{HeadQuery, Index, MemoryLog};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), holdpoint_log::LogError> {
//! let log = MemoryLog::new();
//! assert!(log.heads(HeadQuery::default(), 10).await?.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `sqlite` | no | the log in SQLite (`SqliteLog`), built from source |
//! | `postgres` | no | the log in PostgreSQL (`PostgresLog`), for several nodes |

mod audit;
mod chain;
mod forward;
mod grants;
mod memory;
mod misfits;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod types;

pub use audit::{AuditEntry, AuditQuery, AuditRow, REVOCATION};
pub use chain::{BatchHash, Break, NoHash, Walk};
pub use forward::ForwardLog;
pub use grants::{GrantChanges, GrantQuery, GrantRow, GrantScope, GrantState, GrantUse, Revocation, StoredGrant};
pub use memory::MemoryLog;
pub use misfits::Misfit;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresError, PostgresLog, PostgresOptions};
#[cfg(feature = "sqlite")]
pub use sqlite::{FolderRights, SqliteError, SqliteLog};
pub use store::{Cluster, Index, Log, OneNode, Secrets, Store, StoredSecret};
pub use types::{
    Append, AppendId, AppendResult, Batch, ChatChange, DeleteResult, Deletion, Digest, Due, Found, Head, HeadOrder,
    HeadQuery, Health, HoldApprover, HoldChanges, HoldCount, HoldCounts, HoldQuery, HoldRow, HoldsOf, Key, Listed,
    ListedHold, LogError, NodeId, Ownership, Stored, TicketRow, Usage, Wakeup,
};

/// The size of a page of holds that is full before it has as many as wanted. Inputs can be large.
pub const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The newest format of what the runtime stores: facts, heads and digests. A node that does not know a format can't read
/// what is stored in it, so nothing is before [`Cluster::renew`] says that it may. `Fact::format` says which one each fact needs.
pub const FORMAT: u32 = 1;

/// Wakeups buffered for a slow reader.
const WAKEUPS: usize = 1024;
