//! JSON with a checksum as its last field, so that damaged data does not pass for other data.

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

/// Why stored JSON can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum SealError {
    #[error("its checksum is not that of what it says")]
    Sum,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// The last field: a checksum of everything before it.
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

/// The JSON of a struct with at least one field.
pub(super) fn seal<T: Serialize>(value: &T) -> Bytes {
    let mut data = serde_json::to_vec(value).unwrap_or_default();
    data.pop();
    let sum = sum_of(&data);
    data.extend_from_slice(&sum);
    Bytes::from(data)
}

/// Reads what [`seal`] has written.
pub(super) fn unseal<T: DeserializeOwned>(data: &[u8]) -> Result<T, SealError> {
    match data.split_last_chunk::<SUM_LEN>() {
        Some((fields, sum)) if *sum == sum_of(fields) => Ok(serde_json::from_slice(&[fields, b"}"].concat())?),
        _ => Err(SealError::Sum),
    }
}
