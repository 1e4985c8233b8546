//! How long to wait after failures in a row.
//!
//! In: a number of failures and a random number. Out: a duration. Never here: a clock; sleeping.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Exponential backoff: doubles from `base` to `cap`, then takes a random part between half and all of it, so that
/// what failed together does not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest wait after the first failure; the shortest is half of it.
    pub base: Duration,
    /// No wait is longer.
    pub cap: Duration,
}

impl Backoff {
    /// Of a failed pass: from 0.5 s to 5 minutes.
    pub const PASS: Self = Self { base: Duration::from_millis(500), cap: Duration::from_mins(5) };

    /// The wait after so many failures in a row; `random` is between 0 and 1.
    pub fn delay(self, failures: u32, random: f64) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        let longest = self.base.saturating_mul(factor).min(self.cap);
        longest.mul_f64(random.clamp(0.0, 1.0).midpoint(1.0))
    }
}

/// A random number from 0 to 1, good enough to spread work and for nothing else.
pub fn random() -> f64 {
    // The standard library draws fresh keys for every `RandomState`: enough chance without a crate for it.
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_never_overflow() {
        let longest = |failures| Backoff::PASS.delay(failures, 1.0).as_millis();
        let waits: Vec<u128> = (1..=5).map(longest).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000]);
        for failures in [11, 32, 33, 64, u32::MAX] {
            assert_eq!(longest(failures), 300_000, "{failures}");
        }
        assert_eq!(longest(0), 500, "no failure counts as the first");
    }

    #[test]
    fn chance_takes_at_most_half_away() {
        let backoff = Backoff { base: Duration::from_secs(1), cap: Duration::from_mins(1) };
        assert_eq!(backoff.delay(2, 0.0), Duration::from_secs(1));
        assert_eq!(backoff.delay(2, 0.5), Duration::from_millis(1500));
        assert_eq!(backoff.delay(2, 1.0), Duration::from_secs(2));
        assert_eq!(backoff.delay(2, 7.0), Duration::from_secs(2), "a bad random number is clamped");
    }

    #[test]
    fn random_numbers_are_spread_over_the_unit_interval() {
        let numbers: Vec<f64> = (0..1000).map(|_| random()).collect();
        assert!(numbers.iter().all(|n| (0.0..=1.0).contains(n)));
        for tenth in 0..10 {
            let low = f64::from(tenth) / 10.0;
            let hits = numbers.iter().filter(|n| (low..low + 0.1).contains(*n)).count();
            assert!(hits > 30, "{hits} of 1000 in the tenth from {low}");
        }
    }
}
