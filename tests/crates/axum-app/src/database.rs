//! The shop's data: users with their limits, sessions, refunds.

use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};

use crate::Failure;

#[derive(Debug, Clone)]
pub struct Database {
    pool: SqlitePool,
}

impl Database {
    pub async fn open(url: &str) -> Result<Self, Failure> {
        // One connection: with more, each would have a database in memory of its own.
        let pool = SqlitePoolOptions::new().max_connections(1).connect(url).await?;
        for statement in [
            "CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, password TEXT NOT NULL, refund_limit REAL NOT NULL)",
            "CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, user TEXT NOT NULL REFERENCES users)",
            "CREATE TABLE IF NOT EXISTS refunds (call_id TEXT PRIMARY KEY, user TEXT NOT NULL, amount REAL NOT NULL)",
        ] {
            sqlx::query(statement).execute(&pool).await?;
        }
        Ok(Self { pool })
    }

    pub async fn add_user(&self, name: &str, password: &str, refund_limit: f64) -> Result<(), sqlx::Error> {
        let query = sqlx::query("INSERT INTO users VALUES (?, ?, ?)").bind(name).bind(password).bind(refund_limit);
        query.execute(&self.pool).await.map(drop)
    }

    pub async fn begin_session(&self, name: &str, password: &str) -> Result<Option<String>, sqlx::Error> {
        let query = sqlx::query_scalar("SELECT COUNT(*) FROM users WHERE name = ? AND password = ?");
        let known: i64 = query.bind(name).bind(password).fetch_one(&self.pool).await?;
        if known == 0 {
            return Ok(None);
        }
        let id = uuid::Uuid::new_v4().to_string();
        sqlx::query("INSERT INTO sessions VALUES (?, ?)").bind(&id).bind(name).execute(&self.pool).await?;
        Ok(Some(id))
    }

    pub async fn user_of(&self, session: &str) -> Result<Option<String>, sqlx::Error> {
        sqlx::query_scalar("SELECT user FROM sessions WHERE id = ?").bind(session).fetch_optional(&self.pool).await
    }

    pub async fn refund_limit(&self, user: &str) -> Result<f64, sqlx::Error> {
        sqlx::query_scalar("SELECT refund_limit FROM users WHERE name = ?").bind(user).fetch_one(&self.pool).await
    }

    /// Books a refund under the id of its call, so that a call can never be booked twice.
    pub async fn refund(&self, call: &str, user: &str, amount: f64) -> Result<(), sqlx::Error> {
        let query = sqlx::query("INSERT INTO refunds VALUES (?, ?, ?)").bind(call).bind(user).bind(amount);
        query.execute(&self.pool).await.map(drop)
    }

    pub async fn refunded(&self, user: &str) -> Result<f64, sqlx::Error> {
        let query = sqlx::query_scalar("SELECT COALESCE(SUM(amount), 0.0) FROM refunds WHERE user = ?");
        query.bind(user).fetch_one(&self.pool).await
    }
}
