//! What decides about holds, without I/O: the [facts](fact) of a chat, the [machine](turn) that says which facts follow
//! from an input, and the [projections](wire) that write facts for clients and for the model.
//!
//! A chat is an append-only list of facts, and its state is their fold. There is no clock, no randomness and no async
//! runtime here: times and ids come in through [`turn::Env`], and whatever has to be done follows from a new fact. A
//! program embeds the crate `holdpoint-runtime`, which does it.
//!
//! ```
//! use std::{collections::BTreeSet, sync::Arc};
//!
//! use holdpoint_core::{
//!     Identity,
//!     chat::Chat,
//!     clock::Timestamp,
//!     fact::{CallOrder, Fact, NextTurn},
//!     model::{ModelEvent, Usage},
//!     protocol::{audit::AuditChannel, chunk::FinishReason, request::ChatRequest},
//!     tool::{ApprovalPolicy, Budget, Execution, InputSchema, ToolCatalog, ToolSpec},
//!     turn::{Env, Input, Submit, step},
//! };
//! use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = InputSchema::new(json!({"type": "object"}))?;
//! let mut pay = ToolSpec::new("pay", "Pays an invoice", schema, Execution::Server);
//! pay.approval = ApprovalPolicy::Always;
//! let tools: ToolCatalog = [Arc::new(pay)].into_iter().collect();
//!
//! let mut ids = 0;
//! let mut env = Env {
//!     now: Timestamp(1_000),
//!     tools: &tools,
//!     model: "a model",
//!     max_steps: 10,
//!     budget: Budget::default(),
//!     max_holds: 10,
//!     is_elsewhere: false,
//!     grants: &[],
//!     full_of_grants: None,
//!     unsent: &BTreeSet::new(),
//!     refuses: None,
//!     channel: AuditChannel::Chat,
//!     new_id: &mut || {
//!         ids += 1;
//!         ids.to_string()
//!     },
//!     has_room: &mut |_| true,
//! };
//!
//! let next = NextTurn { order: CallOrder::Together, holds_text: false, is_resubmit: false };
//! let request = ChatRequest::user("chat-1", "Pay the invoice");
//! let call = ModelEvent::Call { id: "1".to_owned(), name: "pay".to_owned(), input: Ok(json!({})) };
//! let (usage, reason) = (Usage::default(), FinishReason::ToolCalls);
//! let mut state = Chat::default();
//! let mut facts = Vec::new();
//! for input in [
//!     Input::Submit(Arc::new(Submit { request, by: Identity::local(), next })),
//!     Input::Model(call),
//!     Input::Model(ModelEvent::Finish { usage, reason, version: None, state: None }),
//! ] {
//!     facts.extend(step(&mut state, input, &mut env).0);
//! }
//! // The call waits for a person: it was asked about, and not started.
//! assert!(facts.iter().any(|fact| matches!(fact, Fact::Asked { .. })));
//! assert!(!facts.iter().any(|fact| matches!(fact, Fact::Started { .. })));
//! # Ok(())
//! # }
//! ```

pub mod approvers;
pub mod backoff;
pub mod call;
pub mod chat;
pub mod clock;
pub mod fact;
pub mod grants;
pub mod hash;
pub mod identity;
pub mod model;
#[cfg(test)]
mod notation;
pub mod redact;
pub mod request_terms;
pub mod subject;
pub mod tool;
pub mod turn;
mod unseen;
pub mod value;
pub mod wire;

pub use identity::Identity;
pub use subject::Subject;
pub use unseen::{is_form_of, is_unseen};

/// Re-exported, so that a program needs only this crate.
pub use holdpoint_protocol as protocol;
