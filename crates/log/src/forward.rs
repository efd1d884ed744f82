//! A log engine on top of another one.

use std::{fmt, time::Duration};

use futures::future::BoxFuture;
use holdpoint_protocol::ids::ChatId;
use tokio::sync::{broadcast, watch};

use super::{
    Append, AppendResult, AuditEntry, AuditQuery, Batch, DeleteResult, Deletion, Digest, Due, Found, GrantQuery,
    HeadQuery, Health, HoldApprover, HoldChanges, HoldCounts, HoldQuery, Listed, ListedHold, Log, LogError, Misfit,
    NodeId, Revocation, Stored, StoredGrant, Usage, Wakeup,
};
use holdpoint_core::{clock::Timestamp, identity::Identity, subject::Subject};

/// Makes the trait, and the log that it is. A method of [`Log`] that is missing here does not compile.
macro_rules! forward {
    ($(fn $name:ident $(<$of:lifetime>)? (& $($life:lifetime)? $self:ident $(, $arg:ident: $ty:ty)* $(,)?) -> $result:ty;)*) => {
        /// A log engine on top of another one, which compresses, encrypts or counts what is stored. It has every method of
        /// [`Log`]; those that it does not change are the inner engine's, the ones for several nodes included.
        ///
        /// See [`Log`] for an example.
        pub trait ForwardLog: Send + Sync + fmt::Debug + 'static {
            /// The inner engine.
            fn inner(&self) -> &dyn Log;

            $(
                #[doc = concat!("See [`Log::", stringify!($name), "`].")]
                fn $name $(<$of>)? (& $($life)? $self $(, $arg: $ty)*) -> $result {
                    $self.inner().$name($($arg),*)
                }
            )*
        }

        impl<T: ForwardLog> Log for T {
            $(
                fn $name $(<$of>)? (& $($life)? $self $(, $arg: $ty)*) -> $result {
                    ForwardLog::$name($self $(, $arg)*)
                }
            )*
        }
    };
}

forward! {
    fn append_many(&self, appends: Vec<Append>) -> BoxFuture<'_, Vec<AppendResult>>;
    fn read<'a>(&'a self, chat: &'a ChatId, after: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Batch>, LogError>>;
    fn digests<'a>(&'a self, chat: &'a ChatId, from: u64, limit: usize) -> BoxFuture<'a, Result<Vec<Digest>, LogError>>;
    fn wakeups(&self) -> broadcast::Receiver<Wakeup>;
    fn hears_other_nodes(&self) -> bool;
    fn health(&self) -> watch::Receiver<Health>;
    fn probe(&self) -> BoxFuture<'_, Health>;
    fn heads(&self, query: HeadQuery, limit: usize) -> BoxFuture<'_, Result<Vec<Listed>, LogError>>;
    fn stored<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Option<Stored>, LogError>>;
    fn lengths(&self, chats: Vec<ChatId>) -> BoxFuture<'_, Result<Vec<u64>, LogError>>;
    fn find<'a>(&'a self, subject: &'a Subject, key: &'a str) -> BoxFuture<'a, Result<Option<Found>, LogError>>;
    fn holds(&self, query: HoldQuery, limit: usize) -> BoxFuture<'_, Result<Vec<ListedHold>, LogError>>;
    fn due(&self, until: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<Due>, LogError>>;
    fn count_holds(&self, times: Vec<Timestamp>) -> BoxFuture<'_, Result<HoldCounts, LogError>>;
    fn usage<'a>(&'a self, subject: &'a Subject, node: NodeId, most: usize) -> BoxFuture<'a, Result<Usage, LogError>>;
    fn audit(&self, query: AuditQuery, limit: usize) -> BoxFuture<'_, Result<Vec<AuditEntry>, LogError>>;
    fn grants(&self, query: GrantQuery, limit: usize) -> BoxFuture<'_, Result<Vec<StoredGrant>, LogError>>;
    fn revoke(&self, revocation: Revocation) -> BoxFuture<'_, Result<(), LogError>>;
    fn lease(&self) -> Option<Duration>;
    fn renew(&self, node: NodeId) -> BoxFuture<'_, Result<u32, LogError>>;
    fn is_gone(&self, node: NodeId) -> BoxFuture<'_, Result<bool, LogError>>;
    fn time(&self) -> BoxFuture<'_, Result<Option<Timestamp>, LogError>>;
    fn abandoned(&self, node: NodeId, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;
    fn keep_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        identity: &'a Identity,
        expires: Timestamp
    ) -> BoxFuture<'a, Result<bool, LogError>>;
    fn redeem_ticket<'a>(
        &'a self,
        ticket: &'a [u8],
        now: Timestamp
    ) -> BoxFuture<'a, Result<Option<Identity>, LogError>>;
    fn delete<'a>(&'a self, chat: &'a ChatId, deletion: Deletion) -> BoxFuture<'a, Result<DeleteResult, LogError>>;
    fn ids(&self, after: Option<ChatId>, limit: usize) -> BoxFuture<'_, Result<Vec<ChatId>, LogError>>;
    fn approvers<'a>(&'a self, chat: &'a ChatId) -> BoxFuture<'a, Result<Vec<HoldApprover>, LogError>>;
    fn restore_holds<'a>(
        &'a self,
        chat: &'a ChatId,
        expected: u64,
        holds: HoldChanges
    ) -> BoxFuture<'a, Result<bool, LogError>>;
    fn misfits(&self) -> BoxFuture<'_, Result<Vec<Misfit>, LogError>>;
}
