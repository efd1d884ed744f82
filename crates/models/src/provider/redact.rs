//! Error texts of a provider: no keys, and bounded.

use holdpoint_core::redact::Mask;

/// Longest text for the log, in characters.
const MAX_CHARS: usize = 2000;

/// The text without secrets, cut to what a log needs. Cut last: half a key would not be recognised.
pub(super) fn clean(text: &str, mask: &Mask) -> String {
    let text = mask.hide(text);
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_after_it_was_cleaned() {
        let long = format!("{}Very+Secret", "é".repeat(MAX_CHARS - 1));
        let clean = clean(&long, &Mask::of_provider([Some("Very+Secret")]));
        assert_eq!(clean.chars().count(), MAX_CHARS + 1);
        assert!(!clean.contains("Very"), "{clean}");
    }
}
