//! Times: durable deadlines are wall-clock times.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The last time that a log can store: databases have signed numbers.
    pub const LAST: Self = Self(i64::MAX as u64);

    /// The time `duration` later, but not after the [last](Self::LAST).
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))).min(Self::LAST)
    }

    /// ISO 8601, with milliseconds, in UTC.
    pub fn iso8601(self) -> String {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        // Later than the year 9999 is shown as its end.
        let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        format!("{time:.3}")
    }

    /// Reads a time of RFC 3339, such as `2026-11-20T09:30:00Z`. `None` for anything else, and for times before 1970.
    pub fn parse(text: &str) -> Option<Self> {
        let time: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(time.as_millisecond()).ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_people_expect() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_738_413_296_789, "2025-02-01T12:34:56.789Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
            (u64::MAX, "9999-12-30T22:00:00.999Z"),
        ] {
            assert_eq!(Timestamp(millis).iso8601(), text);
        }
    }

    /// A tool may be given any time limit, and a database stores what comes of it.
    #[test]
    fn no_time_is_later_than_the_last() {
        assert_eq!(Timestamp(5).after(Duration::from_millis(7)), Timestamp(12));
        assert_eq!(Timestamp(5).after(Duration::MAX), Timestamp::LAST);
        assert_eq!(Timestamp::LAST.after(Duration::from_millis(1)), Timestamp::LAST);
    }
}
