//! Paths as server-side apply names them: fields, elements by key, members by value, positions.
//!
//! In: path elements of `FieldsV1`. Out: [`FieldPath`]s that read well, and a total order for binary search.
//! Never here: JSONPath, walking objects.

use crate::path::{self, Location};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::fmt;

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A map's key, `f:` in `FieldsV1`.
    Field(Box<str>),
    /// An element of a keyed list, `k:`.
    Key(Key),
    /// A member of a set, `v:`.
    Value(Box<Value>),
    /// A position in a list, `i:`.
    Index(usize),
}

/// The fields that identify an element of a keyed list, sorted by name. Includes defaulted ones (`protocol: TCP`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(Box<[(Box<str>, Value)]>);

/// Where a value is, from the root of an object. Prints as `spec.containers[name=app].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldPath(Vec<Step>);

impl Step {
    /// A map's key.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// Parses a key of `FieldsV1`; `None` if it is not of the four kinds or its content is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, content) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::field(content)),
            "k" => Some(Self::Key(Key::from(serde_json::from_str::<Map<_, _>>(content).ok()?))),
            "v" => Some(Self::Value(serde_json::from_str(content).ok()?)),
            "i" => Some(Self::Index(content.parse().ok()?)),
            _ => None,
        }
    }

    /// As a key of `FieldsV1`.
    pub(super) fn to_fields_v1(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(key) => format!("k:{}", key.to_element()),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// In the notation of conflicts: `.name`, `[name="app"]`, `[="member"]`, `[0]`.
    pub(super) fn as_the_server_writes(&self) -> String {
        match self {
            Self::Field(name) => format!(".{name}"),
            Self::Key(Key(fields)) => {
                let fields: Vec<_> =
                    fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("[{}]", fields.join(","))
            }
            Self::Value(value) => format!("[={value}]"),
            Self::Index(index) => format!("[{index}]"),
        }
    }

    /// How a person would point at an element of a list: by its name if it has one, else by its position.
    pub(super) fn of_element(index: usize, element: &Value) -> Self {
        match element.get("name") {
            Some(name @ Value::String(_)) => {
                Self::Key(Key(Box::new([("name".into(), name.clone())])))
            }
            _ => Self::Index(index),
        }
    }

    /// Fields before keys before values before positions; the same kind by content.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => a.order(b),
            (Self::Value(a), Self::Value(b)) => order(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Key {
    /// Whether the element states a part of the key and nothing that differs from it. What it leaves out was defaulted
    /// by the server.
    pub fn fits(&self, element: &Value) -> bool {
        let mut stated =
            self.0.iter().filter_map(|(name, value)| Some((value, element.get(&**name)?)));
        let equal = |(value, stated): (&Value, &Value)| order(value, stated).is_eq();
        stated.next().is_some_and(equal) && stated.all(equal)
    }

    /// How this key sorts beside the element's; `None` if the element leaves a key field out.
    pub(super) fn order_to(&self, element: &Value) -> Option<Ordering> {
        let mut result = Ordering::Equal;
        for (name, value) in &self.0 {
            result = result.then(order(value, element.get(&**name)?));
        }
        Some(result)
    }

    /// How many of the key fields the element states.
    pub(super) fn stated_in(&self, element: &Value) -> usize {
        self.0.iter().filter(|(name, _)| element.get(&**name).is_some()).count()
    }

    /// The part of the key that the element states: how to name an element that nobody owns.
    pub(super) fn stated_by(&self, element: &Value) -> Option<Self> {
        let names = self.0.iter().map(|(name, _)| name);
        let stated: Box<[_]> =
            names.filter_map(|name| Some((name.clone(), element.get(&**name)?.clone()))).collect();
        (!stated.is_empty()).then_some(Self(stated))
    }

    /// The least an element with this key looks like.
    pub(super) fn to_element(&self) -> Value {
        self.0.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
    }

    fn order(&self, other: &Self) -> Ordering {
        // Keys of one list have the same names, so values decide; names only keep the order total.
        let values = self.0.iter().zip(&other.0).map(|((_, a), (_, b))| order(a, b));
        let names = || self.0.iter().map(|pair| &pair.0).cmp(other.0.iter().map(|pair| &pair.0));
        values.fold(Ordering::Equal, Ordering::then).then_with(names)
    }
}

/// Sorted by name, as a JSON map is.
impl From<Map<String, Value>> for Key {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.into_boxed_str(), value)).collect())
    }
}

/// A total order of JSON values in which numbers compare by amount: `1` and `1.0` are equal, as they are in JSON.
pub(super) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(_), Value::Number(_)) => match (whole(a), whole(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)),
        },
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => {
            if a == b {
                Ordering::Equal
            } else {
                a.to_string().cmp(&b.to_string())
            }
        }
        _ => kind(a).cmp(&kind(b)),
    }
}

/// The amount of a number without a fraction; exact for every integer JSON in Kubernetes can carry.
fn whole(number: &Value) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "bounded by the comparison before it")]
    let from_float = |x: f64| (x.fract() == 0.0 && x.abs() < 1e30).then_some(x as i128);
    let from_int = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    from_int.or_else(|| number.as_f64().and_then(from_float))
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

impl FieldPath {
    /// From its steps, outermost first.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self(steps.into_iter().collect())
    }

    /// Outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The same place in an object, as far as the object has it; of several elements with one key the last.
    pub fn locate(&self, object: &Value) -> Location {
        let mut steps = Vec::new();
        let mut value = object;
        for step in &self.0 {
            let step = match (step, value) {
                (Step::Field(name), _) => path::Step::Key(name.to_string()),
                (Step::Index(index), _) => path::Step::Index(*index),
                (Step::Key(key), Value::Array(list)) => {
                    match list.iter().rposition(|element| key.fits(element)) {
                        Some(index) => path::Step::Index(index),
                        None => break,
                    }
                }
                (Step::Value(member), Value::Array(list)) => {
                    match list.iter().rposition(|element| *element == **member) {
                        Some(index) => path::Step::Index(index),
                        None => break,
                    }
                }
                _ => break,
            };
            let below = step.of(value);
            steps.push(step);
            match below {
                Some(below) => value = below,
                None => break,
            }
        }
        Location::from(steps)
    }
}

/// `spec.ports[port=80,protocol=TCP].nodePort`, `metadata.labels[app.kubernetes.io/name]`, `metadata.finalizers[=x]`;
/// the root prints as nothing. Carries keys of lists and members of sets, never other values.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            if position > 0 && matches!(step, Step::Field(name) if plain(name)) {
                f.write_str(".")?;
            }
            write!(f, "{step}")?;
        }
        Ok(())
    }
}

/// Without the dot before a field.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) if plain(name) => f.write_str(name),
            Self::Field(name) => write!(f, "[{name}]"),
            Self::Key(key) => write!(f, "[{key}]"),
            Self::Value(value) => write!(f, "[={}]", Bare(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// `containerPort=80,protocol=TCP`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (name, value)) in self.0.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            write!(f, "{comma}{name}={}", Bare(value))?;
        }
        Ok(())
    }
}

/// Whether a map's key reads well behind a dot.
fn plain(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
    !name.is_empty() && name.chars().all(letters)
}

/// A scalar without quotes around text.
struct Bare<'a>(&'a Value);

impl fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::String(text) => f.write_str(text),
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(steps: &[&str]) -> String {
        FieldPath::new(steps.iter().map(|text| Step::parse(text).unwrap())).to_string()
    }

    #[test]
    fn paths_read_as_people_write_them() {
        let image = ["f:spec", "f:containers", r#"k:{"name":"app"}"#, "f:image"];
        assert_eq!(shown(&image), "spec.containers[name=app].image");
        let port = ["f:ports", r#"k:{"protocol":"TCP","containerPort":80}"#];
        assert_eq!(shown(&port), "ports[containerPort=80,protocol=TCP]");
        let label = ["f:metadata", "f:labels", "f:app.kubernetes.io/name"];
        assert_eq!(shown(&label), "metadata.labels[app.kubernetes.io/name]");
        assert_eq!(shown(&["f:finalizers", r#"v:"a/b""#]), "finalizers[=a/b]");
        assert_eq!(shown(&["f:list", "i:3", "f:x"]), "list[3].x");
        assert_eq!(shown(&["f:data", "f:a:b"]), "data[a:b]", "only the first colon separates");
        assert_eq!(shown(&["f:data", "f:"]), "data[]");
        assert_eq!(shown(&[]), "");
    }

    #[test]
    fn malformed_path_elements_are_not_parsed() {
        for text in [".", "", "f", "x:a", "k:[1]", "k:{", "v:", "i:-1", "i:a"] {
            assert_eq!(Step::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_compare_by_amount_and_large_ones_exactly() {
        assert!(order(&json!(1), &json!(1.0)).is_eq());
        assert!(
            order(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)).is_gt()
        );
        assert!(order(&json!(u64::MAX), &json!(-1)).is_gt());
        assert!(order(&json!(0.5), &json!(1)).is_lt());
        assert!(order(&json!("1"), &json!(1)).is_ne(), "no conversion between types");
    }

    #[test]
    fn an_element_fits_a_key_if_nothing_it_states_differs() {
        let Some(Step::Key(key)) = Step::parse(r#"k:{"port":80,"protocol":"TCP"}"#) else {
            panic!()
        };
        assert!(key.fits(&json!({"port": 80, "name": "x"})));
        assert!(!key.fits(&json!({"port": 80, "protocol": "UDP"})));
        assert!(!key.fits(&json!({"port": "80"})));
        assert!(!key.fits(&json!(80)));
        assert!(!key.fits(&json!({"name": "x"})), "no part of the key");
        assert_eq!(key.order_to(&json!({"port": 80})), None);
        assert_eq!(key.order_to(&json!({"port": 81, "protocol": "TCP"})), Some(Ordering::Less));
        assert_eq!(key.stated_by(&json!({"port": 1, "name": "x"})).unwrap().to_string(), "port=1");
        assert_eq!(key.stated_by(&json!({"name": "x"})), None);
    }
}
