//! Recovery after a restart: what is running according to the log no longer runs.

use super::*;

#[test]
fn what_was_cut_off_is_repeated_or_settled() {
    let interrupted = r#"settled look by interrupted: error "interrupted: outcome unknown", step"#;
    let table = [
        ("the model's step is done again", "opened, said u1, turn, step, text", "step abandoned, step"),
        (
            "a tool that had started is not",
            "opened, said u1, turn, step, called look, step ended, started look",
            interrupted,
        ),
        (
            "unless it is idempotent",
            "opened, said u1, turn, step, called again, step ended, started again",
            "started again",
        ),
        ("a question stays open", "opened, said u1, turn, step, called pay, step ended, asked pay", ""),
        (
            "an approval that was stored counts",
            "opened, said u1, turn, step, called pay, step ended, asked pay, approved pay",
            "started pay",
        ),
        (
            "and so does a denial",
            "opened, said u1, turn, step, called pay, step ended, asked pay, denied pay",
            "settled pay by decision: denied, step",
        ),
        ("a browser's call is the browser's", "opened, said u1, turn, step, called open, step ended, started open", ""),
        ("calls that nobody has taken up are", "opened, said u1, turn, step, called look, step ended", "started look"),
        (
            "all settled: the model goes on",
            "opened, said u1, turn, step, called look, step ended, started look, ran look",
            "step",
        ),
        (
            "an expiry that nobody saw waits for somebody",
            "opened, said u1, turn, step, called pay, step ended, asked pay, expired pay",
            "",
        ),
        ("nothing is open", "opened, said u1, turn, step, step ended, ended", ""),
    ];
    for (name, facts, expected) in table {
        assert_eq!(facts_of(given(facts).when(Input::Recover)), expected, "{name}");
    }
}
