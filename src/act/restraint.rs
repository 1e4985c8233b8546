//! Which children are not written for now: what the server refused, and what somebody else keeps changing back.
//!
//! In: how the writes of a child ended. Out: whether it is written now, and when to look again. An answer that only a
//! change can mend is not asked for again because of an event about something else; a fight is slowed down, never given
//! up. Never here: requests; waiting.

use super::{Done, Trouble, Write};
use crate::compare::{Action, Planned, Reason, lost};
use crate::object::ObjectId;
use crate::queue::{Backoff, random};
use crate::refusal::{Class, HeldField};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// A mistake is sent again this late, in case what mended it was no change that we see.
pub const BACKSTOP: Duration = Duration::from_mins(30);

/// So many repairs of a child within [`FREE_WITHIN`] are made at once.
const FREE: u32 = 3;
const FREE_WITHIN: Duration = Duration::from_mins(1);

/// The wait before a repair after the free ones.
const FIGHT: Backoff = Backoff { base: Duration::from_secs(5), cap: Duration::from_mins(5) };

/// A fight is half forgotten after this time without a repair.
const FORGOTTEN: Duration = Duration::from_mins(30);

/// What is remembered of the children of one parent. Losing it costs at most one write per child.
#[derive(Default)]
pub struct Restraints {
    edition: u64,
    refused: BTreeMap<ObjectId, Refused>,
    fights: BTreeMap<ObjectId, Fight>,
}

/// A write that the server refused.
struct Refused {
    /// What was to be written, and over what: if either changes, it is tried at once.
    intent: u64,
    over: Option<Over>,
    trouble: Trouble,
    failures: u32,
    until: Instant,
}

/// Repairs of one child in a row.
struct Fight {
    repairs: u32,
    last: Instant,
    fields: Vec<HeldField>,
}

impl Fight {
    /// How long the next repair waits.
    fn delay(&self) -> Duration {
        match self.repairs.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(waited) => FIGHT.delay(waited + 1, 1.0),
        }
    }

    /// A repair that had to wait does not mean peace yet: that shows when as long again nobody undid it.
    fn shown_until(&self) -> Option<Instant> {
        (self.repairs > FREE).then(|| self.last + self.delay())
    }

    fn is_over(&mut self, now: Instant) -> bool {
        let quiet = now.duration_since(self.last);
        if self.repairs <= FREE && quiet > FREE_WITHIN {
            return true;
        }
        let halvings = quiet.as_secs() / FORGOTTEN.as_secs();
        self.repairs =
            self.repairs.checked_shr(halvings.try_into().unwrap_or(u32::MAX)).unwrap_or(0);
        self.repairs == 0
    }
}

impl Restraints {
    /// Begins a pass. `edition` is of what a person edits in the parent: another one forgives every refusal.
    pub(super) fn begin(&mut self, edition: u64, plan: &[Planned<'_>], now: Instant) {
        if self.edition != edition {
            self.refused.clear();
        }
        self.edition = edition;
        let wanted = |id: &ObjectId| plan.iter().any(|planned| planned.child.id == *id);
        self.refused.retain(|id, _| wanted(id));
        self.fights.retain(|id, fight| wanted(id) && !fight.is_over(now));
    }

    /// Why a child is not written now although it should be.
    pub(super) fn holds(
        &mut self,
        planned: &Planned<'_>,
        manager: &str,
        now: Instant,
    ) -> Option<Trouble> {
        let (Action::Create | Action::Apply(_)) = planned.action else { return None };
        let id = &planned.child.id;
        if let Some(refused) = self.refused.get(id).filter(|refused| refused.is_about(planned)) {
            return (now < refused.until).then(|| refused.trouble.clone());
        }
        let fight = self.fights.get_mut(id)?;
        let repair = matches!(planned.action, Action::Apply(Reason::Drift));
        if !repair || now >= fight.last + fight.delay() {
            return None;
        }
        if let Some(live) = planned.live {
            fight.fields = lost(planned.child, live, manager);
        }
        Some(Trouble::Contested(fight.fields.clone()))
    }

    /// Remembers how a write ended.
    pub(super) fn note(
        &mut self,
        planned: &Planned<'_>,
        result: &Result<Done, Trouble>,
        now: Instant,
    ) {
        let id = &planned.child.id;
        match result {
            Ok(Done::Written(_, Write::Applied(Reason::Drift))) => {
                self.refused.remove(id);
                let first = || Fight { repairs: 0, last: now, fields: Vec::new() };
                let fight = self.fights.entry(id.clone()).or_insert_with(first);
                fight.repairs = fight.repairs.saturating_add(1);
                fight.last = now;
            }
            Ok(Done::Written(_, Write::Applied(Reason::Intent))) => {
                self.refused.remove(id);
                self.fights.remove(id);
            }
            Ok(_) => drop(self.refused.remove(id)),
            Err(trouble) => {
                if let Some(backoff) = backoff(trouble) {
                    let before = self.refused.get(id).filter(|refused| refused.is_about(planned));
                    let failures = before.map_or(1, |refused| refused.failures.saturating_add(1));
                    let until = now + backoff.delay(failures, random());
                    let refused = Refused::new(planned, trouble.clone(), failures, until);
                    self.refused.insert(id.clone(), refused);
                }
            }
        }
    }

    /// Children that somebody else keeps changing, and which of their fields.
    pub(super) fn contested(&self, now: Instant) -> BTreeMap<ObjectId, Vec<HeldField>> {
        let is_shown = |fight: &Fight| fight.shown_until().is_some_and(|until| now < until);
        let shown = self.fights.iter().filter(|(_, fight)| is_shown(fight));
        shown.map(|(id, fight)| (id.clone(), fight.fields.clone())).collect()
    }

    /// When a child may be written again, or a fight counts as over.
    pub(super) fn look_again(&self, now: Instant) -> Option<Instant> {
        let refused = self.refused.values().map(|refused| refused.until);
        let fights = self.fights.values().map(|fight| fight.last + fight.delay());
        refused.chain(fights).filter(|at| *at > now).min()
    }
}

impl Refused {
    fn new(planned: &Planned<'_>, trouble: Trouble, failures: u32, until: Instant) -> Self {
        Self { intent: planned.child.intent, over: over(planned), trouble, failures, until }
    }

    fn is_about(&self, planned: &Planned<'_>) -> bool {
        self.intent == planned.child.intent && self.over == over(planned)
    }
}

/// The object that is there, and which state of it. Where a kind has generations, a status that comes and goes is no
/// reason to try again.
type Over = (Box<str>, u64);

fn over(planned: &Planned<'_>) -> Option<Over> {
    let stored = &planned.live?.stored;
    let generation = stored.generation.and_then(|generation| generation.try_into().ok());
    Some((stored.uid.clone(), generation.unwrap_or(stored.resource_version)))
}

/// How long a trouble is left alone. `None` for what passes by itself: the queue tries the whole parent again.
fn backoff(trouble: &Trouble) -> Option<Backoff> {
    let backstop = Backoff { base: BACKSTOP, cap: BACKSTOP };
    match trouble {
        Trouble::Refused(refusal) => match refusal.class {
            Class::Permanent => Some(backstop),
            Class::Forbidden | Class::Unavailable | Class::NotServed | Class::Held(_) => {
                Some(Backoff::PASS)
            }
            Class::NotFound | Class::Stale | Class::Transient(_) => None,
        },
        Trouble::NotOurs(_) | Trouble::Held(_) => Some(Backoff::PASS),
        Trouble::Unseen(_) | Trouble::Contested(_) => None,
    }
}
