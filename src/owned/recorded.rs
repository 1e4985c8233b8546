//! Claims over what a real API server answered: `tests/fixtures/owned`, refreshed by its `refresh.py`.
//!
//! In: files with a desired object, the answer to its apply, and in `edited/` the answer to somebody else's patch.
//! Out: test results. Never here: a server.

mod altered;

use super::*;
use altered::{add_foreign, leaves, swapped, thinned};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::path::Path;

const MANAGER: &str = "kubewright:demo:0123456789abcdef";

fn entry_of(object: &Value) -> Option<Entry<'_>> {
    our_entry(&object["metadata"]["managedFields"], MANAGER)
}

struct Recorded {
    name: String,
    content: Value,
}

fn recorded(folder: &str) -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/owned").join(folder);
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |path: std::path::PathBuf| Recorded {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        content: serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap(),
    };
    files.into_iter().map(read).collect()
}

impl Recorded {
    fn desired(&self) -> &Value {
        &self.content["desired"]
    }

    fn live(&self) -> &Value {
        &self.content["live"]
    }

    /// Our entry of an object, as it is remembered after an apply.
    fn fields(&self) -> FieldSet {
        let entry = entry_of(self.live()).unwrap();
        let mut fields = entry.fields().unwrap();
        fields.presence_where_empty(self.desired());
        fields
    }

    fn matching(&self, fields: &FieldSet, live: &Value) -> Vec<Mismatch> {
        match matches(self.desired(), fields, live, &Ignored::default()) {
            Matching::Covered => Vec::new(),
            Matching::Differs(mismatches) => mismatches,
        }
    }
}

fn hash(fields: &FieldSet, object: &Value) -> u64 {
    project(fields, object, &Ignored::default())
}

#[test]
fn every_answer_covers_its_intent() {
    let files = recorded("created");
    assert!(files.len() >= 45, "{} fixtures", files.len());
    for file in files.iter().chain(&recorded("edited")) {
        let name = &file.name;
        let managed_fields = &file.live()["metadata"]["managedFields"];
        let entry = entry_of(file.live()).unwrap();
        let fields = entry.fields().unwrap();
        assert_eq!(file.matching(&fields, file.live()), [], "{name}");
        assert_eq!(file.matching(&file.fields(), file.live()), [], "{name}");
        assert_eq!(Some(&*entry.api_version), file.desired()["apiVersion"].as_str());
        let text = RawValue::from_string(managed_fields.to_string()).unwrap();
        let in_text = our_entry_in_text(&text, MANAGER).unwrap();
        assert_eq!(in_text.fingerprint, entry.fingerprint, "{name}");
        assert_eq!(in_text.fields(), Some(fields), "{name}");
    }
}

#[test]
fn what_was_sent_is_canonical() {
    for file in recorded("created") {
        let rendered = file.content.get("rendered").unwrap_or(file.desired()).clone();
        assert_eq!(canonical(rendered).as_ref(), Ok(file.desired()), "{}", file.name);
    }
}

#[test]
fn a_live_object_is_its_own_canonical_form_less_what_the_server_keeps() {
    for file in recorded("created") {
        let intent = canonical(file.live().clone()).unwrap();
        assert_eq!(intent.get("status"), None);
        assert_eq!(intent["metadata"].get("managedFields"), None);
        assert_eq!(intent.get("spec"), file.live().get("spec"), "{}", file.name);
    }
}

#[test]
fn edits_of_others_are_seen_exactly_where_they_touch_what_is_ours() {
    for file in recorded("edited") {
        let (fields, after) = (file.fields(), &file.content["after"]);
        let found = match entry_of(after) {
            Some(entry) => {
                let shown = file.matching(&entry.fields().unwrap(), after).into_iter();
                shown.map(|mismatch| Value::String(mismatch.to_string())).collect()
            }
            None => Value::Null,
        };
        assert_eq!(found, file.content["mismatches"], "{}", file.name);
        let shown = |value: Option<Value>| value.map_or("absent".into(), |value| value.to_string());
        let drift = differences(&fields, file.live(), after, &Ignored::default());
        let drift: Value = drift
            .into_iter()
            .map(|one| format!("{}: {} -> {}", one.path, shown(one.ours), shown(one.theirs)))
            .collect();
        assert_eq!(drift, file.content["drift"], "{}", file.name);
        let same = hash(&fields, file.live()) == hash(&fields, after);
        assert_eq!(same, drift == json!([]), "{}", file.name);
        let nothing = Ignored::default();
        let memo = entry_of(file.live())
            .and_then(|entry| Memo::of(file.desired(), &entry, file.live(), &nothing));
        let verdict = memo.unwrap().drift(entry_of(after).as_ref(), after, &nothing);
        assert_eq!(format!("{verdict:?}"), file.content["verdict"], "{}", file.name);
    }
}

#[test]
fn the_holder_of_a_lost_field_is_named() {
    let files = recorded("edited");
    let file = files.iter().find(|file| file.name == "replicas-scaled").unwrap();
    let after = &file.content["after"];
    let entry = entry_of(after).unwrap();
    let mismatches = file.matching(&entry.fields().unwrap(), after);
    let holders = holders(&after["metadata"]["managedFields"], mismatches[0].path(), after);
    let shown: Vec<_> = holders.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["somebody (Update, scale)"]);
}

#[test]
fn changing_or_removing_any_owned_value_changes_the_projection() {
    for file in recorded("created") {
        let (fields, live) = (file.fields(), file.live());
        let mut found = Vec::new();
        leaves(&fields, live, "", &mut found);
        assert!(!found.is_empty(), "{}", file.name);
        for (pointer, leaf) in found {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let mut changed = live.clone();
            match changed.pointer_mut(parent) {
                Some(Value::Object(map)) => {
                    let name = name.replace("~1", "/").replace("~0", "~");
                    // Of an empty map that we sent only the presence is ours.
                    let absent = map.get(&name).is_none();
                    if leaf.is_presence() && !absent {
                        map.remove(&name);
                    } else {
                        map.insert(name, json!("somebody else's"));
                    }
                }
                Some(Value::Array(list)) => list[name.parse::<usize>().unwrap()] = json!("else"),
                // An owned value inside of something that the server dropped.
                _ => continue,
            }
            let note = format!("{}: {pointer}", file.name);
            assert_ne!(hash(&fields, &changed), hash(&fields, live), "{note}");
            assert_ne!(differences(&fields, live, &changed, &Ignored::default()), [], "{note}");
            let mut removed = live.clone();
            match removed.pointer_mut(parent) {
                Some(Value::Object(map)) => {
                    let name = name.replace("~1", "/").replace("~0", "~");
                    if map.remove(&name).is_none() {
                        continue;
                    }
                }
                Some(Value::Array(list)) => drop(list.remove(name.parse::<usize>().unwrap())),
                _ => continue,
            }
            assert_ne!(hash(&fields, &removed), hash(&fields, live), "{note}");
        }
    }
}

#[test]
fn additions_of_others_change_nothing() {
    for file in recorded("created") {
        let (fields, mut busy) = (file.fields(), file.live().clone());
        add_foreign(&fields, &mut busy);
        busy["metadata"]["resourceVersion"] = json!("2");
        busy["status"] = json!({"observedGeneration": 7});
        assert_ne!(&busy, file.live());
        assert_eq!(file.matching(&fields, &busy), [], "{}", file.name);
        assert_eq!(
            differences(&fields, file.live(), &busy, &Ignored::default()),
            [],
            "{}",
            file.name
        );
        assert_eq!(hash(&fields, &busy), hash(&fields, file.live()), "{}", file.name);
    }
}

#[test]
fn losing_any_field_is_told_as_not_owned() {
    use serde::Deserialize;
    for file in recorded("created") {
        let managed_fields = &file.live()["metadata"]["managedFields"];
        let ours = managers(managed_fields).find(|(holder, _)| holder.is_apply_of(MANAGER));
        for thinner in thinned(&ours.unwrap().1["fieldsV1"], file.desired()) {
            let fields = FieldSet::deserialize(&thinner).unwrap();
            let found = file.matching(&fields, file.live());
            let lost = found.iter().filter(|found| matches!(found, Mismatch::NotOwned(_)));
            assert!(lost.count() >= 1, "{}: {thinner}: {found:?}", file.name);
        }
    }
}

#[test]
fn swapping_two_of_our_elements_is_another_order() {
    let mut swaps = 0;
    for file in recorded("created") {
        let (fields, live) = (file.fields(), file.live());
        for other in swapped(&fields, live) {
            swaps += 1;
            assert_ne!(hash(&fields, &other), hash(&fields, live), "{}", file.name);
            let found = file.matching(&fields, &other);
            assert!(matches!(found[..], [Mismatch::OrderDiffers(_)]), "{}: {found:?}", file.name);
            let told = differences(&fields, live, &other, &Ignored::default());
            assert_eq!(told.len(), 1, "{}: {told:?}", file.name);
        }
    }
    assert!(swaps >= 10, "{swaps} swaps");
}
