//! What a test binary printed, for display. Whether it passed is its exit code's to say.

/// How many tests there were.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
}

/// The numbers of the last result line: `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
pub(super) fn counts(output: &str) -> Option<Counts> {
    let line = output.lines().rev().find_map(|line| line.strip_prefix("test result: "))?;
    let (_, numbers) = line.split_once(". ")?;
    let number = |of: &str| {
        let mut parts = numbers.split("; ").filter_map(|part| part.split_once(' '));
        parts.find(|(_, what)| *what == of).and_then(|(number, _)| number.parse().ok())
    };
    Some(Counts { passed: number("passed")?, failed: number("failed")?, ignored: number("ignored")? })
}

/// The names of the tests that failed: `test NAME ... FAILED`.
pub(super) fn failed_tests(output: &str) -> Vec<String> {
    let names = output.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test one ... ok
test nested::two ... FAILED
test three ... ignored

failures:

---- nested::two stdout ----
test result: as it was printed by the test

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

";

    #[test]
    fn the_last_result_counts() {
        assert_eq!(counts(OUTPUT), Some(Counts { passed: 1, failed: 1, ignored: 1 }));
    }

    #[test]
    fn output_without_a_result_has_no_counts() {
        assert_eq!(counts(""), None);
        assert_eq!(counts("running 1 test\n"), None);
        assert_eq!(counts("test result: ok. many passed; 0 failed; 0 ignored"), None);
    }

    #[test]
    fn failed_tests_are_named() {
        assert_eq!(failed_tests(OUTPUT), ["nested::two"]);
    }
}
