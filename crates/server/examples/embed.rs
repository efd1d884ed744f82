//! Holdpoint inside an axum app of your own: its own login with a cookie, a log in SQLite, one tool that needs a person's approval over
//! the limit of its user, and a page beside it. Pages of other origins are refused: see `ServerBuilder::origins`.
//!
//! `cargo run -p holdpoint-server --example embed`, then:
//! `curl -c /tmp/cookies localhost:8788/login/ann` and
//! `curl -b /tmp/cookies -N localhost:8788/agent/stream --json '{"messages":[{"role":"user","content":"use refund {\"order\":\"A1\",\"amount\":250}"}]}'`

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::{Path as UrlPath, State},
    http::{header, request::Parts},
    response::IntoResponse,
    routing::get,
};
use holdpoint_demo::DemoModel;
use holdpoint_server::{
    IdentityError, Server,
    runtime::{
        Runtime, RuntimeBuilder, Subject, Tool, ToolContext, ToolError, ToolSet,
        log::{SqliteLog, Store},
        model::{
            Model,
            provider::{ProviderModel, ProviderSettings},
        },
        tool::ApprovalContext,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Failure = Box<dyn std::error::Error>;

#[derive(Deserialize, JsonSchema)]
struct Refund {
    /// The order's number.
    order: String,
    /// In dollars.
    amount: f64,
}

#[derive(Serialize)]
struct Receipt {
    order: String,
    refunded: f64,
}

async fn refund(refund: Refund, context: ToolContext) -> Result<Receipt, ToolError> {
    println!("{} refunds {} in chat {} (call {})", context.subject.as_str(), refund.amount, context.chat, context.call);
    Ok(Receipt { order: refund.order, refunded: refund.amount })
}

/// Whether a refund needs approval. A real program would read the limit of the user from its database.
async fn over_limit(refund: Refund, context: ApprovalContext) -> Result<Option<String>, ToolError> {
    let limit = if context.subject.as_str() == "boss" { 1000.0 } else { 100.0 };
    Ok((refund.amount > limit).then(|| format!("more than {limit} dollars")))
}

/// The sessions of the app: the user of each cookie.
#[derive(Clone, Default)]
struct Sessions(Arc<Mutex<HashMap<String, String>>>);

impl Sessions {
    async fn subject(self, parts: Parts) -> Result<Subject, IdentityError> {
        let cookies = parts.headers.get(header::COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let session = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("session="));
        let sessions = self.0.lock().map_err(|_| IdentityError::Unavailable("the sessions are gone".to_owned()))?;
        let user = session.and_then(|session| sessions.get(session)).ok_or("log in first: /login/NAME")?;
        Ok(Subject::from(user.as_str()))
    }
}

/// Logs in. A real program would ask for a password.
async fn login(State(sessions): State<Sessions>, UrlPath(name): UrlPath<String>) -> impl IntoResponse {
    let session = uuid::Uuid::new_v4().to_string();
    let cookie = format!("session={session}; HttpOnly; SameSite=Lax; Path=/");
    if let Ok(mut sessions) = sessions.0.lock() {
        sessions.insert(session, name);
    }
    ([(header::SET_COOKIE, cookie)], "logged in")
}

/// The runtime with the tools of the app. A test gives it a log in memory and a model with a script.
pub(crate) fn runtime(log: Arc<dyn Store>, model: Arc<dyn Model>) -> Result<RuntimeBuilder, Failure> {
    let tool = Tool::server("refund", "Refunds an order", refund)
        .approve_if(over_limit)
        .timeout(Duration::from_secs(30))
        .build()?;
    Ok(Runtime::builder(model).log(log).tools(ToolSet::new([tool])?))
}

/// The model that `MODEL` names, such as `openai:gpt-5` or `ollama:llama3.2`, with the key in the provider's usual
/// variable. Without it, the demo model, which needs no key.
fn model() -> Result<Arc<dyn Model>, Failure> {
    let Ok(name) = std::env::var("MODEL") else { return Ok(Arc::new(DemoModel)) };
    let system = Some("You work for a shop. Refund what the user asks for.".to_owned());
    let settings = ProviderSettings { system, ..ProviderSettings::default() };
    Ok(Arc::new(ProviderModel::new(name.parse()?, settings, |variable| std::env::var(variable).ok())?))
}

/// The app, with its data in this folder.
pub(crate) async fn app(data: &Path) -> Result<(Router, Server), Failure> {
    let runtime = runtime(Arc::new(SqliteLog::open(data)?), model()?)?.start().await?;
    let sessions = Sessions::default();
    let known = sessions.clone();
    let server = Server::builder(runtime).identify(move |parts| known.clone().subject(parts)).build();
    let app = Router::new()
        .route("/", get(|| async { "my own page" }))
        .route("/login/{name}", get(login))
        .with_state(sessions)
        .nest("/agent", server.router());
    Ok((app, server))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (app, server) = app(Path::new("embed-data")).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8788").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stop = async move {
        let _ = tokio::signal::ctrl_c().await;
        server.shutdown(Duration::from_secs(10)).await;
    };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    Ok(())
}

/// A test of the approval, without HTTP and without a model.
#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use holdpoint_server::{
        protocol::request::{ChatRequest, DecisionRequest},
        runtime::{View, log::MemoryLog, model::ScriptModel},
    };

    use super::*;

    const SCRIPT: &str = r#"{"turns": [{"steps": [
        [{"toolCall": {"name": "refund", "input": {"order": "A1", "amount": 250}}}],
        [{"text": ["Refunded."]}]
    ]}]}"#;

    #[tokio::test]
    async fn a_refund_over_the_limit_waits_for_a_person() -> Result<(), Failure> {
        let model = Arc::new(ScriptModel::from_text(SCRIPT)?);
        let runtime = runtime(Arc::new(MemoryLog::default()), model)?.start().await?;
        let ann = Subject::from("ann");
        let request = ChatRequest::user("chat", "Refund A1");
        let (chat, response) = runtime.submit(&ann, request, View::default()).await?;
        response.collect::<Vec<_>>().await;
        let approval = runtime.inbox(&ann).list().await.expect("it lists").remove(0);
        assert_eq!(approval.reason.as_deref(), Some("more than 100 dollars"));
        runtime.inbox(&ann).decide(approval.approval_id, DecisionRequest::from(true)).await?;
        runtime.chats(&ann).idle(&chat).await?;
        let messages = serde_json::to_string(&runtime.chats(&ann).messages(&chat).await?)?;
        assert!(messages.contains("Refunded.") && messages.contains(r#""refunded":250"#), "{messages}");
        Ok(())
    }
}
