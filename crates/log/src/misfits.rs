//! Rows that do not fit to those that they belong to. What tables say twice, they must say alike; what follows from the facts
//! is compared by `verify`.

use holdpoint_protocol::ids::ChatId;

/// Rows that only something else than this program can have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The table.
    pub table: &'static str,
    /// What is wrong with the rows.
    pub what: &'static str,
    /// The chat that they name, unless there is none.
    pub chat: Option<ChatId>,
    /// How many they are.
    pub rows: u64,
}

/// A check of one table.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) struct Check {
    pub(super) table: &'static str,
    pub(super) what: &'static str,
    /// A statement that gives the id of a chat, or null, and a number of rows. It is one that SQLite and PostgreSQL both
    /// understand; `@.` stands for the schema. Each sees one moment, so an append is in all tables or in none.
    pub(super) sql: &'static str,
}

/// The most chats that are named for each check.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
macro_rules! most {
    () => {
        " GROUP BY chats.id ORDER BY chats.id LIMIT 100"
    };
}

/// The check of a table whose rows go with their chat.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
macro_rules! belongs {
    ($table:literal) => {
        Check {
            table: $table,
            what: "it belongs to no chat, or to a deleted one",
            sql: concat!(
                "SELECT chats.id, count(*) FROM @.",
                $table,
                " AS these LEFT JOIN @.chats AS chats ON number = these.chat
                 WHERE these.chat IS NOT NULL AND (number IS NULL OR deleted_at IS NOT NULL)",
                most!()
            ),
        }
    };
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(super) const CHECKS: &[Check] = &[
    belongs!("batches"),
    belongs!("digests"),
    belongs!("keys"),
    belongs!("holds"),
    belongs!("approvers"),
    belongs!("grants"),
    Check {
        table: "audit",
        what: "it belongs to no chat",
        sql: concat!(
            "SELECT chats.id, count(*) FROM @.audit AS these LEFT JOIN @.chats AS chats ON number = these.chat
             WHERE number IS NULL",
            most!()
        ),
    },
    Check {
        table: "holds",
        what: "it is listed for another owner than its chat's",
        sql: concat!(
            "SELECT chats.id, count(*) FROM @.holds AS these JOIN @.chats AS chats ON number = these.chat
             WHERE these.subject <> chats.subject",
            most!()
        ),
    },
    Check {
        table: "approvers",
        what: "it is listed for no hold, or at another time",
        sql: concat!(
            "SELECT chats.id, count(*) FROM @.approvers AS these JOIN @.chats AS chats ON number = these.chat
             LEFT JOIN @.holds AS holds ON holds.chat = these.chat AND holds.call = these.call
             WHERE holds.since IS NULL OR holds.since <> these.since",
            most!()
        ),
    },
    Check {
        table: "grants",
        what: "it says by whom it was revoked, or when, but not both",
        sql: concat!(
            "SELECT chats.id, count(*) FROM @.grants AS these LEFT JOIN @.chats AS chats ON number = these.made_in
             WHERE (revoked_at IS NULL) <> (revoked_by IS NULL)",
            most!()
        ),
    },
    Check {
        table: "chats",
        what: "it is another node's than its last facts say",
        sql: concat!(
            "SELECT chats.id, count(*) FROM @.chats AS chats
             WHERE deleted_at IS NULL AND chats.owner IS DISTINCT FROM
                 (SELECT last.owner FROM @.batches AS last WHERE last.chat = chats.number ORDER BY last.first DESC LIMIT 1)",
            most!()
        ),
    },
    Check {
        table: "chats",
        what: "it is deleted, and says that it is not",
        sql: concat!(
            "SELECT chats.id, count(*) FROM @.chats AS chats
             WHERE deleted_at IS NOT NULL AND (is_open OR owner IS NOT NULL OR length(head) > 0)",
            most!()
        ),
    },
];
