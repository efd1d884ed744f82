//! The time that a 404 takes. What somebody may not see is answered like what does not exist, but finding out takes
//! longer: a chat may have to be loaded to tell who may decide in it. So a 404 goes out at the next of even steps, and so
//! does the 204 of a resume, which is the same for a chat of somebody else as for none.

use std::time::Duration;

use axum::{
    extract::Request,
    http::{Method, StatusCode},
    middleware::Next,
    response::Response,
};
use tokio::time::{Instant, sleep_until};

/// Longer than it takes to find out, in all but the largest chats.
pub(crate) const STEP: Duration = Duration::from_millis(25);

/// Holds a 404, and the 204 of a GET, back to the next step.
pub(crate) async fn even_time(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let is_get = request.method() == Method::GET;
    let response = next.run(request).await;
    if response.status() == StatusCode::NOT_FOUND || is_get && response.status() == StatusCode::NO_CONTENT {
        sleep_until(begun + next_step(begun.elapsed())).await;
    }
    response
}

fn next_step(elapsed: Duration) -> Duration {
    let steps = elapsed.as_nanos() / STEP.as_nanos() + 1;
    STEP * u32::try_from(steps).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_never_in_the_past() {
        for (elapsed, expected) in [(0, 25), (1, 25), (24, 25), (25, 50), (60, 75)] {
            assert_eq!(next_step(Duration::from_millis(elapsed)), Duration::from_millis(expected));
        }
    }
}
