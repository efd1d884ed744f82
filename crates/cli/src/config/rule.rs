//! Whether an approval rule is about fields that an input can have.

use holdpoint_runtime::tool::Condition;
use serde_json::Value;

use super::ToolConfigProblem;

/// Keywords by which a schema says more about its fields than `properties` does.
const OPEN: [&str; 8] =
    ["patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas", "$dynamicRef"];

/// Refuses a rule about a field that no input has: it could never be decided, and every call would need approval.
pub(super) fn check(rule: &Condition, schema: &Value) -> Result<(), ToolConfigProblem> {
    for pointer in rule.pointers() {
        let mut schema = schema;
        for name in pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")) {
            let Some(fields) = schema.get("properties").and_then(Value::as_object) else { break };
            match fields.get(&name) {
                Some(inner) => schema = inner,
                None if is_closed(schema) => {
                    let known: Vec<&str> = fields.keys().map(String::as_str).collect();
                    return Err(ToolConfigProblem::NoSuchField {
                        pointer: pointer.to_owned(),
                        known: known.join(", "),
                    });
                }
                None => break,
            }
        }
    }
    Ok(())
}

fn is_closed(schema: &Value) -> bool {
    schema.get("additionalProperties") == Some(&Value::Bool(false)) && OPEN.iter().all(|key| schema.get(key).is_none())
}
