//! What of all that a pass found is news.
//!
//! In: facts, what was told before, how late it is. Out: what to tell now, one text for all news of one reason; and when to
//! look again. What lasts is told once while it lasts; what comes back is told again after a while. Pure: the time comes as
//! data. Losing the memory costs an Event per trouble, and none for what is in order.

use super::facts::{Fact, When};
use super::{Draft, Reason};
use crate::compare::Memos;
use crate::fetch::Observed;
use crate::object::ObjectId;
use crate::render::Desired;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The same is not told again sooner.
const AGAIN: Duration = Duration::from_mins(5);

/// What may pass by itself is told when it has lasted as long as this.
pub(super) const LONG: Duration = Duration::from_mins(5);

/// So many Events of one parent may come together; one more comes each [`REFILL`].
const BURST: u32 = 20;
const REFILL: Duration = Duration::from_mins(1);

/// Facts of one parent that are remembered. What goes beyond is not told.
const REMEMBERED: usize = 512;

/// What is remembered of a parent between passes.
#[derive(Default)]
pub struct EventMemory {
    /// Children that were there and are gone, as long as they are wanted.
    gone: BTreeSet<ObjectId>,
    told: BTreeMap<u64, TellingOf>,
    /// Since when that holds which is told only after a while.
    since: BTreeMap<u64, Instant>,
    spent: Spent,
    began: bool,
}

/// How a fact was told.
struct TellingOf {
    at: Instant,
    /// Whether it still holds.
    holds: bool,
}

/// How many Events were sent lately.
#[derive(Default)]
struct Spent {
    events: u32,
    /// Since when the next one comes back.
    since: Option<Instant>,
}

impl Spent {
    /// Whether one more may be sent.
    fn takes(&mut self, now: Instant) -> bool {
        while let Some(since) = self.since.filter(|since| now.duration_since(*since) >= REFILL) {
            self.events = self.events.saturating_sub(1);
            self.since = (self.events > 0).then_some(since + REFILL);
        }
        if self.events >= BURST {
            return false;
        }
        self.events += 1;
        self.since.get_or_insert(now);
        true
    }
}

impl EventMemory {
    /// Notes which children are gone, as long as it is known that they were there: before the pass compares.
    pub(crate) fn look(&mut self, known: &Memos, observed: &Observed, desired: &Desired) {
        self.gone.retain(|id| desired.wants(id));
        let is_there =
            |id: &ObjectId| observed.children.contains_key(id) || observed.lost.contains_key(id);
        let gone = known.keys().filter(|id| !is_there(id) && desired.wants(id));
        self.gone.extend(gone.cloned());
    }

    /// Whether a child that was just created had been there before.
    pub(super) fn was_there(&self, id: &ObjectId) -> bool {
        self.gone.contains(id)
    }

    /// A child is there.
    pub(super) fn is_there(&mut self, id: &ObjectId) {
        self.gone.remove(id);
    }

    /// What is to be told now, and when to look again.
    pub(super) fn tell(
        &mut self,
        facts: Vec<Fact>,
        now: Instant,
    ) -> (Vec<Draft>, Option<Duration>) {
        let first = !std::mem::replace(&mut self.began, true);
        let held: BTreeSet<u64> =
            facts.iter().filter(|fact| fact.when != When::Happened).map(|fact| fact.key).collect();
        self.since.retain(|key, _| held.contains(key));
        for (key, telling) in &mut self.told {
            telling.holds &= held.contains(key);
        }
        self.told.retain(|_, telling| telling.holds || now.duration_since(telling.at) < AGAIN);
        let (mut waits, mut seen) = (Vec::new(), BTreeSet::new());
        let mut news: Vec<(Reason, Vec<Fact>)> = Vec::new();
        for fact in facts {
            // The same mistake may be found by several children.
            if !seen.insert(fact.key) {
                continue;
            }
            match self.is_news(&fact, first, now) {
                Verdict::Now => match news.iter_mut().find(|(reason, _)| *reason == fact.reason) {
                    Some((_, same)) => same.push(fact),
                    None => news.push((fact.reason.clone(), vec![fact])),
                },
                Verdict::In(delay) => waits.push(delay),
                Verdict::Never => {}
            }
        }
        let mut drafts = Vec::new();
        for (reason, facts) in news {
            if !self.spent.takes(now) {
                waits.push(REFILL);
                continue;
            }
            let parts: Vec<&str> = facts.iter().map(|fact| fact.text.as_str()).collect();
            drafts.push(Draft { note: reason.note(&parts), reason });
            for fact in facts {
                let telling = TellingOf { at: now, holds: fact.when != When::Happened };
                self.told.insert(fact.key, telling);
            }
        }
        (drafts, waits.into_iter().min())
    }

    fn is_news(&mut self, fact: &Fact, first: bool, now: Instant) -> Verdict {
        let lasts = fact.when != When::Happened;
        if let Some(telling) = self.told.get(&fact.key) {
            let ago = now.duration_since(telling.at);
            return match AGAIN.checked_sub(ago).filter(|rest| !rest.is_zero()) {
                _ if telling.holds => Verdict::Never,
                None => Verdict::Now,
                Some(rest) if lasts => Verdict::In(rest),
                Some(_) => Verdict::Never,
            };
        }
        if self.told.len() >= REMEMBERED {
            return Verdict::Never;
        }
        if first && !fact.news {
            self.told.insert(fact.key, TellingOf { at: now, holds: lasts });
            return Verdict::Never;
        }
        if fact.when == When::Lasting {
            if self.since.len() >= REMEMBERED && !self.since.contains_key(&fact.key) {
                return Verdict::Never;
            }
            let ago = now.duration_since(*self.since.entry(fact.key).or_insert(now));
            if let Some(rest) = LONG.checked_sub(ago).filter(|rest| !rest.is_zero()) {
                return Verdict::In(rest);
            }
        }
        Verdict::Now
    }
}

enum Verdict {
    Now,
    /// Perhaps after this time, if it still holds.
    In(Duration),
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn fact(reason: Reason, text: &str, when: When) -> Fact {
        Fact::new(reason, text.to_owned(), when)
    }

    fn refused(text: &str) -> Fact {
        fact(Reason::ChildFailed, text, When::Holds)
    }

    fn notes(memory: &mut EventMemory, facts: Vec<Fact>, now: Instant) -> Vec<String> {
        memory.tell(facts, now).0.into_iter().map(|draft| draft.note).collect()
    }

    #[test]
    fn what_holds_is_told_once_and_again_when_it_comes_back_after_a_while() {
        let mut memory = EventMemory::default();
        let begun = Instant::now();
        let one = || vec![refused("a: no")];
        assert_eq!(notes(&mut memory, one(), begun), ["a: no"]);
        for minute in 1..200 {
            assert!(notes(&mut memory, one(), begun + minute * MINUTE).is_empty());
        }
        let end = begun + 200 * MINUTE;
        assert!(notes(&mut memory, vec![], end).is_empty());
        assert_eq!(notes(&mut memory, one(), end + MINUTE), ["a: no"], "long after it was told");
        assert!(notes(&mut memory, vec![], end + 2 * MINUTE).is_empty());
        let (drafts, again) = memory.tell(one(), end + 3 * MINUTE);
        assert!(drafts.is_empty(), "a moment after it was told");
        assert_eq!(again, Some(3 * MINUTE));
        assert_eq!(notes(&mut memory, one(), end + 6 * MINUTE), ["a: no"]);
        assert!(notes(&mut memory, one(), end + 60 * MINUTE).is_empty());
    }

    #[test]
    fn each_distinct_trouble_is_told_and_what_comes_together_is_one_text() {
        let mut memory = EventMemory::default();
        let now = Instant::now();
        let created = |text| fact(Reason::Created, text, When::Happened);
        let facts = vec![created("a (A x)"), refused("c: no"), created("b (B x)")];
        assert_eq!(notes(&mut memory, facts, now), ["created a (A x), b (B x)", "c: no"]);
        let facts = vec![refused("c: no"), refused("d: no")];
        assert_eq!(notes(&mut memory, facts, now), ["d: no"]);
    }

    #[test]
    fn what_may_pass_by_itself_is_told_when_it_lasts() {
        let mut memory = EventMemory::default();
        let begun = Instant::now();
        let waits = |text| vec![Fact { key: 7, ..fact(Reason::Waiting, text, When::Lasting) }];
        assert_eq!(memory.tell(waits("a: 0 of 2"), begun), (Vec::new(), Some(LONG)));
        let (drafts, again) = memory.tell(waits("a: 1 of 2"), begun + 4 * MINUTE);
        assert_eq!((drafts.len(), again), (0, Some(MINUTE)));
        let told = notes(&mut memory, waits("a: 1 of 2"), begun + LONG);
        assert_eq!(told, ["not there or not ready for some minutes: a: 1 of 2"]);
        assert_eq!(memory.tell(waits("a: 0 of 2"), begun + 2 * LONG), (Vec::new(), None));
        // An interruption begins anew.
        memory.tell(vec![], begun + 3 * LONG);
        assert_eq!(memory.tell(waits("a: 1 of 2"), begun + 3 * LONG), (Vec::new(), Some(LONG)));
    }

    #[test]
    fn what_is_in_order_when_we_begin_is_no_news() {
        let ready = |news| vec![Fact { news, ..fact(Reason::Ready, "ready", When::Holds) }];
        let now = Instant::now();
        let mut memory = EventMemory::default();
        assert!(notes(&mut memory, ready(false), now).is_empty());
        assert!(notes(&mut memory, ready(false), now + 2 * AGAIN).is_empty());
        assert!(notes(&mut memory, vec![], now + 2 * AGAIN).is_empty());
        assert_eq!(notes(&mut memory, ready(false), now + 2 * AGAIN).len(), 1);
        assert_eq!(notes(&mut EventMemory::default(), ready(true), now).len(), 1);
    }

    #[test]
    fn however_much_happens_few_events_are_sent_and_little_is_remembered() {
        let mut memory = EventMemory::default();
        let begun = Instant::now();
        let mut sent = 0;
        for second in 0..3600 {
            let now = begun + Duration::from_secs(second);
            let facts = vec![
                refused(&format!("a: {second}")),
                fact(Reason::Waiting, &format!("b: {second}"), When::Lasting),
                fact(Reason::Created, &format!("c: {second}"), When::Happened),
            ];
            sent += memory.tell(facts, now).0.len();
            assert!(memory.told.len() <= REMEMBERED && memory.since.len() <= REMEMBERED);
        }
        assert!((60..=BURST as usize + 60).contains(&sent), "{sent}");
        let many: Vec<Fact> = (0..5000).map(|n| refused(&format!("x-{n}"))).collect();
        let mut memory = EventMemory::default();
        assert_eq!(memory.tell(many, begun).0.len(), 1);
        let other = (0..5000).map(|n| fact(Reason::Waiting, &format!("{n}"), When::Lasting));
        memory.tell(other.collect(), begun);
        assert!(memory.told.len() <= 5000 && memory.since.len() <= REMEMBERED);
    }
}
