//! The rights that rules need: which verbs on which resources, and where.
//!
//! In: compiled rules, the types of kinds. Out: [`Rights`], to be printed as roles, or the kinds whose resource nobody knows.
//! Pure. It says what `act`, `reconcile`, `watch` and `event` send, and nothing more: a test on a real API server holds both
//! sides equal, verb by verb.

mod bind;
mod need;
mod own;
mod role;

pub use own::Own;
pub use role::{Naming, Role};

use crate::object::Gvk;
use crate::rule::Rule;
use crate::schema::Types;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// What may be done with objects of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// One object is read: what a watch has not shown may be there.
    Get,
    /// All are read, before a watch.
    List,
    /// Changes are followed.
    Watch,
    /// One is made. A server-side apply of an absent object needs it beside `patch`.
    Create,
    /// One is replaced.
    Update,
    /// One is changed; every server-side apply.
    Patch,
    /// One is deleted.
    Delete,
    /// A role is given to somebody without having its rights oneself.
    Bind,
    /// A role is made that gives more rights than one has oneself.
    Escalate,
}

impl Verb {
    /// As roles write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Bind => "bind",
            Self::Escalate => "escalate",
        }
    }
}

/// Where a right holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// In every namespace, and outside of them.
    Everywhere,
    /// In one namespace.
    Namespace(String),
}

/// What a right is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, with its subresource if it is about that: `webapps/status`.
    pub resource: String,
    /// Only objects of these names; empty means all.
    pub names: BTreeSet<String>,
}

/// The verbs of one resource in one place, and who needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// What may be done.
    pub verbs: BTreeSet<Verb>,
    /// What for, by rule.
    pub why: BTreeMap<Arc<str>, BTreeSet<String>>,
}

/// Everything that some rules need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// By place and subject.
    pub grants: BTreeMap<Reach, BTreeMap<Subject, Grant>>,
    /// Rules whose parents reach beyond their namespace, as sentences.
    pub notes: BTreeSet<String>,
    /// Powers over the rights of others, as sentences: whoever installs these rights should read them.
    pub powers: BTreeSet<String>,
}

/// A kind whose resource nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("rule {rule}: what {gvk} is called in rights is not known ({what})")]
pub struct Unknown {
    /// The kind.
    pub gvk: Gvk,
    /// The rule.
    pub rule: Arc<str>,
    /// What it is there, for example `child service`.
    pub what: String,
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere => f.write_str("everywhere"),
            Self::Namespace(name) => f.write_str(name),
        }
    }
}

/// What these rules need together.
///
/// # Errors
/// Every kind whose resource is not known.
pub fn rights(rules: &[Arc<Rule>], types: &Types) -> Result<Rights, Vec<Unknown>> {
    let mut rights = Rights::default();
    let mut unknown = BTreeSet::new();
    for rule in rules {
        need::of_rule(rule, types, &mut rights, &mut unknown);
    }
    if unknown.is_empty() { Ok(rights.tidied()) } else { Err(unknown.into_iter().collect()) }
}

impl Rights {
    /// Adds verbs.
    fn add(
        &mut self,
        reach: Reach,
        subject: Subject,
        verbs: &[Verb],
        (rule, why): (&Arc<str>, &str),
    ) {
        let grant = self.grants.entry(reach).or_default().entry(subject).or_default();
        grant.verbs.extend(verbs);
        grant.why.entry(Arc::clone(rule)).or_default().insert(why.to_owned());
    }

    /// Without what holds everywhere anyway.
    fn tidied(mut self) -> Self {
        let everywhere = self.grants.get(&Reach::Everywhere).cloned().unwrap_or_default();
        let all_of = |subject: &Subject| Subject { names: BTreeSet::new(), ..subject.clone() };
        let covered = |subject: &Subject, verb: Verb| {
            let has = |subject: &Subject| {
                everywhere.get(subject).is_some_and(|grant| grant.verbs.contains(&verb))
            };
            has(subject) || has(&all_of(subject))
        };
        for (reach, grants) in &mut self.grants {
            if *reach == Reach::Everywhere {
                continue;
            }
            grants.retain(|subject, grant| {
                grant.verbs.retain(|verb| !covered(subject, *verb));
                !grant.verbs.is_empty()
            });
        }
        self.grants.retain(|_, grants| !grants.is_empty());
        self
    }
}

#[cfg(test)]
mod tests;
