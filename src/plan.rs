//! What the rules would change for live parents, judged as a pass would judge it, and sent nowhere.
//!
//! In: what was read of a cluster ([`Case`]), and what a read gave of objects that no list shows. Out: a [`ParentPlan`] for
//! people and programs, without values of Secrets. Pure: the steps are those of a pass (fetch, render, compare, status), and so
//! is every judgement. Never here: a request; a write.
//!
//! Two things differ from a pass on purpose. Children are rendered as if nothing had to be waited for, so that the whole of what
//! a rule comes to is seen before any of it exists; what waits says so beside. And nothing is remembered: drift is judged as
//! right after a restart of the controller.

mod child;
mod deletion;
mod edit;
mod explain;
mod hide;
mod lines;
mod origin;
mod status;

pub use explain::{Explanation, Reading, Standing, explain};
pub use hide::Hider;
pub use lines::{Line, Sign, lines};

use crate::compare::{Action, Memos, compare};
use crate::fetch::{Live, Observed, Owner, fetch};
use crate::marks;
use crate::object::{Gvk, ObjectId};
use crate::owned::Changes;
use crate::problem::Problem;
use crate::reconcile::{is_own_child, left_alone};
use crate::render::{Desired, Place, Setting, Stuck, place_name, render};
use crate::report::Report;
use crate::snapshot::{Found, RuleState};
use crate::source;
use crate::store::Stored;
use child::Judged;
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One parent of one rule, as it was read.
pub struct Case<'a> {
    /// What was read for the rule.
    pub state: &'a RuleState,
    /// The parent.
    pub parent: &'a Arc<Stored>,
    /// The installation, for the owner label.
    pub installation: &'a str,
    /// The time of the request.
    pub now: Timestamp,
    /// Keeps values of Secrets out.
    pub hider: &'a Hider,
}

/// What would become of one parent.
#[derive(Clone, Debug)]
pub struct ParentPlan {
    /// The rule.
    pub rule: String,
    /// The parent.
    pub parent: ObjectId,
    /// Its kind and version.
    pub gvk: Gvk,
    /// Why nothing is done about it, if so.
    pub left_alone: Option<String>,
    /// Whether the rule's labels select it.
    pub selected: bool,
    /// Its children: those with objects in the order of the rule, then what waits, edits, and what goes.
    pub children: Vec<ChildPlan>,
    /// What changes in its status.
    pub status: Option<Change>,
    /// Whether our finalizer is put on it first.
    pub finalizer: bool,
    /// Mistakes that concern the parent as a whole.
    pub problems: Vec<Problem>,
    /// How it stands now, as a pass would say it.
    pub report: Option<Report>,
}

/// What would become of one child.
#[derive(Clone, Debug)]
pub struct ChildPlan {
    /// Its id, with the items around it.
    pub child: String,
    /// Its object, if that is known.
    pub object: Option<ObjectId>,
    /// Its kind and version, if they are known.
    pub gvk: Option<Gvk>,
    /// What is done with it.
    pub verdict: Verdict,
    /// Why, as a sentence fragment; empty where there is nothing to say.
    pub why: String,
    /// What it waits for before that is done.
    pub waits: Option<String>,
    /// What changes.
    pub change: Option<Change>,
    /// Where the rule wants it.
    pub wanted_at: Option<source::Place>,
}

/// What changes in one object.
#[derive(Clone, Debug)]
pub struct Change {
    /// Values, without those of Secrets.
    pub changes: Changes,
    /// Where the template says so, for each operation.
    pub origins: Vec<Option<source::Place>>,
}

/// What is done with a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is as it should be.
    Keep,
    /// It is made.
    Create,
    /// It is brought up to date, or fields are taken back.
    Update,
    /// It is deleted and made anew.
    Recreate,
    /// Somebody's object becomes the child.
    Adopt,
    /// It is deleted.
    Delete,
    /// It stays, without our marks.
    Orphan,
    /// An object that the rule does not own is edited.
    Edit,
    /// An edit is taken back.
    Unedit,
    /// Nothing is done before something else is there.
    Wait,
    /// It cannot be: somebody else has it, or holds its fields.
    Refuse,
    /// Its template, or what it was given, is wrong.
    Fail,
}

impl Verdict {
    /// One lower-case word, as in scenario files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Create => "create",
            Self::Update => "update",
            Self::Recreate => "recreate",
            Self::Adopt => "adopt",
            Self::Delete => "delete",
            Self::Orphan => "orphan",
            Self::Edit => "edit",
            Self::Unedit => "unedit",
            Self::Wait => "wait",
            Self::Refuse => "refuse",
            Self::Fail => "fail",
        }
    }

    /// Whether something is written or deleted.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Keep | Self::Wait | Self::Refuse | Self::Fail)
    }
}

impl Change {
    /// Where the template says a line of the diff. Of a pair the new value has the place.
    pub fn origin(&self, line: &Line) -> Option<&source::Place> {
        let at = line.operation?;
        let paired = line.sign == Sign::Minus && self.changes.operations.get(at)?.is.is_some();
        self.origins.get(at)?.as_ref().filter(|_| !paired)
    }
}

impl ParentPlan {
    fn of(case: &Case<'_>) -> Self {
        Self {
            rule: case.state.rule.name.to_string(),
            parent: case.parent.id.clone(),
            gvk: case.parent_gvk(),
            left_alone: None,
            selected: true,
            children: Vec::new(),
            status: None,
            finalizer: false,
            problems: Vec::new(),
            report: None,
        }
    }

    /// Whether something would be written.
    pub fn changes(&self) -> bool {
        let child = |child: &ChildPlan| child.verdict.changes();
        self.status.is_some() || self.finalizer || self.children.iter().any(child)
    }

    /// Whether something is not as it can stay: a mistake, or an object or field of somebody else.
    pub fn is_wrong(&self) -> bool {
        let wrong = |child: &ChildPlan| matches!(child.verdict, Verdict::Refuse | Verdict::Fail);
        !self.problems.is_empty() || self.children.iter().any(wrong)
    }
}

impl Case<'_> {
    /// The field manager of the children.
    pub fn manager(&self) -> String {
        marks::manager(&self.state.rule.identity, &self.parent.id)
    }

    fn owner<'o>(&'o self, manager: &'o str) -> Owner<'o> {
        let (parent, uid) = (&self.parent.id, &*self.parent.uid);
        Owner { rule: &self.state.rule.identity, parent, uid, manager }
    }

    fn parent_gvk(&self) -> Gvk {
        let kinds = &self.state.rule.parent.kinds;
        let found = kinds.iter().find(|gvk| gvk.group_kind() == *self.parent.id.kind);
        found.unwrap_or(self.state.rule.parent.gvk()).clone()
    }

    /// What exists of the parent.
    pub fn observed(&self, manager: &str) -> Observed {
        let read = (self.state.inputs_of(self.parent), Arc::clone(&self.state.targets));
        let (parent, rule) = (Arc::clone(self.parent), &self.state.rule.identity);
        fetch(parent, &self.state.children, read, rule, manager)
    }

    fn setting(&self, in_order: bool) -> Setting<'_> {
        let (scopes, installation) = (&*self.state.scopes, self.installation);
        Setting { scopes, installation, now: self.now, in_order, randomness: None }
    }

    fn left_alone(&self) -> Option<&'static str> {
        let rule = &self.state.rule;
        let own = is_own_child(self.parent, rule).then_some("it is a child of the same rule");
        own.or_else(|| left_alone(self.parent, rule))
    }
}

/// The objects that no list shows and that would be created: whether they are there must be known before.
pub fn unseen(case: &Case<'_>) -> BTreeSet<(Gvk, ObjectId)> {
    if case.left_alone().is_some() || case.parent.terminating {
        return BTreeSet::new();
    }
    let manager = case.manager();
    let (observed, owner) = (case.observed(&manager), case.owner(&manager));
    let desired = render(&case.state.rule, &observed, &case.setting(false));
    let plan = compare(&desired, &observed, &mut Memos::new(), &owner);
    let plan = plan.checked(&case.state.children, &owner);
    let absent = plan.children.iter().filter(|planned| {
        matches!(planned.action, Action::Create | Action::Taken(_)) && planned.live.is_none()
    });
    absent.map(|planned| (planned.child.gvk.clone(), planned.child.id.clone())).collect()
}

/// What would become of a parent. `found` is what reads gave of what is [`unseen`].
pub fn plan(case: &Case<'_>, found: &Found) -> ParentPlan {
    let mut made = ParentPlan::of(case);
    if let Some(why) = case.left_alone() {
        made.left_alone = Some(why.to_owned());
        return made;
    }
    let manager = case.manager();
    let (observed, owner) = (case.observed(&manager), case.owner(&manager));
    let hider = &case.hider.knowing(&case.state.rule, &observed);
    if case.parent.terminating {
        deletion::plan(case, &observed, &mut made);
        return made;
    }
    let setting = case.setting(false);
    let desired = render(&case.state.rule, &observed, &setting);
    let ordered = render(&case.state.rule, &observed, &case.setting(true));
    made.selected = !desired.unselected;
    made.problems.extend(desired.failed.clone());
    let plan = compare(&desired, &observed, &mut Memos::new(), &owner);
    let plan = plan.checked(&case.state.children, &owner);
    let judged: Vec<Judged<'_>> =
        plan.children.iter().map(|planned| child::judged(planned, found, &owner)).collect();
    let edits: Vec<edit::Judged<'_>> = desired.patches.iter().map(edit::judged).collect();
    let (report, status) = status::of(case, &ordered, &observed, (&judged, &edits));
    let origins = origin::Finder::new(case, &observed, &desired, &judged, &edits);
    made.finalizer = crate::reconcile::finalizer::needs(&desired, case.parent)
        && !crate::reconcile::finalizer::is_held(case.parent, &case.state.rule);
    made.children.extend(judged.iter().map(|one| one.plan(&ordered, &origins)));
    made.children.extend(edits.iter().map(|one| one.plan(&ordered, &origins)));
    made.children.extend(stuck(&desired, case));
    let goes_well = desired.may_prune() && judged.iter().all(|one| one.trouble.is_none());
    let gone = plan.prune.iter().map(|live| deletion::pruned(live, case, goes_well));
    made.children.extend(gone);
    made.children.extend(edit::taken_back(&desired, &observed, case));
    (made.report, made.status) = (Some(report), status);
    hider.hide(&mut made);
    made
}

/// Children whose objects are not known.
fn stuck<'d>(desired: &'d Desired, case: &'d Case<'_>) -> impl Iterator<Item = ChildPlan> + 'd {
    desired.stuck.iter().map(|((child, items), stuck)| {
        let (verdict, why) = match stuck {
            Stuck::Waiting(why) => (Verdict::Wait, why.clone()),
            Stuck::Failed(problem) => (Verdict::Fail, problem.to_string()),
        };
        ChildPlan {
            child: place_name(child, items),
            object: None,
            gvk: None,
            verdict,
            why,
            waits: None,
            change: None,
            wanted_at: case.state.rule.child(child).map(|child| child.place.clone()),
        }
    })
}

/// What a child waits for although it could be rendered, as a pass would have it.
fn held_up(ordered: &Desired, child: &str, items: &[String]) -> Option<String> {
    let concerns = |(stuck, keys): &&Place| **stuck == *child && items.starts_with(keys);
    let place = ordered.stuck.keys().find(concerns)?;
    match ordered.stuck.get(place)? {
        Stuck::Waiting(why) => Some(why.clone()),
        Stuck::Failed(_) => None,
    }
}

/// The kind and version of an object that is there.
fn gvk_of(live: &Live) -> Option<Gvk> {
    Gvk::of(live.value())
}

#[cfg(test)]
mod tests;
