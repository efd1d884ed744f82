//! Settings that are numbers. Validation errors name the value and the allowed range.

use std::{
    fmt,
    num::{NonZeroU32, NonZeroU64},
};

use serde::{
    Deserializer,
    de::{Error, Unexpected, Visitor},
};

/// A type of whole numbers.
pub(super) trait Whole: Sized {
    /// The smallest one.
    const MIN: u64;
    /// The largest one; `None` if it is too large for anybody to write.
    const MAX: Option<u64>;

    /// The number as this type, if it fits.
    fn of(number: u64) -> Option<Self>;
}

impl Whole for NonZeroU32 {
    const MIN: u64 = 1;
    const MAX: Option<u64> = Some(u32::MAX as u64);

    fn of(number: u64) -> Option<Self> {
        u32::try_from(number).ok().and_then(Self::new)
    }
}

impl Whole for NonZeroU64 {
    const MIN: u64 = 1;
    const MAX: Option<u64> = None;

    fn of(number: u64) -> Option<Self> {
        Self::new(number)
    }
}

impl Whole for u32 {
    const MIN: u64 = 0;
    const MAX: Option<u64> = Some(u32::MAX as u64);

    fn of(number: u64) -> Option<Self> {
        number.try_into().ok()
    }
}

impl Whole for u64 {
    const MIN: u64 = 0;
    const MAX: Option<u64> = None;

    fn of(number: u64) -> Option<Self> {
        Some(number)
    }
}

impl Whole for usize {
    const MIN: u64 = 0;
    const MAX: Option<u64> = None;

    fn of(number: u64) -> Option<Self> {
        number.try_into().ok()
    }
}

/// The range of a setting.
struct Range {
    min: u64,
    max: Option<u64>,
}

impl<'de> Visitor<'de> for Range {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            Some(max) => write!(f, "a whole number from {} to {max}", self.min),
            None => write!(f, "a whole number of at least {}", self.min),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        let fits = number >= self.min && self.max.is_none_or(|max| number <= max);
        if fits { Ok(number) } else { Err(E::invalid_value(Unexpected::Unsigned(number), &self)) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    // These are numbers that fit nowhere. Without them, the error would name a type of Rust.
    fn visit_i128<E: Error>(self, number: i128) -> Result<u64, E> {
        Err(E::invalid_value(Unexpected::Other(&format!("integer `{number}`")), &self))
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<u64, E> {
        Err(E::invalid_value(Unexpected::Other(&format!("integer `{number}`")), &self))
    }
}

/// Reads a number in the range of its type.
pub(super) fn whole<'de, D: Deserializer<'de>, T: Whole>(deserializer: D) -> Result<Option<T>, D::Error> {
    up_to(deserializer, T::MAX)
}

/// Reads a number up to the longest lease.
pub(super) fn lease<'de, D: Deserializer<'de>, T: Whole>(deserializer: D) -> Result<Option<T>, D::Error> {
    up_to(deserializer, Some(super::check::MAX_LEASE_SEC))
}

/// Reads a number up to the deepest JSON that can be read.
pub(super) fn depth<'de, D: Deserializer<'de>, T: Whole>(deserializer: D) -> Result<Option<T>, D::Error> {
    up_to(deserializer, Some(super::check::MAX_DEPTH))
}

/// Reads a number of which none would leave nothing to do.
pub(super) fn positive<'de, D: Deserializer<'de>, T: Whole>(deserializer: D) -> Result<Option<T>, D::Error> {
    between(deserializer, 1, T::MAX)
}

fn up_to<'de, D: Deserializer<'de>, T: Whole>(deserializer: D, max: Option<u64>) -> Result<Option<T>, D::Error> {
    between(deserializer, T::MIN, max)
}

fn between<'de, D: Deserializer<'de>, T: Whole>(
    deserializer: D,
    min: u64,
    max: Option<u64>,
) -> Result<Option<T>, D::Error> {
    let number = deserializer.deserialize_u64(Range { min, max })?;
    let range = Range { min, max };
    T::of(number).map(Some).ok_or_else(|| D::Error::invalid_value(Unexpected::Unsigned(number), &range))
}

/// Reads a sampling temperature.
pub(super) fn temperature<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    deserializer.deserialize_f64(Temperature).map(Some)
}

struct Temperature;

impl Visitor<'_> for Temperature {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0 to 2")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        let fits = (0.0..=2.0).contains(&number);
        if fits { Ok(number) } else { Err(E::invalid_value(Unexpected::Float(number), &self)) }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        match number {
            0 => Ok(0.0),
            1 => Ok(1.0),
            2 => Ok(2.0),
            _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
