//! Every column of every table is compared with what follows from the facts, or the guide says why it is not.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_runtime::{
    log::{LogError, SqliteLog, Store},
    verify, verify_grants, verify_tables,
};
use rusqlite::{Connection, params_from_iter, types::Value};

use super::played;

/// How many rows of a table are changed, one after the other. The deleted chat is changed besides.
const ROWS: usize = 3;

pub(super) const GUIDE: &str = include_str!("../../../../docs/guides/record.md");

/// The columns that the guide lists as not compared.
pub(super) fn not_compared() -> BTreeSet<String> {
    let rows = GUIDE.lines().skip_while(|line| !line.starts_with("| not compared |")).skip(2);
    let columns = rows.map_while(|row| row.strip_prefix("| `")?.split_once("` |"));
    columns.map(|(column, _)| column.to_owned()).collect()
}

/// A column: its name, its type, and whether it can be null.
struct Column {
    name: String,
    kind: String,
    is_nullable: bool,
}

fn tables(file: &Connection) -> BTreeMap<String, Vec<Column>> {
    let mut select = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").expect("it is SQL");
    let names: Vec<String> =
        select.query_map([], |row| row.get(0)).expect("the database answers").collect::<Result<_, _>>().expect("names");
    let columns = |table: String| {
        let mut select = file
            .prepare("SELECT name, type, \"notnull\" = 0 AND pk = 0 FROM pragma_table_info(?1)")
            .expect("it is SQL");
        let columns = select
            .query_map([&table], |row| Ok(Column { name: row.get(0)?, kind: row.get(1)?, is_nullable: row.get(2)? }))
            .expect("the database answers")
            .collect::<Result<_, _>>()
            .expect("columns");
        (table, columns)
    };
    names.into_iter().map(columns).collect()
}

/// What somebody could write in place of a value: as SQL, of the value itself as `?1`.
fn others(column: &Column, value: &Value) -> Vec<&'static str> {
    let mut others = match value {
        Value::Null => match column.kind.as_str() {
            "INTEGER" => vec!["1"],
            "TEXT" => vec!["'x'"],
            _ => vec!["zeroblob(16)"],
        },
        Value::Integer(_) => vec!["?1 + 1", "-1", "999999"],
        Value::Text(_) => vec!["?1 || 'x'", "CAST(x'ff' AS TEXT)"],
        Value::Blob(_) => vec!["CAST(?1 || x'20' AS BLOB)", "x'01'", "CAST(x'fe' || substr(?1, 2) AS BLOB)"],
        Value::Real(_) => panic!("no column has such numbers"),
    };
    if column.is_nullable && *value != Value::Null {
        others.push("NULL");
    }
    others
}

/// A column of a row.
struct Place<'a> {
    file: &'a Connection,
    table: &'a str,
    names: &'a [&'a str],
    row: &'a [Value],
    at: usize,
}

impl Place<'_> {
    /// Whether the value could be replaced: the table may not allow it.
    fn change(&self, other: &str) -> bool {
        self.set(other, "?1").unwrap_or_default() == 1
    }

    fn restore(&self, other: &str) {
        assert_eq!(self.set("?1", other).expect("it writes"), 1, "{}: {other}", self.table);
    }

    /// Sets the column of the row in which it has a value so far. The original value is `?1`.
    fn set(&self, to: &str, from: &str) -> rusqlite::Result<usize> {
        let Self { file, table, names, row, at } = self;
        let is_same = |(each, name): (usize, &&str)| match each == *at {
            // Each parameter has to be used.
            true => format!("{name} IS {from} AND ?{0} IS ?{0}", each + 2),
            false => format!("{name} IS ?{}", each + 2),
        };
        let conditions: Vec<String> = names.iter().enumerate().map(is_same).collect();
        let statement =
            format!("UPDATE {table} SET {} = {to} WHERE ?1 IS ?1 AND {}", names[*at], conditions.join(" AND "));
        file.execute(&statement, params_from_iter(std::iter::once(&row[*at]).chain(row.iter())))
    }
}

/// Whether anything is found in a data folder. It looks no further than that.
async fn is_found(log: &dyn Store) -> bool {
    match look(log).await {
        Ok(is_found) => is_found,
        Err(LogError::Damaged(_)) => true,
        Err(error) => panic!("{error}"),
    }
}

pub(super) async fn look(log: &dyn Store) -> Result<bool, LogError> {
    let mut found = 0;
    let mut report = |_| found += 1;
    verify_tables(log, &mut report).await?;
    verify_grants(log, &mut report, &mut |_| {}).await?;
    for chat in log.ids(None, 1000).await? {
        if found > 0 {
            break;
        }
        verify(log, &chat, None, &mut |_| found += 1).await?;
    }
    Ok(found > 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_column_is_compared_or_the_guide_says_why_not() {
    let scene = played().await;
    let folder = scene.copy("columns");
    let file = Connection::open(folder.join("holdpoint.db")).expect("it opens");
    // It is only a copy.
    file.execute_batch("PRAGMA synchronous = OFF").expect("it is set");
    let log = SqliteLog::open_read_only(&folder).expect("it opens");
    assert!(!is_found(&log).await, "nothing was changed");
    let tables = tables(&file);
    let mut excused = not_compared();
    // PostgreSQL has more tables.
    excused.retain(|column| column.split_once('.').is_some_and(|(table, _)| tables.contains_key(table)));
    let (mut hidden, mut unfound): (BTreeSet<String>, Vec<String>) = Default::default();
    for (table, columns) in &tables {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let mut select = file.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2")).expect("it is SQL");
        let rows: Vec<Vec<Value>> = select
            .query_map([], |row| (0..names.len()).map(|at| row.get(at)).collect())
            .expect("the database answers")
            .collect::<Result<_, _>>()
            .expect("rows");
        drop(select);
        assert!(!rows.is_empty(), "the table {table} has no row, so nothing of it is tested");
        let each = rows.len().div_ceil(ROWS);
        let is_deleted = |row: &[Value]| {
            table == "chats"
                && row[names.iter().position(|name| *name == "deleted_at").unwrap_or_default()] != Value::Null
        };
        let chosen = rows.iter().enumerate().filter(|(at, row)| at % each == 0 || is_deleted(row));
        for (_, row) in chosen {
            for (at, column) in columns.iter().enumerate() {
                for other in others(column, &row[at]) {
                    let name = format!("{table}.{}", column.name);
                    let place = Place { file: &file, table, names: &names, row, at };
                    if !place.change(other) {
                        continue;
                    }
                    if !is_found(&log).await {
                        hidden.insert(name.clone());
                        if !excused.contains(&name) {
                            unfound.push(format!("{name} = {other} in {row:?}"));
                        }
                    }
                    place.restore(other);
                }
            }
        }
    }
    assert!(unfound.is_empty(), "not found:\n{}", unfound.join("\n"));
    assert_eq!(hidden, excused, "what the guide lists is what can be hidden");
    assert!(!is_found(&log).await, "everything was put back");
}
