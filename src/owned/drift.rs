//! What moved in the values that we own, for people.
//!
//! In: our fields, the object as it was and as it is, the ignored paths. Out: readable differences; none exactly when
//! [`super::project`] gives both objects the same hash. Never here: deciding anything; hiding secrets (the caller
//! knows which objects carry them).

use super::fields::FieldSet;
use super::ignore::{Cursor, Ignored, Level};
use super::path::{FieldPath, Step};
use super::trail::Trail;
use serde_json::Value;

/// An owned value that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where. The path of a list with [`Step::Key`] children means its order.
    pub path: FieldPath,
    /// As it was, nothing if it was absent. For an order: the keys.
    pub ours: Option<Value>,
    /// As it is.
    pub theirs: Option<Value>,
}

/// Compares two states of an object at the owned fields. Values owned as a whole are told part by part.
pub fn differences(
    fields: &FieldSet,
    before: &Value,
    after: &Value,
    ignored: &Ignored,
) -> Vec<Difference> {
    let mut walk = Walk(Vec::new());
    let cursor = ignored.cursor(Level::Object);
    walk.parts(fields, [Some(before), Some(after)], &Trail::ROOT, &cursor);
    walk.0
}

struct Walk(Vec<Difference>);

/// The same place before and after.
type Both<'a> = [Option<&'a Value>; 2];

impl Walk {
    fn report(&mut self, trail: &Trail<'_>, [ours, theirs]: Both<'_>) {
        let path = trail.path();
        self.0.push(Difference { path, ours: ours.cloned(), theirs: theirs.cloned() });
    }

    fn owned(&mut self, fields: &FieldSet, both: Both<'_>, trail: &Trail<'_>, cursor: &Cursor<'_>) {
        match both {
            _ if !fields.is_leaf() => self.parts(fields, both, trail, cursor),
            [Some(_), Some(_)] if fields.is_presence() => {}
            _ if fields.is_hollow() => {}
            both => self.values(both, trail, cursor),
        }
    }

    fn parts(&mut self, fields: &FieldSet, both: Both<'_>, trail: &Trail<'_>, cursor: &Cursor<'_>) {
        let mut elements = false;
        for child in fields.children() {
            let Step::Field(name) = &child.step else {
                elements = true;
                break;
            };
            if let Some(cursor) = cursor.field(name) {
                let both = both.map(|value| value.and_then(|value| value.get(&**name)));
                self.owned(&child.below, both, &trail.field(name), &cursor);
            }
        }
        if elements {
            let both = both.map(|list| ours(fields, list, cursor));
            self.elements(fields, both, trail);
        }
    }

    fn elements(&mut self, fields: &FieldSet, both: [Vec<Ours<'_>>; 2], trail: &Trail<'_>) {
        let [before, mut after] = both;
        let mut orders = [Vec::new(), Vec::new()];
        let arrived: Vec<usize> = after.iter().map(|ours| ours.child).collect();
        for was in before {
            let child = &fields.children()[was.child];
            let trail = &trail.step(&child.step);
            if let Some(at) = after.iter().position(|is| is.child == was.child) {
                let is = after.remove(at);
                orders[0].push(was.child);
                self.owned(&child.below, [Some(was.element), Some(is.element)], trail, &was.cursor);
            } else {
                self.report(trail, [Some(was.element), None]);
            }
        }
        for is in &after {
            let trail = &trail.step(&fields.children()[is.child].step);
            self.report(trail, [None, Some(is.element)]);
        }
        // Only elements that were there before and after can stand in another order.
        orders[1] = arrived.into_iter().filter(|child| orders[0].contains(child)).collect();
        self.order(fields, orders, trail);
    }

    fn order(&mut self, fields: &FieldSet, orders: [Vec<usize>; 2], trail: &Trail<'_>) {
        let keyed = |child: &usize| matches!(fields.children()[*child].step, Step::Key(_));
        let [before, after] =
            orders.map(|order| order.into_iter().filter(keyed).collect::<Vec<_>>());
        if before != after {
            let key = |child: usize| match &fields.children()[child].step {
                Step::Key(key) => Value::String(key.to_string()),
                _ => Value::Null,
            };
            let [before, after] =
                [before, after].map(|order| order.into_iter().map(key).collect::<Value>());
            self.report(trail, [Some(&before), Some(&after)]);
        }
    }

    /// Values that are wholly ours, told as deep as their shapes agree.
    fn values(&mut self, both: Both<'_>, trail: &Trail<'_>, cursor: &Cursor<'_>) {
        match both {
            [Some(Value::Object(before)), Some(Value::Object(after))] => {
                let added = after.keys().filter(|name| !before.contains_key(*name));
                for name in before.keys().chain(added) {
                    if let Some(cursor) = cursor.field(name) {
                        let both = [before.get(name), after.get(name)];
                        self.values(both, &trail.field(name), &cursor);
                    }
                }
            }
            [Some(Value::Array(before)), Some(Value::Array(after))] => {
                let [before, after] = [before, after].map(|list| kept(list, cursor));
                if before.len() != after.len() {
                    return self.report(trail, both);
                }
                for ((index, was, _), (_, is, cursor)) in before.iter().zip(&after) {
                    self.values([Some(was), Some(is)], &trail.index(*index), cursor);
                }
            }
            both => {
                if both[0] != both[1] {
                    self.report(trail, both);
                }
            }
        }
    }
}

/// An element of ours in a list, with what is ignored inside it.
struct Ours<'a> {
    child: usize,
    element: &'a Value,
    cursor: Cursor<'a>,
}

fn ours<'a>(fields: &FieldSet, list: Option<&'a Value>, cursor: &Cursor<'a>) -> Vec<Ours<'a>> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut ours = Vec::new();
    for (index, element) in list.iter().enumerate() {
        if let Some(child) = fields.element(index, element)
            && let Some(cursor) = cursor.element(index, element)
            && !(is_member(fields, child) && ours.iter().any(|ours: &Ours<'_>| ours.child == child))
        {
            ours.push(Ours { child, element, cursor });
        }
    }
    ours
}

fn is_member(fields: &FieldSet, child: usize) -> bool {
    matches!(fields.children()[child].step, Step::Value(_))
}

/// The elements that are not ignored, with their positions.
fn kept<'a>(list: &'a [Value], cursor: &Cursor<'a>) -> Vec<(usize, &'a Value, Cursor<'a>)> {
    let elements = list.iter().enumerate();
    elements.filter_map(|(at, item)| Some((at, item, cursor.element(at, item)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    fn told(fields: &Value, before: &Value, after: &Value) -> Vec<String> {
        let fields = FieldSet::deserialize(fields).unwrap();
        let shown = |value: Option<Value>| value.map_or("absent".into(), |value| value.to_string());
        let differences = differences(&fields, before, after, &Ignored::default()).into_iter();
        let line =
            |one: Difference| format!("{}: {} -> {}", one.path, shown(one.ours), shown(one.theirs));
        differences.map(line).collect()
    }

    #[test]
    fn whole_values_are_told_as_deep_as_their_shapes_agree() {
        let fields = json!({"f:rules": {}, "f:selector": {}});
        let before =
            json!({"rules": [{"verbs": ["get"]}, {"verbs": ["list"]}], "selector": {"a": "b"}});
        let after =
            json!({"rules": [{"verbs": ["get"]}, {"verbs": ["*"]}], "selector": {"c": "d"}});
        assert_eq!(
            told(&fields, &before, &after),
            [
                r#"rules[1].verbs[0]: "list" -> "*""#,
                r#"selector.a: "b" -> absent"#,
                r#"selector.c: absent -> "d""#,
            ]
        );
        let longer = json!({"rules": [{}, {}, {}], "selector": "text"});
        assert_eq!(
            told(&fields, &before, &longer),
            [
                r#"rules: [{"verbs":["get"]},{"verbs":["list"]}] -> [{},{},{}]"#,
                r#"selector: {"a":"b"} -> "text""#,
            ]
        );
    }

    #[test]
    fn an_order_is_told_once_and_by_key_beside_what_came_and_went() {
        let key = |name: &str| format!(r#"k:{{"n":"{name}"}}"#);
        let fields =
            json!({"f:l": {key("a"): {"f:n": {}}, key("b"): {"f:n": {}}, key("c"): {"f:n": {}}}});
        let list = |names: &[&str]| -> Value {
            json!({"l": names.iter().map(|name| json!({"n": name})).collect::<Value>()})
        };
        let told = |before: &[&str], after: &[&str]| told(&fields, &list(before), &list(after));
        assert_eq!(told(&["c", "a"], &["x", "a", "c"]), [r#"l: ["n=c","n=a"] -> ["n=a","n=c"]"#]);
        assert_eq!(
            told(&["a", "b", "c"], &["c", "a"]),
            [r#"l[n=b]: {"n":"b"} -> absent"#, r#"l: ["n=a","n=c"] -> ["n=c","n=a"]"#,]
        );
        assert_eq!(told(&["a"], &["b", "a"]), [r#"l[n=b]: absent -> {"n":"b"}"#]);
    }
}
