//! Values that change with every write, and what they may not decide.
//!
//! In: what flows where in a rule. Out: a problem for each name of a child that depends on one. Pure.

use super::flows::{Flows, said};
use crate::problem::Problem;
use crate::template::{Sink, Source};

/// Fields of `metadata` that somebody else's write changes, or our own.
const CHANGING: [&str; 3] = ["generation", "resourceVersion", "managedFields"];

/// The first thing a value is made of that changes with every write, in words.
pub(crate) fn source_of_trouble(
    flows: &Flows<'_>,
    sink: &Sink,
    group: Option<usize>,
) -> Option<String> {
    sink.sources.iter().find_map(|written| {
        let sources = flows.resolve(written, group);
        let source = sources.into_iter().find(changes)?;
        Some(said(&source, written))
    })
}

/// A hash of it changes as often.
fn changes(source: &Source) -> bool {
    let is_object =
        matches!(source.path.first().map(String::as_str), Some("parent" | "children" | "inputs"));
    let pairs = source.path.iter().zip(source.path.iter().skip(1));
    is_object
        && pairs.take(4).any(|(one, two)| one == "metadata" && CHANGING.contains(&two.as_str()))
}

/// Names and namespaces of children that change with every write.
pub(super) fn names(flows: &Flows<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (child, study) in flows.templates() {
        for sink in study.sinks.iter().filter(|sink| is_name(sink)) {
            let Some(what) = source_of_trouble(flows, sink, child.group) else { continue };
            let message =
                format!("{what} changes with every edit, and the name of `{}` with it", child.id);
            problems.push(Problem::new("unstable-name", message).at(sink.place.clone()).hint(
                "each edit would make another object and remove the one before: make the name of what stays, such as \
                 `parent.metadata.name` or `parent.metadata.uid`",
            ));
        }
    }
    problems
}

/// Whether a value is a part of the identity.
pub(crate) fn is_name(sink: &Sink) -> bool {
    matches!(sink.spot.path.as_slice(), [metadata, field]
        if metadata == "metadata" && matches!(field.as_str(), "name" | "namespace"))
}
