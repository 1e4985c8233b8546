//! Problems as SARIF 2.1.0, which code hosts show beside the lines.
//!
//! In: problems in their order, the folder that paths are relative to, what was looked at. Out: text that is the same
//! for the same problems. Pure.

use super::{Problem, codes};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Component, Path};

/// Prints them. Paths are made relative to `base`, an absolute folder; a problem without a place is shown at
/// `whole`, since code hosts pass over what is nowhere.
pub fn sarif(problems: &[Problem], base: &Path, whole: &Path) -> String {
    let used: BTreeSet<&str> = problems.iter().map(|problem| problem.code).collect();
    let used: Vec<&str> = used.into_iter().collect();
    let rules: Vec<Value> = used.iter().map(|code| rule(code)).collect();
    let results: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let index = used.iter().position(|code| *code == problem.code);
            result(problem, index.unwrap_or_default(), base, whole)
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "kubewright",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn rule(name: &str) -> Value {
    let (meaning, remedy) =
        codes::find(name).map_or((name, name), |code| (code.meaning, code.remedy));
    json!({
        "id": name,
        "shortDescription": {"text": meaning},
        "help": {"text": remedy},
    })
}

fn result(problem: &Problem, index: usize, base: &Path, whole: &Path) -> Value {
    let mut text = problem.message.clone();
    if let Some(hint) = &problem.hint {
        // Writing to a String cannot fail.
        let _ = write!(text, " ({hint})");
    }
    if let Some(note) = &problem.note {
        let _ = write!(text, "; {note}");
    }
    let mut location = Map::new();
    let file = problem.place.as_ref().map_or(whole, |place| Path::new(&place.source.name));
    location.insert("artifactLocation".into(), json!({"uri": uri(file, base)}));
    if let Some(place) = &problem.place {
        let (start, end) = (place.position(), place.end());
        let region = json!({
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": end.line,
            "endColumn": end.column,
        });
        location.insert("region".into(), region);
    }
    json!({
        "ruleId": problem.code,
        "ruleIndex": index,
        "level": problem.severity.as_str(),
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    })
}

/// Relative to the folder if it lies in it, with `/` between the names and everything else as RFC 3986 wants it.
fn uri(path: &Path, base: &Path) -> String {
    let inside = path.strip_prefix(base).unwrap_or(path);
    let outside = inside.is_absolute();
    let names: Vec<String> = inside
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(escaped(&name.to_string_lossy())),
            Component::ParentDir => Some("..".to_owned()),
            _ => None,
        })
        .collect();
    let relative = names.join("/");
    match (outside, relative.is_empty()) {
        (true, _) => format!("file:///{relative}"),
        (false, true) => ".".to_owned(),
        (false, false) => relative,
    }
}

fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Place, Source};

    #[test]
    fn paths_become_relative_references() {
        for (path, expected) in [
            ("rules/a.yaml", "rules/a.yaml"),
            ("./rules/a b.yaml", "rules/a%20b.yaml"),
            ("/srv/repo/rules/ä.yaml", "rules/%C3%A4.yaml"),
            ("/srv/other/a.yaml", "file:///srv/other/a.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("/srv/repo", "."),
        ] {
            assert_eq!(uri(Path::new(path), Path::new("/srv/repo")), expected, "{path}");
        }
    }

    #[test]
    fn each_code_is_described_once_and_each_problem_points_at_its_description() {
        let source = Source::new("rules/a.yaml", "a: 1\nb: 2\n");
        let at = |code, start: usize| {
            Problem::new(code, "m").at(Place::new(&source, start..start + 1)).hint("h")
        };
        let problems = [
            at("wrong-type", 0),
            at("illegal-id", 5),
            at("illegal-id", 8),
            Problem::warning("no-rule", "w"),
        ];
        let text = sarif(&problems, Path::new("/"), Path::new("rules"));
        let log: Value = serde_json::from_str(&text).unwrap();
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["illegal-id", "no-rule", "wrong-type"]);
        assert!(rules.iter().all(|rule| rule["shortDescription"]["text"].is_string()));
        let results = run["results"].as_array().unwrap();
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(result["ruleId"], ids[index]);
        }
        assert_eq!(results[1]["message"]["text"], "m (h)");
        let region = json!({"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 2});
        assert_eq!(results[1]["locations"][0]["physicalLocation"]["region"], region);
        assert_eq!(results[3]["level"], "warning");
        let location = json!({"artifactLocation": {"uri": "rules"}});
        assert_eq!(results[3]["locations"][0]["physicalLocation"], location);
    }
}
