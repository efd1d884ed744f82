//! The server's own secrets.

use std::sync::Arc;

use bytes::Bytes;
use holdpoint_runtime::{clock::Timestamp, log::StoredSecret};

use super::{Shared, join};

fn secret(name: &str, value: &'static [u8], created_at: u64) -> StoredSecret {
    StoredSecret { name: name.into(), value: Bytes::from_static(value), created_at: Timestamp(created_at) }
}

/// A secret is set only over what is expected, and listed as it was set.
pub async fn a_secret_is_set_by_a_compare_and_set(log: Shared) {
    let (old, new) = (secret("b", b"\0old", 7), secret("b", b"new\xff", 8));
    assert_eq!(log.secrets().await, Ok(vec![]));
    assert_eq!(log.set_secret(old.clone(), Some(Bytes::new())).await, Ok(false), "there is none");
    assert_eq!(log.set_secret(old.clone(), None).await, Ok(true));
    assert_eq!(log.set_secret(new.clone(), None).await, Ok(false), "there is one");
    assert_eq!(log.set_secret(new.clone(), Some(new.value.clone())).await, Ok(false), "it is another");
    assert_eq!(log.secrets().await, Ok(vec![old.clone()]));
    assert_eq!(log.set_secret(new.clone(), Some(old.value.clone())).await, Ok(true));
    assert_eq!(log.set_secret(secret("a", b"", 9), None).await, Ok(true));
    let listed = log.secrets().await.expect("it lists");
    assert_eq!(listed, [secret("a", b"", 9), new], "by name");
    assert!(!format!("{listed:?}").contains("new"), "a value is never shown");
}

/// Nodes that start at the same time agree on one.
pub async fn of_many_racing_secrets_one_is_set(log: Shared) {
    let racing = (0..8u8).map(|number| {
        let log = Arc::clone(&log);
        tokio::spawn(async move {
            let value = Bytes::copy_from_slice(&[number]);
            let secret = StoredSecret { name: "tickets".into(), value: value.clone(), created_at: Timestamp(1) };
            log.set_secret(secret, None).await.expect("it is written").then_some(value)
        })
    });
    let set: Vec<Bytes> = join(racing.collect()).await.into_iter().flatten().collect();
    let stored: Vec<Bytes> = log.secrets().await.expect("it lists").into_iter().map(|secret| secret.value).collect();
    assert_eq!((set.len(), &set), (1, &stored));
}
