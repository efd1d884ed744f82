//! The driver: the tasks that append facts and run the model and the tools.
//!
//! A chat has a task while something runs in it or somebody follows it (`chat`), and none while it only waits. One
//! task keeps the deadlines, and one recovers turns after a restart (`recovery.rs`). The [`Runtime`] owns every task,
//! and they end with it.

mod agent;
mod append;
mod approval_record;
mod approvals;
mod audit;
mod awake;
mod builder;
mod changes;
mod chat;
mod chats;
mod checkpoint;
mod checks;
mod command;
mod counters;
mod deadlines;
mod deletion;
mod dispatch;
mod error;
mod feed;
mod files;
mod footprint;
mod gate;
mod gone;
mod grants;
mod handles;
mod head;
mod journal;
mod keeper;
mod lease;
mod limits;
mod lists;
mod live;
mod load;
mod look_back;
mod maintenance;
mod memory;
mod mend;
mod observe;
mod progress;
mod ready;
mod recovery;
mod response;
mod retention;
mod running;
mod runtime;
mod seal;
mod secrets;
mod send;
mod shown;
mod shutdown;
mod stored_chat;
mod tickets;
mod tool_run;
pub mod transfer;
mod unreadable;
mod verify;
mod weight;

pub use agent::Agent;
pub use approvals::{ApprovalFilter, ApprovalRow, ApprovalState};
pub use audit::{AuditCursor, input_sha256, line as audit_line};
pub use builder::RuntimeBuilder;
pub use builder::StartError;
pub use changes::{Change, Changes};
pub use counters::Counts;
pub use error::RuntimeError;
pub use gone::{DELETED, GONE, gone_chunks, gone_message};
pub use grants::GrantCursor;
pub use handles::{Admin, Audit, Chats, Grants, Inbox, Live, Tickets};
pub use head::Hold;
pub use limits::Limits;
pub use lists::{ApprovalCursor, ChatCursor, ChatSummary, CursorError, OpenHold, Page};
pub use response::{LiveStream, LiveTaken, Next, ResponseStream};
pub use runtime::Runtime;
pub use secrets::SecretsError;
#[cfg(feature = "encryption")]
pub use secrets::check_secrets;
pub use stored_chat::StoredChat;
pub use verify::{
    Anchor, Finding, GrantAnchor, LineChange, Verified, verify, verify_chain, verify_grants, verify_tables,
};
