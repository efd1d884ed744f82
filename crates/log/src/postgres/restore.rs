//! The rows of holds, written anew.

use holdpoint_protocol::ids::ChatId;
use tokio_postgres::types::Type;

use super::{connection::Sql, error::Failure, pool::Pool, reader};
use crate::HoldChanges;

/// One statement, so it is a transaction of its own. An append locks the chat too: whoever comes second finds another length.
const RESTORE: Sql = Sql {
    text: "WITH this AS (
               SELECT number, subject FROM @.chats WHERE id = $1 AND len = $2 AND deleted_at IS NULL FOR UPDATE
           ),
           ended AS (
               DELETE FROM @.holds AS old USING this WHERE old.chat = this.number AND old.call <> ALL ($3)
           ),
           begun AS (
               INSERT INTO @.holds (chat, call, subject, tool, approval, since, due_at, data)
               SELECT this.number, new.call, this.subject, new.tool, new.approval, new.since, new.due_at, new.data
               FROM this, unnest($3, $4, $5, $6, $7, $8) AS new (call, tool, approval, since, due_at, data)
               ON CONFLICT (chat, call) DO UPDATE
               SET subject = excluded.subject, tool = excluded.tool, approval = excluded.approval,
                   since = excluded.since, due_at = excluded.due_at, data = excluded.data
           ),
           unnamed AS (
               DELETE FROM @.approvers AS old USING this
               WHERE old.chat = this.number AND NOT EXISTS (
                   SELECT 1 FROM unnest($9, $10, $11) AS new (call, kind, name)
                   WHERE new.call = old.call AND new.kind = old.kind AND new.name = old.name
               )
           ),
           named AS (
               INSERT INTO @.approvers (chat, call, kind, name, since)
               SELECT DISTINCT this.number, new.call, new.kind, new.name, hold.since
               FROM this, unnest($9, $10, $11) AS new (call, kind, name), unnest($3, $6) AS hold (call, since)
               WHERE hold.call = new.call
               ON CONFLICT (chat, call, kind, name) DO UPDATE SET since = excluded.since
           )
           SELECT 1 FROM this",
    types: &[
        Type::BYTEA,
        Type::INT8,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::INT8_ARRAY,
        Type::INT8_ARRAY,
        Type::BYTEA_ARRAY,
        Type::BYTEA_ARRAY,
        Type::TEXT_ARRAY,
        Type::BYTEA_ARRAY,
    ],
};

/// See [`crate::Index::restore_holds`].
pub(super) async fn holds(pool: &Pool, chat: &ChatId, expected: u64, holds: &HoldChanges) -> Result<bool, Failure> {
    let HoldChanges { opened, approvers, .. } = holds;
    let calls: Vec<&[u8]> = opened.iter().map(|hold| hold.call.as_str().as_bytes()).collect();
    let tools: Vec<&[u8]> = opened.iter().map(|hold| hold.tool.as_bytes()).collect();
    let approvals: Vec<Option<&[u8]>> =
        opened.iter().map(|hold| hold.approval.as_ref().map(|approval| approval.as_str().as_bytes())).collect();
    let since: Vec<i64> = opened.iter().map(|hold| reader::number(hold.since.0)).collect();
    let due: Vec<Option<i64>> = opened.iter().map(|hold| hold.due_at.map(|due_at| reader::number(due_at.0))).collect();
    let data: Vec<&[u8]> = opened.iter().map(|hold| &hold.data[..]).collect();
    let of: Vec<&[u8]> = approvers.iter().map(|(call, _)| call.as_str().as_bytes()).collect();
    let kinds: Vec<&str> = approvers.iter().map(|(_, approver)| approver.parts().0).collect();
    let names: Vec<&[u8]> = approvers.iter().map(|(_, approver)| approver.parts().1.as_bytes()).collect();
    let (id, len) = (chat.as_str().as_bytes(), reader::number(expected));
    let restored =
        pool.run(RESTORE, &[&id, &len, &calls, &tools, &approvals, &since, &due, &data, &of, &kinds, &names]).await?;
    Ok(!restored.is_empty())
}
