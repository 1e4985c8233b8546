//! What flows where in a template: which values it writes, made of what, into which place of the object.
//!
//! In: a compiled template. Out: a [`Study`]. Never here: rendering, and what any of it means.
//!
//! A template is walked once without values: every branch is taken, one after the other, a loop is gone through once,
//! includes and macros are followed. What comes out is a text with placeholders, whose lines tell where each value
//! lands. It says too much rather than too little: a value that may come from one of two places comes from both, and a
//! call gives everything that it is given. Three things are no flow: what a condition decides, the key that something is
//! looked up by, and how often a loop goes round.

mod expression;
mod outline;
mod syntax;
mod value;
mod walk;

use super::sheet::{Origin, Read};
use super::{BodyTemplate, DocumentsTemplate, Line, LineTemplate, Templates, language};
use crate::source::Place;
use minijinja::machinery::{ast, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
pub use value::{Source, Sources};

/// A step to an element of a list, or one that is computed.
pub const ANY: &str = "*";

/// Stack for the walk; the parser needs the most of it.
const STACK: usize = 32 << 20;

/// What flows where in a template.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// The values that it writes.
    pub sinks: Vec<Sink>,
    /// Texts that it writes as they stand.
    pub literals: Vec<Literal>,
    /// The names that it reads and does not give a value itself, with the steps that follow; each place once.
    pub reads: Vec<Read>,
}

/// A value that a template writes.
#[derive(Clone, Debug)]
pub struct Sink {
    /// What it is made of.
    pub sources: Sources,
    /// Where it lands.
    pub spot: Spot,
    /// Where the template says it.
    pub place: Place,
}

/// A text that a template writes as it stands.
#[derive(Clone, Debug)]
pub struct Literal {
    /// What it says.
    pub text: String,
    /// Where it lands.
    pub spot: Spot,
    /// Where the template says it.
    pub place: Place,
}

/// A place in what a template renders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// Which document, from 0.
    pub document: usize,
    /// Keys from its root down; [`ANY`] for an element of a list and for a key that is computed.
    pub path: Vec<String>,
    /// Whether it is a part of a key, of the last in the path.
    pub is_key: bool,
}

impl Study {
    /// A text that a document writes under a key of its own, if it does so literally and once.
    pub fn literal(&self, document: usize, key: &str) -> Option<&str> {
        let here = |spot: &Spot| spot.document == document && spot.path == [key] && !spot.is_key;
        let mut found = self.literals.iter().filter(|literal| here(&literal.spot));
        let text = found.next().map(|literal| literal.text.as_str());
        let computed = self.sinks.iter().any(|sink| here(&sink.spot));
        text.filter(|_| found.next().is_none() && !computed)
    }
}

/// A file, or a text of a rule, as the engine's parser sees it.
struct Parsed<'t> {
    name: &'t str,
    text: &'t str,
    origin: &'t Origin,
    root: ast::Stmt<'t>,
}

impl Templates {
    /// The files that are compiled into these templates, by name.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.parts.sheets.keys().map(|name| &**name).filter(|name| !name.starts_with('/'))
    }

    /// What flows where in a template of objects.
    pub fn study(&self, template: &DocumentsTemplate) -> Study {
        self.study_of(&template.name)
    }

    /// What flows where in a body: the first step of each path is the name that it gives a value.
    pub fn study_body(&self, template: &BodyTemplate) -> Study {
        self.study_of(&template.name)
    }

    /// What flows into a line of text; the paths are empty.
    pub fn study_line(&self, template: &LineTemplate) -> Study {
        match &template.line {
            Line::Literal(_) => Study::default(),
            Line::Template(name) => {
                let mut study = self.study_of(name);
                study.literals.clear();
                for sink in &mut study.sinks {
                    sink.spot = Spot::default();
                }
                study
            }
        }
    }

    /// Nothing, should the machine have no thread left: whoever needs a proof does not get one from here.
    fn study_of(&self, name: &str) -> Study {
        let builder = thread::Builder::new().name("study".to_owned()).stack_size(STACK);
        thread::scope(|scope| {
            let study = builder.spawn_scoped(scope, || self.study_here(name));
            study.ok().and_then(|study| study.join().ok()).unwrap_or_default()
        })
    }

    fn study_here(&self, name: &str) -> Study {
        let sheets = &self.parts.sheets;
        let mut files = BTreeMap::new();
        let mut names = vec![name];
        let mut seen = BTreeSet::new();
        while let Some(name) = names.pop() {
            let Some((name, sheet)) = sheets.get_key_value(name).filter(|_| seen.insert(name))
            else {
                continue;
            };
            names.extend(sheet.uses.iter().map(String::as_str));
            // It was parsed before, when it was compiled.
            if let Ok(root) = parse(&sheet.text, name, language::syntax()) {
                let (text, origin) = (sheet.text.as_str(), &sheet.origin);
                files.insert(&**name, Parsed { name, text, origin, root });
            }
        }
        walk::walk(&files, name)
    }
}

#[cfg(test)]
mod tests;
