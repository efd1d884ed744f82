//! The headline of an approval request: what a call would do, in one line, with values of its input.

use std::fmt;

use serde_json::Value;

/// Maximum length of a template, in characters.
const MAX_CHARS: usize = 200;

/// A template such as `Pay {amount} {currency} to {recipient}`. The names are those of properties of the input.
///
/// It is filled in by whoever shows it: the values are data, and never become part of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline(Box<str>);

/// Why a text cannot be a headline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeadlineError {
    /// Too long, or empty.
    #[error("it must have 1 to {MAX_CHARS} characters, in one line")]
    Length,
    /// A brace stands alone.
    #[error("the braces are not in pairs: write {{name}} where the value of the property `name` is to stand")]
    Braces,
    /// The input does not have this property.
    #[error("{{{0}}} is not a property of the input")]
    Unknown(String),
}

impl Headline {
    /// Reads a template for inputs with this schema.
    pub fn new(template: &str, schema: &Value) -> Result<Self, HeadlineError> {
        let length = template.chars().count();
        if !(1..=MAX_CHARS).contains(&length) || template.chars().any(char::is_control) {
            return Err(HeadlineError::Length);
        }
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, then) = after.split_once('}').ok_or(HeadlineError::Braces)?;
            if before.contains('}') || name.contains('{') || name.is_empty() {
                return Err(HeadlineError::Braces);
            }
            // A schema without a list of properties takes any.
            if schema.get("properties").is_some_and(|properties| properties.get(name).is_none()) {
                return Err(HeadlineError::Unknown(name.to_owned()));
            }
            rest = then;
        }
        if rest.contains('}') {
            return Err(HeadlineError::Braces);
        }
        Ok(Self(template.into()))
    }
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_template_that_can_be_filled_in_is_taken() {
        let schema = json!({"properties": {"amount": {}, "to": {}}});
        let of = |text: &str| Headline::new(text, &schema).map(|headline| headline.to_string());
        for good in ["Pay {amount} to {to}", "{amount}{to}", "Pay"] {
            assert_eq!(of(good), Ok(good.to_owned()));
        }
        assert_eq!(of("Pay {sum}"), Err(HeadlineError::Unknown("sum".to_owned())));
        for odd in ["Pay {amount", "Pay amount}", "Pay {}", "{{amount}}", "}{", "{amount}}"] {
            assert_eq!(of(odd), Err(HeadlineError::Braces), "{odd}");
        }
        for odd in ["", "a\nb", &"x".repeat(201)] {
            assert_eq!(of(odd), Err(HeadlineError::Length), "{odd}");
        }
        assert!(Headline::new("{any}", &json!({"type": "object"})).is_ok());
    }
}
