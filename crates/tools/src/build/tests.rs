use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::Condition;
use holdpoint_core::subject::Subject;

#[derive(Deserialize, JsonSchema)]
struct Add {
    left: u32,
    right: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn add() -> ToolBuilder {
    Tool::server("add", "Adds", |input: Add, _: ToolContext| async move {
        input.left.checked_add(input.right).ok_or(ToolError::new("too large"))
    })
}

fn context() -> ToolContext {
    ToolContext::new("chat", Subject::local(), "call")
}

async fn run(tool: &Tool, input: Value) -> Result<Value, ToolError> {
    (tool.handler.as_ref().expect("a handler"))(input, context()).await
}

#[tokio::test]
async fn a_handler_gets_its_type() {
    let tool = add().build().unwrap();
    assert_eq!(run(&tool, json!({"left": 2, "right": 3})).await, Ok(json!(5)));
    assert_eq!(run(&tool, json!({"left": u32::MAX, "right": 1})).await, Err(ToolError::new("too large")));
    let error = run(&tool, json!({"left": 1, "right": "3"})).await.unwrap_err();
    assert_eq!(error.0, "right: invalid type: string \"3\", expected u32");
}

#[tokio::test]
async fn an_output_that_is_no_json_is_an_error() {
    let tool = Tool::server("odd", "Odd", |_: Nothing, _: ToolContext| async move {
        Ok(std::collections::HashMap::from([((1, 2), 3)]))
    });
    let error = run(&tool.build().unwrap(), json!({})).await.unwrap_err();
    assert!(error.0.contains("can't be written as JSON"), "{error}");
}

#[tokio::test]
async fn a_delegate_may_make_its_output() {
    let plain = Tool::delegate::<Nothing>("plain", "Plain").build().unwrap();
    assert!(plain.handler.is_none());
    let told = Tool::delegate::<Nothing>("told", "Told")
        .handler(|_: Nothing, context: ToolContext| async move { Ok(json!({"for": context.call})) })
        .build()
        .unwrap();
    assert_eq!(run(&told, json!({})).await, Ok(json!({"for": "call"})));
}

#[test]
fn what_is_said_is_in_the_spec() {
    let spec = add().build().unwrap().spec;
    assert_eq!((spec.name.as_str(), spec.description.as_str(), spec.title.as_deref()), ("add", "Adds", None));
    assert_eq!((spec.execution, &spec.approval), (Execution::Server, &ApprovalPolicy::Never));
    assert_eq!(
        (spec.expires_after(), spec.frontend_timeout()),
        (Some(Duration::from_secs(300)), Duration::from_secs(60))
    );
    assert_eq!((spec.wait, spec.returns, spec.is_idempotent), (Wait::Stream, Returns::Output, false));

    let rule = Condition::over("/left", 5).unwrap();
    let spec = Tool::frontend::<Nothing>("look", "Looks")
        .title("Look")
        .approval(rule.clone())
        .approval_timeout(None)
        .timeout(Duration::from_secs(5))
        .wait(Wait::Resubmit)
        .returns(Returns::Ack)
        .idempotent()
        .schema(json!({"type": "object", "required": ["left"]}))
        .build()
        .unwrap()
        .spec;
    assert_eq!((spec.title.as_deref(), spec.execution), (Some("Look"), Execution::Frontend));
    assert_eq!((&spec.approval, spec.expires_after()), (&ApprovalPolicy::When(rule), None));
    assert_eq!(
        (spec.frontend_timeout(), spec.wait, spec.returns),
        (Duration::from_secs(5), Wait::Resubmit, Returns::Ack)
    );
    assert!(spec.is_idempotent && spec.input.check(&json!({})).is_err());
    let always = add().approve_always().approval_timeout(Some(Duration::ZERO)).build().unwrap().spec;
    assert_eq!((&always.approval, always.expires_after()), (&ApprovalPolicy::Always, None));
}

#[test]
fn a_wrong_definition_says_what_to_do() {
    let long = "x".repeat(65);
    for name in ["", "two words", "ünlich", "a.b", &long] {
        let error = Tool::frontend::<Nothing>(name, "").build().unwrap_err();
        assert_eq!(error, ToolDefinitionError::Name { name: name.to_owned() });
    }
    for name in [PROMPT_TOOL, BUDGET_TOOL] {
        let reserved = Tool::frontend::<Value>(name, "Asks").build().expect_err("it is taken");
        assert_eq!(reserved, ToolDefinitionError::Reserved { name: name.to_owned() });
    }
    assert!(Tool::frontend::<Nothing>(&"x".repeat(64), "").build().is_ok());
    assert!(Tool::frontend::<Nothing>("open-url_2", "").build().is_ok());
    let schema = Tool::frontend::<Nothing>("a", "").schema(json!({"type": "object", "required": 5}));
    let text = schema.build().unwrap_err().to_string();
    assert!(text.starts_with("the input schema of the tool `a` can't be used: #/required"), "{text}");
    let unit = Tool::frontend::<()>("a", "").build().unwrap_err().to_string();
    assert!(unit.contains("derive it from a struct"), "{unit}");
    let bare = ToolBuilder::browser::<Nothing>("a", "", Execution::Server).build().unwrap_err();
    assert_eq!(bare, ToolDefinitionError::NoHandler { tool: "a".to_owned() });
    let unused = Tool::frontend::<Nothing>("a", "").handler(|_: Value, _| async { Ok(()) }).build().unwrap_err();
    assert_eq!(unused, ToolDefinitionError::UnusedHandler { tool: "a".to_owned() });
}
