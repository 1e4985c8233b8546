//! What an apply cannot do by itself, measured on 1.37: the places of an object that have to be changed before it.
//!
//! In: what is to be sent, our fields, the live object, the server's refusal. Out: places and their values.
//! Never here: a place that the refusal does not speak of; an element that somebody else applies; a schema.
//!
//! - Somebody edits the key of an element of ours (a Service's port). To server-side apply that is another element, and
//!   ours is missing: beside each other the server refuses them. The edited one is made ours again.
//! - A map of a custom resource loses its last key to an apply that wants it to be `{}`: the server makes `null` of it,
//!   which its own schema refuses. The map is emptied first.

use super::entry::{managers, unparsed_at};
use super::fields::FieldSet;
use super::matching::assign;
use super::path::Step;
use super::trail::Trail;
use serde_json::{Map, Value, json};

/// A place, as a JSON pointer, and the value that it is to have.
pub type Mend = (String, Value);

/// What has to be changed in `live` (with its `managedFields`) before `wanted` can be applied, if the refusal `told` is of
/// one of the two sorts. `fields` is what `manager` owns.
pub fn mended(
    wanted: &Value,
    fields: &FieldSet,
    live: &Value,
    manager: &str,
    told: &str,
) -> Vec<Mend> {
    let mut mending = Mending { live, manager, told, found: Vec::new() };
    let at = At { fields, live, trail: &Trail::ROOT, pointer: "" };
    for (name, value) in wanted.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "apiVersion" | "kind" | "status" | "metadata") {
            mending.field(name, value, at);
        }
    }
    mending.found
}

/// Whether the server stored a null where we want an empty map: it does so when the last key of a map goes that has no
/// schema. Applied once more, the map is there.
pub fn emptied_to_null(wanted: &Value, answer: &Value) -> bool {
    match (wanted, answer) {
        (Value::Object(wanted), Value::Null) => wanted.is_empty(),
        (Value::Object(wanted), Value::Object(answer)) => wanted.iter().any(|(name, value)| {
            answer.get(name).is_some_and(|answer| emptied_to_null(value, answer))
        }),
        _ => false,
    }
}

struct Mending<'a> {
    live: &'a Value,
    manager: &'a str,
    told: &'a str,
    found: Vec<Mend>,
}

#[derive(Clone, Copy)]
struct At<'a> {
    fields: &'a FieldSet,
    live: &'a Value,
    trail: &'a Trail<'a>,
    pointer: &'a str,
}

/// Where nothing is owned.
static NOTHING: std::sync::LazyLock<FieldSet> = std::sync::LazyLock::new(FieldSet::default);

impl Mending<'_> {
    fn field(&mut self, name: &str, wanted: &Value, at: At<'_>) {
        let Some(live) = at.live.get(name) else { return };
        let escaped = name.replace('~', "~0").replace('/', "~1");
        let inside = At {
            fields: at.fields.field(name).unwrap_or(&NOTHING),
            live,
            trail: &at.trail.field(name),
            pointer: &format!("{}/{escaped}", at.pointer),
        };
        match (wanted, live) {
            (Value::Object(wanted), Value::Object(live)) if wanted.is_empty() => {
                let ours = |name: &String| inside.fields.field(name).is_some();
                if self.told.contains("\"null\"") && !live.is_empty() && live.keys().all(ours) {
                    self.found.push((inside.pointer.to_owned(), json!({})));
                }
            }
            (Value::Object(wanted), Value::Object(_)) => {
                wanted.iter().for_each(|(name, value)| self.field(name, value, inside));
            }
            (Value::Array(wanted), Value::Array(live)) => self.list(name, wanted, live, inside),
            _ => {}
        }
    }

    fn list(&mut self, name: &str, wanted: &[Value], live: &[Value], at: At<'_>) {
        let keys = self.keys(at.trail);
        if keys.is_empty() {
            return;
        }
        let assigned = assign(wanted, at.fields).children;
        let ours: Vec<Option<usize>> =
            live.iter().enumerate().map(|(index, live)| at.fields.element(index, live)).collect();
        let complaints = complaints(self.told, name);
        let mut list = live.to_vec();
        let mut free: Vec<usize> = (0..live.len())
            .filter(|index| ours[*index].is_none() && !self.others_apply(at.trail, &live[*index]))
            .collect();
        for (element, child) in wanted.iter().zip(&assigned) {
            if let Some(child) = child {
                let position = ours.iter().position(|owned| owned == &Some(*child));
                if let Some(position) = position {
                    let owned = &at.fields.children()[*child];
                    let inside = At {
                        fields: &owned.below,
                        live: &live[position],
                        trail: &at.trail.step(&owned.step),
                        pointer: &format!("{}/{position}", at.pointer),
                    };
                    let wanted = element.as_object().into_iter().flatten();
                    wanted.for_each(|(name, value)| self.field(name, value, inside));
                }
                continue;
            }
            let collides = |at: &usize| collide(element, &live[*at], &keys, &complaints);
            if let Some(found) = free.iter().position(collides) {
                let position = free.remove(found);
                list[position] = rekeyed(&live[position], element, &keys);
            }
        }
        if list != live {
            self.found.push((at.pointer.to_owned(), Value::Array(list)));
        }
    }

    /// The fields that tell the elements of a list apart, as any entry says.
    fn keys(&self, trail: &Trail<'_>) -> Vec<String> {
        let entries = self.live.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
        let path = trail.path();
        let steps =
            managers(entries).filter_map(|(_, entry)| unparsed_at(entry, &path)?.as_object());
        let mut steps = steps.flat_map(Map::keys).filter_map(|step| Step::parse(step));
        let key = steps.find_map(|step| match step {
            Step::Key(key) => Some(key.to_element()),
            _ => None,
        });
        let names = key.iter().filter_map(Value::as_object).flat_map(Map::keys);
        names.cloned().collect()
    }

    /// Whether somebody else applies this element, and would be fought.
    fn others_apply(&self, trail: &Trail<'_>, element: &Value) -> bool {
        let entries = self.live.pointer("/metadata/managedFields").unwrap_or(&Value::Null);
        let path = trail.path();
        let fits = |step: &String| match Step::parse(step) {
            Some(Step::Key(key)) => key.fits(element),
            _ => false,
        };
        managers(entries)
            .filter(|(holder, _)| holder.operation == "Apply" && holder.manager != self.manager)
            .filter_map(|(_, entry)| unparsed_at(entry, &path)?.as_object())
            .any(|fields| fields.keys().any(fits))
    }
}

/// What the refusal says of elements of this list: the field below it, or nothing if it speaks of the element itself.
fn complaints(told: &str, list: &str) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for (at, _) in told.match_indices(&format!("{list}[")) {
        let rest = &told[at + list.len() + 1..];
        let Some((index, rest)) = rest.split_once(']') else { continue };
        if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) {
            let field = rest.strip_prefix('.').map(|rest| {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                rest[..end].to_owned()
            });
            found.push(field);
        }
    }
    found
}

/// Whether the server would refuse the two beside each other, for a reason that it told.
fn collide(wanted: &Value, live: &Value, keys: &[String], complaints: &[Option<String>]) -> bool {
    let same = |name: &str| wanted.get(name) == live.get(name);
    let all_same = || {
        let mut stated = wanted.as_object().into_iter().flatten();
        stated.all(|(name, _)| keys.contains(name) || same(name))
    };
    complaints.iter().any(|complaint| match complaint {
        Some(field) => same(field),
        None => all_same(),
    })
}

/// The live element with the key and the values that we want; what else it has (a port of the nodes) stays.
fn rekeyed(live: &Value, wanted: &Value, keys: &[String]) -> Value {
    let mut element = live.clone();
    if let Value::Object(fields) = &mut element {
        fields.retain(|name, _| !keys.contains(name));
    }
    overlay(&mut element, wanted);
    element
}

fn overlay(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                overlay(under.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owned::our_entry;

    const DUPLICATE: &str =
        "Service \"web\" is invalid: spec.ports[1].name: Duplicate value: \"http\"";
    const REQUIRED: &str = "Service \"web\" is invalid: [spec.ports[0].name: Required value, spec.ports[1].name: Required value]";

    fn key(port: u16, protocol: &str) -> String {
        format!(r#"k:{{"port":{port},"protocol":"{protocol}"}}"#)
    }

    /// A live Service with the ports that each manager owns.
    fn service(ports: &Value, owned: &[(&str, &str, u16, &str)]) -> Value {
        let entries = owned.iter().map(|(manager, operation, port, protocol)| {
            json!({"manager": manager, "operation": operation, "apiVersion": "v1",
                "fieldsV1": {"f:spec": {"f:selector": {}, "f:ports": {key(*port, protocol): {"f:port": {}}}}}})
        });
        json!({"metadata": {"managedFields": entries.collect::<Vec<_>>()}, "spec": {"ports": ports}})
    }

    fn mends(wanted: &Value, live: &Value, told: &str) -> Vec<Mend> {
        let entry = our_entry(&live["metadata"]["managedFields"], "us");
        let fields = entry.and_then(|entry| entry.fields()).unwrap_or_default();
        mended(wanted, &fields, live, "us", told)
    }

    #[test]
    fn an_edited_key_is_made_ours_again_and_its_neighbours_stay() {
        let wanted =
            json!({"spec": {"ports": [{"name": "http", "port": 80}, {"name": "m", "port": 90}]}});
        let edited = json!({"name": "http", "port": 81, "protocol": "TCP", "targetPort": 80, "nodePort": 30001});
        let mine = json!({"name": "m", "port": 90, "protocol": "TCP"});
        let theirs = json!({"name": "x", "port": 1, "protocol": "TCP"});
        let live = service(
            &json!([edited, mine, theirs]),
            &[("us", "Apply", 90, "TCP"), ("hand", "Update", 81, "TCP")],
        );
        let again = json!({"name": "http", "port": 80, "targetPort": 80, "nodePort": 30001});
        let list = json!([again, mine, theirs]);
        assert_eq!(mends(&wanted, &live, DUPLICATE), [("/spec/ports".to_owned(), list)]);
        assert_eq!(
            mends(&wanted, &live, "spec.ports[0].port: must be between 1 and 65535"),
            [],
            "the foreign port is another"
        );
        assert_eq!(mends(&wanted, &live, "spec.replicas: Invalid value: -1"), []);
    }

    #[test]
    fn a_protocol_is_a_key_too_and_a_port_needs_no_name() {
        let wanted = json!({"spec": {"ports": [{"port": 53}]}});
        let live = |port: u16, protocol: &str, how: &str| {
            service(
                &json!([{"port": port, "protocol": protocol}]),
                &[("hand", how, port, protocol)],
            )
        };
        let list = [("/spec/ports".to_owned(), json!([{"port": 53}]))];
        assert_eq!(mends(&wanted, &live(54, "TCP", "Update"), REQUIRED), list);
        assert_eq!(mends(&wanted, &live(53, "UDP", "Update"), REQUIRED), list);
        assert_eq!(
            mends(&wanted, &live(54, "TCP", "Apply"), REQUIRED),
            [],
            "it is applied by somebody"
        );
    }

    #[test]
    fn a_map_of_ours_is_emptied_if_null_was_the_trouble() {
        let told =
            "spec.m: Invalid value: \"null\": spec.m in body must be of type object: \"null\"";
        let live = |m: Value, fields: Value| {
            let entry = json!({"manager": "us", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:spec": {"f:a/b": {"f:m": fields}}}});
            json!({"metadata": {"managedFields": [entry]}, "spec": {"a/b": {"m": m}}})
        };
        let wanted = json!({"spec": {"a/b": {"m": {}}}});
        let ours = live(json!({"x": 1}), json!({"f:x": {}}));
        assert_eq!(mends(&wanted, &ours, told), [("/spec/a~1b/m".to_owned(), json!({}))]);
        assert_eq!(mends(&wanted, &ours, "spec.m: Required value"), []);
        assert_eq!(
            mends(&wanted, &live(json!({"x": 1, "y": 1}), json!({"f:x": {}})), told),
            [],
            "it would not be empty"
        );
        assert_eq!(mends(&wanted, &live(json!({}), json!({})), told), []);
    }

    #[test]
    fn a_null_in_place_of_an_empty_map_is_seen() {
        let wanted = json!({"spec": {"free": {"x": {}}, "list": []}});
        assert!(emptied_to_null(&wanted, &json!({"spec": {"free": {"x": null}}})));
        for answer in [
            json!({"spec": {"free": {"x": {}}}}),
            json!({"spec": {"free": {}, "list": null}}),
            json!({}),
        ] {
            assert!(!emptied_to_null(&wanted, &answer), "{answer}");
        }
    }
}
