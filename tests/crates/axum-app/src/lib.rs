//! A shop's back office with an agent in it: its own sessions, its own database, its own tools. Holdpoint is mounted at
//! `/agent`, and everything else is the shop's.

pub mod database;
pub mod session;
pub mod tools;

use std::sync::Arc;

use axum::{Router, routing::post};
use holdpoint_server::{
    Server,
    runtime::{Runtime, RuntimeBuilder, ToolSet, model::Model},
};

use crate::database::Database;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The runtime with the shop's tools. A test has its own model and clock.
pub fn runtime(database: &Database, model: Arc<dyn Model>) -> Result<RuntimeBuilder, Failure> {
    Ok(Runtime::builder(model).tools(ToolSet::new([tools::refund(database.clone())?])?))
}

/// The app.
pub fn app(database: Database, runtime: Runtime) -> (Router, Server) {
    let sessions = database.clone();
    let server = Server::builder(runtime).identify(move |parts| session::subject(sessions.clone(), parts)).build();
    let app = Router::new()
        .route("/login", post(session::login))
        .with_state(Arc::new(database))
        .nest("/agent", server.router());
    (app, server)
}
