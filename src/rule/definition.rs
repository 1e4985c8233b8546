//! The CRDs that short schemas stand for, beside those that somebody wrote.
//!
//! In: [`Loaded`] rules and CRDs. Out: one CRD a kind, or a problem where two differ. Pure.

use super::{Example, Loaded};
use crate::object::GroupKind;
use crate::problem::Problem;
use crate::shorthand::Definition;
use serde_json::Value;

/// Adds the CRD of each rule that describes its parent. One that is there already stays: a committed copy is the usual case.
pub(super) fn add(loaded: &mut Loaded) {
    for rule in &loaded.rules {
        let Some(definition) = &rule.definition else { continue };
        let kind = rule.parent.gvk().group_kind();
        let same_kind = |crd: &&Example| kind_of(&crd.object).as_ref() == Some(&kind);
        match loaded.crds.iter().find(same_kind) {
            None => {
                let place = definition.place().clone();
                loaded.crds.push(Example { object: definition.to_json(), place });
            }
            Some(other) if says_the_same(definition, &other.object) => {}
            Some(other) => loaded.problems.push(differ(&kind, definition, other)),
        }
    }
}

/// Labels and annotations may be added to a copy.
fn says_the_same(definition: &Definition, other: &Value) -> bool {
    let own = definition.to_json();
    own.get("spec") == other.get("spec")
}

fn differ(kind: &GroupKind, definition: &Definition, other: &Example) -> Problem {
    let message =
        format!("{kind} is described by this schema and, differently, at {}", other.place);
    Problem::new("duplicate-crd", message).at(definition.place().clone()).hint(
        "remove one of them: the short schema, or the other; a copy is made anew with `kubewright crd`",
    )
}

fn kind_of(crd: &Value) -> Option<GroupKind> {
    let text = |pointer| Some(crd.pointer(pointer)?.as_str()?.to_owned());
    Some(GroupKind { group: text("/spec/group")?, kind: text("/spec/names/kind")? })
}
