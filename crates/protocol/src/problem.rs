//! Errors over HTTP: `application/problem+json` (RFC 9457).

use serde::{Deserialize, Serialize};

/// The media type of a [`Problem`].
pub const MEDIA_TYPE: &str = "application/problem+json";

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $uri:literal;)*) => {
        /// The kinds of problems. Clients branch on these, never on a text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
        pub enum ProblemKind { $($(#[$doc])* #[serde(rename = $uri)] $name,)* }

        impl ProblemKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The URI used as `type`.
            pub fn uri(self) -> &'static str {
                match self { $(Self::$name => $uri,)* }
            }
        }
    };
}

kinds! {
    /// The request carries no API key.
    KeyRequired = "urn:holdpoint:problem:key-required";
    /// The API key is unknown.
    KeyInvalid = "urn:holdpoint:problem:key-invalid";
    /// A WebSocket handshake carries neither a key nor a ticket.
    TicketRequired = "urn:holdpoint:problem:ticket-required";
    /// The ticket is unknown, used or expired.
    TicketInvalid = "urn:holdpoint:problem:ticket-invalid";
    /// The token has expired, is not yet valid, or is not one of the issuer for this server.
    TokenInvalid = "urn:holdpoint:problem:token-invalid";
    /// Too many wrong keys or tokens came from this address.
    TooManyWrongKeys = "urn:holdpoint:problem:too-many-wrong-keys";
    /// The identity does not have the role that this needs.
    RoleRequired = "urn:holdpoint:problem:role-required";
    /// The login of the program that embeds the server refused the request.
    Unauthenticated = "urn:holdpoint:problem:unauthenticated";
    /// There is no such chat, call, approval request or page, or it belongs to another subject.
    NotFound = "urn:holdpoint:problem:not-found";
    /// The path does not support this method.
    MethodNotAllowed = "urn:holdpoint:problem:method-not-allowed";
    /// The endpoint is a WebSocket, and the request is not a handshake.
    UpgradeRequired = "urn:holdpoint:problem:upgrade-required";
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
    /// A field or parameter is invalid.
    Invalid = "urn:holdpoint:problem:invalid";
    /// The request conflicts with the state of the chat.
    Conflict = "urn:holdpoint:problem:conflict";
    /// A different decision or result is already in force.
    ContradictsDecision = "urn:holdpoint:problem:contradicts-decision";
    /// The tool's approval policy leaves the decision to others.
    NotAnApprover = "urn:holdpoint:problem:not-an-approver";
    /// The tool does not allow this kind of decision.
    DecisionNotAllowed = "urn:holdpoint:problem:decision-not-allowed";
    /// The call is waiting for approval.
    ApprovalRequired = "urn:holdpoint:problem:approval-required";
    /// The hold expired, was superseded, stopped or interrupted.
    TooLate = "urn:holdpoint:problem:too-late";
    /// The server has no API keys and serves its own machine only.
    ForeignHost = "urn:holdpoint:problem:foreign-host";
    /// Pages of this origin may not use the server.
    ForeignOrigin = "urn:holdpoint:problem:foreign-origin";
    /// Any page can send this content type without a preflight request.
    UnsupportedContentType = "urn:holdpoint:problem:unsupported-content-type";
    /// The body did not arrive in time.
    TooSlow = "urn:holdpoint:problem:too-slow";
    /// Too many connections have a request in progress.
    TooManyConnections = "urn:holdpoint:problem:too-many-connections";
    /// Too many requests per second by the subject or from its address.
    TooManyRequests = "urn:holdpoint:problem:too-many-requests";
    /// Too many turns are running, for the subject or in total.
    TooManyTurns = "urn:holdpoint:problem:too-many-turns";
    /// The subject has too many chats in which something waits or runs.
    TooManyOpenChats = "urn:holdpoint:problem:too-many-open-chats";
    /// The owner of the chat has too many grants in force.
    TooManyGrants = "urn:holdpoint:problem:too-many-grants";
    /// The subject has too many chats.
    TooManyChats = "urn:holdpoint:problem:too-many-chats";
    /// The chats of the subject have reached their size limit in total.
    StorageFull = "urn:holdpoint:problem:storage-full";
    /// The chat has reached its size limit.
    ChatFull = "urn:holdpoint:problem:chat-full";
    /// Too many bytes are in flight or in memory.
    Busy = "urn:holdpoint:problem:busy";
    /// The subject has too many streams open.
    TooManyStreams = "urn:holdpoint:problem:too-many-streams";
    /// The stored chat can't be decoded.
    Unreadable = "urn:holdpoint:problem:unreadable";
    /// The server can't do this right now.
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

/// The body of every error, except on the chat endpoints, which respond with one sentence of plain text.
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

    #[test]
    fn a_uri_ends_with_the_name_of_its_kind_in_kebab_case() {
        for kind in ProblemKind::ALL {
            let mut name = String::new();
            for letter in format!("{kind:?}").chars() {
                if letter.is_uppercase() && !name.is_empty() {
                    name.push('-');
                }
                name.extend(letter.to_lowercase());
            }
            assert_eq!(kind.uri(), format!("urn:holdpoint:problem:{name}"));
        }
    }
}
