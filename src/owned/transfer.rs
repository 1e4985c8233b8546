//! Who owns what, put right: `managedFields` as they should be before an apply of ours.
//!
//! In: `managedFields`, what is remembered of our entry. Out: `managedFields` to write, or that nothing is to be done.
//! Never here: writing them; taking a field from a manager that applies, or from one that changed it after us.
//!
//! Two things keep an apply from removing what we no longer want, and both are put right by one patch:
//! - Our entry is missing, because somebody reset `managedFields` or made a copy of the object. The server would book
//!   all that is there under `before-first-apply`, for ever.
//! - A *previous writer* co-owns what we own: whoever wrote our marks by an update (a copy, `before-first-apply`), and our
//!   own updates (the repair of a list).

use super::entry::{Holder, managers};
use super::fields::FieldSet;
use crate::marks::annotation;
use serde_json::{Map, Value, json};

/// `managedFields` in which we own what we applied, and previous writers none of it. `None` if they are so already.
///
/// `remembered` is what we owned when we last looked; without it, a missing entry is made anew with our marks alone, which
/// is enough for the server to leave the rest to nobody.
pub fn taken_over(
    managed_fields: &Value,
    manager: &str,
    api_version: &str,
    remembered: Option<&FieldSet>,
) -> Option<Value> {
    let before: Vec<(Holder<'_>, &Value)> = managers(managed_fields).collect();
    let ours = before.iter().find(|(holder, _)| holder.is_apply_of(manager));
    let mut fields = match (ours, remembered) {
        (Some((_, entry)), _) => entry.get("fieldsV1")?.clone(),
        (None, Some(remembered)) => remembered.to_fields_v1(),
        (None, None) => marks(),
    };
    let version = ours.and_then(|(_, entry)| entry.get("apiVersion")?.as_str());
    let version = version.unwrap_or(api_version);
    let same_version = |entry: &Value| entry.get("apiVersion").is_some_and(|own| own == version);
    let is_update = |(holder, entry): &(Holder<'_>, &Value)| {
        holder.operation == "Update" && holder.subresource.is_empty() && same_version(entry)
    };
    let is_own_update = |one: &(Holder<'_>, &Value)| is_update(one) && one.0.manager == manager;
    for (_, entry) in before.iter().filter(|one| is_own_update(one)) {
        add(&mut fields, entry.get("fieldsV1")?);
    }
    let mut after = vec![entry(manager, version, &fields)];
    let mut changed = ours.is_none_or(|(_, entry)| entry.get("fieldsV1") != Some(&fields));
    for one in before.iter().filter(|(holder, _)| !holder.is_apply_of(manager)) {
        let theirs = one.1.get("fieldsV1");
        if is_own_update(one) || theirs.is_none() {
            changed = true;
        } else if let Some(theirs) = theirs
            .filter(|theirs| is_update(one) && wrote_marks(theirs))
            // Of an entry made of nothing but marks nobody can tell what else is shared: later.
            .filter(|_| ours.is_some() || remembered.is_some())
        {
            let rest = without(theirs, &fields);
            changed |= rest != *theirs;
            if !is_nothing(&rest) {
                let mut kept = one.1.clone();
                kept["fieldsV1"] = rest;
                after.push(kept);
            }
        } else {
            after.push(one.1.clone());
        }
    }
    changed.then_some(Value::Array(after))
}

/// Parts of Kubernetes itself, which write beside whoever made an object.
const COMPONENTS: [&str; 5] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "cloud-controller-manager",
];

/// `managedFields` in which we own what people and their tools wrote before us: what we do not want of it goes with our
/// next apply. What Kubernetes itself wrote, what was written through a subresource, finalizers and owner references
/// stay with their writers.
pub fn inherited(managed_fields: &Value, manager: &str, api_version: &str) -> Value {
    let mut fields = json!({});
    let mut after = Vec::new();
    for (holder, entry) in managers(managed_fields) {
        let version = entry.get("apiVersion").and_then(Value::as_str);
        let stays = !holder.subresource.is_empty()
            || COMPONENTS.contains(&holder.manager)
            || version != Some(api_version);
        let Some(theirs) = entry.get("fieldsV1").filter(|_| !stays) else {
            after.push(entry.clone());
            continue;
        };
        let (mut ours, mut rest) = (theirs.clone(), json!({}));
        for kept in ["f:finalizers", "f:ownerReferences"] {
            let below = ours.get_mut("f:metadata").and_then(Value::as_object_mut);
            if let Some(found) = below.and_then(|below| below.remove(kept)) {
                rest["f:metadata"][kept] = found;
            }
        }
        add(&mut fields, &ours);
        if !is_nothing(&rest) {
            let mut kept = entry.clone();
            kept["fieldsV1"] = rest;
            after.push(kept);
        }
    }
    after.push(entry(manager, api_version, &fields));
    Value::Array(after)
}

/// `managedFields` in which entries speak of the fields in a version that is served, instead of one that is not any more and
/// for which the server refuses every apply of the object. `None` if no entry is of that version.
pub fn revived(managed_fields: &Value, dead: &str, api_version: &str) -> Option<Value> {
    let mut entries = managed_fields.clone();
    let mut found = false;
    for entry in entries.as_array_mut().into_iter().flatten() {
        if entry.get("apiVersion").is_some_and(|version| version == dead) {
            entry["apiVersion"] = json!(api_version);
            found = true;
        }
    }
    found.then_some(entries)
}

fn entry(manager: &str, api_version: &str, fields: &Value) -> Value {
    json!({"manager": manager, "operation": "Apply", "apiVersion": api_version,
           "fieldsType": "FieldsV1", "fieldsV1": fields})
}

fn mark() -> String {
    format!("f:{}", annotation::CHILD)
}

fn marks() -> Value {
    json!({"f:metadata": {"f:annotations": {mark(): {}}}})
}

/// Whoever wrote our marks, and is not us, wrote the whole object after ours.
fn wrote_marks(fields: &Value) -> bool {
    let annotations = fields.get("f:metadata").and_then(|below| below.get("f:annotations"));
    annotations.is_some_and(|annotations| annotations.get(mark()).is_some())
}

fn is_nothing(fields: &Value) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

/// Adds what another set owns.
fn add(fields: &mut Value, more: &Value) {
    let (Value::Object(fields), Value::Object(more)) = (fields, more) else { return };
    for (step, below) in more {
        add(fields.entry(step.clone()).or_insert_with(|| json!({})), below);
    }
}

/// What is left without another set. Where one owns a whole value and the other parts of it, both stay as they are: that is
/// no shared field.
fn without(fields: &Value, other: &Value) -> Value {
    let (Value::Object(map), Value::Object(other)) = (fields, other) else {
        return fields.clone();
    };
    let rest = map.iter().filter_map(|(step, below)| {
        let Some(others) = other.get(step) else { return Some((step.clone(), below.clone())) };
        match (is_nothing(below), is_nothing(others)) {
            (true, true) => None,
            (false, false) => {
                let rest = without(below, others);
                (!is_nothing(&rest)).then(|| (step.clone(), rest))
            }
            _ => Some((step.clone(), below.clone())),
        }
    });
    Value::Object(rest.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    const US: &str = "kubewright:demo:0";

    fn by(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1",
               "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    fn marked(more: &Value) -> Value {
        let mut fields = marks();
        add(&mut fields, more);
        fields
    }

    #[test]
    fn what_people_wrote_is_inherited_and_what_kubernetes_wrote_is_not() {
        let theirs =
            json!({"f:data": {"f:a": {}}, "f:metadata": {"f:finalizers": {"v:\"x\"": {}}}});
        let applied = json!({"f:data": {"f:b": {}}});
        let revision = json!({"f:metadata": {"f:annotations": {"f:revision": {}}}});
        let status = json!({"f:status": {}});
        let mut of_status = by("kubectl", "Update", &status);
        of_status["subresource"] = json!("status");
        let kept = json!({"f:metadata": {"f:finalizers": {"v:\"x\"": {}}}});
        let ours = json!({"f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {}});
        let before = [
            by("kubectl", "Update", &theirs),
            by("helm", "Apply", &applied),
            by("kube-controller-manager", "Update", &revision),
            of_status.clone(),
        ];
        let expected = json!([
            by("kubectl", "Update", &kept),
            by("kube-controller-manager", "Update", &revision),
            of_status,
            by(US, "Apply", &ours),
        ]);
        assert_eq!(inherited(&json!(before), US, "v1"), expected);
    }

    fn after(before: &[Value], remembered: Option<&FieldSet>) -> Option<Value> {
        taken_over(&json!(before), US, "v1", remembered)
    }

    #[test]
    fn a_reset_gives_us_back_what_we_owned() {
        let fields =
            marked(&json!({"f:data": {"f:a": {}, r#"k:{"n":"x"}"#: {"f:n": {}}, "v:1": {}}}));
        let remembered = FieldSet::deserialize(&fields).unwrap();
        let wanted = json!([by(US, "Apply", &fields)]);
        assert_eq!(after(&[], Some(&remembered)), Some(wanted.clone()));
        assert_eq!(after(&[json!({})], Some(&remembered)), Some(wanted.clone()));
        assert_eq!(after(&[], None), Some(json!([by(US, "Apply", &marks())])));
        assert_eq!(after(wanted.as_array().unwrap(), None), None, "once");
    }

    #[test]
    fn a_previous_writer_keeps_only_what_is_not_ours() {
        let ours = marked(&json!({"f:data": {"f:a": {}}, "f:whole": {}, "f:parts": {"f:x": {}}}));
        let theirs = marked(&json!({"f:data": {".": {}, "f:a": {}, "f:z": {}},
            "f:whole": {"f:y": {}}, "f:parts": {}}));
        let rest = json!({"f:data": {".": {}, "f:z": {}}, "f:whole": {"f:y": {}}, "f:parts": {}});
        let mine = by(US, "Apply", &ours);
        assert_eq!(
            after(&[by("before-first-apply", "Update", &theirs), mine.clone()], None),
            Some(json!([mine, by("before-first-apply", "Update", &rest)]))
        );
        let copy = by("kubectl-create", "Update", &ours);
        assert_eq!(
            after(&[copy, mine.clone()], None),
            Some(json!([mine])),
            "nothing is left of it"
        );
    }

    #[test]
    fn a_copy_is_told_apart_until_it_is_known_what_is_ours() {
        let copy = by("kubectl-create", "Update", &marked(&json!({"f:data": {"f:a": {}}})));
        let made = by(US, "Apply", &marks());
        assert_eq!(after(std::slice::from_ref(&copy), None), Some(json!([made, copy])));
    }

    #[test]
    fn entries_in_a_version_that_is_gone_are_revived() {
        let entry = |version: &str| json!([{"manager": "x", "apiVersion": version, "fieldsV1": {"f:a": {}}}]);
        assert_eq!(revived(&entry("a/v1beta1"), "a/v1beta1", "a/v1"), Some(entry("a/v1")));
        assert_eq!(revived(&entry("a/v1"), "a/v1beta1", "a/v1"), None);
        assert_eq!(revived(&json!(null), "a/v1beta1", "a/v1"), None);
    }

    #[test]
    fn our_own_updates_become_part_of_our_entry() {
        let mine = by(US, "Apply", &marks());
        let update = by(US, "Update", &json!({"f:l": {r#"k:{"p":1}"#: {".": {}, "f:p": {}}}}));
        let both = marked(&json!({"f:l": {r#"k:{"p":1}"#: {".": {}, "f:p": {}}}}));
        assert_eq!(after(&[mine, update], None), Some(json!([by(US, "Apply", &both)])));
    }

    #[test]
    fn what_others_own_by_their_own_right_stays_theirs() {
        let ours = marked(&json!({"f:data": {"f:a": {}}}));
        let mine = by(US, "Apply", &ours);
        let shared = json!({"f:data": {"f:a": {}}});
        let mut status = by("kubelet", "Update", &marked(&shared));
        status["subresource"] = json!("status");
        let mut older = by("old", "Update", &marked(&shared));
        older["apiVersion"] = json!("v1beta1");
        for other in
            [by("them", "Apply", &marked(&shared)), by("by-hand", "Update", &shared), status, older]
        {
            assert_eq!(after(&[mine.clone(), other.clone()], None), None, "{other}");
        }
    }
}
