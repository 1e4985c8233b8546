//! Which children are not written for now: what the server refused, and what somebody else keeps changing back.
//!
//! In: how the writes of a child ended. Out: whether it is written now, and when to look again. An answer that only a
//! change can mend is not asked for again because of an event about something else; a fight is slowed down, never given
//! up. Never here: requests; waiting.

use super::{Done, Trouble, Write};
use crate::compare::{Action, Plan, Planned, Reason, lost};
use crate::fetch::Live;
use crate::object::ObjectId;
use crate::queue::{Backoff, random};
use crate::refusal::{Class, HeldField, Refusal};
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
    undeleted: BTreeMap<ObjectId, Undeleted>,
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

/// A deletion that the server refused.
struct Undeleted {
    over: Over,
    refusal: Refusal,
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
    pub(super) fn begin(&mut self, edition: u64, plan: &Plan<'_>, now: Instant) {
        if self.edition != edition {
            self.refused.clear();
            self.undeleted.clear();
        }
        self.edition = edition;
        let wanted = |id: &ObjectId| plan.children.iter().any(|planned| planned.child.id == *id);
        self.refused.retain(|id, _| wanted(id));
        self.undeleted.retain(|id, _| plan.prune.iter().any(|live| live.id == *id));
        self.fights.retain(|id, fight| wanted(id) && !fight.is_over(now));
    }

    /// Why a child is not written now although it should be.
    pub(super) fn holds(
        &mut self,
        planned: &Planned<'_>,
        manager: &str,
        now: Instant,
    ) -> Option<Trouble> {
        let (Action::Create | Action::Apply(_) | Action::Recreate(_) | Action::Lost) =
            planned.action
        else {
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
            Ok(
                Done::Written(_, Write::Applied(Reason::Drift)) | Done::Removed(Reason::Drift, ..),
            ) => {
                self.refused.remove(id);
                let first = || Fight { repairs: 0, last: now, fields: Vec::new() };
                let fight = self.fights.entry(id.clone()).or_insert_with(first);
                fight.repairs = fight.repairs.saturating_add(1);
                fight.last = now;
            }
            Ok(
                Done::Written(_, Write::Applied(Reason::Intent))
                | Done::Removed(Reason::Intent, ..),
            ) => {
                self.refused.remove(id);
                self.fights.remove(id);
            }
            Ok(_) => drop(self.refused.remove(id)),
            Err(trouble) => {
                if let Some(backoff) = backoff_of(trouble, planned.live.is_some()) {
                    let before = self.refused.get(id).filter(|refused| refused.is_about(planned));
                    let failures = before.map_or(1, |refused| refused.failures.saturating_add(1));
                    let until = now + backoff.delay(failures, random());
                    let refused = Refused::new(planned, trouble.clone(), failures, until);
                    self.refused.insert(id.clone(), refused);
                }
            }
        }
    }

    /// Why an object is not deleted now although it should be.
    pub(super) fn holds_deletion(&self, live: &Live, now: Instant) -> Option<Refusal> {
        let before = self.undeleted.get(&live.id)?;
        (before.is_about(live) && now < before.until).then(|| before.refusal.clone())
    }

    /// Remembers how a deletion ended.
    pub(super) fn note_deletion<T>(
        &mut self,
        live: &Live,
        result: &Result<T, Refusal>,
        now: Instant,
    ) {
        let before = self.undeleted.remove(&live.id);
        let Err(refusal) = result else { return };
        let Some(backoff) = backoff(&refusal.class, true) else { return };
        let before = before.filter(|before| before.is_about(live));
        let failures = before.map_or(1, |before| before.failures.saturating_add(1));
        let until = now + backoff.delay(failures, random());
        let over = over(live, refusal.class == Class::Stale);
        let undeleted = Undeleted { over, refusal: refusal.clone(), failures, until };
        self.undeleted.insert(live.id.clone(), undeleted);
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
        let undeleted = self.undeleted.values().map(|undeleted| undeleted.until);
        let fights = self.fights.values().map(|fight| fight.last + fight.delay());
        refused.chain(undeleted).chain(fights).filter(|at| *at > begun).min()
    }
}

impl Refused {
    fn new(planned: &Planned<'_>, trouble: Trouble, failures: u32, until: Instant) -> Self {
        let over = planned.live.map(|live| over(live, trouble.is_stale()));
        Self { intent: planned.child.intent, over, trouble, failures, until }
    }

    fn is_about(&self, planned: &Planned<'_>) -> bool {
        let over = planned.live.map(|live| over(live, self.trouble.is_stale()));
        self.intent == planned.child.intent && self.over == over
    }
}

impl Undeleted {
    fn is_about(&self, live: &Live) -> bool {
        self.over == over(live, self.refusal.class == Class::Stale)
    }
}

/// The object that is there, and which state of it.
type Over = (Box<str>, u64);

/// Where a kind has generations, a status that comes and goes is no reason to try again; unless it was exactly this version
/// that was refused.
fn over(live: &Live, exactly: bool) -> Over {
    let stored = &live.stored;
    let generation = stored.generation.filter(|_| !exactly);
    let generation = generation.and_then(|generation| generation.try_into().ok());
    (stored.uid.clone(), generation.unwrap_or(stored.resource_version))
}

/// How long a trouble is left alone. `None` for what passes by itself: the queue tries the whole parent again.
fn backoff_of(trouble: &Trouble, over_something: bool) -> Option<Backoff> {
    match trouble {
        Trouble::Refused(refusal) => backoff(&refusal.class, over_something),
        Trouble::NotOurs(_) | Trouble::Held(_) => Some(Backoff::PASS),
        // Whoever restores it does so under our label, or asks.
        Trouble::Lost(_) => Some(Backoff { base: BACKSTOP, cap: BACKSTOP }),
        Trouble::Unseen(_) | Trouble::Contested(_) => None,
    }
}

/// A version that is out of date will be refused again until the cache has a newer one, and that is an event.
fn backoff(class: &Class, over_something: bool) -> Option<Backoff> {
    match class {
        Class::Permanent => Some(Backoff { base: BACKSTOP, cap: BACKSTOP }),
        Class::Forbidden | Class::Unavailable | Class::NotServed | Class::Held(_) => {
            Some(Backoff::PASS)
        }
        Class::Stale => over_something.then_some(Backoff::PASS),
        Class::NotFound | Class::Transient(_) | Class::Withheld => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;
    use crate::object::Gvk;
    use crate::owned::{Ignored, IntentMark, SecretPlaces};
    use crate::render::DesiredChild;
    use crate::rule::Policies;
    use crate::store::Format;
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
            marked: IntentMark::Unknown,
            secrets: SecretPlaces::default(),
            ignored: Ignored::default(),
            free: false,
            generates: false,
            texts: crate::refusal::Texts::Shown,
            lost: false,
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
        let children = vec![planned(child, Action::Create)];
        restraints.begin(edition, &Plan { children, ..Plan::default() }, now);
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

    fn live(version: u64) -> Live {
        let metadata = json!({"name": "web", "namespace": "shop", "uid": "u", "generation": 1,
            "resourceVersion": version.to_string()});
        let format = Format::new(&Gvk::parse("v1", "ConfigMap").unwrap(), true);
        let stored = format.read(&json!({ "metadata": metadata }).to_string()).unwrap();
        Live::new(std::sync::Arc::new(stored))
    }

    #[test]
    fn a_version_that_is_out_of_date_is_not_written_or_deleted_again_until_there_is_another() {
        let one = child(1);
        let (old, new) = (live(7), live(8));
        let write =
            |live| Planned { child: &one, live: Some(live), action: Action::Apply(Reason::Drift) };
        let now = Instant::now();
        let mut restraints = Restraints::default();
        restraints.note(&write(&old), &refused(Class::Stale), now);
        assert!(restraints.holds(&write(&old), "us", now).is_some());
        assert!(restraints.holds(&write(&new), "us", now).is_none());
        assert!(
            restraints.holds(&write(&old), "us", now + SECOND).is_none(),
            "the watch may be dead"
        );
        let stale: Result<(), _> = Err(Refusal::stale("no"));
        restraints.note_deletion(&old, &stale, now);
        assert!(restraints.holds_deletion(&old, now).is_some());
        assert!(restraints.holds_deletion(&new, now).is_none());
        assert!(restraints.look_again(now).is_some_and(|at| at <= now + SECOND));
        let kept = Plan { children: vec![write(&old)], ..Plan::default() };
        restraints.begin(0, &kept, now);
        assert!(restraints.holds_deletion(&old, now).is_none(), "it is wanted again");
    }

    #[test]
    fn a_deletion_without_rights_is_not_tried_at_each_event() {
        let (one, later) = (live(7), live(8));
        let now = Instant::now();
        let mut restraints = Restraints::default();
        let forbidden: Result<(), _> =
            Err(Refusal { class: Class::Forbidden, message: "no".into() });
        restraints.note_deletion(&one, &forbidden, now);
        assert!(restraints.holds_deletion(&later, now).is_some(), "only its status changed");
        restraints.note_deletion(&one, &Ok(()), now);
        assert!(restraints.holds_deletion(&later, now).is_none());
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
