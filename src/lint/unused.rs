//! Templates that no rule renders or includes.
//!
//! In: compiled rules, files. Out: a warning for each file. Pure.

use crate::problem::Problem;
use crate::rule::{Loaded, Templates};
use crate::source::Place;
use std::collections::BTreeSet;

/// Files that nothing uses. While some rule does not compile, it may be the one that uses them.
pub(super) fn templates(loaded: &Loaded, files: &Templates) -> Vec<Problem> {
    if loaded.problems.iter().any(Problem::is_error) {
        return Vec::new();
    }
    let used: BTreeSet<&str> =
        loaded.rules.iter().flat_map(|rule| rule.templates.files()).collect();
    let unused = files.iter().filter(|(name, _)| !used.contains(name.as_str()));
    unused
        .filter(|(name, _)| is_template(name))
        .map(|(name, source)| {
            let message = format!("no rule uses the template `{name}`");
            Problem::warning("template-unused", message)
                .at(Place::new(source, 0..source.text.len()).first_line())
                .hint("name it in a child's `template`, include it, or remove the file")
        })
        .collect()
}

/// What lies beside templates for people is none.
fn is_template(name: &str) -> bool {
    let name = name.to_lowercase();
    !std::path::Path::new(&name)
        .extension()
        .is_some_and(|extension| extension == "md" || extension == "txt")
}
