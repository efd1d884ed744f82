//! A log engine on top of another one.

use std::fmt;

use bytes::Bytes;
use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::{broadcast, watch};

use super::{
    Append, AppendResult, AuditEntry, AuditQuery, Batch, Cluster, DeleteResult, Deletion, Digest, Due, Found,
    GrantQuery, HeadQuery, Health, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Index, Listed, ListedHold, Log,
    LogError, Misfit, NodeId, Revocation, Secrets, Store, Stored, StoredGrant, StoredSecret, Usage, Wakeup,
};
use holdpoint_core::{clock::Timestamp, subject::Subject};

/// Makes the trait, and the store that it is. A method of [`Log`], [`Index`] or [`Secrets`] that is missing here does not compile.
macro_rules! forward {
    ($($trait:ident {
        $(fn $name:ident $(<$of:lifetime>)? (& $($life:lifetime)? $self:ident $(, $arg:ident: $ty:ty)* $(,)?) -> $result:ty;)*
    })*) => {
        /// A log engine on top of another one, which compresses, encrypts or counts what is stored. It has every method of
        /// [`Log`], [`Index`] and [`Secrets`]; those that it does not change are the inner engine's, and so is its cluster.
        ///
        /// See [`Store`] for an example.
        pub trait ForwardLog: Send + Sync + fmt::Debug + 'static {
            /// The inner engine.
            fn inner(&self) -> &dyn Store;

            /// See [`Store::cluster`].
            fn cluster(&self) -> &dyn Cluster {
                self.inner().cluster()
            }

            $($(
                #[doc = concat!("See [`", stringify!($trait), "::", stringify!($name), "`].")]
                fn $name $(<$of>)? (& $($life)? $self $(, $arg: $ty)*) -> $result {
                    $self.inner().$name($($arg),*)
                }
            )*)*
        }

        $(impl<T: ForwardLog> $trait for T {
            $(
                fn $name $(<$of>)? (& $($life)? $self $(, $arg: $ty)*) -> $result {
                    ForwardLog::$name($self $(, $arg)*)
                }
            )*
        })*

        impl<T: ForwardLog> Store for T {
            fn cluster(&self) -> &dyn Cluster {
                ForwardLog::cluster(self)
            }
        }
    };
}

forward! {
    Log {
        fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>>;
        fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>>;
        fn digests<'a>(&'a self, chat: &'a ChatId, from: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Digest>, LogError>>;
        fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>>;
        fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>>;
        fn wakeups(&self) -> broadcast::Receiver<Wakeup>;
        fn health(&self) -> watch::Receiver<Health>;
        fn probe(&self) -> BoxFuture<'_, Health>;
    }

    Index {
        fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>>;
        fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;
        fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>>;
        fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>>;
        fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>>;
        fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>>;
        fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>>;
        fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>>;
        fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>>;
        fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;
        fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>>;
        fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>>;
        fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>>;
        fn restore_holds<'a>(
            &'a self,
            chat: &'a ChatId,
            expected: u64,
            holds: HoldChanges
        ) -> BoxFuture<'a, Result<bool, LogError>>;
        fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>>;
    }

    Secrets {
        fn secrets(&self) -> BoxFuture<'_, Result<Vec<StoredSecret>, LogError>>;
        fn set_secret(&self, secret: StoredSecret, expected: Option<Bytes>) -> BoxFuture<'_, Result<bool, LogError>>;
    }
}
