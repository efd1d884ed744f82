//! `cargo xtask codegen`: the TypeScript types, generated from the Rust types.

use std::fs;
use std::path::Path;

use crate::console::say;
use crate::diff;
use crate::failure::{Failure, Result};

/// The generated file, which is checked in.
pub(crate) const OUTPUT: &str = "packages/client/src/protocol.ts";

/// Writes the file. With `--check`, fails if the checked-in file differs.
pub(crate) fn run(root: &Path, args: &[String]) -> Result {
    let check = crate::one_flag("codegen", "--check", args)?;
    let wanted = holdpoint_protocol::typescript::generate();
    let path = root.join(OUTPUT);
    if check {
        let found = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Failure::new(format!("could not read {OUTPUT}: {error}"))),
        };
        compare(found.as_deref(), &wanted)?;
        say!("{OUTPUT} is current");
        return Ok(());
    }
    let folder = path.parent().unwrap_or(root);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, &wanted))
        .map_err(|error| Failure::new(format!("could not write {OUTPUT}: {error}")))?;
    say!("wrote {OUTPUT} ({} lines)", wanted.lines().count());
    Ok(())
}

fn compare(found: Option<&str>, wanted: &str) -> Result {
    let fix = "run `cargo xtask codegen` and commit the file";
    match found {
        None => Err(Failure::new(format!("{OUTPUT} is missing: {fix}"))),
        Some(found) => match diff::first_difference(found, wanted) {
            None => Ok(()),
            Some(difference) => Err(Failure::new(format!(
                "{OUTPUT} is stale: the Rust types say something else. To bring it up to date, {fix}.\n\
                 The first difference (- checked in, + generated):\n\n{difference}"
            ))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_current_file_passes() {
        assert!(compare(Some("a\nb\n"), "a\nb\n").is_ok());
    }

    #[test]
    fn a_stale_file_fails_with_the_difference_and_the_cure() {
        let failure = compare(Some("a\nb\n"), "a\nc\n").expect_err("differs").to_string();
        for part in [OUTPUT, "cargo xtask codegen", "-    2  b", "+    2  c"] {
            assert!(failure.contains(part), "no {part:?} in {failure}");
        }
    }

    #[test]
    fn a_missing_file_fails() {
        assert!(compare(None, "").expect_err("is missing").to_string().contains("missing"));
    }
}
