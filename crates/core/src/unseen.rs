//! Characters that nobody sees, or that change how their neighbours are shown.
//!
//! People decide by texts that others wrote. What is hidden in a text can deceive them, and can tell a model something
//! that they do not see. The console has the same rule (`apps/web/src/text/runs.ts`).

use std::sync::LazyLock;

use regex::Regex;

/// Control, format, private and unassigned characters, everything that Unicode ignores by default (tags, variation
/// selectors, fillers), separators of lines, and symbols that are blank or stand for something that is lost. Not the signs
/// that Arabic and Syriac write before a number, which are seen.
static UNSEEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\x{2800}\x{FFFC}\x{FFFD}\x{1D159}]--[\x{600}-\x{605}\x{6DD}\x{70F}\x{890}\x{891}\x{8E2}\x{110BD}\x{110CD}]]",
    )
});
static PICTOGRAPH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\p{Extended_Pictographic}"));

/// Whether a character is not seen, or changes how others are shown.
pub fn is_unseen(char: char) -> bool {
    match char {
        ' '..='~' => false,
        _ => UNSEEN.is_match(char.encode_utf8(&mut [0; 4])),
    }
}

/// Whether a character only chooses the form of the pictograph before it.
pub fn is_form_of(char: char, before: Option<char>) -> bool {
    matches!(char, '\u{fe0e}' | '\u{fe0f}')
        && before.is_some_and(|before| PICTOGRAPH.is_match(before.encode_utf8(&mut [0; 4])))
}

#[allow(clippy::expect_used, reason = "the patterns are constants, and every one is compiled in the tests")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern")
}
