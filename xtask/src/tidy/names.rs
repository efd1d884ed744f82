//! Machine-specific names, which must not be in the tree: paths of the author's machine and hosts of its package
//! sources.

use super::Violation;
use super::tree::Tree;

/// A forbidden name. The texts are assembled from pieces, so that this file passes its own check.
struct Pattern {
    text: &'static str,
    /// A path counts only at its beginning: in `src/home/…` it is just a folder.
    absolute_path: bool,
    why: &'static str,
}

const PATTERNS: &[Pattern] = &[
    path(concat!("/wo", "rk/")),
    path(concat!("/ro", "ot/")),
    path(concat!("/ho", "me/")),
    path(concat!("/Us", "ers/")),
    host(concat!("artif", "actory")),
    host(concat!("registry.", "npmjs.org")),
    host(concat!("index.", "crates.io")),
    host(concat!("static.", "crates.io")),
    note(concat!("shared/", "CONTRACT.md")),
    note(concat!("shared/", "DESIGN.md")),
    note(concat!("shared/", "RULES.md")),
];

/// Exempt files, by their path from the root.
const ALLOWED: &[&str] = &[];

const fn path(text: &'static str) -> Pattern {
    Pattern { text, absolute_path: true, why: "a path of somebody's machine; use one relative to the repository" }
}

const fn host(text: &'static str) -> Pattern {
    Pattern { text, absolute_path: false, why: "a package registry's host; name the package only" }
}

const fn note(text: &'static str) -> Pattern {
    Pattern { text, absolute_path: false, why: "a document outside the repository; say here what it says" }
}

/// Finds every line with a forbidden name.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.paths().filter(|file| !ALLOWED.contains(file)) {
        let Some(text) = tree.text(file) else { continue };
        for (at, line) in text.lines().enumerate() {
            // At most one per line and pattern: a minified file must not drown the rest.
            for pattern in PATTERNS.iter().filter(|pattern| names(line, pattern)) {
                violations.push(Violation::new(file, at + 1, format!("`{}`: {}", pattern.text, pattern.why)));
            }
        }
    }
    violations
}

fn names(line: &str, pattern: &Pattern) -> bool {
    line.match_indices(pattern.text).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !pattern.absolute_path || !before.is_some_and(|c| c.is_alphanumeric() || "_-.}*".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&Tree::of(&[("docs/a.md", text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_pattern_is_found_with_its_line() {
        for pattern in PATTERNS {
            let violations = found(&format!("fine\nsee \"{}x\"\n", pattern.text));
            assert_eq!(violations.len(), 1, "{}", pattern.text);
            assert!(violations[0].starts_with("docs/a.md:2: "), "{}", violations[0]);
        }
    }

    #[test]
    fn a_path_is_found_wherever_an_absolute_path_can_begin() {
        let folder = PATTERNS[0].text;
        for before in ["", "cd ", "`", "(", "file://", "PATH=a:"] {
            assert_eq!(found(&format!("{before}{folder}main")).len(), 1, "{before}");
        }
    }

    #[test]
    fn folders_of_the_same_name_and_the_lock_file_are_fine() {
        let folder = PATTERNS[0].text;
        for before in ["src", "..", "my-", "${dir}"] {
            assert!(found(&format!("{before}{folder}mod.rs")).is_empty(), "{before}");
        }
        assert!(found("source = \"registry+https://github.com/rust-lang/crates.io-index\"").is_empty());
    }

    #[test]
    fn invalid_utf8_is_skipped() {
        assert!(found("\u{0}\u{fffd}\r\n").is_empty());
    }
}
