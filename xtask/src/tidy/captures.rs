//! The golden captures: every file is listed with its violations, and every rule has a good and a bad capture.

use serde_json::Value;

use super::Violation;
use super::tree::Tree;

const FOLDER: &str = "fixtures/rules/";
const MANIFEST: &str = "fixtures/rules/manifest.json";
const RULES: &str = "docs/rules.md";

/// One entry of the manifest: a capture and the rules that it breaks. A capture may be listed again with other options.
struct Listed {
    file: String,
    line: usize,
    broken: Vec<String>,
}

/// Compares the folder, its manifest and the page of rules.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let listed = match tree.text(MANIFEST).map(|text| read_manifest(&text)) {
        Some(Ok(listed)) => listed,
        Some(Err(violation)) => return vec![violation],
        None => {
            return vec![Violation::new(MANIFEST, 1, "the manifest of the captures is missing")];
        }
    };
    let Some(page) = tree.text(RULES) else {
        return vec![Violation::new(RULES, 1, "the page of the rules is missing")];
    };
    let mut violations = both_ways(tree, &listed);
    for (line, rule) in rule_ids(&page) {
        violations.extend(missing_captures(&listed, &rule).map(|what| Violation::new(RULES, line, what)));
    }
    violations
}

/// Files that the manifest does not list, and entries without a file.
fn both_ways(tree: &Tree, listed: &[Listed]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for path in tree.paths().filter(|path| path.starts_with(FOLDER) && *path != MANIFEST) {
        let name = &path[FOLDER.len()..];
        if name != "README.md" && !listed.iter().any(|entry| entry.file == name) {
            violations.push(Violation::new(path, 1, format!("is not listed in {MANIFEST}")));
        }
    }
    for entry in listed {
        if tree.text(&format!("{FOLDER}{}", entry.file)).is_none() {
            violations.push(Violation::new(MANIFEST, entry.line, format!("the file `{}` does not exist", entry.file)));
        }
    }
    violations
}

/// The captures that a rule lacks. A capture is named after its rule, `T4.good.sse` and `T4.bad.sse`, and the manifest
/// must agree.
fn missing_captures(listed: &[Listed], rule: &str) -> impl Iterator<Item = String> {
    let has = |kind: &str, agrees: fn(&[String], &str) -> bool| {
        let prefix = format!("{rule}.{kind}.");
        listed.iter().any(|entry| entry.file.starts_with(&prefix) && agrees(&entry.broken, rule))
    };
    let good = has("good", |broken, _| broken.is_empty());
    let bad = has("bad", |broken, rule| broken.iter().any(|other| other == rule));
    let good =
        (!good).then(|| format!("rule {rule} has no good capture: {FOLDER}{rule}.good.*, listed without violations"));
    let bad =
        (!bad).then(|| format!("rule {rule} has no bad capture: {FOLDER}{rule}.bad.*, listed as breaking {rule}"));
    good.into_iter().chain(bad)
}

/// `[{"file": …, "violations": [{"rule": …}]}]`.
fn read_manifest(text: &str) -> Result<Vec<Listed>, Violation> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Violation::new(MANIFEST, error.line().max(1), format!("is not JSON: {error}")))?;
    let Some(entries) = value.as_array() else {
        return Err(Violation::new(MANIFEST, 1, "is not a list"));
    };
    let mut listed = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let (Some(file), Some(violations)) = (entry["file"].as_str(), entry["violations"].as_array()) else {
            let what = format!("entry {} has no `file` or no list of `violations`", at + 1);
            return Err(Violation::new(MANIFEST, 1, what));
        };
        let line = text.lines().position(|line| line.contains(&format!("\"{file}\""))).map_or(1, |at| at + 1);
        let broken = violations.iter().filter_map(|violation| violation["rule"].as_str()).map(str::to_owned);
        listed.push(Listed { file: file.to_owned(), line, broken: broken.collect() });
    }
    Ok(listed)
}

/// The rules defined on the page: table rows that begin with an id, a capital letter and digits.
fn rule_ids(page: &str) -> Vec<(usize, String)> {
    let id = |line: &str| {
        let cell = line.strip_prefix('|')?.split('|').next()?.trim().trim_matches('`');
        let digits = cell.strip_prefix(|c: char| c.is_ascii_uppercase())?;
        let is_id = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_id.then(|| cell.to_owned())
    };
    page.lines().enumerate().filter_map(|(at, line)| Some((at + 1, id(line)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: (&str, &str) = (RULES, "# Rules\n\n| rule | broken when |\n| --- | --- |\n| T4 | twice |\n");
    const GOOD: (&str, &str) = ("fixtures/rules/T4.good.sse", "");
    const BAD: (&str, &str) = ("fixtures/rules/T4.bad.sse", "");
    const BOTH: &str = r#"[
        {"file": "T4.good.sse", "violations": []},
        {"file": "T4.bad.sse", "violations": [{"line": 3, "rule": "T4"}]}
    ]"#;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_with_both_captures_passes() {
        assert_eq!(found(&[PAGE, GOOD, BAD, (MANIFEST, BOTH), ("fixtures/rules/README.md", "")]), [""; 0]);
    }

    #[test]
    fn a_file_that_is_not_listed_is_found() {
        let violations = found(&[PAGE, GOOD, BAD, ("fixtures/rules/T5.bad.sse", ""), (MANIFEST, BOTH)]);
        assert_eq!(violations, [format!("fixtures/rules/T5.bad.sse:1: is not listed in {MANIFEST}")]);
    }

    #[test]
    fn a_listed_file_that_is_not_there_is_found() {
        assert_eq!(
            found(&[PAGE, GOOD, (MANIFEST, BOTH)]),
            [format!("{MANIFEST}:3: the file `T4.bad.sse` does not exist")]
        );
    }

    #[test]
    fn a_rule_without_captures_is_found_twice() {
        let page = format!("{}| T5 | again |\n", PAGE.1);
        let violations = found(&[(RULES, &page), GOOD, BAD, (MANIFEST, BOTH)]);
        assert_eq!(violations.len(), 2, "{violations:?}");
        assert!(violations[0].starts_with("docs/rules.md:6: rule T5 has no good capture"), "{violations:?}");
        assert!(violations[1].starts_with("docs/rules.md:6: rule T5 has no bad capture"), "{violations:?}");
    }

    #[test]
    fn a_bad_capture_that_breaks_another_rule_does_not_count() {
        let manifest = BOTH.replace(r#""rule": "T4""#, r#""rule": "T40""#);
        assert_eq!(found(&[PAGE, GOOD, BAD, (MANIFEST, &manifest)]).len(), 1);
    }

    #[test]
    fn a_capture_may_be_listed_again_with_other_options() {
        let again = r#", {"file": "T4.bad.sse", "text": "progressive", "violations": []}]"#;
        let manifest = BOTH.trim_end_matches(']').to_owned() + again;
        assert_eq!(found(&[PAGE, GOOD, BAD, (MANIFEST, &manifest)]), [""; 0]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert!(found(&[PAGE])[0].contains("the manifest of the captures is missing"));
        assert!(found(&[(MANIFEST, "[]")])[0].contains("the page of the rules is missing"));
        assert!(found(&[PAGE, (MANIFEST, "[\n{]")])[0].starts_with("fixtures/rules/manifest.json:2: is not JSON"));
        assert!(found(&[PAGE, (MANIFEST, "{}")])[0].contains("not a list"));
        assert!(found(&[PAGE, (MANIFEST, "[{}]")])[0].contains("entry 1"));
    }
}
