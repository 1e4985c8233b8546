//! What a rule says of the fields of objects, kept for those who know the types of the objects.
//!
//! In: comparisons and paths as they are compiled. Out: [`Mention`]s. Never here: types.

use super::comparison_file::ComparisonFile;
use crate::comparison::Comparison;
use crate::path::Path;
use crate::source::{Place, Source};
use std::sync::Arc;

/// A path in a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// Whose field.
    pub of: Subject,
    /// Which field.
    pub path: Path,
    /// What for.
    pub how: Use,
    /// Where the rule says it.
    pub place: Place,
}

/// The object that a path leads into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The parent.
    Parent,
    /// The child with this id.
    Child(Arc<str>),
    /// The input with this id.
    Input(Arc<str>),
}

/// What a rule does with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It compares it.
    Compared,
    /// It leaves it to others.
    Ignored,
}

/// The paths of a comparison. `own` is the child that `self` means, `single` says which other names mean one child: items
/// have no known type, and children of groups may be a map of objects.
pub(super) fn of_comparison(
    comparison: &Comparison,
    file: &ComparisonFile,
    source: &Arc<Source>,
    own: Option<&str>,
    single: impl Fn(&str) -> bool,
    input: impl Fn(&str) -> bool,
) -> Vec<Mention> {
    let subject = |name: &str| match name {
        "parent" => Some(Subject::Parent),
        "self" => Some(Subject::Child(own?.into())),
        id if input(id) => Some(Subject::Input(id.into())),
        id => single(id).then(|| Subject::Child(id.into())),
    };
    let mut mentions = Vec::new();
    for (name, paths) in comparison.paths_by_root() {
        let Some(of) = subject(name) else { continue };
        mentions.extend(paths.into_iter().map(|path| Mention {
            of: of.clone(),
            path: path.clone(),
            how: Use::Compared,
            place: Place::new(source, file.place_of_text(path.as_str())),
        }));
    }
    mentions
}
