//! Results as `JUnit` XML, the form that build servers read.
//!
//! In: [`Ran`]s. Out: one `testsuite` per file, one `testcase` per scenario. No times: they would differ each run.

use super::Ran;
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// The whole document.
pub fn junit(all: &[Ran]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a String cannot fail.
    let _ = written(&mut text, all);
    text
}

fn written(text: &mut String, all: &[Ran]) -> fmt::Result {
    let failed = |all: &[&Ran]| all.iter().filter(|ran| !ran.passed()).count();
    let every: Vec<&Ran> = all.iter().collect();
    let mut by_file: BTreeMap<&str, Vec<&Ran>> = BTreeMap::new();
    for ran in all {
        by_file.entry(&ran.place.source.name).or_default().push(ran);
    }
    let (tests, failures) = (all.len(), failed(&every));
    writeln!(text, "<testsuites name=\"kubewright\" tests=\"{tests}\" failures=\"{failures}\">")?;
    for (file, scenarios) in by_file {
        let (name, tests, failures) = (escaped(file), scenarios.len(), failed(&scenarios));
        writeln!(text, "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">")?;
        for ran in scenarios {
            case(text, &name, ran)?;
        }
        writeln!(text, "  </testsuite>")?;
    }
    writeln!(text, "</testsuites>")
}

fn case(text: &mut String, file: &str, ran: &Ran) -> fmt::Result {
    let about = escaped(&ran.about);
    let line = ran.place.position().line;
    write!(
        text,
        "    <testcase classname=\"{file}\" name=\"{about}\" file=\"{file}\" line=\"{line}\""
    )?;
    if ran.passed() {
        return writeln!(text, "/>");
    }
    let failures: Vec<String> = ran
        .steps
        .iter()
        .flat_map(|step| &step.failures)
        .map(|failure| format!("{}:\n{failure}", failure.place))
        .collect();
    let message = match failures.len() {
        1 => "1 expectation was not met".to_owned(),
        number => format!("{number} expectations were not met"),
    };
    writeln!(
        text,
        ">\n      <failure message=\"{message}\">{}</failure>",
        escaped(&failures.join("\n"))
    )?;
    writeln!(text, "    </testcase>")
}

/// For attributes and text alike; characters that XML 1.0 has no form for become `?`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_end_an_element_or_an_attribute() {
        let text = escaped("<a b=\"c\">]]> & \u{1b}[0m\u{ffff}\n");
        assert_eq!(text, "&lt;a b=&quot;c&quot;&gt;]]&gt; &amp; ?[0m?\n");
    }
}
