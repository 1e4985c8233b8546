//! The live state of a cluster, read once: what `plan` and `explain` judge.
//!
//! In: rules, a client. Out: for each rule the same caches that the controller has, from lists that nobody follows. What
//! cannot be read is a [`Lack`]. Never here: a write; a watch; what the objects mean.

mod lack;
mod read;

pub use lack::Lack;
pub use read::{Request, read};

use crate::cluster::Cluster;
use crate::fetch::{ChildCache, Live};
use crate::input::{self, InputCaches, Inputs};
use crate::object::{GroupKind, Gvk, ObjectId};
use crate::refusal::{Class, Refusal};
use crate::rule::Rule;
use crate::scope::Scopes;
use crate::status::Shape;
use crate::store::Stored;
use futures::StreamExt;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Objects that are asked for at once.
const READS_AT_ONCE: usize = 8;

/// What was read for all rules.
pub struct Snapshot {
    /// One for each rule.
    pub rules: Vec<RuleState>,
    /// What could not be read.
    pub lacks: Vec<Lack>,
}

/// What was read for one rule.
pub struct RuleState {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Its parents, as far as kind and namespaces say.
    pub parents: Vec<Arc<Stored>>,
    /// The caches of the kinds that it creates.
    pub children: Vec<ChildCache>,
    /// Where the objects are found that it edits without owning them.
    pub targets: Arc<[ChildCache]>,
    /// Which kinds live in a namespace.
    pub scopes: Arc<Scopes>,
    inputs: InputCaches,
    shapes: BTreeMap<GroupKind, Shape>,
}

impl RuleState {
    /// Of these objects and no others, where there is no cluster.
    pub fn among(
        rule: &Arc<Rule>,
        objects: &[Value],
        scopes: &Scopes,
        shapes: BTreeMap<GroupKind, Shape>,
    ) -> Self {
        let of = |gvk: &Gvk| input::holding(gvk, objects, scopes);
        let parents = rule.parent.kinds.iter().flat_map(|gvk| of(gvk).store.all());
        let is_parent =
            |stored: &Arc<Stored>| stored.parse().is_ok_and(|object| rule.is_for(&object));
        Self {
            parents: parents.filter(is_parent).collect(),
            children: rule.kinds().collect::<BTreeSet<_>>().into_iter().map(of).collect(),
            targets: input::targets_among(rule, objects, scopes),
            scopes: Arc::new(scopes.clone()),
            inputs: InputCaches::of_objects(rule, objects, scopes),
            shapes,
            rule: Arc::clone(rule),
        }
    }

    /// The objects that the rule reads for a parent.
    pub fn inputs_of(&self, parent: &Arc<Stored>) -> Arc<Inputs> {
        let parent = Live::new(Arc::clone(parent));
        Arc::new(input::find(&self.rule, &parent, &self.inputs, &self.scopes).0)
    }

    /// What the status of a kind of parents can hold, if that is known.
    pub fn shape(&self, kind: &GroupKind) -> Option<&Shape> {
        self.shapes.get(kind)
    }
}

/// What a read of one object gave: it, nothing, or why nobody can know.
pub type Found = BTreeMap<ObjectId, Result<Option<Arc<Stored>>, String>>;

/// Asks for objects that the lists do not show: they may be there without being ours.
pub async fn look_up(cluster: &Cluster, asked: &BTreeSet<(Gvk, ObjectId)>) -> Found {
    let one = |(gvk, id): (Gvk, ObjectId)| async move {
        let found = match cluster.read(&gvk, &id).await {
            Ok(stored) => Ok(Some(stored)),
            Err(Refusal { class: Class::NotFound | Class::Unavailable, .. }) => Ok(None),
            Err(Refusal { class: Class::Forbidden, message }) => Err(format!(
                "whether {id} exists cannot be known, the right to get it is missing: {message}"
            )),
            Err(refusal) => Err(format!("whether {id} exists cannot be known: {refusal}")),
        };
        (id, found)
    };
    let asked: Vec<_> = asked.iter().cloned().map(one).collect();
    futures::stream::iter(asked).buffer_unordered(READS_AT_ONCE).collect().await
}
