//! The difference between desired and observed, as a plan; and what is remembered of each child.
//!
//! In: [`Desired`], [`Observed`], the [`Memo`] of each child. Out: a [`Plan`]. Pure, cannot fail, needs no schema.
//!
//! Drift is judged between two answers of the server: the fields we own, as they are now, against the same fields as
//! the server answered our last apply. So defaults, spelling of quantities, admission and conversion never look like
//! drift. resourceVersion and generation are no signals of drift: the first moves for unrelated reasons, the second
//! misses labels and has no meaning for half of the kinds.

use crate::fetch::{ChildCache, Live, Observed, Owner};
use crate::marks::visible;
use crate::object::ObjectId;
use crate::owned::{self, Drift, FieldPath, IntentMark, Matching, Mismatch, SecretPlaces};
use crate::refusal::{HeldField, Refusal};
use crate::render::{Desired, DesiredChild};
use crate::rule::Update;
use std::collections::BTreeMap;

/// What is to be done for one parent.
#[derive(Default)]
pub struct Plan<'a> {
    /// Children that should exist, in the order of the rule.
    pub children: Vec<Planned<'a>>,
    /// Children that should no longer exist. Acted on only if everything else went well.
    pub prune: Vec<&'a Live>,
    /// Those among them that are not deleted now, and why.
    pub withheld: BTreeMap<ObjectId, Refusal>,
}

/// What is to be done for one child.
pub struct Planned<'a> {
    /// The child.
    pub child: &'a DesiredChild,
    /// What exists of it.
    pub live: Option<&'a Live>,
    /// What is to be done.
    pub action: Action,
}

/// What is to be done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: it is as it should be.
    Keep,
    /// It does not exist, as far as the cache knows.
    Create,
    /// It is to be written; for any reason but a new intent, the fields are taken back from whoever changed them.
    Apply(Reason),
    /// It is to be deleted and created anew, as its rule wants changes to be made.
    Recreate(Reason),
    /// It was made once with values that cannot be made anew, and is gone.
    Lost,
    /// It cannot be written before the parent holds our finalizer, which was refused.
    Withheld(Refusal),
    /// Somebody is deleting it; it is created anew when it is gone.
    WaitGone,
    /// An object of that name is there and not ours, for this reason.
    Taken(String),
    /// No cache can tell whether it exists, for this reason.
    Unseen(String),
}

/// Why a child is written; a label in logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The rule or the parent wants something else than before.
    Intent,
    /// Somebody changed or removed something we own.
    Drift,
    /// Our fields are recorded in another API version.
    Version,
}

impl Reason {
    /// One lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Drift => "drift",
            Self::Version => "version",
        }
    }
}

impl Plan<'_> {
    /// Whether there is nothing to write or delete.
    pub fn is_empty(&self) -> bool {
        let idle = |action: &Action| {
            !matches!(action, Action::Create | Action::Apply(_) | Action::Recreate(_))
        };
        self.prune.is_empty() && self.children.iter().all(|planned| idle(&planned.action))
    }

    /// The objects that would be deleted, to be created anew or not; `may_prune` says whether anything may be pruned.
    pub fn doomed(&self, may_prune: bool) -> Vec<ObjectId> {
        let recreated = self.children.iter().filter_map(|planned| match planned.action {
            Action::Recreate(_) => Some(planned.child.id.clone()),
            _ => None,
        });
        let pruned = self.prune.iter().filter(|_| may_prune).map(|live| live.id.clone());
        recreated.chain(pruned).collect()
    }

    /// Some of them are not deleted for now.
    pub fn withhold_deletions(&mut self, withheld: BTreeMap<ObjectId, Refusal>) {
        for planned in &mut self.children {
            if let (Action::Recreate(_), Some(why)) =
                (&planned.action, withheld.get(&planned.child.id))
            {
                planned.action = Action::Withheld(why.clone());
            }
        }
        self.withheld = withheld;
    }

    /// Children that nothing but a finalizer would bring back to us are not made without it.
    pub fn withhold(&mut self, refusal: &Refusal) {
        for planned in self.children.iter_mut().filter(|planned| planned.child.free) {
            planned.action = Action::Withheld(refusal.clone());
        }
    }

    /// Looks closer at what is not among the children: it may be there without being ours, or nobody may know.
    pub fn checked(mut self, caches: &[ChildCache], owner: &Owner<'_>) -> Self {
        for planned in self.children.iter_mut().filter(|planned| planned.action == Action::Create) {
            planned.action = match absent(planned.child, caches, owner) {
                Action::Create if planned.child.lost => Action::Lost,
                other => other,
            };
        }
        self
    }
}

fn absent(child: &DesiredChild, caches: &[ChildCache], owner: &Owner<'_>) -> Action {
    let mut trouble = None;
    for cache in caches.iter().filter(|cache| cache.holds(&child.id)) {
        if let Some(why) = &cache.trouble {
            trouble = Some(why.clone());
            continue;
        }
        let Some(stored) = cache.store.get(&child.id) else { return Action::Create };
        let live = Live::new(stored);
        return match live.not_ours(owner) {
            _ if live.is_remains(owner) => Action::WaitGone,
            Some(why) => Action::Taken(why),
            // It came between two looks: the next pass sees it.
            None => Action::Create,
        };
    }
    let outside = || format!("{} is outside of what the rule watches", child.id);
    Action::Unseen(trouble.unwrap_or_else(outside))
}

/// What is remembered of a child between passes; never stored outside the process, rebuilt from the cache after a restart.
#[derive(Clone, Debug)]
pub struct Memo {
    /// Of the object this is about.
    pub uid: Box<str>,
    /// Hash of the intent that was applied.
    pub intent: u64,
    /// The last version that was judged to be in order.
    pub judged: u64,
    /// The fields we own and their values, as the server answered.
    pub owned: owned::Memo,
}

/// The memos of one parent's children.
pub type Memos = BTreeMap<ObjectId, Memo>;

/// Compares. Memos of children that turn out to be in order are brought up to date, those of others that went are dropped.
pub fn compare<'a>(
    desired: &'a Desired,
    observed: &'a Observed,
    memos: &mut Memos,
    owner: &Owner<'_>,
) -> Plan<'a> {
    let found = |id: &ObjectId| observed.children.get(id).or_else(|| observed.lost.get(id));
    memos.retain(|id, _| found(id).is_some());
    let children = desired
        .children
        .iter()
        .map(|child| {
            let live = found(&child.id);
            let memo = memos.get(&child.id);
            let create = (Action::Create, None);
            let (action, memo) =
                live.map_or(create, |live| judge(child, live, memo, owner.manager));
            if let Some(memo) = memo {
                memos.insert(child.id.clone(), memo);
            }
            Planned { child, live, action }
        })
        .collect();
    let unwanted = |live: &&Live| {
        !desired.wants(&live.id) && !desired.protects(live) && !live.stored.terminating
    };
    let prune = observed.children.values().filter(unwanted).collect();
    Plan { children, prune, withheld: BTreeMap::new() }
}

/// What an answer of the server leaves to remember.
pub fn memo_of(child: &DesiredChild, live: &Live, manager: &str) -> Option<Memo> {
    let entry = live.entry(manager)?;
    let owned = owned::Memo::of(&child.object, &entry, live.value(), &child.ignored)?;
    Some(memo_with(child, live, owned))
}

/// What an object of ours needs; and its memo, if that changed.
pub(crate) fn judge(
    child: &DesiredChild,
    live: &Live,
    memo: Option<&Memo>,
    manager: &str,
) -> (Action, Option<Memo>) {
    if live.stored.terminating {
        return (Action::WaitGone, None);
    }
    match child.policies.update {
        Update::Apply => differs(child, live, memo, manager, live.intent()),
        Update::Never => (Action::Keep, None),
        Update::Recreate => match differs(child, live, memo, manager, live.intent()) {
            (Action::Apply(reason @ (Reason::Intent | Reason::Drift)), memo) => {
                (Action::Recreate(reason), memo)
            }
            other => other,
        },
    }
}

/// `marked` is what the object says of the intent it was applied for.
pub(crate) fn differs(
    child: &DesiredChild,
    live: &Live,
    memo: Option<&Memo>,
    manager: &str,
    marked: Option<IntentMark>,
) -> (Action, Option<Memo>) {
    let memo = memo.filter(|memo| memo.uid == live.stored.uid);
    let version = live.stored.resource_version;
    if memo.is_some_and(|memo| memo.judged == version && memo.intent == child.intent) {
        return (Action::Keep, None);
    }
    let entry = live.entry(manager);
    if entry.as_ref().is_some_and(|entry| entry.api_version != child.gvk.api_version()) {
        return (Action::Apply(Reason::Version), None);
    }
    match memo {
        Some(memo) if memo.intent == child.intent => {
            match memo.owned.drift(entry.as_ref(), live.value(), &child.ignored) {
                Drift::None => (Action::Keep, Some(Memo { judged: version, ..memo.clone() })),
                Drift::Values => unless_respelled(child, live, Some(memo), manager),
                Drift::Ownership => by_matching(child, live, manager),
            }
        }
        // Somebody may have applied this intent already: another replica, or we, and the answer was lost.
        _ => {
            let tells = |mark: &IntentMark| *mark != IntentMark::Unknown || memo.is_none();
            match marked.filter(|mark| child.is_marked(*mark) && tells(mark)) {
                Some(mark) => as_marked(child, live, manager, mark),
                None => (Action::Apply(Reason::Intent), None),
            }
        }
    }
}

/// The mark of an object says that it was applied for what is wanted now. Secret values are in no mark, and a mark in a format
/// that we do not know says nothing: there the object itself must have what is wanted. Fields that we lost come first.
fn as_marked(
    child: &DesiredChild,
    live: &Live,
    manager: &str,
    mark: IntentMark,
) -> (Action, Option<Memo>) {
    let judged = by_matching(child, live, manager);
    let wanted = || owned::compared(&child.object, &child.ignored);
    let same = match (mark, &judged.0) {
        (IntentMark::Open(_), Action::Keep) => child.secrets.stand(&wanted(), live.value()),
        (IntentMark::Whole(_) | IntentMark::Open(_), _) => true,
        // To make it anew because of a format would be worse than to miss a change.
        (IntentMark::Unknown, Action::Keep) if child.policies.update == Update::Recreate => true,
        (IntentMark::Unknown, Action::Keep) => {
            // The marks themselves are in that format.
            SecretPlaces::everywhere().stand(&visible(&wanted()), live.value())
        }
        (IntentMark::Unknown, _) => false,
    };
    if same { judged } else { (Action::Apply(Reason::Intent), None) }
}

/// Without a memo to go by (after a restart, or when the record of who owns what moved): our managedFields entry says what is
/// left of what was applied.
fn by_matching(child: &DesiredChild, live: &Live, manager: &str) -> (Action, Option<Memo>) {
    let fields = live.entry(manager).and_then(|entry| entry.fields());
    let covered = fields.is_some_and(|fields| {
        owned::matches(&child.object, &fields, &live.whole(), &child.ignored) == Matching::Covered
    });
    match memo_of(child, live, manager).filter(|_| covered) {
        Some(memo) => (Action::Keep, Some(memo)),
        None => unless_respelled(child, live, None, manager),
    }
}

/// Values of ours that somebody only spelled anew are left so: to fight over the spelling would be without end.
fn unless_respelled(
    child: &DesiredChild,
    live: &Live,
    before: Option<&Memo>,
    manager: &str,
) -> (Action, Option<Memo>) {
    let entry = live.entry(manager);
    let before = before.map(|memo| &memo.owned);
    let accepted = entry.and_then(|entry| {
        owned::Memo::respelled(before, &child.object, &entry, &live.whole(), &child.ignored)
    });
    match accepted {
        Some(owned) => (Action::Keep, Some(memo_with(child, live, owned))),
        None => (Action::Apply(Reason::Drift), None),
    }
}

fn memo_with(child: &DesiredChild, live: &Live, owned: owned::Memo) -> Memo {
    Memo {
        uid: live.stored.uid.clone(),
        intent: child.intent,
        judged: live.stored.resource_version,
        owned,
    }
}

/// Fields that we applied and do not own any more, and who has them now.
pub(crate) fn lost(child: &DesiredChild, live: &Live, manager: &str) -> Vec<HeldField> {
    let lost = lost_paths(child, live, manager).into_iter();
    lost.map(|(path, holder)| HeldField { field: path.to_string(), holder }).collect()
}

/// The same with paths that can be followed.
pub(crate) fn lost_paths(
    child: &DesiredChild,
    live: &Live,
    manager: &str,
) -> Vec<(FieldPath, String)> {
    let whole = live.whole();
    let fields = live.entry(manager).and_then(|entry| entry.fields()).unwrap_or_default();
    let Matching::Differs(mismatches) =
        owned::matches(&child.object, &fields, &whole, &child.ignored)
    else {
        return Vec::new();
    };
    let entries = whole.pointer("/metadata/managedFields").unwrap_or(&serde_json::Value::Null);
    let lost = mismatches.iter().filter(|mismatch| matches!(mismatch, Mismatch::NotOwned(_)));
    lost.map(|mismatch| {
        let holders = owned::holders(entries, mismatch.path(), &child.object);
        let holders: Vec<String> = holders.iter().map(ToString::to_string).collect();
        (mismatch.path().clone(), holders.join(" and "))
    })
    .collect()
}
