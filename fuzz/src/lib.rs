//! Helpers shared by the fuzz targets.

/// Ways to split an input: whole, byte by byte, and into pieces of up to 24 bytes, some empty. The pieces follow from
/// the input itself, so that a finding is reproducible and a seed can be a plain capture.
pub fn cuts(input: &[u8]) -> [Vec<&[u8]>; 3] {
    let mut state = hash(input) | 1;
    let mut rest = input;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        // xorshift
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (piece, after) = rest.split_at(rest.len().min((state % 25) as usize));
        pieces.push(piece);
        rest = after;
    }
    [vec![input], input.chunks(1).collect(), pieces]
}

/// FNV-1a: a number derived from the input.
pub fn hash(input: &[u8]) -> u64 {
    input.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
