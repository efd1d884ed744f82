//! The methods of an engine that one node at a time uses.

/// What [`Log`](super::Log) asks of several nodes, for an engine that one node at a time uses: no lease, every other node is
/// gone, the clock is its own, and tickets are kept by the node itself.
macro_rules! one_node {
    () => {
        fn hears_other_nodes(&self) -> bool {
            // There are none.
            true
        }

        fn lengths(
            &self,
            chats: Vec<holdpoint_protocol::ids::ChatId>,
        ) -> futures::future::BoxFuture<'_, Result<Vec<u64>, $crate::LogError>> {
            Box::pin(async move {
                let mut lengths = Vec::with_capacity(chats.len());
                for chat in &chats {
                    lengths.push($crate::Log::stored(self, chat).await?.map_or(0, |stored| stored.len()));
                }
                Ok(lengths)
            })
        }

        fn lease(&self) -> Option<std::time::Duration> {
            None
        }

        fn renew(&self, _node: $crate::NodeId) -> futures::future::BoxFuture<'_, Result<u32, $crate::LogError>> {
            Box::pin(async { Ok($crate::FORMAT) })
        }

        fn is_gone(&self, _node: $crate::NodeId) -> futures::future::BoxFuture<'_, Result<bool, $crate::LogError>> {
            Box::pin(async { Ok(true) })
        }

        fn time(
            &self,
        ) -> futures::future::BoxFuture<'_, Result<Option<holdpoint_core::clock::Timestamp>, $crate::LogError>> {
            Box::pin(async { Ok(None) })
        }

        fn keep_ticket<'a>(
            &'a self,
            _ticket: &'a [u8],
            _identity: &'a holdpoint_core::identity::Identity,
            _expires: holdpoint_core::clock::Timestamp,
        ) -> futures::future::BoxFuture<'a, Result<bool, $crate::LogError>> {
            Box::pin(async { Ok(false) })
        }

        fn redeem_ticket<'a>(
            &'a self,
            _ticket: &'a [u8],
            _now: holdpoint_core::clock::Timestamp,
        ) -> futures::future::BoxFuture<'a, Result<Option<holdpoint_core::identity::Identity>, $crate::LogError>> {
            Box::pin(async { Ok(None) })
        }
    };
}

pub(super) use one_node;
