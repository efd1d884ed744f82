//! The transports: one file per endpoint, or per group of related endpoints.

pub(crate) mod ack;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod chat;
pub(crate) mod chat_ws;
pub(crate) mod chats;
pub(crate) mod check;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod grants;
pub(crate) mod health;
mod list;
pub(crate) mod live;
pub(crate) mod me;
pub(crate) mod metrics;
mod page;
mod socket;
mod sse;
pub(crate) mod status;
pub(crate) mod stream;
pub(crate) mod ticket;
pub(crate) mod tools;
mod turn;
