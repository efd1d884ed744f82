//! The demo tools, built in so that every flow can be tried without a key and without a network.
//!
//! They return fictional data and are built with the public builder.

mod browser;
mod database;
mod payment;
mod recent;
mod weather;

use holdpoint_runtime::tool::{ToolSet, ToolSource};

/// The seven demo tools.
pub fn demo_tools() -> ToolSet {
    let builders = [
        payment::process_payment(),
        weather::get_weather(),
        browser::get_location(),
        browser::change_bgm(),
        browser::open_url(),
        database::search_database(),
        database::update_database(),
    ];
    let builders = builders.into_iter().map(|builder| builder.source(ToolSource::BuiltIn));
    builders.map(|builder| builder.build().expect("the definitions of the demo tools are good")).collect()
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use holdpoint_protocol::ids::ChatId;
    use serde_json::{Value, json};

    use super::*;
    use holdpoint_runtime::{
        subject::Subject,
        tool::{
            ApprovalPolicy::{Always, Never},
            Execution::{Delegate, Frontend, Server},
            Returns, ToolBuilder, ToolContext, ToolError, Wait,
        },
    };

    /// A chat that calls one tool as the driver does: it validates the input and passes the last output.
    pub(super) struct Calls {
        tool: holdpoint_runtime::tool::Tool,
        chat: ChatId,
        pub(super) last_output: Option<Arc<Value>>,
    }

    impl Calls {
        pub(super) fn of(builder: ToolBuilder) -> Self {
            Self { tool: builder.build().unwrap(), chat: ChatId::from("chat"), last_output: None }
        }

        pub(super) fn in_chat(&self, chat: &str) -> Self {
            Self { tool: self.tool.clone(), chat: ChatId::from(chat), last_output: None }
        }

        pub(super) async fn call(&self, input: Value) -> Result<Value, ToolError> {
            self.tool.spec.input.check(&input).map_err(ToolError::new)?;
            let mut context = ToolContext::new(self.chat.clone(), Subject::local(), "call");
            context.last_output.clone_from(&self.last_output);
            (self.tool.handler.as_ref().expect("a handler"))(input, context).await
        }
    }

    #[test]
    fn the_tools_are_those_of_the_contract() {
        let tools = demo_tools();
        let table = [
            ("change_bgm", Delegate, Never, vec!["track"], vec!["track"]),
            ("get_location", Frontend, Always, vec![], vec![]),
            ("get_weather", Server, Never, vec!["location"], vec!["location"]),
            ("open-url", Frontend, Never, vec!["url"], vec!["url", "title", "timeoutSec"]),
            (
                "process_payment",
                Server,
                Always,
                vec!["amount", "recipient", "currency"],
                vec!["amount", "recipient", "currency", "description"],
            ),
            ("search_database", Server, Always, vec!["query"], vec!["query"]),
            ("update_database", Server, Always, vec!["ids", "set"], vec!["ids", "set"]),
        ];
        assert_eq!(tools.specs().len(), table.len());
        for (spec, (name, execution, approval, required, fields)) in tools.specs().iter().zip(table) {
            assert_eq!(spec.name, name);
            assert_eq!((spec.execution, &spec.approval), (execution, &approval), "{name}");
            let schema = spec.input.as_value();
            assert_eq!(schema.get("required").cloned().unwrap_or(json!([])), json!(required), "{name}");
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            assert_eq!(properties.keys().collect::<Vec<_>>(), fields, "{name}");
            assert!(properties.values().all(|field| field["description"].is_string()), "{name}: {schema}");
            assert!(schema.get("additionalProperties").is_none(), "{name}");
            assert!(spec.title.is_some() && !spec.description.is_empty(), "{name}");
            assert_eq!(
                (spec.expires_after(), spec.frontend_timeout()),
                (Some(Duration::from_secs(300)), Duration::from_secs(60))
            );
            assert_eq!(spec.wait, Wait::Stream);
            assert_eq!(spec.returns, if name == "open-url" { Returns::Ack } else { Returns::Output });
            assert_eq!(tools.get(name).unwrap().handler.is_some(), execution != Frontend, "{name}");
        }
    }
}
