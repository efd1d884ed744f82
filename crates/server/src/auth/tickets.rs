//! Tickets, for a WebSocket of a browser, which can't send an API key.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use holdpoint_runtime::{clock::Timestamp, subject::Subject};

/// The lifetime of a ticket.
const TICKET_LIFETIME: Duration = Duration::from_secs(60);
/// How many unused tickets a subject may have. The oldest is dropped.
const MAX_TICKETS: usize = 100;

/// The unused tickets of a server.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<HashMap<String, (Subject, Timestamp)>>);

impl Tickets {
    /// Issues a ticket for one WebSocket.
    pub(crate) fn issue(&self, subject: Subject, now: Timestamp) -> String {
        let ticket = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, (_, until)| *until > now);
        let own = tickets.iter().filter(|(_, (owner, _))| *owner == subject);
        let own: Vec<(String, Timestamp)> = own.map(|(ticket, (_, until))| (ticket.clone(), *until)).collect();
        if own.len() >= MAX_TICKETS
            && let Some((oldest, _)) = own.into_iter().min_by_key(|(_, until)| *until)
        {
            tickets.remove(&oldest);
        }
        tickets.insert(ticket.clone(), (subject, now.after(TICKET_LIFETIME)));
        ticket
    }

    pub(super) fn redeem(&self, ticket: &str, now: Timestamp) -> Option<Subject> {
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.remove(ticket).filter(|(_, until)| *until > now).map(|(subject, _)| subject)
    }
}
