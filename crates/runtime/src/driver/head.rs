//! The head of a chat: what lists, the inbox and a restarted server know of it without reading it.

use bytes::Bytes;
use holdpoint_protocol::ids::{ApprovalId, ToolCallId};
use serde::{Deserialize, Serialize};

use crate::{clock::Timestamp, log, subject::Subject, turn::ChatState};

/// A call that waits for somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The call.
    pub call: ToolCallId,
    /// The tool.
    pub name: Box<str>,
    /// The input that was shown, as JSON text: there can be very many holds.
    pub input: Box<str>,
    /// The question to a person, if it waits for one.
    pub question: Option<HoldQuestion>,
    /// When it began to wait; older heads do not say.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// When its time is up.
    pub deadline: Option<Timestamp>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldQuestion {
    /// Its id.
    pub approval: ApprovalId,
    /// Why it is asked.
    pub reason: Box<str>,
    /// When it was asked.
    pub asked_at: Timestamp,
}

/// The runtime's part of a [`log::Head`]. Strict to read: what was damaged on disk must not pass for a head without holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct HeadData {
    /// The beginning of the first thing that the user said.
    pub(super) title: String,
    /// Whether the server itself was doing something.
    pub(super) is_running: bool,
    pub(super) holds: Vec<Hold>,
}

/// Why a head can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeadError {
    #[error("its checksum is not that of what it says")]
    Sum,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The last field of a head: a checksum of what stands before it.
const SUM_KEY: &[u8] = b",\"sum\":\"";
const SUM_LEN: usize = SUM_KEY.len() + 16 + 2;

fn sum_of(fields: &[u8]) -> [u8; SUM_LEN] {
    // FNV-1a: against bits that flip, not against people.
    let hash = fields
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    let mut sum = [0; SUM_LEN];
    sum[..SUM_KEY.len()].copy_from_slice(SUM_KEY);
    sum[SUM_KEY.len()..].copy_from_slice(format!("{hash:016x}\"}}").as_bytes());
    sum
}

impl HeadData {
    pub(super) fn of(state: &ChatState, title: &str) -> Self {
        let holds = state.open_calls().filter(|(_, call)| call.is_held()).map(|(id, call)| Hold {
            call: id.clone(),
            name: call.name.as_str().into(),
            input: call.input.to_string().into(),
            question: call.question.as_ref().filter(|question| question.answer.is_none()).map(|question| {
                HoldQuestion {
                    approval: question.approval.clone(),
                    reason: question.reason.as_str().into(),
                    asked_at: question.asked_at,
                }
            }),
            since: call.since(),
            deadline: call.deadline(),
        });
        Self { title: title.to_owned(), is_running: state.is_running(), holds: holds.collect() }
    }

    pub(super) fn read(head: &log::Head) -> Result<Self, HeadError> {
        let data = match head.data.split_last_chunk::<SUM_LEN>() {
            Some((fields, sum)) if sum.starts_with(SUM_KEY) => {
                if *sum != sum_of(fields) {
                    return Err(HeadError::Sum);
                }
                [fields, b"}"].concat()
            }
            // Heads of earlier versions have no sum.
            _ => head.data.to_vec(),
        };
        Ok(serde_json::from_slice(&data)?)
    }

    pub(super) fn write(&self, subject: &Subject, now: Timestamp) -> log::Head {
        let mut data = serde_json::to_vec(self).unwrap_or_default();
        data.pop();
        let sum = sum_of(&data);
        data.extend_from_slice(&sum);
        let data = Bytes::from(data);
        let is_open = self.is_running || !self.holds.is_empty();
        log::Head { subject: subject.clone(), is_open, updated_at: now, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> (HeadData, log::Head) {
        let question = HoldQuestion { approval: "a".into(), reason: "why".into(), asked_at: Timestamp(5) };
        let hold = Hold {
            call: "c".into(),
            name: "pay".into(),
            input: r#"{"x":"\\"}"#.into(),
            question: Some(question),
            deadline: Some(Timestamp(9)),
            since: Some(Timestamp(5)),
        };
        let data = HeadData { title: "send 50 \u{1f600}".into(), is_running: true, holds: vec![hold] };
        let head = data.write(&Subject::local(), Timestamp(7));
        (data, head)
    }

    #[test]
    fn a_head_is_json_and_comes_back() {
        let (data, head) = head();
        assert_eq!(HeadData::read(&head).ok(), Some(data.clone()));
        let json: serde_json::Value = serde_json::from_slice(&head.data).expect("people may look at it");
        assert_eq!(json["title"], data.title);
        let earlier = log::Head { data: serde_json::to_vec(&data).expect("JSON").into(), ..head };
        assert_eq!(HeadData::read(&earlier).ok(), Some(data), "written before there were sums");
    }

    /// Every byte, every bit: none of them makes another head of it, let alone an empty one.
    #[test]
    fn no_flipped_bit_goes_unseen() {
        let (_, head) = head();
        for at in 0..head.data.len() {
            for bit in 0..8 {
                let mut data = head.data.to_vec();
                data[at] ^= 1 << bit;
                let flipped = log::Head { data: data.into(), ..head.clone() };
                assert!(HeadData::read(&flipped).is_err(), "byte {at}, bit {bit}");
            }
        }
        for len in 0..head.data.len() {
            let cut = log::Head { data: head.data.slice(..len), ..head.clone() };
            assert!(HeadData::read(&cut).is_err(), "cut to {len} bytes");
        }
        for text in ["", "{\"", "{}", "null", r#"{"title":"","isRunning":false}"#] {
            let other = log::Head { data: Bytes::from_static(text.as_bytes()), ..head.clone() };
            assert!(HeadData::read(&other).is_err(), "{text}");
        }
    }
}
