//! Whether we may write now, and until when.
//!
//! In: the lease, as far as it is ours. Out: yes or no, by the clock that goes on while this process is stopped or the machine
//! sleeps. A time in which we may write without a break is a *term*; what began in one never goes on in the next.
//! Never here: requests.

use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Time since the machine started, its sleep included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// Now.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let (seconds, rest) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
        Self(Duration::new(seconds.unwrap_or_default(), rest.unwrap_or_default()))
    }

    /// After this time.
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// How long until another moment; nothing if it has passed.
    pub fn until(self, other: Self) -> Duration {
        other.0.saturating_sub(self.0)
    }

    fn nanoseconds(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }

    #[cfg(test)]
    pub(super) fn at(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

/// Which time of leading; 0 is none.
pub type Term = u64;

/// Says whether we may write.
#[derive(Debug)]
pub struct Gate {
    /// The term that runs, or 0.
    term: watch::Sender<Term>,
    last: AtomicU64,
    /// Until when, in nanoseconds of [`Moment`].
    until: AtomicU64,
}

impl Gate {
    /// Nothing may be written yet.
    pub fn closed() -> Arc<Self> {
        let (term, _) = watch::channel(0);
        Arc::new(Self { term, last: AtomicU64::new(0), until: AtomicU64::new(0) })
    }

    /// A new term begins. It ends by itself at this moment, unless it is extended.
    pub fn open(&self, until: Moment) {
        self.until.store(until.nanoseconds(), Ordering::SeqCst);
        let term = self.last.fetch_add(1, Ordering::SeqCst) + 1;
        self.term.send_replace(term);
    }

    /// The term that runs goes on until this moment. One that is over stays over, even if nobody has noticed yet.
    pub fn extend(&self, until: Moment) {
        if self.term().is_some() {
            self.until.fetch_max(until.nanoseconds(), Ordering::SeqCst);
        }
    }

    /// The term is over. Whoever waits in [`Gate::ended`] hears of it.
    pub fn close(&self) {
        self.until.store(0, Ordering::SeqCst);
        self.term.send_replace(0);
    }

    /// The term in which something may be written now, if any.
    pub fn term(&self) -> Option<Term> {
        let term = *self.term.borrow();
        self.permits(term).then_some(term)
    }

    /// Whether something that began in this term may go on.
    pub fn permits(&self, term: Term) -> bool {
        term != 0
            && *self.term.borrow() == term
            && Moment::now().nanoseconds() < self.until.load(Ordering::SeqCst)
    }

    /// Waits until this term is over and somebody has noticed.
    pub fn ended(&self, term: Term) -> impl Future<Output = ()> + Send + 'static {
        let mut terms = self.term.subscribe();
        // The end of the gate is the end of its terms.
        async move { drop(terms.wait_for(|now| *now != term).await) }
    }

    /// Hears of every beginning and end: the term, or 0.
    pub fn terms(&self) -> watch::Receiver<Term> {
        self.term.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    const LONG: Duration = Duration::from_mins(10);

    #[test]
    fn a_term_ends_when_it_is_closed_and_never_comes_back() {
        let gate = Gate::closed();
        assert_eq!(gate.term(), None);
        gate.open(Moment::now().after(LONG));
        let first = gate.term().expect("a term");
        let ended = gate.ended(first);
        gate.close();
        assert!(!gate.permits(first) && ended.now_or_never().is_some());
        gate.open(Moment::now().after(LONG));
        assert!(!gate.permits(first), "of an older term");
        assert!(gate.term().is_some_and(|second| second != first));
    }

    #[test]
    fn a_term_ends_by_itself_and_an_extension_that_comes_too_late_does_not_bring_it_back() {
        let gate = Gate::closed();
        gate.open(Moment::now().after(Duration::from_millis(5)));
        let term = gate.term().expect("a term");
        gate.extend(Moment::now().after(Duration::from_millis(20)));
        std::thread::sleep(Duration::from_millis(30));
        assert!(!gate.permits(term));
        gate.extend(Moment::now().after(LONG));
        assert!(!gate.permits(term) && gate.term().is_none());
    }
}
