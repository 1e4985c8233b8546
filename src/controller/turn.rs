//! Whose turn it is to do passes, where several replicas run the same rules.
//!
//! In: that a shard is ours now, or no longer. Out: passes for all its parents, or none. Never here: how that is decided;
//! whether something may be sent, which is asked at each connection ([`crate::lease`]).

use super::{Controller, lock};
use crate::object::ObjectId;
use crate::watch::Watch;
use futures::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long passes wait for the lists of a new shard: after that, what is not listed is not written, and all else is.
const FIRST_LISTS: Duration = Duration::from_secs(5);

impl Controller {
    /// Begins with the passes of a shard: one for each of its parents. What was remembered of an earlier time is forgotten,
    /// since somebody else may have written meanwhile; as after a restart, that costs no write.
    pub async fn lead(self: &Arc<Self>, shard: usize) {
        self.shards.watch(shard);
        let attached: Vec<_> = lock(&self.rules).values().cloned().collect();
        let mut watches: Vec<Watch> = Vec::new();
        for attached in &attached {
            watches.extend(attached.watch_children(self));
        }
        // Those that fail hold up their own children only.
        drop(timeout(FIRST_LISTS, join_all(watches.iter().map(Watch::synced))).await);
        lock(&self.memories).retain(|key, _| self.shards.of(&key.parent) != shard);
        let ours = |parent: &ObjectId| self.shards.of(parent) == shard;
        for attached in lock(&self.rules).values() {
            attached.guard_parents(self, &ours);
        }
        self.shards.begin(shard);
        // Looked at anew: a rule that was attached meanwhile had nobody to wake before this turn began.
        let attached: Vec<_> = lock(&self.rules).values().cloned().collect();
        for attached in attached {
            attached.wake_all();
        }
    }

    /// Begins no more passes of a shard.
    pub fn follow(&self, shard: usize) {
        self.shards.end(shard);
        self.queue.forget(|key| self.shards.of(&key.parent) == shard);
        lock(&self.memories).retain(|key, _| self.shards.of(&key.parent) != shard);
        let attached: Vec<_> = lock(&self.rules).values().cloned().collect();
        for attached in &attached {
            attached.guard_no_longer(|parent| self.shards.of(parent) == shard);
        }
        if self.shards.count() > 1 {
            for attached in &attached {
                attached.ignore_children(shard);
            }
        }
    }

    /// The same, and waits until the passes that have begun are over, or this time has passed.
    pub async fn let_go(&self, shard: usize, time: Duration) {
        self.follow(shard);
        let over = async {
            while self.shards.running(shard) > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        drop(timeout(time, over).await);
    }
}
