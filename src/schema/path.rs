//! Whether a path can lead anywhere in the objects of a kind.
//!
//! In: [`Types`], a kind, a path. Out: yes, never (and from which step on), or not known. Never here: values.

use super::check::hint_for;
use super::shape::{Schema, Shape};
use super::{Kind, Types};
use crate::object::Gvk;
use crate::path::{Leg, Location, Path};

/// Whether a path can lead anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathCheck {
    /// The schema has what it leads to.
    Possible,
    /// No object of this kind can have it.
    Impossible {
        /// The path up to the first step that leads nowhere.
        at: String,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// The kind is not known, or a part of it that takes anything.
    Unknown,
}

/// What becomes of a status field that somebody writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusCheck {
    /// It is kept.
    Kept,
    /// The kind has no status that is written apart.
    NoStatus,
    /// The schema does not have it: the API server refuses the whole write.
    Refused {
        /// What may have been meant.
        hint: Option<String>,
    },
    /// The kind is not known, or its status takes anything.
    Unknown,
}

/// Whether a path can lead anywhere in an object of a kind.
pub fn path_exists(types: &Types, gvk: &Gvk, path: &Path) -> PathCheck {
    types.kind(gvk).map_or(PathCheck::Unknown, |kind| kind.walk(&path.legs()).check)
}

/// What becomes of `status.NAME`.
pub fn status_field(types: &Types, gvk: &Gvk, name: &str) -> StatusCheck {
    let Some(kind) = types.kind(gvk) else { return StatusCheck::Unknown };
    if !kind.has_status {
        return StatusCheck::NoStatus;
    }
    match kind.walk(&[Leg::Key("status".to_owned()), Leg::Key(name.to_owned())]).check {
        PathCheck::Possible => StatusCheck::Kept,
        PathCheck::Impossible { hint, .. } => StatusCheck::Refused { hint },
        PathCheck::Unknown => StatusCheck::Unknown,
    }
}

/// What is known of a path.
pub(super) struct Walked {
    pub(super) check: PathCheck,
    /// The first place on the way that is written as a whole, if the path leads below it.
    pub(super) whole: Option<String>,
}

impl Kind {
    /// Follows a path from the root of an object.
    pub(super) fn walk(&self, legs: &[Leg]) -> Walked {
        walk(&self.root, "$".to_owned(), legs)
    }

    /// The schema of the status.
    pub(super) fn status(&self) -> Option<&Schema> {
        match self.root.resolved() {
            Shape::Fields(fields) => fields.known.get("status"),
            _ => None,
        }
    }
}

fn walk(from: &Schema, at: String, legs: &[Leg]) -> Walked {
    let mut here = vec![from];
    let mut at = at;
    let mut whole = None;
    let ended = |check, whole| Walked { check, whole };
    for leg in legs {
        if whole.is_none() && here.iter().all(|schema| schema.is_whole()) {
            whole = Some(at.clone());
        }
        let Some(below) = below(&here, leg) else { return ended(PathCheck::Unknown, whole) };
        let next = format!("{at}{}", text_of(leg));
        let before = std::mem::replace(&mut at, next);
        if below.is_empty() {
            let hint = here.first().and_then(|schema| hint(schema, leg, &before));
            return ended(PathCheck::Impossible { at, hint }, whole);
        }
        here = below;
        if let Leg::Some(ways) = leg {
            let wrong = ways.iter().find_map(|way| inside(&here, way));
            if let Some(check) = wrong {
                return ended(check, whole);
            }
        }
    }
    ended(PathCheck::Possible, whole)
}

/// What a filter looks at, if nothing that it is asked of can have it.
fn inside(elements: &[&Schema], way: &[Leg]) -> Option<PathCheck> {
    let mut checks = elements.iter().map(|schema| walk(schema, "@".to_owned(), way).check);
    let first = checks.next()?;
    let impossible = |check: &PathCheck| matches!(check, PathCheck::Impossible { .. });
    (impossible(&first) && checks.all(|check| impossible(&check))).then_some(first)
}

/// What may be one step below; nothing where that cannot be told.
fn below<'t>(here: &[&'t Schema], leg: &Leg) -> Option<Vec<&'t Schema>> {
    let mut below = Vec::new();
    for schema in here {
        match (schema.resolved(), leg) {
            (Shape::Any | Shape::Named(_), _) | (_, Leg::Anywhere) => return None,
            (Shape::Fields(fields), Leg::Key(name)) => match fields.known.get(name.as_str()) {
                Some(field) => below.push(field),
                None if fields.open => return None,
                None => {}
            },
            (Shape::Fields(fields), Leg::Each | Leg::Some(_)) => {
                if fields.open {
                    return None;
                }
                below.extend(fields.known.values());
            }
            (Shape::Map(each), Leg::Key(_) | Leg::Each | Leg::Some(_))
            | (Shape::List(each, _), Leg::Position | Leg::Each | Leg::Some(_)) => below.push(each),
            _ => {}
        }
    }
    Some(below)
}

fn text_of(leg: &Leg) -> String {
    match leg {
        Leg::Key(name) => {
            let text = Location::root().child(name.as_str()).to_string();
            text.trim_start_matches('$').to_owned()
        }
        Leg::Position | Leg::Each => "[*]".to_owned(),
        Leg::Some(_) => "[?]".to_owned(),
        Leg::Anywhere => "..".to_owned(),
    }
}

fn hint(schema: &Schema, leg: &Leg, at: &str) -> Option<String> {
    match (schema.resolved(), leg) {
        (Shape::Fields(fields), Leg::Key(name)) => hint_for(fields, name),
        (Shape::List(..), Leg::Key(_)) => Some(format!("`{at}` is a list: go over it with `[*]`")),
        (Shape::Map(_) | Shape::Fields(_), _) => Some(format!("`{at}` is a map")),
        _ => Some(format!("nothing is below `{at}`")),
    }
}
