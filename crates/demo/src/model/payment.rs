//! Payments in plain words: recipient, amount and currency.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// One requested payment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Payment {
    pub(super) amount: Value,
    pub(super) currency: &'static str,
    pub(super) recipient: String,
}

/// The currencies: the code, and the words for it in lower case.
const CURRENCIES: [(&str, &[&str]); 4] = [
    ("USD", &["$", "usd", "us dollar", "us dollars", "dollar", "dollars", "buck", "bucks", "ドル"]),
    ("EUR", &["€", "eur", "euro", "euros", "ユーロ"]),
    ("GBP", &["£", "gbp", "pound", "pounds", "ポンド"]),
    ("JPY", &["¥", "jpy", "yen", "円"]),
];

const MONEY: &str = r"(?P<minus>-)?\s*(?P<symbol>[$€£¥])?\s*(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?P<scale>[千万])?\s*(?P<unit>us\s+dollars?|usd|dollars?|bucks?|eur(?:os?)?|gbp|pounds?|jpy|yen|ドル|ユーロ|ポンド|円)?";

/// A name is one word, or two where the second begins with a capital letter.
const NAME: &str = r"\p{L}[\p{L}\p{M}'’\-]*(?:\s+(?-i:\p{Lu})[\p{L}\p{M}'’\-]*)?";
const TITLES: &str = r"(?:(?:my|our|the|mrs?\.?|ms\.?|friend|user)\s+)*";

/// In Japanese a name ends where the script changes; in hiragana, before a particle.
const PERSON: &str = r"(?:\p{Latin}[\p{Latin}\p{M}'’.\-]*(?:\s\p{Lu}[\p{Latin}\p{M}'’\-]*)?|\p{Han}+|[\p{Katakana}ー・]+|\p{Hiragana}+?)(?:さん|さま|様|君|くん|ちゃん|氏)?";

static AMOUNT_TO_NAME: LazyLock<Regex> = LazyLock::new(|| {
    // "… to Alice and Bob": a further name has to begin with a capital letter, or any word would match.
    let more = r"(?P<more>(?:\s*(?:,|&|\band\b)+\s*(?-i:\p{Lu}|\p{Lo})[\p{L}\p{M}'’\-]*)*)";
    compile(&format!(r"(?i){MONEY}\s+(?:over\s+)?to\s+{TITLES}(?P<name>{NAME}){more}"))
});
static NAME_AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(r"(?i)(?:\b(?:send|pay|give|transfer|wire|and)\b|[,&])\s*{TITLES}(?P<name>{NAME})\s+{MONEY}"))
});
static AMOUNT_FOR_NAMES: LazyLock<Regex> =
    LazyLock::new(|| compile(&format!(r"(?i){MONEY}(?:ずつ)?を\s*(?P<names>{PERSON}(?:と\s*{PERSON})*)(?:に|へ|宛)")));
static NAMES_AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(r"(?i)(?P<names>{PERSON}(?:と\s*{PERSON})*)(?:宛てに|宛に|に|へ)(?:は|も|それぞれ)?\s*{MONEY}"))
});
static VERB: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?i)\b(?:send|pay|give|transfer|wire|remit|payments?)\b|送金|送っ|送り|送る|払|振込|振り込|渡し")
});
static WISH: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i)\b(?:pay|transfer|wire|remit)\b|\b(?:process|make)\s+(?:a\s+)?payments?\b|\bsend\b.*\b(?:money|payment|dollars?|euros?|yen)\b|送金|払|振込|振り込",
    )
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are good")
}

/// Whether the text is about payments at all.
pub(super) fn is_wanted(text: &str) -> bool {
    WISH.is_match(text)
}

/// The payments requested in a text, in order.
pub(super) fn payments(text: &str) -> Vec<Payment> {
    if !VERB.is_match(text) {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    for pattern in [&AMOUNT_TO_NAME, &NAME_AMOUNT, &AMOUNT_FOR_NAMES, &NAMES_AMOUNT] {
        for captures in pattern.captures_iter(text) {
            let Some(new) = Found::read(text, &captures) else { continue };
            if found.iter().all(|other| other.end <= new.start || new.end <= other.start) {
                found.push(new);
            }
        }
    }
    found.sort_by_key(|found| found.start);
    // A currency named once applies to all.
    let usual = found.iter().find_map(|found| found.currency).unwrap_or("USD");
    let payments = found.into_iter().flat_map(|found| {
        let currency = found.currency.unwrap_or(usual);
        let payment = move |recipient| Payment { amount: found.amount.clone(), currency, recipient };
        found.recipients.into_iter().map(payment)
    });
    payments.collect()
}

struct Found {
    start: usize,
    end: usize,
    amount: Value,
    currency: Option<&'static str>,
    recipients: Vec<String>,
}

impl Found {
    fn read(text: &str, captures: &Captures<'_>) -> Option<Self> {
        let group = |name| captures.name(name).map(|found| found.as_str());
        let (whole, number) = (captures.get(0)?, captures.name("number")?);
        let is_amount_last = captures.name("name").is_some_and(|name| name.end() <= number.start());
        let currency = group("symbol").or(group("unit")).and_then(currency);
        // "send Bob 3 mails": a number followed by another word is not money.
        let next = text[whole.end()..].split_whitespace().next().unwrap_or_default();
        let goes_on = next.starts_with(char::is_alphabetic) && !["and", "for", "please", "now"].contains(&next);
        if is_amount_last && currency.is_none() && goes_on {
            return None;
        }
        let recipients: Vec<String> = match group("names") {
            Some(names) => names.split('と').map(without_honorific).collect(),
            None => {
                let more = group("more").unwrap_or_default().split([',', '&', ' ']);
                let more = more.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("and"));
                group("name").into_iter().chain(more).map(without_possessive).collect()
            }
        };
        let pronouns = ["me", "us", "it", "them", "a", "an", "everyone", "and"];
        if recipients.iter().any(|name| pronouns.contains(&name.to_lowercase().as_str())) {
            return None;
        }
        let amount = amount(number.as_str(), group("scale"), group("minus").is_some())?;
        Some(Self { start: whole.start(), end: whole.end(), amount, currency, recipients })
    }
}

fn currency(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    CURRENCIES.iter().find(|(_, words)| words.contains(&word.as_str())).map(|(code, _)| *code)
}

/// A whole number stays whole: a person approves 50, not 50.0.
fn amount(number: &str, scale: Option<&str>, is_negative: bool) -> Option<Value> {
    let factor = match scale {
        Some("千") => 1_000.0,
        Some("万") => 10_000.0,
        _ => 1.0,
    };
    let amount = number.replace(',', "").parse::<f64>().ok()? * factor * if is_negative { -1.0 } else { 1.0 };
    let is_whole = amount.fract() == 0.0 && amount.abs() < 1e15;
    Some(if is_whole { Value::from(amount as i64) } else { Value::from(amount) })
}

fn without_possessive(name: &str) -> String {
    let name = name.strip_suffix("'s").or(name.strip_suffix("’s")).unwrap_or(name);
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without_honorific(name: &str) -> String {
    let name = name.trim();
    let bare = ["さん", "さま", "様", "君", "くん", "ちゃん", "氏"].iter().find_map(|end| name.strip_suffix(end));
    bare.filter(|bare| !bare.is_empty()).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(Value, &'static str, &str)]) {
        let expected: Vec<Payment> = expected
            .iter()
            .map(|(amount, currency, name)| Payment { amount: amount.clone(), currency, recipient: (*name).to_owned() })
            .collect();
        assert_eq!(payments(text), expected, "{text}");
    }

    #[test]
    fn english_payments() {
        let hanako = [(json!(50), "USD", "Hanako")];
        for text in [
            "send 50 dollars to Hanako",
            "Please send $50 to Hanako for lunch.",
            "transfer 50 to Hanako",
            "transfer 50 to Hanako today",
            "pay Hanako 50 dollars",
            "Pay Hanako $50!",
            "pay Hanako 50",
            "could you send 50 bucks to my friend Hanako today?",
            "Send 50 USD to Hanako's account",
        ] {
            check(text, &hanako);
        }
        check("pay 20 EUR to Ken and 30 EUR to Mia", &[(json!(20), "EUR", "Ken"), (json!(30), "EUR", "Mia")]);
        check("pay 20 to Ken and 30 euros to Mia", &[(json!(20), "EUR", "Ken"), (json!(30), "EUR", "Mia")]);
        check("send Alice $30 and Bob £40.50", &[(json!(30), "USD", "Alice"), (json!(40.5), "GBP", "Bob")]);
        check(
            "send 5 dollars to Alice, Bob and Mia",
            &[(json!(5), "USD", "Alice"), (json!(5), "USD", "Bob"), (json!(5), "USD", "Mia")],
        );
        check("wire 1,250.75 pounds to Ken Tanaka", &[(json!(1250.75), "GBP", "Ken Tanaka")]);
        check("send 30 yen to 花子 and play track 1", &[(json!(30), "JPY", "花子")]);
        check("Process a payment of $100 to Alice", &[(json!(100), "USD", "Alice")]);
        check("send -5 dollars to Ken", &[(json!(-5), "USD", "Ken")]);
    }

    #[test]
    fn japanese_payments() {
        check("Aliceに30ドル、Bobに40ドル送金してください", &[(json!(30), "USD", "Alice"), (json!(40), "USD", "Bob")]);
        check("Hanakoさんに50ドル送金して", &[(json!(50), "USD", "Hanako")]);
        check("50ドルを花子さんに送金して", &[(json!(50), "USD", "花子")]);
        check("30ユーロをAliceに、40ユーロをBobに送って", &[(json!(30), "EUR", "Alice"), (json!(40), "EUR", "Bob")]);
        check("はなこさんに1万円払って", &[(json!(10_000), "JPY", "はなこ")]);
        check("田中様へ1,500円を振り込んで", &[(json!(1500), "JPY", "田中")]);
        check("今日Aliceに30ドル送って", &[(json!(30), "USD", "Alice")]);
        check("花子と太郎に50ドルずつ送金して", &[(json!(50), "USD", "花子"), (json!(50), "USD", "太郎")]);
    }

    #[test]
    fn what_is_no_payment() {
        for text in [
            "give me 5 examples",
            "send Bob 3 mails",
            "send 3 mails to Bob",
            "play track 1",
            "the weather at 50 degrees to Hanako",
            "send money to Hanako",
            "pay",
            "トラック1に変更して",
            "送金して",
        ] {
            assert_eq!(payments(text), [], "{text}");
        }
        assert!(is_wanted("send money to Hanako") && is_wanted("pay Ken") && is_wanted("花子さんに送金して"));
        assert!(is_wanted("process a payment"));
        assert!(!is_wanted("send me a postcard") && !is_wanted("東京の天気は"));
    }
}
