use std::{path::Path, sync::Arc, time::Duration};

use axum_app::{Failure, app, database::Database, runtime};
use holdpoint_demo::DemoModel;
use holdpoint_server::runtime::log::SqliteLog;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let database = Database::open("sqlite:shop.db?mode=rwc").await?;
    let log = Arc::new(SqliteLog::open(Path::new("agent-data"))?);
    let (app, server) = app(database.clone(), runtime(&database, Arc::new(DemoModel))?.log(log).start().await?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8788").await?;
    let stop = async move {
        let _ = tokio::signal::ctrl_c().await;
        server.shutdown(Duration::from_secs(10)).await;
    };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    Ok(())
}
