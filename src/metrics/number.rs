//! Numbers that many may count at once without waiting for each other.
//!
//! In: what happened. Out: what it comes to. Never here: names, labels, text.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Only rises.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Rises and falls.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// So many more; less if negative.
    pub fn add(&self, more: i64) {
        if more != 0 {
            self.0.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Exactly so many.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// How many there are.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper bounds of every histogram's buckets, in milliseconds: from a pass that finds nothing to do (tens of microseconds) to
/// a call that is given up.
const BOUNDS: [f64; 16] = [
    0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0,
    10_000.0, 30_000.0,
];

/// How long something takes.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [Counter; BOUNDS.len()],
    above: Counter,
    microseconds: AtomicU64,
}

impl Histogram {
    /// One more that took so long.
    pub fn observe(&self, took: Duration) {
        let milliseconds = took.as_secs_f64() * 1_000.0;
        let bucket = BOUNDS.iter().position(|bound| milliseconds <= *bound);
        bucket.map_or(&self.above, |bucket| &self.buckets[bucket]).count();
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// Upper bounds in seconds, each with how many were at most that; then how many there are in all.
    pub(super) fn cumulated(&self) -> (Vec<(f64, u64)>, u64) {
        let mut sum = 0;
        let each = BOUNDS.iter().zip(&self.buckets).map(|(bound, bucket)| {
            sum += bucket.get();
            (bound / 1_000.0, sum)
        });
        let each = each.collect();
        (each, sum + self.above.get())
    }

    /// Seconds of all together.
    pub(super) fn seconds(&self) -> f64 {
        Duration::from_micros(self.microseconds.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// Counters that are made when they are first needed. For what comes with a call to the API server: it is locked.
#[derive(Debug)]
pub struct Table<K>(Mutex<BTreeMap<K, u64>>);

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl<K: Ord + Clone> Table<K> {
    /// One more of these.
    pub fn count(&self, key: K) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default() += 1;
    }

    /// All that were counted, sorted.
    pub(super) fn all(&self) -> Vec<(K, u64)> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.iter().map(|(key, count)| (key.clone(), *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_each_once_and_cumulates() {
        let histogram = Histogram::default();
        for milliseconds in [0, 1, 1, 3, 40_000] {
            histogram.observe(Duration::from_millis(milliseconds));
        }
        let (buckets, all) = histogram.cumulated();
        let at = |seconds: f64| {
            buckets.iter().find(|(bound, _)| (*bound - seconds).abs() < 1e-9).map(|(_, n)| *n)
        };
        assert_eq!(
            (at(0.0001), at(0.001), at(0.005), at(30.0), all),
            (Some(1), Some(3), Some(4), Some(4), 5)
        );
        assert!((histogram.seconds() - 40.005).abs() < 1e-9);
        assert!(BOUNDS.is_sorted(), "bounds rise");
    }
}
