//! Types: which fields the objects of a kind have, and what may be in them.
//!
//! In: `CustomResourceDefinitions`; the built-in kinds are a part of the program. Out: [`Types`], and what is wrong with
//! an object ([`check_object`]), a path ([`path_exists`]) or a rule ([`rule_findings`]). Pure. Never here: a cluster,
//! files, what only the API server can judge (admission, CEL, names, how fields depend on each other).
//!
//! Everything that is said of an object is something that the API server refuses in a server-side apply, or drops or
//! changes without a word; where that is not sure, nothing is said.

mod builtin;
mod check;
mod crd;
mod default;
mod finding;
pub(crate) mod naming;
mod path;
mod rule;
mod shape;

pub use check::{check_object, check_status};
pub use default::default_parent;
pub use finding::Finding;
pub use path::{PathCheck, StatusCheck, path_exists, status_field};
pub use rule::rule_findings;

use crate::object::Gvk;
use crate::scope::Scope;
use serde_json::Value;
use shape::Schema;
use std::collections::BTreeMap;

/// The kinds that are known.
#[derive(Clone, Debug, Default)]
pub struct Types {
    custom: BTreeMap<Gvk, Kind>,
}

/// A kind in one of its versions.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its name in paths and in rights, for example `deployments`; empty if its definition does not say it.
    pub plural: String,
    /// Where its objects live.
    pub scope: Scope,
    /// Whether their status is written apart from the rest.
    pub has_status: bool,
    root: Schema,
}

impl Types {
    /// The kinds that every API server of [`crate::control_plane::VERSION`] has, without alpha and beta versions.
    pub fn builtin() -> Self {
        Self::default()
    }

    /// And those of these `CustomResourceDefinitions`; documents of other kinds are passed over, as are versions that
    /// are not served. Of a definition with mistakes in it, what cannot be read counts as "anything goes".
    pub fn with_crds<'a>(mut self, crds: impl IntoIterator<Item = &'a Value>) -> Self {
        self.custom.extend(crds.into_iter().flat_map(crd::kinds));
        self
    }

    /// A kind, if it is known.
    pub fn kind(&self, gvk: &Gvk) -> Option<&Kind> {
        builtin::kind(gvk).or_else(|| self.custom.get(gvk))
    }

    /// Every kind that is known, built-in ones first.
    pub fn kinds(&self) -> impl Iterator<Item = (&Gvk, &Kind)> {
        let builtin: &BTreeMap<Gvk, Kind> = builtin::kinds();
        builtin.iter().chain(&self.custom)
    }

    /// The versions in which a kind is known, the asked one aside.
    pub fn other_versions(&self, gvk: &Gvk) -> Vec<&str> {
        let same = |other: &&Gvk| {
            other.group == gvk.group && other.kind == gvk.kind && other.version != gvk.version
        };
        self.kinds().map(|(gvk, _)| gvk).filter(same).map(|gvk| gvk.version.as_str()).collect()
    }
}

#[cfg(test)]
mod tests;
