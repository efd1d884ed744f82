//! Errors over HTTP: `application/problem+json` (RFC 9457).

use serde::{Deserialize, Serialize};

/// The media type of a [`Problem`].
pub const MEDIA_TYPE: &str = "application/problem+json";

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $uri:literal;)*) => {
        /// The kinds of problems. A client decides by these, never by a text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        pub enum ProblemKind { $($(#[$doc])* #[serde(rename = $uri)] $name,)* }

        impl ProblemKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The URI that stands in `type`.
            pub fn uri(self) -> &'static str {
                match self { $(Self::$name => $uri,)* }
            }
        }
    };
}

kinds! {
    /// The request carries no key.
    KeyNeeded = "urn:holdpoint:problem:key-needed";
    /// The key is not known.
    KeyUnknown = "urn:holdpoint:problem:key-unknown";
    /// A WebSocket handshake carries neither a key nor a ticket.
    TicketNeeded = "urn:holdpoint:problem:ticket-needed";
    /// The ticket is not known, was used, or is too old.
    TicketUnknown = "urn:holdpoint:problem:ticket-unknown";
    /// There is no such chat, call, approval request or page, or it belongs to another subject.
    NotFound = "urn:holdpoint:problem:not-found";
    /// The path does not take this method.
    MethodNotAllowed = "urn:holdpoint:problem:method-not-allowed";
    /// The endpoint is a WebSocket, and the request is no handshake.
    UpgradeNeeded = "urn:holdpoint:problem:upgrade-needed";
    /// The body is too large.
    TooLarge = "urn:holdpoint:problem:too-large";
    /// The JSON is nested too deeply.
    TooDeep = "urn:holdpoint:problem:too-deep";
    /// The JSON consists of too many values.
    TooManyValues = "urn:holdpoint:problem:too-many-values";
    /// The body ended early.
    Incomplete = "urn:holdpoint:problem:incomplete";
    /// The body is not JSON.
    NotJson = "urn:holdpoint:problem:not-json";
    /// A field or a parameter does not fit.
    Invalid = "urn:holdpoint:problem:invalid";
    /// The request does not fit the state of the chat.
    Conflict = "urn:holdpoint:problem:conflict";
    /// Another decision or result was given before, and stands.
    Contradicts = "urn:holdpoint:problem:contradicts";
    /// The call waits for its approval.
    ApprovalRequired = "urn:holdpoint:problem:approval-required";
    /// The hold expired, was superseded, stopped or interrupted.
    TooLate = "urn:holdpoint:problem:too-late";
    /// The server has no keys and serves its own machine only.
    ForeignHost = "urn:holdpoint:problem:foreign-host";
    /// Pages of this origin may not use the server.
    ForeignOrigin = "urn:holdpoint:problem:foreign-origin";
    /// The content type is one that any page can send.
    FormContent = "urn:holdpoint:problem:form-content";
    /// The body did not come in time.
    TooSlow = "urn:holdpoint:problem:too-slow";
    /// Too many connections have a request in progress.
    TooManyConnections = "urn:holdpoint:problem:too-many-connections";
    /// Too many requests of the subject, or from its address, in a second.
    TooManyRequests = "urn:holdpoint:problem:too-many-requests";
    /// Too many turns run, of the subject or in all.
    TooManyTurns = "urn:holdpoint:problem:too-many-turns";
    /// In too many chats of the subject something waits or runs.
    TooManyOpenChats = "urn:holdpoint:problem:too-many-open-chats";
    /// The chat has reached its largest size.
    ChatFull = "urn:holdpoint:problem:chat-full";
    /// Too many bytes are in flight or in memory.
    Busy = "urn:holdpoint:problem:busy";
    /// The subject has too many streams open.
    TooManyStreams = "urn:holdpoint:problem:too-many-streams";
    /// What is stored of the chat can't be decoded.
    Unreadable = "urn:holdpoint:problem:unreadable";
    /// The server can't do it right now.
    Unavailable = "urn:holdpoint:problem:unavailable";
}

#[cfg(feature = "openapi")]
mod schema {
    use utoipa::{
        PartialSchema, ToSchema,
        openapi::{ObjectBuilder, RefOr, Schema, Type},
    };

    use super::ProblemKind;

    impl PartialSchema for ProblemKind {
        fn schema() -> RefOr<Schema> {
            let uris = ProblemKind::ALL.iter().map(|kind| kind.uri());
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(uris)).into()
        }
    }

    impl ToSchema for ProblemKind {}
}

/// The body of every error but those of the chat endpoints, which are one sentence of plain text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Problem {
    /// What kind it is.
    pub r#type: ProblemKind,
    /// The kind, in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong with this request, and what to do.
    pub detail: String,
    /// The field at fault, as a JSON Pointer into the body. For a missing field, the object that lacks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub pointer: Option<String>,
    /// The ack and inbox endpoints only: always false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub ok: Option<bool>,
    /// The ack and inbox endpoints only: why the answer was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_as_its_uri() {
        for kind in ProblemKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("json"), kind.uri());
        }
    }
}
