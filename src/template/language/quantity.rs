//! Amounts of memory, processor time and the like, counted exactly.
//!
//! In: texts as `resource.Quantity` of `k8s.io/apimachinery` reads them. Out: the same, in its canonical form. Never
//! here: binary fractions; everything is an integer number of billionths, as there.

use super::super::value::{refuse, text};
use super::guard::of_text;
use super::{Entry, EntryKind, Example};
use minijinja::value::Value;
use minijinja::{Error, State};
use std::cmp::Ordering;

macro_rules! filter {
    ($name:literal, $doc:literal, $template:literal, $output:literal, $function:expr) => {
        Entry {
            kind: EntryKind::Filter,
            name: $name,
            aliases: &[],
            doc: $doc,
            example: Example { template: $template, output: $output },
            add: |env, name| env.add_filter(name, of_text($function)),
        }
    };
}

pub(super) static ENTRIES: &[Entry] = &[
    filter!(
        "quantity",
        "The amount as Kubernetes prints it.",
        "{{ '1.5Gi'|quantity }}",
        "\"1536Mi\"",
        canonical
    ),
    filter!("quantity_add", "Two amounts added.", "{{ '500m'|quantity_add('1.5') }}", "\"2\"", add),
    filter!(
        "quantity_sub",
        "An amount taken away from another.",
        "{{ '1Gi'|quantity_sub('256Mi') }}",
        "\"768Mi\"",
        subtract
    ),
    filter!(
        "quantity_mul",
        "An amount times a number.",
        "{{ '100m'|quantity_mul(1.5) }}",
        "\"150m\"",
        multiply
    ),
    filter!(
        "quantity_cmp",
        "-1, 0 or 1 if the amount is less than, equal to or greater than another.",
        "{{ '1Gi'|quantity_cmp('1000M') }}",
        "1",
        compare
    ),
    filter!(
        "quantity_value",
        "The amount as a whole number of its unit, rounded up.",
        "{{ '1Ki'|quantity_value }}",
        "1024",
        whole
    ),
];

/// How an amount was written, and is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `1536Mi`
    Binary,
    /// `1500m`
    Decimal,
    /// `15e2`
    Exponent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quantity {
    billionths: i128,
    form: Form,
}

const ONE: i128 = 1_000_000_000;
const SUFFIXES: [(&str, i32); 10] = [
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
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl Quantity {
    fn parse(text: &str) -> Result<Self, Error> {
        let unreadable = || refuse("this is no amount such as `500m` or `1.5Gi`");
        let too_large = || refuse("the amount is too large");
        let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, suffix) = text.split_at(unit);
        let (mantissa, decimals) = decimal(number).ok_or_else(unreadable)?;
        let (factor, exponent, form) = scale(suffix).ok_or_else(unreadable)?;
        let scaled = mantissa.checked_mul(factor).ok_or_else(too_large)?;
        let shift = exponent + 9 - i32::try_from(decimals).map_err(|_| too_large())?;
        Self { billionths: shifted(scaled, shift).ok_or_else(too_large)?, form }.bounded()
    }

    /// Kubernetes counts up to 2^63 - 1.
    fn bounded(self) -> Result<Self, Error> {
        if self.billionths.abs() > i128::from(i64::MAX) * ONE {
            return Err(refuse("the amount is larger than 2^63 - 1"));
        }
        Ok(self)
    }

    fn with(self, billionths: Option<i128>) -> Result<Self, Error> {
        let billionths = billionths.ok_or_else(|| refuse("the amount is too large"))?;
        Self { billionths, ..self }.bounded()
    }

    /// Whole units, rounded away from zero.
    fn rounded(self) -> i128 {
        divided(self.billionths, ONE)
    }
}

/// As `Quantity.String` prints: no fraction, and the largest unit that allows it.
impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.form == Form::Binary && self.billionths.abs() >= 1024 * ONE {
            let (mut value, mut power) = (self.rounded(), 0);
            while value % 1024 == 0 && power + 1 < BINARY.len() {
                value /= 1024;
                power += 1;
            }
            return write!(f, "{value}{}", BINARY[power]);
        }
        let (mut value, mut power) = (self.billionths, 0);
        while value != 0 && value % 1000 == 0 && power + 1 < SUFFIXES.len() {
            value /= 1000;
            power += 1;
        }
        let (suffix, exponent) = if value == 0 { ("", 0) } else { SUFFIXES[power] };
        match (self.form, exponent) {
            (Form::Exponent, 0) => write!(f, "{value}"),
            (Form::Exponent, exponent) => write!(f, "{value}e{exponent}"),
            _ => write!(f, "{value}{suffix}"),
        }
    }
}

/// Digits as an integer, and how many of them follow the point.
fn decimal(text: &str) -> Option<(i128, usize)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, part) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let part = part.trim_end_matches('0');
    let digits = format!("{whole}{part}");
    if !unsigned.contains(|c: char| c.is_ascii_digit())
        || !digits.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let magnitude: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    Some((if text.starts_with('-') { -magnitude } else { magnitude }, part.len()))
}

/// What a suffix multiplies by: a factor, and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32, Form)> {
    if let Some((_, exponent)) = SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Some((1, *exponent, Form::Decimal));
    }
    if let Some(power) = BINARY.iter().position(|name| *name == suffix) {
        return Some((1024_i128.pow(u32::try_from(power).ok()?), 0, Form::Binary));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-18..=18).contains(&exponent).then_some((1, exponent, Form::Exponent))
}

fn shifted(value: i128, power: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 { value.checked_mul(factor) } else { Some(divided(value, factor)) }
}

/// Rounded away from zero, as Kubernetes does with what is too small for it.
fn divided(value: i128, by: i128) -> i128 {
    value / by + if value % by == 0 { 0 } else { value.signum() }
}

fn canonical(amount: &str) -> Result<String, Error> {
    Ok(Quantity::parse(amount)?.to_string())
}

fn other(state: &State<'_, '_>, value: &Value) -> Result<Quantity, Error> {
    Quantity::parse(&text(state, value)?)
}

fn add(state: &mut State<'_, '_>, amount: &str, more: &Value) -> Result<String, Error> {
    let (amount, more) = (Quantity::parse(amount)?, other(state, more)?);
    let form = if amount.billionths == 0 { more.form } else { amount.form };
    let sum = amount.with(amount.billionths.checked_add(more.billionths))?;
    Ok(Quantity { form, ..sum }.to_string())
}

fn subtract(state: &mut State<'_, '_>, amount: &str, less: &Value) -> Result<String, Error> {
    let (amount, less) = (Quantity::parse(amount)?, other(state, less)?);
    let form = if amount.billionths == 0 { less.form } else { amount.form };
    let rest = amount.with(amount.billionths.checked_sub(less.billionths))?;
    Ok(Quantity { form, ..rest }.to_string())
}

/// The factor's decimal digits count, so that 0.1 is a tenth.
fn multiply(state: &mut State<'_, '_>, amount: &str, factor: &Value) -> Result<String, Error> {
    let amount = Quantity::parse(amount)?;
    let factor = text(state, factor)?;
    let (mantissa, decimals) =
        decimal(&factor).ok_or_else(|| refuse("an amount can be multiplied only by a number"))?;
    let power = u32::try_from(decimals).ok().and_then(|decimals| 10_i128.checked_pow(decimals));
    let product =
        amount.billionths.checked_mul(mantissa).zip(power).map(|(value, by)| divided(value, by));
    Ok(amount.with(product)?.to_string())
}

fn compare(state: &mut State<'_, '_>, amount: &str, with: &Value) -> Result<i64, Error> {
    Ok(match Quantity::parse(amount)?.billionths.cmp(&other(state, with)?.billionths) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })
}

fn whole(amount: &str) -> Result<i64, Error> {
    i64::try_from(Quantity::parse(amount)?.rounded()).map_err(|_| refuse("the amount is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tables in `quantity_test.go` and its package comment.
    #[test]
    fn amounts_are_printed_as_kubernetes_prints_them() {
        let table = [
            ("0", "0"),
            ("0Mi", "0"),
            ("0.0", "0"),
            ("1", "1"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("100000", "100k"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1Ki", "1Ki"),
            ("1.5Ki", "1536"),
            ("0.5Ki", "512"),
            ("1025Ki", "1025Ki"),
            ("1e3", "1e3"),
            ("12e6", "12e6"),
            ("1E", "1E"),
            ("1E3", "1e3"),
            ("100n", "100n"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("-1.5", "-1500m"),
            ("-0.1n", "-1n"),
            ("+5", "5"),
            (".5", "500m"),
            ("5.", "5"),
            ("1u", "1u"),
            ("1.1Mi", "1153434"),
            ("9223372036854775807", "9223372036854775807"),
            ("7Ei", "7Ei"),
            ("1e-3", "1e-3"),
        ];
        for (amount, printed) in table {
            assert_eq!(Quantity::parse(amount).unwrap().to_string(), printed, "{amount}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        let table = [
            "",
            ".",
            "-",
            "1 Gi",
            "Gi",
            "1KI",
            "1ki",
            "1K",
            "1mm",
            "1e",
            "1e1.5",
            "1e99",
            "--1",
            "1.2.3",
            "é",
            "1_000",
            "9223372036854775808",
            "8Ei",
            "10E",
            "99999999999999999999999999999999999999999999",
            "0x10",
        ];
        for amount in table {
            assert!(Quantity::parse(amount).is_err(), "{amount}");
        }
    }
}
