//! The head of a chat: its summary for lists, the inbox and a restart, readable without its facts.

use bytes::Bytes;
use holdpoint_protocol::ids::{ApprovalId, ToolCallId};
use serde::{Deserialize, Serialize};

use crate::{clock::Timestamp, log, subject::Subject, turn::ChatState};

/// A call that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Hold {
    /// The call.
    pub call: ToolCallId,
    /// The tool.
    pub name: Box<str>,
    /// The input that was shown, as JSON text to save memory: there can be very many holds.
    pub input: Box<str>,
    /// The approval request, if it waits for a decision.
    #[serde(rename = "question")]
    pub request: Option<HoldApproval>,
    /// When the wait began. Older heads lack it.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// The deadline.
    pub deadline: Option<Timestamp>,
}

/// An approval request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HoldApproval {
    /// Its id.
    pub approval: ApprovalId,
    /// Why it is made.
    pub reason: Box<str>,
    /// When it was made.
    pub asked_at: Timestamp,
}

/// The runtime's part of a [`log::Head`]. Reading is strict: a damaged head must not pass for one without holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct HeadData {
    /// The beginning of the first user message.
    pub(super) title: String,
    /// Whether something was running on the server.
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

/// The last field of a head: a checksum of everything before it.
const SUM_KEY: &[u8] = b",\"sum\":\"";
const SUM_LEN: usize = SUM_KEY.len() + 16 + 2;

fn sum_of(fields: &[u8]) -> [u8; SUM_LEN] {
    // FNV-1a: it detects flipped bits, not tampering.
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
            request: call.request.as_ref().filter(|request| request.answer.is_none()).map(|request| HoldApproval {
                approval: request.approval.clone(),
                reason: request.reason.as_str().into(),
                asked_at: request.asked_at,
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
            // Heads of earlier versions have no checksum.
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
        let request = HoldApproval { approval: "a".into(), reason: "why".into(), asked_at: Timestamp(5) };
        let hold = Hold {
            call: "c".into(),
            name: "pay".into(),
            input: r#"{"x":"\\"}"#.into(),
            request: Some(request),
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
        assert_eq!(json["holds"][0]["question"]["approval"], "a", "the name in stored heads");
        let earlier = log::Head { data: serde_json::to_vec(&data).expect("JSON").into(), ..head };
        assert_eq!(HeadData::read(&earlier).ok(), Some(data), "written before there were sums");
    }

    /// No flipped bit turns a head into another valid one, let alone an empty one.
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
