//! One page: everything in it that is wrong.

use super::blocks::{Block, is_shown, parts, spans};
use super::command::{Line, mentioned};
use super::{FROM_NOTHING, TESTED_ELSEWHERE, book};
use kubewright::rule::{self, Folder};
use kubewright::source::Source;
use kubewright::yaml::{self, Limits};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// What is wrong with a page.
#[derive(Default)]
pub(super) struct Found {
    pub(super) faults: Vec<String>,
    /// Commands that were run.
    pub(super) ran: usize,
}

/// Reads a page, and does what it says.
pub(super) fn faults(name: &str, document: &str) -> Found {
    let mut found = Found::default();
    let parts = parts(document);
    if let Some(line) = parts.open {
        found.faults.push(format!("{name}:{line}: the block is not closed"));
    }
    if document.contains("{{#") {
        found.faults.push(format!("{name}: mdBook reads what follows two braces and a hash"));
    }
    let folder = folder(name, &parts.blocks);
    for block in &parts.blocks {
        let place = format!("{name}:{}", block.line);
        if !TESTED_ELSEWHERE.contains(&name) {
            look(block, &place, folder.path(), &mut found);
        }
    }
    let mut before = "";
    for (number, line) in &parts.prose {
        let place = format!("{name}:{number}");
        if line.starts_with("    ") && before.is_empty() {
            found.faults.push(format!("{place}: put a fence around this, and say what it is"));
        }
        before = line.trim();
        let mistakes = spans(line).filter_map(mentioned);
        found.faults.extend(mistakes.map(|mistake| format!("{place}: {mistake}")));
    }
    found.faults.extend(book::broken_links(name, document));
    found
}

fn folder(name: &str, blocks: &[Block]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let runs = |block: &Block| ["console", "sh"].iter().any(|word| block.info.starts_with(word));
    if !FROM_NOTHING.contains(&name) && blocks.iter().any(runs) {
        for part in ["rules", "templates", "tests/scenarios"] {
            copy(Path::new(part), &folder.path().join(part));
        }
    }
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &to) } else { assert!(fs::copy(&path, &to).is_ok()) }
    }
}

fn look(block: &Block, place: &str, folder: &Path, found: &mut Found) {
    let words: Vec<&str> = block.info.split_whitespace().collect();
    let fault = match words.as_slice() {
        ["yaml"] => parsed(&block.text).or_else(|| compiled(&block.text, folder)),
        ["yaml", "part"] => parsed(&block.text),
        ["yaml", path] => {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &block.text).unwrap();
            None
        }
        ["json"] => serde_json::from_str::<serde_json::Value>(&block.text)
            .err()
            .map(|error| error.to_string()),
        ["console", how @ ..] => {
            let commands = shown_commands(&block.text);
            return run_all(&commands, how, (place, folder), found);
        }
        ["sh", how @ ..] => {
            let text = block.text.replace("\\\n", " ");
            // Of a part of a script only our own commands are known.
            let is_known =
                |line: &&str| !how.contains(&"part") || line.trim().starts_with("kubewright ");
            let lines = text.lines().filter(is_known).map(|line| (line.trim().to_owned(), None));
            let lines = lines.collect::<Vec<_>>();
            return run_all(&lines, how, (place, folder), found);
        }
        ["text" | "mermaid" | "gotmpl" | "python"] => None,
        _ => Some(format!("what is a block `{}`?", block.info)),
    };
    found.faults.extend(fault.map(|fault| format!("{place}: {fault}")));
}

fn parsed(text: &str) -> Option<String> {
    yaml::parse(text, &Limits::FILE).err().map(|error| error.to_string())
}

/// A rule of its own is what `check` accepts; whatever else is there needs no more than to be YAML.
fn compiled(text: &str, folder: &Path) -> Option<String> {
    let documents = yaml::parse(text, &Limits::FILE).ok()?;
    if !documents.iter().any(|document| document.root.to_json()["kind"] == "Rule") {
        return None;
    }
    let read = |folder: &Path| {
        rule::read(Path::new("rules"), &folder.join("templates")).unwrap().templates
    };
    let mut templates = Arc::unwrap_or_clone(read(Path::new("")));
    templates.extend(Arc::unwrap_or_clone(read(folder)));
    let rules = vec![Source::new("the block", text)];
    let loaded = rule::load(&Folder { rules, templates: Arc::new(templates) });
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

/// Commands after `$ `, each with the output that is shown for it.
fn shown_commands(text: &str) -> Vec<(String, Option<String>)> {
    let mut commands: Vec<(String, Option<String>)> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), None));
        } else if let Some((_, shown)) = commands.last_mut() {
            let shown = shown.get_or_insert_default();
            shown.push_str(line);
            shown.push('\n');
        }
    }
    commands
}

fn run_all(
    commands: &[(String, Option<String>)],
    how: &[&str],
    (place, folder): (&str, &Path),
    found: &mut Found,
) {
    let in_cluster = how.contains(&"cluster") || how.contains(&"part");
    let fails = how.contains(&"fails");
    for (text, shown) in commands {
        let line = Line::read(text);
        let mut tell = |fault: String| found.faults.push(format!("{place}: `{text}`: {fault}"));
        if let Some(mistake) = line.mistake() {
            tell(mistake);
        } else if line.needs_a_cluster() && !in_cluster {
            tell("it needs a cluster: say so after the fence".into());
        } else if line.can_run() && !in_cluster {
            let (code, printed) = line.run(folder);
            if (code != 0) != fails {
                tell(format!("exit code {code}\n{printed}"));
            }
            if let Some(shown) = shown.as_ref().filter(|shown| !is_shown(shown, &printed)) {
                tell(format!("it prints\n{printed}\nand not\n{shown}"));
            }
            found.ran += 1;
        }
    }
}
