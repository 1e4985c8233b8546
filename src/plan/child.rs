//! What would become of one child.
//!
//! In: what compare planned for it, what a read gave of it. Out: a verdict, why, and what changes. Pure.

use super::origin::Finder;
use super::{ChildPlan, Verdict, gvk_of, held_up};
use crate::act::Trouble;
use crate::act::adopt::{Unexpected, judged as unexpected, taken};
use crate::act::regain::lost;
use crate::compare::{Action, Planned, Reason, lost_paths};
use crate::fetch::{Live, Owner};
use crate::owned::{self, Changes};
use crate::refusal::HeldField;
use crate::render::{Desired, DesiredChild};
use crate::rule::Adopt;
use crate::snapshot::Found;
use std::sync::Arc;

/// What was judged about a child.
pub(super) struct Judged<'a> {
    /// The child.
    pub(super) child: &'a DesiredChild,
    pub(super) verdict: Verdict,
    pub(super) why: String,
    pub(super) changes: Option<Changes>,
    /// What a pass would be refused with.
    pub(super) trouble: Option<Trouble>,
}

/// Judges a child.
pub(super) fn judged<'a>(planned: &Planned<'a>, found: &Found, owner: &Owner<'_>) -> Judged<'a> {
    let child = planned.child;
    let judging = Judging { child, owner };
    match (&planned.action, planned.live) {
        (Action::Taken(why), _) if child.policies.adopt != Adopt::Unowned => {
            judging.refused(Trouble::NotOurs(taken(child, why)))
        }
        (Action::Create | Action::Taken(_) | Action::Apply(_) | Action::Recreate(_), None) => {
            match found.get(&child.id) {
                Some(Ok(Some(stored))) => judging.unexpected(&Live::new(Arc::clone(stored))),
                Some(Err(why)) => judging.waits(Trouble::Unseen(why.clone())),
                Some(Ok(None)) | None => {
                    let changes = Some(Changes::creation(&child.object));
                    judging.made(Verdict::Create, String::new(), changes)
                }
            }
        }
        (action, live) => judging.acted(action, live),
    }
}

struct Judging<'a, 'o> {
    child: &'a DesiredChild,
    owner: &'o Owner<'o>,
}

impl<'a> Judging<'a, '_> {
    fn made(&self, verdict: Verdict, why: String, changes: Option<Changes>) -> Judged<'a> {
        Judged { child: self.child, verdict, why, changes, trouble: None }
    }

    fn refused(&self, trouble: Trouble) -> Judged<'a> {
        let why = told(&trouble);
        Judged { trouble: Some(trouble), ..self.made(Verdict::Refuse, why, None) }
    }

    fn waits(&self, trouble: Trouble) -> Judged<'a> {
        Judged { verdict: Verdict::Wait, ..self.refused(trouble) }
    }

    fn leaving(&self, live: Option<&Live>) -> Judged<'a> {
        let finalizers = live.map(|live| live.stored.finalizers()).unwrap_or_default();
        let why = "it is being deleted and comes back after that";
        let why = match finalizers.as_slice() {
            [] => why.to_owned(),
            held => format!("{why}; it is held by {}", held.join(", ")),
        };
        self.made(Verdict::Wait, why, None)
    }

    fn unexpected(&self, live: &Live) -> Judged<'a> {
        match unexpected(self.child, live, self.owner) {
            Unexpected::Leaving => self.leaving(Some(live)),
            Unexpected::NotOurs(why) => self.refused(Trouble::NotOurs(why)),
            Unexpected::Adopted => {
                let changes = self.changes(live, Reason::Drift);
                self.made(Verdict::Adopt, "it is nobody's".into(), Some(changes))
            }
            Unexpected::Ours(action) => self.acted(&action, Some(live)),
        }
    }

    fn acted(&self, action: &Action, live: Option<&Live>) -> Judged<'a> {
        match (action, live) {
            (Action::Apply(reason), Some(live)) => self.applied(live, *reason),
            (Action::Recreate(reason), Some(live)) => {
                let why = format!("{}; the rule has it made anew", self.reason(live, *reason));
                self.made(Verdict::Recreate, why, Some(self.changes(live, *reason)))
            }
            (Action::WaitGone, live) => self.leaving(live),
            (Action::Lost, _) => self.refused(Trouble::Lost(lost(self.child))),
            (Action::Withheld(refusal), _) => self.refused(Trouble::Refused(refusal.clone())),
            (Action::Unseen(why), _) => self.waits(Trouble::Unseen(why.clone())),
            (Action::Taken(why), _) => self.refused(Trouble::NotOurs(taken(self.child, why))),
            (Action::Keep | Action::Create | Action::Apply(_) | Action::Recreate(_), _) => {
                self.made(Verdict::Keep, String::new(), None)
            }
        }
    }

    fn applied(&self, live: &Live, reason: Reason) -> Judged<'a> {
        let changes = self.changes(live, reason);
        let held: Vec<HeldField> =
            if reason == Reason::Intent { held(&changes) } else { Vec::new() };
        if held.is_empty() {
            return self.made(Verdict::Update, self.reason(live, reason), Some(changes));
        }
        Judged { changes: Some(changes), ..self.refused(Trouble::Held(held)) }
    }

    fn changes(&self, live: &Live, reason: Reason) -> Changes {
        changes(self.child, live, self.owner.manager, reason)
    }

    fn reason(&self, live: &Live, reason: Reason) -> String {
        match reason {
            Reason::Intent => "the rule or the parent wants something else".into(),
            Reason::Version => "its fields are recorded in another API version".into(),
            Reason::Drift => {
                let lost = lost_paths(self.child, live, self.owner.manager);
                let mut told: Vec<String> = lost
                    .iter()
                    .filter(|(_, holder)| !holder.is_empty())
                    .map(|(path, holder)| format!("{path} by {holder}"))
                    .collect();
                told.truncate(MOST_TOLD);
                if told.is_empty() {
                    "fields of ours were changed or removed".into()
                } else {
                    format!("changed by others: {}", told.join(", "))
                }
            }
        }
    }
}

/// Fields that are told of one object.
const MOST_TOLD: usize = 5;

/// What an apply changes.
pub(super) fn changes(child: &DesiredChild, live: &Live, manager: &str, reason: Reason) -> Changes {
    let entry = live.entry(manager);
    let same = entry.as_ref().filter(|entry| entry.api_version == child.gvk.api_version());
    let fields = same.and_then(owned::Entry::fields);
    let body = child.body_beside(live, manager);
    let known = fields.clone().unwrap_or_default();
    let body = if reason == Reason::Intent {
        owned::spelled_as_found(body, &known, live.value())
    } else {
        body
    };
    owned::changes(&body, &live.whole(), fields.as_ref(), manager)
}

/// Values that others hold and that an apply without force would have to change.
pub(super) fn held(changes: &Changes) -> Vec<HeldField> {
    let replaced = changes.operations.iter().filter(|one| one.was.is_some() && one.is.is_some());
    replaced
        .filter(|one| !one.held_by.is_empty())
        .map(|one| HeldField { field: one.field.to_string(), holder: one.held_by.join(" and ") })
        .collect()
}

/// A trouble as a sentence fragment.
pub(super) fn told(trouble: &Trouble) -> String {
    match trouble {
        Trouble::NotOurs(why) | Trouble::Unseen(why) | Trouble::Lost(why) => why.clone(),
        Trouble::Held(fields) | Trouble::Contested(fields) => {
            let one = |held: &HeldField| format!("{} is held by {}", held.field, held.holder);
            fields.iter().take(MOST_TOLD).map(one).collect::<Vec<_>>().join(", ")
        }
        Trouble::Refused(refusal) => refusal.to_string(),
    }
}

impl Judged<'_> {
    /// For people and programs.
    pub(super) fn plan(&self, ordered: &Desired, origins: &Finder<'_>) -> ChildPlan {
        let child = self.child;
        let waits = held_up(ordered, &child.child, &child.items);
        ChildPlan {
            child: child.name(),
            object: Some(child.id.clone()),
            gvk: Some(child.gvk.clone()),
            verdict: self.verdict,
            why: self.why.clone(),
            waits: waits.filter(|_| self.verdict.changes()),
            change: self.changes.as_ref().map(|changes| origins.change(child, changes)),
            wanted_at: origins.rule_place(&child.child),
        }
    }
}

/// The child of an object that is there and no longer wanted.
pub(super) fn unwanted(live: &Live, verdict: Verdict, why: String) -> ChildPlan {
    let mark = live.mark.as_ref();
    let name = mark.map(|mark| crate::render::place_name(&mark.child, &mark.items));
    ChildPlan {
        child: name.unwrap_or_default(),
        object: Some(live.id.clone()),
        gvk: gvk_of(live),
        verdict,
        why,
        waits: None,
        change: None,
        wanted_at: None,
    }
}
