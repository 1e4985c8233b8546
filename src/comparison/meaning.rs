//! What a value means under `as`: `as: quantity` makes `"1Gi"` and `1073741824` the same.
//!
//! In: JSON values. Out: things with an exact order. Never here: a clock ("now" is an argument).

use super::duration::GoDuration;
use super::quantity::Quantity;
use k8s_openapi::jiff::Timestamp;
use semver::Version;
use serde_json::Value;
use std::cmp::Ordering;

/// How two values are compared, if not as plain JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Kubernetes quantities: `500m`, `2Gi`, or numbers.
    Quantity,
    /// Semantic versions, a leading `v` tolerated; build metadata does not count.
    Semver,
    /// Times of RFC 3339.
    Time,
    /// Durations as Go writes them.
    Duration,
    /// A time of RFC 3339 on the left, compared by how long ago it is with a duration on the right.
    Age,
}

impl Meaning {
    /// All of them, as they are written in a rule.
    pub const ALL: [(&'static str, Self); 5] = [
        ("quantity", Self::Quantity),
        ("semver", Self::Semver),
        ("time", Self::Time),
        ("duration", Self::Duration),
        ("age", Self::Age),
    ];

    /// By its name in a rule.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, meaning)| meaning)
    }

    /// What a value on the left side must be, with its article.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Quantity => "a quantity",
            Self::Semver => "a semantic version",
            Self::Time | Self::Age => "a time of RFC 3339",
            Self::Duration => "a duration",
        }
    }

    /// What the right side means.
    pub(super) fn of_right(self) -> Self {
        if self == Self::Age { Self::Duration } else { self }
    }

    /// Reads a value of the left side; an error says how such a value is written.
    pub(super) fn read(self, value: &Value) -> Result<Meant, String> {
        let example = match self {
            Self::Semver => "1.2.3",
            Self::Time | Self::Age => "2026-01-31T12:00:00Z",
            Self::Duration | Self::Quantity => "30s",
        };
        let wrong = || format!("{} is text, such as \"{example}\"", self.noun());
        let text = || value.as_str().ok_or_else(wrong);
        match self {
            Self::Quantity => {
                Quantity::of(value).map(Meant::Quantity).map_err(|error| error.to_string())
            }
            Self::Semver => version(text()?).map(Meant::Version),
            Self::Time | Self::Age => time(text()?).map(Meant::Time),
            Self::Duration => text()?
                .parse()
                .map(Meant::Duration)
                .map_err(|error: super::DurationError| error.to_string()),
        }
    }
}

/// A value that was understood.
#[derive(Clone, Debug)]
pub(super) enum Meant {
    Quantity(Quantity),
    Version(Version),
    Time(Timestamp),
    Duration(GoDuration),
}

impl Meant {
    /// The order of two things of one kind; nothing for different kinds.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Quantity(left), Self::Quantity(right)) => Some(left.cmp(right)),
            (Self::Version(left), Self::Version(right)) => Some(left.cmp_precedence(right)),
            (Self::Time(left), Self::Time(right)) => Some(left.cmp(right)),
            (Self::Duration(left), Self::Duration(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }
}

/// Semantic Versioning 2.0.0; image tags and server versions often have a `v` in front.
fn version(text: &str) -> Result<Version, String> {
    let bare = text.strip_prefix('v').unwrap_or(text);
    Version::parse(bare)
        .map_err(|_| "a semantic version is written like 1.2.3 or v1.2.3-rc.1".to_owned())
}

/// The internet date and time of RFC 3339, section 5.6. The library reads more of ISO 8601 than Kubernetes writes, so
/// that the shape is looked at first.
fn time(text: &str) -> Result<Timestamp, String> {
    let wrong = || "a time is written like 2026-01-31T12:00:00Z".to_owned();
    let shape = text.get(..19).filter(|start| {
        start.bytes().zip("0000-00-00T00:00:00".bytes()).all(|(byte, model)| match model {
            b'0' => byte.is_ascii_digit(),
            b'T' => byte.eq_ignore_ascii_case(&b'T'),
            model => byte == model,
        })
    });
    let zone = text
        .get(19..)
        .unwrap_or_default()
        .trim_start_matches('.')
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let zoned = zone.eq_ignore_ascii_case("z")
        || zone
            .strip_prefix(['+', '-'])
            .is_some_and(|offset| offset.len() == 5 && offset.as_bytes()[2] == b':');
    if shape.is_none() || !zoned {
        return Err(wrong());
    }
    text.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(meaning: Meaning, left: &str, right: &str) -> Ordering {
        let read = |text: &str| {
            meaning.read(&json!(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        read(left).order(&read(right)).unwrap()
    }

    #[test]
    fn versions_have_the_order_of_semantic_versioning() {
        for (left, right, expected) in [
            ("1.2.3", "v1.2.3", Ordering::Equal),
            ("1.10.0", "1.9.0", Ordering::Greater),
            ("1.0.0-rc.1", "1.0.0", Ordering::Less),
            ("1.0.0-rc.10", "1.0.0-rc.9", Ordering::Greater),
            ("1.0.0+build.1", "1.0.0+build.2", Ordering::Equal),
        ] {
            assert_eq!(order(Meaning::Semver, left, right), expected, "{left} {right}");
        }
        for text in
            ["", "v", "1", "1.2", "vv1.2.3", "V1.2.3", "1.2.3.4", "01.2.3", " 1.2.3", "latest"]
        {
            assert!(Meaning::Semver.read(&json!(text)).is_err(), "{text}");
        }
        assert!(Meaning::Semver.read(&json!(1)).is_err());
    }

    #[test]
    fn times_are_instants() {
        for (left, right, expected) in [
            ("2026-01-01T12:00:00Z", "2026-01-01T13:00:00+01:00", Ordering::Equal),
            ("2026-01-01t12:00:00z", "2026-01-01T12:00:00.000Z", Ordering::Equal),
            ("2026-01-01T00:00:00.000000001Z", "2026-01-01T00:00:00Z", Ordering::Greater),
            ("2026-01-01T00:00:00-23:59", "2026-01-01T00:00:00Z", Ordering::Greater),
            ("1969-12-31T23:59:59.5Z", "1970-01-01T00:00:00Z", Ordering::Less),
        ] {
            assert_eq!(order(Meaning::Time, left, right), expected, "{left} {right}");
        }
    }

    #[test]
    fn what_is_not_a_time_of_rfc_3339_is_refused() {
        for text in [
            "",
            "2026-01-01",
            "2026-01-01T12:00Z",
            "2026-01-01T12:00:00",
            "2026-01-01T12:00:00.Z",
            "2026-01-01T12:00:00..5Z",
            "2026-01-01 12:00:00Z",
            "20260101T120000Z",
            "2026-01-01T12:00:00+0100",
            "2026-01-01T12:00:00+01",
            "2026-01-01T12:00:00Z[UTC]",
            "2026-02-30T12:00:00Z",
            "2026-01-01T25:00:00Z",
            "2026-01-01T12:00:00+1é:0",
            "+002026-01-01T12:00:00Z",
            " 2026-01-01T12:00:00Z",
        ] {
            assert!(Meaning::Time.read(&json!(text)).is_err(), "{text}");
        }
        assert!(Meaning::Time.read(&json!(1_767_225_600)).is_err());
    }

    #[test]
    fn different_meanings_have_no_order() {
        let quantity = Meaning::Quantity.read(&json!(1)).unwrap();
        let duration = Meaning::Duration.read(&json!("1s")).unwrap();
        assert_eq!(quantity.order(&duration), None);
        assert_eq!(Meaning::named("age"), Some(Meaning::Age));
        assert_eq!(Meaning::named("Age"), None);
    }
}
