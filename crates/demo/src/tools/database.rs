//! `search_database` and `update_database`: the second call needs the result of the first, so two approvals come in a
//! row.
//!
//! The users are fictional, and updates are not stored: everyone who tries it finds the same users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use holdpoint_runtime::tool::{Tool, ToolBuilder, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// What to look for: "inactive users", "active users", "all users", or a part of a name.
    #[schemars(length(max = 500), regex(pattern = r"\S"))]
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct Update {
    /// The ids of the users to change.
    #[schemars(length(min = 1, max = 100))]
    ids: Vec<u64>,
    /// The fields to set, and their new values.
    #[schemars(extend("minProperties" = 1))]
    set: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct User {
    id: u64,
    name: &'static str,
    status: &'static str,
    last_login: &'static str,
}

const USERS: [User; 6] = [
    User { id: 101, name: "Aiko Mori", status: "active", last_login: "2026-01-14" },
    User { id: 102, name: "Ben Carter", status: "inactive", last_login: "2024-03-02" },
    User { id: 103, name: "Chiara Russo", status: "active", last_login: "2026-01-16" },
    User { id: 104, name: "Daichi Ono", status: "inactive", last_login: "2023-11-20" },
    User { id: 105, name: "Elif Demir", status: "active", last_login: "2025-12-30" },
    User { id: 106, name: "Farid Haddad", status: "inactive", last_login: "2024-07-08" },
];

pub(super) fn search_database() -> ToolBuilder {
    Tool::server("search_database", "Finds users in the database.", |search: Search, _: ToolContext| async move {
        let users = find(&search.query);
        Ok(json!({"count": users.len(), "users": users}))
    })
    .title("Search the database")
    .approve_always()
    .idempotent()
}

pub(super) fn update_database() -> ToolBuilder {
    Tool::server(
        "update_database",
        "Sets fields of users in the database.",
        |update: Update, _: ToolContext| async move { set(&update) },
    )
    .title("Change the database")
    .approve_always()
}

fn find(query: &str) -> Vec<User> {
    let query = query.trim().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| query.contains(word));
    let is_wanted = |user: &User| {
        if has(&["inactive", "dormant", "非アクティブ", "休眠"]) {
            user.status == "inactive"
        } else if has(&["active", "アクティブ"]) {
            user.status == "active"
        } else {
            has(&["all", "everyone", "users", "ユーザー"]) || user.name.to_lowercase().contains(&query)
        }
    };
    USERS.into_iter().filter(is_wanted).collect()
}

fn set(update: &Update) -> Result<Value, ToolError> {
    if update.set.contains_key("id") {
        return Err(ToolError::new("set: the id of a user can't be changed"));
    }
    let (mut users, mut unknown) = (Vec::new(), Vec::new());
    for id in &update.ids {
        let Some(user) = USERS.iter().find(|user| user.id == *id) else {
            unknown.push(*id);
            continue;
        };
        let mut row = serde_json::to_value(user).map_err(|error| ToolError::new(error.to_string()))?;
        for (name, value) in &update.set {
            row[name] = value.clone();
        }
        users.push(row);
    }
    Ok(json!({"success": unknown.is_empty(), "updated": users.len(), "users": users, "unknown_ids": unknown}))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::Calls, *};

    #[tokio::test]
    async fn a_search_finds_users_with_their_ids() {
        let chat = Calls::of(search_database());
        for (query, ids) in [
            ("inactive users", vec![102, 104, 106]),
            ("非アクティブなユーザー", vec![102, 104, 106]),
            ("active users", vec![101, 103, 105]),
            ("all users", vec![101, 102, 103, 104, 105, 106]),
            ("Daichi", vec![104]),
            ("nobody", vec![]),
        ] {
            let output = chat.call(json!({ "query": query })).await.unwrap();
            let found: Vec<&Value> = output["users"].as_array().unwrap().iter().map(|user| &user["id"]).collect();
            assert_eq!(json!(found), json!(ids), "{query}");
            assert_eq!(output["count"], ids.len());
        }
        assert!(chat.call(json!({"query": " "})).await.unwrap_err().0.starts_with("query: "));
    }

    #[tokio::test]
    async fn an_update_sets_fields_of_known_users() {
        let chat = Calls::of(update_database());
        let output = chat.call(json!({"ids": [102, 106], "set": {"status": "deactivated"}})).await.unwrap();
        assert_eq!((&output["success"], &output["updated"]), (&json!(true), &json!(2)));
        assert_eq!(output["users"][1]["status"], "deactivated");
        let output = chat.call(json!({"ids": [102, 7], "set": {"note": null}})).await.unwrap();
        assert_eq!((&output["success"], &output["unknown_ids"]), (&json!(false), &json!([7])));
        for (input, part) in [
            (json!({"ids": [], "set": {"a": 1}}), "ids: [] "),
            (json!({"ids": ["x"], "set": {"a": 1}}), "ids.0: \"x\""),
            (json!({"ids": [102], "set": {}}), "set: {} "),
            (json!({"ids": [102]}), "set: is required"),
            (json!({"ids": [102], "set": {"id": 5}}), "set: the id of a user can't be changed"),
        ] {
            let error = chat.call(input).await.unwrap_err();
            assert!(error.0.contains(part), "{error}");
        }
    }
}
