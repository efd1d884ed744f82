//! Names of people: every spelling of one name becomes the same text, and what could pass for another name is refused.
//!
//! A quorum counts different names, and `exclude_self` compares them. Names that look alike but differ would make two
//! people out of one.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

/// The longest name, in bytes: as long as an id may be.
const MAX_NAME_BYTES: usize = 256;

/// Why a text cannot name a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing.
    #[error("it is empty")]
    Empty,
    /// Longer than a name may be.
    #[error("it is longer than {MAX_NAME_BYTES} bytes")]
    TooLong,
    /// A space at the beginning or the end, two in a row, or one that is not U+0020.
    #[error("it has a space at the beginning or the end, several in a row, or one that is not a plain space")]
    Space,
    /// A control character, or one that shows nothing.
    #[error("it has a character that can't be seen, {}", .0.escape_unicode())]
    Invisible(char),
    /// Beyond ASCII only letters and their marks can be in a name.
    #[error("it has the character {}, which can't be in a name: beyond ASCII, only letters can", .0.escape_unicode())]
    NotALetter(char),
    /// The same mark twice, or one without a letter.
    #[error("it has the mark {} where it can't be told from another name", .0.escape_unicode())]
    Mark(char),
    /// Letters of scripts that are not written together, or of one that is not in general use.
    #[error("its letters are of several scripts, or of one that is not in general use, and can pass for another name")]
    Scripts,
    /// A name of another script that looks like a Latin one.
    #[error("all its letters look like Latin ones, and it can pass for another name")]
    LooksLatin,
}

/// The one spelling of a name.
pub(super) fn normal(name: &str) -> Result<Cow<'_, str>, NameError> {
    match name.len() {
        0 => return Err(NameError::Empty),
        // No normal form is so much shorter.
        length if length > 4 * MAX_NAME_BYTES => return Err(NameError::TooLong),
        _ => {}
    }
    let normal = match name.is_ascii() {
        true if name.bytes().any(|byte| byte.is_ascii_uppercase()) => Cow::Owned(name.to_ascii_lowercase()),
        true => Cow::Borrowed(name),
        false => Cow::Owned(folded(name)),
    };
    if normal.len() > MAX_NAME_BYTES {
        return Err(NameError::TooLong);
    }
    // Of the original text: a normal form of some spaces is a plain one.
    if let Some(space) = name.chars().find(|c| c.is_whitespace() && *c != ' ') {
        return Err(if space.is_control() { NameError::Invisible(space) } else { NameError::Space });
    }
    if normal.starts_with(' ') || normal.ends_with(' ') || normal.contains("  ") {
        return Err(NameError::Space);
    }
    if let Some(found) = name.chars().chain(normal.chars()).find(|c| c.is_control()) {
        return Err(NameError::Invisible(found));
    }
    if !normal.is_ascii() || !name.is_ascii() {
        check_letters(name, &normal)?;
    }
    Ok(normal)
}

/// Other forms of the same letters become one: wide, narrow, in a circle, decomposed, in upper case.
fn folded(name: &str) -> String {
    let lower = |name: String| -> String {
        let mut lower = String::with_capacity(name.len());
        for c in name.chars().flat_map(char::to_lowercase).flat_map(as_its_capitals) {
            match c {
                // It is the same letter, at the end of a word.
                'ς' => lower.push('σ'),
                // The dot of `i` is there already: of the Turkish capital, this remains.
                '\u{307}' if lower.ends_with(['i', 'j']) => {}
                c => lower.push(c),
            }
        }
        lower
    };
    // Some letters get their small form only after the other steps. More than three rounds change nothing (tested).
    (0..3).fold(name.to_owned(), |name, _| lower(name.nfkc().collect()).nfkc().collect())
}

/// Some small letters have capitals that are several letters, as `ß` has `SS`: their name in capitals can't be told from one
/// with these letters.
fn as_its_capitals(c: char) -> impl Iterator<Item = char> {
    let has_several = c.to_uppercase().len() > 1;
    let several = c.to_uppercase().filter(move |_| has_several).flat_map(char::to_lowercase);
    several.chain((!has_several).then_some(c))
}

/// A character that shows nothing: format characters, fillers, variation selectors, and what is not assigned.
static INVISIBLE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]"));
static NEITHER_LETTER_NOR_MARK: LazyLock<Regex> = LazyLock::new(|| pattern(r"[^\x20-\x7e\p{L}\p{M}]"));
/// A mark that follows no letter, or the same one.
static MARK: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:^|[^\p{L}\p{M}])\p{M}"));

/// The scripts in general use, by Unicode's recommendation for identifiers. Those on one line are written together.
const SCRIPTS: [&str; 26] = [
    r"\p{Latin}\p{Han}\p{Hiragana}\p{Katakana}ー",
    r"\p{Latin}\p{Han}\p{Bopomofo}",
    r"\p{Latin}\p{Han}\p{Hangul}",
    r"\p{Arabic}",
    r"\p{Armenian}",
    r"\p{Bengali}",
    r"\p{Cyrillic}",
    r"\p{Devanagari}",
    r"\p{Ethiopic}",
    r"\p{Georgian}",
    r"\p{Greek}",
    r"\p{Gujarati}",
    r"\p{Gurmukhi}",
    r"\p{Hebrew}",
    r"\p{Kannada}",
    r"\p{Khmer}",
    r"\p{Lao}",
    r"\p{Malayalam}",
    r"\p{Myanmar}",
    r"\p{Oriya}",
    r"\p{Sinhala}",
    r"\p{Tamil}",
    r"\p{Telugu}",
    r"\p{Thaana}",
    r"\p{Thai}",
    r"\p{Tibetan}",
];

static ONE_SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    // Characters other than letters, and marks that go with any script, say nothing about it.
    let of = |script: &str| format!(r"[\x20-@\[-`{{-~[\p{{Inherited}}&&\p{{M}}]{script}]*");
    pattern(&format!("^(?:{})$", SCRIPTS.map(of).join("|")))
});

/// Latin letters of phonetic and historic alphabets, some of which look like others. Those that languages are written
/// with are left out.
static PHONETIC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[\x{1C0}-\x{1C3}\x{250}-\x{2AF}\x{1D00}-\x{1DBF}\x{2C60}-\x{2C7F}\x{A720}-\x{A7FF}\x{AB30}-\x{AB6F}&&[^ɓɔɖɗəɛɣɨɲɵʉʋ]]",
    )
});

/// Small letters of other scripts that look like Latin ones.
const LOOKS_LATIN: &str = "асԁеһіјӏорԛѕѵхуԝԍοναικρυχγηωϳօսհոզցյքաոտ";

fn check_letters(name: &str, normal: &str) -> Result<(), NameError> {
    let first = |pattern: &Regex, text: &str| pattern.find(text).and_then(|found| found.as_str().chars().last());
    // Of the original text too: a normal form may have lost them.
    if let Some(found) = first(&INVISIBLE, name).or_else(|| first(&INVISIBLE, normal)) {
        return Err(NameError::Invisible(found));
    }
    if let Some(found) = first(&NEITHER_LETTER_NOR_MARK, normal) {
        return Err(NameError::NotALetter(found));
    }
    if let Some(mark) = first(&MARK, normal).or_else(|| doubled_mark(normal)) {
        return Err(NameError::Mark(mark));
    }
    if !ONE_SCRIPT.is_match(normal) || PHONETIC.is_match(normal) {
        return Err(NameError::Scripts);
    }
    let mut letters = normal.chars().filter(|c| c.is_alphabetic()).peekable();
    let is_other = letters.peek().is_some_and(|c| !c.is_ascii());
    match is_other && letters.all(|c| LOOKS_LATIN.contains(c)) {
        true => Err(NameError::LooksLatin),
        false => Ok(()),
    }
}

/// A mark that is there twice in a row, which looks like once. ASCII has none.
fn doubled_mark(name: &str) -> Option<char> {
    // A letter can have its first mark in itself.
    let pairs = name.nfd().zip(name.nfd().skip(1));
    pairs.filter(|(a, b)| a == b && !a.is_ascii()).map(|(_, b)| b).find(|c| !c.is_alphabetic())
}

#[allow(clippy::expect_used, reason = "the patterns are constants, and every one is compiled in the tests")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_of_a_name_is_one_text() {
        for (spelled, name) in [
            ("bob", "bob"),
            ("BOB", "bob"),
            ("ｂｏｂ", "bob"),
            ("𝐁𝐨𝐛", "bob"),
            ("ⓑob", "bob"),
            ("Jose\u{301}", "josé"),
            ("JOSÉ", "josé"),
            ("İbrahim", "ibrahim"),
            ("I\u{307}brahim", "ibrahim"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
            ("Οδυσσευς", "οδυσσευσ"),
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("STRAẞE", "strasse"),
            ("Եւա", "եւա"),
            ("Եվա և", "եվա եւ"),
            ("ΑΙΔΗΣ", "αιδησ"),
            ("ᾼδης", "αιδησ"),
            ("ᾳδης", "αιδησ"),
            ("\u{212a}evin", "kevin"),
            ("ﬁona", "fiona"),
            ("Иван Петров", "иван петров"),
            ("田中 太郎", "田中 太郎"),
            ("ボブ tanaka", "ボブ tanaka"),
            ("김철수", "김철수"),
            ("राजेश", "राजेश"),
            ("สมชาย", "สมชาย"),
            ("ẹ\u{301}niọlá", "ẹ\u{301}niọlá"),
            ("auth0|5F7c", "auth0|5f7c"),
            ("spiffe://x.example/ns/Prod", "spiffe://x.example/ns/prod"),
            ("O'Brien <o.b+1@x.example>", "o'brien <o.b+1@x.example>"),
            ("{\"a\":1}", "{\"a\":1}"),
        ] {
            assert_eq!(normal(spelled).as_deref(), Ok(name), "{spelled:?}");
        }
    }

    #[test]
    fn what_can_pass_for_another_name_is_refused() {
        use NameError::*;
        for (name, why) in [
            ("", Empty),
            (" bob", Space),
            ("bob ", Space),
            ("bob  smith", Space),
            ("bob\u{a0}smith", Space),
            ("bob\u{3000}smith", Space),
            ("bob\0", Invisible('\0')),
            ("bob\n", Invisible('\n')),
            ("bob\u{85}", Invisible('\u{85}')),
            ("bo\u{200b}b", Invisible('\u{200b}')),
            ("bo\u{ad}b", Invisible('\u{ad}')),
            ("\u{202e}bob", Invisible('\u{202e}')),
            ("bob\u{fe0f}", Invisible('\u{fe0f}')),
            ("bob\u{34f}", Invisible('\u{34f}')),
            ("bob\u{3164}", Invisible('\u{3164}')),
            ("bob\u{e0041}", Invisible('\u{e0041}')),
            ("bob\u{e000}", Invisible('\u{e000}')),
            ("bob\u{378}", Invisible('\u{378}')),
            ("bob\u{fffd}", NotALetter('\u{fffd}')),
            ("a\u{2010}b", NotALetter('\u{2010}')),
            ("o\u{2019}brien", NotALetter('\u{2019}')),
            ("b\u{665}b", NotALetter('\u{665}')),
            ("\u{301}bob", Mark('\u{301}')),
            ("bob \u{327}", Mark('\u{327}')),
            ("b\u{323}\u{323}ob", Mark('\u{323}')),
            ("bo\u{301}\u{301}b", Mark('\u{301}')),
            // A Cyrillic letter in a Latin name, and a digit that looks like a letter.
            ("b\u{43e}b", Scripts),
            ("b\u{3bf}b", Scripts),
            ("ᏴᎾᏴ", Scripts),
            ("b\u{251}b", Scripts),
            ("\u{1c0}ee", Scripts),
            ("b\u{2bc}b", Scripts),
            ("асе", LooksLatin),
            ("асе-7", LooksLatin),
            ("ουκ", LooksLatin),
        ] {
            assert_eq!(normal(name), Err(why), "{name:?}");
        }
        assert_eq!(normal(&"x".repeat(256)).as_deref(), Ok(&*"x".repeat(256)));
        assert_eq!(normal(&"x".repeat(257)), Err(TooLong));
        assert_eq!(normal(&"\u{fdfa}".repeat(20)), Err(TooLong), "of what it becomes");
        assert_eq!(normal(&"x".repeat(1 << 20)), Err(TooLong));
    }

    fn owned(name: &str) -> Result<String, NameError> {
        normal(name).map(Cow::into_owned)
    }

    proptest! {
        /// Otherwise a name that was stored would not be found again.
        #[test]
        fn the_normal_form_is_its_own(name in "\\PC{0,12}") {
            if let Ok(once) = owned(&name) {
                prop_assert_eq!(owned(&once), Ok(once));
            }
        }

        #[test]
        fn upper_and_lower_case_and_both_forms_are_one(name in "[a-zà-öø-ÿа-яα-ω]{1,12}") {
            let plain = owned(&name);
            prop_assert_eq!(owned(&name.nfd().collect::<String>()), plain.clone());
            prop_assert_eq!(owned(&name.to_uppercase()), plain);
        }
    }

    /// All characters of the first plane, and some of the others: nothing panics, and what is taken stays as it is.
    #[test]
    fn every_character_is_taken_or_refused() {
        for c in (0..0x1_0000).chain((0x1_0000..0x11_0000).step_by(61)).filter_map(char::from_u32) {
            let name = format!("a{c}");
            if let Ok(once) = normal(&name) {
                assert_eq!(normal(&once).as_deref(), Ok(&*once), "{:?}", c.escape_unicode());
            }
        }
    }
}
