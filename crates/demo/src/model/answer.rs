//! Replies about finished calls: one sentence each, from the real result.

use serde_json::Value;

use super::{
    language::Language::{self, English, Japanese},
    outcome::Outcome,
    phrase::{count, decimal, hundredths, money, phrase, text},
};
use holdpoint_runtime::{
    model::{ModelCall, ModelResult},
    tool::text::{plain, show},
};

/// Maximum length of quoted external text.
const MAX_QUOTE_CHARS: usize = 200;

/// A finished call with its outcome.
#[derive(Debug, Clone, Copy)]
pub(super) struct FinishedCall<'a> {
    pub(super) call: &'a ModelCall,
    pub(super) result: &'a ModelResult,
}

/// The reply at the end of a turn with these calls.
pub(super) fn answer(done: &[FinishedCall<'_>], language: Language) -> String {
    let mut sentences: Vec<String> = done.iter().map(|done| sentence(*done, language)).collect();
    sentences.extend(balance(done, language));
    sentences.join(language.pick(" ", ""))
}

fn sentence(done: FinishedCall<'_>, language: Language) -> String {
    let phrase = || phrase(&done.call.name, &done.call.input, language);
    match Outcome::of(done.result) {
        Outcome::Done(output) => success(done.call, output, language),
        Outcome::Denied(reason) => {
            let reason = reason.map(|reason| plain(reason, MAX_QUOTE_CHARS));
            match language {
                English => {
                    let reason = reason.map(|reason| format!(" (your reason: {reason})")).unwrap_or_default();
                    format!("You declined{reason}, so I did not {}.", phrase())
                }
                Japanese => {
                    let reason = reason.map(|reason| format!("（理由: {reason}）")).unwrap_or_default();
                    format!("承認されなかったため{reason}、{}は行いませんでした。", phrase())
                }
            }
        }
        Outcome::Expired => language.pick(
            format!("Nobody approved it in time, so I did not {}.", phrase()),
            format!("時間内に承認されなかったため、{}は行いませんでした。", phrase()),
        ),
        Outcome::Superseded => language.pick(
            format!("You went on to something else, so I did not {}.", phrase()),
            format!("別の依頼に移ったため、{}は取りやめました。", phrase()),
        ),
        Outcome::TimedOut => language.pick(
            format!("I tried to {}, but there was no answer in time.", phrase()),
            format!("{}を試みましたが、時間内に応答がありませんでした。", phrase()),
        ),
        Outcome::Interrupted => language.pick(
            format!(
                "I was interrupted while I tried to {}, and I can't tell whether it happened. Please check before you try again.",
                phrase()
            ),
            format!("{}の途中で中断されたため、結果は分かりません。もう一度試す前に確認してください。", phrase()),
        ),
        Outcome::Stopped => language.pick(
            format!("It was stopped, so I did not {}.", phrase()),
            format!("停止されたため、{}は行いませんでした。", phrase()),
        ),
        Outcome::Failed(_) if is_too_little_money(done.result) => language.pick(
            format!("I could not {}: there is not enough money in the wallet.", phrase()),
            format!("残高が足りないため、{}はできませんでした。", phrase()),
        ),
        Outcome::Failed(reason) => {
            let reason = plain(reason, MAX_QUOTE_CHARS);
            language.pick(
                format!("I could not {}: {}", phrase(), ended(&reason, '.')),
                format!("{}はできませんでした: {}", phrase(), ended(&reason, '。')),
            )
        }
    }
}

fn success(call: &ModelCall, output: &Value, language: Language) -> String {
    let sentence = match call.name.as_str() {
        "process_payment" => paid(output, language),
        "get_weather" => weather(&call.input, output, language),
        "get_location" => location(output, language),
        "change_bgm" => output.get("track").and_then(Value::as_u64).map(|track| {
            language.pick(
                format!("I asked your browser to play track {track}."),
                format!("トラック{track}の再生をブラウザーに頼みました。"),
            )
        }),
        "open-url" => text(&call.input, "url")
            .map(|url| language.pick(format!("I opened {url} in your browser."), format!("{url} を開きました。"))),
        "search_database" => users(output).map(|users| found(&users, language)),
        "update_database" => output.get("updated").and_then(Value::as_u64).map(|updated| {
            let is_deactivation = call.input.pointer("/set/status").and_then(Value::as_str) == Some("deactivated");
            match (language, is_deactivation) {
                (English, true) => format!("I deactivated {}.", count(updated)),
                (English, false) => format!("I changed {}.", count(updated)),
                (Japanese, true) => format!("{updated}人のユーザーを無効にしました。"),
                (Japanese, false) => format!("{updated}人のユーザーを更新しました。"),
            }
        }),
        _ => None,
    };
    // For an unknown tool or an unexpected output, show the output itself.
    sentence.unwrap_or_else(|| {
        let (name, output) = (&call.name, show(output));
        language.pick(format!("{name} answered: {output}."), format!("{name} の結果: {output}。"))
    })
}

fn paid(receipt: &Value, language: Language) -> Option<String> {
    let recipient = text(receipt, "recipient")?;
    let money = money(receipt.get("amount")?, &text(receipt, "currency")?, language);
    let id = text(receipt, "transaction_id")?;
    Some(language.pick(
        format!("I sent {money} to {recipient} (transaction {id})."),
        format!("{recipient}さんに{money}を送りました（取引番号 {id}）。"),
    ))
}

/// The wallet's balance. Concurrent payments come in any order, so the lowest balance is the last.
fn balance(done: &[FinishedCall<'_>], language: Language) -> Option<String> {
    let outputs = done.iter().filter(|done| done.call.name == "process_payment").map(|done| &done.result.outcome);
    let receipts: Vec<&Value> = outputs.filter_map(|outcome| outcome.as_ref().ok()).collect();
    let balances = receipts.iter().filter_map(|receipt| receipt.get("wallet_balance")?.as_f64());
    let left = Value::from(balances.min_by(f64::total_cmp)?);
    let currency = text(receipts.first()?, "currency")?;
    let is_same = receipts.iter().all(|receipt| text(receipt, "currency").as_ref() == Some(&currency));
    let left = if is_same { money(&left, &currency, language) } else { hundredths(&left)? };
    Some(language.pick(format!("Your wallet now holds {left}."), format!("ウォレットの残高は{left}です。")))
}

fn is_too_little_money(result: &ModelResult) -> bool {
    let output = result.outcome.as_ref().ok();
    result.name == "process_payment" && output.is_some_and(|output| output.get("wallet_balance").is_some())
}

fn weather(input: &Value, output: &Value, language: Language) -> Option<String> {
    let number = |key| decimal(output.get(key)?, 1);
    let place = text(input, "location")?;
    let (degrees, felt) = (number("temperature")?, number("feels_like")?);
    let (humidity, wind) = (number("humidity")?, number("wind_speed")?);
    let condition = text(output, "condition")?;
    Some(match language {
        English => {
            let details = text(output, "description").map(|text| format!(", with {text}")).unwrap_or_default();
            format!(
                "In {place} it is {degrees} °C and {condition}{details}. It feels like {felt} °C; the humidity is {humidity} % and the wind blows at {wind} km/h."
            )
        }
        Japanese => {
            const CONDITIONS: [(&str, &str); 7] = [
                ("sunny", "晴れ"),
                ("cloudy", "曇り"),
                ("rainy", "雨"),
                ("windy", "強い風"),
                ("foggy", "霧"),
                ("stormy", "嵐"),
                ("snowy", "雪"),
            ];
            let known = CONDITIONS.iter().find(|(name, _)| *name == condition);
            let condition = known.map_or(condition.as_str(), |(_, name)| name);
            format!(
                "{place}の天気は{condition}、気温は{degrees}℃（体感{felt}℃）、湿度は{humidity}%、風速は時速{wind}kmです。"
            )
        }
    })
}

fn location(output: &Value, language: Language) -> Option<String> {
    let number = |key, digits| decimal(output.get(key)?, digits);
    let (latitude, longitude) = (number("latitude", 4)?, number("longitude", 4)?);
    let names: Vec<String> = ["city", "country"].iter().filter_map(|key| text(output, key)).collect();
    let accuracy = number("accuracy", 0);
    Some(match language {
        English => {
            let place = if names.is_empty() { String::new() } else { format!(" in {},", names.join(", ")) };
            let accuracy = accuracy.map(|metres| format!(", give or take {metres} m")).unwrap_or_default();
            format!("You are{place} at latitude {latitude}, longitude {longitude}{accuracy}.")
        }
        Japanese => {
            let place = if names.is_empty() { String::new() } else { format!("{}の", names.join("、")) };
            let accuracy = accuracy.map(|metres| format!("（誤差はおよそ{metres}m）")).unwrap_or_default();
            format!("いまいる場所は{place}緯度{latitude}、経度{longitude}です{accuracy}。")
        }
    })
}

/// The users that a search found: names and ids.
pub(super) fn users(output: &Value) -> Option<Vec<(String, Value)>> {
    let rows = output.get("users")?.as_array()?;
    let user = |row: &Value| Some((text(row, "name").unwrap_or_default(), row.get("id")?.clone()));
    Some(rows.iter().filter_map(user).collect())
}

fn found(users: &[(String, Value)], language: Language) -> String {
    let names: Vec<String> = users.iter().take(10).map(|(name, id)| format!("{name} ({id})")).collect();
    let more = if users.len() > names.len() { ", …" } else { "" };
    match (language, users.len()) {
        (English, 0) => "I found no such users.".to_owned(),
        (Japanese, 0) => "該当するユーザーは見つかりませんでした。".to_owned(),
        (English, number) => format!("I found {}: {}{more}.", count(number as u64), names.join(", ")),
        (Japanese, number) => format!("{number}人のユーザーが見つかりました: {}{more}。", names.join("、")),
    }
}

fn ended(text: &str, stop: char) -> String {
    if text.ends_with(['.', '。', '!', '?', '！', '？', '…']) { text.to_owned() } else { format!("{text}{stop}") }
}
