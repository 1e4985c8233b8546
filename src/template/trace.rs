//! What one rendering looked for and did not find.
//!
//! In: a value and the steps to take from it. Out: what is there, or a note of what is missing. Never here: whether
//! that is a mistake. The engine decides it when the missing value is used; the note then gives it its name.

use super::context::{Context, Node, write_key};
use minijinja::State;
use minijinja::value::{Enumerator, Object, ObjectRepr, Value};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The name under which functions find the notes; authors cannot write it.
const TRACE: &str = "__trace";

/// Enough to name the newest; loops over optional fields may leave thousands.
const KEPT: usize = 64;

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// Its path, if it was looked for below a value of the context.
    pub(super) what: Option<String>,
    /// Whether it may still appear.
    pub(super) awaited: bool,
}

/// A gap, and where the template looked for it.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    pub(super) gap: Gap,
    pub(super) template: String,
    /// The number of the access chain, unless it was found by `get`.
    pub(super) site: Option<usize>,
}

/// The notes of one rendering, shared by everything in it.
#[derive(Debug, Default)]
pub(super) struct Trace {
    missing: Mutex<Vec<Missing>>,
    /// Expressions of a lenient body that count as nothing, by number.
    gone: BTreeSet<usize>,
    /// The expression of a lenient body that was begun last.
    current: AtomicUsize,
}

impl Trace {
    pub(super) fn new(gone: BTreeSet<usize>) -> Arc<Self> {
        Arc::new(Self { gone, ..Self::default() })
    }

    /// What was missing, oldest first.
    pub(super) fn missing(&self) -> Vec<Missing> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The expression of a lenient body that was being evaluated when the rendering ended.
    pub(super) fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    fn note(&self, missing: Missing) {
        let mut notes = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() == KEPT {
            notes.remove(0);
        }
        notes.push(missing);
    }
}

impl Object for Trace {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// The names of a rendering: the context, and the notes.
#[derive(Debug)]
struct Root {
    context: Context,
    trace: Arc<Trace>,
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, name: &str) -> Option<Value> {
        match name {
            TRACE => Some(Value::from_dyn_object(Arc::clone(&self.trace))),
            _ => self.context.get(name),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}

/// What the engine takes as its root.
pub(super) fn root(context: &Context, trace: &Arc<Trace>) -> Value {
    Value::from_object(Root { context: context.clone(), trace: Arc::clone(trace) })
}

/// Keeps a note for the message, should the missing value be used.
pub(super) fn note(state: &State, gap: Gap, site: Option<usize>) {
    if let Some(trace) = state.lookup(TRACE)
        && let Some(trace) = trace.downcast_object_ref::<Trace>()
    {
        trace.note(Missing { gap, template: state.name().to_owned(), site });
    }
}

/// Whether an expression of a lenient body is still to be evaluated.
pub(super) fn is_live(state: &State<'_, '_>, expression: usize) -> bool {
    let trace = state.lookup(TRACE);
    let Some(trace) = trace.as_ref().and_then(|trace| trace.downcast_object_ref::<Trace>()) else {
        return true;
    };
    let is_live = !trace.gone.contains(&expression);
    if is_live {
        trace.current.store(expression, Ordering::Relaxed);
    }
    is_live
}

/// Follows steps from a value; nothing if one of them is missing.
pub(super) fn walk(base: &Value, steps: &[Value]) -> Option<Value> {
    steps.iter().try_fold(base.clone(), |at, step| next(&at, step))
}

fn next(value: &Value, step: &Value) -> Option<Value> {
    match value.downcast_object_ref::<Node>() {
        Some(node) => node.step(step),
        None => value.get_item(step).ok().filter(|next| !next.is_undefined()),
    }
}

/// Goes the way once more to say what was missing: below the last value on it that knows its own path.
pub(super) fn gap(base: &Value, steps: &[Value]) -> Gap {
    let mut gap = Gap { what: None, awaited: false };
    let mut at = base.clone();
    for (taken, step) in steps.iter().enumerate() {
        if let Some(node) = at.downcast_object_ref::<Node>()
            && let Some(trail) = &node.trail
        {
            let what = path(trail.to_string(), &steps[taken..]);
            gap = Gap { what: Some(what), awaited: node.awaits(step) };
        }
        match next(&at, step) {
            Some(next) => at = next,
            None => break,
        }
    }
    gap
}

fn path(mut start: String, steps: &[Value]) -> String {
    for step in steps {
        match step.as_str() {
            Some(key) => write_key(&mut start, key),
            // Writing to a string cannot fail.
            None => drop(write!(start, "[{step}]")),
        }
    }
    start
}
