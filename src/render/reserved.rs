//! Names that are Kubewright's own, in what a template rendered.
//!
//! In: a rendered object. Out: the first such name, and where. Pure. Never here: what is said about it.

use crate::marks;
use crate::owned::{FieldPath, Step};
use serde_json::Value;

/// A label, an annotation or a finalizer under our prefix, in the object's metadata or in any further down, and its place.
pub(super) fn found(document: &Value) -> Option<(FieldPath, String)> {
    let (mut at, name) = mark_within(document)?;
    at.reverse();
    Some((FieldPath::new(at), name))
}

/// The same, last step first.
fn mark_within(value: &Value) -> Option<(Vec<Step>, String)> {
    let with = |step: Step, (mut at, name): (Vec<Step>, String)| {
        at.push(step);
        (at, name)
    };
    match value {
        Value::Object(map) => map.iter().find_map(|(key, value)| {
            let own = (key == "metadata").then(|| mark_in(value)).flatten();
            own.or_else(|| mark_within(value)).map(|found| with(Step::field(key), found))
        }),
        Value::Array(list) => list.iter().enumerate().find_map(|(index, element)| {
            mark_within(element).map(|found| with(Step::Index(index), found))
        }),
        _ => None,
    }
}

fn mark_in(metadata: &Value) -> Option<(Vec<Step>, String)> {
    let ours = |name: &&String| name.starts_with(marks::PREFIX);
    let named = ["labels", "annotations"].into_iter().find_map(|kind| {
        let name = metadata.get(kind)?.as_object()?.keys().find(ours)?;
        Some((vec![Step::field(name), Step::field(kind)], name.clone()))
    });
    let holds = || {
        let finalizers = metadata.get("finalizers")?.as_array()?;
        let name = finalizers.iter().filter_map(Value::as_str);
        let name = name.map(str::to_owned).find(|name| ours(&name))?;
        Some((vec![Step::field("finalizers")], name))
    };
    named.or_else(holds)
}
