//! New rules: from existing manifests, from a CRD, or a small example to learn from.
//!
//! In: names, and the texts of manifests or of a CRD. Out: a [`Scaffold`]: the files to write, what to tell their author,
//! or every mistake in the input. Pure: writing the files is for the command.

mod clean;
mod crd;
mod edit;
mod find;
mod greeting;
mod kinds;
mod manifest;
mod manifests;
mod names;
mod parameter;
mod plausible;
mod starter;
mod verify;

pub use greeting::greeting;
pub use manifests::from_manifests;
pub use names::{Names, kind_of};
pub use starter::from_crd;

use crate::problem::Problem;
use crate::rule::{self, Folder, Loaded};
use crate::source::Source;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its path below the folder that holds `rules` and `templates`, with `/`.
    pub path: String,
    /// Its whole text.
    pub text: String,
}

/// What a new rule consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scaffold {
    /// The files, in the order in which one would read them.
    pub files: Vec<NewFile>,
    /// Fields of the parent that were found, as paths below `spec`.
    pub parameters: Vec<String>,
    /// How many objects the example parent gives back.
    pub objects: usize,
    /// What an author should know: what was left as it was, and where.
    pub notes: Vec<String>,
}

impl Scaffold {
    fn add(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files.push(NewFile { path: path.into(), text: text.into() });
    }

    /// The files as `check` reads them, with CRDs that exist already.
    fn load(&self, existing: &[Arc<Source>]) -> Loaded {
        let mut rules = existing.to_vec();
        let mut templates = BTreeMap::new();
        for file in &self.files {
            let source = Source::new(file.path.as_str(), file.text.as_str());
            match file.path.strip_prefix("templates/") {
                Some(name) => drop(templates.insert(name.to_owned(), source)),
                None => rules.push(source),
            }
        }
        rule::load(&Folder { rules, templates: Arc::new(templates) })
    }

    /// Every mistake that `check` would find: a scaffold that has any is never handed out.
    fn check(&self, existing: &[Arc<Source>]) -> Vec<Problem> {
        let loaded = self.load(existing);
        let mut problems = loaded.problems.clone();
        for example in &loaded.examples {
            for rule in loaded.rules.iter().filter(|rule| rule.is_for(&example.object)) {
                let desired = verify::desired(rule, &example.object, &loaded.crds);
                problems.extend(desired.problems().cloned());
            }
        }
        problems
    }
}
