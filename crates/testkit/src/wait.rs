//! Waiting for something that has no signal of its own.

use std::time::{Duration, Instant};

/// Longer than anything in a test takes, on however busy a machine, and shorter than anybody waits. No test measures with it:
/// it is the end of a test that would hang.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// How long to wait between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The result of a future, which must be ready in time.
///
/// # Panics
///
/// With `what` after [`PATIENCE`].
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

/// Waits until a condition holds.
///
/// # Panics
///
/// With `what` after [`PATIENCE`].
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    within(what, async {
        while !holds().await {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    })
    .await;
}

/// The same in a thread, without an async runtime.
///
/// # Panics
///
/// With `what` after [`PATIENCE`].
pub fn block_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(LOOK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_condition_is_looked_at_until_it_holds() {
        let mut looks = 0;
        until("the third look", async || {
            looks += 1;
            looks == 3
        })
        .await;
        assert_eq!(looks, 3);
        assert_eq!(within("a result", async { 7 }).await, 7);
        block_until("the fourth look", || {
            looks += 1;
            looks == 4
        });
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "waited in vain: what never comes")]
    async fn what_never_comes_ends_the_test() {
        until("what never comes", async || false).await;
    }
}
