//! What the elections of one process know of each other: who holds which shard, so that all replicas hold about as many.
//!
//! In: holders as they are seen. Out: whether a shard is to be wished for, or given to whoever wishes for it. Never here:
//! requests; time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The elections of all shards in one process.
#[derive(Debug)]
pub struct Company {
    identity: String,
    /// Who holds each shard, as far as that is believed.
    holders: Mutex<Vec<Option<String>>>,
}

impl Company {
    /// Of so many shards.
    pub fn new(identity: &str, shards: usize) -> Self {
        Self { identity: identity.to_owned(), holders: Mutex::new(vec![None; shards]) }
    }

    /// Who we are.
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> usize {
        self.holders().len()
    }

    /// Who holds a shard now, if anybody.
    pub(super) fn saw(&self, shard: usize, holder: Option<&str>) {
        if let Some(known) = self.holders().get_mut(shard) {
            *known = holder.map(str::to_owned);
        }
    }

    /// How many shards are ours.
    pub(super) fn ours(&self) -> u32 {
        held(&self.holders(), &self.identity)
    }

    /// Whether somebody holds this shard who has two more than we have. Of several shards that could be wished for it is one:
    /// the first of whoever holds most.
    pub(super) fn wishes(&self, shard: usize) -> bool {
        let holders = self.holders();
        let others = holders.iter().flatten().filter(|holder| **holder != self.identity);
        let most = others.map(|holder| (held(&holders, holder), holder)).max();
        most.is_some_and(|(count, holder)| {
            let first = holders.iter().position(|other| other.as_ref() == Some(holder));
            count >= held(&holders, &self.identity) + 2 && first == Some(shard)
        })
    }

    /// Whether we hold so many that one is given to whoever wishes for it.
    pub(super) fn gives(&self, wisher: &str) -> bool {
        let holders = self.holders();
        wisher != self.identity && held(&holders, &self.identity) >= held(&holders, wisher) + 2
    }

    fn holders(&self) -> MutexGuard<'_, Vec<Option<String>>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn held(holders: &[Option<String>], who: &str) -> u32 {
    let count = holders.iter().flatten().filter(|holder| *holder == who).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn company(us: &str, holders: &[&str]) -> Company {
        let company = Company::new(us, holders.len());
        for (shard, holder) in holders.iter().enumerate() {
            company.saw(shard, Some(holder).filter(|holder| !holder.is_empty()).copied());
        }
        company
    }

    fn wished(us: &str, holders: &[&str]) -> Vec<usize> {
        let company = company(us, holders);
        (0..holders.len()).filter(|shard| company.wishes(*shard)).collect()
    }

    #[test]
    fn who_has_two_less_than_another_wishes_for_one() {
        assert_eq!(wished("c", &["a", "b", "a"]), [0]);
        assert_eq!(wished("c", &["a", "b", "b", "b", "a"]), [1], "of whoever holds most");
        assert_eq!(wished("c", &["a", "b", "c"]), [0; 0]);
        assert_eq!(wished("c", &["a", "b", "a", "c"]), [0; 0], "one less is fair");
        assert_eq!(wished("c", &["", "a", ""]), [0; 0], "there are free ones");
    }

    #[test]
    fn a_shard_is_given_only_to_who_has_two_less() {
        let holders = ["a", "b", "a"];
        assert!(company("a", &holders).gives("c") && !company("a", &holders).gives("b"));
        assert!(!company("b", &holders).gives("c") && !company("a", &holders).gives("a"));
    }

    /// Replicas that come one after the other, and one that goes: all end with about as many, and it ends.
    #[test]
    fn wishes_end_in_a_fair_share() {
        for shards in 1..=16_usize {
            let mut holders = vec!["a"; shards];
            let mut moves = 0;
            let others = ["b", "c", "d"];
            while let Some((who, shard)) =
                others.iter().find_map(|who| Some((*who, *wished(who, &holders).first()?)))
            {
                assert!(
                    company(holders[shard], &holders).gives(who),
                    "{holders:?}: {who} wishes for {shard}"
                );
                holders[shard] = who;
                moves += 1;
                assert!(moves <= 3 * shards, "it ends: {holders:?}");
            }
            let counts =
                ["a", "b", "c", "d"].map(|who| holders.iter().filter(|h| **h == who).count());
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{counts:?}");
        }
    }
}
