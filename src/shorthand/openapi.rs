//! From what a schema means to the structural `OpenAPI` schema of a CRD.
//!
//! In: a [`Schema`]. Out: a [`Tree`], the type first and the contents last. It cannot fail.

use super::schema::{Bounds, Field, Identity, Schema, Shape};
use super::tree::Tree;
use serde_json::{Value, json};

/// The grammar of `resource.Quantity` in k8s.io/apimachinery.
const QUANTITY: &str =
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";

/// The grammar of Go's `time.ParseDuration`. The API server's own format takes days and weeks as well, which nothing that
/// is written in Go reads.
const DURATION: &str =
    "^[+-]?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$";

/// The `OpenAPI` schema.
pub(super) fn openapi(schema: &Schema) -> Tree {
    let mut entries = Entries::default();
    entries.shape(&schema.shape);
    if schema.nullable {
        entries.add("nullable", true);
    }
    if let Some(default) = &schema.default {
        entries.add("default", default.clone());
    }
    if let Some(description) = &schema.description {
        entries.add("description", description.as_str());
    }
    let rules = rules(schema);
    if !rules.is_empty() {
        entries.add("x-kubernetes-validations", Tree::List(rules));
    }
    entries.contents(&schema.shape);
    let one_line =
        schema.size() == 1 && !entries.0.iter().any(|(key, _)| key.ends_with("validations"));
    if one_line
        || schema.inner().is_some_and(|inner| inner.size() == 1 && inner.description.is_none())
    {
        Tree::Line(entries.0)
    } else {
        Tree::Map(entries.0)
    }
}

/// Keys and values in order.
#[derive(Default)]
struct Entries(Vec<(String, Tree)>);

impl Entries {
    fn add(&mut self, key: &str, value: impl Into<Tree>) {
        self.0.push((key.to_owned(), value.into()));
    }

    fn maybe(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    fn bounds<T: Clone + Into<Value>>(&mut self, keys: [&str; 2], bounds: &Bounds<T>) {
        self.maybe(keys[0], bounds.min.clone());
        self.maybe(keys[1], bounds.max.clone());
    }

    /// What kind of value it is.
    fn shape(&mut self, shape: &Shape) {
        match shape {
            Shape::Text(text) => {
                self.add("type", "string");
                self.bounds(["minLength", "maxLength"], &text.length);
                self.maybe("pattern", text.pattern.clone());
            }
            Shape::Choice(values) => {
                let whole = !values.iter().any(Value::is_string);
                self.add("type", if whole { "integer" } else { "string" });
                self.maybe("format", whole.then_some("int64"));
                self.add("enum", values.clone());
            }
            Shape::Whole(whole) => {
                self.add("type", "integer");
                self.add("format", if whole.short { "int32" } else { "int64" });
                self.bounds(["minimum", "maximum"], &whole.bounds);
            }
            Shape::Number(bounds) => {
                self.add("type", "number");
                let value = |bound: &Option<serde_json::Number>| bound.clone().map(Value::Number);
                self.maybe("minimum", value(&bounds.min));
                self.maybe("maximum", value(&bounds.max));
            }
            Shape::Boolean => self.add("type", "boolean"),
            Shape::Quantity => {
                self.int_or_string();
                self.add("pattern", QUANTITY);
            }
            Shape::IntOrString => self.int_or_string(),
            Shape::Duration => {
                self.add("type", "string");
                self.add("pattern", DURATION);
            }
            Shape::DateTime => {
                self.add("type", "string");
                self.add("format", "date-time");
            }
            Shape::Any => self.add("nullable", true),
            Shape::Free | Shape::Object { .. } => self.add("type", "object"),
            Shape::Map { size, .. } => {
                self.add("type", "object");
                self.bounds(["minProperties", "maxProperties"], size);
            }
            Shape::List(list) => {
                self.add("type", "array");
                self.bounds(["minItems", "maxItems"], &list.size);
            }
        }
    }

    fn int_or_string(&mut self) {
        self.add("x-kubernetes-int-or-string", true);
        self.add("anyOf", json!([{"type": "integer"}, {"type": "string"}]));
    }

    /// What is in it.
    fn contents(&mut self, shape: &Shape) {
        match shape {
            Shape::Free | Shape::Any => self.add("x-kubernetes-preserve-unknown-fields", true),
            Shape::Map { values, .. } => self.add("additionalProperties", openapi(values)),
            Shape::List(list) => {
                let kind = match &list.identity {
                    Identity::Unsaid => None,
                    Identity::Atomic => Some("atomic"),
                    Identity::Set => Some("set"),
                    Identity::Keys(_) => Some("map"),
                };
                self.maybe("x-kubernetes-list-type", kind);
                if let Identity::Keys(keys) = &list.identity {
                    self.add("x-kubernetes-list-map-keys", keys.clone());
                }
                self.add("items", openapi(&list.items));
            }
            Shape::Object { fields, open } => {
                if *open {
                    self.add("x-kubernetes-preserve-unknown-fields", true);
                }
                let required: Vec<&str> =
                    fields.iter().filter(|f| f.required).map(|f| f.name.as_str()).collect();
                if !required.is_empty() {
                    self.add("required", required);
                }
                let properties = fields.iter().map(|f| (f.name.clone(), openapi(&f.schema)));
                self.add("properties", Tree::Map(properties.collect()));
            }
            _ => {}
        }
    }
}

/// What must hold between the old value and the new one, in CEL.
fn rules(schema: &Schema) -> Vec<Tree> {
    let rule = |rule: &str, message: &str| {
        let entry = |key: &str, text: &str| (key.to_owned(), Tree::from(text));
        Tree::Line(vec![entry("rule", rule), entry("message", message)])
    };
    let mut rules = Vec::new();
    if schema.immutable.is_some() {
        rules.push(rule("self == oldSelf", "it is immutable"));
    }
    if let Shape::Object { fields, .. } = &schema.shape {
        rules.extend(fields.iter().filter(|field| may_vanish(field)).map(|field| {
            let name = cel_name(&field.name);
            let message = format!("{} is immutable, it cannot be removed", field.name);
            rule(&format!("!has(oldSelf.{name}) || has(self.{name})"), &message)
        }));
    }
    rules
}

/// A rule of the field itself is not asked when the field is gone, and it could come back as something else.
fn may_vanish(field: &Field) -> bool {
    field.schema.immutable.is_some() && !field.required && field.schema.default.is_none()
}

/// A field as CEL names it: words of its own and double underscores are escaped.
fn cel_name(name: &str) -> String {
    const WORDS: [&str; 19] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
    ];
    if WORDS.contains(&name) || ["void", "while"].contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
}
