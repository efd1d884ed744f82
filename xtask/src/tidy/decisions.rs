//! The form of the decision records in `docs/adr`: name, title, status, headings, and a row in the list.

use super::Violation;
use super::tree::Tree;

const FOLDER: &str = "docs/adr/";
const LIST: &str = "docs/adr/README.md";

/// The headings of a record, in their order, and which of them every record has.
const HEADINGS: [(&str, bool); 4] =
    [("Context", true), ("Decision", true), ("Alternatives", false), ("Consequences", false)];

/// Finds records that are not of the form in `docs/adr/README.md`.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let list = tree.text(LIST).unwrap_or_default();
    let mut violations = Vec::new();
    let mut previous: Option<(u32, String)> = None;
    for path in tree.paths().filter(|path| *path != LIST) {
        let Some(name) = path.strip_prefix(FOLDER) else { continue };
        let Some(number) = number(name) else {
            violations.push(Violation::new(path, 1, "the name is not of the form `0001-a-short-title.md`"));
            continue;
        };
        if let Some((_, other)) = previous.as_ref().filter(|(before, _)| *before == number) {
            violations.push(Violation::new(path, 1, format!("{other} has the number {number}, too")));
        }
        previous = Some((number, name.to_owned()));
        let text = tree.text(path).unwrap_or_default();
        violations.extend(record(path, number, &text));
        if let Some(title) = text.lines().next().and_then(|line| line.strip_prefix("# "))
            && !list.contains(&format!("| [{title}]({name}) |"))
        {
            violations.push(Violation::new(LIST, 1, format!("the row `| [{title}]({name}) | … |` is missing")));
        }
    }
    violations
}

/// The number in `0001-a-short-title.md`.
fn number(name: &str) -> Option<u32> {
    let (digits, rest) = name.split_once('-')?;
    let title = rest.strip_suffix(".md")?;
    let is_short = title.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    (digits.len() == 4 && is_short).then(|| digits.parse().ok()).flatten()
}

fn record(path: &str, number: u32, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut found = |line: usize, message: String| violations.push(Violation::new(path, line, message));
    let line = |at: usize| text.lines().nth(at).unwrap_or_default();
    if !line(0).starts_with(&format!("# {number}. ")) {
        found(1, format!("the first line is not `# {number}. TITLE`"));
    }
    if !is_status(line(2)) {
        found(
            3,
            "the third line is not `Status: accepted, DATE` or `Status: superseded by [ADR N](FILE), DATE`".to_owned(),
        );
    }
    if let Err((line, message)) = headings(text) {
        found(line, message);
    }
    violations
}

/// Whether the headings of the second level are those of [`HEADINGS`], in their order.
fn headings(text: &str) -> Result<(), (usize, String)> {
    let missing =
        |between: &[(&'static str, bool)]| between.iter().find(|(_, is_required)| *is_required).map(|(name, _)| *name);
    let mut next = 0;
    let mut is_code = false;
    for (at, line) in text.lines().enumerate() {
        is_code ^= line.starts_with("```");
        let Some(heading) = line.strip_prefix("## ").filter(|_| !is_code) else { continue };
        let Some(position) = HEADINGS.iter().position(|(name, _)| *name == heading) else {
            return Err((at + 1, format!("`## {heading}` is not a heading of a record: use `###` below one of them")));
        };
        if position < next {
            return Err((at + 1, format!("`## {heading}` comes too late, or twice")));
        }
        if let Some(missing) = missing(&HEADINGS[next..position]) {
            return Err((at + 1, format!("`## {missing}` is missing before `## {heading}`")));
        }
        next = position + 1;
    }
    match missing(&HEADINGS[next..]) {
        Some(missing) => Err((1, format!("`## {missing}` is missing"))),
        None => Ok(()),
    }
}

/// Whether a line is `Status: accepted, 2026-11-15`, or names the record that replaces this one.
fn is_status(line: &str) -> bool {
    let Some((state, date)) = line.strip_prefix("Status: ").and_then(|rest| rest.rsplit_once(", ")) else {
        return false;
    };
    let is_state = state == "accepted" || (state.starts_with("superseded by [ADR ") && state.ends_with(".md)"));
    let parts: Vec<&str> = date.split('-').collect();
    let digits = |part: &&str| part.chars().all(|c| c.is_ascii_digit());
    is_state && parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "# 1. The log\n\nStatus: accepted, 2026-11-15\n\n## Context\n\n## Decision\n\n### More\n\n## Consequences\n";
    const ROW: &str = "| [1. The log](0001-the-log.md) | What it is. |\n";

    fn found(name: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[(&format!("docs/adr/{name}"), text), (LIST, ROW)]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_record_of_the_form_passes() {
        assert_eq!(found("0001-the-log.md", GOOD), [""; 0]);
        let replaced = GOOD.replace("accepted", "superseded by [ADR 2](0002-two.md)");
        assert_eq!(found("0001-the-log.md", &replaced), [""; 0]);
        assert_eq!(found("0001-the-log.md", &GOOD.replace("### More", "```\n## anything\n```")), [""; 0]);
    }

    #[test]
    fn what_differs_from_the_form_is_found_with_its_line() {
        for (from, to, wanted) in [
            ("# 1.", "# 2.", "1.md:1: the first line"),
            ("Status: accepted, 2026-11-15", "Status: accepted", "1.md:3: the third line"),
            ("2026-11-15", "2026-11-5", "1.md:3: the third line"),
            ("accepted", "wanted", "1.md:3: the third line"),
            ("## Context", "## Why", "1.md:5: `## Why` is not a heading"),
            ("## Context\n\n", "", "1.md:5: `## Context` is missing before `## Decision`"),
            ("## Consequences", "## Context", "1.md:11: `## Context` comes too late, or twice"),
            ("## Decision\n\n### More\n\n## Consequences\n", "", "1.md:1: `## Decision` is missing"),
        ] {
            let found = found("0001-1.md", &GOOD.replacen(from, to, 1));
            let wanted = format!("docs/adr/0001-{wanted}");
            assert!(found.iter().any(|one| one.starts_with(&wanted)), "{to}: {found:?}");
        }
    }

    #[test]
    fn a_record_that_is_not_listed_is_found() {
        assert_eq!(
            found("0001-another.md", GOOD),
            ["docs/adr/README.md:1: the row `| [1. The log](0001-another.md) | … |` is missing"]
        );
        assert!(found("notes.md", GOOD)[0].contains("the name is not of the form"));
    }

    #[test]
    fn a_number_is_used_once() {
        let both = Tree::of(&[("docs/adr/0001-a.md", GOOD), ("docs/adr/0001-b.md", GOOD), (LIST, "")]);
        let violations: Vec<String> = check(&both).iter().map(ToString::to_string).collect();
        assert!(violations.iter().any(|one| one == "docs/adr/0001-b.md:1: 0001-a.md has the number 1, too"));
    }
}
