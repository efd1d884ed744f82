//! The limits that a request can exceed.

/// The limits that a request can exceed, by which rejections are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Limit {
    Body,
    Depth,
    Nodes,
    Streams,
    Turns,
    OpenChats,
    ChatSize,
    Storage,
    BytesInFlight,
    BodyTime,
    Connections,
    Requests,
    WrongKeys,
}

impl Limit {
    /// All limits.
    pub(crate) const ALL: &[Self] = &[
        Self::Body,
        Self::Depth,
        Self::Nodes,
        Self::Streams,
        Self::Turns,
        Self::OpenChats,
        Self::ChatSize,
        Self::Storage,
        Self::BytesInFlight,
        Self::BodyTime,
        Self::Connections,
        Self::Requests,
        Self::WrongKeys,
    ];

    /// Its name in the metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Depth => "depth",
            Self::Nodes => "nodes",
            Self::Streams => "streams",
            Self::Turns => "turns",
            Self::OpenChats => "open_chats",
            Self::ChatSize => "chat_size",
            Self::Storage => "storage",
            Self::BytesInFlight => "bytes_in_flight",
            Self::BodyTime => "body_time",
            Self::Connections => "connections",
            Self::Requests => "requests",
            Self::WrongKeys => "wrong_keys",
        }
    }
}
