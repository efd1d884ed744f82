//! Relative links in Markdown files and in `llms.txt`, which must lead to files in the tree and to headings in them.

use std::collections::{HashMap, HashSet};

use super::Violation;
use super::tree::Tree;

/// Finds broken relative links. An ignored file exists on one machine only, so a link to it is broken.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.paths().filter(|file| file.ends_with(".md") || *file == "llms.txt") {
        let Some(text) = tree.text(file) else { continue };
        for (line, target) in links(&text) {
            let Some(path) = relative(&target) else { continue };
            let path = if path.is_empty() { Some(file.to_owned()) } else { resolve(file, &path) };
            match path {
                Some(path) if tree.has(&path) => {
                    let heading = target.split_once('#').map(|(_, heading)| heading).filter(|_| path.ends_with(".md"));
                    if let (Some(heading), Some(text)) = (heading, tree.text(&path))
                        && !anchors(&text).contains(heading)
                    {
                        let problem = format!("the link `{target}` leads to a heading that {path} does not have");
                        violations.push(Violation::new(file, line, problem));
                    }
                }
                Some(path) => violations.push(Violation::new(
                    file,
                    line,
                    format!("the link `{target}` leads to {path}, which does not exist"),
                )),
                None => violations.push(Violation::new(
                    file,
                    line,
                    format!("the link `{target}` leads out of the repository"),
                )),
            }
        }
    }
    violations
}

/// Every link target with its line: `[text](target)`, `![text](target)` and `[name]: target`, outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(open) = fence {
            if trimmed.starts_with(open) {
                fence = None;
            }
            continue;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        if fence.is_some() {
            continue;
        }
        let line = without_code(line);
        if let Some(target) = definition(&line) {
            found.push((at + 1, target));
        }
        found.extend(line.match_indices("](").filter_map(|(start, _)| Some((at + 1, inline(&line[start + 2..])?))));
    }
    found
}

/// The line without its code spans, which contain no links.
fn without_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').collect();
    let closed = pieces.len() - (pieces.len() + 1) % 2;
    // Odd pieces are between two backticks. After an unpaired backtick everything is text.
    pieces.iter().enumerate().filter(|(at, _)| at % 2 == 0 || *at >= closed).map(|(_, piece)| *piece).collect()
}

/// The target of `(target "title")`, from after the opening parenthesis.
fn inline(rest: &str) -> Option<String> {
    if let Some(rest) = rest.strip_prefix('<') {
        return rest.split_once('>').map(|(target, _)| target.to_owned());
    }
    let mut depth = 0;
    let end = rest.find(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth < 0 || c.is_whitespace()
    })?;
    Some(rest[..end].to_owned())
}

/// The target of a line `[name]: target`. A footnote (`[^1]: text`) has none.
fn definition(line: &str) -> Option<String> {
    let (name, rest) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    let target = rest.split_whitespace().next()?;
    (!name.starts_with('^') && !name.contains(']')).then(|| target.trim_matches(['<', '>']).to_owned())
}

/// The path of a relative link without its fragment, empty for a link within the page; `None` for other addresses.
fn relative(target: &str) -> Option<String> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let scheme = path.split_once(':').is_some_and(|(before, _)| !before.contains('/'));
    (!scheme && !path.starts_with("//")).then(|| path.replace("%20", " "))
}

/// The anchors of a page: its headings as GitHub names them, a number after the second of the same name.
fn anchors(text: &str) -> HashSet<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut anchors = HashSet::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let title = line.trim_start_matches('#');
        if is_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let count = counts.entry(name.clone()).or_default();
        anchors.insert(if *count == 0 { name } else { format!("{name}-{count}") });
        *count += 1;
    }
    anchors
}

/// The path, from the root, that a link in `file` leads to; `None` if it is outside. A leading `/` is the root.
fn resolve(file: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    if !target.starts_with('/') {
        parts.extend(file.rsplit_once('/').map(|(folder, _)| folder.split('/')).into_iter().flatten());
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let log = "# 1. The log\n\n## Why\n\n## Why\n\n## `find` and keys\n";
        let tree = Tree::of(&[("docs/guide.md", text), ("docs/adr/0001-log.md", log), ("README.md", "")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "[a](adr/0001-log.md#why) ![b](../README.md \"title\") [c](adr/) [d](/README.md)\n\
                    [e]: adr/0001-log.md\n[f](#here) [j](adr/0001-log.md#why-1) [k](adr/0001-log.md#find-and-keys)\n# Here\n[g](https://example.com/x.md) [h](mailto:a@b.c) [i](<../README.md>)\n";
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found_with_its_line() {
        let violations = found("fine\n\n[a](adr/0002.md#x)\n");
        assert_eq!(
            violations,
            ["docs/guide.md:3: the link `adr/0002.md#x` leads to docs/adr/0002.md, which does not exist"]
        );
        assert_eq!(found("[a]: gone.md").len(), 1);
        assert_eq!(found("![a](gone.png) [b](README.md)").len(), 2, "README.md is not in docs");
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_found() {
        assert_eq!(
            found("[a](adr/0001-log.md#how)\n[b](#here)\n```\n# Here\n```\n"),
            [
                "docs/guide.md:1: the link `adr/0001-log.md#how` leads to a heading that docs/adr/0001-log.md does not have",
                "docs/guide.md:2: the link `#here` leads to a heading that docs/guide.md does not have",
            ]
        );
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        assert_eq!(
            found("[a](../../README.md)"),
            ["docs/guide.md:1: the link `../../README.md` leads out of the repository"]
        );
    }

    #[test]
    fn code_is_not_read_for_links() {
        assert_eq!(found("```md\n[a](gone.md)\n```\n~~~\n[a](gone.md)\n~~~\n"), [""; 0]);
        assert_eq!(found("write `[a](gone.md)` so"), [""; 0]);
        assert_eq!(found("a ` alone [a](gone.md)").len(), 1, "an unpaired backtick hides nothing");
        assert_eq!(found("`x` [`a`](gone.md)").len(), 1, "code in a link's text");
    }

    #[test]
    fn footnotes_and_parentheses_are_understood() {
        assert_eq!(found("[^1]: gone.md says"), [""; 0]);
        assert_eq!(inline("a(b).md) rest"), Some("a(b).md".to_owned()));
    }
}
