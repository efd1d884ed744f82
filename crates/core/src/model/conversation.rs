//! Helpers for models that read the conversation themselves: the last user message, and everything since.

use super::{ModelMessage, UserPart};

/// The text of the last user message.
pub fn last_user_text(messages: &[ModelMessage]) -> String {
    let parts = messages.iter().rev().find_map(|message| match message {
        ModelMessage::User(parts) => Some(parts),
        _ => None,
    });
    let texts = parts.into_iter().flatten().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.as_str()),
        UserPart::File { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The messages after it.
pub fn since_user(messages: &[ModelMessage]) -> &[ModelMessage] {
    let last = messages.iter().rposition(|message| matches!(message, ModelMessage::User(_)));
    &messages[last.map_or(0, |index| index + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_user_message_counts() {
        let user = |texts: &[&str]| {
            let mut parts =
                vec![UserPart::File { media_type: "image/png".into(), url: "data:,".into(), filename: None }];
            parts.extend(texts.iter().map(|text| UserPart::Text((*text).to_owned())));
            ModelMessage::User(parts)
        };
        let answer = ModelMessage::Assistant { text: "yes".into(), calls: Vec::new(), state: None };
        let messages = [user(&["first"]), answer.clone(), user(&["second", "line"]), answer.clone()];
        assert_eq!(last_user_text(&messages), "second\nline");
        assert_eq!(since_user(&messages), std::slice::from_ref(&answer));
        assert_eq!(since_user(&messages[..3]), []);
        assert_eq!((last_user_text(&[]), since_user(&[])), (String::new(), [].as_slice()));
        assert_eq!(since_user(&messages[1..2]), &messages[1..2]);
    }
}
