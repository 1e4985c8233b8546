//! One pass on the simulated server: render, compare, act, status, as `reconcile` does them.
//!
//! In: a rule, a [`Server`], what is remembered of children. Out: [`Passed`]; the server has what was written.

use super::server::{Server, short};
use crate::act::patch::Patched;
use crate::act::{Done, Outcome, Trouble, Write};
use crate::cluster::Deleted;
use crate::compare::{Action, Memos, Plan, Planned, compare, memo_of};
use crate::fetch::{Observed, edited};
use crate::marks::Mark;
use crate::render::{self, Desired, Stuck, place_name, render};
use crate::rule::Rule;
use crate::scope::Scopes;
use crate::status::{self, Said};
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What every pass of a step works with.
pub(super) struct Setting<'a> {
    pub(super) rule: &'a Rule,
    pub(super) scopes: &'a Scopes,
    pub(super) now: Timestamp,
}

/// What a pass found and did.
pub(super) struct Passed {
    pub(super) desired: Desired,
    pub(super) said: Said,
    /// By child, then by `Kind/name`; a child that waits has no object and an empty name.
    pub(super) actions: Actions,
}

pub(super) type Actions = BTreeMap<Arc<str>, BTreeMap<String, Act>>;

/// What was done with an object, in the words of scenario files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Create,
    Apply,
    Keep,
    Wait,
    Delete,
    /// Deleted and created anew.
    Recreate,
    /// Left behind without our marks.
    Orphan,
    /// An object of that name exists and is not ours.
    Refuse,
}

impl Act {
    pub(super) const WORDS: [&'static str; 8] =
        ["create", "apply", "keep", "wait", "delete", "recreate", "orphan", "refuse"];

    pub(super) fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    /// Whether it changes anything on the server.
    pub(super) fn writes(self) -> bool {
        !matches!(self, Self::Keep | Self::Wait | Self::Refuse)
    }
}

/// Runs one pass.
pub(super) fn pass(setting: &Setting<'_>, server: &mut Server, memos: &mut Memos) -> Passed {
    let now = setting.now;
    let before = setting.observed(server);
    let desired = setting.render(&before);
    let plan = compare(&desired, &before, memos, &server.owner());
    let mut actions = waiting(&desired);
    let outcome = act(&plan, &desired, server, memos, &mut actions, now);
    let edits = edit(&desired, &before, server, &mut actions);
    let after = setting.observed(server);
    let said = status::compute(setting.rule, &desired, (&outcome, &edits), &after, now);
    server.say(setting.rule, &said, now);
    Passed { desired, said, actions }
}

/// Brings about what an earlier pass would have made of one child, if it is not there.
pub(super) fn made_earlier(
    setting: &Setting<'_>,
    server: &mut Server,
    memos: &mut Memos,
    child: &str,
) {
    if server.has(child) {
        return;
    }
    let desired = setting.render(&setting.observed(server));
    for wanted in desired.children.iter().filter(|wanted| wanted.name() == child) {
        if server.taken(&wanted.id).is_some() {
            continue;
        }
        if let Ok(live) = server.apply(wanted, &wanted.object, setting.now)
            && let Some(memo) = memo_of(wanted, &live, server.owner().manager)
        {
            memos.insert(wanted.id.clone(), memo);
        }
    }
}

impl Setting<'_> {
    /// Everything on the server was readable when it was put there.
    fn observed(&self, server: &Server) -> Observed {
        let observed = server.observed().unwrap_or_else(|refused| unreachable!("{refused}"));
        let inputs = Arc::new(server.inputs(self.rule, &observed.parent, self.scopes));
        let targets = server.targets(self.rule, self.scopes);
        let edited = edited(&observed.parent, &targets, &self.rule.identity);
        Observed { inputs, targets, edited, ..observed }
    }

    fn render(&self, observed: &Observed) -> Desired {
        let setting = render::Setting {
            scopes: self.scopes,
            installation: "kubewright",
            now: self.now,
            in_order: true,
            randomness: None,
        };
        render(self.rule, observed, &setting)
    }
}

/// Children whose objects are not known yet.
fn waiting(desired: &Desired) -> Actions {
    let wait = |(child, _): (String, &str)| {
        (Arc::from(child), BTreeMap::from([(String::new(), Act::Wait)]))
    };
    desired.waiting().map(wait).collect()
}

/// Carries out a plan as `act` does, with the same rules for pruning.
fn act(
    plan: &Plan<'_>,
    desired: &Desired,
    server: &mut Server,
    memos: &mut Memos,
    actions: &mut Actions,
    now: Timestamp,
) -> Outcome {
    let mut children = Vec::new();
    for planned in &plan.children {
        let result = one(planned, server, memos, now);
        let acted = match &result {
            Ok(Done::Kept | Done::Found(_)) => Act::Keep,
            Ok(Done::Written(_, Write::Created))
                if matches!(planned.action, Action::Recreate(_)) =>
            {
                Act::Recreate
            }
            Ok(Done::Written(_, Write::Created)) => Act::Create,
            Ok(Done::Written(_, Write::Applied(_) | Write::Adopted)) => Act::Apply,
            Ok(Done::WaitingGone | Done::Removed(..)) => Act::Wait,
            Err(_) => Act::Refuse,
        };
        let objects = actions.entry(Arc::from(planned.child.name())).or_default();
        objects.insert(short(&planned.child.id), acted);
        children.push(result);
    }
    let mut pruned = Vec::new();
    if desired.may_prune() && children.iter().all(Result::is_ok) {
        for live in &plan.prune {
            let stays = live.mark.as_ref().is_some_and(|mark| mark.stays);
            if stays {
                server.orphan(&live.id);
            } else {
                server.delete(&live.id);
            }
            let act = if stays { Act::Orphan } else { Act::Delete };
            let name = |mark: &Mark| place_name(&mark.child, &mark.items);
            let child = live.mark.as_ref().map(name).unwrap_or_default();
            actions.entry(child.into()).or_default().insert(short(&live.id), act);
            pruned.push((live.id.clone(), Ok(Deleted::Gone(live.stored.uid.clone()))));
        }
    }
    Outcome { children, pruned, contested: BTreeMap::new(), look_again: None }
}

/// Makes and takes back edits of objects that the rule does not own.
fn edit(
    desired: &Desired,
    before: &Observed,
    server: &mut Server,
    actions: &mut Actions,
) -> Patched {
    let mut patched = Patched::default();
    for patch in &desired.patches {
        let wrote = server.patch(patch);
        let act = if wrote { Act::Apply } else { Act::Keep };
        let objects = actions.entry(Arc::from(patch.wanted.name())).or_default();
        objects.insert(short(&patch.wanted.id), act);
        patched.results.push(Ok(Done::Kept));
    }
    for edited in &before.edited {
        let mark = &edited.mark;
        let wanted = desired
            .patches
            .iter()
            .any(|patch| *patch.wanted.child == *mark.child && patch.wanted.id == edited.live.id);
        let stays = mark.stays || desired.protects_place(&mark.child, &mark.items);
        if !wanted && !stays && desired.may_prune() {
            server.unpatch(mark, &edited.live.id);
            let name = place_name(&mark.child, &mark.items);
            let objects = actions.entry(Arc::from(name)).or_default();
            objects.insert(short(&edited.live.id), Act::Delete);
        }
    }
    patched
}

fn one(
    planned: &Planned<'_>,
    server: &mut Server,
    memos: &mut Memos,
    now: Timestamp,
) -> Result<Done, Trouble> {
    let child = planned.child;
    let (body, write) = match (&planned.action, planned.live) {
        (Action::Keep, _) => return Ok(Done::Kept),
        (Action::WaitGone, _) => return Ok(Done::WaitingGone),
        (Action::Taken(why), _) => return Err(Trouble::NotOurs(why.clone())),
        (Action::Unseen(why), _) => return Err(Trouble::Unseen(why.clone())),
        (Action::Lost, _) => return Err(Trouble::Lost(format!("{} is gone", child.id))),
        (Action::Withheld(refusal), _) => return Err(Trouble::Refused(refusal.clone())),
        // On a real server this takes two passes.
        (Action::Recreate(_), _) => {
            server.delete(&child.id);
            (child.object.clone(), Write::Created)
        }
        (Action::Apply(reason), Some(live)) => {
            (child.body_beside(live, server.owner().manager), Write::Applied(*reason))
        }
        (Action::Create | Action::Apply(_), _) => {
            if let Some(why) = server.taken(&child.id) {
                return Err(Trouble::NotOurs(format!("{} exists and {why}", child.id)));
            }
            (child.object.clone(), Write::Created)
        }
    };
    let live =
        server.apply(child, &body, now).map_err(|refused| Trouble::NotOurs(refused.to_string()))?;
    if let Some(memo) = memo_of(child, &live, server.owner().manager) {
        memos.insert(child.id.clone(), memo);
    }
    Ok(Done::Written(Box::new(live), write))
}

impl Passed {
    /// Everything that must not depend on the order in which anything came in, a line each.
    pub(super) fn trace(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        let edits = self.desired.patches.iter().map(|patch| &patch.wanted);
        for child in self.desired.children.iter().chain(edits) {
            lines.push(format!("{} {}: {}", child.name(), child.id, child.object));
        }
        for ((child, items), stuck) in &self.desired.stuck {
            let child = place_name(child, items);
            lines.push(match stuck {
                Stuck::Waiting(why) => format!("{child} waits: {why}"),
                Stuck::Failed(problem) => format!("{child} failed: {problem}"),
            });
        }
        lines.extend(self.desired.decisions.iter().map(|decision| format!("{decision:?}")));
        lines.extend(self.desired.failed.iter().map(|problem| format!("failed: {problem}")));
        lines.extend(self.actions.iter().map(|(child, acts)| format!("{child} {acts:?}")));
        lines.push(self.trace_of_status());
        lines.join("\n")
    }

    /// What the status says, a line per condition and field.
    pub(super) fn trace_of_status(&self) -> String {
        let conditions = self.said.conditions.iter().map(|condition| {
            let status::Condition { kind, truth, reason, message } = condition;
            format!("{kind} is {}: {reason}: {message}", truth.as_str())
        });
        let fields = self.said.fields.iter().flatten();
        let fields = fields.map(|(field, value)| format!("{field}: {value}"));
        conditions.chain(fields).collect::<Vec<_>>().join("\n")
    }
}
