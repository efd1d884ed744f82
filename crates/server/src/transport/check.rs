//! `POST /api/check`: what `holdpoint check` does, for whoever has a capture in a browser.

use axum::{
    Json,
    body::Body,
    extract::{Query, State},
};
use holdpoint_protocol::check::{Checker, Options, Profile, Violation};
use serde::Deserialize;

use crate::{
    app::Server,
    auth::Caller,
    request::{Failure, body},
};

#[derive(Deserialize)]
pub(crate) struct Parameters {
    #[serde(default)]
    profile: ProfileName,
    text: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
enum ProfileName {
    #[default]
    AiSdk,
    AdkSse,
    AdkLive,
}

pub(crate) async fn post(
    State(server): State<Server>,
    Caller(_): Caller,
    Query(parameters): Query<Parameters>,
    capture: Body,
) -> Result<Json<Vec<Violation>>, Failure> {
    let capture = body(capture, server.inner.limits.body).await?;
    let profile = match parameters.profile {
        ProfileName::AiSdk => Profile::AiSdk,
        ProfileName::AdkSse => Profile::AdkSse,
        ProfileName::AdkLive => Profile::AdkLive,
    };
    let progressive_text = parameters.text.as_deref() == Some("progressive");
    let mut checker = Checker::new(Options { profile, progressive_text });
    checker.feed(&capture);
    checker.finish();
    match checker.unreadable() {
        Some(unreadable) => Err(Failure::Invalid(unreadable.to_string())),
        None => Ok(Json(checker.take_violations())),
    }
}
