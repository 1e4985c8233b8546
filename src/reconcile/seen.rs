//! What a pass saw that found everything in order: as long as that is the same, another pass would find the same.
//!
//! In: what a pass reads. Out: whether it is what the last one read. Only passes are remembered that nothing but their parent, their
//! children and their rule decides: no inputs, no edits, no time. Never here: a comparison of contents; a cache replaces an object
//! only by another one.

use crate::fetch::Observed;
use crate::rule::Rule;
use crate::scope::Scopes;
use crate::status::Shape;
use crate::store::Stored;
use std::sync::Arc;

/// What a pass saw. It holds the objects, so that no other can take their place in memory.
pub struct Seen {
    around: [usize; 4],
    parent: Arc<Stored>,
    children: Box<[Arc<Stored>]>,
}

/// What there is besides objects. Whoever replaces one of these makes the new one while the old one lives, so that they differ in
/// where they are.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// What the status can hold.
    pub shape: Option<&'a Shape>,
    /// Which kinds live in a namespace.
    pub scopes: &'a Scopes,
    /// How often a missing right came.
    pub came: u64,
}

impl Around<'_> {
    fn identity(&self) -> [usize; 4] {
        let shape = self.shape.map_or(0, |shape| std::ptr::from_ref(shape).addr());
        let came = usize::try_from(self.came).unwrap_or(usize::MAX);
        [std::ptr::from_ref(self.rule).addr(), shape, std::ptr::from_ref(self.scopes).addr(), came]
    }
}

impl Seen {
    /// Remembers a pass; nothing if something else decides what it does.
    pub fn of(around: Around<'_>, observed: &Observed) -> Option<Self> {
        let rule = around.rule;
        let more = rule.reads_inputs() || rule.resync.is_some() || !observed.targets.is_empty();
        if more || !observed.lost.is_empty() || !observed.edited.is_empty() {
            return None;
        }
        let children = observed.children.values().map(|live| Arc::clone(&live.stored)).collect();
        let parent = Arc::clone(&observed.parent.stored);
        Some(Self { around: around.identity(), parent, children })
    }

    /// Whether another pass would see the same.
    pub fn is_same(&self, around: Around<'_>, observed: &Observed) -> bool {
        let children = observed.children.values().map(|live| &live.stored);
        self.around == around.identity()
            && Arc::ptr_eq(&self.parent, &observed.parent.stored)
            && observed.lost.is_empty()
            && self.children.len() == observed.children.len()
            && self.children.iter().zip(children).all(|(seen, now)| Arc::ptr_eq(seen, now))
    }
}
