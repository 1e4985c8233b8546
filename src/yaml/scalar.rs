//! What a plain scalar means.
//!
//! In: the text of a bare scalar. Out: the value that `sigs.k8s.io/yaml` gives it (measured with version 1.6.0: the
//! YAML 1.1 rules of go-yaml v2). Never here: quoted text, which means itself; keys, which are always text.

use super::{Kind, Style};
use serde_json::Number;

/// The value, or what is wrong with it.
pub(super) fn resolve(text: &str) -> Result<Kind, &'static str> {
    Ok(match text {
        "" => Kind::Null { explicit: false },
        "~" | "null" | "Null" | "NULL" => Kind::Null { explicit: true },
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Kind::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Kind::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => {
            return Err("infinity and not-a-number have no form in Kubernetes objects");
        }
        _ => match number(text) {
            Some(number) => Kind::Number(number),
            None => Kind::String { text: text.to_owned(), style: Style::Plain },
        },
    })
}

fn number(text: &str) -> Option<Number> {
    match text.as_bytes().first()? {
        b'0'..=b'9' | b'+' | b'-' => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| fraction(&digits))
        }
        // go-yaml keeps underscores here, and so does not take the text for a number.
        b'.' => fraction(text),
        _ => None,
    }
}

/// Decimal, `0x`, `0o`, `0b`, and a bare leading zero for octal; never through a fraction.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // The standard reader would take another sign here.
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        0_i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else {
        Some(magnitude.into())
    }
}

/// `[-+]? (digits [. digits?] | . digits) [e [-+]? digits]`. What is whole becomes an integer, as JSON prints it there.
fn fraction(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if unsigned.is_empty() || !digits(unsigned) {
            return None;
        }
    }
    let value: f64 = text.parse().ok()?;
    whole_number(value).or_else(|| Number::from_f64(value))
}

/// Fractions print whole numbers up to 21 digits without a point in Go; beyond `i64` we keep them as they are.
fn whole_number(value: f64) -> Option<Number> {
    // Up to 2^53 every whole number is exact, and so is its text.
    let exact = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
    exact.then(|| format!("{value:.0}").parse::<i64>().ok().map(Number::from)).flatten()
}
