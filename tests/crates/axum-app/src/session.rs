//! The shop's login: a session in a cookie.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use holdpoint_server::{IdentityError, runtime::Subject};
use serde::Deserialize;

use crate::database::Database;

#[derive(Deserialize)]
pub struct Login {
    name: String,
    password: String,
}

/// `POST /login`
pub async fn login(State(database): State<Arc<Database>>, Json(login): Json<Login>) -> Response {
    match database.begin_session(&login.name, &login.password).await {
        Ok(Some(session)) => {
            let cookie = format!("session={session}; HttpOnly; SameSite=Lax; Path=/");
            ([(header::SET_COOKIE, cookie)], StatusCode::NO_CONTENT).into_response()
        }
        Ok(None) => StatusCode::UNAUTHORIZED.into_response(),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Who sends a request to the agent.
pub async fn subject(database: Database, parts: Parts) -> Result<Subject, IdentityError> {
    let cookies = parts.headers.get(header::COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let session = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("session=")).ok_or("log in first")?;
    let user = database.user_of(session).await;
    let user = user.map_err(|error| IdentityError::Unavailable(error.to_string()))?;
    Ok(Subject::from(user.ok_or("the session is over: log in again")?.as_str()))
}
