//! Conversion of a server's result into an output.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::{redact::Mask, tool::ToolError};

/// Maximum size of an output.
const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// The structured result if there is one, a single text as it is, and otherwise the list of all parts.
pub(super) fn output(result: CallToolResult, mask: &Mask) -> Result<Value, ToolError> {
    let texts: Vec<&str> =
        result.content.iter().filter_map(ContentBlock::as_text).map(|text| text.text.as_str()).collect();
    if result.is_error == Some(true) {
        let text = if texts.is_empty() { "The tool failed, and did not say why".to_owned() } else { texts.join("\n") };
        return Err(ToolError(mask.hide(&text)));
    }
    let output = match (result.structured_content, result.content.as_slice(), texts.as_slice()) {
        (Some(structured), ..) => structured,
        (None, [_], [text]) => Value::String((*text).to_owned()),
        (None, blocks, _) => serde_json::to_value(blocks)
            .map(|blocks| json!({ "content": blocks }))
            .map_err(|_| ToolError::new("The tool's answer can't be read"))?,
    };
    let is_large = serde_json::to_vec(&output).is_ok_and(|bytes| bytes.len() > MAX_OUTPUT_BYTES);
    if is_large {
        Err(ToolError(format!("The tool's answer is larger than {MAX_OUTPUT_BYTES} bytes")))
    } else {
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Secret;

    fn read(result: Value) -> Result<Value, ToolError> {
        output(serde_json::from_value(result).expect("a result"), &Mask::of([&Secret::new("hunter22")]))
    }

    #[test]
    fn an_answer_becomes_an_output() {
        let text = json!({"type": "text", "text": "hi"});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        assert_eq!(read(json!({"content": [text]})), Ok(json!("hi")));
        assert_eq!(read(json!({"content": [text, image]})), Ok(json!({"content": [text, image]})));
        assert_eq!(read(json!({"content": [text], "structuredContent": {"a": 1}})), Ok(json!({"a": 1})));
        assert_eq!(read(json!({"content": []})), Ok(json!({"content": []})));
    }

    #[test]
    fn an_error_is_told_without_secrets() {
        let failed = |text: &str| read(json!({"isError": true, "content": [{"type": "text", "text": text}]}));
        assert_eq!(failed("no key hunter22"), Err(ToolError::new("no key •••")));
        assert!(read(json!({"isError": true, "content": []})).unwrap_err().0.contains("did not say why"));
    }

    #[test]
    fn too_much_is_refused() {
        let text = "x".repeat(MAX_OUTPUT_BYTES + 1);
        assert!(read(json!({"content": [{"type": "text", "text": text}]})).unwrap_err().0.contains("larger"));
    }
}
