//! What authors see who made a mistake: the folders of `tests/problems`, word for word; and the same for machines.
//!
//! A case is a file `NAME.yaml` in `tests/problems`: a comment that says what is wrong, then the files of a folder, each
//! below a line `#=== rules/rule.yaml`. `kubewright check` runs in that folder, and `NAME.expected.txt` has what it says.
//! With `KUBEWRIGHT_UPDATE=1` that text is written anew: read the difference before you commit it.

use crate::commands::{folder, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const HEADER: &str = "#=== ";

/// A case: where it is, and the folder that it describes.
struct Case {
    path: PathBuf,
    files: Vec<(String, String)>,
}

impl Case {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let shown = path.display();
        assert!(text.starts_with("# "), "{shown} begins with what is wrong");
        let sections = text.split(HEADER).skip(1);
        let files: Vec<_> = sections
            .map(|section| section.split_once('\n').unwrap())
            .map(|(name, text)| (name.trim().to_owned(), text.to_owned()))
            .collect();
        assert!(!files.is_empty(), "{shown} has no line `{HEADER}rules/rule.yaml`");
        Self { path, files }
    }

    fn folder(&self) -> tempfile::TempDir {
        let files: Vec<_> =
            self.files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        folder(&files)
    }

    fn expected(&self) -> PathBuf {
        self.path.with_extension("expected.txt")
    }
}

/// Every case, in the order of their names.
fn cases() -> Vec<Case> {
    let mut paths: Vec<_> =
        fs::read_dir("tests/problems").unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_case = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml");
    paths.into_iter().filter(is_case).map(Case::read).collect()
}

/// Does something with each case, on all cores; what comes out is in the order of the cases.
fn with_each<T: Send>(cases: &[Case], work: impl Fn(&Case) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = cases.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let shares: Vec<_> = cases
            .chunks(share)
            .map(|cases| scope.spawn(|| cases.iter().map(&work).collect::<Vec<_>>()))
            .collect();
        shares.into_iter().flat_map(|share| share.join().unwrap()).collect()
    })
}

#[test]
fn every_mistake_is_told_word_for_word_as_expected() {
    let cases = cases();
    assert!(cases.len() >= 70, "there are {} cases", cases.len());
    let wrong = with_each(&cases, |case| {
        let (code, out, error) = run(case.folder().path(), &["check"]);
        let name = case.path.display();
        assert_eq!((code, out.as_str()), (3, ""), "{name} is wrong, and nothing else: {error}");
        if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
            fs::write(case.expected(), &error).unwrap();
        }
        let expected = fs::read_to_string(case.expected()).unwrap_or_default();
        (expected != error).then(|| format!("{name}: expected\n{expected}\nbut it says\n{error}"))
    });
    let wrong: Vec<_> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_expected_text_has_its_case() {
    let expected: BTreeSet<_> = cases().iter().map(Case::expected).collect();
    let is_text = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "txt");
    let there: BTreeSet<_> = fs::read_dir("tests/problems")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(is_text)
        .collect();
    assert_eq!(there, expected);
}

#[test]
fn machines_are_told_the_same_in_the_same_bytes() {
    with_each(&cases(), |case| {
        let name = case.path.display().to_string();
        let folder = case.folder();
        let (code, text, error) = run(folder.path(), &["check", "-o", "json"]);
        assert_eq!((code, error.as_str()), (3, ""), "{name}");
        assert_eq!(run(folder.path(), &["check", "-o", "json"]).1, text, "{name}");
        let document: Value = serde_json::from_str(&text).unwrap();
        let problems = document["problems"].as_array().unwrap();
        let told = fs::read_to_string(case.expected()).unwrap();
        for problem in problems {
            let code = problem["code"].as_str().unwrap();
            let title = format!(
                "{}[{code}]: {}",
                problem["severity"].as_str().unwrap(),
                problem["message"].as_str().unwrap()
            );
            assert!(told.contains(title.lines().next().unwrap()), "{name}: {title}");
            if problem.get("file").is_some() {
                place_is_real(case, problem, &name);
            }
        }
        let (code, text, _) = run(folder.path(), &["check", "-o", "sarif"]);
        assert_eq!(code, 3, "{name}");
        let log: Value = serde_json::from_str(&text).unwrap();
        sarif_is_as_code_hosts_want_it(&log, problems.len(), &name);
    });
}

/// A place is within its file, and its end is not before its start.
fn place_is_real(case: &Case, problem: &Value, name: &str) {
    let file = problem["file"].as_str().unwrap();
    let number = |key: &str| usize::try_from(problem[key].as_u64().unwrap()).unwrap();
    let (_, text) = case.files.iter().find(|(path, _)| path == file).unwrap();
    let lines: Vec<&str> = text.split('\n').collect();
    let (start, end) =
        ((number("line"), number("column")), (number("endLine"), number("endColumn")));
    assert!(start <= end, "{name}: {problem}");
    for (line, column) in [start, end] {
        assert!(line >= 1 && line <= lines.len(), "{name}: {problem}");
        assert!(column >= 1 && column <= lines[line - 1].chars().count() + 1, "{name}: {problem}");
    }
}

fn sarif_is_as_code_hosts_want_it(log: &Value, problems: usize, name: &str) {
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), problems, "{name}");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"], "{name}");
        assert!(!result["message"]["text"].as_str().unwrap().is_empty(), "{name}");
        let location = &result["locations"][0]["physicalLocation"];
        let uri = location["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.starts_with('/') && !uri.contains(':'), "{name}: {uri} is relative");
        if let Some(region) = location.get("region") {
            for key in ["startLine", "startColumn", "endLine", "endColumn"] {
                assert!(region[key].as_u64().unwrap() >= 1, "{name}: {region}");
            }
        }
    }
    for rule in rules {
        let text = rule["shortDescription"]["text"].as_str().unwrap();
        assert!(text.ends_with('.'), "{name}: {text}");
    }
}
