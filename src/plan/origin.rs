//! Where the templates say what changes.
//!
//! In: what was judged. Out: a place in a file for each operation. Pure.

use super::{Case, Change, child, edit};
use crate::fetch::Observed;
use crate::object::ObjectId;
use crate::owned::Changes;
use crate::render::{Desired, DesiredChild, Origins, Part, origins};
use crate::rule::Rule;
use crate::source::Place;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Knows where everything that changes is written.
pub(super) struct Finder<'a> {
    rule: &'a Rule,
    /// Which of the objects of its template a child is.
    nth: BTreeMap<(Arc<str>, Vec<String>, ObjectId), usize>,
    found: Origins,
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        case: &'a Case<'_>,
        observed: &Observed,
        desired: &Desired,
        judged: &[child::Judged<'_>],
        edits: &[edit::Judged<'_>],
    ) -> Self {
        let mut nth = BTreeMap::new();
        let mut counts: BTreeMap<(Arc<str>, Vec<String>), usize> = BTreeMap::new();
        for child in &desired.children {
            let place = (Arc::clone(&child.child), child.items.clone());
            let count = counts.entry(place.clone()).or_default();
            nth.insert((place.0, place.1, child.id.clone()), *count);
            *count += 1;
        }
        let mut finder = Self { rule: &case.state.rule, nth, found: Origins::new() };
        let children = judged.iter().map(|one| (one.child, one.changes.as_ref()));
        let edits = edits.iter().map(|one| (&one.patch.wanted, one.changes.as_ref()));
        let changed = children.chain(edits).filter_map(|(child, changes)| Some((child, changes?)));
        let asked: Vec<Part> =
            changed.flat_map(|(child, changes)| finder.parts(child, changes)).collect();
        finder.found = origins(finder.rule, observed, &case.setting(false), &asked);
        finder
    }

    fn parts(&self, child: &DesiredChild, changes: &Changes) -> Vec<Part> {
        let key = (Arc::clone(&child.child), child.items.clone(), child.id.clone());
        let nth = self.nth.get(&key).copied().unwrap_or_default();
        let place = (Arc::clone(&child.child), child.items.clone());
        let part = |at: &crate::path::Location| Part { place: place.clone(), nth, at: at.clone() };
        changes.operations.iter().map(|one| part(&one.wanted_at)).collect()
    }

    /// What changes of a child, with places.
    pub(super) fn change(&self, child: &DesiredChild, changes: &Changes) -> Change {
        let parts = self.parts(child, changes);
        let origins = parts.iter().map(|part| self.found.get(part).cloned()).collect();
        Change { changes: changes.clone(), origins }
    }

    /// Where the rule wants a child.
    pub(super) fn rule_place(&self, child: &str) -> Option<Place> {
        self.rule.child(child).map(|child| child.place.clone())
    }
}
