//! What is known of models by their names: how they reason, whether they take a temperature, how much they write.
//!
//! Names of newer models than these count as the newest of their family.

use super::{
    Provider,
    ReasoningEffort::{self, High, Low, Max, Medium, Minimal, None as Off, XHigh},
};

/// What a model is known for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Traits {
    Claude(Claude),
    Gpt(Gpt),
    Gemini(Gemini),
    Ollama,
    /// A model of another vendor, or one whose name says nothing.
    Unknown,
}

/// How a request sets the reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By a level.
    Levels(&'static [ReasoningEffort]),
    /// By a budget of tokens for these levels.
    Budgets(&'static [ReasoningEffort]),
    /// It does not reason.
    Never,
}

/// Whether a model takes a temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Temperature {
    Always,
    /// Unless it reasons, which it does by itself or not.
    UnlessReasoning {
        by_default: bool,
    },
    Never,
}

/// A version, such as 4.5.
type Version = (u32, u32);

impl Traits {
    pub(super) fn of(provider: Provider, model: &str) -> Self {
        let known = match provider {
            Provider::Anthropic => Claude::read(model).map(Self::Claude),
            Provider::OpenAi => Gpt::read(model).map(Self::Gpt),
            Provider::Gemini => Some(Self::Gemini(Gemini::read(model))),
            Provider::Ollama => Some(Self::Ollama),
        };
        known.unwrap_or(Self::Unknown)
    }

    /// How a request sets its reasoning effort.
    pub(super) fn way(self) -> Way {
        match self {
            Self::Claude(claude) => claude.way(),
            Self::Gpt(gpt) => gpt.way(),
            Self::Gemini(gemini) => gemini.way(),
            Self::Ollama => Way::Levels(&[Off, Low, Medium, High, Max]),
            Self::Unknown => Way::Levels(&[Off, Minimal, Low, Medium, High, XHigh, Max]),
        }
    }

    pub(super) fn temperature(self) -> Temperature {
        match self {
            Self::Claude(claude) => claude.temperature(),
            Self::Gpt(gpt) => gpt.temperature(),
            Self::Gemini(_) | Self::Ollama | Self::Unknown => Temperature::Always,
        }
    }

    /// The token limit where one is required.
    pub(super) fn max_tokens(self) -> u64 {
        match self {
            Self::Claude(claude) => claude.max_tokens(),
            _ => 8192,
        }
    }

    /// Whether thinking is bound to what stands before it.
    pub(super) fn binds_thinking(self) -> bool {
        matches!(self, Self::Claude(claude) if claude.is_from((5, 1)))
    }

    /// Whether a level means thinking. Opus 4.5 has levels that are none.
    pub(super) fn thinks_by_level(self) -> bool {
        !matches!(self, Self::Claude(claude) if !claude.is_from((4, 6)))
    }

    pub(super) fn is_gemini_3(self) -> bool {
        matches!(self, Self::Gemini(gemini) if gemini.version.is_none_or(|version| version >= (3, 0)))
    }
}

/// The words by which the models of Anthropic are known.
const FAMILIES: [&str; 5] = ["opus", "sonnet", "haiku", "fable", "mythos"];

/// A model of Anthropic: <https://platform.claude.com/docs/en/models/overview>.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Claude {
    family: ClaudeFamily,
    /// `None` for an alias that does not say it. It counts as the newest.
    version: Option<Version>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaudeFamily {
    Opus,
    /// Fable and Mythos.
    AlwaysThinking,
    Other,
}

impl Claude {
    /// Also with the prefixes and suffixes of Bedrock and Vertex.
    fn read(model: &str) -> Option<Self> {
        let name = model.to_ascii_lowercase();
        let words: Vec<&str> = name.split(['-', '.', '@', ':', '_', '/']).collect();
        // An alias of a gateway may leave out the first word.
        let first = words.iter().position(|word| *word == "claude" || FAMILIES.contains(word))?;
        let words = words.get(first..)?;
        let family = match words.iter().find(|word| ["opus", "fable", "mythos"].contains(word)) {
            Some(&"opus") => ClaudeFamily::Opus,
            Some(_) => ClaudeFamily::AlwaysThinking,
            None => ClaudeFamily::Other,
        };
        // A date is not a version.
        let mut numbers = words.iter().filter(|word| word.len() <= 2).filter_map(|word| word.parse::<u32>().ok());
        let version = numbers.next().map(|major| (major, numbers.next().unwrap_or(0)));
        Some(Self { family, version })
    }

    fn is_from(self, version: Version) -> bool {
        self.version.is_none_or(|own| own >= version)
    }

    fn way(self) -> Way {
        let is_always_on = match self.family {
            ClaudeFamily::AlwaysThinking => true,
            ClaudeFamily::Opus => self.version.is_some() && self.is_from((5, 5)),
            ClaudeFamily::Other => false,
        };
        if is_always_on {
            Way::Levels(&[Low, Medium, High, XHigh, Max])
        } else if self.is_from((4, 7)) {
            Way::Levels(&[Off, Low, Medium, High, XHigh, Max])
        } else if self.is_from((4, 6)) {
            Way::Levels(&[Off, Low, Medium, High, Max])
        } else if self.is_from((4, 5)) && self.family == ClaudeFamily::Opus {
            Way::Levels(&[Off, Low, Medium, High])
        } else if self.is_from((3, 7)) {
            Way::Budgets(&[Off, Minimal, Low, Medium, High])
        } else {
            Way::Never
        }
    }

    fn temperature(self) -> Temperature {
        match self.version {
            Some(version) if version >= (4, 7) => Temperature::Never,
            // An alias may be any model.
            _ => Temperature::UnlessReasoning { by_default: false },
        }
    }

    /// The most that the model writes, by the documents; an alias gets what all models since 4.5 have.
    fn max_tokens(self) -> u64 {
        let Some(version) = self.version else { return 64_000 };
        match version {
            version if version < (3, 5) => 4096,
            version if version < (3, 7) => 8192,
            version if ((4, 0)..(4, 5)).contains(&version) && self.family == ClaudeFamily::Opus => 32_000,
            version if version < (4, 6) => 64_000,
            _ => 128_000,
        }
    }
}

/// A model of OpenAI: <https://platform.openai.com/docs/models>.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Gpt {
    /// Up to 4.
    Earlier,
    /// `o1`, `o3`, `o4-mini`.
    O,
    Numbered {
        version: Version,
        kind: GptKind,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GptKind {
    Plain,
    Pro,
    Chat,
    /// It can't be told not to reason.
    AlwaysReasoning,
}

impl Gpt {
    fn read(model: &str) -> Option<Self> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.strip_prefix("ft:").unwrap_or(name);
        if ["gpt-3", "gpt-4", "chatgpt-4"].iter().any(|earlier| name.starts_with(earlier)) {
            return Some(Self::Earlier);
        }
        if name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
            return Some(Self::O);
        }
        let mut words = name.strip_prefix("gpt-")?.split('-');
        let (major, minor) = words.next().map(|version| version.split_once('.').unwrap_or((version, "0")))?;
        let version = (major.parse().ok()?, minor.parse().ok()?);
        let words: Vec<&str> = words.collect();
        let kind = match version {
            _ if words.contains(&"pro") => GptKind::Pro,
            _ if words.contains(&"chat") => GptKind::Chat,
            (6, 0) if words.contains(&"astra") => GptKind::AlwaysReasoning,
            (6, 1) if words.contains(&"sol") => GptKind::AlwaysReasoning,
            _ => GptKind::Plain,
        };
        Some(Self::Numbered { version, kind })
    }

    fn way(self) -> Way {
        Way::Levels(match self {
            Self::Earlier => return Way::Never,
            Self::O => &[Low, Medium, High],
            Self::Numbered { version: (5, 0), kind: GptKind::Pro } => &[High],
            Self::Numbered { kind: GptKind::Pro, .. } => &[Medium, High, XHigh],
            Self::Numbered { kind: GptKind::Chat, .. } => &[Medium],
            Self::Numbered { kind: GptKind::AlwaysReasoning, .. } => &[Low, Medium, High, XHigh, Max],
            Self::Numbered { version, .. } if version <= (5, 0) => &[Minimal, Low, Medium, High],
            Self::Numbered { version: (5, 1), .. } => &[Off, Low, Medium, High],
            Self::Numbered { version, .. } if version < (5, 6) => &[Off, Low, Medium, High, XHigh],
            Self::Numbered { .. } => &[Off, Low, Medium, High, XHigh, Max],
        })
    }

    fn temperature(self) -> Temperature {
        match self {
            Self::Earlier => Temperature::Always,
            Self::O | Self::Numbered { kind: GptKind::Pro | GptKind::AlwaysReasoning, .. } => Temperature::Never,
            Self::Numbered { version, .. } if version <= (5, 0) || version == (5, 5) => Temperature::Never,
            Self::Numbered { version, .. } => Temperature::UnlessReasoning { by_default: version >= (5, 6) },
        }
    }
}

/// A model of Google: <https://ai.google.dev/gemini-api/docs/thinking>.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gemini {
    version: Option<Version>,
    is_pro: bool,
}

impl Gemini {
    fn read(model: &str) -> Self {
        let mut words = model.split(['-', '/']);
        let version = words.by_ref().find_map(|word| {
            let (major, minor) = word.split_once('.').unwrap_or((word, "0"));
            Some((major.parse().ok()?, minor.parse().ok()?))
        });
        Self { version, is_pro: model.contains("-pro") }
    }

    fn way(self) -> Way {
        match (self.version, self.is_pro) {
            (Some(version), _) if version < (2, 5) => Way::Never,
            (Some(version), true) if version < (3, 0) => Way::Budgets(&[Minimal, Low, Medium, High]),
            (Some(version), false) if version < (3, 0) => Way::Budgets(&[Off, Minimal, Low, Medium, High]),
            (Some((3, 0)), true) => Way::Levels(&[Low, High]),
            (Some(version), false) if version < (3, 7) => Way::Levels(&[Minimal, Low, Medium, High]),
            _ => Way::Levels(&[Low, Medium, High]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_is_known_by_its_version() {
        for (model, binds, temperature, max_tokens) in [
            ("claude-3-5-haiku-20241022", false, true, 8192),
            ("claude-3-7-sonnet-latest", false, true, 64_000),
            ("claude-opus-4-20250514", false, true, 32_000),
            ("claude-opus-4-1", false, true, 32_000),
            ("claude-haiku-4-5", false, true, 64_000),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", false, true, 64_000),
            ("claude-opus-4.6", false, true, 128_000),
            ("claude-opus-4-7", false, false, 128_000),
            ("claude-sonnet-5", false, false, 128_000),
            ("claude-fable-5-1", true, false, 128_000),
            ("claude-fable-5-2", true, false, 128_000),
            ("claude-haiku-5-5", true, false, 128_000),
            ("claude-mythos-5-1", true, false, 128_000),
            ("claude-opus-7", true, false, 128_000),
            ("claude-latest", true, true, 64_000),
            ("fable-5-2", true, false, 128_000),
            ("team/sonnet-4-5", false, true, 64_000),
        ] {
            let traits = Traits::of(Provider::Anthropic, model);
            assert_eq!(traits.binds_thinking(), binds, "{model}");
            assert_eq!(traits.temperature() != Temperature::Never, temperature, "{model}");
            assert_eq!(traits.max_tokens(), max_tokens, "{model}");
        }
        let other = Traits::of(Provider::Anthropic, "deepseek-chat");
        assert_eq!((other.binds_thinking(), other.max_tokens()), (false, 8192));
        let always_on = |model: &str| match Traits::of(Provider::Anthropic, model).way() {
            Way::Levels(levels) => !levels.contains(&Off),
            _ => false,
        };
        assert_eq!(["claude-opus-5-5", "claude-fable-5", "claude-mythos-5-2"].map(always_on), [true; 3]);
        assert_eq!(["claude-opus-5", "claude-sonnet-5-5", "claude-haiku-5-5"].map(always_on), [false; 3]);
    }

    #[test]
    fn gpt_is_known_by_its_version() {
        let temperature = |model: &str| Traits::of(Provider::OpenAi, model).temperature();
        assert_eq!(temperature("gpt-4o"), Temperature::Always);
        assert_eq!(["gpt-5-mini", "o4-mini", "gpt-5-2025-08-07"].map(temperature), [Temperature::Never; 3]);
        assert_eq!(temperature("gpt-5.4-mini"), Temperature::UnlessReasoning { by_default: false });
        assert_eq!(temperature("openai/gpt-6-sol"), Temperature::UnlessReasoning { by_default: true });
        assert_eq!(["qwen3-8b", "gpt-oss-120b"].map(temperature), [Temperature::Always; 2]);
    }
}
