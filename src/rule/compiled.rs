//! A compiled rule: every path, comparison and template parsed, nothing that could be invalid. It is never changed.

use super::file::Until;
use super::mention::Mention;
use super::policy_file::{
    Adopt, Characters, OnImmutable, OnRuleRemoved, PatchType, Removal, Update, WhenGone,
};
use crate::comparison::{Comparison, Reference, Truth};
use crate::object::{GroupKind, Gvk, ObjectId, labels, metadata};
use crate::owned::{Ignored, SecretPlaces, Spot};
use crate::path::Path;
use crate::selector::{Selector, SelectorRule};
use crate::shorthand::Definition;
use crate::source::{Place, Source};
use crate::template::{BodyTemplate, DocumentsTemplate, LineTemplate, Templates};
use crate::view::View;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A compiled rule.
pub struct Rule {
    /// Its name.
    pub name: Arc<str>,
    /// The name it has in marks and field managers: the oldest of its names, so that a rule which is renamed writes nothing.
    pub identity: Arc<str>,
    /// Where it stands: its name.
    pub place: Place,
    /// Its former names.
    pub formerly: Vec<Arc<str>>,
    /// Hash of everything it was compiled from: two rules with equal hashes do the same.
    pub hash: u64,
    /// The template files that it uses, by the names it uses for them.
    pub files: BTreeMap<String, Arc<Source>>,
    /// The watched kind, and which of its objects.
    pub parent: ParentRule,
    /// The CRD of the parent, if the rule describes it.
    pub definition: Option<Definition>,
    /// Whether a parent in a namespace may reach outside of it.
    pub cross_namespace: bool,
    /// Whether values of Secrets may be shown.
    pub reveal: bool,
    /// Every parent is looked at again after this time.
    pub resync: Option<Duration>,
    /// What becomes of the children when the rule is taken away.
    pub on_rule_removed: OnRuleRemoved,
    /// Values computed once per pass.
    pub let_body: Option<BodyTemplate>,
    /// Whether `let` reads inputs, and so comes after them.
    pub let_reads_inputs: bool,
    /// The inputs, as written: each may read those before it.
    pub inputs: Vec<InputRule>,
    /// The children, as written, those of groups included.
    pub children: Vec<ChildRule>,
    /// The groups, each after the one it is in.
    pub groups: Vec<GroupRule>,
    /// Indices into `children`: each after those it needs.
    pub order: Vec<usize>,
    /// What the status should say.
    pub status: Option<StatusRule>,
    /// Every template of this rule.
    pub templates: Templates,
    /// The paths that it compares or ignores.
    pub mentions: Vec<Mention>,
}

/// The watched kind, and which of its objects.
pub struct ParentRule {
    /// The kinds; at least one.
    pub kinds: Vec<Gvk>,
    /// Only objects of these namespaces; empty means all.
    pub namespaces: Vec<String>,
    /// Only objects in namespaces with these labels.
    pub namespace_selector: Option<Selector>,
    /// Only objects with these labels.
    pub label_selector: Option<Selector>,
    /// Only objects for which all of these hold.
    pub when: Vec<Comparison>,
}

/// An object, or a list of objects, that the rule only reads.
pub struct InputRule {
    /// Its id.
    pub id: Arc<str>,
    /// Where it stands in the rule.
    pub place: Place,
    /// Its kind.
    pub gvk: Gvk,
    /// The name of one object; a list without it.
    pub name: Option<LineTemplate>,
    /// Which objects are in the list.
    pub selector: SelectorRule,
    /// Where it is looked for.
    pub within: Where,
    /// Whether it reads as null when it is absent.
    pub optional: bool,
}

/// The namespaces in which an input is looked for.
pub enum Where {
    /// That of the parent.
    Own,
    /// One that is named.
    Named(LineTemplate),
    /// All.
    All,
    /// These.
    Listed(Vec<Arc<str>>),
    /// Those with these labels.
    Selected(SelectorRule),
}

/// What is done with a child in cases in which rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// How a child that exists is brought up to date.
    pub update: Update,
    /// What is done when a field cannot be changed.
    pub on_immutable: OnImmutable,
    /// Whether somebody else's object may become the child.
    pub adopt: Adopt,
    /// What becomes of it when it is no longer wanted; as its kind demands where the rule says nothing.
    pub unwanted: Option<Removal>,
    /// What becomes of it when the parent is deleted.
    pub parent_deleted: Option<Removal>,
    /// What is done when it is gone with its generated values.
    pub when_gone: WhenGone,
}

/// Children that exist once per item of a list or map.
pub struct GroupRule {
    /// The group it is in.
    pub outer: Option<usize>,
    /// Where it stands in the rule.
    pub place: Place,
    /// The list or map.
    pub source: Reference,
    /// What tells items apart.
    pub key: Option<Path>,
    /// What the item is called.
    pub item: Arc<str>,
    /// Values computed once per item.
    pub let_body: Option<BodyTemplate>,
    /// Only items for which all of these hold.
    pub when: Vec<Comparison>,
}

/// A child.
pub struct ChildRule {
    /// Its id.
    pub id: Arc<str>,
    /// The group it is in.
    pub group: Option<usize>,
    /// Where it stands in the rule.
    pub place: Place,
    /// What renders it.
    pub template: DocumentsTemplate,
    /// Every kind it may render.
    pub kinds: Vec<Gvk>,
    /// Whether it has several documents, so that `children.ID` is a map by `Kind/name`.
    pub several: bool,
    /// Whether it may render nothing.
    pub may_be_empty: bool,
    /// It is wanted while all of these hold.
    pub when: Vec<Comparison>,
    /// Children that come first.
    pub needs: Vec<Need>,
    /// Ids of children that are decided before this one: needed, read by its template, or asked about in its `when`.
    pub after: BTreeSet<Arc<str>>,
    /// Replaces the kind's readiness rule.
    pub ready: Option<Vec<Comparison>>,
    /// Fields that are left to others.
    pub ignore: Vec<IgnoreRule>,
    /// If there are any, all other fields are left to others.
    pub only: Vec<IgnoreRule>,
    /// If it edits an object that the rule does not own: which, and how.
    pub patch: Option<PatchRule>,
    /// Values that are made once, by name.
    pub generate: BTreeMap<String, Generate>,
    /// Where its template puts secret values into objects that are no Secrets: only in a rule that reveals them.
    pub revealed: SecretPlaces,
    /// What is done with it in cases in which rules differ.
    pub policies: Policies,
}

/// An edit of an object that the rule does not own.
pub struct PatchRule {
    /// Which object.
    pub target: Target,
    /// How.
    pub how: PatchType,
    /// Whether the edit stays when it is no longer wanted.
    pub stays: bool,
}

/// An object that a rule edits.
pub enum Target {
    /// The parent.
    Parent,
    /// Another one.
    Object {
        /// Its kind.
        gvk: Gvk,
        /// Its name.
        name: LineTemplate,
        /// Its namespace; the parent's own without it.
        namespace: Option<LineTemplate>,
    },
}

/// A value that is made once, when its Secret is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generate {
    /// Characters, 8 to 1024.
    pub length: usize,
    /// Which.
    pub characters: Characters,
}

/// A child that comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Its id.
    pub id: Arc<str>,
    /// What is waited for.
    pub until: Until,
}

/// A field that is left to others.
pub struct IgnoreRule {
    pub(super) spots: Vec<Spot>,
    pub(super) when: Vec<Comparison>,
}

/// What the status should say.
pub struct StatusRule {
    /// Where the rule says whose status it is.
    pub place: Place,
    /// Put before the types of the conditions that every rule has.
    pub prefix: String,
    /// Conditions of the rule's own.
    pub conditions: Vec<ConditionRule>,
    /// The declared fields.
    pub fields: Option<BodyTemplate>,
    /// The names of the declared fields that are written plainly, and where.
    pub names: Vec<(String, Place)>,
}

/// A condition of the rule's own.
pub struct ConditionRule {
    /// Its type.
    pub kind: String,
    /// Where the rule names it.
    pub place: Place,
    /// It is True while all of these hold.
    pub when: Vec<Comparison>,
    /// Why it is True.
    pub then: Because,
    /// Why it is False.
    pub otherwise: Because,
    /// Why it is Unknown.
    pub unknown: Option<Because>,
}

/// Why a condition is as it is.
pub struct Because {
    /// One CamelCase word.
    pub reason: String,
    /// A sentence for people; the comparisons explain themselves without it.
    pub message: Option<LineTemplate>,
}

impl Rule {
    /// Every kind it may create.
    pub fn kinds(&self) -> impl Iterator<Item = &Gvk> {
        self.children.iter().flat_map(|child| &child.kinds)
    }

    /// The kinds of the objects that it edits, parents aside.
    pub fn target_kinds(&self) -> BTreeSet<&Gvk> {
        let patches = self.children.iter().filter_map(|child| child.patch.as_ref());
        patches
            .filter_map(|patch| match &patch.target {
                Target::Object { gvk, .. } => Some(gvk),
                Target::Parent => None,
            })
            .collect()
    }

    /// Whether it edits its own parents.
    pub fn edits_parents(&self) -> bool {
        let mut patches = self.children.iter().filter_map(|child| child.patch.as_ref());
        patches.any(|patch| matches!(patch.target, Target::Parent))
    }

    /// An input by its id.
    pub fn input(&self, id: &str) -> Option<&InputRule> {
        self.inputs.iter().find(|input| *input.id == *id)
    }

    /// Whether some child is made of what another one is: after a write, it may be another one.
    pub fn children_read_each_other(&self) -> bool {
        self.children.iter().any(|child| !child.after.is_empty())
    }

    /// Whether it matters which labels namespaces have.
    pub fn asks_for_namespaces(&self) -> bool {
        let selects = |input: &InputRule| matches!(input.within, Where::Selected(_));
        self.parent.namespace_selector.is_some() || self.inputs.iter().any(selects)
    }

    /// Whether what it wants depends on anything but the parent and its children.
    pub fn reads_inputs(&self) -> bool {
        self.parent.namespace_selector.is_some() || !self.inputs.is_empty()
    }

    /// A child by its id.
    pub fn child(&self, id: &str) -> Option<&ChildRule> {
        self.children.iter().find(|child| *child.id == *id)
    }

    /// The groups around a group, outermost first, itself last.
    pub fn nesting(&self, group: Option<usize>) -> Vec<usize> {
        let mut nesting: Vec<usize> =
            std::iter::successors(group, |group| self.groups.get(*group)?.outer).collect();
        nesting.reverse();
        nesting
    }

    /// Whether an object is one of its parents, as far as kind and namespace say.
    pub fn is_for(&self, object: &Value) -> bool {
        let namespace = metadata(object, "namespace").unwrap_or("default");
        let namespaces = &self.parent.namespaces;
        let labels = || labels(object);
        Gvk::of(object).is_some_and(|gvk| self.parent.kinds.contains(&gvk))
            && (namespaces.is_empty() || namespaces.iter().any(|name| name == namespace))
            && self
                .parent
                .label_selector
                .as_ref()
                .is_none_or(|selector| selector.matches(&labels()))
    }
}

/// Kinds whose loss would be a loss of data, or of much else.
const PRECIOUS: [(&str, &str); 4] = [
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
];

impl Default for Policies {
    fn default() -> Self {
        Self {
            update: Update::Apply,
            on_immutable: OnImmutable::Fail,
            adopt: Adopt::Never,
            unwanted: None,
            parent_deleted: None,
            when_gone: WhenGone::Hold,
        }
    }
}

impl Policies {
    /// Whether an object of this kind stays when it is no longer wanted, and when the parent is deleted.
    pub fn kept(&self, kind: &GroupKind) -> (bool, bool) {
        let precious = PRECIOUS.contains(&(kind.group.as_str(), kind.kind.as_str()));
        let usual = if precious { Removal::Orphan } else { Removal::Delete };
        let stays = |removal: Option<Removal>| removal.unwrap_or(usual) == Removal::Orphan;
        (stays(self.unwanted), stays(self.parent_deleted))
    }
}

impl InputRule {
    /// Everything in it that may be computed.
    pub fn lines(&self) -> impl Iterator<Item = &LineTemplate> {
        let within = match &self.within {
            Where::Named(line) => Some(line),
            Where::Own | Where::All | Where::Listed(_) | Where::Selected(_) => None,
        };
        let selector = match &self.within {
            Where::Selected(selector) => Some(selector),
            _ => None,
        };
        let selectors = std::iter::once(&self.selector).chain(selector);
        self.name.iter().chain(within).chain(selectors.flat_map(SelectorRule::lines))
    }
}

impl ParentRule {
    /// Whether an object's kind and namespace are such that the rule may be for it.
    pub fn reaches(&self, id: &ObjectId) -> bool {
        let anywhere = self.namespaces.is_empty() || id.namespace.is_empty();
        let named = || self.namespaces.iter().any(|namespace| **namespace == *id.namespace);
        self.kinds.iter().any(|gvk| gvk.group_kind() == *id.kind) && (anywhere || named())
    }

    /// Whether it reaches whatever another reaches.
    pub fn reaches_all_of(&self, other: &Self) -> bool {
        let within = |namespace: &String| self.namespaces.contains(namespace);
        let everywhere = self.namespaces.is_empty()
            || (!other.namespaces.is_empty() && other.namespaces.iter().all(within));
        let known = |gvk: &Gvk| self.kinds.iter().any(|own| own.group_kind() == gvk.group_kind());
        everywhere && other.kinds.iter().all(known)
    }

    /// The first of its kinds, and usually the only one.
    pub fn gvk(&self) -> &Gvk {
        &self.kinds[0]
    }
}

impl ChildRule {
    /// The fields that are left to others in this pass.
    pub fn ignored(&self, view: &View<'_>) -> Ignored {
        let holds = |entry: &&IgnoreRule| view.evaluate(&entry.when).truth == Truth::Holds;
        let spots = |entries: &[IgnoreRule]| -> Vec<Vec<Spot>> {
            entries.iter().filter(holds).map(|entry| entry.spots.clone()).collect()
        };
        Ignored::new(spots(&self.ignore)).but_for(spots(&self.only))
    }

    /// Where an object of a kind that it renders, or edits, has secret values.
    pub fn secrets_in(&self, gvk: &Gvk) -> SecretPlaces {
        if gvk.is_secret() {
            SecretPlaces::of_a_secret().and(&self.revealed)
        } else {
            self.revealed.clone()
        }
    }
}
