//! Settings that are one of several words.

use std::fmt;

use holdpoint_runtime::model::provider::{OpenAiApi, ReasoningEffort};
use serde::{
    Deserializer,
    de::{Error, Unexpected, Visitor},
};

/// A type of which every value has a name in the settings.
pub(super) trait Choice: Copy + 'static {
    /// All of them, with their names.
    const ALL: &'static [(&'static str, Self)];
}

impl Choice for OpenAiApi {
    const ALL: &'static [(&'static str, Self)] = &OpenAiApi::ALL;
}

impl Choice for ReasoningEffort {
    const ALL: &'static [(&'static str, Self)] = &ReasoningEffort::ALL;
}

struct OneOf<T: 'static>(&'static [(&'static str, T)]);

impl<T: Choice> Visitor<'_> for OneOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of ")?;
        for (at, (name, _)) in self.0.iter().enumerate() {
            write!(f, "{}\"{name}\"", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let found = self.0.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Reads one of the words.
pub(super) fn one_of<'de, D: Deserializer<'de>, T: Choice>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_str(OneOf(T::ALL)).map(Some)
}
