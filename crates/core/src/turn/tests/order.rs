//! Calls of one step: all together over HTTP, one after the other on `/live`.

use super::*;

#[test]
fn one_by_one_a_call_waits_for_the_one_before_it() {
    let facts = "opened, said u1, turn one by one, step, called pay, called look";
    assert_eq!(facts_of(given(facts).when(model_finishes())), "step ended, asked pay");
    let facts: &'static str = format!("{facts}, step ended, asked pay").leak();
    let expected = "denied pay, settled pay by decision: denied, started look";
    assert_eq!(facts_of(given(facts).when(decide("pay", false))), expected);
}
