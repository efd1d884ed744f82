//! Id newtypes, so that a call's id can't be passed where a chat's belongs.
//!
//! Strict to make (`new` rejects the empty string), lenient to read: a peer's id is kept as it is.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The error for an empty id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id must not be empty")]
pub struct EmptyId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "string"))]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes an id. Rejects the empty string.
            pub fn new(id: impl Into<Arc<str>>) -> Result<Self, EmptyId> {
                let id = id.into();
                if id.is_empty() { Err(EmptyId) } else { Ok(Self(id)) }
            }

            /// The id as written on the wire.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        /// Accepts a peer's id as it is, empty or not.
        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }
                    fn visit_str<E>(self, id: &str) -> Result<$name, E> {
                        Ok($name(id.into()))
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    )*};
}

ids! {
    /// One conversation.
    ChatId;
    /// One message of a chat.
    MessageId;
    /// A text, reasoning, source, data or steering part inside a message.
    PartId;
    /// One call of a tool.
    ToolCallId;
    /// One approval request.
    ApprovalId;
    /// One grant.
    GrantId;
    /// One request on the SDK's WebSocket.
    RequestId;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_to_make_lenient_to_read() {
        assert_eq!(ChatId::new(""), Err(EmptyId));
        let read: ChatId = serde_json::from_str("\"\"").expect("an empty id can be read");
        assert_eq!(read.as_str(), "");
        assert!(serde_json::from_str::<ChatId>("5").is_err());
    }
}
