//! What one pass sees: the caches of its rule at one moment.
//!
//! In: a rule that is attached, a parent. Out: a [`Scene`]. Never here: a decision.

use super::Controller;
use super::attach::Attached;
use crate::fetch::ChildCache;
use crate::input::Inputs;
use crate::object::ObjectId;
use crate::reconcile::Scene;
use crate::scope::Scopes;
use crate::status::Shape;
use crate::store::{Store, Stored};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What one pass sees.
pub(super) struct Sight {
    pub(super) parent: Arc<Stored>,
    parents: Arc<Store>,
    children: Vec<ChildCache>,
    inputs: Arc<Inputs>,
    targets: Arc<[ChildCache]>,
    scopes: Arc<Scopes>,
    shape: Option<Arc<Shape>>,
}

impl Sight {
    /// Of a parent; nothing if it is gone. The parent is registered for what it reads.
    pub(super) fn of(controller: &Controller, attached: &Attached, id: &ObjectId) -> Option<Self> {
        let (parents, parent) = attached.parent(id)?;
        let children = attached.children(controller.shards.of(id));
        let scopes = attached.scopes();
        let inputs = attached.inputs_of(&parent, &scopes);
        let (targets, shape) = (attached.targets(), attached.shape(&id.kind));
        Some(Self { parent, parents, children, inputs, targets, scopes, shape })
    }

    /// Of a parent that is only taken apart: nothing is rendered, and no status is written.
    pub(super) fn to_take_apart(
        controller: &Controller,
        attached: &Attached,
        (parents, parent): (Arc<Store>, Arc<Stored>),
    ) -> Self {
        let children = attached.children(controller.shards.of(&parent.id));
        let (scopes, targets) = (attached.scopes(), attached.targets());
        Self { parent, parents, children, inputs: Arc::default(), targets, scopes, shape: None }
    }

    /// `interested` is told which objects the parent edits.
    pub(super) fn scene<'a>(
        &'a self,
        controller: &'a Controller,
        attached: &'a Attached,
        interested: &'a (dyn Fn(&BTreeSet<ObjectId>) -> bool + Sync),
    ) -> Scene<'a> {
        Scene {
            cluster: &controller.writer(&self.parent.id).cluster,
            rule: &attached.rule,
            parent: Arc::clone(&self.parent),
            parents: &self.parents,
            children: &self.children,
            inputs: &self.inputs,
            targets: &self.targets,
            interested,
            scopes: &self.scopes,
            shape: self.shape.as_deref(),
            installation: &controller.options.installation,
            gate: None,
        }
    }
}
