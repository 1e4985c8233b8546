//! How parents are spread over shards, and which shards are ours.
//!
//! In: how many shards there are; that one of them is ours now, or no longer. Out: the shard of a parent, and whether its passes
//! are ours to do. The 64 slots that children are labelled with never change; shards own slots by rendezvous hashing, so that
//! of one shard more each slot stays where it is or moves to the new one.
//! Never here: who decides; requests.

use crate::marks::{SLOTS, hash64, label, slot};
use crate::object::ObjectId;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// So many shards at most: each of them has slots then.
pub const MOST_SHARDS: u16 = 16;

/// All shards of an installation, and which of them are ours.
#[derive(Debug)]
pub(super) struct Shards {
    /// The shard of each slot.
    of_slot: Vec<usize>,
    each: Vec<Shard>,
}

#[derive(Debug, Default)]
struct Shard {
    /// In which turn of ours we are, or 0 if it is not ours.
    turn: AtomicU64,
    turns: AtomicU64,
    /// It is about to be ours: its children are watched.
    watched: AtomicBool,
    running: AtomicUsize,
}

/// A pass that runs; it counts until it is dropped.
pub(super) struct Run<'a> {
    shard: &'a Shard,
    turn: u64,
}

impl Run<'_> {
    /// Whether the shard is still ours, without a break since the pass began.
    pub(super) fn is_current(&self) -> bool {
        self.shard.turn.load(Ordering::SeqCst) == self.turn
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.shard.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shards {
    /// None of them is ours yet.
    pub(super) fn new(count: usize) -> Self {
        let count = count.clamp(1, usize::from(MOST_SHARDS));
        let of_slot = (0..SLOTS).map(|slot| shard_of(slot, count)).collect();
        Self { of_slot, each: (0..count).map(|_| Shard::default()).collect() }
    }

    pub(super) fn count(&self) -> usize {
        self.each.len()
    }

    /// The shard of a parent.
    pub(super) fn of(&self, parent: &ObjectId) -> usize {
        let slot = usize::try_from(slot(parent)).unwrap_or_default();
        self.of_slot.get(slot).copied().unwrap_or_default()
    }

    /// Whether the passes of a parent are ours.
    pub(super) fn owns(&self, parent: &ObjectId) -> bool {
        self.each[self.of(parent)].turn.load(Ordering::SeqCst) != 0
    }

    /// One of those that are ours.
    pub(super) fn first_owned(&self) -> Option<usize> {
        self.each.iter().position(|shard| shard.turn.load(Ordering::SeqCst) != 0)
    }

    /// Whether a shard is ours.
    pub(super) fn owns_shard(&self, shard: usize) -> bool {
        self.each.get(shard).is_some_and(|shard| shard.turn.load(Ordering::SeqCst) != 0)
    }

    /// A pass of a parent begins, if it is ours.
    pub(super) fn run(&self, parent: &ObjectId) -> Option<Run<'_>> {
        let shard = &self.each[self.of(parent)];
        // Counted before it is looked, so that whoever waits for the last one misses none.
        shard.running.fetch_add(1, Ordering::SeqCst);
        let run = Run { shard, turn: shard.turn.load(Ordering::SeqCst) };
        (run.turn != 0).then_some(run)
    }

    /// Passes of a shard that have begun.
    pub(super) fn running(&self, shard: usize) -> usize {
        self.each[shard].running.load(Ordering::SeqCst)
    }

    /// From now on the children of a shard are watched.
    pub(super) fn watch(&self, shard: usize) {
        self.each[shard].watched.store(true, Ordering::SeqCst);
    }

    /// The shards whose children are watched. Where there is only one it always is: whoever follows has warm caches.
    pub(super) fn watched(&self) -> Vec<usize> {
        let is_watched =
            |shard: &usize| self.count() == 1 || self.each[*shard].watched.load(Ordering::SeqCst);
        (0..self.count()).filter(is_watched).collect()
    }

    /// A shard is ours from now on.
    pub(super) fn begin(&self, shard: usize) {
        let shard = &self.each[shard];
        let turn = shard.turns.fetch_add(1, Ordering::SeqCst) + 1;
        shard.turn.store(turn, Ordering::SeqCst);
    }

    /// A shard is ours no longer.
    pub(super) fn end(&self, shard: usize) {
        self.each[shard].turn.store(0, Ordering::SeqCst);
        self.each[shard].watched.store(false, Ordering::SeqCst);
    }

    /// Selects the children of a shard among those of an installation; all, if there is only one.
    pub(super) fn selector(&self, installation: &str, shard: usize) -> String {
        let owner = format!("{}={installation}", label::OWNER);
        if self.count() == 1 {
            return owner;
        }
        let slots = self.of_slot.iter().enumerate().filter(|(_, owner)| **owner == shard);
        let slots: Vec<String> = slots.map(|(slot, _)| slot.to_string()).collect();
        format!("{owner},{} in ({})", label::SLOT, slots.join(","))
    }
}

/// The shard that has the highest hash together with the slot.
fn shard_of(slot: u64, count: usize) -> usize {
    let weight = |shard: &usize| hash64(format!("slot {slot} shard {shard}").as_bytes());
    (0..count).max_by_key(weight).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;

    #[test]
    fn of_one_shard_more_a_slot_stays_or_moves_to_the_new_one() {
        for count in 1..usize::from(MOST_SHARDS) {
            let (before, after) = (Shards::new(count), Shards::new(count + 1));
            for (old, new) in before.of_slot.iter().zip(&after.of_slot) {
                assert!(old == new || *new == count, "{count} shards and one more");
            }
            for shard in 0..=count {
                assert!(after.of_slot.contains(&shard), "shard {shard} of {} has slots", count + 1);
            }
        }
    }

    /// What is once labelled and spread stays so, whichever version of the program does it.
    #[test]
    fn the_spread_is_the_same_for_ever() {
        let shards = Shards::new(3);
        let of = |shard| shards.of_slot.iter().filter(|owner| **owner == shard).count();
        assert_eq!([of(0), of(1), of(2)], [25, 18, 21]);
        assert_eq!(shards.of_slot[..8], [0, 2, 0, 0, 0, 0, 2, 2]);
        let selector = Shards::new(16).selector("k", 3);
        assert!(
            selector.starts_with("kubewright.io/owner=k,kubewright.io/slot in ("),
            "{selector}"
        );
        assert_eq!(Shards::new(1).selector("k", 0), "kubewright.io/owner=k");
    }

    #[test]
    fn a_pass_of_an_earlier_turn_is_not_current() {
        let shards = Shards::new(1);
        let parent = parse_id("WebApp.demo.kubewright.io shop/a").unwrap();
        assert!(shards.run(&parent).is_none() && shards.running(0) == 0);
        shards.begin(0);
        let run = shards.run(&parent).expect("ours");
        assert!(run.is_current() && shards.running(0) == 1 && shards.owns(&parent));
        shards.end(0);
        assert!(!run.is_current() && !shards.owns(&parent));
        shards.begin(0);
        assert!(!run.is_current());
        drop(run);
        assert_eq!(shards.running(0), 0);
    }
}
