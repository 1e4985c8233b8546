//! Keeps values of Secrets out of plans.
//!
//! In: a plan. Out: the same with lengths and short hashes in the place of values that are secret. Pure; the key of the hashes
//! comes with the request, so that nobody can try out values against a printed hash. Never here: which values may flow where
//! (a rule that lets them flow outside of Secrets without saying so is refused when it is compiled).
//!
//! Secret is what is in `data` of a Secret, and in a rule with `reveal: true` that reads or makes Secrets every value of every
//! child and of the status. Texts are searched as well: a value of a Secret that concerns the parent is taken out of messages.

use super::{Change, ParentPlan};
use crate::fetch::Observed;
use crate::input::Input;
use crate::marks;
use crate::object::Gvk;
use crate::owned::changes::Operation;
use crate::owned::{Delta, Step};
use crate::rule::Rule;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;

/// Shorter values are not searched for in texts: they are in many words by chance. Where they stand as values they are hidden
/// all the same.
const SHORTEST: usize = 6;

/// Hides values.
pub struct Hider {
    key: hmac::Key,
}

/// The same with what is secret of one parent.
pub(super) struct Knowing<'a> {
    key: &'a hmac::Key,
    /// Texts that must not be seen.
    texts: Vec<String>,
    /// Whether every value may come from a Secret.
    fed: bool,
}

/// What of an object is secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cover {
    Nothing,
    Data,
    Everything,
}

impl Hider {
    /// With a key for the hashes: random bytes of the request.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key) }
    }

    /// Learns what is secret of a parent.
    pub(super) fn knowing(&self, rule: &Rule, observed: &Observed) -> Knowing<'_> {
        let mut texts = Vec::new();
        let inputs = rule.inputs.iter().filter_map(|input| observed.inputs.get(&input.id));
        for input in inputs {
            match input {
                Input::Object(_, value) => values_of(value, &mut texts),
                Input::List(Value::Array(list)) => {
                    for one in list {
                        values_of(one, &mut texts);
                    }
                }
                _ => {}
            }
        }
        let edited = observed.edited.iter().map(|edited| &edited.live);
        let lives = observed.children.values().chain(observed.lost.values()).chain(edited);
        for live in lives.chain([&observed.parent]).filter(|live| live.id.is_secret()) {
            values_of(live.value(), &mut texts);
        }
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts.dedup();
        let reads = rule.inputs.iter().map(|input| &input.gvk).chain(&rule.parent.kinds);
        let fed = rule.reveal && reads.chain(rule.kinds()).any(Gvk::is_secret);
        Knowing { key: &self.key, texts, fed }
    }
}

/// The values of a Secret, as they are and as they are stored.
fn values_of(object: &Value, texts: &mut Vec<String>) {
    if !Gvk::of(object).is_some_and(|gvk| gvk.is_secret()) {
        return;
    }
    for value in object["data"].as_object().into_iter().flatten().filter_map(|(_, v)| v.as_str()) {
        let plain = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let plain = plain.iter().flat_map(|text| [text.clone(), text.trim().to_owned()]);
        texts.extend(plain.chain([value.to_owned()]).filter(|text| text.len() >= SHORTEST));
    }
}

impl Knowing<'_> {
    /// Hides everything in a plan.
    pub(super) fn hide(&self, plan: &mut ParentPlan) {
        for child in &mut plan.children {
            let secret = child.object.as_ref().is_some_and(crate::object::ObjectId::is_secret);
            let cover = self.cover(secret);
            if let Some(change) = &mut child.change {
                self.change(change, cover);
            }
            child.why = self.text(&child.why);
            child.waits = child.waits.as_deref().map(|why| self.text(why));
        }
        if let Some(change) = &mut plan.status {
            self.change(change, self.cover(plan.parent.is_secret()));
        }
        for problem in &mut plan.problems {
            problem.message = self.text(&problem.message);
            problem.hint = problem.hint.as_deref().map(|hint| self.text(hint));
        }
        if let Some(report) = &mut plan.report {
            report.message = self.text(&report.message);
            report.fields.clear();
            for child in &mut report.children {
                child.message = self.text(&child.message);
            }
        }
    }

    fn cover(&self, secret: bool) -> Cover {
        match (self.fed, secret) {
            (true, _) => Cover::Everything,
            (false, true) => Cover::Data,
            (false, false) => Cover::Nothing,
        }
    }

    fn change(&self, change: &mut Change, cover: Cover) {
        for operation in &mut change.changes.operations {
            self.operation(operation, cover);
        }
        self.delta(&mut change.changes.delta, &mut Vec::new(), cover);
    }

    fn operation(&self, operation: &mut Operation, cover: Cover) {
        let steps = operation.field.steps().iter().map(|step| match step {
            Step::Field(name) => name.to_string(),
            other => other.to_string(),
        });
        let mut path: Vec<String> = steps.collect();
        for value in [&mut operation.was, &mut operation.is].into_iter().flatten() {
            *value = self.value(value, &mut path, cover);
        }
    }

    fn delta(&self, delta: &mut Delta, path: &mut Vec<String>, cover: Cover) {
        match delta {
            Delta::Same(value) => *value = self.value(value, path, cover),
            Delta::Change(_) => {}
            Delta::Map(entries) => {
                for (name, below) in entries {
                    path.push(name.clone());
                    self.delta(below, path, cover);
                    path.pop();
                }
            }
            Delta::List(list) => {
                path.push(String::new());
                for below in list {
                    self.delta(below, path, cover);
                }
                path.pop();
            }
        }
    }

    fn value(&self, value: &Value, path: &mut Vec<String>, cover: Cover) -> Value {
        match value {
            Value::Object(map) => {
                let entries = map.iter().map(|(name, below)| {
                    path.push(name.clone());
                    let below = self.value(below, path, cover);
                    path.pop();
                    (name.clone(), below)
                });
                Value::Object(entries.collect())
            }
            Value::Array(list) => {
                path.push(String::new());
                let list = list.iter().map(|below| self.value(below, path, cover)).collect();
                path.pop();
                list
            }
            Value::Null => Value::Null,
            scalar if covers(cover, path) => Value::String(self.hidden(scalar)),
            Value::String(text) => Value::String(self.text(text)),
            scalar => scalar.clone(),
        }
    }

    /// `<hidden: 24 bytes, 1a2b3c4d>`: of one request, equal hashes mean equal values.
    fn hidden(&self, value: &Value) -> String {
        let bytes = match value.as_str() {
            Some(text) => STANDARD.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec()),
            None => value.to_string().into_bytes(),
        };
        let tag = hmac::sign(self.key, &bytes);
        let hash =
            tag.as_ref().iter().take(4).fold(0_u32, |hash, byte| (hash << 8) | u32::from(*byte));
        format!("<hidden: {} bytes, {hash:08x}>", bytes.len())
    }

    /// A text without values of Secrets.
    pub(super) fn text(&self, text: &str) -> String {
        let hide = |text: String, secret: &String| {
            if text.contains(secret.as_str()) {
                text.replace(secret.as_str(), "<hidden>")
            } else {
                text
            }
        };
        self.texts.iter().fold(text.to_owned(), hide)
    }
}

/// Whether what is at a path is secret.
fn covers(cover: Cover, path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let open = match path.as_slice() {
        ["apiVersion" | "kind", ..]
        | ["metadata", "name" | "namespace" | "ownerReferences", ..] => true,
        ["metadata", "labels" | "annotations", name, ..] => name.starts_with(marks::PREFIX),
        _ => false,
    };
    match cover {
        Cover::Nothing => false,
        Cover::Everything => !open,
        Cover::Data => match path.as_slice() {
            ["data" | "stringData", ..] => true,
            // kubectl keeps a copy of the whole object there.
            ["metadata", "annotations", name, ..] => name.ends_with("last-applied-configuration"),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hidden(cover: Cover, object: &Value) -> Value {
        let hider = Hider::new(&[1; 32]);
        let texts = vec!["hunter2".to_owned()];
        let knowing = Knowing { key: &hider.key, texts, fed: false };
        knowing.value(object, &mut Vec::new(), cover)
    }

    #[test]
    fn of_a_secret_its_data_is_hidden_and_of_a_fed_child_everything_but_its_name() {
        let object = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "a", "labels": {"app": "web", "kubewright.io/rule": "r"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{..}", "note": "n"}},
            "type": "Opaque", "data": {"k": "aGVsbG8="}, "stringData": {"n": 7},
        });
        let is_hidden =
            |value: &Value| value.as_str().is_some_and(|text| text.starts_with("<hidden: "));
        let places = [
            ("/metadata/name", false, false),
            ("/metadata/labels/kubewright.io~1rule", false, false),
            ("/metadata/labels/app", false, true),
            ("/metadata/annotations/note", false, true),
            ("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", true, true),
            ("/type", false, true),
            ("/data/k", true, true),
            ("/stringData/n", true, true),
            ("/kind", false, false),
        ];
        for (place, data, everything) in places {
            for (cover, expected) in
                [(Cover::Nothing, false), (Cover::Data, data), (Cover::Everything, everything)]
            {
                let shown = hidden(cover, &object);
                assert_eq!(is_hidden(shown.pointer(place).unwrap()), expected, "{place}");
            }
        }
    }

    #[test]
    fn a_hidden_value_shows_its_length_and_equal_ones_are_seen_to_be_equal() {
        let data = json!({"data": {"a": "aGVsbG8=", "b": "aGVsbG8=", "c": "aGVsbG9v"}});
        let shown = hidden(Cover::Data, &data);
        assert!(shown["data"]["a"].as_str().unwrap().starts_with("<hidden: 5 bytes, "));
        assert_eq!(shown["data"]["a"], shown["data"]["b"]);
        assert!(shown["data"]["c"].as_str().unwrap().starts_with("<hidden: 6 bytes, "));
        let other = Hider::new(&[2; 32]);
        let knowing = Knowing { key: &other.key, texts: Vec::new(), fed: false };
        let again = knowing.value(&data, &mut Vec::new(), Cover::Data);
        assert_ne!(again, shown, "a hash says nothing to whoever does not have its key");
    }

    #[test]
    fn texts_are_searched_for_values_of_secrets() {
        let shown = hidden(Cover::Nothing, &json!({"m": ["it is hunter2!", "other"]}));
        assert_eq!(shown, json!({"m": ["it is <hidden>!", "other"]}));
    }
}
