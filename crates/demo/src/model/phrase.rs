//! Phrases for calls, amounts and numbers.

use serde_json::Value;

use super::language::Language;
use holdpoint_runtime::tool::text::plain;

/// Maximum length of external text in a sentence.
const MAX_TEXT_CHARS: usize = 200;

/// A phrase for a call: in English the continuation of "I will", in Japanese a noun.
pub(super) fn phrase(name: &str, input: &Value, language: Language) -> String {
    let known = match name {
        "process_payment" => payment(input, language),
        "get_weather" => text(input, "location")
            .map(|place| language.pick(format!("look up the weather in {place}"), format!("{place}の天気の確認"))),
        "get_location" => Some(language.pick("find out where you are", "現在地の確認").to_owned()),
        "change_bgm" => input.get("track").map(|track| {
            language.pick(format!("change the music to track {track}"), format!("トラック{track}への変更"))
        }),
        "open-url" => text(input, "url").map(|url| language.pick(format!("open {url}"), format!("{url} の表示"))),
        "search_database" => text(input, "query").map(|query| {
            language.pick(format!("search the database for \"{query}\""), format!("データベースでの「{query}」の検索"))
        }),
        "update_database" => input.get("ids").and_then(Value::as_array).map(|ids| {
            let number = ids.len();
            language
                .pick(format!("change {} in the database", count(number as u64)), format!("{number}人のユーザーの更新"))
        }),
        _ => None,
    };
    known.unwrap_or_else(|| language.pick(format!("run {name}"), format!("{name} の実行")))
}

fn payment(input: &Value, language: Language) -> Option<String> {
    let recipient = text(input, "recipient")?;
    let money = money(input.get("amount")?, &text(input, "currency")?, language);
    Some(language.pick(format!("send {money} to {recipient}"), format!("{recipient}さんへの{money}の送金")))
}

/// An amount of money.
pub(super) fn money(amount: &Value, currency: &str, language: Language) -> String {
    let amount = hundredths(amount).unwrap_or_else(|| amount.to_string());
    let spoken = match currency {
        "USD" => "ドル",
        "EUR" => "ユーロ",
        "GBP" => "ポンド",
        "JPY" => "円",
        other => other,
    };
    language.pick(format!("{amount} {currency}"), format!("{amount}{spoken}"))
}

/// An amount without decimals, or with two.
pub(super) fn hundredths(value: &Value) -> Option<String> {
    let rounded = decimal(value, 2)?;
    Some(if rounded.contains('.') { format!("{:.2}", value.as_f64()?) } else { rounded })
}

/// A number with at most this many decimals.
pub(super) fn decimal(value: &Value, digits: usize) -> Option<String> {
    let number = value.as_number()?;
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return Some(number.to_string());
    };
    let text = format!("{float:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    Some(if text == "-0" { "0".to_owned() } else { text.to_owned() })
}

/// A text field of a value, cleaned up for a sentence.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(|text| plain(text, MAX_TEXT_CHARS))
}

/// A number of users, in words.
pub(super) fn count(users: u64) -> String {
    if users == 1 { "1 user".to_owned() } else { format!("{users} users") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_and_numbers() {
        for (amount, english, japanese) in [
            (json!(50), "50 EUR", "50ユーロ"),
            (json!(950.0), "950 EUR", "950ユーロ"),
            (json!(949.9), "949.90 EUR", "949.90ユーロ"),
        ] {
            assert_eq!(money(&amount, "EUR", Language::English), english);
            assert_eq!(money(&amount, "EUR", Language::Japanese), japanese);
        }
        assert_eq!(decimal(&json!(139.65031), 4).unwrap(), "139.6503");
        for (number, digits, expected) in
            [(json!(20), 0, "20"), (json!(20.6), 0, "21"), (json!(139.65), 4, "139.65"), (json!(-0.01), 1, "0")]
        {
            assert_eq!(decimal(&number, digits).unwrap(), expected);
        }
        assert_eq!(decimal(&json!("20"), 0), None);
    }

    #[test]
    fn an_input_that_is_odd_still_has_words() {
        for name in
            ["process_payment", "get_weather", "change_bgm", "open-url", "search_database", "update_database", "x"]
        {
            for input in [json!({}), json!(null), json!([1]), json!({"amount": "x", "ids": 5})] {
                assert_eq!(phrase(name, &input, Language::English), format!("run {name}"));
            }
        }
    }
}
