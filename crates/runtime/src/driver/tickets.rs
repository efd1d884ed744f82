//! Tickets of the nodes that share a log, for a server that logs its WebSockets in with them.
//!
//! A row is found by a keyed digest of its ticket, and carries a code over everything in it. Both are made with a secret of
//! the server. So whoever reads a row can't use it, and whoever does not know the secret can't add or change one.

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{RuntimeError, Tickets, secrets::SecretKey};
use crate::{clock::Timestamp, identity::Identity, log::TicketRow};

/// The length of the code before the data of a row.
const CODE_LEN: usize = 32;
/// What a code is about.
const OF_TICKET: &[u8] = b"ticket\n";
const OF_ROW: &[u8] = b"row\n";

/// What a ticket is good for.
#[derive(Serialize, Deserialize)]
struct Data {
    identity: Identity,
    expires: u64,
}

impl Tickets<'_> {
    /// Keeps a ticket that every node that shares the log may redeem, once. The log gets no more than a keyed digest of it.
    /// Returns `false` if no other node uses the log.
    pub async fn keep(&self, ticket: &str, identity: &Identity, expires: Timestamp) -> Result<bool, RuntimeError> {
        let inner = &self.runtime.inner;
        let row = row(&inner.secrets.tickets, ticket, identity, expires);
        inner.log.cluster().keep_ticket(row).await.map_err(RuntimeError::Log)
    }

    /// Redeems a ticket of any node. A row that no node has written is none.
    pub async fn redeem(&self, ticket: &str) -> Result<Option<Identity>, RuntimeError> {
        let inner = &self.runtime.inner;
        let (key, now) = (&inner.secrets.tickets, inner.clock.now());
        let digest = digest(key, ticket);
        let data = inner.log.cluster().redeem_ticket(&digest, now).await.map_err(RuntimeError::Log)?;
        Ok(data.and_then(|data| identity(key, &digest, &data, now)))
    }
}

/// The row of a ticket.
fn row(key: &SecretKey, ticket: &str, identity: &Identity, expires: Timestamp) -> TicketRow {
    let digest = digest(key, ticket);
    // This can't fail: all keys are strings.
    let json = serde_json::to_vec(&Data { identity: identity.clone(), expires: expires.0 }).unwrap_or_default();
    let code = code(key, &[OF_ROW, &digest, &json]).finalize().into_bytes();
    let data = Bytes::from([&code[..], &json].concat());
    TicketRow { digest, subject: identity.subject().clone(), expires, data }
}

/// By which a ticket is found.
fn digest(key: &SecretKey, ticket: &str) -> [u8; 32] {
    code(key, &[OF_TICKET, ticket.as_bytes()]).finalize().into_bytes().into()
}

/// The identity of a ticket by the data of its row. `None` if it has expired, or if no node has written that.
fn identity(key: &SecretKey, digest: &[u8; 32], data: &[u8], now: Timestamp) -> Option<Identity> {
    let (code_found, json) = data.split_at_checked(CODE_LEN)?;
    code(key, &[OF_ROW, digest, json]).verify_slice(code_found).ok()?;
    let Data { identity, expires } = serde_json::from_slice(json).ok()?;
    (expires > now.0).then_some(identity)
}

fn code(key: &SecretKey, parts: &[&[u8]]) -> Hmac<Sha256> {
    // A key may have any length, so this can't fail.
    let mut code =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key.bytes()).unwrap_or_else(|_| unreachable!("any length"));
    parts.iter().for_each(|part| code.update(part));
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1000);

    #[test]
    fn a_row_is_good_for_its_ticket_until_its_end_as_it_was_written() {
        let (key, other) = (SecretKey::of([1; 32]), SecretKey::of([2; 32]));
        let ann = Identity::new("ann").with_groups(["finance"]);
        let TicketRow { digest: found_by, data, .. } = row(&key, "ticket", &ann, Timestamp(1001));
        assert_eq!(found_by, digest(&key, "ticket"));
        assert_eq!(identity(&key, &found_by, &data, NOW), Some(ann.clone()));
        assert_eq!(identity(&key, &found_by, &data, Timestamp(1001)), None, "it has expired");
        assert_eq!(identity(&other, &found_by, &data, NOW), None, "another secret");
        assert_ne!(digest(&other, "ticket"), found_by);
        assert_eq!(identity(&key, &digest(&key, "another"), &data, NOW), None, "the data of another ticket");
        for at in 0..data.len() {
            let mut changed = data.to_vec();
            changed[at] ^= 1;
            assert_eq!(identity(&key, &found_by, &changed, NOW), None, "byte {at} was changed");
        }
        assert_eq!(identity(&key, &found_by, &data[..CODE_LEN - 1], NOW), None, "cut off");
        let text = String::from_utf8_lossy(&data).into_owned();
        assert!(text.contains("finance") && !text.contains("ticket"), "{text}");
    }
}
