//! What is remembered of a child between events, and the test that every event takes.
//!
//! In: the server's answer to our apply, later live objects. Out: whether something of ours moved.
//! Never here: the intent's hash (a different intent is applied whatever this says); what to do about drift.

use super::entry::Entry;
use super::fields::FieldSet;
use super::ignore::Ignored;
use super::matching::{Matching, matches};
use super::projection::project;
use super::respelled::{at, at_mut, respelled};
use super::shared::shared;
use serde_json::Value;
use std::sync::Arc;

/// The state of a child as the server answered our last apply, or as it was found covered after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    /// What we own. Equal for most children of one rule, which share it.
    pub fields: Arc<FieldSet>,
    /// Of our entry at that time.
    pub fingerprint: u64,
    /// Of the values at that time.
    pub projection: u64,
}

/// What happened to the fields of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// Nothing: no request is needed.
    None,
    /// Owned values changed, moved or are gone.
    Values,
    /// The values are what they were, but our entry is not: somebody changed one and changed it back, or reset
    /// `managedFields`. To be applied again without haste.
    Ownership,
}

impl Memo {
    /// Remembers `live`, in which `entry` is ours and `intent` was applied. `None` if the entry cannot be understood.
    ///
    /// Takes the server's word for the values: defaulting, spelling and admission are in there already, so they can
    /// never look like drift.
    pub fn of(intent: &Value, entry: &Entry<'_>, live: &Value, ignored: &Ignored) -> Option<Self> {
        let mut fields = entry.fields()?;
        fields.presence_where_empty(intent);
        fields.hollow_where_absent(Some(live));
        let projection = project(&fields, live, ignored);
        Some(Self { fields: shared(fields), fingerprint: entry.fingerprint, projection })
    }

    /// What to remember if others did nothing but spell our values anew (see [`super::respelled`]): those count as they are
    /// now, so that the next change of them is seen. `None` if anything else of ours was lost, or changed since `before`.
    pub fn respelled(
        before: Option<&Self>,
        intent: &Value,
        entry: &Entry<'_>,
        live: &Value,
        ignored: &Ignored,
    ) -> Option<Self> {
        let owned = entry.fields()?;
        let Matching::Differs(mismatches) = matches(intent, &owned, live, ignored) else {
            return None;
        };
        let places = respelled(intent, live, &mismatches)?;
        let fields = if let Some(before) = before {
            let mut as_we_wanted = live.clone();
            for place in &places {
                *at_mut(&mut as_we_wanted, place)? = at(intent, place)?.clone();
            }
            if project(&before.fields, &as_we_wanted, ignored) != before.projection {
                return None;
            }
            Arc::clone(&before.fields)
        } else {
            let mut fields = owned;
            fields.presence_where_empty(intent);
            fields.hollow_where_absent(Some(live));
            for place in &places {
                fields.add(place.steps());
            }
            shared(fields)
        };
        let projection = project(&fields, live, ignored);
        Some(Self { fields, fingerprint: entry.fingerprint, projection })
    }

    /// Compares with how the object and our entry are now. `ignored` must be what it was.
    ///
    /// Neither resourceVersion nor generation plays a part. An entry in another apiVersion than the intent's is for the
    /// caller to see.
    pub fn drift(&self, entry: Option<&Entry<'_>>, live: &Value, ignored: &Ignored) -> Drift {
        if project(&self.fields, live, ignored) != self.projection {
            return Drift::Values;
        }
        match entry {
            Some(entry) if entry.fingerprint == self.fingerprint => Drift::None,
            Some(entry) if entry.fields().is_some_and(|now| !self.fields.keeps_presence(&now)) => {
                Drift::Values
            }
            _ => Drift::Ownership,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owned::entry::our_entry;
    use serde_json::json;

    fn object(fields: &Value, spec: &Value) -> Value {
        let entry = json!({"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:spec": fields}});
        json!({"metadata": {"managedFields": [entry]}, "spec": spec})
    }

    fn entry(object: &Value) -> Option<Entry<'_>> {
        our_entry(&object["metadata"]["managedFields"], "us")
    }

    fn drift(wanted: &Value, before: &Value, after: &Value) -> Drift {
        let nothing = Ignored::default();
        let intent = json!({"spec": wanted});
        let memo = Memo::of(&intent, &entry(before).unwrap(), before, &nothing).unwrap();
        memo.drift(entry(after).as_ref(), after, &nothing)
    }

    #[test]
    fn values_count_before_ownership() {
        let fields = json!({"f:a": {}, "f:b": {}});
        let (wanted, less) = (json!({"a": 1, "b": 2}), json!({"f:a": {}}));
        let before = object(&fields, &wanted);
        let is = |fields: &Value, spec: Value| drift(&wanted, &before, &object(fields, &spec));
        assert_eq!(is(&fields, json!({"a": 1, "b": 2, "c": 3})), Drift::None);
        assert_eq!(is(&fields, json!({"a": 1, "b": 3})), Drift::Values, "by admission");
        assert_eq!(is(&less, json!({"a": 1, "b": 3})), Drift::Values);
        assert_eq!(is(&less, json!({"a": 1, "b": 2})), Drift::Ownership, "and back");
        let wiped = json!({"metadata": {}, "spec": {"a": 1, "b": 2}});
        assert_eq!(drift(&wanted, &before, &wiped), Drift::Ownership);
    }

    #[test]
    fn a_value_that_others_spell_anew_is_accepted_and_watched_further() {
        let wanted = json!({"every": "1h", "b": "x"});
        let intent = json!({ "spec": wanted });
        let nothing = Ignored::default();
        let before = object(&json!({"f:every": {}, "f:b": {}}), &wanted);
        let memo = Memo::of(&intent, &entry(&before).unwrap(), &before, &nothing).unwrap();
        let lost =
            |every: &str, b: &str| object(&json!({"f:b": {}}), &json!({"every": every, "b": b}));
        let accept = |memo: Option<&Memo>, live: &Value| {
            Memo::respelled(memo, &intent, &entry(live).unwrap(), live, &nothing)
        };
        let anew = lost("1h0m0s", "x");
        for accepted in [accept(Some(&memo), &anew), accept(None, &anew)] {
            let accepted = accepted.unwrap();
            assert_eq!(accepted.drift(entry(&anew).as_ref(), &anew, &nothing), Drift::None);
            let other = lost("2h", "x");
            assert_eq!(accepted.drift(entry(&other).as_ref(), &other, &nothing), Drift::Values);
            assert!(accept(Some(&accepted), &other).is_none());
        }
        assert!(accept(Some(&memo), &lost("2h", "x")).is_none());
        assert!(accept(Some(&memo), &lost("1h0m0s", "y")).is_none(), "something else changed too");
        assert!(accept(Some(&memo), &before).is_none(), "nothing was lost");
    }

    #[test]
    fn a_map_that_the_server_stores_as_nothing_is_anybodys_to_fill() {
        let wanted = json!({"a": {}, "l": [{"n": "x", "m": {}}]});
        let key = r#"k:{"n":"x"}"#;
        let fields = json!({"f:a": {}, "f:l": {key: {"f:n": {}, "f:m": {}}}});
        let stored = json!({"l": [{"n": "x"}]});
        let before = object(&fields, &stored);
        let filled = json!({"a": {"theirs": 1}, "l": [{"n": "x", "m": {"theirs": 1}}]});
        assert_eq!(drift(&wanted, &before, &object(&fields, &filled)), Drift::None);
        assert_eq!(drift(&wanted, &before, &object(&fields, &stored)), Drift::None, "and empty it");
        let kept = object(&fields, &wanted);
        assert_eq!(drift(&wanted, &kept, &before), Drift::Values, "it was there");
    }

    #[test]
    fn what_others_put_into_a_map_that_we_left_empty_is_drift_only_if_it_takes_the_map() {
        let wanted = json!({"a": {}, "b": 1});
        let fields = json!({"f:a": {}, "f:b": {}});
        let before = object(&fields, &json!({"a": {"default": 1}, "b": 1}));
        let filled = json!({"a": {"default": 2, "theirs": 1}, "b": 1});
        assert_eq!(drift(&wanted, &before, &object(&fields, &filled)), Drift::None);
        let taken = json!({"f:b": {}});
        assert_eq!(drift(&wanted, &before, &object(&taken, &filled)), Drift::Values);
        let other = json!({"f:a": {}});
        assert_eq!(drift(&wanted, &before, &object(&other, &filled)), Drift::Ownership);
    }
}
