//! Manifests: the objects of some files, each with the text it was written in.
//!
//! In: files. Out: one [`Manifest`] per object, lists opened, or every mistake with its place. Pure.

use super::clean::{self, Bookkeeping};
use crate::object::{Gvk, metadata};
use crate::problem::Problem;
use crate::source::{Place, Source};
use crate::yaml::{self, Kind, Limits, Node};
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// One object as somebody wrote it.
pub(super) struct Manifest {
    /// Its kind.
    pub gvk: Gvk,
    /// Its name.
    pub name: String,
    /// Its text, which says exactly `object`.
    pub text: String,
    /// The object, without what a server fills in.
    pub object: Value,
    /// Where it began in the input.
    pub place: Place,
    /// The namespace it was written with.
    pub namespace: Option<String>,
    /// Whether the text is the author's, and not printed anew.
    pub kept: bool,
}

/// A text that may hold an object, and where it was found.
struct Segment {
    text: String,
    place: Place,
}

/// Reads every object of the files.
pub(super) fn read(
    sources: &[Arc<Source>],
    bookkeeping: &Bookkeeping,
) -> Result<Vec<Manifest>, Vec<Problem>> {
    let mut manifests: Vec<Manifest> = Vec::new();
    let mut problems = Vec::new();
    for source in sources {
        for segment in segments(source, &mut problems) {
            match manifest(&segment, bookkeeping) {
                Ok(new) => {
                    let same = |old: &&Manifest| {
                        old.gvk == new.gvk && old.name == new.name && old.namespace == new.namespace
                    };
                    if let Some(old) = manifests.iter().find(same) {
                        let message =
                            format!("{} {} is at {} too", new.gvk.kind, new.name, old.place);
                        problems.push(Problem::new("duplicate-object", message).at(new.place));
                    } else {
                        manifests.push(new);
                    }
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    if manifests.is_empty() && problems.is_empty() {
        let names: Vec<_> = sources.iter().map(|source| source.name.as_str()).collect();
        problems
            .push(Problem::new("no-object", format!("there is no object in {}", names.join(", "))));
    }
    if problems.is_empty() { Ok(manifests) } else { Err(problems) }
}

/// The documents of a file that hold something.
fn segments(source: &Arc<Source>, problems: &mut Vec<Problem>) -> Vec<Segment> {
    if let Err(error) = yaml::parse(&source.text, &Limits::FILE) {
        problems.push(problem_of(source, error, 0));
        return Vec::new();
    }
    let mut segments = Vec::new();
    for bytes in documents(&source.text) {
        let text = &source.text[bytes.clone()];
        let root = match yaml::parse(text, &Limits::FILE) {
            Ok(mut documents) if documents.len() == 1 => documents.remove(0).root,
            Ok(_) => continue,
            Err(error) => {
                problems.push(problem_of(source, error, bytes.start));
                continue;
            }
        };
        if matches!(root.kind, Kind::Null { .. }) {
            continue;
        }
        let place = |node: &Node| first_line(source, bytes.start + node.span.start);
        match root.get("items").map(|items| &items.kind) {
            Some(Kind::Sequence(items)) if is_list(&root) => {
                segments.extend(
                    items
                        .iter()
                        .map(|item| Segment { text: own_text(text, item), place: place(item) }),
                );
            }
            _ => segments.push(Segment { text: text.to_owned(), place: place(&root) }),
        }
    }
    segments
}

fn problem_of(source: &Arc<Source>, error: yaml::Error, start: usize) -> Problem {
    let span = error.span.start + start..error.span.end + start;
    let problem = Problem::new("illegal-yaml", error.message).at(Place::new(source, span));
    Problem { hint: error.hint, ..problem }
}

fn first_line(source: &Arc<Source>, start: usize) -> Place {
    let rest = source.text.get(start..).unwrap_or_default();
    let length = rest.find('\n').unwrap_or(rest.len());
    Place::new(source, start..start + length)
}

/// The bytes of each document, without the markers between them. A line that begins with a marker is one, wherever it
/// stands: YAML allows it nowhere else.
fn documents(text: &str) -> Vec<Range<usize>> {
    let mut documents = Vec::new();
    let mut start = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let marker = ["---", "..."].iter().any(|marker| {
            line.strip_prefix(marker)
                .is_some_and(|rest| rest.trim().is_empty() || rest.starts_with([' ', '\t']))
        });
        if marker {
            documents.push(start..at.max(start));
            start = at + 3;
            if line[3..].trim().is_empty() {
                start = at + line.len();
            }
        }
        at += line.len();
    }
    documents.push(start..text.len());
    documents
}

fn is_list(root: &Node) -> bool {
    root.get("kind").and_then(Node::as_str).is_some_and(|kind| kind.ends_with("List"))
}

/// An item's own text, moved to the left margin; printed anew where that would say something else.
fn own_text(text: &str, item: &Node) -> String {
    let line_start = text[..item.span.start].rfind('\n').map_or(0, |at| at + 1);
    let indent = text[line_start..item.span.start].chars().count();
    let mut own = String::new();
    for (number, line) in text[item.span.clone()].split_inclusive('\n').enumerate() {
        let blank = line.len() - line.trim_start_matches(' ').len();
        own += if number == 0 { line } else { &line[blank.min(indent)..] };
    }
    let object = item.to_json();
    if says(&own, &object) { own } else { yaml::print(&object) }
}

/// Whether a text is exactly this object.
pub(super) fn says(text: &str, object: &Value) -> bool {
    match yaml::parse(text, &Limits::FILE).as_deref() {
        Ok([document]) => document.root.to_json() == *object,
        _ => false,
    }
}

fn manifest(segment: &Segment, bookkeeping: &Bookkeeping) -> Result<Manifest, Problem> {
    let wrong = |code, message: String| Problem::new(code, message).at(segment.place.clone());
    let documents = yaml::parse(&segment.text, &Limits::FILE)
        .map_err(|error| wrong("illegal-yaml", error.message))?;
    let root = documents.first().map(|document| &document.root);
    let written = root.map(Node::to_json).unwrap_or_default();
    let gvk = Gvk::of(&written).ok_or_else(|| {
        wrong("no-object", "this is no Kubernetes object".into())
            .hint("an object has `apiVersion` and `kind`")
    })?;
    let name = metadata(&written, "name").unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(wrong("no-name", format!("this {} has no `metadata.name`", gvk.kind)));
    }
    let (text, object, kept) = match root {
        Some(root) => clean::clean(&segment.text, root, &written, bookkeeping),
        None => (segment.text.clone(), written.clone(), true),
    };
    let namespace = metadata(&written, "namespace").map(str::to_owned);
    Ok(Manifest {
        gvk,
        name,
        text: with_newline(&text),
        object,
        place: segment.place.clone(),
        namespace,
        kept,
    })
}

fn with_newline(text: &str) -> String {
    let text = text.trim_start_matches(['\n', '\r']);
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_part_documents_and_their_line_may_hold_content() {
        let text = "# head\na: 1\n---\nb: |\n  ---x\n  --- y\n--- {c: 1}\n...\n---\n";
        let parts: Vec<_> = documents(text).into_iter().map(|bytes| &text[bytes]).collect();
        assert_eq!(parts, ["# head\na: 1\n", "b: |\n  ---x\n  --- y\n", " {c: 1}\n", "", ""]);
    }

    #[test]
    fn items_of_a_list_keep_their_comments() {
        let text = "kind: List\nitems:\n  - a: 1 # one\n    # two\n    b: |\n      x\n       y\n";
        let documents = yaml::parse(text, &Limits::FILE).unwrap();
        let Kind::Sequence(items) = &documents[0].root.get("items").unwrap().kind else { panic!() };
        assert_eq!(own_text(text, &items[0]), "a: 1 # one\n# two\nb: |\n  x\n   y\n");
    }
}
