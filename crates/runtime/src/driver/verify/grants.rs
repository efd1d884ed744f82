//! Grants: what the table says of each must be what the record says.

use std::collections::BTreeMap;

use holdpoint_protocol::{
    audit::AuditStep,
    ids::{ChatId, GrantId},
};
use serde::{Deserialize, Serialize};

use super::Finding;
use crate::{
    clock::Timestamp,
    driver::{audit, grants::has_terms},
    log::{AuditEntry, AuditQuery, GrantQuery, LogError, Store, Stored, StoredGrant},
    subject::Subject,
};

/// How many grants are compared at a time. For each of these pages the record is read once.
const GRANTS: usize = 1000;
/// The number of lines per read.
const LINES: usize = 1000;
/// How often grants that are used meanwhile are looked at again.
const MAX_ATTEMPTS: usize = 5;

/// A grant at some time. Kept elsewhere, it shows later whether its revocation or uses of it were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantAnchor {
    /// The grant.
    pub grant: GrantId,
    /// The only chat that it was for. With the chat, it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatId>,
    /// How often it had been used.
    pub used: u64,
    /// Whether it had been revoked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
}

impl GrantAnchor {
    fn of(grant: &StoredGrant) -> Self {
        let (used, revoked) = (grant.used, grant.revoked.is_some());
        Self { grant: grant.id.clone(), chat: grant.chat.clone(), used, revoked }
    }

    /// What has become of it that can't have.
    pub async fn verify(&self, log: &dyn Store) -> Result<Option<Finding>, LogError> {
        let found = |what| Some(Finding::Grant { grant: self.grant.clone(), what });
        let now = log.grants(GrantQuery::One(self.grant.clone()), 1).await?;
        Ok(match now.first() {
            Some(now) if self.revoked && now.revoked.is_none() => found("it had been revoked, and is not any more"),
            Some(now) if now.used < self.used => found("it had been used more often"),
            Some(_) => None,
            None => match &self.chat {
                // It went with its chat, which may have been begun again since.
                Some(chat) if was_deleted(log, chat).await? => None,
                _ => found("it is gone"),
            },
        })
    }
}

async fn was_deleted(log: &dyn Store, chat: &ChatId) -> Result<bool, LogError> {
    Ok(match log.stored(chat).await? {
        Some(Stored::Tombstone { .. }) => true,
        Some(Stored::Chat { .. }) => log.read(chat, 0, 1).await?.first().is_some_and(|first| first.first > 0),
        None => false,
    })
}

/// What the record says of a grant.
#[derive(Default)]
struct Told {
    made: Option<Made>,
    used: u64,
    last_used_at: Option<Timestamp>,
    revoked: Option<(Timestamp, Subject)>,
}

/// Who made a grant, and what it is for.
struct Made {
    chat: ChatId,
    position: u64,
    owner: Subject,
    tool: Box<str>,
    by: Option<Subject>,
    at: Timestamp,
    /// The hash of its terms.
    terms: Option<String>,
}

impl Told {
    fn add(&mut self, line: &AuditEntry, step: AuditStep, terms: Option<String>) {
        match step {
            AuditStep::Granted => {
                let (owner, tool, by) = (line.owner.clone(), line.tool.clone(), line.by.clone());
                let (chat, position) = (line.chat.clone(), line.position);
                self.made = Some(Made { chat, position, owner, tool, by, at: line.at, terms });
            }
            AuditStep::Used => {
                self.used += 1;
                self.last_used_at = self.last_used_at.max(Some(line.at));
            }
            AuditStep::Revoked => self.revoked = line.by.clone().map(|by| (line.at, by)),
            _ => {}
        }
    }

    fn differs(&self, grant: &StoredGrant) -> Option<&'static str> {
        let Some(Made { chat, position, owner, tool, by, at, terms }) = &self.made else {
            return Some("no line of the record made it");
        };
        if (owner, tool, by.as_ref(), *at) != (&grant.subject, &grant.tool, Some(&grant.maker), grant.made_at) {
            Some("who made it, when, and for what tool and whom is not what the record says")
        } else if (Some(chat), *position) != (grant.made_in.as_ref(), grant.position) {
            Some("where it was made is not what the record says")
        } else if grant.chat.as_ref().is_some_and(|only| only != chat) {
            Some("it is for another chat than the one that it was made in")
        } else if !terms.as_ref().is_some_and(|terms| has_terms(grant, terms)) {
            Some("its terms are not those that were approved")
        } else if self.revoked != grant.revoked {
            Some("its revocation is not what the record says")
        } else if (self.used, self.last_used_at) != (grant.used, grant.last_used_at) {
            Some("its uses are not those that the record has")
        } else {
            None
        }
    }
}

/// Compares all grants with the record, also while they are used. Calls `report` for each finding, and `save` with what can be
/// kept of each grant. Returns their number.
///
/// A grant that is missing is no finding: nothing can run on it.
pub async fn verify_grants(
    log: &dyn Store,
    report: &mut (dyn FnMut(Finding) + Send),
    save: &mut (dyn FnMut(GrantAnchor) + Send),
) -> Result<u64, LogError> {
    let (mut after, mut count) = (None, 0);
    loop {
        let mut page = log.grants(GrantQuery::List { of: None, after: after.clone() }, GRANTS).await?;
        let Some(last) = page.last() else { return Ok(count) };
        after = Some((last.made_at, last.id.clone()));
        count += page.len() as u64;
        page.iter().for_each(|grant| save(GrantAnchor::of(grant)));
        for attempt in 1.. {
            let told = told(log, &page).await?;
            let mut again = Vec::new();
            for grant in page {
                let Some(what) = told.get(&grant.id).and_then(|told| told.differs(&grant)) else { continue };
                // It may have been used, or revoked, between the two reads.
                let now = log.grants(GrantQuery::One(grant.id.clone()), 1).await?.into_iter().next();
                match now {
                    // It was deleted with its chat.
                    None => {}
                    Some(now) if now != grant && attempt < MAX_ATTEMPTS => again.push(now),
                    Some(_) => report(Finding::Grant { grant: grant.id, what }),
                }
            }
            if again.is_empty() {
                break;
            }
            page = again;
        }
    }
}

/// What the record says of these grants.
async fn told(log: &dyn Store, grants: &[StoredGrant]) -> Result<BTreeMap<GrantId, Told>, LogError> {
    let mut told: BTreeMap<_, _> = grants.iter().map(|grant| (grant.id.clone(), Told::default())).collect();
    let mut query = AuditQuery::default();
    loop {
        let lines = log.audit(query.clone(), LINES).await?;
        let Some(last) = lines.last() else { return Ok(told) };
        query.after = Some((last.at, last.chat.clone(), last.position));
        for line in &lines {
            if let Some((step, grant, terms)) = audit::of_grant(line)
                && let Some(told) = told.get_mut(&grant)
            {
                told.add(line, step, terms);
            }
        }
    }
}
