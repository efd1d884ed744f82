//! The two languages: detection, and splitting a text into streamed pieces.

/// The language of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Japanese,
}

impl Language {
    /// The language of a text. A Japanese name or address in an English sentence does not make it Japanese.
    pub(super) fn of(text: &str) -> Self {
        let words = text.split_whitespace().filter(|word| !word.contains("://"));
        let (mut has_hiragana, mut has_ideographs, mut has_latin) = (false, false, false);
        for char in words.flat_map(str::chars) {
            has_hiragana |= is_hiragana(char);
            has_ideographs |= matches!(char, '\u{30a0}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
            has_latin |= char.is_ascii_alphabetic();
        }
        if has_hiragana || (has_ideographs && !has_latin) { Self::Japanese } else { Self::English }
    }

    /// Picks the text in this language.
    pub(super) fn pick<T>(self, english: T, japanese: T) -> T {
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
    }
}

/// Converts full-width digits, letters and signs to half width.
pub(super) fn half_width(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0).unwrap_or(char),
            '\u{ffe5}' => '¥',
            '\u{3000}' => ' ',
            other => other,
        })
        .collect()
}

/// The words of a text, each with its trailing space; Japanese is split after phrases. Joined, they give the text.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut before = None;
    for char in text.chars() {
        let goes_on = is_closing(char) || char.is_whitespace();
        let is_start = before.is_none_or(|before| {
            let follows_word = is_closing(before) || before.is_whitespace();
            !goes_on && (follows_word || is_hiragana(before) && !is_hiragana(char))
        });
        match pieces.last_mut() {
            Some(piece) if !is_start => piece.push(char),
            _ => pieces.push(char.to_string()),
        }
        before = Some(char);
    }
    pieces
}

fn is_hiragana(char: char) -> bool {
    matches!(char, '\u{3041}'..='\u{309f}')
}

fn is_closing(char: char) -> bool {
    matches!(char, '、' | '。' | '）' | '」' | '！' | '？')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_apart() {
        for text in ["Aliceに30ドル送金して", "現在地", "トラック1に変更して", "https://example.com を開いて"]
        {
            assert_eq!(Language::of(text), Language::Japanese, "{text}");
        }
        for text in ["send 50 dollars to 花子", "open https://例え.jp/みち", "", "123", "weather in 東京"] {
            assert_eq!(Language::of(text), Language::English, "{text}");
        }
    }

    #[test]
    fn pieces_are_words_and_together_the_text() {
        assert_eq!(pieces("I sent  it.\nBye"), ["I ", "sent  ", "it.\n", "Bye"]);
        assert_eq!(pieces("東京の天気は晴れ、気温は20℃です。"), ["東京の", "天気は", "晴れ、", "気温は", "20℃です。"]);
        for text in ["", " ", "a", "  leading", "Aliceさんに（30ドル）送金しました。残高は970ドルです。"]
        {
            assert_eq!(pieces(text).concat(), text);
        }
    }

    #[test]
    fn full_width_becomes_half_width() {
        assert_eq!(half_width("５０ドル　￥１，０００？"), "50ドル ¥1,000?");
    }
}
