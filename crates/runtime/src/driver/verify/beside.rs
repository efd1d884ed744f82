//! What is stored beside the facts of a chat: the rows of its holds, those who may decide, its head, and the revocations of
//! its grants.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_protocol::ids::ToolCallId;

use super::{
    Finding, LineChange,
    lines::revocations,
    walk::{ChatWalk, Findings, Fold},
};
use crate::{
    approvers::Approver,
    driver::{
        head::{Awaited, HeadData, Hold},
        mend::hold_rows,
    },
    log::{AuditEntry, Head, HoldApprover, HoldRow, LogError, REVOCATION, Stored},
};

impl ChatWalk<'_> {
    /// Compares what is beside the facts of a chat of this length. Returns `false` if it has grown meanwhile: then nothing was
    /// compared.
    pub(super) async fn beside(&mut self, len: u64) -> Result<bool, LogError> {
        let rows = hold_rows(self.log, self.chat).await?;
        let approvers = self.log.approvers(self.chat).await?;
        let head = match self.log.stored(self.chat).await? {
            Some(Stored::Chat { len: now, head, .. }) if now == len => head,
            // Its lines can't be told from those that came since.
            Some(Stored::Chat { .. }) => return Ok(false),
            Some(Stored::Tombstone { .. }) | None => return Ok(true),
        };
        if let Some(fold) = &self.fold {
            compare_holds(fold, rows, approvers, &mut self.findings);
            if let Some(what) = head_differs(fold, &head) {
                self.findings.add(Finding::Head(what));
            }
        }
        while let Some(line) = self.lines.next_before(u64::MAX, len).await? {
            self.findings.line(line.position, LineChange::Added);
        }
        self.revocations().await?;
        Ok(true)
    }

    /// Each revocation is of a grant that was made where it says.
    pub(super) async fn revocations(&mut self) -> Result<(), LogError> {
        for line in revocations(self.log, self.chat).await? {
            let made_at = line.position - REVOCATION;
            let is_of = |line: &AuditEntry| {
                let made = self.granted.iter().find(|made| made.position == made_at && made.revocation == line.data)?;
                Some(made.owner == line.owner && made.tool == line.tool && line.contents.is_none())
            };
            if is_of(&line) != Some(true) {
                self.findings.line(made_at, LineChange::Added);
            }
        }
        Ok(())
    }
}

fn compare_holds(fold: &Fold, rows: Vec<HoldRow>, approvers: Vec<HoldApprover>, findings: &mut Findings) {
    let mut rows: BTreeMap<ToolCallId, HoldRow> = rows.into_iter().map(|row| (row.call.clone(), row)).collect();
    let mut named: BTreeMap<ToolCallId, Vec<Option<Approver>>> = BTreeMap::new();
    for (call, approver) in approvers {
        named.entry(call).or_default().push(approver);
    }
    for hold in Hold::of(&fold.state) {
        if !rows.remove(&hold.call).is_some_and(|row| hold.is_stored_as(&row)) {
            findings.add(Finding::Hold { call: hold.call.clone() });
        }
        let stored: BTreeSet<_> = named.remove(&hold.call).unwrap_or_default().into_iter().collect();
        let wanted: BTreeSet<_> = hold.others().cloned().map(Some).collect();
        if stored != wanted {
            findings.add(Finding::Approvers { call: hold.call });
        }
    }
    rows.into_keys().for_each(|call| findings.add(Finding::Hold { call }));
    named.into_keys().for_each(|call| findings.add(Finding::Approvers { call }));
}

/// What in a head is not what the facts say. The time of the last change, where a start begins to read, and the size, are not
/// compared.
fn head_differs(fold: &Fold, head: &Head) -> Option<&'static str> {
    let Fold { state, title, .. } = fold;
    let Ok(data) = HeadData::read(head) else { return Some("it can't be decoded") };
    let open = Hold::of(state);
    let holds = open.len();
    if Some(&head.subject) != state.subject.as_ref() {
        Some("the owner")
    } else if data.title != *title {
        Some("the title")
    } else if data.holds != holds || data.is_running != state.is_running() {
        Some("what waits or runs")
    } else if data.awaited != Awaited::of(&open) {
        Some("whom it waits for")
    } else if head.is_open != (holds > 0 || state.is_running()) {
        Some("whether anything waits or runs")
    } else {
        None
    }
}
