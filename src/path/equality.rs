//! When two JSON values are the same, and which of two numbers is larger.
//!
//! In: JSON values. Out: exact answers; no integer ever passes through a float. Never here: units, versions, times.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Equal as data: numbers by what they are worth (`1` is `1.0`), maps without regard to order, lists in order.
/// Text never equals a number.
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => order(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

/// The exact order of two numbers, whatever they are stored as.
pub fn order(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => order_mixed(left, fraction(right)),
        (None, Some(right)) => order_mixed(right, fraction(left)).reverse(),
        // JSON has no NaN, so that the order of two floats is total.
        (None, None) => fraction(left).partial_cmp(&fraction(right)).unwrap_or(Ordering::Equal),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn fraction(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// An integer of at most 65 bits against a float: whole parts first, then what the float has behind the point.
fn order_mixed(whole: i128, float: f64) -> Ordering {
    const BEYOND: f64 = 1e20;
    if float >= BEYOND {
        return Ordering::Less;
    }
    if float <= -BEYOND {
        return Ordering::Greater;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range was checked, and it is cut on purpose"
    )]
    let cut = float.trunc() as i128;
    let behind_point = float.fract();
    whole.cmp(&cut).then_with(|| 0.0_f64.partial_cmp(&behind_point).unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn numbers_are_equal_by_worth_and_to_the_last_digit() {
        let max = u64::MAX;
        for (left, right, same) in [
            (json!(1), json!(1.0), true),
            (json!(0), json!(-0.0), true),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64), false),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), false),
            (json!(max), json!(18_446_744_073_709_551_616.0), false),
            (json!(max), json!(i64::MAX), false),
            (json!(-1), json!(max), false),
            (json!(1e-20), json!(0), false),
            (json!(i64::MIN), json!(-9_223_372_036_854_775_808.0), true),
            (json!("1"), json!(1), false),
            (json!("true"), json!(true), false),
            (json!(0), json!(false), false),
            (json!(null), json!(0), false),
        ] {
            assert_eq!(equal(&left, &right), same, "{left} {right}");
            assert_eq!(equal(&right, &left), same, "{right} {left}");
        }
    }

    #[test]
    fn maps_ignore_order_and_lists_do_not() {
        let left = json!({"a": [1, {"b": 2}], "c": null});
        assert!(equal(&left, &json!({"c": null, "a": [1.0, {"b": 2.0}]})));
        assert!(!equal(&left, &json!({"a": [{"b": 2}, 1], "c": null})));
        assert!(!equal(&left, &json!({"a": [1, {"b": 2}]})), "null is not absent");
        assert!(!equal(&json!([1]), &json!([1, 1])));
    }

    #[test]
    fn numbers_are_ordered_across_their_representations() {
        let order = |left: Value, right: Value| match (left, right) {
            (Value::Number(left), Value::Number(right)) => super::order(&left, &right),
            other => panic!("{other:?}"),
        };
        assert_eq!(order(json!(1), json!(1.5)), Ordering::Less);
        assert_eq!(order(json!(-1), json!(-1.5)), Ordering::Greater);
        assert_eq!(order(json!(u64::MAX), json!(1e300)), Ordering::Less);
        assert_eq!(order(json!(-1e300), json!(i64::MIN)), Ordering::Less);
        assert_eq!(order(json!(0.1), json!(0.2)), Ordering::Less);
        assert_eq!(
            order(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0)),
            Ordering::Greater
        );
    }

    proptest! {
        #[test]
        fn integers_and_small_floats_agree_with_exact_arithmetic(whole in any::<i64>(), halves in -1_000_000_i64..1_000_000) {
            let float = Number::from_f64(halves as f64 / 2.0).unwrap();
            let exact = (i128::from(whole) * 2).cmp(&i128::from(halves));
            prop_assert_eq!(order(&Number::from(whole), &float), exact);
            prop_assert_eq!(order(&float, &Number::from(whole)), exact.reverse());
        }
    }
}
