//! Takes away what parents left behind that went without being taken apart: somebody took our finalizer off, or they went while
//! nobody looked.
//!
//! In: a parent of a rule that no cache has. Out: its children that garbage collection does not reach are gone, and its edits of
//! other objects are taken back, once it has been missing for a while and the API server says that it does not exist. Never here:
//! a deletion while so many parents seem to be gone that the mistake is more likely ours; a child with an owner reference.

use super::attach::Attached;
use super::sight::Sight;
use super::{Controller, Key, lock};
use crate::fetch::{ChildCache, edited_by, free_children};
use crate::object::{Gvk, ObjectId};
use crate::queue::Lane;
use crate::reconcile::{self, Memory, Next};
use crate::refusal::{Class, Refusal};
use crate::rule::Rule;
use crate::store::{Format, Store, Stored};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;

/// So many parents of a rule may be gone at once whatever their number…
const FEW: usize = 5;

/// …and one of so many.
const ONE_OF: usize = 10;

/// Parents that no cache has and that left something behind.
#[derive(Default)]
pub(super) struct Vanished(Mutex<BTreeMap<Key, Ghost>>);

/// What is known of one of them.
struct Ghost {
    /// When it was missed, or looked for in vain, first.
    since: Instant,
    state: State,
    /// Whether it was said that nothing is done about it.
    told: bool,
    memory: Memory,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is missed.
    Missed,
    /// It exists: the rule does not look where it is.
    Elsewhere,
    /// It is gone, and what it left behind is being taken away.
    Gone,
}

impl Vanished {
    /// The parent is there, or nothing is left of it.
    pub(super) fn forget(&self, key: &Key) {
        lock(&self.0).remove(key);
    }

    /// Nothing is known any more of parents of rules that are not among these.
    pub(super) fn retain(&self, rules: &[&Arc<str>]) {
        lock(&self.0).retain(|key, _| rules.contains(&&key.rule));
    }

    /// Of how many parents something is known.
    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// For how long a parent is missed, and how it stands.
    fn miss(&self, key: &Key) -> (Duration, State) {
        let mut ghosts = lock(&self.0);
        let ghost = ghosts.entry(key.clone()).or_insert_with(|| Ghost {
            since: Instant::now(),
            state: State::Missed,
            told: false,
            memory: Memory::default(),
        });
        (ghost.since.elapsed(), ghost.state)
    }

    fn is(&self, key: &Key, state: State) {
        if let Some(ghost) = lock(&self.0).get_mut(key) {
            *ghost = Ghost { since: Instant::now(), state, told: false, memory: Memory::default() };
        }
    }

    /// Parents of a rule that are missed, and of which nothing was taken away yet.
    fn missed(&self, rule: &str) -> usize {
        let ghosts = lock(&self.0);
        ghosts.iter().filter(|(key, g)| *key.rule == *rule && g.state == State::Missed).count()
    }

    /// Whether this is the first time that it is said.
    fn say(&self, key: &Key) -> bool {
        lock(&self.0).get_mut(key).is_some_and(|ghost| !std::mem::replace(&mut ghost.told, true))
    }

    fn memory(&self, key: &Key) -> Memory {
        let mut ghosts = lock(&self.0);
        ghosts.get_mut(key).map(|ghost| std::mem::take(&mut ghost.memory)).unwrap_or_default()
    }

    fn remember(&self, key: &Key, memory: Memory) {
        if let Some(ghost) = lock(&self.0).get_mut(key) {
            ghost.memory = memory;
        }
    }
}

/// Looks at a parent that no cache has.
pub(super) async fn look(controller: &Controller, attached: &Attached, key: &Key) -> Next {
    let vanished = &controller.vanished;
    let is = |gvk: &&Gvk| gvk.group_kind() == *key.parent.kind;
    let Some(gvk) = attached.rule.parent.kinds.iter().find(is) else { return Next::default() };
    if !left_something(attached, &key.parent) {
        vanished.forget(key);
        return Next::default();
    }
    let grace = controller.options.vanished_after;
    let (missed, state) = vanished.miss(key);
    let rest = grace.saturating_sub(missed);
    match state {
        State::Missed if !rest.is_zero() => return Next::after(rest, Lane::Drift),
        State::Elsewhere if !rest.is_zero() => return Next::default(),
        _ => {}
    }
    match controller.cluster.read(gvk, &key.parent).await {
        Err(Refusal { class: Class::NotFound, .. }) => {}
        Err(refusal) => {
            tracing::debug!(rule = %key.rule, parent = %key.parent, error = %refusal, "a missing parent cannot be looked for");
            return Next::FAILED;
        }
        Ok(_) => {
            vanished.is(key, State::Elsewhere);
            return Next::default();
        }
    }
    if state != State::Gone {
        let missed = vanished.missed(&key.rule);
        if missed > budget(attached.each_parent().len() + missed) {
            if vanished.say(key) {
                tracing::warn!(
                    rule = %key.rule, parent = %key.parent, missed,
                    "the parent is gone, but so many are that nothing of what they left behind is deleted; \
                     if that is right, delete it by its labels kubewright.io/rule and kubewright.io/parent"
                );
            }
            return Next::after(grace, Lane::Bulk);
        }
        tracing::info!(rule = %key.rule, parent = %key.parent, "the parent is gone: what it left behind goes too");
        vanished.is(key, State::Gone);
    }
    let next = clear(controller, attached, key, gvk).await;
    if next == Next::default() && !left_something(attached, &key.parent) {
        vanished.forget(key);
    }
    next
}

/// How many parents may be gone at once.
fn budget(parents: usize) -> usize {
    FEW.max(parents / ONE_OF)
}

/// One step of taking a parent apart that does not exist any more.
async fn clear(controller: &Controller, attached: &Attached, key: &Key, gvk: &Gvk) -> Next {
    let Some(parent) = stand_in(gvk, &key.parent) else { return Next::default() };
    let nowhere = Arc::new(Store::new(gvk, false, None));
    let sight = Sight::to_take_apart(controller, attached, (nowhere, Arc::new(parent)));
    let scene = sight.scene(controller, attached, &|_| false);
    let mut memory = controller.vanished.memory(key);
    let next = reconcile::clear(&scene, &mut memory).await;
    controller.vanished.remember(key, memory);
    next
}

/// What stands for a parent that does not exist. No owner reference has its uid.
fn stand_in(gvk: &Gvk, parent: &ObjectId) -> Option<Stored> {
    let metadata = json!({"name": &*parent.name, "namespace": &*parent.namespace, "uid": "gone",
        "resourceVersion": "0"});
    Format::new(gvk, false).read(&json!({ "metadata": metadata }).to_string()).ok()
}

/// Whether a parent has children without an owner reference, or edits of other objects.
fn left_something(attached: &Attached, parent: &ObjectId) -> bool {
    let rule: &Rule = &attached.rule;
    let (children, targets) = (attached.all_children(), attached.targets());
    let any = |caches: &[ChildCache], of: &dyn Fn(&Store) -> bool| {
        caches.iter().any(|cache| of(&cache.store))
    };
    any(&children, &|store| free_children(store, &rule.identity, parent).next().is_some())
        || any(&targets, &|store| edited_by(store, &rule.identity, parent))
}

/// Parents that children and edits of a rule name and that no cache has.
pub(super) fn named_only(attached: &Attached) -> BTreeSet<ObjectId> {
    let there: BTreeSet<ObjectId> = attached.each_parent().into_iter().collect();
    let (children, targets) = (attached.all_children(), attached.targets());
    let caches = children.iter().chain(targets.iter());
    let named =
        caches.flat_map(|cache| crate::fetch::parents_named(&cache.store, &attached.rule.identity));
    named.filter(|parent| !there.contains(parent)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_parents_may_be_gone_and_a_tenth_of_many() {
        for (parents, expected) in [(0, 5), (1, 5), (50, 5), (60, 6), (10_000, 1000)] {
            assert_eq!(budget(parents), expected, "{parents}");
        }
    }

    #[test]
    fn a_parent_is_missed_from_the_first_time_on_until_it_is_there() {
        let parent = crate::marks::parse_id("WebApp.demo.kubewright.io shop/web").unwrap();
        let key = Key { rule: "webapp".into(), parent };
        let vanished = Vanished::default();
        let (first, state) = vanished.miss(&key);
        assert!(state == State::Missed && vanished.miss(&key).0 >= first);
        assert_eq!((vanished.missed("webapp"), vanished.missed("other")), (1, 0));
        assert!(vanished.say(&key) && !vanished.say(&key), "it is said once");
        vanished.is(&key, State::Elsewhere);
        assert_eq!(vanished.missed("webapp"), 0, "who exists is not missed");
        vanished.forget(&key);
        assert!(vanished.miss(&key).1 == State::Missed);
        vanished.retain(&[]);
        assert_eq!(vanished.missed("webapp"), 0);
    }
}
