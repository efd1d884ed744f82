//! One tool with an unusual schema, or one tool too many, must not fail every chat.

use std::sync::Arc;

use futures::StreamExt;
use holdpoint_runtime::{
    model::{
        Model, ModelRequest,
        provider::{OpenAiApi, Provider, ProviderSettings},
    },
    tool::{Instructions, Tool, ToolContext, ToolSpec},
};
use serde_json::{Value, json};

use crate::{
    model, said,
    server::Fake,
    text,
    wires::{self, Answer, Sent, Wire},
};

crate::for_all!(
    unusual_schemas_are_offered,
    too_many_tools_are_left_out,
    the_system_prompt_is_one_text,
    what_servers_say_follows_the_system_prompt,
);

/// As MCP servers have them: <https://github.com/makenotion/notion-mcp-server/issues/341>.
fn unusual() -> Vec<Value> {
    let (page, id) = (json!({"type": "string"}), json!({"required": ["id"]}));
    vec![
        json!({}),
        json!({"properties": {"page": page}}),
        json!({"type": "object", "properties": {"page": page, "id": page}, "anyOf": [{"required": ["page"]}, id]}),
        json!({"oneOf": [{"type": "object", "properties": {"page": page}}, {"type": "object", "properties": {"id": page}}]}),
        json!({"allOf": [{"$ref": "#/$defs/page"}], "$defs": {"page": {"type": "object", "properties": {"page": page}}}}),
        json!({"$ref": "#/$defs/page", "$defs": {"page": {"type": "object", "properties": {"page": page}}}}),
    ]
}

fn tools(schemas: impl IntoIterator<Item = Value>) -> Arc<[Arc<ToolSpec>]> {
    let tools = schemas.into_iter().enumerate().map(|(at, schema)| {
        let tool = Tool::server(&format!("tool_{at}"), "Does it.", |_: Value, _: ToolContext| async { Ok(json!(1)) });
        tool.schema(schema).build().expect("a tool").spec
    });
    tools.collect()
}

async fn unusual_schemas_are_offered(wire: &dyn Wire) {
    let fake = Fake::start([wire.answer(&Answer { text: vec!["Fine."], ..Answer::default() })]).await;
    let model = model(wire, &fake.url, ProviderSettings::default());
    let tools = tools(unusual());
    assert_eq!(model.not_offered(&tools), []);
    let request = ModelRequest { messages: [said("Hi")].into(), tools, instructions: [].into() };
    let events: Vec<_> = model.stream(request).collect().await;
    assert_eq!(text(&events), "Fine.", "{events:?}");
    let sent = wire.settings(&fake.asked()[0]).tools;
    assert_eq!(sent.len(), unusual().len());
    // The model knows every property, and what the schema says of them.
    assert!(sent[1..].iter().all(|(_, schema)| schema.to_string().contains("page")), "{sent:?}");
    assert!(fake.asked()[0].body.to_string().contains("required"), "{}", fake.asked()[0].body);
}

async fn too_many_tools_are_left_out(wire: &dyn Wire) {
    let fake = Fake::start([wire.answer(&Answer { text: vec!["Fine."], ..Answer::default() })]).await;
    let model = model(wire, &fake.url, ProviderSettings::default());
    let tools = tools((0..160).map(|_| json!({"type": "object"})));
    let is_limited = wire.provider() == Provider::OpenAi && wire.api() != Some(OpenAiApi::Responses);
    let left_out = model.not_offered(&tools);
    assert_eq!(left_out.len(), if is_limited { 32 } else { 0 });
    let events: Vec<_> =
        model.stream(ModelRequest { messages: [said("Hi")].into(), tools, instructions: [].into() }).collect().await;
    assert_eq!(text(&events), "Fine.", "{events:?}");
    let sent = wire.settings(&fake.asked()[0]).tools;
    assert_eq!(sent.len() + left_out.len(), 160);
    // Always the same ones: the last.
    assert_eq!((sent[0].0.as_str(), sent[127].0.as_str()), ("tool_0", "tool_127"));
    if is_limited {
        let told = left_out[0].to_string();
        assert!(told.contains("tool_128") && told.contains("128 tools") && told.contains("responses"), "{told}");
    }
}

/// DeepSeek refuses parts, and so do servers whose templates know texts only: <https://github.com/BerriAI/litellm/issues/6642>.
async fn the_system_prompt_is_one_text(wire: &dyn Wire) {
    let fake = Fake::start([wire.answer(&Answer { text: vec!["Fine."], ..Answer::default() })]).await;
    let settings = ProviderSettings { system: Some("Be kind.".to_owned()), ..ProviderSettings::default() };
    let model = model(wire, &fake.url, settings);
    let events: Vec<_> = model.stream(crate::request(vec![said("Hi")])).collect().await;
    assert_eq!(text(&events), "Fine.", "{events:?}");
    let asked = &fake.asked()[0];
    assert_eq!(wire.sent(asked)[0], Sent::System("Be kind.".to_owned()));
    if wire.path().ends_with("/chat/completions") {
        assert_eq!(asked.body["messages"][0], json!({"role": "system", "content": "Be kind."}));
        assert_eq!(asked.body["messages"][1], json!({"role": "user", "content": "Hi"}));
    }
}

/// Bedrock behind a gateway does not know the field; who does can say so.
#[tokio::test(start_paused = true)]
async fn inputs_are_streamed_eagerly_at_anthropic_or_by_the_settings() {
    let wire = &wires::Anthropic;
    for (setting, is_sent) in [(None, false), (Some(false), false), (Some(true), true)] {
        let fake = Fake::start([wire.answer(&Answer { text: vec!["Fine."], ..Answer::default() })]).await;
        let settings = ProviderSettings { eager_input_streaming: setting, ..ProviderSettings::default() };
        let _: Vec<_> = model(wire, &fake.url, settings).stream(crate::request(vec![said("Hi")])).collect().await;
        let body = &fake.asked()[0].body;
        assert_eq!(body["tools"][0]["eager_input_streaming"] == true, is_sent, "{body}");
    }
}

/// After the operator's own words, each with the name of its server, as one text.
async fn what_servers_say_follows_the_system_prompt(wire: &dyn Wire) {
    for (system, begin) in [(Some("Be kind."), "Be kind.\n\nThe MCP server `files`"), (None, "The MCP server `files`")]
    {
        let fake = Fake::start([wire.answer(&Answer { text: vec!["Fine."], ..Answer::default() })]).await;
        let settings = ProviderSettings { system: system.map(str::to_owned), ..ProviderSettings::default() };
        let said_by = |server, text| Instructions::new(server, text).expect("it says something");
        let instructions = [said_by("files", "Search first.\nThen read."), said_by("bank", "Never guess.")];
        let request =
            ModelRequest { messages: [said("Hi")].into(), tools: [].into(), instructions: instructions.clone().into() };
        let events: Vec<_> = model(wire, &fake.url, settings).stream(request).collect().await;
        assert_eq!(text(&events), "Fine.", "{events:?}");
        let sent = wire.sent(&fake.asked()[0]);
        let [Sent::System(sent), ..] = &*sent else { panic!("it begins with the system prompt: {sent:?}") };
        assert!(sent.starts_with(begin), "{sent}");
        assert!(sent.contains("\n> Search first.\n> Then read.\n\nThe MCP server `bank`"), "{sent}");
        assert!(sent.ends_with("\n> Never guess."), "{sent}");
    }
}
