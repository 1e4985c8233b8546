//! Which waiting key is next: four lanes that share 8:4:2:1, in each lane the flows in turn, in each flow first come first
//! served; and who has waited too long gets a share besides.
//!
//! In: keys with a lane, a flow and a place in line, and which flows may have more now. Out: the next key. Never here: running
//! keys; a clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
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

/// Who waits longer than this is overdue.
pub(crate) const OVERDUE: Duration = Duration::from_secs(30);

/// Of so many keys one is the one that has waited longest, if it is overdue: whatever is busy in other lanes and flows, it gets
/// on; and were there thousands of it, a fresh edit would still be among the next few.
pub(crate) const OVERDUE_SHARE: u32 = 4;

/// A place in line. A key that moves to a better lane keeps it, and so goes in front of those who came later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) lane: Lane,
    /// Rises with every new place.
    pub(crate) ticket: u64,
    pub(crate) since: Instant,
}

/// Deficit round robin in which every key costs one. What an operation costs grows with the logarithm of the keys, and with the
/// number of flows.
#[derive(Debug)]
pub(crate) struct Lanes<F, K> {
    lines: [Line<F, K>; LANES],
    turn: usize,
    share: u32,
    /// Keys since the last one that went because it was overdue.
    in_order: u32,
}

/// One lane.
#[derive(Debug)]
struct Line<F, K> {
    waiting: BTreeMap<u64, Waiter<F, K>>,
    /// The tickets of each flow that waits, or did when it had its turn.
    flows: BTreeMap<F, BTreeSet<u64>>,
    /// These flows, once each: whose turn is next.
    turns: VecDeque<F>,
}

#[derive(Debug)]
struct Waiter<F, K> {
    flow: F,
    key: K,
    since: Instant,
}

impl<F: Clone + Ord, K> Line<F, K> {
    const fn new() -> Self {
        Self { waiting: BTreeMap::new(), flows: BTreeMap::new(), turns: VecDeque::new() }
    }

    fn push(&mut self, ticket: u64, waiter: Waiter<F, K>) {
        if let Some(tickets) = self.flows.get_mut(&waiter.flow) {
            tickets.insert(ticket);
        } else {
            self.turns.push_back(waiter.flow.clone());
            self.flows.insert(waiter.flow.clone(), BTreeSet::from([ticket]));
        }
        self.waiting.insert(ticket, waiter);
    }

    /// Its flow keeps its turn, even if nothing is left of it: who leaves the line and comes back wins nothing by it.
    fn remove(&mut self, ticket: u64) -> Option<(F, K)> {
        let waiter = self.waiting.remove(&ticket)?;
        if let Some(tickets) = self.flows.get_mut(&waiter.flow) {
            tickets.remove(&ticket);
        }
        Some((waiter.flow, waiter.key))
    }

    /// The first key of the flow whose turn it is, of those that may have more.
    fn pop(&mut self, may: &impl Fn(&F) -> bool) -> Option<(F, K)> {
        self.turns.retain(|flow| {
            let is_empty = self.flows.get(flow).is_none_or(BTreeSet::is_empty);
            if is_empty {
                self.flows.remove(flow);
            }
            !is_empty
        });
        let at = self.turns.iter().position(may)?;
        let flow = self.turns.remove(at)?;
        let first = self.flows.get(&flow).and_then(BTreeSet::first).copied();
        self.turns.push_back(flow);
        self.remove(first?)
    }

    /// The ticket that has waited longest, of the flows that may have more.
    fn oldest(&self, may: &impl Fn(&F) -> bool) -> Option<u64> {
        let may_have = self.flows.iter().filter(|(flow, _)| may(flow));
        may_have.filter_map(|(_, tickets)| tickets.first().copied()).min()
    }

    fn since(&self) -> Option<Instant> {
        Some(self.waiting.first_key_value()?.1.since)
    }
}

impl<F: Clone + Ord, K> Lanes<F, K> {
    pub(crate) fn new() -> Self {
        let lines = [const { Line::new() }; LANES];
        Self { lines, turn: 0, share: SHARES[0], in_order: 0 }
    }

    pub(crate) fn push(&mut self, place: Place, flow: F, key: K) {
        let waiter = Waiter { flow, key, since: place.since };
        self.lines[place.lane as usize].push(place.ticket, waiter);
    }

    pub(crate) fn remove(&mut self, place: Place) {
        self.lines[place.lane as usize].remove(place.ticket);
    }

    /// The next key of a flow that may have more, its flow, and the lane it waited in.
    pub(crate) fn pop(&mut self, now: Instant, may: impl Fn(&F) -> bool) -> Option<(Lane, F, K)> {
        if self.in_order >= OVERDUE_SHARE - 1
            && let Some(overdue) = self.pop_overdue(now, &may)
        {
            self.in_order = 0;
            return Some(overdue);
        }
        // Once around, and back to where we began with a new share.
        for _ in 0..=LANES {
            if self.share > 0
                && let Some((flow, key)) = self.lines[self.turn].pop(&may)
            {
                self.share -= 1;
                self.in_order = self.in_order.saturating_add(1);
                return Some((Lane::ALL[self.turn], flow, key));
            }
            self.turn = (self.turn + 1) % LANES;
            self.share = SHARES[self.turn];
        }
        // Nobody waits who may: the next round begins with the most urgent lane.
        (self.turn, self.share) = (0, SHARES[0]);
        None
    }

    fn pop_overdue(&mut self, now: Instant, may: &impl Fn(&F) -> bool) -> Option<(Lane, F, K)> {
        let is_overdue = |since: Instant| now.saturating_duration_since(since) > OVERDUE;
        if !self.oldest().is_some_and(is_overdue) {
            return None;
        }
        let oldest = |lane: &Lane| Some((self.lines[*lane as usize].oldest(may)?, *lane));
        let (ticket, lane) = Lane::ALL.iter().filter_map(oldest).min()?;
        let of_lane = &mut self.lines[lane as usize];
        of_lane.waiting.get(&ticket).filter(|waiter| is_overdue(waiter.since))?;
        let (flow, key) = of_lane.remove(ticket)?;
        Some((lane, flow, key))
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.iter().map(|line| line.waiting.len()).sum()
    }

    /// Since when the one who waited longest waits.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.lines.iter().filter_map(Line::since).min()
    }

    /// Of each lane how many wait, and since when the first one does.
    pub(crate) fn each(&self) -> [(usize, Option<Instant>); LANES] {
        self.lines.each_ref().map(|line| (line.waiting.len(), line.since()))
    }
}
