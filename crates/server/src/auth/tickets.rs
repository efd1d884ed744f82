//! Tickets, for a WebSocket of a browser, which can't send an API key. Nodes that share a log share their tickets.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use holdpoint_runtime::{Identity, Runtime, clock::Timestamp};

use crate::request::Failure;

/// The lifetime of a ticket.
const TICKET_LIFETIME: Duration = Duration::from_secs(60);
/// How many unused tickets a subject may have. The oldest is dropped.
const MAX_TICKETS: usize = 100;

/// The unused tickets of a server.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, (Identity, Timestamp)>>);

impl Tickets {
    /// Issues a ticket for one WebSocket of this identity.
    pub(crate) async fn issue(&self, runtime: &Runtime, identity: Identity) -> Result<String, Failure> {
        let now = runtime.clock().now();
        let ticket = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        if !runtime.tickets().keep(&ticket, &identity, now.after(TICKET_LIFETIME)).await? {
            self.keep(ticket.clone(), identity, now);
        }
        Ok(ticket)
    }

    fn keep(&self, ticket: String, identity: Identity, now: Timestamp) {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, (_, until)| *until > now);
        let own = tickets.iter().filter(|(_, (owner, _))| owner.subject() == identity.subject());
        let own: Vec<(String, Timestamp)> = own.map(|(ticket, (_, until))| (ticket.clone(), *until)).collect();
        if own.len() >= MAX_TICKETS
            && let Some((oldest, _)) = own.into_iter().min_by_key(|(_, until)| *until)
        {
            tickets.remove(&oldest);
        }
        tickets.insert(ticket, (identity, now.after(TICKET_LIFETIME)));
    }

    /// The identity of a ticket, which is used up.
    pub(super) async fn redeem(&self, runtime: &Runtime, ticket: &str) -> Result<Option<Identity>, Failure> {
        match self.take(ticket, runtime.clock().now()) {
            Some(identity) => Ok(Some(identity)),
            None => Ok(runtime.tickets().redeem(ticket).await?),
        }
    }

    fn take(&self, ticket: &str, now: Timestamp) -> Option<Identity> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.remove(ticket).filter(|(_, until)| *until > now).map(|(identity, _)| identity)
    }
}
