//! Conditions on a call's input, and their evaluation.

use std::cmp::Ordering;

use regex::Regex;
use serde_json::{Number, Value};

use super::{
    RuleError,
    number::{compare, same},
};
use crate::tool::text::{field, pattern, show};

/// A condition on a call's input.
///
/// A comparison with a missing value, or one of another type, is undecidable. A condition that depends on such a
/// comparison requires approval, whatever surrounds it. A model must not get past a rule by omitting a field, or by
/// writing a number as a string.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(pub(super) Rule);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    Value { pointer: String, test: Test },
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    Over(Number),
    Under(Number),
    Equals(Value),
    OneOf(Vec<Value>),
    Matches(Regex),
}

/// The result of an evaluation: whether the condition holds, if decidable, and its text.
struct Finding {
    holds: Option<bool>,
    words: String,
}

impl Condition {
    /// The number at this JSON pointer is greater than the limit.
    pub fn over(pointer: &str, limit: impl Into<Value>) -> Result<Self, RuleError> {
        Self::value(pointer, Test::Over(number("over", limit.into())?))
    }

    /// The number at this JSON pointer is less than the limit.
    pub fn under(pointer: &str, limit: impl Into<Value>) -> Result<Self, RuleError> {
        Self::value(pointer, Test::Under(number("under", limit.into())?))
    }

    /// The value at this JSON pointer equals the value.
    pub fn equals(pointer: &str, value: impl Into<Value>) -> Result<Self, RuleError> {
        Self::value(pointer, Test::Equals(value.into()))
    }

    /// The value at this JSON pointer is one of these.
    pub fn one_of(pointer: &str, values: impl IntoIterator<Item = Value>) -> Result<Self, RuleError> {
        Self::value(pointer, Test::OneOf(filled("one_of", values.into_iter().collect())?))
    }

    /// The string at this JSON pointer matches this regular expression, anywhere unless anchored.
    pub fn matches(pointer: &str, expression: &str) -> Result<Self, RuleError> {
        let compiled = pattern(expression)
            .map_err(|problem| RuleError::Pattern { pattern: show(&Value::from(expression)), problem })?;
        Self::value(pointer, Test::Matches(compiled))
    }

    /// All conditions hold.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Result<Self, RuleError> {
        Ok(Self(Rule::All(filled("all", conditions.into_iter().collect())?)))
    }

    /// At least one condition holds.
    pub fn any(conditions: impl IntoIterator<Item = Self>) -> Result<Self, RuleError> {
        Ok(Self(Rule::Any(filled("any", conditions.into_iter().collect())?)))
    }

    /// The condition does not hold.
    #[allow(clippy::should_implement_trait, reason = "it is called as all and any are, not as an operator")]
    pub fn not(condition: Self) -> Self {
        Self(Rule::Not(Box::new(condition)))
    }

    /// The JSON pointers of the values that it is about.
    pub fn pointers(&self) -> Vec<&str> {
        match &self.0 {
            Rule::Value { pointer, .. } => vec![pointer],
            Rule::All(conditions) | Rule::Any(conditions) => conditions.iter().flat_map(Self::pointers).collect(),
            Rule::Not(condition) => condition.pointers(),
        }
    }

    fn value(pointer: &str, test: Test) -> Result<Self, RuleError> {
        let escapes_are_right = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        if !(pointer.is_empty() || pointer.starts_with('/')) || !escapes_are_right {
            return Err(RuleError::Pointer { pointer: pointer.to_owned() });
        }
        Ok(Self(Rule::Value { pointer: pointer.to_owned(), test }))
    }

    /// The reason to request approval, if required.
    pub(super) fn approval_reason(&self, input: &Value) -> Option<String> {
        let finding = self.check(input);
        finding.holds.unwrap_or(true).then_some(finding.words)
    }

    /// Whether it holds for an input, and that is decidable.
    pub(crate) fn certainly_holds(&self, input: &Value) -> bool {
        self.check(input).holds == Some(true)
    }

    fn check(&self, input: &Value) -> Finding {
        match &self.0 {
            Rule::Value { pointer, test } => test.check(&field(pointer), input.pointer(pointer)),
            Rule::All(parts) => combine(parts, input, false),
            Rule::Any(parts) => combine(parts, input, true),
            Rule::Not(part) => {
                let finding = part.check(input);
                Finding { holds: finding.holds.map(|holds| !holds), ..finding }
            }
        }
    }
}

/// `decisive` settles the result alone: a part that holds for "any", one that does not for "all". If no part is
/// decisive, an undecidable one makes the whole undecidable.
fn combine(parts: &[Condition], input: &Value, decisive: bool) -> Finding {
    let mut findings: Vec<Finding> = parts.iter().map(|part| part.check(input)).collect();
    if let Some(index) = findings.iter().position(|finding| finding.holds == Some(decisive)) {
        return findings.swap_remove(index);
    }
    let is_open = findings.iter().any(|finding| finding.holds.is_none());
    let words = findings.into_iter().filter(|finding| !is_open || finding.holds.is_none()).map(|finding| finding.words);
    let words = words.collect::<Vec<_>>().join(" and ");
    Finding { holds: (!is_open).then_some(!decisive), words }
}

impl Test {
    fn check(&self, field: &str, value: Option<&Value>) -> Finding {
        let Some(value) = value else {
            let words = format!("{field} is missing, so it can't be checked whether it is {}", self.words());
            return Finding { holds: None, words };
        };
        let shown = show(value);
        let holds = self.holds(value);
        let words = match (holds, self) {
            (None, test) => {
                format!("{field} is {shown}, which can't be compared: the rule asks whether it is {}", test.words())
            }
            (Some(true), Self::Equals(_)) => format!("{field} is {shown}"),
            (Some(true), test) => format!("{field} is {shown}, {}", test.words()),
            (Some(false), test) => format!("{field} is {shown}, not {}", test.words()),
        };
        Finding { holds, words }
    }

    fn holds(&self, value: &Value) -> Option<bool> {
        let order = |limit| value.as_number().and_then(|number| compare(number, limit));
        match self {
            Self::Over(limit) => order(limit).map(|order| order == Ordering::Greater),
            Self::Under(limit) => order(limit).map(|order| order == Ordering::Less),
            Self::Equals(other) => is_same_type(value, other).then(|| same(value, other)),
            Self::OneOf(others) => others
                .iter()
                .any(|other| is_same_type(value, other))
                .then(|| others.iter().any(|other| same(value, other))),
            Self::Matches(pattern) => value.as_str().map(|text| pattern.is_match(text)),
        }
    }

    /// The condition in words, as a continuation of "it is".
    fn words(&self) -> String {
        match self {
            Self::Over(limit) => format!("over {limit}"),
            Self::Under(limit) => format!("under {limit}"),
            Self::Equals(value) => show(value),
            Self::OneOf(values) => {
                let shown: Vec<String> = values.iter().take(5).map(show).collect();
                let more = if values.len() > shown.len() { ", …" } else { "" };
                format!("one of {}{more}", shown.join(", "))
            }
            Self::Matches(pattern) => format!("a match of {pattern}"),
        }
    }
}

impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Over(left), Self::Over(right)) | (Self::Under(left), Self::Under(right)) => left == right,
            (Self::Equals(left), Self::Equals(right)) => left == right,
            (Self::OneOf(left), Self::OneOf(right)) => left == right,
            (Self::Matches(left), Self::Matches(right)) => left.as_str() == right.as_str(),
            _ => false,
        }
    }
}

fn is_same_type(left: &Value, right: &Value) -> bool {
    std::mem::discriminant(left) == std::mem::discriminant(right)
}

fn number(key: &'static str, value: Value) -> Result<Number, RuleError> {
    match value {
        Value::Number(number) => Ok(number),
        other => Err(RuleError::NotANumber { key, value: show(&other) }),
    }
}

fn filled<T>(key: &'static str, values: Vec<T>) -> Result<Vec<T>, RuleError> {
    if values.is_empty() { Err(RuleError::Empty { key }) } else { Ok(values) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn approval_reason(condition: &Result<Condition, RuleError>, input: Value) -> Option<String> {
        condition.as_ref().expect("a rule").approval_reason(&input)
    }

    #[test]
    fn a_comparison_says_what_it_saw() {
        let over = Condition::over("/amount", 100);
        assert_eq!(approval_reason(&over, json!({"amount": 250})).unwrap(), "amount is 250, over 100");
        assert_eq!(approval_reason(&over, json!({"amount": 100.5})).unwrap(), "amount is 100.5, over 100");
        assert_eq!(approval_reason(&over, json!({"amount": 100})), None);
        assert_eq!(approval_reason(&over, json!({"amount": -5})), None);

        let under = Condition::under("/items/1/price", 0.5);
        assert_eq!(
            approval_reason(&under, json!({"items": [{}, {"price": 0}]})).unwrap(),
            "items.1.price is 0, under 0.5"
        );
        assert_eq!(approval_reason(&under, json!({"items": [{}, {"price": 1}]})), None);

        let equals = Condition::equals("/place", "東京");
        assert_eq!(approval_reason(&equals, json!({"place": "東京"})).unwrap(), "place is \"東京\"");
        assert_eq!(approval_reason(&equals, json!({"place": "大阪"})), None);

        let one_of = Condition::one_of("/currency", [json!("EUR"), json!("GBP")]);
        let words = approval_reason(&one_of, json!({"currency": "GBP"})).unwrap();
        assert_eq!(words, "currency is \"GBP\", one of \"EUR\", \"GBP\"");
        assert_eq!(approval_reason(&one_of, json!({"currency": "USD"})), None);

        let matches = Condition::matches("/url", "^http:");
        let words = approval_reason(&matches, json!({"url": "http://a.example"})).unwrap();
        assert_eq!(words, "url is \"http://a.example\", a match of ^http:");
        assert_eq!(approval_reason(&matches, json!({"url": "https://a.example"})), None);

        let whole = Condition::equals("", json!({"a": 1}));
        assert_eq!(approval_reason(&whole, json!({"a": 1.0})).unwrap(), "the input is {\"a\":1.0}");
        assert_eq!(approval_reason(&whole, json!({"a": 2})), None);
    }

    #[test]
    fn what_cannot_be_compared_asks_and_says_so() {
        let over = Condition::over("/amount", 100);
        let missing = "amount is missing, so it can't be checked whether it is over 100";
        assert_eq!(approval_reason(&over, json!({})).unwrap(), missing);
        assert_eq!(approval_reason(&over, json!("text")).unwrap(), missing);
        let words = approval_reason(&over, json!({"amount": "5"})).unwrap();
        assert_eq!(words, "amount is \"5\", which can't be compared: the rule asks whether it is over 100");
        for other in [json!(null), json!(true), json!([5]), json!({"value": 5})] {
            assert!(approval_reason(&over, json!({ "amount": other })).is_some());
        }
        assert!(approval_reason(&Condition::equals("/a", "x"), json!({"a": 5})).is_some());
        assert!(approval_reason(&Condition::one_of("/a", [json!("x"), json!("y")]), json!({"a": null})).is_some());
        assert!(approval_reason(&Condition::matches("/a", "x"), json!({"a": 5})).is_some());
        let negated = Condition::over("/amount", 100).map(Condition::not);
        assert_eq!(approval_reason(&negated, json!({})).unwrap(), missing);
        assert!(approval_reason(&negated, json!({"amount": "500"})).is_some());
    }

    #[test]
    fn large_whole_numbers_keep_their_digits() {
        let over = Condition::over("/amount", 9_007_199_254_740_992_u64);
        assert!(approval_reason(&over, json!({"amount": 9_007_199_254_740_993_u64})).is_some());
        assert!(approval_reason(&over, json!({"amount": 9_007_199_254_740_992_u64})).is_none());
        assert!(approval_reason(&Condition::equals("/n", 1), json!({"n": 1.0})).is_some());
    }

    #[test]
    fn rules_combine_and_what_is_open_stays_open_only_where_it_matters() {
        let usd = || Condition::equals("/currency", "USD").unwrap();
        let large = || Condition::over("/amount", 100).unwrap();
        let all = Condition::all([usd(), large()]);
        let words = approval_reason(&all, json!({"currency": "USD", "amount": 250})).unwrap();
        assert_eq!(words, "currency is \"USD\" and amount is 250, over 100");
        assert_eq!(approval_reason(&all, json!({"currency": "USD", "amount": 50})), None);
        // Whatever the amount, this condition would not hold.
        assert_eq!(approval_reason(&all, json!({"currency": "EUR"})), None);
        assert!(approval_reason(&all, json!({"currency": "USD"})).unwrap().contains("amount is missing"));

        let any = Condition::any([usd(), large()]);
        assert_eq!(
            approval_reason(&any, json!({"currency": "EUR", "amount": 250})).unwrap(),
            "amount is 250, over 100"
        );
        assert_eq!(approval_reason(&any, json!({"currency": "USD"})).unwrap(), "currency is \"USD\"");
        assert!(approval_reason(&any, json!({"currency": "EUR"})).unwrap().contains("amount is missing"));
        assert_eq!(approval_reason(&any, json!({"currency": "EUR", "amount": 1})), None);

        let neither = any.map(Condition::not);
        let words = approval_reason(&neither, json!({"currency": "EUR", "amount": 1})).unwrap();
        assert_eq!(words, "currency is \"EUR\", not \"USD\" and amount is 1, not over 100");
        assert_eq!(approval_reason(&neither, json!({"currency": "USD", "amount": 1})), None);
    }

    #[test]
    fn a_rule_that_makes_no_sense_cannot_be_made() {
        for (rule, part) in [
            (Condition::over("amount", 1), "start it with a slash"),
            (Condition::over("/a~2", 1), "start it with a slash"),
            (Condition::over("/a", "1"), "`over` needs a number, not \"1\""),
            (Condition::under("/a", f64::NAN), "`under` needs a number"),
            (Condition::one_of("/a", []), "`one_of` is empty"),
            (Condition::all([]), "`all` is empty"),
            (Condition::any([]), "`any` is empty"),
            (Condition::matches("/a", "(("), "unclosed group"),
        ] {
            let text = rule.unwrap_err().to_string();
            assert!(text.contains(part), "{text}");
        }
    }
}
