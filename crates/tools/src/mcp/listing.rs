//! Conversion of a server's tool list into tools.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use rmcp::model::{Tool as McpTool, ToolAnnotations};
use serde_json::Value;

use super::{McpSettings, McpWarning, list::Listed, names::names};
use crate::{ApprovalPolicy, Execution, Handler, Tool, ToolBuilder, ToolError, ToolOrigin, text::plain};

/// How much is shown of the name of an entry that can't be used.
const MAX_NAME_CHARS: usize = 64;

/// The tools of a server, and what in its settings has no effect.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) tools: Arc<[Tool]>,
    pub(super) warnings: Vec<McpWarning>,
}

/// Builds the tools that are offered. One with an unusable schema is left out. `handler` gets the server's own name of a
/// tool, and the timeout of its calls.
pub(super) fn tools(
    settings: &McpSettings,
    Listed { tools: listed, odd }: &Listed,
    handler: impl Fn(String, Duration) -> Handler,
) -> Listing {
    let problem = "its entry in the server's list is not what the protocol says";
    let left_out =
        |tool: &String| McpWarning::LeftOut { tool: plain(tool, MAX_NAME_CHARS), problem: problem.to_owned() };
    let mut warnings: Vec<McpWarning> = odd.iter().map(left_out).collect();
    let filters = [("tools", settings.offered.as_ref()), ("deny", Some(&settings.denied))];
    for (key, named) in filters {
        let unknown = named.into_iter().flatten().filter(|name| !listed.iter().any(|tool| tool.name == name.as_str()));
        warnings.extend(unknown.map(|tool| McpWarning::UnknownFilter {
            key,
            tool: tool.clone(),
            known: or_none(listed.iter().map(|tool| tool.name.as_ref())),
        }));
    }
    // Nobody can say which of them a call would be for.
    let is_ambiguous = |name: &str| listed.iter().filter(|tool| tool.name == name).count() > 1;
    let ambiguous: BTreeSet<&str> = listed.iter().map(|tool| &*tool.name).filter(|name| is_ambiguous(name)).collect();
    warnings.extend(ambiguous.iter().map(|name| McpWarning::LeftOut {
        tool: plain(name, MAX_NAME_CHARS),
        problem: "the server lists several tools of this name".to_owned(),
    }));
    let names = names(&settings.name, listed.iter().map(|tool| tool.name.as_ref()));
    let is_offered = |name: &str| {
        settings.offered.as_ref().is_none_or(|offered| offered.contains(name))
            && !settings.denied.contains(name)
            && !ambiguous.contains(name)
    };
    let mut tools = Vec::new();
    let mut offered = Vec::new();
    for tool in listed.iter().filter(|tool| is_offered(&tool.name)) {
        let Some(name) = names.get(tool.name.as_ref()) else { continue };
        offered.push(name.as_str());
        match make(settings, name, tool, handler(tool.name.clone().into_owned(), settings.timeout_of(name))) {
            Ok(tool) => tools.push(tool),
            Err(error) => warnings.push(McpWarning::LeftOut { tool: name.clone(), problem: error.0 }),
        }
    }
    // Somebody may rely on the settings of a tool that is not there.
    let unknown = settings.tools.keys().filter(|name| !offered.contains(&name.as_str()));
    warnings.extend(
        unknown.map(|tool| McpWarning::UnknownTool { tool: tool.clone(), known: or_none(offered.iter().copied()) }),
    );
    Listing { tools: tools.into(), warnings }
}

fn or_none<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The origin of a tool.
pub(super) fn origin(settings: &McpSettings, tool: &str) -> ToolOrigin {
    ToolOrigin::Mcp { server: settings.name.clone(), tool: tool.to_owned() }
}

fn make(settings: &McpSettings, name: &str, listed: &McpTool, handler: Handler) -> Result<Tool, ToolError> {
    let own = settings.tools.get(name);
    let approval = own.and_then(|own| own.approval.clone()).unwrap_or_else(|| settings.approval.clone());
    let hints = listed.annotations.as_ref().filter(|_| !own.is_some_and(|own| own.ignore_hints));
    let title = listed.title.as_ref().or(listed.annotations.as_ref().and_then(|hints| hints.title.as_ref()));
    let schema = Value::Object(listed.input_schema.as_ref().clone());
    let description = listed.description.as_deref().unwrap_or(&listed.name);
    let mut builder = ToolBuilder::browser::<Value>(name, description, Execution::Server)
        .schema(schema)
        .approval(tightened(approval, hints))
        .grants(settings.grants)
        .approval_timeout(settings.approval_timeout)
        .origin(origin(settings, &listed.name))
        .handler(move |input: Value, context| handler(input, context));
    if let Some(title) = title {
        builder = builder.title(title);
    }
    let tool = builder.build()?;
    match own.and_then(|own| own.change.as_ref()) {
        Some(change) => (change.0)(tool),
        None => Ok(tool),
    }
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
    // By the protocol, a tool that writes is destructive unless its annotation says otherwise.
    let is_destructive = match hints.destructive_hint {
        Some(is_destructive) => is_destructive,
        None => hints.read_only_hint == Some(false),
    };
    if is_destructive {
        Some("The server marks this tool as destructive")
    } else if hints.open_world_hint == Some(true) {
        // Also if it only reads: what it asks the outside world may tell it something.
        Some("The server marks this tool as acting on external systems")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
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

    fn list(tools: impl IntoIterator<Item = McpTool>) -> Listed {
        Listed { tools: tools.into_iter().collect(), odd: Vec::new() }
    }

    fn nothing(_: String, _: Duration) -> Handler {
        Arc::new(|_, _| Box::pin(async { Ok(Value::Null) }))
    }

    fn approval_reason(settings: &McpSettings, annotations: Value) -> Option<String> {
        let tools = tools(settings, &list([listed("t", annotations)]), nothing).tools;
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
                (json!({"openWorldHint": true, "readOnlyHint": true}), "external"),
                (json!({"openWorldHint": true, "readOnlyHint": false, "destructiveHint": false}), "external"),
            ] {
                let reason = approval_reason(settings, hints.clone()).unwrap_or_else(|| panic!("{hints} asks"));
                assert!(reason.contains(word), "{hints}: {reason}");
            }
            for hints in [
                json!(null),
                json!({}),
                json!({"readOnlyHint": true}),
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
    fn approvals_are_remembered_unless_the_settings_say_otherwise() {
        let allows = |settings: &McpSettings| {
            tools(settings, &list([listed("t", json!({}))]), nothing).tools[0].spec.allows_grants()
        };
        let mut settings = settings(ApprovalPolicy::Always);
        assert!(allows(&settings));
        settings.grants = false;
        assert!(!allows(&settings));
    }

    #[test]
    fn a_tool_has_its_own_settings() {
        let mut settings = settings(ApprovalPolicy::Always);
        let own = McpToolSettings { approval: Some(ApprovalPolicy::Never), ..McpToolSettings::default() };
        settings.tools.insert("s_t".to_owned(), own.clone());
        assert_eq!(approval_reason(&settings, json!({})), None);
        assert!(
            approval_reason(&settings, json!({"destructiveHint": true})).is_some(),
            "a hint is stricter than a tool's own setting"
        );
        settings.tools.insert("s_t".to_owned(), McpToolSettings { ignore_hints: true, ..own });
        assert_eq!(
            approval_reason(&settings, json!({"destructiveHint": true})),
            None,
            "unless the operator says otherwise"
        );
    }

    #[test]
    fn settings_without_an_effect_are_told() {
        let mut settings = settings(ApprovalPolicy::Never);
        settings.tools.insert("s_typo".to_owned(), McpToolSettings::default());
        let told = |settings: &McpSettings| {
            let listing = tools(settings, &list([listed("a", json!({})), listed("b.c", json!({}))]), nothing);
            let names: Vec<String> = listing.tools.iter().map(|tool| tool.spec.name.clone()).collect();
            (names.join(" "), listing.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        };
        let (names, warnings) = told(&settings);
        assert_eq!(names, "s_a s_b_c");
        assert!(warnings.contains("\"s_typo\"") && warnings.ends_with("What is offered: s_a, s_b_c"), "{warnings}");

        settings.tools = [("s_b_c".to_owned(), McpToolSettings::default())].into();
        assert_eq!(told(&settings).1, "", "a tool is set by the name under which it is offered");
        settings.offered = Some(["a", "b.c", "d"].map(str::to_owned).into());
        settings.denied = ["b.c", "e"].map(str::to_owned).into();
        let (names, warnings) = told(&settings);
        assert_eq!(names, "s_a", "what is denied is not offered, even if it is named");
        for part in ["`tools` names the tool \"d\"", "`deny` names the tool \"e\"", "Its tools: a, b.c", "\"s_b_c\""] {
            assert!(warnings.contains(part), "{part} in: {warnings}");
        }
    }

    #[test]
    fn a_tool_that_cannot_be_changed_as_the_settings_say_is_left_out() {
        let mut settings = settings(ApprovalPolicy::Never);
        let change = crate::mcp::ToolChange::new(|_| Err(ToolError::new("no")));
        let own = McpToolSettings { change: Some(change), ..McpToolSettings::default() };
        settings.tools.insert("s_t".to_owned(), own);
        let listing = tools(&settings, &list([listed("t", json!({}))]), nothing);
        assert!(listing.tools.is_empty());
        assert_eq!(listing.warnings, [McpWarning::LeftOut { tool: "s_t".to_owned(), problem: "no".to_owned() }]);
    }

    #[test]
    fn tools_that_share_a_name_are_left_out() {
        let twice = [listed("good", json!({})), listed("good", json!({"title": "Other"})), listed("x", json!({}))];
        let listing = tools(&settings(ApprovalPolicy::Never), &list(twice), nothing);
        let names: Vec<&str> = listing.tools.iter().map(|tool| tool.spec.name.as_str()).collect();
        assert_eq!(names, ["s_x"]);
        assert!(matches!(&*listing.warnings, [McpWarning::LeftOut { tool, .. }] if tool == "good"));
    }

    #[test]
    fn a_tool_that_cannot_be_offered_is_left_out() {
        let mut odd = listed("odd", json!({}));
        odd.input_schema = Arc::new(json!({"type": "object", "required": 5}).as_object().cloned().expect("an object"));
        let good = listed("good", json!({"title": "Good"}));
        let listing = tools(&settings(ApprovalPolicy::Never), &list([odd, good]), nothing);
        let spec = &listing.tools[0].spec;
        assert_eq!((listing.tools.len(), spec.name.as_str(), spec.title.as_deref()), (1, "s_good", Some("Good")));
        assert!(matches!(&*listing.warnings, [McpWarning::LeftOut { tool, .. }] if tool == "s_odd"));
    }
}
