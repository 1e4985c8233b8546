//! Whose turn it is to do passes, where several replicas run the same rules.
//!
//! In: that we lead now, or no longer. Out: passes for all parents, or none. Caches are kept in both cases. Never here: how
//! that is decided; whether something may be sent, which is asked at each connection ([`crate::lease`]).

use super::{Controller, lock};
use std::sync::Arc;
use std::time::Duration;

impl Controller {
    /// Begins with passes: one for every parent. What was remembered of an earlier time is forgotten, since somebody else may
    /// have written meanwhile; as after a restart, that costs no write.
    pub async fn lead(self: &Arc<Self>) {
        // Passes of an earlier turn end soon: nothing they send arrives.
        while self.queue.depth().running > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        lock(&self.memories).clear();
        self.queue.resume();
        let attached: Vec<_> = lock(&self.rules).values().cloned().collect();
        attached.iter().for_each(|attached| attached.wake_all());
    }

    /// Begins no more passes.
    pub fn follow(&self) {
        self.queue.rest();
    }
}
