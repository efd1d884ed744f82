//! Tool names that every model provider accepts.

use std::collections::BTreeMap;

/// The limit of model providers.
const MAX_NAME_LENGTH: usize = 64;

/// `SERVER_tool` for each tool, by the server's own names. A name does not depend on the order of the list, since old
/// messages refer to it.
pub(super) fn names<'a>(server: &str, tools: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, String> {
    let mut tools: Vec<&str> = tools.into_iter().collect();
    tools.sort_unstable();
    tools.dedup();
    let plain: Vec<(&str, String)> = tools.into_iter().map(|tool| (tool, plain(server, tool))).collect();
    let named = plain.iter().map(|(tool, name)| {
        let is_exact = *name == format!("{server}_{tool}");
        let is_shared = plain.iter().filter(|(_, other)| other == name).count() > 1;
        let is_free = name.len() <= MAX_NAME_LENGTH && (is_exact || !is_shared);
        (*tool, if is_free { name.clone() } else { marked(name, tool) })
    });
    named.collect()
}

fn plain(server: &str, tool: &str) -> String {
    let is_usual = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let tool: String = tool.chars().map(|char| if is_usual(char) { char } else { '_' }).collect();
    format!("{server}_{tool}")
}

/// A name that is too long or already taken gets a unique suffix.
fn marked(name: &str, tool: &str) -> String {
    let mark = tool.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let room = MAX_NAME_LENGTH - 9;
    format!("{}_{mark:08x}", name.get(..room).unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tools: &[&str]) -> Vec<String> {
        let names = names("files", tools.iter().copied());
        tools.iter().map(|tool| names[tool].clone()).collect()
    }

    #[test]
    fn a_usual_name_is_kept() {
        assert_eq!(of(&["read_file", "get-sum", "A1"]), ["files_read_file", "files_get-sum", "files_A1"]);
    }

    #[test]
    fn every_name_is_taken_by_providers_and_is_one_tools() {
        let long = "x".repeat(80);
        let longer = format!("{long}y");
        let tools = ["read.file", "read/file", "read_file", "読む", "書く", &long, &longer, ""];
        let names = of(&tools);
        for name in &names {
            assert!(name.len() <= MAX_NAME_LENGTH, "{name}");
            assert!(name.chars().all(|char| char.is_ascii_alphanumeric() || "_-".contains(char)), "{name}");
        }
        let mut once = names.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{names:?}");
        assert_eq!(names[2], "files_read_file", "who has the name keeps it");
        assert_eq!(of(&["a.b"]), ["files_a_b"]);
    }

    #[test]
    fn the_order_changes_nothing() {
        let (there, back) = (of(&["a.b", "a/b", "c"]), of(&["c", "a/b", "a.b"]));
        assert!(there.iter().eq(back.iter().rev()));
    }
}
