//! Exact comparison of JSON numbers: 2^53 + 1 is greater than 2^53.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The order of two numbers. Integers are compared exactly, also with fractions.
pub(super) fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => whole_with_float(left, right.as_f64()?),
        (None, Some(right)) => whole_with_float(right, left.as_f64()?).map(Ordering::reverse),
        (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn whole_with_float(whole: i128, float: f64) -> Option<Ordering> {
    // The conversion saturates, and an integer in JSON has at most 64 bits, so the order is still right.
    let order = whole.cmp(&(float.trunc() as i128));
    Some(order.then(0.0.partial_cmp(&float.fract())?))
}

/// Whether two values are equal. `1` equals `1.0`.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right) == Some(Ordering::Equal),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order(left: Value, right: Value) -> Option<Ordering> {
        let (Value::Number(left), Value::Number(right)) = (left, right) else { panic!("numbers, please") };
        assert_eq!(compare(&left, &right), compare(&right, &left).map(Ordering::reverse));
        compare(&left, &right)
    }

    #[test]
    fn no_digit_is_lost() {
        use Ordering::{Equal, Greater, Less};
        for (left, right, expected) in [
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), Greater),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), Greater),
            (json!(u64::MAX), json!(i64::MIN), Greater),
            (json!(u64::MAX), json!(1e300), Less),
            (json!(i64::MIN), json!(-1e300), Greater),
            (json!(100), json!(100.0), Equal),
            (json!(100), json!(100.5), Less),
            (json!(-100), json!(-100.5), Greater),
            (json!(0), json!(-0.0), Equal),
            (json!(0.1), json!(0.2), Less),
        ] {
            assert_eq!(order(left.clone(), right.clone()), Some(expected), "{left} and {right}");
        }
    }

    #[test]
    fn sameness_looks_inside() {
        assert!(same(&json!({"a": [1, {"b": 2.0}]}), &json!({"a": [1.0, {"b": 2}]})));
        assert!(!same(&json!({"a": 1}), &json!({"b": 1})));
        assert!(!same(&json!([1]), &json!([1, 1])));
        assert!(!same(&json!("1"), &json!(1)));
    }
}
