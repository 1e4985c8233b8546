//! How a changed rule goes over the parents that it had before: at a bounded rate, and no further when too many fail.
//!
//! In: the parents at the time of the change, what each pass would do and how it ended. Out: whether a pass may go on now.
//! Parents for which nothing changes cost nothing; new parents and those that somebody edits are served at once. Never
//! here: a clock; what a pass does.

use crate::object::ObjectId;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::time::Instant;

/// How a changed rule goes over its parents.
#[derive(Debug)]
pub(super) struct Rollout {
    /// Time between two parents that change.
    pace: Duration,
    pending: HashMap<ObjectId, Pending>,
    /// Parents that changed and did not fail before, as far as they still exist.
    watched: HashSet<ObjectId>,
    changed: usize,
    /// Those of the watched that fail.
    failing: HashSet<ObjectId>,
    all: usize,
    next: Instant,
    /// What was last told of it.
    told: Told,
}

/// A parent that has not seen the new rule.
#[derive(Debug)]
struct Pending {
    /// Of what a person edits in it, when the roll-out began.
    edition: u64,
    /// When it is its turn, once it is known that it changes.
    turn: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    halted: bool,
    tenths: usize,
}

/// Whether a pass that would change something may do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Now.
    Go,
    /// It is its turn after this time.
    Later(Duration),
    /// The roll-out stands still; look again after this time.
    Halted(Duration),
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Parents that the rule had when it changed.
    pub parents: usize,
    /// Those that have not seen the new rule.
    pub pending: usize,
    /// Those for which something changed.
    pub changed: usize,
    /// Those of them that fail since.
    pub failing: usize,
    /// Whether it stands still because too many fail.
    pub halted: bool,
}

/// So many may fail before anything is concluded from it.
const FEW: usize = 2;

/// How often a halted roll-out is looked at again.
const HALTED_LOOK: Duration = Duration::from_secs(15);

impl Rollout {
    /// Over no parents yet; `per_second` of them may change in a second.
    pub(super) fn new(per_second: u32, now: Instant) -> Self {
        Self {
            pace: Duration::from_secs(1) / per_second.max(1),
            all: 0,
            pending: HashMap::new(),
            watched: HashSet::new(),
            changed: 0,
            failing: HashSet::new(),
            next: now,
            told: Told::default(),
        }
    }

    /// Over these parents too, each with the edition that it has now.
    pub(super) fn add(&mut self, parents: impl IntoIterator<Item = (ObjectId, u64)>) {
        for (id, edition) in parents {
            let pending = Pending { edition, turn: None };
            self.all += usize::from(self.pending.insert(id, pending).is_none());
        }
    }

    /// Asked by a pass that would change something, or whose parent cannot be rendered.
    pub(super) fn admit(&mut self, parent: &ObjectId, edition: u64, now: Instant) -> Admission {
        let halted = self.is_halted();
        let Some(pending) = self.pending.get_mut(parent) else { return Admission::Go };
        if pending.edition != edition {
            return Admission::Go;
        }
        if halted {
            pending.turn = None;
            return Admission::Halted(HALTED_LOOK);
        }
        let next = &mut self.next;
        let pace = self.pace;
        let turn = *pending.turn.get_or_insert_with(|| {
            let turn = now.max(*next);
            *next = turn + pace;
            turn
        });
        if turn <= now { Admission::Go } else { Admission::Later(turn - now) }
    }

    /// A pass for a parent has ended. `changed` says whether it asked to change something, `failed` whether its parent
    /// fails now, `failed_before` whether it did when it had not seen the rule.
    pub(super) fn passed(
        &mut self,
        parent: &ObjectId,
        changed: bool,
        failed: bool,
        failed_before: bool,
    ) {
        if self.pending.remove(parent).is_some() && changed {
            self.changed += 1;
            if !failed_before {
                self.watched.insert(parent.clone());
            }
        }
        if failed && self.watched.contains(parent) {
            self.failing.insert(parent.clone());
        } else if !failed {
            self.failing.remove(parent);
        }
    }

    /// A parent is gone.
    pub(super) fn gone(&mut self, parent: &ObjectId) {
        self.pending.remove(parent);
        self.watched.remove(parent);
        self.failing.remove(parent);
    }

    /// How many parents it keeps.
    pub(super) fn kept(&self) -> usize {
        self.pending.len() + self.watched.len() + self.failing.len()
    }

    /// Whether every parent has seen the new rule.
    pub(super) fn is_over(&self) -> bool {
        self.pending.is_empty()
    }

    /// These are looked after by somebody else from now on.
    pub(super) fn let_go(&mut self, theirs: impl Fn(&ObjectId) -> bool) {
        self.pending.retain(|parent, _| !theirs(parent));
        self.watched.retain(|parent| !theirs(parent));
        self.failing.retain(|parent| !theirs(parent));
    }

    /// Whether this parent has not.
    pub(super) fn is_pending(&self, parent: &ObjectId) -> bool {
        self.pending.contains_key(parent)
    }

    fn is_halted(&self) -> bool {
        !self.pending.is_empty() && self.failing.len() > FEW.max(self.changed / 10)
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            parents: self.all,
            pending: self.pending.len(),
            changed: self.changed,
            failing: self.failing.len(),
            halted: self.is_halted(),
        }
    }

    /// The progress, if it is worth a line since the last one: each tenth, the end, a halt and its end.
    pub(super) fn news(&mut self) -> Option<Progress> {
        let progress = self.progress();
        let seen = progress.parents - progress.pending;
        let tenths = (seen * 10).checked_div(progress.parents).unwrap_or(10);
        let tenths = if progress.halted { self.told.tenths } else { tenths };
        let told = Told { halted: progress.halted, tenths };
        let is_news = told != self.told && (progress.changed > 0 || progress.halted);
        self.told = told;
        is_news.then_some(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;

    fn parent(number: usize) -> ObjectId {
        parse_id(&format!("WebApp.demo shop/web-{number}")).unwrap()
    }

    fn rollout(parents: usize, now: Instant) -> Rollout {
        let mut rollout = Rollout::new(10, now);
        rollout.add((0..parents).map(|number| (parent(number), 1)));
        rollout
    }

    const PACE: Duration = Duration::from_millis(100);

    #[test]
    fn those_that_change_take_turns_and_the_others_cost_nothing() {
        let now = Instant::now();
        let mut rollout = rollout(4, now);
        assert_eq!(rollout.admit(&parent(0), 1, now), Admission::Go);
        rollout.passed(&parent(0), true, false, false);
        rollout.passed(&parent(1), false, false, false);
        assert_eq!(rollout.admit(&parent(2), 1, now), Admission::Later(PACE));
        assert_eq!(rollout.admit(&parent(3), 1, now), Admission::Later(PACE * 2));
        assert_eq!(rollout.admit(&parent(2), 1, now), Admission::Later(PACE), "it keeps its turn");
        assert_eq!(rollout.admit(&parent(2), 1, now + PACE), Admission::Go);
        rollout.passed(&parent(2), true, false, false);
        rollout.passed(&parent(3), true, false, false);
        assert!(rollout.is_over());
        let progress = Progress { parents: 4, changed: 3, ..Progress::default() };
        assert_eq!(rollout.progress(), progress);
    }

    #[test]
    fn who_edits_a_parent_and_who_makes_one_does_not_wait() {
        let now = Instant::now();
        let mut rollout = rollout(3, now);
        assert_eq!(rollout.admit(&parent(0), 1, now), Admission::Go);
        assert_eq!(rollout.admit(&parent(1), 2, now), Admission::Go, "edited since");
        assert_eq!(rollout.admit(&parent(9), 1, now), Admission::Go, "new");
        assert_eq!(rollout.admit(&parent(2), 1, now), Admission::Later(PACE));
    }

    #[test]
    fn it_stands_still_while_too_many_newly_fail() {
        let now = Instant::now();
        let mut rollout = rollout(50, now);
        for number in 0..20 {
            rollout.passed(&parent(number), true, number < 2, false);
        }
        assert!(!rollout.progress().halted, "two may be chance");
        rollout.passed(&parent(20), true, true, false);
        assert!(rollout.progress().halted);
        assert!(matches!(rollout.admit(&parent(30), 1, now), Admission::Halted(_)));
        assert_eq!(rollout.admit(&parent(30), 2, now), Admission::Go, "whose owner edits it");
        rollout.passed(&parent(20), false, false, false);
        assert!(!rollout.progress().halted, "it has recovered");
        assert_eq!(rollout.admit(&parent(30), 1, now), Admission::Go);
        rollout.gone(&parent(0));
        assert_eq!(rollout.progress().failing, 1);
    }

    #[test]
    fn its_progress_is_told_in_tenths() {
        let mut rollout = rollout(30, Instant::now());
        let mut told = 0;
        for number in 0..30 {
            rollout.passed(&parent(number), true, false, false);
            told += usize::from(rollout.news().is_some());
        }
        assert_eq!(told, 10);
        assert_eq!(rollout.news(), None);
    }
}
