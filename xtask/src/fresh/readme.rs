//! The two commands of the README.

use crate::failure::{Failure, Result};

/// The command that runs Holdpoint and the one that tests it, as the README has them.
#[derive(Debug, PartialEq)]
pub(super) struct Commands {
    pub(super) serve: String,
    pub(super) test: String,
}

/// Finds them: the first line in a code block with each command's beginning.
pub(super) fn commands(readme: &str) -> Result<Commands> {
    let find = |begin: &str| {
        code_lines(readme)
            .find(|line| *line == begin || line.starts_with(&format!("{begin} ")))
            .map(str::to_owned)
            .ok_or_else(|| Failure::new(format!("no code block of the README has a line that begins with `{begin}`")))
    };
    Ok(Commands { serve: find("cargo run")?, test: find("cargo xtask test")? })
}

/// The lines of fenced code blocks, without prompts and comments.
fn code_lines(readme: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    readme.lines().filter_map(move |line| {
        let line = line.trim();
        if line.starts_with("```") {
            inside = !inside;
            return None;
        }
        let line = line.strip_prefix("$ ").unwrap_or(line);
        inside.then(|| line.split(" #").next().unwrap_or(line).trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_found_in_code_blocks() {
        let readme = "# H\n`cargo run` it:\n```sh\n$ cargo run --release   # and open it\n```\ncargo xtask test no\n\
                      ```\ncargo xtask test\n```\n";
        let found = commands(readme).expect("both are there");
        assert_eq!(found, Commands { serve: "cargo run --release".to_owned(), test: "cargo xtask test".to_owned() });
    }

    #[test]
    fn a_missing_one_is_named() {
        let failure = commands("```\ncargo run\ncargo xtask tests\n```\n").expect_err("no test command");
        assert!(failure.to_string().contains("`cargo xtask test`"), "{failure}");
    }
}
