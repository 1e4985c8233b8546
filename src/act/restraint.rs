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

/// A mistake is sent again after this time at the latest (half of it at the soonest), in case what mended it was no change
/// that we see.
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
        let (Action::Create | Action::Apply(_) | Action::Recreate(_)) = planned.action else {
            return None;
        };
        let id = &planned.child.id;
        if let Some(refused) = self.refused.get(id).filter(|refused| refused.is_about(planned)) {
            return (now < refused.until).then(|| refused.trouble.clone());
        }
        let fight = self.fights.get_mut(id)?;
        let drift = Reason::Drift;
        let repair =
            planned.action == Action::Apply(drift) || planned.action == Action::Recreate(drift);
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
            Ok(Done::Written(_, Write::Applied(Reason::Drift)) | Done::Removed(Reason::Drift)) => {
                self.refused.remove(id);
                let first = || Fight { repairs: 0, last: now, fields: Vec::new() };
                let fight = self.fights.entry(id.clone()).or_insert_with(first);
                fight.repairs = fight.repairs.saturating_add(1);
                fight.last = now;
            }
            Ok(
                Done::Written(_, Write::Applied(Reason::Intent)) | Done::Removed(Reason::Intent),
            ) => {
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

    /// When a child may be written again that was not at this time.
    pub(super) fn look_again(&self, begun: Instant) -> Option<Instant> {
        let refused = self.refused.values().map(|refused| refused.until);
        let fights = self.fights.values().map(|fight| fight.last + fight.delay());
        refused.chain(fights).filter(|at| *at > begun).min()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;
    use crate::object::Gvk;
    use crate::owned::Ignored;
    use crate::refusal::Refusal;
    use crate::render::DesiredChild;
    use crate::rule::Policies;
    use serde_json::json;

    const SECOND: Duration = Duration::from_secs(1);

    fn child(intent: u64) -> DesiredChild {
        DesiredChild {
            child: "config".into(),
            items: Vec::new(),
            gvk: Gvk::parse("v1", "ConfigMap").unwrap(),
            id: parse_id("ConfigMap shop/web").unwrap(),
            object: json!({}),
            intent,
            ignored: Ignored::default(),
            free: false,
            policies: Policies::default(),
        }
    }

    fn planned(child: &DesiredChild, action: Action) -> Planned<'_> {
        Planned { child, live: None, action }
    }

    fn refused(class: Class) -> Result<Done, Trouble> {
        Err(Trouble::Refused(Refusal { class, message: "no".into() }))
    }

    /// Begins a pass in which the child is to be created; tells whether it may.
    fn may(restraints: &mut Restraints, child: &DesiredChild, edition: u64, now: Instant) -> bool {
        restraints.begin(edition, &[planned(child, Action::Create)], now);
        restraints.holds(&planned(child, Action::Create), "us", now).is_none()
    }

    #[test]
    fn a_mistake_waits_for_a_change_or_the_backstop() {
        let (one, other) = (child(1), child(2));
        let mut restraints = Restraints::default();
        let begun = Instant::now();
        assert!(may(&mut restraints, &one, 1, begun));
        restraints.note(&planned(&one, Action::Create), &refused(Class::Permanent), begun);
        assert!(!may(&mut restraints, &one, 1, begun + BACKSTOP / 3));
        assert!(may(&mut restraints, &other, 1, begun), "another intent");
        assert!(may(&mut restraints, &one, 1, begun + BACKSTOP));
        assert!(restraints.look_again(begun).is_some_and(|at| at <= begun + BACKSTOP));
        assert!(may(&mut restraints, &one, 2, begun), "somebody edited the parent");
        assert_eq!(restraints.look_again(begun), None);
    }

    #[test]
    fn missing_rights_are_tried_ever_more_rarely_and_troubles_of_the_moment_by_the_queue() {
        let one = child(1);
        let mut restraints = Restraints::default();
        let mut now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..12 {
            assert!(may(&mut restraints, &one, 1, now));
            restraints.note(&planned(&one, Action::Create), &refused(Class::Forbidden), now);
            let until = restraints.look_again(now).unwrap();
            waits.push(until - now);
            now = until;
        }
        assert!(waits[0] <= SECOND && waits[11] > Duration::from_secs(149), "{waits:?}");
        assert!(waits.iter().all(|wait| *wait <= Duration::from_mins(5)), "{waits:?}");
        let mut restraints = Restraints::default();
        for class in [Class::Stale, Class::NotFound, Class::Transient(None)] {
            restraints.note(&planned(&one, Action::Create), &refused(class), now);
            assert!(may(&mut restraints, &one, 1, now));
        }
    }

    #[test]
    fn three_repairs_are_free_the_rest_wait_and_peace_is_forgiven() {
        let mut fight = Fight { repairs: 0, last: Instant::now(), fields: Vec::new() };
        let delay = |fight: &mut Fight, repairs| {
            fight.repairs = repairs;
            fight.delay().as_secs()
        };
        let waits: Vec<u64> = (0..8).map(|repairs| delay(&mut fight, repairs)).collect();
        assert_eq!(waits, [0, 0, 0, 5, 10, 20, 40, 80]);
        assert_eq!(delay(&mut fight, u32::MAX), 300);
        fight.repairs = 3;
        assert!(!fight.is_over(fight.last + FREE_WITHIN));
        assert!(fight.is_over(fight.last + FREE_WITHIN + SECOND));
        fight.repairs = 8;
        assert!(!fight.is_over(fight.last + FORGOTTEN) && fight.repairs == 4);
        assert!(fight.is_over(fight.last + 40 * FORGOTTEN));
    }
}
