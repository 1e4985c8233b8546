//! Durations as Go writes them (`1h30m`, `300ms`), which is how Kubernetes fields have them.
//!
//! In: text. Out: exact nanoseconds. Never here: days, months, ISO 8601, a clock.

use std::str::FromStr;

/// A length of time. The grammar and the range (about 292 years either way) are those of Go's `time.ParseDuration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration {
    nanoseconds: i64,
}

/// Why a text is not a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// It has another shape.
    #[error("a duration is written like 1h30m, 90s or 300ms")]
    Shape,
    /// A number without a unit.
    #[error("a duration needs a unit: h, m, s or ms")]
    NoUnit,
    /// A unit that has no fixed length, or that Go does not know.
    #[error("the units of a duration are h, m, s, ms, us and ns (a day is 24h)")]
    UnknownUnit,
    /// Longer than 292 years.
    #[error("the duration is too long")]
    TooLong,
}

impl GoDuration {
    /// Its length; negative before zero.
    pub fn nanoseconds(self) -> i128 {
        i128::from(self.nanoseconds)
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest.is_empty() {
            return Err(DurationError::Shape);
        }
        if rest == "0" {
            return Ok(Self { nanoseconds: 0 });
        }
        let mut total = 0_i128;
        while !rest.is_empty() {
            let (part, remaining) = part(rest)?;
            total = total.checked_add(part).ok_or(DurationError::TooLong)?;
            rest = remaining;
        }
        let signed = if negative { -total } else { total };
        let nanoseconds = i64::try_from(signed).map_err(|_| DurationError::TooLong)?;
        Ok(Self { nanoseconds })
    }
}

/// One number with its unit, in nanoseconds, and what follows it.
fn part(text: &str) -> Result<(i128, &str), DurationError> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(number_end);
    let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(DurationError::Shape);
    }
    let unit = unit_nanoseconds(unit)?;
    let whole = if whole.is_empty() { Ok(0) } else { whole.parse::<i64>() };
    let whole = whole.map_err(|_| DurationError::TooLong)?;
    // What is finer than a nanosecond is cut, as Go does; 18 digits are finer than that for every unit.
    let fraction = fraction.get(..18).unwrap_or(fraction);
    let places = u32::try_from(fraction.len()).unwrap_or(0);
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse::<i128>().unwrap_or(0) };
    Ok((i128::from(whole) * unit + fraction * unit / 10_i128.pow(places), rest))
}

fn unit_nanoseconds(unit: &str) -> Result<i128, DurationError> {
    Ok(match unit {
        "ns" => 1,
        // Both signs for micro that Unicode has.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "" => return Err(DurationError::NoUnit),
        _ => return Err(DurationError::UnknownUnit),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nanoseconds(text: &str) -> Result<i128, DurationError> {
        text.parse().map(GoDuration::nanoseconds)
    }

    #[test]
    fn durations_are_read_as_go_reads_them() {
        const SECOND: i128 = 1_000_000_000;
        for (text, expected) in [
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("1h30m", 5_400 * SECOND),
            ("1.5h", 5_400 * SECOND),
            ("300ms", SECOND * 3 / 10),
            ("-1m", -60 * SECOND),
            (".5s", SECOND / 2),
            ("5.s", 5 * SECOND),
            ("1us1\u{b5}s1\u{3bc}s", 3_000),
            ("1s1s", 2 * SECOND),
            ("0.1234567890123456789s", 123_456_789),
            ("2562047h47m16.854775807s", i128::from(i64::MAX)),
            ("-2562047h47m16.854775808s", i128::from(i64::MIN)),
        ] {
            assert_eq!(nanoseconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_ways_to_write_time_are_refused_with_the_reason() {
        use DurationError::{NoUnit, Shape, TooLong, UnknownUnit};
        for (text, expected) in [
            ("", Shape),
            ("-", Shape),
            ("h", Shape),
            (".s", Shape),
            ("1.2.3s", Shape),
            ("PT1H", Shape),
            (" 1h", Shape),
            ("30", NoUnit),
            ("1h30", NoUnit),
            ("7d", UnknownUnit),
            ("1w", UnknownUnit),
            ("1H", UnknownUnit),
            ("1h ", UnknownUnit),
            ("1h 30m", UnknownUnit),
            ("1e3s", UnknownUnit),
            ("2562047h47m16.854775808s", TooLong),
            ("99999999999999999999h", TooLong),
        ] {
            assert_eq!(nanoseconds(text), Err(expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn parts_add_up(hours in 0..1_000_000_i128, minutes in 0..60_i128, milliseconds in 0..60_000_i128) {
            let text = format!("{hours}h{minutes}m{milliseconds}ms");
            prop_assert_eq!(nanoseconds(&text), Ok((hours * 3_600_000 + minutes * 60_000 + milliseconds) * 1_000_000));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,30}|[-+.0-9hmsnuµ]{0,40}") {
            let _parsed = text.parse::<GoDuration>();
        }
    }
}
