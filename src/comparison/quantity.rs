//! Kubernetes quantities (`500m`, `2Gi`, `1e3`), exact.
//!
//! In: text or a JSON number. Out: a decimal number that compares and prints without loss. Never here: rounding to
//! the nano or capping at 2^63-1, which the API server does when it stores one.
//!
//! The grammar is that of `resource.Quantity` in k8s.io/apimachinery.

use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// An amount of something. Equal and ordered by worth: `1Gi` is `1024Mi`.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    negative: bool,
    /// Below 10^38, without a 0 at the end.
    digits: u128,
    /// The worth is `digits` times 10 to this.
    exponent: i32,
    notation: Notation,
}

/// How it was written, kept for [`fmt::Display`] alone.
#[derive(Clone, Copy, Debug)]
enum Notation {
    Binary,
    Decimal,
    Exponent,
}

/// Why something is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It has another shape.
    #[error("a quantity is a number with a suffix such as 500m, 2Gi or 1e3")]
    Shape,
    /// More than 38 significant digits, or an exponent beyond 999.
    #[error("the quantity has too many digits")]
    TooLong,
}

const MAX_DIGITS: u32 = 38;
const MAX_EXPONENT: i32 = 999;

impl Quantity {
    /// From a manifest: text, or a number.
    pub fn of(value: &Value) -> Result<Self, QuantityError> {
        match value {
            Value::String(text) => text.parse(),
            Value::Number(number) => number.to_string().parse(),
            _ => Err(QuantityError::Shape),
        }
    }

    fn new(
        negative: bool,
        digits: u128,
        exponent: i32,
        notation: Notation,
    ) -> Result<Self, QuantityError> {
        let (mut digits, mut exponent) = (digits, exponent);
        while digits != 0 && digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        if digits >= 10_u128.pow(MAX_DIGITS) || exponent.abs() > MAX_EXPONENT {
            return Err(QuantityError::TooLong);
        }
        let zero = digits == 0;
        let exponent = if zero { 0 } else { exponent };
        Ok(Self { negative: negative && !zero, digits, exponent, notation })
    }

    /// Where its first digit stands: 1 for `1` to `9.9`.
    fn magnitude(&self) -> i32 {
        let length = self.digits.checked_ilog10().map_or(0, |log| log + 1);
        i32::try_from(length).unwrap_or(0) + self.exponent
    }

    /// The order of the absolute values.
    fn order_absolute(&self, other: &Self) -> Ordering {
        if self.digits == 0 || other.digits == 0 {
            return self.digits.cmp(&other.digits);
        }
        self.magnitude().cmp(&other.magnitude()).then_with(|| {
            // Both start at the same place, so that the shorter one grows to the length of the other at most.
            let lowest = self.exponent.min(other.exponent);
            self.scaled(lowest).cmp(&other.scaled(lowest))
        })
    }

    /// Its digits when counted in units of 10 to `exponent`.
    fn scaled(&self, exponent: i32) -> u128 {
        let zeros = u32::try_from(self.exponent - exponent).unwrap_or(0);
        10_u128
            .checked_pow(zeros)
            .and_then(|factor| self.digits.checked_mul(factor))
            .unwrap_or(u128::MAX)
    }

    /// The worth as a whole number, if it is one and short enough.
    fn whole(&self) -> Option<u128> {
        let zeros = u32::try_from(self.exponent).ok()?;
        self.digits.checked_mul(10_u128.checked_pow(zeros)?)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end =
            unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(QuantityError::Shape);
        }
        let suffix = Suffix::parse(suffix)?;
        let all = format!("{whole}{fraction}");
        let significant = all.trim_end_matches('0');
        let dropped = length(&all)? - length(significant)?;
        let significant = significant.trim_start_matches('0');
        let digits = match significant {
            "" => 0,
            digits => digits.parse::<u128>().map_err(|_| QuantityError::TooLong)?,
        };
        let digits = digits.checked_mul(suffix.factor).ok_or(QuantityError::TooLong)?;
        let exponent = dropped - length(fraction)? + suffix.exponent;
        Self::new(negative, digits, exponent, suffix.notation)
    }
}

fn length(text: &str) -> Result<i32, QuantityError> {
    i32::try_from(text.len()).map_err(|_| QuantityError::TooLong)
}

struct Suffix {
    factor: u128,
    exponent: i32,
    notation: Notation,
}

impl Suffix {
    fn parse(text: &str) -> Result<Self, QuantityError> {
        let decimal = |exponent| Self { factor: 1, exponent, notation: Notation::Decimal };
        if let Some(at) = BINARY.iter().position(|suffix| *suffix == text) {
            return Ok(Self {
                factor: 1 << (10 * (at + 1)),
                exponent: 0,
                notation: Notation::Binary,
            });
        }
        if let Some((_, exponent)) = DECIMAL.iter().find(|(suffix, _)| *suffix == text) {
            return Ok(decimal(*exponent));
        }
        let exponent = text.strip_prefix(['e', 'E']).ok_or(QuantityError::Shape)?;
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(QuantityError::Shape);
        }
        match exponent.parse::<i32>() {
            Ok(exponent) if exponent.abs() <= MAX_EXPONENT => {
                Ok(Self { factor: 1, exponent, notation: Notation::Exponent })
            }
            _ => Err(QuantityError::TooLong),
        }
    }
}

const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.negative, self.digits, self.exponent).hash(state);
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.order_absolute(other),
            (true, true) => other.order_absolute(self),
            (self_negative, other_negative) => other_negative.cmp(&self_negative),
        }
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Exact, in the notation it was written in, with the largest suffix that needs no fraction, as Kubernetes prints it.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        if matches!(self.notation, Notation::Binary)
            && let Some(whole) = self.whole()
        {
            let steps = usize::try_from(whole.trailing_zeros() / 10).unwrap_or(0).min(BINARY.len());
            let suffix = steps.checked_sub(1).and_then(|at| BINARY.get(at));
            return match suffix {
                Some(suffix) if whole > 0 => write!(f, "{}{suffix}", whole >> (10 * steps)),
                _ => write!(f, "{whole}"),
            };
        }
        let thousands = self.exponent.div_euclid(3) * 3;
        let zeros = usize::try_from(self.exponent - thousands).unwrap_or(0);
        write!(f, "{}{:0<zeros$}", self.digits, "")?;
        match DECIMAL.iter().find(|(_, exponent)| *exponent == thousands) {
            Some((suffix, _)) if !matches!(self.notation, Notation::Exponent) => {
                f.write_str(suffix)
            }
            _ if thousands == 0 => Ok(()),
            _ => write!(f, "e{thousands}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_suffix_is_worth_what_kubernetes_says() {
        for (text, same) in [
            ("1", "1000m"),
            ("0.5", "500m"),
            (".5", "5e-1"),
            ("5.", "5"),
            ("+5", "5"),
            ("1n", "1e-9"),
            ("1u", "1000n"),
            ("1k", "1000"),
            ("1M", "1000k"),
            ("1G", "1000M"),
            ("1T", "1000G"),
            ("1P", "1000T"),
            ("1E", "1000P"),
            ("1Ki", "1024"),
            ("1Mi", "1024Ki"),
            ("1Gi", "1024Mi"),
            ("1Ti", "1024Gi"),
            ("1Pi", "1024Ti"),
            ("1Ei", "1024Pi"),
            ("0.1Ki", "102400m"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("1E3", "1k"),
            ("1E+3", "1k"),
            ("0", "-0"),
            ("0Gi", "0m"),
            ("-1Ki", "-1024"),
            ("1000000000000000000000000000000000000000000000", "1e45"),
            ("0.10000000000000000000000000000000000000000000", "100m"),
        ] {
            assert_eq!(quantity(text), quantity(same), "{text} {same}");
        }
    }

    #[test]
    fn what_kubernetes_refuses_is_refused() {
        for text in [
            "", ".", "-", "+", "abc", "1K", "1ki", "1KI", "1 Gi", " 1", "1 ", "1e", "1E-", "1e+",
            "1e1.5", "1.2.3", "--1", "+-1", "1mm", "1Zi", "0x10", "1_000", "1,5", "1i", "١",
        ] {
            assert_eq!(text.parse::<Quantity>(), Err(QuantityError::Shape), "{text}");
        }
        for text in ["1e1000", "1e-1000", "1e99999999999", &"9".repeat(39), &"9".repeat(100_000)] {
            assert_eq!(text.parse::<Quantity>(), Err(QuantityError::TooLong), "{text}");
        }
    }

    #[test]
    fn numbers_of_a_manifest_are_quantities_and_other_values_are_not() {
        assert_eq!(Quantity::of(&json!(2)), Ok(quantity("2")));
        assert_eq!(Quantity::of(&json!(0.25)), Ok(quantity("250m")));
        assert_eq!(Quantity::of(&json!(1e300)), Ok(quantity("1e300")));
        assert_eq!(Quantity::of(&json!(u64::MAX)), Ok(quantity("18446744073709551615")));
        for value in [json!(null), json!(true), json!([]), json!({})] {
            assert_eq!(Quantity::of(&value), Err(QuantityError::Shape), "{value}");
        }
    }

    #[test]
    fn it_prints_as_kubernetes_does() {
        for (text, printed) in [
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.1", "100m"),
            ("2000", "2k"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("2000Ki", "2000Ki"),
            ("0.1Ki", "102400m"),
            ("0Gi", "0"),
            ("-1024Ki", "-1Mi"),
            ("1e4", "10e3"),
            ("1e3", "1e3"),
            ("1e0", "1"),
            ("0.1n", "100e-12"),
            ("1e21", "1e21"),
            ("1000E", "1e21"),
            ("1024Ei", "1024Ei"),
        ] {
            assert_eq!(quantity(text).to_string(), printed, "{text}");
        }
    }

    /// A quantity's text, and its worth times 10^12.
    fn written() -> impl Strategy<Value = (String, i128)> {
        let suffix = prop_oneof![
            proptest::sample::select(&DECIMAL[..])
                .prop_map(|(suffix, exponent)| (suffix, 1, exponent)),
            (0..6_usize).prop_map(|at| (BINARY[at], 1_i128 << (10 * (at + 1)), 0)),
        ];
        (any::<bool>(), 0..1_000_i128, 0..1_000_i128, suffix).prop_map(
            |(negative, whole, thousandths, (suffix, factor, exponent))| {
                let sign = if negative { "-" } else { "" };
                let power = 10_i128.pow(u32::try_from(exponent + 9).unwrap());
                let worth = (whole * 1_000 + thousandths) * factor * power;
                (
                    format!("{sign}{whole}.{thousandths:03}{suffix}"),
                    if negative { -worth } else { worth },
                )
            },
        )
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_exact_numbers((left, left_worth) in written(), (right, right_worth) in written()) {
            prop_assert_eq!(quantity(&left).cmp(&quantity(&right)), left_worth.cmp(&right_worth));
            prop_assert_eq!(quantity(&left) == quantity(&right), left_worth == right_worth);
        }

        #[test]
        fn printing_loses_nothing((text, _) in written(), exponent in -900..900) {
            for quantity in [quantity(&text), quantity(&format!("{}e{exponent}", text.trim_end_matches(char::is_alphabetic)))] {
                prop_assert_eq!(quantity.to_string().parse::<Quantity>().unwrap(), quantity);
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,50}|[-+.0-9eEiKMGnum]{0,50}") {
            let _parsed = text.parse::<Quantity>();
        }
    }
}
