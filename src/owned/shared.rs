//! Equal sets of owned fields are kept once: what the children of one rule own is nearly always the same.
//!
//! In: a [`FieldSet`]. Out: one that is shared with all equal ones in use. Never here: a set that nobody else holds.

use super::fields::FieldSet;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The sets in use, by their hash. Of two different ones with the same hash only the newer is shared.
#[derive(Default)]
struct Known {
    sets: HashMap<u64, Weak<FieldSet>>,
    hasher: RandomState,
    /// Those that nobody uses any more are thrown away when there are so many.
    swept_at: usize,
}

const FIRST_SWEEP: usize = 64;

/// The one of all sets that are equal to this one.
pub(crate) fn shared(fields: FieldSet) -> Arc<FieldSet> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.shared(fields)
}

impl Known {
    fn shared(&mut self, fields: FieldSet) -> Arc<FieldSet> {
        let hash = self.hasher.hash_one(&fields);
        let there = self.sets.get(&hash).and_then(Weak::upgrade);
        if let Some(there) = there.filter(|there| **there == fields) {
            return there;
        }
        if self.sets.len() >= self.swept_at.max(FIRST_SWEEP) {
            self.sets.retain(|_, set| set.strong_count() > 0);
            self.swept_at = 2 * self.sets.len();
        }
        let fields = Arc::new(fields);
        self.sets.insert(hash, Arc::downgrade(&fields));
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    fn fields(name: &str) -> FieldSet {
        FieldSet::deserialize(json!({"f:spec": {name: {}}})).unwrap()
    }

    #[test]
    fn equal_sets_are_one_and_others_are_not() {
        let mut known = Known::default();
        let one = known.shared(fields("f:a"));
        assert!(Arc::ptr_eq(&one, &known.shared(fields("f:a"))));
        assert_ne!(one, known.shared(fields("f:b")));
    }

    #[test]
    fn what_nobody_uses_is_forgotten() {
        let mut known = Known::default();
        let kept = known.shared(fields("f:kept"));
        for n in 0..10_000 {
            drop(known.shared(fields(&format!("f:{n}"))));
            assert!(known.sets.len() <= FIRST_SWEEP);
        }
        assert!(Arc::ptr_eq(&kept, &known.shared(fields("f:kept"))));
    }
}
