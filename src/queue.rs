//! The work queue: which key is worked on next, and when a failed one is tried again.
//!
//! In: keys to look at, now or later, and how each run of a key ended. Out: keys, one at a time.
//! Never here: what a key means; an unbounded number of anything but distinct keys.
//!
//! What is promised:
//! 1. A key is never handed out twice at once. Whoever got it says [`Queue::done`]; a key added meanwhile is handed out
//!    again after that.
//! 2. However often a key is added before it is handed out, it is handed out once.
//! 3. A run sees everything, so a wait that was set before it is void once the key is handed out; the earlier of two waits
//!    counts.
//! 4. A failed key comes back by itself, later after each failure; adding it brings it back at once and forgives nothing.
//!    Only a run that did not fail does.
//! 5. A key that is neither waiting, running nor failed takes no memory.

mod backoff;
mod lanes;

pub use backoff::{Backoff, random};
pub use lanes::Lane;

use crate::metrics::Histogram;
use lanes::{Lanes, Place};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How a run of a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Well; an event will bring it back.
    No,
    /// Well; look again after this time, in this lane.
    After(Duration, Lane),
    /// Badly; try again after the backoff, in the lane it came from. Who fails owes nothing any more, though: from
    /// [`Lane::Finish`] it comes back in [`Lane::Drift`].
    Failed,
}

/// What a queue holds, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Keys that could be handed out now.
    pub waiting: usize,
    /// Keys that are handed out.
    pub running: usize,
    /// Keys that come back later.
    pub delayed: usize,
    /// Those of them that owe something, and so come back in the lane [`Lane::Finish`].
    pub owed: usize,
    /// How long the one who waited longest has been waiting.
    pub oldest: Duration,
}

/// A queue of distinct keys with lanes, delays and retries. Share it by reference; every method takes `&self`.
pub struct Queue<K> {
    state: Mutex<State<K>>,
    wake: Notify,
    backoff: Backoff,
    random: Box<dyn Fn() -> f64 + Send + Sync>,
    /// How long keys waited in each lane, for metrics.
    waits: Arc<[Histogram; Lane::ALL.len()]>,
}

struct State<K> {
    keys: HashMap<K, Entry>,
    lanes: Lanes<K>,
    timers: BTreeMap<(Instant, u64), K>,
    tickets: u64,
    running: usize,
    closed: bool,
}

/// What is known of one key. At least one field is set, or the key is forgotten.
#[derive(Default)]
struct Entry {
    /// In line, or in line again as soon as it is done.
    place: Option<Place>,
    /// Handed out, from this lane.
    running: Option<Lane>,
    /// In line from this instant on; the number tells timers of the same instant apart.
    timer: Option<(Instant, u64, Lane)>,
    failures: u32,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self::new(Backoff::PASS, random)
    }
}

impl<K> Queue<K> {
    /// A queue whose failed keys wait as `backoff` says; `random` gives numbers between 0 and 1 ([`random`] does).
    pub fn new(backoff: Backoff, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        let state = State {
            keys: HashMap::new(),
            lanes: Lanes::new(),
            timers: BTreeMap::new(),
            tickets: 0,
            running: 0,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            wake: Notify::new(),
            backoff,
            random: Box::new(random),
            waits: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        // Nothing panics half-way through a change: the state behind a poisoned lock is sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands out nothing more, not even what waits: [`Queue::next`] returns `None` from now on.
    pub fn close(&self) {
        {
            let mut state = self.state();
            state.closed = true;
            state.forget(|_| true);
        }
        self.wake.notify_waiters();
    }

    /// Forgets such keys, as far as they wait; those that run are not added again when they are done.
    pub fn forget(&self, is_such: impl Fn(&K) -> bool) {
        self.state().forget(is_such);
    }

    /// Of each lane how many keys wait, and how long the first one has.
    pub fn lanes(&self) -> [(usize, Duration); Lane::ALL.len()] {
        let age = |since: Option<Instant>| since.map_or(Duration::ZERO, |since| since.elapsed());
        self.state().lanes.each().map(|(waiting, oldest)| (waiting, age(oldest)))
    }

    /// How long the keys waited that were handed out, by lane.
    pub fn waits(&self) -> Arc<[Histogram; Lane::ALL.len()]> {
        Arc::clone(&self.waits)
    }

    /// How much there is to do.
    pub fn depth(&self) -> Depth {
        let state = self.state();
        Depth {
            waiting: state.lanes.len(),
            running: state.running,
            delayed: state.timers.len(),
            owed: state.owed(),
            oldest: state.lanes.oldest().map_or(Duration::ZERO, |since| since.elapsed()),
        }
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// This key should be looked at now. One that waits in a less urgent lane moves up and keeps its place.
    pub fn add(&self, key: K, lane: Lane) {
        self.state().add(key, lane);
        self.wake.notify_one();
    }

    /// This key should be looked at after this time, or at the next occasion before that.
    pub fn add_after(&self, key: K, delay: Duration, lane: Lane) {
        self.state().add_at(key, from_now(delay), lane);
        self.wake.notify_one();
    }

    /// The next key, as soon as there is one; `None` once the queue is closed. Dropping the future loses no key.
    pub async fn next(&self) -> Option<K> {
        loop {
            // Made before looking, so that what is added in between wakes us.
            let woken = self.wake.notified();
            let alarm = {
                let mut state = self.state();
                if state.closed {
                    return None;
                }
                if let Some((key, lane, waited)) = state.take(Instant::now()) {
                    self.waits[lane as usize].observe(waited);
                    if state.lanes.len() > 0 || !state.timers.is_empty() {
                        // Several wake-ups may have merged into the one that brought us here, and we may have been the
                        // only one to sleep no longer than the first timer: somebody else has to look.
                        self.wake.notify_one();
                    }
                    return Some(key);
                }
                state.timers.first_key_value().map(|((at, _), _)| *at)
            };
            match alarm {
                Some(at) => tokio::select! { () = woken => {}, () = sleep_until(at) => {} },
                None => woken.await,
            }
        }
    }

    /// Ends the run of a key that [`Queue::next`] handed out; without it the key is never handed out again. Any other
    /// key is ignored.
    pub fn done(&self, key: &K, again: Again) {
        let delay = |failures| self.backoff.delay(failures, (self.random)());
        self.state().done(key, again, delay);
        self.wake.notify_one();
    }
}

impl<K> State<K> {
    fn forget(&mut self, is_such: impl Fn(&K) -> bool) {
        let (lanes, timers) = (&mut self.lanes, &mut self.timers);
        self.keys.retain(|key, entry| {
            if !is_such(key) {
                return true;
            }
            if let Some(place) = entry.place.take() {
                lanes.remove(place);
            }
            if let Some((at, ticket, _)) = entry.timer.take() {
                timers.remove(&(at, ticket));
            }
            entry.running.is_some()
        });
    }

    fn owed(&self) -> usize {
        let owes = |entry: &&Entry| matches!(entry.timer, Some((_, _, Lane::Finish)));
        self.keys.values().filter(owes).count()
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn add(&mut self, key: K, lane: Lane) {
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
                Place { lane, ticket: self.tickets, since: Instant::now() }
            }
        };
        entry.place = Some(place);
        if entry.running.is_none() {
            self.lanes.push(place, key);
        }
    }

    fn add_at(&mut self, key: K, at: Instant, mut lane: Lane) {
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
    fn take(&mut self, now: Instant) -> Option<(K, Lane, Duration)> {
        while let Some(timer) = self.timers.first_entry()
            && timer.key().0 <= now
        {
            let key = timer.remove();
            let due = self.keys.get_mut(&key).and_then(|entry| entry.timer.take());
            if let Some((_, _, lane)) = due {
                self.add(key, lane);
            }
        }
        let (lane, key) = self.lanes.pop()?;
        self.running += 1;
        let entry = self.keys.entry(key.clone()).or_default();
        let since = entry.place.take().map_or(now, |place| place.since);
        entry.running = Some(lane);
        if let Some((at, ticket, _)) = entry.timer.take() {
            self.timers.remove(&(at, ticket));
        }
        Some((key, lane, now.saturating_duration_since(since)))
    }

    fn done(&mut self, key: &K, again: Again, backoff: impl FnOnce(u32) -> Duration) {
        let Some(entry) = self.keys.get_mut(key) else {
            return;
        };
        let Some(lane) = entry.running.take() else {
            return;
        };
        self.running -= 1;
        entry.failures = if again == Again::Failed { entry.failures.saturating_add(1) } else { 0 };
        let later = match again {
            Again::No => None,
            Again::After(delay, lane) => Some((delay, lane)),
            Again::Failed if lane == Lane::Finish => Some((backoff(entry.failures), Lane::Drift)),
            Again::Failed => Some((backoff(entry.failures), lane)),
        };
        if self.closed {
            self.keys.remove(key);
        } else if let Some(place) = entry.place {
            // A run is due anyway, and will say itself when to look again.
            self.lanes.push(place, key.clone());
        } else if let Some((delay, lane)) = later {
            self.add_at(key.clone(), from_now(delay), lane);
        } else if entry.timer.is_none() {
            self.keys.remove(key);
        }
    }
}

/// An instant that can be waited for; rules may name any duration, and a year is as good as never.
fn from_now(delay: Duration) -> Instant {
    Instant::now() + delay.min(Duration::from_hours(365 * 24))
}

#[cfg(test)]
mod tests;
