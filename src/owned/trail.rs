//! Paths while walking.
//!
//! In: steps, on the way down. Out: a path, when something must be told. Never here: memory for the steps in between.

use super::path::{FieldPath, Step};

/// The way from the root to where a walk stands: links on the stack, a path only when something must be told.
#[derive(Clone, Copy)]
pub(super) struct Trail<'a> {
    up: Option<&'a Trail<'a>>,
    here: Here<'a>,
}

#[derive(Clone, Copy)]
enum Here<'a> {
    Root,
    Field(&'a str),
    Step(&'a Step),
    Index(usize),
}

impl<'a> Trail<'a> {
    pub(super) const ROOT: Self = Trail { up: None, here: Here::Root };

    pub(super) fn field(&'a self, name: &'a str) -> Self {
        Self { up: Some(self), here: Here::Field(name) }
    }

    pub(super) fn step(&'a self, step: &'a Step) -> Self {
        Self { up: Some(self), here: Here::Step(step) }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { up: Some(self), here: Here::Index(index) }
    }

    /// Whether the last step is this field.
    pub(super) fn ends_with(&self, name: &str) -> bool {
        match self.here {
            Here::Field(field) => field == name,
            Here::Step(Step::Field(field)) => **field == *name,
            _ => false,
        }
    }

    pub(super) fn path(&self) -> FieldPath {
        let mut steps = Vec::new();
        self.add_to(&mut steps);
        FieldPath::new(steps)
    }

    fn add_to(&self, steps: &mut Vec<Step>) {
        if let Some(up) = self.up {
            up.add_to(steps);
        }
        match self.here {
            Here::Root => {}
            Here::Field(name) => steps.push(Step::field(name)),
            Here::Step(step) => steps.push(step.clone()),
            Here::Index(index) => steps.push(Step::Index(index)),
        }
    }
}
