//! Many races of two writers, each with one winner.

use std::sync::Arc;

use holdpoint_runtime::log::AppendResult;
use tokio::sync::Barrier;

use super::{Shared, append, join};

/// Two writers append to each of many chats at the same position, at the same time, again and again. Panics unless each
/// race has one winner, and the loser reads what the winner has written. Returns the races that each writer won.
pub async fn races(writers: [Shared; 2], chats: u64, rounds: u64) -> [u64; 2] {
    let chats = (0..chats).map(|chat| tokio::spawn(races_in(writers.clone(), format!("chat {chat}"), rounds)));
    let won = join(chats.collect()).await;
    [0, 1].map(|writer| won.iter().map(|won| won[writer]).sum())
}

async fn races_in(writers: [Shared; 2], chat: String, rounds: u64) -> [u64; 2] {
    let mut won = [0; 2];
    for round in 0..rounds {
        let start = Arc::new(Barrier::new(2));
        // Each writer is started first in every other round.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        let racers = order.map(|writer| {
            let (log, start) = (Arc::clone(&writers[writer]), Arc::clone(&start));
            let append = append(&chat, round, u128::from(round) * 2 + writer as u128);
            tokio::spawn(async move {
                start.wait().await;
                (writer, log.append_many(vec![append.clone()]).await[0], append.payload)
            })
        });
        let results = join(racers.into()).await;
        let len = round + 1;
        let is_winner = |result: &AppendResult| *result == AppendResult::Committed { len };
        let is_loser = |result: &AppendResult| *result == AppendResult::Conflict { len };
        let winner = results.iter().position(|(_, result, _)| is_winner(result));
        let Some(winner) = winner.filter(|winner| is_loser(&results[1 - winner].1)) else {
            panic!("round {round} of {chat}: {results:?}");
        };
        let ((winner, _, written), (loser, ..)) = (&results[winner], &results[1 - winner]);
        won[*winner] += 1;
        let read = writers[*loser].read(&chat.as_str().into(), round, 9).await.expect("it reads");
        assert_eq!(read.iter().map(|batch| &batch.payload).collect::<Vec<_>>(), [written], "round {round} of {chat}");
    }
    won
}
