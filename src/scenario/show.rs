//! What scenarios ran into, for people.
//!
//! In: [`Ran`]s. Out: text that is the same for the same results: no times, no order of luck.

use super::{Failure, Ran, Wrong};
use crate::yaml;
use serde_json::Value;
use std::fmt::{self, Write};

/// One line per scenario, then a block per failure, then how many passed.
pub fn summary(all: &[Ran]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = written(&mut text, all);
    text
}

fn written(text: &mut String, all: &[Ran]) -> fmt::Result {
    for ran in all {
        let mark = if ran.passed() { "ok    " } else { "FAILED" };
        let file = &ran.place.source.name;
        writeln!(text, "{mark} {file}: {} ({})", ran.about, counted(ran.steps.len(), "step"))?;
    }
    for ran in all {
        for step in &ran.steps {
            for failure in &step.failures {
                let about = if step.about.is_empty() { &ran.about } else { &step.about };
                write!(text, "\n{}: {about}\n{failure}", failure.place)?;
            }
        }
    }
    let steps: usize = all.iter().map(|ran| ran.steps.len()).sum();
    let steps_passed: usize =
        all.iter().flat_map(|ran| &ran.steps).filter(|step| step.passed()).count();
    let passed = all.iter().filter(|ran| ran.passed()).count();
    let of = if steps_passed == steps { String::new() } else { format!("{steps_passed} of ") };
    let scenarios = counted(all.len(), "scenario");
    writeln!(text, "\n{scenarios}, {of}{} passed", counted(steps, "step"))?;
    writeln!(text, "{passed} passed, {} failed", all.len() - passed)
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The path, and below it what was expected and what was found.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wrong {
            Wrong::Said(what) => {
                let mut lines = what.lines();
                writeln!(f, "    {}: {}", self.path, lines.next().unwrap_or_default())?;
                lines.try_for_each(|line| writeln!(f, "      {line}"))
            }
            Wrong::Different { expected, found } => {
                writeln!(f, "    {}", self.path)?;
                let (expected, found) = (value(expected.as_ref()), value(found.as_ref()));
                lines(&expected, &found).lines().try_for_each(|line| writeln!(f, "      {line}"))
            }
        }
    }
}

fn value(value: Option<&Value>) -> String {
    match value {
        None => "(nothing)".to_owned(),
        // Quotes tell the text `1` from the number.
        Some(scalar @ (Value::String(_) | Value::Null)) => scalar.to_string(),
        Some(value) => yaml::print(value),
    }
}

/// The lines that differ: `-` expected, `+` found. What both begin and end with is left out.
pub(super) fn lines(expected: &str, found: &str) -> String {
    let expected: Vec<&str> = expected.trim_end().lines().collect();
    let found: Vec<&str> = found.trim_end().lines().collect();
    let shortest = expected.len().min(found.len());
    let same =
        |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let head = same(&mut expected.iter().zip(&found)).min(shortest);
    let tail = same(&mut expected.iter().rev().zip(found.iter().rev())).min(shortest - head);
    let minus = expected[head..expected.len() - tail].iter().map(|line| format!("- {line}\n"));
    let plus = found[head..found.len() - tail].iter().map(|line| format!("+ {line}\n"));
    minus.chain(plus).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_differ_are_shown() {
        assert_eq!(lines("a\nb\nc\n", "a\nx\ny\nc\n"), "- b\n+ x\n+ y\n");
        assert_eq!(
            lines("a\na\n", "a\n"),
            "- a\n",
            "what is counted at the start is not at the end"
        );
        assert_eq!(lines("same", "same"), "");
    }
}
