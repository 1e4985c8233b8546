//! The canonical intent: what a template rendered, as it is hashed and sent.
//!
//! In: a rendered object. Out: the same object without what the server owns or would refuse, or every mistake in it;
//! its hash. Never here: the live object, a schema, labels and annotations of our own.

mod duplicates;
mod hash;
mod text;

pub use hash::{INTENT_ANNOTATION, IntentMark, intent_hash};

use super::path::{FieldPath, Step};
use super::trail::Trail;
use serde_json::{Map, Value};

/// What the server fills in; in an intent it comes from a copied live object.
const BOOKKEEPING: [&str; 6] =
    ["managedFields", "uid", "resourceVersion", "generation", "selfLink", "creationTimestamp"];

/// Something in a rendered object that the server would refuse (with a status 500 that looks like its own fault) or
/// silently change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where in the rendered object.
    pub path: FieldPath,
    /// What is wrong: one lower-case fragment that starts with the path and carries no values.
    pub message: String,
    /// What to write instead.
    pub hint: Option<&'static str>,
}

impl Mistake {
    fn new(path: FieldPath, what: &str, hint: Option<&'static str>) -> Self {
        let message = format!("{path} {what}").trim_start().to_owned();
        Self { path, message, hint }
    }
}

/// Makes a rendered object canonical:
///
/// - Server-side metadata and the top-level `status` are removed.
/// - Map entries that are null are removed, at any depth (`creationTimestamp: null` of exported pod templates
///   included). Nulls that are elements of lists stay: without them the others would move.
/// - A Secret's `stringData` moves into `data` and wins over it, as in the server; otherwise changes of `data` by
///   others would be invisible and removed keys would stay. Base64 is re-encoded the way the server prints it.
/// - Numbers, and the order that the author gave to lists, stay as they are.
///
/// Refused: values of labels and annotations that are not strings (under any `metadata`), the same in a `ConfigMap` or
/// Secret, base64 that does not decode, duplicate keys in the built-in keyed lists.
pub fn canonical(rendered: Value) -> Result<Value, Vec<Mistake>> {
    let mut object = rendered;
    let mut mistakes = Vec::new();
    if let Value::Object(map) = &mut object {
        map.remove("status");
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            metadata.retain(|name, _| !BOOKKEEPING.contains(&name.as_str()));
        }
        clean_map(map, &Trail::ROOT, &mut mistakes);
        text::canonical_data(map, &mut mistakes);
    } else {
        mistakes.push(Mistake::new(FieldPath::default(), "the object is not a map", None));
    }
    duplicates::find(&object, &mut mistakes);
    if mistakes.is_empty() { Ok(object) } else { Err(mistakes) }
}

/// Drops nulls and checks labels and annotations, in one walk.
fn clean(value: &mut Value, trail: &Trail<'_>, mistakes: &mut Vec<Mistake>) {
    match value {
        Value::Object(map) => clean_map(map, trail, mistakes),
        Value::Array(list) => {
            for (index, element) in list.iter_mut().enumerate() {
                if element.is_object() || element.is_array() {
                    let step = Step::of_element(index, element);
                    clean(element, &trail.step(&step), mistakes);
                }
            }
        }
        _ => {}
    }
}

fn clean_map(map: &mut Map<String, Value>, trail: &Trail<'_>, mistakes: &mut Vec<Mistake>) {
    // To look costs less than to go over the map as if something were to be taken out.
    if map.values().any(Value::is_null) {
        map.retain(|_, value| !value.is_null());
    }
    for (name, value) in map {
        let trail_below = trail.field(name);
        if matches!(name.as_str(), "labels" | "annotations") && trail.ends_with("metadata") {
            text::only_strings(value, &trail_below, mistakes);
        }
        clean(value, &trail_below, mistakes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(rendered: Value) -> Vec<String> {
        canonical(rendered).unwrap_err().into_iter().map(|mistake| mistake.message).collect()
    }

    #[test]
    fn what_the_server_keeps_is_removed() {
        let exported = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "7", "generation": 2,
                "selfLink": "/x", "creationTimestamp": "2020-01-01T00:00:00Z", "managedFields": [],
                "labels": {"a": "b"}},
            "spec": {"template": {"metadata": {"creationTimestamp": null, "labels": {"a": "b"}}},
                "status": "kept"},
            "status": {"replicas": 1}});
        let wanted = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "b", "labels": {"a": "b"}},
            "spec": {"template": {"metadata": {"labels": {"a": "b"}}}, "status": "kept"}});
        assert_eq!(canonical(exported).unwrap(), wanted);
    }

    #[test]
    fn null_entries_go_at_any_depth_and_null_elements_stay() {
        let rendered = json!({"spec": {"a": null, "b": [null, {"c": null, "d": [{"e": null}]}, 1], "f": {"g": null}}});
        let wanted = json!({"spec": {"b": [null, {"d": [{}]}, 1], "f": {}}});
        assert_eq!(canonical(rendered).unwrap(), wanted);
    }

    #[test]
    fn canonical_twice_is_canonical_once() {
        let rendered = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "uid": "u"},
            "data": {"a": "eA==\n"}, "stringData": {"b": "y"}, "status": {}});
        let once = canonical(rendered).unwrap();
        assert_eq!(canonical(once.clone()).unwrap(), once);
    }

    #[test]
    fn numbers_stay_exact() {
        let text = r#"{"spec":{"a":9007199254740993,"b":18446744073709551615,"c":1.5,"d":-0.0}}"#;
        let rendered: Value = serde_json::from_str(text).unwrap();
        assert_eq!(canonical(rendered.clone()).unwrap(), rendered);
    }

    #[test]
    fn label_and_annotation_values_must_be_strings_wherever_metadata_is() {
        let rendered = json!({
            "metadata": {"labels": {"a": 1, "ok": "x", "none": null}, "annotations": {"example.com/b": true}},
            "spec": {
                "template": {"metadata": {"labels": {"c": {"d": "e"}}}},
                "volumeClaimTemplates": [{"metadata": {"annotations": {"f": 1.5}}}],
                "labels": {"not": 1, "under": {"metadata": 2}}}});
        let mistakes = canonical(rendered).unwrap_err();
        let shown: Vec<_> = mistakes.iter().map(|mistake| mistake.message.as_str()).collect();
        assert_eq!(
            shown,
            [
                "metadata.annotations[example.com/b] must be a string, not a boolean",
                "metadata.labels.a must be a string, not a number",
                "spec.template.metadata.labels.c must be a string, not a map",
                "spec.volumeClaimTemplates[0].metadata.annotations.f must be a string, not a number",
            ]
        );
        assert_eq!(mistakes[0].hint, Some("quote it"));
        assert_eq!(mistakes[2].hint, None);
    }

    #[test]
    fn an_intent_that_is_no_map_is_a_mistake() {
        for rendered in [json!(null), json!([]), json!("x")] {
            assert_eq!(messages(rendered), ["the object is not a map"]);
        }
    }
}
