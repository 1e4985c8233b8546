//! What a row of the catalogue is made of, and the rows themselves, by concept.
//!
//! A row has a child as a rule would write it, what the server, admission or somebody unrelated does to it (none of which
//! may make us ask or write anything), what real drift looks like and how it is repaired, and what the child becomes when
//! the parent's `image` turns from `one` to `two`.

mod lists;
mod ownership;
mod refused;
mod values;

use super::objects::{Edit, Named};
use serde_json::Value;

/// One trap.
pub(crate) struct Row {
    /// The child's template.
    pub(crate) child: &'static str,
    /// More of its entry in the rule.
    pub(crate) options: &'static str,
    /// What the server made of it.
    pub(crate) stored: Vec<(&'static str, Option<Value>)>,
    /// What others do that is not our business.
    pub(crate) unrelated: Vec<Edit>,
    /// What others do that is.
    pub(crate) drift: Vec<Drift>,
    /// What it becomes when the parent changes, and with how many writes.
    pub(crate) second: Option<(&'static str, Option<Value>, usize)>,
}

/// An edit of something that is ours.
#[derive(Clone)]
pub(crate) struct Drift {
    pub(crate) edit: Edit,
    /// Where it shows that it is repaired.
    pub(crate) at: &'static str,
    pub(crate) is: Option<Value>,
    /// Successful writes that the repair takes.
    pub(crate) writes: usize,
}

pub(crate) fn row(child: &'static str) -> Row {
    Row { child, options: "", stored: vec![], unrelated: vec![], drift: vec![], second: None }
}

impl Row {
    pub(crate) fn named(&self) -> Named {
        Named::of(self.child)
    }

    /// The child's id in the rule: its name, as an id.
    pub(crate) fn id(&self) -> String {
        self.named().name.replace(['-', '.'], "_")
    }

    fn options(mut self, options: &'static str) -> Self {
        self.options = options;
        self
    }

    fn stored(mut self, at: &'static str, is: Option<Value>) -> Self {
        self.stored.push((at, is));
        self
    }

    fn unrelated(mut self, edit: Edit) -> Self {
        self.unrelated.push(edit);
        self
    }

    fn drift(self, edit: Edit, at: &'static str, is: Option<Value>) -> Self {
        self.drift_in(1, edit, at, is)
    }

    fn drift_in(mut self, writes: usize, edit: Edit, at: &'static str, is: Option<Value>) -> Self {
        self.drift.push(Drift { edit, at, is, writes });
        self
    }

    fn second(mut self, at: &'static str, is: Option<Value>, writes: usize) -> Self {
        self.second = Some((at, is, writes));
        self
    }
}

/// Every child that the server takes.
pub(crate) fn accepted() -> Vec<Row> {
    [values::rows(), lists::rows(), ownership::rows()].into_iter().flatten().collect()
}

pub(crate) use refused::{Refused, rows as refused};
