//! The server's own secrets in memory.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

use bytes::Bytes;
use futures::future::BoxFuture;

use super::MemoryLog;
use crate::{LogError, Secrets, StoredSecret};

impl MemoryLog {
    fn locked_secrets(&self) -> MutexGuard<'_, BTreeMap<Box<str>, StoredSecret>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Secrets for MemoryLog {
    fn secrets(&self) -> BoxFuture<'_, Result<Vec<StoredSecret>, LogError>> {
        Box::pin(async move { Ok(self.locked_secrets().values().cloned().collect()) })
    }

    fn set_secret(&self, secret: StoredSecret, expected: Option<Bytes>) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(async move {
            let mut secrets = self.locked_secrets();
            let is_expected = secrets.get(&secret.name).map(|stored| &stored.value) == expected.as_ref();
            if is_expected {
                secrets.insert(secret.name.clone(), secret);
            }
            Ok(is_expected)
        })
    }
}
