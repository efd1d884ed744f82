//! Retries: when, and after which delay.

use std::time::{Duration, SystemTime};

use holdpoint_protocol::json;
use reqwest::header::HeaderMap;
use serde_json::Value;

use holdpoint_core::backoff::Backoff;

/// How often a call is tried in all.
pub(super) const MAX_ATTEMPTS: u32 = 4;
/// The first delay. Each further one is twice as long.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// If the provider demands a longer delay, give up: a person is waiting.
pub(super) const MAX_DELAY: Duration = Duration::from_secs(60);

/// The delay after this many attempts; `None` to give up.
pub(super) fn pause(tried: u32, wanted: Option<Duration>, chance: f64) -> Option<Duration> {
    if tried >= MAX_ATTEMPTS {
        return None;
    }
    match wanted {
        Some(wanted) if wanted > MAX_DELAY => None,
        // With jitter, so that not all clients return at the same moment.
        Some(wanted) => Some(wanted + INITIAL_BACKOFF.mul_f64(chance)),
        None => {
            let mut backoff = Backoff::new(INITIAL_BACKOFF, MAX_BACKOFF);
            let delay = (1..tried).fold(backoff.delay(), |_, _| backoff.delay());
            Some(delay.mul_f64(0.75 + chance / 2.0))
        }
    }
}

/// The delay that the provider demands, in a header or, for Gemini, in the body.
pub(super) fn wanted(headers: Option<&HeaderMap>, body: &str, now: SystemTime) -> Option<Duration> {
    let header = |name: &str| headers?.get(name)?.to_str().ok().map(str::trim);
    let milliseconds = header("retry-after-ms").and_then(|text| seconds(text).map(|wait| wait / 1000));
    let after = || {
        let text = header("retry-after")?;
        let date = || httpdate::parse_http_date(text).ok().map(|date| date.duration_since(now).unwrap_or_default());
        seconds(text).or_else(date)
    };
    milliseconds.or_else(after).or_else(|| in_body(body))
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn in_body(body: &str) -> Option<Duration> {
    let body: Value = json::parse(body.as_bytes()).ok()?;
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    seconds(delay.strip_suffix('s')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Vec<_> = (1..=MAX_ATTEMPTS).map(|tried| pause(tried, None, 0.5)).collect();
        let expected = [Some(500), Some(1000), Some(2000), None];
        assert_eq!(pauses, expected.map(|pause| pause.map(Duration::from_millis)));
        assert_eq!(pause(1, None, 0.0), Some(Duration::from_millis(375)));
        assert_eq!(pause(1, Some(Duration::from_secs(7)), 0.0), Some(Duration::from_secs(7)));
        assert_eq!(pause(1, Some(MAX_DELAY + Duration::from_secs(1)), 0.0), None);
        assert_eq!(pause(MAX_ATTEMPTS, Some(Duration::ZERO), 0.0), None);
    }

    #[test]
    fn what_the_provider_wants_is_read() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").expect("a date");
        let ask = |name: &'static str, value: &str| {
            let headers = HeaderMap::from_iter([(
                reqwest::header::HeaderName::from_static(name),
                value.parse().expect("a header"),
            )]);
            wanted(Some(&headers), "", now)
        };
        assert_eq!(ask("retry-after", "3"), Some(Duration::from_secs(3)));
        assert_eq!(ask("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(ask("retry-after", "Sun, 06 Nov 1994 08:49:57 GMT"), Some(Duration::from_secs(20)));
        assert_eq!(ask("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT"), Some(Duration::ZERO));
        assert_eq!(ask("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(ask("retry-after", "soon"), None);
        assert_eq!(ask("retry-after", "-1"), None);
        let body = r#"{"error": {"details": [{"x": 1}, {"@type": "RetryInfo", "retryDelay": "36.5s"}]}}"#;
        assert_eq!(wanted(None, body, now), Some(Duration::from_millis(36_500)));
        assert_eq!(wanted(None, "no json", now), None);
    }
}
