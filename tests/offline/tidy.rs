//! The habits of the house, where a test can hold them.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    walk(Path::new(folder), &mut files);
    files.sort();
    assert!(files.len() > 5, "{folder} has files");
    files
}

fn walk(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            files.push((path, text));
        }
    }
}

/// The program's own files: without those that are compiled for tests only.
pub(crate) fn program() -> Vec<(PathBuf, String)> {
    let all = sources("src");
    let for_tests: Vec<PathBuf> =
        all.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_program = |path: &Path| !for_tests.iter().any(|module| path.starts_with(module));
    all.into_iter().filter(|(path, _)| is_program(&path.with_extension(""))).collect()
}

/// The paths, without ending, of modules that a file declares for tests only.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let folder = path.with_extension("");
    text.split("#[cfg(test)]\nmod ")
        .skip(1)
        .filter_map(|rest| rest.split_once(';'))
        .filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        .map(|(name, _)| folder.join(name))
        .collect()
}

/// Without the tests at the end.
pub(crate) fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    for folder in ["src", "tests"] {
        for (path, text) in sources(folder) {
            assert!(text.starts_with("//! "), "{} opens with a module comment", path.display());
        }
    }
}

#[test]
fn no_file_outgrows_its_concept() {
    for (path, text) in program() {
        let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        let lines = code(&text).lines().filter(is_code).count();
        assert!(lines <= 400, "{} has {lines} lines of code: cut it by concept", path.display());
    }
}

#[test]
fn pure_steps_know_no_client_no_async_no_clock_and_no_environment() {
    let pure = [
        "comparison",
        "path",
        "template",
        "yaml",
        "owned",
        "rule/compile",
        "rule/decode",
        "rule/file",
        "rule/cross",
        "rule/lint",
        "lint",
        "render",
        "compare",
        "event/facts",
        "event/memory",
        "event/note",
        "event/rival",
        "view",
        "ready",
        "marks",
        "object",
        "source",
        "problem",
        "plan",
        "reach",
        "report",
        "scenario",
        "schema",
        "scope",
        "snapshot/lack",
        "scaffold",
        "graph",
        "rights",
        "status/condition",
        "status/fields",
        "status/standing",
    ];
    let forbidden = [
        "async fn",
        "kube::",
        "tokio::",
        "Timestamp::now",
        "SystemTime",
        "Instant::now",
        "std::env",
        "std::fs",
    ];
    let mut seen = 0;
    for (path, text) in program() {
        let name = path.strip_prefix("src").unwrap().with_extension("");
        let name = name.to_string_lossy().replace('\\', "/");
        if !pure.iter().any(|pure| name == *pure || name.starts_with(&format!("{pure}/"))) {
            continue;
        }
        seen += 1;
        for word in forbidden {
            assert!(!code(&text).contains(word), "{name} is pure and must not know `{word}`");
        }
    }
    assert!(seen >= pure.len(), "every pure module is looked at");
}

#[test]
fn nothing_is_left_open() {
    // Written in two parts, so that this file does not find itself.
    let left = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("FIX", "ME"),
        concat!("#[", "ignore"),
    ];
    for folder in ["src", "tests"] {
        for (path, text) in sources(folder) {
            for word in left {
                assert!(!text.contains(word), "{} has {word}", path.display());
            }
        }
    }
}
