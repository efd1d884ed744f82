//! Conversion of a server's tool list into tools.

use std::sync::Arc;

use rmcp::model::{Tool as McpTool, ToolAnnotations};
use serde_json::Value;

use super::{McpProblem, McpSettings, names::names};
use crate::tool::{ApprovalPolicy, Execution, Handler, Tool, ToolBuilder};

/// Builds the tools. One with an unusable schema is left out, and the log says why.
pub(super) fn tools(
    settings: &McpSettings,
    listed: &[McpTool],
    handler: impl Fn(String) -> Handler,
) -> Result<Arc<[Tool]>, McpProblem> {
    let has = |name: &String| listed.iter().any(|tool| tool.name == name.as_str());
    if let Some(tool) = settings.tools.keys().find(|name| !has(name)) {
        // A rule for an unknown tool would have no effect, though someone may rely on it.
        let known: Vec<&str> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(McpProblem::UnknownTool { tool: tool.clone(), known });
    }
    let names = names(&settings.name, listed.iter().map(|tool| tool.name.as_ref()));
    let made = listed.iter().filter_map(|listed| {
        let name = names.get(listed.name.as_ref())?;
        match make(settings, name, listed, handler(listed.name.clone().into_owned())) {
            Ok(tool) => Some(tool),
            Err(error) => {
                tracing::warn!(server = settings.name, %error, "a tool of an MCP server is left out");
                None
            }
        }
    });
    Ok(made.collect())
}

/// The origin of a tool. The name of a server contains no space.
pub(super) fn origin(settings: &McpSettings, tool: &str) -> String {
    format!("mcp {} {tool}", settings.name)
}

fn make(
    settings: &McpSettings,
    name: &str,
    listed: &McpTool,
    handler: Handler,
) -> Result<Tool, crate::tool::ToolDefinitionError> {
    let own = settings.tools.get(listed.name.as_ref());
    let approval = own.and_then(|own| own.approval.clone()).unwrap_or_else(|| settings.approval.clone());
    let hints = listed.annotations.as_ref().filter(|_| !own.is_some_and(|own| own.ignore_hints));
    let title = listed.title.as_ref().or(listed.annotations.as_ref().and_then(|hints| hints.title.as_ref()));
    let schema = Value::Object(listed.input_schema.as_ref().clone());
    let description = listed.description.as_deref().unwrap_or(&listed.name);
    let mut builder = ToolBuilder::browser::<Value>(name, description, Execution::Server)
        .schema(schema)
        .approval(tightened(approval, hints))
        .approval_timeout(settings.approval_timeout)
        .timeout(settings.timeout)
        .origin(origin(settings, &listed.name))
        .handler(move |input: Value, context| handler(input, context));
    if let Some(title) = title {
        builder = builder.title(title);
    }
    builder.build()
}

/// The server's annotations can make a rule stricter, never looser: they are the server's own claims.
fn tightened(approval: ApprovalPolicy, hints: Option<&ToolAnnotations>) -> ApprovalPolicy {
    let danger = hints.and_then(danger);
    match (approval, danger) {
        (approval @ (ApprovalPolicy::Always | ApprovalPolicy::AlwaysBecause(_)), _) | (approval, None) => approval,
        (ApprovalPolicy::Never | ApprovalPolicy::When(_) | ApprovalPolicy::Check(_), Some(danger)) => {
            ApprovalPolicy::AlwaysBecause(danger.into())
        }
    }
}

fn danger(hints: &ToolAnnotations) -> Option<&'static str> {
    let is_read_only = hints.read_only_hint == Some(true);
    // By the protocol, a tool that writes is destructive unless its annotation says otherwise.
    let is_destructive = match hints.destructive_hint {
        Some(is_destructive) => is_destructive,
        None => hints.read_only_hint == Some(false),
    };
    if is_destructive {
        Some("The server marks this tool as destructive")
    } else if hints.open_world_hint == Some(true) && !is_read_only {
        Some("The server marks this tool as acting on external systems")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::{
        Condition,
        mcp::{McpToolSettings, McpTransport},
    };

    fn settings(approval: ApprovalPolicy) -> McpSettings {
        let transport = McpTransport::Command { command: vec!["x".to_owned()], env: Vec::new() };
        McpSettings { approval, ..McpSettings::new("s", transport) }
    }

    fn listed(name: &str, annotations: Value) -> McpTool {
        serde_json::from_value(json!({
            "name": name, "description": "d", "inputSchema": {"type": "object"}, "annotations": annotations
        }))
        .expect("a tool")
    }

    fn nothing(_: String) -> Handler {
        Arc::new(|_, _| Box::pin(async { Ok(Value::Null) }))
    }

    fn approval_reason(settings: &McpSettings, annotations: Value) -> Option<String> {
        let tools = tools(settings, &[listed("t", annotations)], nothing).expect("tools");
        tools[0].spec.approval.approval_reason(&json!({"amount": 5}))
    }

    #[test]
    fn hints_make_a_rule_stricter() {
        let never = settings(ApprovalPolicy::Never);
        let rule = settings(Condition::over("/amount", 100).expect("a rule").into());
        for settings in [&never, &rule] {
            for (hints, word) in [
                (json!({"destructiveHint": true}), "destructive"),
                (json!({"destructiveHint": true, "readOnlyHint": true}), "destructive"),
                (json!({"readOnlyHint": false}), "destructive"),
                (json!({"openWorldHint": true}), "external"),
                (json!({"openWorldHint": true, "readOnlyHint": false, "destructiveHint": false}), "external"),
            ] {
                let reason = approval_reason(settings, hints.clone()).unwrap_or_else(|| panic!("{hints} asks"));
                assert!(reason.contains(word), "{hints}: {reason}");
            }
            for hints in [
                json!(null),
                json!({}),
                json!({"readOnlyHint": true}),
                json!({"readOnlyHint": true, "openWorldHint": true}),
                json!({"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false}),
            ] {
                assert_eq!(approval_reason(settings, hints.clone()), None, "{hints}");
            }
        }
    }

    #[test]
    fn hints_never_make_a_rule_looser() {
        let always = settings(ApprovalPolicy::Always);
        let rule = settings(Condition::under("/amount", 100).expect("a rule").into());
        for settings in [&always, &rule] {
            assert!(
                approval_reason(
                    settings,
                    json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false})
                )
                .is_some()
            );
        }
    }

    #[test]
    fn a_tool_has_its_own_settings() {
        let mut settings = settings(ApprovalPolicy::Always);
        let own = McpToolSettings { approval: Some(ApprovalPolicy::Never), ignore_hints: false };
        settings.tools.insert("t".to_owned(), own.clone());
        assert_eq!(approval_reason(&settings, json!({})), None);
        assert!(
            approval_reason(&settings, json!({"destructiveHint": true})).is_some(),
            "a hint is stricter than a tool's own setting"
        );
        settings.tools.insert("t".to_owned(), McpToolSettings { ignore_hints: true, ..own });
        assert_eq!(
            approval_reason(&settings, json!({"destructiveHint": true})),
            None,
            "unless the operator says otherwise"
        );
        settings.tools.insert("typo".to_owned(), McpToolSettings::default());
        let error = tools(&settings, &[listed("t", json!({}))], nothing).unwrap_err().to_string();
        assert!(error.contains("\"typo\"") && error.ends_with("Its tools: t"), "{error}");
    }

    #[test]
    fn a_tool_that_cannot_be_offered_is_left_out() {
        let mut odd = listed("odd", json!({}));
        odd.input_schema = Arc::new(json!({"type": "object", "required": 5}).as_object().cloned().expect("an object"));
        let tools =
            tools(&settings(ApprovalPolicy::Never), &[odd, listed("good", json!({"title": "Good"}))], nothing).unwrap();
        let spec = &tools[0].spec;
        assert_eq!((tools.len(), spec.name.as_str(), spec.title.as_deref()), (1, "s_good", Some("Good")));
    }
}
