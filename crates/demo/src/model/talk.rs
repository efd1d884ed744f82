//! Small talk: greetings, clarifying questions, and what the model can do.

use std::sync::LazyLock;

use regex::Regex;

use super::{language::Language, plan::MissingDetail};

/// A tool, and an example request for it in English and Japanese.
const EXAMPLES: [(&str, &str, &str); 6] = [
    ("process_payment", "send 50 dollars to Hanako", "Aliceに30ドル、Bobに40ドル送金して"),
    ("get_weather", "what's the weather in Tokyo", "東京の天気は？"),
    ("get_location", "where am I", "現在地を教えて"),
    ("change_bgm", "play track 1", "トラック1に変更して"),
    ("open-url", "open https://example.com", "https://example.com を開いて"),
    ("search_database", "find inactive users and deactivate them", "非アクティブなユーザーを探して無効化して"),
];

static GREETING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^\W*(?:hello|hi|hey|good\s+(?:morning|afternoon|evening))\b|こんにちは|こんばんは|おはよう|はじめまして",
    )
    .expect("the pattern is good")
});
static THANKS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:thanks|thank\s+you|thx|cheers)\b|ありがと|感謝").expect("the pattern is good")
});

/// The reply to a text that requests nothing.
pub(super) fn chat(text: &str, language: Language, is_tool: impl Fn(&str) -> bool) -> String {
    if THANKS.is_match(text) {
        return language
            .pick("You are welcome! Is there anything else?", "どういたしまして。ほかに何かありますか？")
            .to_owned();
    }
    let opening = if GREETING.is_match(text) {
        language
            .pick("Hello! I am the demo model, and I need no key and no network.", "こんにちは。デモ用のモデルです。")
    } else {
        language.pick(
            "I am only the demo model, and I understand a few plain requests.",
            "デモ用のモデルなので、簡単な依頼だけ分かります。",
        )
    };
    let examples = EXAMPLES.iter().filter(|(tool, _, _)| is_tool(tool));
    let examples: Vec<&str> = examples.map(|(_, english, japanese)| language.pick(*english, *japanese)).collect();
    if examples.is_empty() {
        let hint = language.pick(
            " None of the demo tools is here; write \"use TOOL {…}\" to call one of the others.",
            "デモ用のツールはありません。ほかのツールは「TOOL {…} を実行して」で呼べます。",
        );
        return format!("{opening}{hint}");
    }
    let list: String = examples.iter().map(|example| format!("\n- {example}")).collect();
    language.pick(format!("{opening} Try one of these:{list}"), format!("{opening}例えばこう書いてください。{list}"))
}

/// The question for a missing detail.
pub(super) fn ask_for(missing_detail: MissingDetail, language: Language) -> String {
    let (english, japanese) = match missing_detail {
        MissingDetail::Payment => (
            "How much shall I send, and to whom? For example: send 50 dollars to Hanako.",
            "誰にいくら送金しますか？例: Hanakoさんに50ドル送金して",
        ),
        MissingDetail::Place => (
            "Which place do you mean? For example: what's the weather in Tokyo.",
            "どこの天気ですか？例: 東京の天気は？",
        ),
        MissingDetail::Track => (
            "Which track would you like? For example: play track 1.",
            "どのトラックにしますか？例: トラック1に変更して",
        ),
    };
    language.pick(english, japanese).to_owned()
}

/// The reply when a needed tool is missing.
pub(super) fn missing(tool: &str, language: Language) -> String {
    language.pick(
        format!("I would need the tool {tool} for that, and it is not available here."),
        format!("{tool} というツールが必要ですが、ここでは使えません。"),
    )
}
