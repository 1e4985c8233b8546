//! Which wanted element of a list is which owned one.
//!
//! In: the elements, the owned children. Out: a child for each element, by elimination. Never here: live values.

use crate::owned::fields::{Child, FieldSet};
use crate::owned::path::Step;
use serde_json::Value;

/// The owned child of each wanted element.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::owned) struct Assigned {
    /// Per element, the position among the children; nothing if it is not owned or ambiguous.
    pub(in crate::owned) children: Vec<Option<usize>>,
    /// Elements that more than one of the remaining children would fit.
    pub(in crate::owned) ambiguous: Vec<usize>,
}

/// An element that leaves out a key field had it defaulted, and that default is the same for all. So an element that
/// fits a single free key is that one, which frees the next; what the server accepted comes out unique.
///
/// Elements with their whole key take a binary search; the others compare with each key a few times.
pub(in crate::owned) fn assign(wanted: &[Value], fields: &FieldSet) -> Assigned {
    let mut children = vec![None; wanted.len()];
    let mut free = vec![true; fields.children().len()];
    let mut open = Vec::new();
    for (index, element) in wanted.iter().enumerate() {
        if element.is_object() && fields.exact_key(element).is_none() {
            open.push(Open { index, choices: 0 });
        } else if let Some(child) = fields.element(index, element) {
            children[index] = Some(child);
            free[child] = false;
        }
    }
    let fits = |open: &Open, child: &Child| matches!(&child.step, Step::Key(key) if key.fits(&wanted[open.index]));
    for open in &mut open {
        let choices = fields.children().iter().zip(&free);
        open.choices = choices
            .filter(|(child, free)| **free && fits(open, child))
            .count();
    }
    while let Some(at) = open.iter().position(|open| open.choices == 1) {
        let decided = open.swap_remove(at);
        let mut choices = fields.children().iter().enumerate();
        let Some((child, owned)) = choices.find(|(at, child)| free[*at] && fits(&decided, child))
        else {
            break;
        };
        children[decided.index] = Some(child);
        free[child] = false;
        for open in &mut open {
            open.choices -= usize::from(fits(open, owned));
        }
    }
    let ambiguous = open
        .into_iter()
        .filter(|open| open.choices > 1)
        .map(|open| open.index);
    Assigned {
        children,
        ambiguous: ambiguous.collect(),
    }
}

/// An element without a whole key that is not assigned yet.
struct Open {
    index: usize,
    /// How many free keys it fits.
    choices: usize,
}
