//! Conversion of a server's result into an output.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::{ToolContext, ToolError};
use holdpoint_core::redact::Mask;

/// Maximum size of an output, without its files.
const MAX_OUTPUT_BYTES: usize = 4 << 20;

/// The structured result if there is one, a single text as it is, and otherwise the list of all parts. Pictures, sound and
/// other files are stored, and a link takes their place.
pub(super) fn output(result: CallToolResult, mask: &Mask, context: &ToolContext) -> Result<Value, ToolError> {
    let texts: Vec<&str> =
        result.content.iter().filter_map(ContentBlock::as_text).map(|text| text.text.as_str()).collect();
    if result.is_error == Some(true) {
        let text = if texts.is_empty() { "The tool failed, and did not say why".to_owned() } else { texts.join("\n") };
        return Err(ToolError::new(mask.hide(&text)));
    }
    let has_files = result.content.iter().any(has_file);
    let output = match (result.structured_content, result.content.as_slice(), texts.as_slice()) {
        (Some(structured), ..) if !has_files => structured,
        (None, [_], [text]) => Value::String((*text).to_owned()),
        (structured, blocks, _) => {
            // The texts repeat the structured result.
            let blocks = blocks.iter().filter(|block| structured.is_none() || has_file(block));
            let blocks: Vec<Value> = blocks.map(|block| part(block, context)).collect::<Result<_, _>>()?;
            match structured {
                Some(structured) => json!({ "structuredContent": structured, "content": blocks }),
                None => json!({ "content": blocks }),
            }
        }
    };
    let is_large = serde_json::to_vec(&output).is_ok_and(|bytes| bytes.len() > MAX_OUTPUT_BYTES);
    if is_large {
        Err(ToolError::new(format!("The tool ran, but its answer is larger than {MAX_OUTPUT_BYTES} bytes")))
    } else {
        Ok(output)
    }
}

/// Whether a part has bytes to store.
fn has_file(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Image(_) | ContentBlock::Audio(_) => true,
        ContentBlock::Resource(resource) => matches!(resource.resource, ResourceContents::BlobResourceContents { .. }),
        _ => false,
    }
}

/// A part of the output.
fn part(block: &ContentBlock, context: &ToolContext) -> Result<Value, ToolError> {
    let unreadable = |_| ToolError::new("The tool's answer can't be read");
    let link = match block {
        ContentBlock::Image(image) => context.store_base64(&image.mime_type, &image.data)?,
        ContentBlock::Audio(audio) => context.store_base64(&audio.mime_type, &audio.data)?,
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let link = context.store_base64(mime_type.as_deref().unwrap_or_default(), blob)?;
                let mut link = serde_json::to_value(link).map_err(unreadable)?;
                link["uri"] = uri.as_str().into();
                return Ok(link);
            }
            _ => return serde_json::to_value(block).map_err(unreadable),
        },
        _ => return serde_json::to_value(block).map_err(unreadable),
    };
    serde_json::to_value(link).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn read(result: Value) -> Result<Value, ToolError> {
        let context = ToolContext::new("chat", "ann", "call");
        output(serde_json::from_value(result).expect("a result"), &Mask::of([&Secret::new("hunter22")]), &context)
    }

    #[test]
    fn an_answer_becomes_an_output() {
        let text = json!({"type": "text", "text": "hi"});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        assert_eq!(read(json!({"content": [text]})), Ok(json!("hi")));
        let link = json!({"type": "image", "mimeType": "image/png", "bytes": 1, "url": "/api/chat/chat/files/call/0"});
        assert_eq!(read(json!({"content": [text, image]})), Ok(json!({"content": [text, link]})));
        let both = json!({"content": [text, image], "structuredContent": {"a": 1}});
        assert_eq!(read(both), Ok(json!({"structuredContent": {"a": 1}, "content": [link]})));
        assert_eq!(read(json!({"content": [text], "structuredContent": {"a": 1}})), Ok(json!({"a": 1})));
        assert_eq!(read(json!({"content": []})), Ok(json!({"content": []})));
    }

    #[test]
    fn sound_and_files_are_stored_and_linked() {
        let audio = json!({"type": "audio", "data": "AAA=", "mimeType": "audio/wav"});
        let blob = json!({"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "AA=="}});
        let note = json!({"type": "resource", "resource": {"uri": "file:///a.txt", "text": "hi"}});
        let output = read(json!({"content": [audio, blob, note]})).expect("an output");
        let url = |index| format!("/api/chat/chat/files/call/{index}");
        let sound = json!({"type": "audio", "mimeType": "audio/wav", "bytes": 2, "url": url(0)});
        let file =
            json!({"type": "file", "mimeType": "application/pdf", "bytes": 1, "url": url(1), "uri": "file:///a.pdf"});
        assert_eq!(output, json!({"content": [sound, file, note]}));
        let broken = json!({"type": "image", "data": "###", "mimeType": "image/png"});
        assert!(read(json!({"content": [broken]})).unwrap_err().0.contains("not base64"));
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
