//! The pages as a book: mdBook reads `docs/book.toml` and `docs/SUMMARY.md`.

use super::blocks::{parts, without_spans};
use regex::Regex;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Every page of the book, sorted.
pub(super) fn pages() -> Vec<String> {
    let entries = fs::read_dir("docs").unwrap().map(|entry| entry.unwrap().path());
    let names = entries.map(|path| path.display().to_string());
    let mut pages: Vec<String> = names.filter(|name| is_page(name) && name != SUMMARY).collect();
    pages.sort();
    assert!(pages.len() > 15, "{pages:?}");
    pages
}

fn is_page(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "md")
}

/// Where the links of a text lead, with their lines.
fn links(document: &str) -> Vec<(usize, String)> {
    let link = Regex::new(r"\]\(([^()\s]+)\)").unwrap();
    let of_line = |(number, line): &(usize, String)| {
        let text = without_spans(line);
        let found = link.captures_iter(&text).map(|found| (*number, found[1].to_owned()));
        found.collect::<Vec<_>>()
    };
    parts(document).prose.iter().flat_map(of_line).collect()
}

/// The names of headings, as mdBook and code hosts make them.
fn anchors(document: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = parts(document).prose.into_iter().filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim().to_lowercase())
    });
    let name = |title: String| {
        let legal = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        let name: String = title.chars().filter(legal).collect();
        let name = name.replace(' ', "-");
        let before = seen.entry(name.clone()).or_default();
        *before += 1;
        if *before == 1 { name } else { format!("{name}-{}", *before - 1) }
    };
    headings.map(name).collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Links of a page that lead nowhere, or out of the book.
pub(super) fn broken_links(name: &str, document: &str) -> Vec<String> {
    let broken = |(line, link): (usize, String)| {
        let why = why_broken(name, document, &link)?;
        Some(format!("{name}:{line}: `{link}` {why}"))
    };
    links(document).into_iter().filter_map(broken).collect()
}

fn why_broken(name: &str, document: &str, link: &str) -> Option<&'static str> {
    if link.starts_with("https://") || link.starts_with("http://") {
        return None;
    }
    let (path, anchor) =
        link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = plain(&Path::new(name).parent().unwrap().join(path));
    if name.starts_with("docs/") && !path.is_empty() && !target.starts_with("docs") {
        return Some("leaves the book: name the file instead");
    }
    if !path.is_empty() && !target.exists() {
        return Some("leads nowhere");
    }
    let anchor = anchor?;
    let text =
        if path.is_empty() { document.to_owned() } else { fs::read_to_string(target).ok()? };
    let known = anchors(&text).iter().any(|known| known == anchor);
    (!known).then_some("leads nowhere: there is no such heading")
}

#[test]
fn every_page_is_in_the_summary_once_and_nothing_else_is() {
    let summary = fs::read_to_string(SUMMARY).unwrap();
    assert!(summary.starts_with("# Summary\n"), "mdBook wants this");
    assert_eq!(broken_links(SUMMARY, &summary), [""; 0]);
    let mut listed: Vec<String> =
        links(&summary).into_iter().map(|(_, link)| format!("docs/{link}")).collect();
    listed.sort();
    assert_eq!(listed, pages());
    for (number, line) in parts(&summary).prose {
        let is_known = line.is_empty()
            || line.starts_with("# ")
            || line == "---"
            || line.trim_start().starts_with("- [")
            || line.starts_with('[');
        assert!(is_known, "{SUMMARY}:{number}: mdBook does not read `{line}`");
    }
}

#[test]
fn the_book_is_where_mdbook_looks_for_it() {
    let settings = fs::read_to_string("docs/book.toml").unwrap();
    assert!(settings.contains("\n[book]\n") || settings.starts_with("[book]\n"), "{settings}");
    // The pages lie beside the settings, so that links from elsewhere to docs/PAGE.md stay what they are.
    assert!(settings.contains("\nsrc = \".\"\n"), "{settings}");
    assert!(settings.contains("\nbuild-dir = \"../target/book\"\n"), "{settings}");
}

#[test]
fn every_page_begins_with_its_title_and_can_be_reached_from_the_front_door() {
    for name in pages() {
        let text = fs::read_to_string(&name).unwrap();
        assert!(text.starts_with("# "), "{name} begins with its title");
    }
    let mut reached = vec!["README.md".to_owned()];
    let mut at = 0;
    while let Some(name) = reached.get(at).cloned() {
        at += 1;
        let text = fs::read_to_string(&name).unwrap();
        for (_, link) in links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            let target =
                plain(&Path::new(&name).parent().unwrap().join(path)).display().to_string();
            if target.starts_with("docs/") && is_page(&target) && !reached.contains(&target) {
                reached.push(target);
            }
        }
    }
    let orphans: Vec<String> = pages().into_iter().filter(|page| !reached.contains(page)).collect();
    assert_eq!(orphans, [""; 0], "nothing links to these pages");
}

#[test]
fn headings_are_named_as_the_sites_name_them() {
    let page = "# A title\n\n## `kubewright run`, and more\n\n```text\n# no heading\n```\n\n## Twice\n\n## Twice\n";
    assert_eq!(anchors(page), ["a-title", "kubewright-run-and-more", "twice", "twice-1"]);
    assert_eq!(links("[a](B.md) `[c](D.md)` [e](#f)"), [(1, "B.md".into()), (1, "#f".into())]);
}
