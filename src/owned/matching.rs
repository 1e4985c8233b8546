//! Whether our entry covers the intent, without a schema.
//!
//! In: the intent, our fields, the live object, the ignored paths. Out: covered, or every mismatch by path.
//! Never here: comparing values with the live object, since defaults, quantities and admission make them differ for
//! ever; what counts is that we own what we want, want what we own, and that our elements keep their order.
//!
//! Why it can work without a schema: the entry itself shows the shape. A map has `f:` children, a keyed list `k:`, a
//! set `v:`, and what is owned as a whole (scalars, atomic lists and maps) has none.

mod assign;
mod entries;
mod walk;

pub(super) use assign::assign;
pub(super) use entries::Entries;

use super::fields::FieldSet;
use super::ignore::{Ignored, Level};
use super::path::FieldPath;
use serde_json::Value;
use std::fmt;

/// What [`matches()`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matching {
    /// We own exactly what the intent says, in its order.
    Covered,
    /// At least one mismatch, in the order of the walk.
    Differs(Vec<Mismatch>),
}

/// One way in which our entry and the intent differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Wanted, but not owned: somebody changed or removed it, or it was never applied.
    NotOwned(FieldPath),
    /// Owned, but no longer wanted.
    OwnedNotDesired(FieldPath),
    /// Our elements of this keyed list stand in another order.
    OrderDiffers(FieldPath),
    /// It cannot be told which elements of this list are ours, since the entry lost too many of them.
    Ambiguous(FieldPath),
    /// Owned and wanted, but not there: admission removed it, or the server dropped a field it does not know.
    Absent(FieldPath),
}

impl Mismatch {
    /// Where.
    pub fn path(&self) -> &FieldPath {
        match self {
            Self::NotOwned(path)
            | Self::OwnedNotDesired(path)
            | Self::OrderDiffers(path)
            | Self::Ambiguous(path)
            | Self::Absent(path) => path,
        }
    }
}

/// `spec.replicas is no longer ours`; carries no values.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::NotOwned(_) => "is no longer ours",
            Self::OwnedNotDesired(_) => "is ours but no longer wanted",
            Self::OrderDiffers(_) => "is in another order",
            Self::Ambiguous(_) => "has lost too many elements to tell which are ours",
            Self::Absent(_) => "is ours but missing",
        };
        write!(f, "{} {what}", self.path())
    }
}

/// Matches the canonical `intent` with the fields of our entry in `live` (of the same apiVersion).
///
/// The rules: every wanted field is owned and every owned field wanted, except ignored paths, status, and the
/// metadata that the server keeps. A leaf owns the whole value; that it is absent is legal if the wanted value is
/// empty, zero, false or null. An element of a list belongs to the key that it fits, by elimination. Members of sets
/// are found by equality. A list without elements is owned by nobody, so it needs no entry.
///
/// `live` should still have its `managedFields`: when the last key below an untyped map was taken from us, our entry
/// looks like one that owns the whole map, and only the other entries tell.
pub fn matches(intent: &Value, fields: &FieldSet, live: &Value, ignored: &Ignored) -> Matching {
    let found = walk::mismatches(intent, fields, live, &ignored.cursor(Level::Object));
    if found.is_empty() { Matching::Covered } else { Matching::Differs(found) }
}

/// The same for one part of an object, such as its status, and the fields owned in it.
pub fn covers_part(intent: &Value, fields: &FieldSet, part: &Value) -> bool {
    walk::mismatches(intent, fields, part, &Ignored::default().cursor(Level::Inside)).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owned::ignore::Spot;
    use serde::Deserialize;
    use serde_json::json;

    /// The mismatches as a person reads them, for an object that holds what is wanted.
    fn found(wanted: &Value, fields: &Value) -> Vec<String> {
        found_in(wanted, fields, wanted, &Ignored::default())
    }

    fn found_in(wanted: &Value, fields: &Value, live: &Value, ignored: &Ignored) -> Vec<String> {
        let fields = FieldSet::deserialize(fields).unwrap();
        match matches(wanted, &fields, live, ignored) {
            Matching::Covered => Vec::new(),
            Matching::Differs(found) => found.iter().map(ToString::to_string).collect(),
        }
    }

    fn ignoring(steps: &[&str]) -> Ignored {
        let spot = |step: &&str| match *step {
            "*" => Spot::Every,
            name => Spot::Field(name.into()),
        };
        Ignored::new([steps.iter().map(spot).collect()])
    }

    #[test]
    fn identity_status_and_bookkeeping_need_no_entry() {
        let wanted = json!({"apiVersion": "v1", "kind": "X", "status": {"a": 1}, "metadata": {
            "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1", "generation": 1}});
        assert!(found(&wanted, &json!({})).is_empty());
        assert!(found(&wanted, &json!({"f:status": {"f:a": {}}})).is_empty());
        let elsewhere = json!({"spec": {"name": "a", "kind": "b", "status": {}}});
        assert_eq!(
            found(&elsewhere, &json!({})),
            [
                "spec.kind is no longer ours",
                "spec.name is no longer ours",
                "spec.status is no longer ours",
            ]
        );
    }

    #[test]
    fn wanted_and_owned_must_be_the_same_fields() {
        let wanted = json!({"spec": {"a": 1, "c": {"d": 1}}});
        let fields = json!({"f:spec": {"f:b": {}, "f:c": {".": {}, "f:d": {}, "f:e": {}}}, "f:z": {"f:y": {}}});
        assert_eq!(
            found(&wanted, &fields),
            [
                "spec.a is no longer ours",
                "spec.b is ours but no longer wanted",
                "spec.c.e is ours but no longer wanted",
                "z is ours but no longer wanted",
            ]
        );
        assert_eq!(found(&json!({}), &json!({"f:a": {}})), ["a is ours but no longer wanted"]);
    }

    #[test]
    fn values_are_not_compared() {
        let fields = json!({"f:spec": {"f:a": {}, "f:b": {}, "f:c": {}}});
        let wanted = json!({"spec": {"a": "1000m", "b": [{"x": 1}], "c": {"k": 1}}});
        let live = json!({"spec": {"a": "1", "b": [{"x": 1, "y": 2}, {}], "c": {"k": 2, "l": 3}}});
        assert!(found_in(&wanted, &fields, &live, &Ignored::default()).is_empty());
    }

    #[test]
    fn an_owned_value_may_be_absent_only_if_it_was_wanted_empty() {
        let fields = json!({"f:a": {}});
        let none = json!({});
        for hollow in [
            json!(""),
            json!(0),
            json!(0.0),
            json!(false),
            json!(null),
            json!([]),
            json!({}),
            json!({"b": {"c": 0}}),
        ] {
            let wanted = json!({"a": hollow});
            assert!(found_in(&wanted, &fields, &none, &Ignored::default()).is_empty(), "{wanted}");
        }
        for value in [json!("0"), json!(1), json!(true), json!([0]), json!({"b": 1})] {
            let wanted = json!({"a": value});
            let told = found_in(&wanted, &fields, &none, &Ignored::default());
            assert_eq!(told, ["a is ours but missing"], "{wanted}");
        }
    }

    #[test]
    fn a_whole_list_that_was_emptied_is_missing() {
        let (wanted, fields) = (json!({"a": ["x"]}), json!({"f:a": {}}));
        let told = |live: Value| found_in(&wanted, &fields, &live, &Ignored::default());
        assert_eq!(told(json!({"a": []})), ["a is ours but missing"]);
        assert!(told(json!({"a": ["y"]})).is_empty());
    }

    #[test]
    fn a_list_without_elements_needs_no_entry_and_neither_does_a_map_of_such() {
        let wanted = json!({"spec": {"a": [], "b": {"c": [], "d": {"e": []}}}});
        assert!(found(&wanted, &json!({})).is_empty());
        assert_eq!(found(&json!({"spec": {"a": {}}}), &json!({})), ["spec.a is no longer ours"]);
        assert_eq!(found(&json!({"spec": {"a": [0]}}), &json!({})), ["spec.a is no longer ours"]);
        let was_full = json!({"f:spec": {"f:a": {"v:1": {}}}});
        assert_eq!(
            found(&json!({"spec": {"a": []}}), &was_full),
            ["spec.a[=1] is ours but no longer wanted"]
        );
    }

    #[test]
    fn an_empty_map_is_not_lost_to_those_who_own_parts_of_it() {
        let theirs = |fields: Value| json!({"managedFields": [{"manager": "x", "fieldsV1": {"f:a": fields}}]});
        let told = |live: Value, fields: Value| {
            let live = json!({"a": live, "metadata": theirs(fields)});
            found_in(&json!({"a": {}}), &json!({}), &live, &Ignored::default())
        };
        assert!(told(json!({"b": 1}), json!({"f:b": {}})).is_empty());
        assert_eq!(told(json!({"b": 1}), json!({})), ["a is no longer ours"], "it is one whole");
        assert_eq!(told(json!({}), json!({"f:b": {}})), ["a is no longer ours"]);
    }

    #[test]
    fn another_shape_than_the_entry_is_not_owned() {
        let fields = json!({"f:a": {"f:b": {}}});
        assert_eq!(found(&json!({"a": "x"}), &fields), ["a is no longer ours"]);
        assert_eq!(
            found(&json!({"a": [{"name": "x"}]}), &fields),
            ["a[name=x] is no longer ours", "a.b is ours but no longer wanted",]
        );
        let list = json!({"f:a": {r#"k:{"name":"x"}"#: {"f:name": {}}}});
        assert_eq!(
            found(&json!({"a": {"b": 1}}), &list),
            ["a.b is no longer ours", "a[name=x] is ours but no longer wanted",]
        );
    }

    #[test]
    fn elements_that_cannot_be_told_apart_are_ambiguous() {
        let fields = json!({"f:l": {
            r#"k:{"a":1,"b":1}"#: {"f:a": {}}, r#"k:{"a":1,"b":2}"#: {"f:a": {}}, r#"k:{"a":2,"b":1}"#: {"f:a": {}}}});
        let wanted = json!({"l": [{"a": 1}, {"a": 2}]});
        let live = json!({"l": [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}]});
        let told = found_in(&wanted, &fields, &live, &Ignored::default());
        assert_eq!(told, ["l has lost too many elements to tell which are ours"]);
    }

    #[test]
    fn order_counts_among_our_keyed_elements_only() {
        let fields = json!({"f:l": {r#"k:{"n":"a"}"#: {"f:n": {}}, r#"k:{"n":"b"}"#: {"f:n": {}}}});
        let list = |names: &[&str]| -> Value {
            json!({"l": names.iter().map(|name| json!({"n": name})).collect::<Value>()})
        };
        let told = |wanted: &[&str], live: &[&str]| {
            found_in(&list(wanted), &fields, &list(live), &Ignored::default())
        };
        assert!(told(&["b", "a"], &["b", "a"]).is_empty());
        assert!(told(&["b", "a"], &["x", "b", "y", "a", "z"]).is_empty());
        assert_eq!(told(&["b", "a"], &["a", "x", "b"]), ["l is in another order"]);
        assert_eq!(told(&["b", "a"], &["a"]), ["l[n=b] is ours but missing"]);
        let set = json!({"f:l": {r#"v:"a""#: {}, r#"v:"b""#: {}}});
        let told = found_in(
            &json!({"l": ["a", "b"]}),
            &set,
            &json!({"l": ["b", "x", "a"]}),
            &Ignored::default(),
        );
        assert!(told.is_empty(), "sets have no order");
    }

    #[test]
    fn members_of_sets_are_found_by_equality() {
        let fields = json!({"f:l": {r#"v:"a""#: {}, "v:1": {}, "v:2": {}}});
        assert_eq!(
            found(&json!({"l": ["a", 1.0, "1"]}), &fields),
            ["l[=1] is no longer ours", "l[=2] is ours but no longer wanted",]
        );
    }

    #[test]
    fn ignored_paths_count_neither_as_wanted_nor_as_owned() {
        let wanted = json!({"spec": {"replicas": 3}, "l": [{"n": "a", "image": "x"}, {"n": "b"}]});
        let fields = json!({"f:l": {r#"k:{"n":"a"}"#: {"f:n": {}}, r#"k:{"n":"b"}"#: {"f:n": {}, "f:image": {}}}});
        let replicas = ["spec.replicas is no longer ours"];
        let images =
            ["l[n=a].image is no longer ours", "l[n=b].image is ours but no longer wanted"];
        assert_eq!(found_in(&wanted, &fields, &wanted, &ignoring(&["spec", "replicas"])), images);
        assert_eq!(found_in(&wanted, &fields, &wanted, &ignoring(&["l", "*", "image"])), replicas);
        assert_eq!(found_in(&wanted, &fields, &wanted, &ignoring(&["l", "*"])), replicas);
        let list = json!({"l": [{"n": "a"}]});
        let none = json!({});
        assert!(found_in(&list, &none, &list, &ignoring(&["l", "*"])).is_empty());
        let unwanted =
            json!({"f:spec": {"f:replicas": {}}, "f:l": {r#"k:{"n":"a"}"#: {"f:image": {}}}});
        let told = |steps: &[&str]| found_in(&json!({}), &unwanted, &json!({}), &ignoring(steps));
        assert_eq!(told(&["spec", "replicas"]), ["l is ours but no longer wanted"]);
        assert_eq!(told(&["l", "*", "image"]), ["spec is ours but no longer wanted"]);
        assert_eq!(
            told(&["l", "*", "other"]),
            ["l[n=a].image is ours but no longer wanted", "spec is ours but no longer wanted"]
        );
    }

    #[test]
    fn an_element_is_ignored_by_what_it_says() {
        let ignored = Ignored::new([vec![
            Spot::Field("l".into()),
            Spot::Where(vec![("n".into(), json!("proxy"))]),
        ]]);
        let fields =
            json!({"f:l": {r#"k:{"n":"a"}"#: {"f:n": {}}, r#"k:{"n":"proxy"}"#: {"f:n": {}}}});
        let app = json!({"l": [{"n": "a"}]});
        assert!(
            found_in(&app, &fields, &app, &ignored).is_empty(),
            "its entry without a live element"
        );
        let both = json!({"l": [{"n": "proxy", "x": 1}, {"n": "a"}]});
        assert!(found_in(&both, &fields, &both, &ignored).is_empty());
        assert!(!found_in(&both, &fields, &both, &Ignored::default()).is_empty());
    }

    #[test]
    fn paths_of_unowned_elements_show_keys_and_no_other_values() {
        let fields = json!({"f:env": {r#"k:{"name":"A"}"#: {"f:name": {}}}});
        let wanted = json!({"env": [{"name": "A"}, {"name": "B", "value": "hunter2"}, {"value": "hunter2"}]});
        assert_eq!(
            found(&wanted, &fields),
            ["env[name=B] is no longer ours", "env[2] is no longer ours"]
        );
    }
}
