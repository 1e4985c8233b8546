//! Which waiting key is next: four lanes, each first come first served, sharing the workers 8:4:2:1.
//!
//! In: keys with a lane and a place in line. Out: the next key. Never here: time, running keys.

use std::collections::BTreeMap;
use tokio::time::Instant;

/// Why a key waits, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A pass has begun and still owes something: a status, the rest of a deletion.
    Finish,
    /// Somebody edited or deleted the parent, or made a new one.
    Edit,
    /// A child or an input changed, or it is time to look again.
    Drift,
    /// A rule changed, or we started: many at once, nobody waits for a single one.
    Bulk,
}

impl Lane {
    /// All of them, most urgent first.
    pub const ALL: [Self; LANES] = [Self::Finish, Self::Edit, Self::Drift, Self::Bulk];

    /// One lower-case word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Edit => "edit",
            Self::Drift => "drift",
            Self::Bulk => "bulk",
        }
    }
}

const LANES: usize = 4;

/// How many keys a lane may take in its turn. Every lane gets its turn, so none starves: with all of them full, bulk
/// still gets one pass in fifteen.
const SHARES: [u32; LANES] = [8, 4, 2, 1];

/// A place in line. A key that moves to a better lane keeps it, and so goes in front of those who came later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) lane: Lane,
    /// Rises with every new place.
    pub(super) ticket: u64,
    pub(super) since: Instant,
}

/// Deficit round robin in which every key costs one.
#[derive(Debug)]
pub(super) struct Lanes<K> {
    waiting: [BTreeMap<u64, (K, Instant)>; LANES],
    turn: usize,
    share: u32,
}

impl<K> Lanes<K> {
    pub(super) fn new() -> Self {
        Self { waiting: [const { BTreeMap::new() }; LANES], turn: 0, share: SHARES[0] }
    }

    pub(super) fn push(&mut self, place: Place, key: K) {
        self.waiting[place.lane as usize].insert(place.ticket, (key, place.since));
    }

    pub(super) fn remove(&mut self, place: Place) {
        self.waiting[place.lane as usize].remove(&place.ticket);
    }

    /// The next key, and the lane it waited in.
    pub(super) fn pop(&mut self) -> Option<(Lane, K)> {
        // Once around, and back to where we began with a new share.
        for _ in 0..=LANES {
            if self.share > 0
                && let Some((_, (key, _))) = self.waiting[self.turn].pop_first()
            {
                self.share -= 1;
                return Some((Lane::ALL[self.turn], key));
            }
            self.turn = (self.turn + 1) % LANES;
            self.share = SHARES[self.turn];
        }
        // Nobody waits: the next round begins with the most urgent lane.
        (self.turn, self.share) = (0, SHARES[0]);
        None
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.iter().map(BTreeMap::len).sum()
    }

    /// Since when the one who waited longest waits.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.each().into_iter().filter_map(|(_, oldest)| oldest).min()
    }

    /// Of each lane how many wait, and since when the first one does.
    pub(super) fn each(&self) -> [(usize, Option<Instant>); LANES] {
        let oldest = |lane: &BTreeMap<u64, (K, Instant)>| Some(lane.first_key_value()?.1.1);
        self.waiting.each_ref().map(|lane| (lane.len(), oldest(lane)))
    }
}
