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
//! 5. A key that is neither waiting, running nor failed takes no memory, but for the moment after a run in which it rests.
//! 6. Lanes share the runs, and flows (rules) share each lane, so that neither many keys of one flow nor one that comes again and
//!    again hold up another flow. Of four runs one goes to who has waited longest, if that is more than half a minute.
//! 7. However long its runs take, a flow never has all of them: who comes next finds one.
//! 8. Changes that follow closely on one that was looked at are looked at together, a quarter of a second after it.

mod backoff;
mod lanes;
mod state;

pub use backoff::{Backoff, random};
pub use lanes::Lane;
pub(crate) use lanes::{Lanes, Place};
pub(crate) use state::may_have_more;

use crate::metrics::Histogram;
use state::{State, from};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// What can be queued.
pub trait Keyed: Clone + Eq + Hash {
    /// Who shares the queue: each gets its turn.
    type Flow: Clone + Ord;

    /// Whose key it is.
    fn flow(&self) -> Self::Flow;
}

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
    /// Those of them that owe something, and so come back in the lane [`Lane::Finish`], or that only rest.
    pub owed: usize,
    /// How long the one who waited longest has been waiting.
    pub oldest: Duration,
}

/// A queue of distinct keys with lanes, delays and retries. Share it by reference; every method takes `&self`.
pub struct Queue<K: Keyed> {
    state: Mutex<State<K>>,
    wake: Notify,
    backoff: Backoff,
    random: Box<dyn Fn() -> f64 + Send + Sync>,
    /// How long keys waited in each lane, for metrics.
    waits: Arc<[Histogram; Lane::ALL.len()]>,
}

impl<K: Keyed> Default for Queue<K> {
    fn default() -> Self {
        Self::new(Backoff::PASS, random)
    }
}

impl<K: Keyed> Queue<K> {
    /// A queue whose failed keys wait as `backoff` says; `random` gives numbers between 0 and 1 ([`random`] does).
    pub fn new(backoff: Backoff, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::new(State::new(usize::MAX)),
            wake: Notify::new(),
            backoff,
            random: Box::new(random),
            waits: Arc::default(),
        }
    }

    /// The same for at most so many runs at once, which flows share.
    #[must_use]
    pub fn shared_by(self, runs: usize) -> Self {
        *self.state() = State::new(runs);
        self
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
        self.state().lanes().map(|(waiting, oldest)| (waiting, age(oldest)))
    }

    /// How long the keys waited that were handed out, by lane.
    pub fn waits(&self) -> Arc<[Histogram; Lane::ALL.len()]> {
        Arc::clone(&self.waits)
    }

    /// How much there is to do.
    pub fn depth(&self) -> Depth {
        self.state().depth()
    }

    /// This key should be looked at now. One that waits in a less urgent lane moves up and keeps its place.
    pub fn add(&self, key: K, lane: Lane) {
        self.state().add(key, lane, Instant::now());
        self.wake.notify_one();
    }

    /// This key should be looked at after this time, or at the next occasion before that.
    pub fn add_after(&self, key: K, delay: Duration, lane: Lane) {
        self.state().add_at(key, from(Instant::now(), delay), lane);
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
                    if state.has_more() {
                        // Several wake-ups may have merged into the one that brought us here, and we may have been the
                        // only one to sleep no longer than the first timer: somebody else has to look.
                        self.wake.notify_one();
                    }
                    return Some(key);
                }
                state.alarm()
            };
            match alarm {
                Some(at) => tokio::select! { () = woken => {}, () = sleep_until(at) => {} },
                None => woken.await,
            }
        }
    }

    /// From which lane a key was handed out that runs.
    pub fn lane_of(&self, key: &K) -> Option<Lane> {
        self.state().lane_of(key)
    }

    /// Ends the run of a key that [`Queue::next`] handed out; without it the key is never handed out again. Any other
    /// key is ignored.
    pub fn done(&self, key: &K, again: Again) {
        let delay = |failures| self.backoff.delay(failures, (self.random)());
        self.state().done(key, again, Instant::now(), delay);
        self.wake.notify_one();
    }
}

#[cfg(test)]
mod tests;
