//! A minimal diff of two texts: enough to see what is stale.

const CONTEXT: usize = 2;
const MOST_LINES: usize = 12;

/// The first difference between two texts, as numbered `-` and `+` lines; `None` if they are equal.
pub(crate) fn first_difference(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    // `split`, not `lines`: a missing final newline or a CR is a difference too.
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| a == b).count();
    let removed = &old[start..old.len() - tail];
    let added = &new[start..new.len() - tail];

    let mut out = Vec::new();
    let before = start.saturating_sub(CONTEXT);
    out.extend((before..start).map(|at| row(' ', at, old[at])));
    out.extend(some('-', start, removed));
    out.extend(some('+', start, added));
    Some(out.join("\n"))
}

fn some(sign: char, start: usize, lines: &[&str]) -> Vec<String> {
    let shown = lines.len().min(MOST_LINES);
    let mut rows: Vec<String> =
        lines[..shown].iter().enumerate().map(|(at, line)| row(sign, start + at, line)).collect();
    if lines.len() > shown {
        rows.push(format!("{sign}  … and {} more", lines.len() - shown));
    }
    rows
}

fn row(sign: char, at: usize, line: &str) -> String {
    format!("{sign} {:>4}  {}", at + 1, line.replace('\r', "␍"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_none() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn a_changed_line_is_shown_with_what_stands_before_it() {
        let difference = first_difference("1\n2\n3\n4\n5\n", "1\n2\n3\nfour\n5\n").expect("differs");
        assert_eq!(difference, "     2  2\n     3  3\n     4  4".replace("     4  4", "-    4  4\n+    4  four"));
    }

    #[test]
    fn an_added_line_is_only_a_plus() {
        assert_eq!(first_difference("a\nc\n", "a\nb\nc\n").expect("differs"), "     1  a\n+    2  b");
    }

    #[test]
    fn a_missing_last_newline_differs() {
        assert!(first_difference("a", "a\n").is_some());
    }

    #[test]
    fn a_long_difference_is_cut() {
        let new: String = (0..40).map(|n| format!("{n}\n")).collect();
        let difference = first_difference("", &new).expect("differs");
        assert!(difference.ends_with("… and 28 more"), "{difference}");
    }
}
