//! Problems as one JSON document, for programs.
//!
//! In: problems in their order. Out: text that is the same for the same problems. Pure.

use super::Problem;
use serde::Serialize;

/// The document; fields that a problem does not have are left out.
#[derive(Serialize)]
struct Report<'p> {
    problems: Vec<Entry<'p>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'p> {
    code: &'p str,
    severity: &'p str,
    #[serde(flatten)]
    place: Option<At<'p>>,
    message: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'p str>,
}

/// From 1, columns in characters; the end is the first character that is no longer meant.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct At<'p> {
    file: &'p str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// Prints them.
pub fn json(problems: &[Problem]) -> String {
    let report = Report { problems: problems.iter().map(entry).collect() };
    // Texts and numbers under text keys: nothing that could fail.
    serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
}

fn entry(problem: &Problem) -> Entry<'_> {
    let place = problem.place.as_ref().map(|place| {
        let (start, end) = (place.position(), place.end());
        At {
            file: &place.source.name,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    });
    Entry {
        code: problem.code,
        severity: problem.severity.as_str(),
        place,
        message: &problem.message,
        hint: problem.hint.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Place, Source};

    #[test]
    fn a_problem_has_everything_that_it_knows_and_nothing_else() {
        let source = Source::new("rules/é.yaml", "a: 1\né: x y\n");
        let placed = Problem::new("unknown-field", "unknown field `é`")
            .at(Place::new(&source, 5..7))
            .hint("did you mean \"e\"?");
        let expected = r#"{
  "problems": [
    {
      "code": "no-rule",
      "severity": "error",
      "message": "there is none"
    },
    {
      "code": "unknown-field",
      "severity": "error",
      "file": "rules/é.yaml",
      "line": 2,
      "column": 1,
      "endLine": 2,
      "endColumn": 2,
      "message": "unknown field `é`",
      "hint": "did you mean \"e\"?"
    }
  ]
}
"#;
        assert_eq!(json(&[Problem::new("no-rule", "there is none"), placed]), expected);
        assert_eq!(json(&[]), "{\n  \"problems\": []\n}\n");
    }
}
