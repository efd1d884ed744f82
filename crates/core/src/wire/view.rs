//! The formats in which clients read turns. What differs between the profiles, besides what each writes, is here.

use super::{AdkSse, AiSdk, Projection};

/// How a turn is written on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// As the specification defines it.
    #[default]
    Adk,
    /// As `streamText` writes it, for a stock `useChat`.
    AiSdk,
}

impl Profile {
    /// Whether a denial is an outcome of its own. Otherwise it is an error with the person's reason.
    pub(super) fn has_denials(self) -> bool {
        match self {
            Self::Adk => false,
            Self::AiSdk => true,
        }
    }

    /// Whether every response has steps.
    pub(super) fn has_steps(self) -> bool {
        match self {
            Self::Adk => false,
            Self::AiSdk => true,
        }
    }
}

/// The endpoint that an answer came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Channel {
    /// `POST /api/approvals/{approvalId}` or `POST /api/tools/ack`.
    Inbox,
    /// A chat request over HTTP.
    #[default]
    Chat,
    /// `/live`.
    Live,
    /// `/api/chat/ws`.
    Ws,
}

/// The format in which a client reads a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// The profile.
    pub profile: Profile,
    /// Whether text is sent at once instead of held back.
    pub is_progressive: bool,
    /// Whether responses end at a frontend call. The result comes with the next request.
    pub is_resubmit: bool,
}

impl View {
    /// What writes responses in this format, one for each request.
    pub fn projection(self) -> Box<dyn Projection> {
        match self.profile {
            Profile::Adk => Box::new(AdkSse::new(self)),
            Profile::AiSdk => Box::new(AiSdk::new(self)),
        }
    }

    /// Whether its text is held back while an approval request is still possible.
    pub fn holds_text(self) -> bool {
        match self.profile {
            Profile::Adk => !self.is_progressive,
            Profile::AiSdk => false,
        }
    }
}
