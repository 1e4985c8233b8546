//! The text that Prometheus reads (exposition format 0.0.4).
//!
//! In: families and samples. Out: text. Never here: numbers that are not told; a family twice.

use super::family::{Family, Kind};
use super::number::Histogram;
use std::fmt::{Display, Write};

/// What Prometheus is told this is.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page that is being written.
#[derive(Default)]
pub(super) struct Page {
    text: String,
}

/// One family of a page.
pub(super) struct Samples<'a> {
    family: &'static Family,
    text: &'a mut String,
}

impl Page {
    pub(super) fn family(&mut self, family: &'static Family) -> Samples<'_> {
        let Family { name, kind, help, .. } = family;
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {}", kind.as_str());
        Samples { family, text: &mut self.text }
    }

    /// A family with one sample and no labels.
    pub(super) fn single(&mut self, family: &'static Family, value: impl Display) {
        self.family(family).sample(&[], value);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl Samples<'_> {
    /// The values are those of the family's labels, in their order.
    pub(super) fn sample(&mut self, values: &[&str], value: impl Display) {
        debug_assert!(self.family.kind != Kind::Histogram, "{} is a histogram", self.family.name);
        self.line("", values, None, value);
    }

    pub(super) fn histogram(&mut self, values: &[&str], histogram: &Histogram) {
        debug_assert!(self.family.kind == Kind::Histogram, "{} is none", self.family.name);
        let (buckets, all) = histogram.cumulated();
        for (bound, count) in buckets {
            self.line("_bucket", values, Some(&bound.to_string()), count);
        }
        self.line("_bucket", values, Some("+Inf"), all);
        self.line("_sum", values, None, histogram.seconds());
        self.line("_count", values, None, all);
    }

    fn line(&mut self, suffix: &str, values: &[&str], bound: Option<&str>, value: impl Display) {
        debug_assert_eq!(values.len(), self.family.labels.len(), "{}", self.family.name);
        let labels = self.family.labels.iter().copied().zip(values.iter().copied());
        let labels = labels.chain(bound.map(|bound| ("le", bound)));
        let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let labels: Vec<String> = labels.collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.family.name);
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    static PLAIN: Family =
        Family { name: "a_total", kind: Kind::Counter, labels: &["x", "y"], help: "Help." };
    static LONG: Family =
        Family { name: "b_seconds", kind: Kind::Histogram, labels: &["x"], help: "Help." };

    #[test]
    fn whatever_a_label_holds_a_line_stays_a_line() {
        let mut page = Page::default();
        page.family(&PLAIN).sample(&["a\"b\\c\nd", ""], 7);
        let expected = "# HELP a_total Help.\n# TYPE a_total counter\na_total{x=\"a\\\"b\\\\c\\nd\",y=\"\"} 7\n";
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn a_histogram_has_buckets_a_sum_and_a_count() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_millis(2));
        let mut page = Page::default();
        page.family(&LONG).histogram(&["r"], &histogram);
        let text = page.into_text();
        for line in [
            "b_seconds_bucket{x=\"r\",le=\"0.001\"} 0",
            "b_seconds_bucket{x=\"r\",le=\"0.0025\"} 1",
            "b_seconds_bucket{x=\"r\",le=\"+Inf\"} 1",
            "b_seconds_sum{x=\"r\"} 0.002",
            "b_seconds_count{x=\"r\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
