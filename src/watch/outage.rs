//! The end of an outage: when the API server answers again after it had not for a while.
//!
//! In: how each call went. Out: a wake-up for whoever waits for the end. Without it what failed in an outage would come back
//! only after its backoff, which may have grown to minutes meanwhile. Never here: requests; what is done then.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Whatever failed for a shorter time than this comes back within seconds by itself.
const LONG: Duration = Duration::from_secs(10);

/// Watches every answer.
#[derive(Debug, Default)]
pub struct Outage {
    /// Since when the server was not reached.
    since: Mutex<Option<Instant>>,
    over: Notify,
}

impl Outage {
    /// A request ended: with an answer of the server, whatever that says, or without one. A server that answers with errors is
    /// there: what fails then may be a part of it, and goes on failing.
    pub fn note(&self, answers: bool) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if !answers {
            since.get_or_insert_with(Instant::now);
        } else if since.take().is_some_and(|since| since.elapsed() >= LONG) {
            self.over.notify_one();
        }
    }

    /// Waits for the end of an outage. An end that came before is not missed; several are one.
    pub async fn over(&self) {
        self.over.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test(start_paused = true)]
    async fn only_the_end_of_a_long_row_of_failures_is_told_and_once() {
        let outage = Outage::default();
        let told = || outage.over().now_or_never().is_some();
        let pass = |seconds| tokio::time::advance(Duration::from_secs(seconds));
        outage.note(true);
        assert!(!told(), "nothing was wrong");
        outage.note(false);
        pass(9).await;
        outage.note(false);
        outage.note(true);
        assert!(!told(), "a short one");
        outage.note(false);
        pass(60).await;
        assert!(!told(), "it goes on");
        outage.note(false);
        outage.note(true);
        outage.note(true);
        assert!(told() && !told());
        outage.note(false);
        pass(5).await;
        outage.note(true);
        outage.note(false);
        pass(6).await;
        outage.note(true);
        assert!(!told(), "an answer in between");
    }
}
