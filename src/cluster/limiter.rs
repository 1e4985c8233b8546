//! Who may send a request, and who waits.
//!
//! In: whoever wants to send one: for which rule, how urgently, about which kind. Out: permits, in the order of the work queue:
//! by lanes, and in each lane rules and kinds in turn. A kind whose requests hang never has all of them. Never here: requests.

use super::limit::{Limit, Load};
use crate::object::GroupKind;
use crate::queue::{Lane, Lanes, Place, may_have_more};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

/// For whom a request is sent.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The rule; none for what is no rule's.
    pub rule: Arc<str>,
    /// How urgent it is.
    pub lane: Lane,
}

impl Default for Turn {
    fn default() -> Self {
        Self { rule: "".into(), lane: Lane::Edit }
    }
}

/// Who waits in one line: the kind is that of the objects.
type Flow = (Arc<str>, GroupKind);

/// Limits what is under way at one API server. All who write share it.
pub struct Limiter {
    state: Mutex<State>,
    /// There is a pause that was not there.
    paused: Notify,
}

struct State {
    limit: Limit,
    under_way: usize,
    /// Of each kind that has any.
    by_kind: BTreeMap<GroupKind, usize>,
    lanes: Lanes<Flow, u64>,
    waiting: HashMap<u64, (Place, oneshot::Sender<u64>)>,
    tickets: u64,
}

/// The right to send one request, or a place in line; it ends when it is dropped.
pub(crate) struct Permit {
    limiter: Arc<Limiter>,
    kind: GroupKind,
    ticket: u64,
    round: u64,
}

impl Default for Limiter {
    fn default() -> Self {
        let state = State {
            limit: Limit::new(),
            under_way: 0,
            by_kind: BTreeMap::new(),
            lanes: Lanes::new(),
            waiting: HashMap::new(),
            tickets: 0,
        };
        Self { state: Mutex::new(state), paused: Notify::new() }
    }
}

impl Limiter {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics half-way through a change: the state behind a poisoned lock is sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that are under way, and how many may be.
    pub fn in_flight(&self) -> (usize, usize) {
        let state = self.state();
        (state.under_way, state.limit.most())
    }

    /// Waits until one more request may be sent. Dropping the future leaves the line.
    pub(crate) async fn permit(self: &Arc<Self>, turn: &Turn, kind: GroupKind) -> Permit {
        let (sender, mut granted) = oneshot::channel();
        let mut permit = {
            let mut state = self.state();
            state.tickets += 1;
            let ticket = state.tickets;
            let place = Place { lane: turn.lane, ticket, since: Instant::now() };
            state.lanes.push(place, (Arc::clone(&turn.rule), kind.clone()), ticket);
            state.waiting.insert(ticket, (place, sender));
            state.grant();
            Permit { limiter: Arc::clone(self), kind, ticket, round: 0 }
        };
        loop {
            let paused = self.paused.notified();
            let end = self.state().limit.pause(Instant::now());
            let resumed = async {
                match end {
                    Some(end) => sleep_until(end).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                round = &mut granted => {
                    // The sender is dropped only by whoever uses it, or with us.
                    permit.round = round.unwrap_or_default();
                    return permit;
                }
                () = paused => {}
                () = resumed => self.state().grant(),
            }
        }
    }
}

impl State {
    /// Gives as many permits as there may be.
    fn grant(&mut self) {
        let now = Instant::now();
        if self.limit.pause(now).is_some() {
            return;
        }
        loop {
            let left = self.limit.most().saturating_sub(self.under_way);
            let by_kind = &self.by_kind;
            let may = |(_, kind): &Flow| {
                may_have_more(by_kind.get(kind).copied().unwrap_or_default(), left)
            };
            let Some((_, (_, kind), ticket)) = self.lanes.pop(now, may) else { return };
            let Some((_, granted)) = self.waiting.remove(&ticket) else { continue };
            self.under_way += 1;
            *self.by_kind.entry(kind).or_default() += 1;
            // Whoever does not want it any more gives it back when it notices.
            let _ = granted.send(self.limit.round());
        }
    }
}

impl Permit {
    /// What the answer says about the server.
    pub(super) fn answered(&self, load: Load) {
        let mut state = self.limiter.state();
        let full = !state.waiting.is_empty();
        if state.limit.answered(self.round, load, full, Instant::now()) {
            drop(state);
            self.limiter.paused.notify_waiters();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        if let Some((place, _)) = state.waiting.remove(&self.ticket) {
            state.lanes.remove(place);
            return;
        }
        state.under_way -= 1;
        if let Some(count) = state.by_kind.get_mut(&self.kind) {
            *count -= 1;
            if *count == 0 {
                state.by_kind.remove(&self.kind);
            }
        }
        state.grant();
    }
}

#[cfg(test)]
mod tests;
