//! Where templates write the parts of objects, for those who show what changes.
//!
//! In: what was rendered from, parts of objects. Out: their places in files. It renders again, each asked child twice: never on
//! the way of a pass. Pure.

use super::{Place, Setting, child, generate, walk};
use crate::fetch::Observed;
use crate::path::{Location, Step};
use crate::rule::Rule;
use crate::source;
use std::collections::BTreeMap;

/// Parts of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The child and the items around it.
    pub place: Place,
    /// Which of the objects that its template renders there.
    pub nth: usize,
    /// Where in the object.
    pub at: Location,
}

/// Where parts are written.
pub type Origins = BTreeMap<Part, source::Place>;

/// Finds them. What a template does not write itself has the place of what is nearest above it.
pub fn origins(rule: &Rule, observed: &Observed, setting: &Setting<'_>, asked: &[Part]) -> Origins {
    let mut found = Origins::new();
    if asked.is_empty() {
        return found;
    }
    walk(rule, observed, setting, &mut |wanted, view| {
        let place = (std::sync::Arc::clone(&wanted.id), view.keys());
        let mut by_object: BTreeMap<usize, Vec<&Part>> = BTreeMap::new();
        for part in asked.iter().filter(|part| part.place == place) {
            by_object.entry(part.nth).or_default().push(part);
        }
        if by_object.is_empty() {
            return;
        }
        let generated = generate::values(wanted, &place.1, observed, setting);
        let context = child::context(wanted, view, &generated);
        for (nth, parts) in by_object {
            let as_written: Vec<Location> =
                parts.iter().flat_map(|part| [part.at.clone(), as_text(&part.at)]).collect();
            let places = rule.templates.places(&wanted.template, &context, nth, &as_written);
            for (part, pair) in parts.into_iter().zip(places.chunks(2)) {
                // Of two the one further down is the one that is written.
                let later = |place: &&source::Place| (place.span.start, place.span.len());
                let best = pair.iter().flatten().max_by_key(later);
                found.extend(best.map(|place| (part.clone(), place.clone())));
            }
        }
    });
    found
}

/// The same part where a Secret has it as text: `stringData` instead of `data`.
fn as_text(at: &Location) -> Location {
    let first = |(index, step): (usize, &Step)| match step {
        Step::Key(key) if index == 0 && key == "data" => Step::from("stringData"),
        step => step.clone(),
    };
    Location::from(at.steps().iter().enumerate().map(first).collect::<Vec<_>>())
}
