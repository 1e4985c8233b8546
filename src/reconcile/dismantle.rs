//! Takes a deleted parent's children away, before the parent goes.
//!
//! In: a parent that is being deleted and that our finalizer holds, its children. Out: deletions in the reverse order of
//! needs, and the release of the parent when nothing is left. What becomes of a child is written in its mark. Never here:
//! rendering.

use super::{Ended, Next, Scene, after_refusal, finalizer};
use crate::act::{self, remove::remove};
use crate::fetch::{Live, Observed};
use crate::marks::{self, Mark};
use crate::object::{Gvk, ObjectId};
use crate::queue::Lane;
use crate::refusal::{Class, Refusal};
use crate::render::place_name;
use crate::report::{ChildReport, Report, State};
use crate::rule::Rule;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often an object is looked at that no watch shows any more, but which is still there.
const LOOK: Duration = Duration::from_secs(10);

/// Children that were seen while the parent was taken apart: that the watch says they are gone may only mean that they
/// lost a label.
pub(super) type Leaving = BTreeMap<ObjectId, Gvk>;

/// Why children are taken away although their rule and their parent did not ask for that in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The parent is deleted.
    ParentDeleted,
    /// The rule is gone.
    RuleRemoved,
}

/// One step of taking a parent apart.
pub(super) async fn dismantle(scene: &Scene<'_>, leaving: &mut Leaving, cause: Cause) -> Ended {
    let manager = marks::manager(&scene.rule.identity, &scene.parent.id);
    let observed = scene.observe(&manager);
    for (id, live) in &observed.children {
        if let Some(gvk) = Gvk::of(live.value()) {
            leaving.insert(id.clone(), gvk);
        }
    }
    let mut next = Next::default();
    let mut lines = Vec::new();
    let mut took = false;
    for live in observed.children.values() {
        let waits = waits_for(live, &observed, scene.rule);
        let why = match waits {
            Some(other) => format!("it goes after `{}`", other.child),
            None if live.stored.terminating => held_by(live),
            None => match take(scene, live, cause).await {
                Ok(()) => {
                    took = true;
                    "it is being deleted".to_owned()
                }
                Err(refusal) => {
                    scene.complain("the deletion of its child", &refusal);
                    next = next.and(after_refusal(&refusal));
                    format!("it cannot be deleted: {refusal}")
                }
            },
        };
        lines.push(line(live, why));
    }
    let mut edits_left = false;
    for edited in finalizer::to_take_back(&observed) {
        if let Err(refusal) = act::patch::remove(scene.cluster, edited).await {
            edits_left = true;
            scene.complain("the end of its edit", &refusal);
            next = next.and(after_refusal(&refusal));
        }
    }
    if observed.children.is_empty() && !edits_left {
        next = next.and(finish(scene, leaving, &manager, cause).await);
    } else if took {
        // What was just deleted may be gone already, and so what waited for it goes on.
        next = next.and(Next::after(Duration::ZERO, Lane::Finish));
    }
    Ended { next, report: Some(report(scene, lines)), ..Ended::default() }
}

/// Deletes a child, or leaves it behind.
async fn take(scene: &Scene<'_>, live: &Live, cause: Cause) -> Result<(), Refusal> {
    let stays = live.mark.as_ref().is_some_and(|mark| match cause {
        Cause::ParentDeleted => mark.outlives,
        Cause::RuleRemoved => mark.stays,
    });
    let removed = remove(scene.cluster, live, stays).await?;
    scene.remember_removal(&live.id, &removed);
    Ok(())
}

/// A child that is still there and comes after this one, so that it goes first.
pub(crate) fn waits_for<'a>(live: &Live, observed: &'a Observed, rule: &Rule) -> Option<&'a Mark> {
    let own = live.mark.as_ref()?;
    observed.children.values().filter(|other| other.id != live.id).find_map(|other| {
        let mark = other.mark.as_ref()?;
        let child = rule.child(&mark.child)?;
        (mark.child != own.child && child.after.contains(own.child.as_str())).then_some(mark)
    })
}

/// No child is seen any more: each that was is asked for once before the parent is let go.
async fn finish(scene: &Scene<'_>, leaving: &mut Leaving, manager: &str, cause: Cause) -> Next {
    let owner = scene.owner(manager);
    while let Some((id, gvk)) = leaving.first_key_value() {
        match scene.cluster.read(gvk, id).await {
            Err(Refusal { class: Class::NotFound | Class::NotServed, .. }) => {}
            Err(refusal) => return after_refusal(&refusal),
            Ok(stored) => {
                let live = Live::new(stored);
                if live.not_ours(&owner).is_none() {
                    let taken = if live.stored.terminating {
                        Ok(())
                    } else {
                        take(scene, &live, cause).await
                    };
                    return match taken {
                        Ok(()) => Next::after(LOOK, Lane::Finish),
                        Err(refusal) => after_refusal(&refusal),
                    };
                }
            }
        }
        leaving.pop_first();
    }
    match finalizer::release_if_held(scene).await {
        Ok(()) => Next::default(),
        Err(refusal) => {
            scene.complain("its finalizer", &refusal);
            after_refusal(&refusal)
        }
    }
}

/// How far its deletion is.
pub(crate) fn held_by(live: &Live) -> String {
    let finalizers = live.stored.finalizers();
    if finalizers.is_empty() {
        return "it is being deleted".to_owned();
    }
    format!("it is being deleted and held by {}", finalizers.join(", "))
}

fn line(live: &Live, message: String) -> ChildReport {
    let child = live.mark.as_ref().map(|mark| place_name(&mark.child, &mark.items));
    ChildReport {
        child: child.unwrap_or_default(),
        object: Some(live.id.clone()),
        state: State::InProgress,
        message,
    }
}

fn report(scene: &Scene<'_>, children: Vec<ChildReport>) -> Report {
    let message = match children.len() {
        0 => "it is being deleted".to_owned(),
        left => format!("it is being deleted: {left} children are still there"),
    };
    Report {
        rule: scene.rule.name.to_string(),
        parent: scene.parent.id.clone(),
        state: State::InProgress,
        message,
        children,
        fields: Vec::new(),
    }
}
