use std::sync::Arc;

use super::*;
use crate::log::{MemoryLog, Secrets};

const NOW: Timestamp = Timestamp(7);

async fn value(log: &dyn Store) -> Bytes {
    let stored = log.secrets().await.expect("it lists");
    let [secret] = stored.as_slice() else { panic!("{stored:?}") };
    assert_eq!((&*secret.name, secret.created_at), (TICKETS, NOW));
    secret.value.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_at_the_same_time_have_the_same_secrets() {
    for _ in 0..50 {
        let log: Arc<dyn Store> = Arc::new(MemoryLog::default());
        let nodes: Vec<_> = (0..4)
            .map(|_| {
                let log = Arc::clone(&log);
                tokio::spawn(async move { open(&*log, None, NOW).await })
            })
            .collect();
        let opened = futures::future::try_join_all(nodes).await.expect("none panics");
        let first = opened[0].clone().expect("it opens");
        assert!(opened.iter().all(|secrets| *secrets == Ok(first)), "{opened:?}");
        assert_eq!(value(&*log).await, [&[PLAIN], first.tickets.bytes()].concat());
        assert_ne!(open(&MemoryLog::default(), None, NOW).await, Ok(first), "another log has others");
        assert!(!format!("{first:?} {:?}", log.secrets().await).contains(&format!("{}", first.tickets.0[0])));
    }
}

#[tokio::test]
async fn what_is_no_secret_is_refused_by_its_name() {
    let log = MemoryLog::default();
    for bytes in [&[][..], &[PLAIN], &[PLAIN, 1, 2], &[9; 33]] {
        let secret = StoredSecret { name: "other".into(), value: Bytes::copy_from_slice(bytes), created_at: NOW };
        let before = log.secrets().await.expect("it lists").first().map(|secret| secret.value.clone());
        assert_eq!(log.set_secret(secret, before).await, Ok(true));
        let error = open(&log, None, NOW).await.expect_err("unreadable");
        assert!(error.to_string().contains("\"other\""), "{error}");
    }
}

#[cfg(all(feature = "encryption", feature = "sqlite"))]
mod with_a_key {
    use std::path::Path;

    use super::*;
    use crate::{log::SqliteLog, tool::Secret};

    fn cipher(key: &str) -> Cipher {
        Cipher::new(&Secret::new(key))
    }

    /// Everything in the files of a folder.
    fn files(folder: &Path) -> Vec<u8> {
        let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
        files.flat_map(|file| std::fs::read(file).expect("it reads")).collect()
    }

    fn has(bytes: &[u8], secret: SecretKey) -> bool {
        bytes.windows(LEN).any(|window| window == secret.bytes())
    }

    #[tokio::test]
    async fn a_restart_keeps_the_secrets_and_the_files_do_not_tell_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = async |key: Option<&str>| {
            let log = SqliteLog::open(folder.path()).expect("it opens");
            open(&log, key.map(cipher).as_ref(), NOW).await
        };
        let first = start(Some("a key of sixteen")).await.expect("made");
        assert!(!has(&files(folder.path()), first.tickets), "it is not encrypted");
        assert_eq!(start(Some("a key of sixteen")).await, Ok(first), "a restart keeps them");
        assert_eq!(start(Some("another key of s")).await, Err(SecretsError::WrongKey));
        assert_eq!(start(None).await, Err(SecretsError::NoKey));
        assert_eq!(start(Some("a key of sixteen")).await, Ok(first), "nothing was changed by that");
    }

    #[tokio::test]
    async fn a_key_that_is_set_later_encrypts_what_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let start = async |key: Option<&str>| {
            let log = SqliteLog::open(folder.path()).expect("it opens");
            open(&log, key.map(cipher).as_ref(), NOW).await
        };
        let first = start(None).await.expect("made");
        assert!(has(&files(folder.path()), first.tickets), "there is no key");
        assert_eq!(start(None).await, Ok(first), "a restart keeps them");
        assert_eq!(start(Some("a key of sixteen")).await, Ok(first));
        assert!(!has(&files(folder.path()), first.tickets), "it is still there as it is");
        assert_eq!(start(None).await, Err(SecretsError::NoKey));
    }

    #[tokio::test]
    async fn an_encrypted_secret_is_bound_to_its_name_and_every_bit() {
        let (log, key) = (MemoryLog::default(), cipher("a key of sixteen"));
        open(&log, Some(&key), NOW).await.expect("made");
        assert_eq!(check_secrets(&log, Some(&Secret::new("a key of sixteen"))).await, Ok(()));
        assert_eq!(check_secrets(&log, None).await, Err(SecretsError::NoKey));
        let value = value(&log).await;
        let renamed = StoredSecret { name: "other".into(), value: value.clone(), created_at: NOW };
        assert_eq!(read(Some(&key), &renamed), Err(SecretsError::WrongKey));
        for at in 1..value.len() {
            let mut changed = value.to_vec();
            changed[at] ^= 1;
            let changed = StoredSecret { name: TICKETS.into(), value: changed.into(), created_at: NOW };
            assert_eq!(read(Some(&key), &changed), Err(SecretsError::WrongKey), "byte {at}");
        }
    }
}
