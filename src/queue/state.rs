//! What is known of each key, and what becomes of it by what happens.
//!
//! In: additions, ends of runs, the moment it is. Out: the next key. Never here: waiting; locks.

use super::lanes::{Lane, Lanes, Place};
use super::{Again, Depth, Keyed};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;
use tokio::time::Instant;

/// After a run for [`Lane::Drift`] a key rests so long from that lane: what changes fifty times a second is looked at four times.
pub(crate) const REST: Duration = Duration::from_millis(250);

/// How much more a flow may hold than is left for all others. A flow alone gets two thirds; a second one two fifths, and so
/// much the first one keeps; whoever comes next always finds something.
pub(crate) const GREED: usize = 2;

/// Whether somebody who holds so many may have one more of those that are left.
pub(crate) fn may_have_more(held: usize, left: usize) -> bool {
    held < left.saturating_mul(GREED)
}

pub(super) struct State<K: Keyed> {
    pub(super) keys: HashMap<K, Entry>,
    lanes: Lanes<K::Flow, K>,
    timers: BTreeMap<(Instant, u64), K>,
    /// Keys that rest, by the end of it and their ticket.
    resting: BTreeMap<(Instant, u64), K>,
    /// Keys that ran for drift, and when, for as long as they would have to rest.
    ran: VecDeque<(Instant, K)>,
    tickets: u64,
    running: BTreeMap<K::Flow, usize>,
    runs: usize,
    /// How many may run at once.
    most: usize,
    pub(super) closed: bool,
}

/// What is known of one key. At least one field is set, or the key is forgotten.
#[derive(Default)]
pub(super) struct Entry {
    /// In line, or in line again as soon as it is done or has rested.
    place: Option<Place>,
    /// Handed out, from this lane.
    running: Option<Lane>,
    /// Waits for its place until then.
    rests: Option<Instant>,
    /// In line from this instant on; the number tells timers of the same instant apart.
    timer: Option<(Instant, u64, Lane)>,
    failures: u32,
    /// When it was last handed out for drift, if that was not long ago.
    drifted: Option<Instant>,
}

impl Entry {
    /// Whether nothing will become of it.
    pub(super) fn is_idle(&self) -> bool {
        self.place.is_none() && self.running.is_none() && self.timer.is_none()
    }
}

impl<K: Keyed> State<K> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            keys: HashMap::new(),
            lanes: Lanes::new(),
            timers: BTreeMap::new(),
            resting: BTreeMap::new(),
            ran: VecDeque::new(),
            tickets: 0,
            running: BTreeMap::new(),
            runs: 0,
            most,
            closed: false,
        }
    }

    pub(super) fn forget(&mut self, is_such: impl Fn(&K) -> bool) {
        let (lanes, timers, resting) = (&mut self.lanes, &mut self.timers, &mut self.resting);
        self.keys.retain(|key, entry| {
            if !is_such(key) {
                return true;
            }
            if let Some(place) = entry.place.take() {
                lanes.remove(place);
                if let Some(end) = entry.rests.take() {
                    resting.remove(&(end, place.ticket));
                }
            }
            if let Some((at, ticket, _)) = entry.timer.take() {
                timers.remove(&(at, ticket));
            }
            entry.running.is_some()
        });
    }

    pub(super) fn depth(&self) -> Depth {
        let owes = |entry: &&Entry| matches!(entry.timer, Some((_, _, Lane::Finish)));
        let resting = self.resting.len();
        Depth {
            waiting: self.lanes.len(),
            running: self.runs,
            delayed: self.timers.len() + resting,
            owed: self.keys.values().filter(owes).count() + resting,
            oldest: self.lanes.oldest().map_or(Duration::ZERO, |since| since.elapsed()),
        }
    }

    pub(super) fn lanes(&self) -> [(usize, Option<Instant>); Lane::ALL.len()] {
        self.lanes.each()
    }

    /// Whether somebody else may have to look when a key was handed out.
    pub(super) fn has_more(&self) -> bool {
        self.lanes.len() > 0 || !self.timers.is_empty() || !self.resting.is_empty()
    }

    /// When a key comes back by itself.
    pub(super) fn alarm(&self) -> Option<Instant> {
        let timers = [self.timers.first_key_value(), self.resting.first_key_value()];
        timers.into_iter().flatten().map(|((at, _), _)| *at).min()
    }

    /// From which lane a key was handed out that runs.
    pub(super) fn lane_of(&self, key: &K) -> Option<Lane> {
        self.keys.get(key)?.running
    }

    pub(super) fn add(&mut self, key: K, lane: Lane, now: Instant) {
        if self.closed {
            return;
        }
        let entry = self.keys.entry(key.clone()).or_default();
        let place = match entry.place {
            Some(place) if place.lane <= lane => return,
            Some(place) => {
                self.lanes.remove(place);
                Place { lane, ..place }
            }
            None => {
                self.tickets += 1;
                Place { lane, ticket: self.tickets, since: now }
            }
        };
        entry.place = Some(place);
        if entry.running.is_none() {
            self.line_up(key, now);
        }
    }

    /// Into its place, or to rest before: the first change is looked at at once, those that follow closely are looked at
    /// together. A key that is wanted for something else does not rest.
    fn line_up(&mut self, key: K, now: Instant) {
        let Some(entry) = self.keys.get_mut(&key) else { return };
        let Some(place) = entry.place else { return };
        if let Some(end) = entry.rests.take() {
            self.resting.remove(&(end, place.ticket));
        }
        let end = entry.drifted.map(|drifted| drifted + REST);
        match end.filter(|end| place.lane == Lane::Drift && now < *end) {
            Some(end) => {
                entry.rests = Some(end);
                self.resting.insert((end, place.ticket), key);
            }
            None => self.lanes.push(place, key.flow(), key),
        }
    }

    pub(super) fn add_at(&mut self, key: K, at: Instant, mut lane: Lane) {
        if self.closed {
            return;
        }
        let entry = self.keys.entry(key.clone()).or_default();
        if let Some((other, ticket, other_lane)) = entry.timer {
            lane = lane.min(other_lane);
            if other <= at {
                entry.timer = Some((other, ticket, lane));
                return;
            }
            self.timers.remove(&(other, ticket));
        }
        self.tickets += 1;
        entry.timer = Some((at, self.tickets, lane));
        self.timers.insert((at, self.tickets), key);
    }

    /// The next key, the lane it waited in, and how long.
    pub(super) fn take(&mut self, now: Instant) -> Option<(K, Lane, Duration)> {
        self.forget_rests(now);
        while let Some(timer) = self.timers.first_entry()
            && timer.key().0 <= now
        {
            let key = timer.remove();
            let due = self.keys.get_mut(&key).and_then(|entry| entry.timer.take());
            if let Some((_, _, lane)) = due {
                self.add(key, lane, now);
            }
        }
        while let Some(rested) = self.resting.first_entry()
            && rested.key().0 <= now
        {
            let key = rested.remove();
            self.line_up(key, now);
        }
        let left = self.most.saturating_sub(self.runs);
        let running = &self.running;
        let may = |flow: &K::Flow| may_have_more(running.get(flow).copied().unwrap_or(0), left);
        let (lane, flow, key) = self.lanes.pop(now, may)?;
        self.runs += 1;
        *self.running.entry(flow).or_default() += 1;
        let entry = self.keys.entry(key.clone()).or_default();
        let since = entry.place.take().map_or(now, |place| place.since);
        entry.running = Some(lane);
        if let Some((at, ticket, _)) = entry.timer.take() {
            self.timers.remove(&(at, ticket));
        }
        if lane == Lane::Drift {
            entry.drifted = Some(now);
            self.ran.push_back((now, key.clone()));
        }
        Some((key, lane, now.saturating_duration_since(since)))
    }

    /// Of keys that ran long enough ago nothing needs to be known.
    pub(super) fn forget_rests(&mut self, now: Instant) {
        while let Some((ran, key)) = self.ran.pop_front_if(|(ran, _)| *ran + REST <= now) {
            let Some(entry) = self.keys.get_mut(&key) else { continue };
            if entry.drifted == Some(ran) {
                entry.drifted = None;
                if entry.is_idle() {
                    self.keys.remove(&key);
                }
            }
        }
    }

    pub(super) fn done(
        &mut self,
        key: &K,
        again: Again,
        now: Instant,
        backoff: impl FnOnce(u32) -> Duration,
    ) {
        let Some(entry) = self.keys.get_mut(key) else {
            return;
        };
        let Some(lane) = entry.running.take() else {
            return;
        };
        self.runs -= 1;
        let flow = key.flow();
        if let Some(runs) = self.running.get_mut(&flow) {
            *runs -= 1;
            if *runs == 0 {
                self.running.remove(&flow);
            }
        }
        entry.failures = if again == Again::Failed { entry.failures.saturating_add(1) } else { 0 };
        let later = match again {
            Again::No => None,
            Again::After(delay, lane) => Some((delay, lane)),
            Again::Failed if lane == Lane::Finish => Some((backoff(entry.failures), Lane::Drift)),
            Again::Failed => Some((backoff(entry.failures), lane)),
        };
        if self.closed {
            self.keys.remove(key);
        } else if entry.place.is_some() {
            // A run is due anyway, and will say itself when to look again.
            self.line_up(key.clone(), now);
        } else if let Some((delay, lane)) = later {
            self.add_at(key.clone(), from(now, delay), lane);
        } else if entry.is_idle() && entry.drifted.is_none() {
            self.keys.remove(key);
        }
    }
}

/// An instant that can be waited for; rules may name any duration, and a year is as good as never.
pub(super) fn from(now: Instant, delay: Duration) -> Instant {
    now + delay.min(Duration::from_hours(365 * 24))
}
