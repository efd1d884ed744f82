//! Intent matching by small patterns and tables.

use std::sync::LazyLock;

use holdpoint_protocol::json;
use regex::Regex;
use serde_json::{Value, json};

use super::{
    language::{Language, half_width},
    payment::{self, Payment},
};

/// Maximum calls per text: no one wants twenty approval requests.
const MAX_ACTIONS: usize = 10;

/// One requested action, done by one call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Pay(Payment),
    Weather(String),
    Locate,
    Play(u64),
    Open {
        url: String,
        timeout: Option<u64>,
    },
    Search(String),
    /// Search, then deactivate the users found.
    CleanUp,
    /// An explicit call.
    Call {
        tool: String,
        input: Result<Value, String>,
    },
}

/// A missing detail of an otherwise clear request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingDetail {
    Payment,
    Place,
    Track,
}

/// The requests in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) actions: Vec<Action>,
    pub(super) missing_detail: Option<MissingDetail>,
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("the patterns are good"));)*
    };
}

patterns! {
    CALL = r"(?is)^\s*(?:please\s+)?(?:call|use|run)\s+(?:the\s+)?(?:tool\s+)?(?P<tool>[a-z0-9_-]{1,64})(?:\s+(?:with\s+)?(?P<input>\{.*))?\s*$";
    CALL_JA = r"(?is)^\s*(?P<tool>[a-z0-9_-]{1,64})\s*(?P<input>\{.*\})?\s*を(?:実行|呼び|使)";
    URL = r#"(?i)https?://[^\s<>"'、。「」（）\p{Hiragana}]+"#;
    SITE = r"(?i)\b(?:open|visit|go\s+to)\s+(?P<site>(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/\S*)?)|(?P<site_ja>(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/[^\sを]*)?)\s*を(?:開|見せ|表示)";
    SECONDS = r"(?i)(?P<seconds>\d{1,4})\s*(?:s|secs?|seconds?|秒)";
    INACTIVE = r"(?i)\b(?:inactive|dormant|unused|idle)\b|非アクティブ|休眠|使われていない|使っていない|利用していない";
    DEACTIVATE = r"(?i)\b(?:deactivate|disable|suspend)\b|無効|停止し|停止に|非アクティブ化";
    PEOPLE = r"(?i)\b(?:users?|accounts?|members?|customers?)\b|ユーザ|アカウント|会員|利用者";
    FIND = r"(?i)\b(?:find|search|list|look\s+up|look\s+for|show)\b|検索|探|見つけ|一覧";
    ACTIVE = r"(?i)\bactive\b|アクティブ";
    SEARCH = r"(?i)\b(?:search|query)\s+(?:the\s+|our\s+)?database\s+for\s+(?P<query>[^.?!\n]+)|データベース(?:で|から)(?P<query_ja>[^\s。]+?)を(?:検索|探)";
    SEARCH_AND_UPDATE = r"(?i)\bsearch\b.*\bupdate\b.*\bdatabase\b|\bdatabase\b.*\bsearch\b.*\bupdate\b|データベースを?検索(?:し|・)て?.*更新";
    WEATHER = r"(?i)\b(?:weather|forecast|temperature|rain(?:y|ing)?|snow(?:y|ing)?|umbrella)\b|\bhow\s+(?:hot|cold|warm)\b|天気|天候|気温|予報";
    PLACE_IN = r"(?i)\b(?:in|at|near)\s+(?P<place>\p{L}[\p{L}\p{M}\s.,&'’\-]*)";
    PLACE_FOR = r"(?i)\b(?:for|of)\s+(?P<place>\p{L}[\p{L}\p{M}\s.,&'’\-]*)";
    PLACE_BESIDE = r"(?P<before>\p{Lu}[\p{L}'’\-]*(?:\s\p{Lu}[\p{L}'’\-]*)*)\s+(?i:weather|forecast|temperature)|(?i:weather|forecast)\s+(?P<after>\p{Lu}[\p{L}'’\-]*(?:\s\p{Lu}[\p{L}'’\-]*)*)";
    PLACE_JA = r"(?P<places>[\p{Han}\p{Katakana}\p{Latin}ー・]+(?:[とや、][\p{Han}\p{Katakana}\p{Latin}ー・]+)*)\s*(?:の|は|、)?(?:今日|明日|現在|今)?の?お?(?:天気|天候|気温|予報)";
    LOCATION = r"(?i)\bwhere\s+(?:am\s+i|are\s+we)\b|\b(?:my|current|our)\s+(?:location|position|whereabouts)\b|\blocate\s+me\b|現在地|現在の(?:場所|位置)|位置情報|今どこ|いまどこ|ここはどこ|どこにい";
    TRACK = r"(?i)\b(?:track|song|tune|bgm|music)\s*(?:to\s+)?(?:no\.?|number|track|#)?\s*#?(?P<number>\d{1,6}|one|two|three|four|five)\b|(?:トラック|曲|BGM)\s*(?:を|番号)?\s*(?P<number_ja>\d{1,6})|(?P<count_ja>\d{1,6})\s*(?:番|曲目)";
    MUSIC = r"(?i)\b(?:track|song|bgm|music)\b|トラック|音楽|曲|BGM";
    CHANGE = r"(?i)\b(?:play|change|switch|put\s+on|start|next)\b|変|流し|再生|かけ|切り替";
}

impl Plan {
    /// Parses a text. `is_tool` says whether a tool exists, for explicit calls.
    pub(super) fn parse(text: &str, is_tool: impl Fn(&str) -> bool) -> Self {
        let text = half_width(text);
        if let Some(action) = explicit_call(&text, is_tool) {
            return Self { actions: vec![action], missing_detail: None };
        }
        let mut actions: Vec<Action> = payment::payments(&text).into_iter().map(Action::Pay).collect();
        actions.extend(open(&text));
        actions.extend(database(&text));
        let is_about_weather = WEATHER.is_match(&text);
        if is_about_weather {
            actions.extend(places(&text).into_iter().map(Action::Weather));
        }
        if LOCATION.is_match(&text) {
            actions.push(Action::Locate);
        }
        let is_about_music = MUSIC.is_match(&text) && CHANGE.is_match(&text);
        if is_about_music || TRACK.is_match(&text) && !actions.iter().any(|action| matches!(action, Action::Pay(_))) {
            actions.extend(track(&text).map(Action::Play));
        }
        actions.truncate(MAX_ACTIONS);
        let missing = if payment::is_wanted(&text) {
            Some(MissingDetail::Payment)
        } else if is_about_weather {
            Some(MissingDetail::Place)
        } else {
            is_about_music.then_some(MissingDetail::Track)
        };
        let missing_detail = missing.filter(|_| actions.is_empty());
        Self { actions, missing_detail }
    }
}

impl Action {
    /// Its tool.
    pub(super) fn tool(&self) -> &str {
        match self {
            Self::Pay(_) => "process_payment",
            Self::Weather(_) => "get_weather",
            Self::Locate => "get_location",
            Self::Play(_) => "change_bgm",
            Self::Open { .. } => "open-url",
            Self::Search(_) | Self::CleanUp => "search_database",
            Self::Call { tool, .. } => tool,
        }
    }

    /// The input of the call, or the invalid text in its place.
    pub(super) fn input(&self, language: Language) -> Result<Value, String> {
        Ok(match self {
            Self::Pay(Payment { amount, currency, recipient }) => {
                let description = language.pick(format!("Payment to {recipient}"), format!("{recipient}さんへの送金"));
                json!({"amount": amount, "recipient": recipient, "currency": currency, "description": description})
            }
            Self::Weather(place) => json!({ "location": place }),
            Self::Locate => json!({}),
            Self::Play(track) => json!({ "track": track }),
            Self::Open { url, timeout: None } => json!({ "url": url }),
            Self::Open { url, timeout: Some(seconds) } => json!({"url": url, "timeoutSec": seconds}),
            Self::Search(query) => json!({ "query": query }),
            Self::CleanUp => json!({"query": "inactive users"}),
            Self::Call { input, .. } => return input.clone(),
        })
    }
}

/// "use take_photo {…}": lets users try their own tools without a model key.
fn explicit_call(text: &str, is_tool: impl Fn(&str) -> bool) -> Option<Action> {
    let captures = CALL.captures(text).or_else(|| CALL_JA.captures(text))?;
    let tool = captures["tool"].to_owned();
    let input = captures.name("input").map_or("{}", |input| input.as_str()).trim();
    is_tool(&tool).then(|| Action::Call { tool, input: json::parse(input.as_bytes()).map_err(|_| input.to_owned()) })
}

fn open(text: &str) -> Option<Action> {
    let url = match URL.find(text) {
        Some(url) => url.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']']).to_owned(),
        None => {
            let captures = SITE.captures(text)?;
            let site = captures.name("site").or(captures.name("site_ja"))?.as_str();
            format!("https://{}", site.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']))
        }
    };
    let beside = text.replace(&url, " ");
    let timeout = SECONDS.captures(&beside).and_then(|captures| captures["seconds"].parse().ok());
    Some(Action::Open { url, timeout })
}

fn database(text: &str) -> Option<Action> {
    let is_inactive = INACTIVE.is_match(text);
    if is_inactive && PEOPLE.is_match(text) {
        // "非アクティブ化" alone is the verb and does not name a group, but no other group can be meant.
        return Some(if DEACTIVATE.is_match(text) {
            Action::CleanUp
        } else {
            Action::Search("inactive users".to_owned())
        });
    }
    if SEARCH_AND_UPDATE.is_match(text) {
        // Whom it is about is left open, and this is what the demo's database has to do.
        return Some(Action::CleanUp);
    }
    if let Some(captures) = SEARCH.captures(text) {
        let query = captures.name("query").or(captures.name("query_ja"))?.as_str();
        return Some(Action::Search(query.trim().to_owned()));
    }
    let query = if ACTIVE.is_match(text) { "active users" } else { "all users" };
    (FIND.is_match(text) && PEOPLE.is_match(text)).then(|| Action::Search(query.to_owned()))
}

/// The places whose weather is requested.
fn places(text: &str) -> Vec<String> {
    // Words that end a place name.
    const ENDS: [&str; 27] = [
        "and", "today", "tomorrow", "tonight", "now", "right", "please", "like", "this", "these", "the", "it", "my",
        "what", "which", "how", "where", "then", "play", "send", "pay", "open", "find", "tell", "show", "change",
        "give",
    ];
    const TIMES: [&str; 9] = ["今日", "明日", "今", "現在", "昨日", "外", "週末", "最新", "今週"];
    let english = |list: &str| -> Vec<String> {
        let mut places = Vec::new();
        for part in list.split([',', '&', '.']).flat_map(|part| part.split(" and ")) {
            let words = part.split_whitespace();
            let words: Vec<&str> = words.take_while(|word| !ENDS.contains(&word.to_lowercase().as_str())).collect();
            if words.is_empty() {
                break;
            }
            places.push(words.join(" "));
        }
        places
    };
    if let Some(captures) = PLACE_JA.captures(text) {
        let names = captures["places"].split(['と', 'や', '、']).filter(|name| !TIMES.contains(name));
        let names: Vec<String> = names.map(str::to_owned).collect();
        if !names.is_empty() {
            return names;
        }
    }
    let found = [&PLACE_IN, &PLACE_FOR].into_iter().flat_map(|pattern| pattern.captures_iter(text));
    let found = found.map(|captures| english(&captures["place"])).find(|places| !places.is_empty());
    found.unwrap_or_else(|| {
        let beside = PLACE_BESIDE.captures(text);
        let place = beside.as_ref().and_then(|captures| captures.name("before").or(captures.name("after")));
        place.map(|place| english(place.as_str())).unwrap_or_default()
    })
}

fn track(text: &str) -> Option<u64> {
    let captures = TRACK.captures(text)?;
    let number = captures.name("number").or(captures.name("number_ja")).or(captures.name("count_ja"))?.as_str();
    let words = ["one", "two", "three", "four", "five"];
    let word = words.iter().position(|word| number.eq_ignore_ascii_case(word));
    word.map(|index| index as u64 + 1).or_else(|| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        Plan::parse(text, |name| name == "take_photo")
    }

    #[track_caller]
    fn check(texts: &[&str], actions: &[Action]) {
        for text in texts {
            assert_eq!(plan(text), Plan { actions: actions.to_vec(), missing_detail: None }, "{text}");
        }
    }

    #[test]
    fn weather() {
        let weather = |place: &str| Action::Weather(place.to_owned());
        check(
            &[
                "what's the weather in Tokyo",
                "What is the weather like in Tokyo today?",
                "How hot is it in Tokyo right now?",
                "Tokyo weather",
                "weather Tokyo",
                "weather for Tokyo, please",
                "is it raining in Tokyo?",
            ],
            &[weather("Tokyo")],
        );
        check(&["weather in tokyo and new york"], &[weather("tokyo"), weather("new york")]);
        check(
            &["東京の天気は？", "今日の東京の天気を教えて", "東京の明日の天気は", "東京は今日の天気どう"],
            &[weather("東京")],
        );
        check(&["東京と大阪の天気は？"], &[weather("東京"), weather("大阪")]);
        check(&["ニューヨークの気温は？"], &[weather("ニューヨーク")]);
        for text in ["what's the weather", "今日の天気は？", "what will the weather be like this week"] {
            assert_eq!(plan(text), Plan { actions: Vec::new(), missing_detail: Some(MissingDetail::Place) }, "{text}");
        }
    }

    #[test]
    fn location() {
        check(
            &["where am I", "Where am I?", "what is my location", "現在地を教えて", "今どこにいますか"],
            &[Action::Locate],
        );
    }

    #[test]
    fn music() {
        check(
            &[
                "play track 1",
                "change the bgm to track 1",
                "Play song number one",
                "トラック1に変更して",
                "トラック１を再生",
                "1番の曲を流して",
                "track 1",
            ],
            &[Action::Play(1)],
        );
        for text in ["change the music", "BGMを変えて"] {
            assert_eq!(plan(text).missing_detail, Some(MissingDetail::Track), "{text}");
        }
    }

    #[test]
    fn pages() {
        let open = |url: &str, timeout| Action::Open { url: url.to_owned(), timeout };
        check(
            &[
                "open https://example.com",
                "Please open https://example.com.",
                "https://example.com",
                "https://example.comを開いて",
                "open example.com",
                "example.com を開いて",
            ],
            &[open("https://example.com", None)],
        );
        check(&["open http://localhost:3000/a?b=1 within 5 seconds"], &[open("http://localhost:3000/a?b=1", Some(5))]);
        check(&["open javascript:alert(1)", "open the window"], &[]);
    }

    #[test]
    fn people() {
        check(
            &[
                "find inactive users and deactivate them",
                "Deactivate all inactive accounts",
                "非アクティブなユーザーを探して無効化して",
                "休眠ユーザーを見つけて停止して",
                "Search and update database",
                "search the database and update it, I mean the database",
                "データベースを検索して更新して",
            ],
            &[Action::CleanUp],
        );
        check(&["find inactive users", "非アクティブなユーザーを検索して"], &[Action::Search("inactive users".into())]);
        check(&["list the active users"], &[Action::Search("active users".into())]);
        check(&["search the database for Daichi"], &[Action::Search("Daichi".into())]);
        check(&["データベースでDaichiを検索して"], &[Action::Search("Daichi".into())]);
    }

    #[test]
    fn several_things_at_once() {
        let pay = Action::Pay(Payment { amount: json!(50), currency: "USD", recipient: "Ken".into() });
        check(&["send 50 dollars to Ken and play track 2"], &[pay.clone(), Action::Play(2)]);
        check(&["what's the weather in Tokyo and send 50 dollars to Ken"], &[pay, Action::Weather("Tokyo".into())]);
        let many = (1..30).map(|number| format!("pay {number} USD to Ken")).collect::<Vec<_>>().join(". ");
        assert_eq!(plan(&many).actions.len(), MAX_ACTIONS);
    }

    #[test]
    fn explicit_calls() {
        let call = |input| Action::Call { tool: "take_photo".into(), input };
        check(&["use take_photo", "call the tool take_photo", "take_photoを実行して"], &[call(Ok(json!({})))]);
        check(&["run take_photo with {\"facing\": \"user\"}"], &[call(Ok(json!({"facing": "user"})))]);
        check(&["use take_photo {\"facing\": "], &[call(Err("{\"facing\":".into()))]);
        check(&["use force"], &[]);
    }

    #[test]
    fn small_talk_asks_for_nothing() {
        check(
            &["hello", "what can you do?", "ありがとう", "", "I like music", "I paid attention", "変な話ですね"],
            &[],
        );
        for text in ["send money to Hanako", "花子さんに送金して"] {
            assert_eq!(plan(text).missing_detail, Some(MissingDetail::Payment), "{text}");
        }
    }
}
