//! Custom kinds, from their definitions.
//!
//! In: a `CustomResourceDefinition` (`apiextensions.k8s.io/v1`). Out: its served versions as kinds. What a definition says
//! wrongly, or in a way that is not known here, counts as "anything goes".
//!
//! The meaning of the keywords is that of structural schemas: k8s.io/apiextensions-apiserver, `pkg/apiserver/schema`.

use super::Kind;
use super::shape::{Bound, Fields, Format, Keyed, Limits, Pattern, Schema, Shape, Size, Width};
use crate::object::Gvk;
use crate::scope::Scope;
use serde_json::{Map, Number, Value};

/// The type of `metadata`, which a definition never describes itself.
const METADATA: &str = "meta.v1.ObjectMeta";

/// The kinds that a definition defines.
pub(super) fn kinds(definition: &Value) -> Vec<(Gvk, Kind)> {
    let text = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let of_kind = text(definition, "/kind") == "CustomResourceDefinition";
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let scope = match text(definition, "/spec/scope").as_str() {
        "Cluster" => Scope::Cluster,
        _ => Scope::Namespaced,
    };
    let served = |version: &&Value| version.get("served") != Some(&Value::Bool(false));
    let read = |version: &Value| {
        let gvk = Gvk {
            group: text(definition, "/spec/group"),
            version: text(version, "/name"),
            kind: text(definition, "/spec/names/kind"),
        };
        let root = version.pointer("/schema/openAPIV3Schema");
        let root =
            root.map_or_else(Schema::default, |root| whole_object(Reader::STRICT.read(root)));
        let has_status = version.pointer("/subresources/status").is_some();
        let plural = text(definition, "/spec/names/plural");
        (gvk, Kind { plural, scope, has_status, root })
    };
    versions.filter(|_| of_kind).into_iter().flatten().filter(served).map(read).collect()
}

/// Adds what every object has. Definitions say it again or leave it out; either way these types count.
fn whole_object(mut schema: Schema) -> Schema {
    if let Shape::Fields(fields) = &mut schema.shape {
        let text = || Schema::of(Shape::Text(Format::Free));
        fields.known.insert("apiVersion".into(), text());
        fields.known.insert("kind".into(), text());
        let metadata = Schema { nullable: true, ..Schema::of(Shape::Named(METADATA)) };
        fields.known.insert("metadata".into(), metadata);
    }
    schema
}

/// How a schema is read.
#[derive(Clone, Copy)]
struct Reader {
    /// Inside `allOf`, `anyOf` and `oneOf`, where schemas ask something of values but do not say which fields there are.
    loose: bool,
}

impl Reader {
    const STRICT: Self = Self { loose: false };
    const LOOSE: Self = Self { loose: true };

    fn read(self, written: &Value) -> Schema {
        let Some(map) = written.as_object() else { return Schema::default() };
        Schema {
            shape: self.shape(map),
            nullable: self.loose || flag(map, "nullable"),
            default: map.get("default").filter(|default| !default.is_null()).cloned(),
            atomic: word(map, "x-kubernetes-map-type") == "atomic",
            limits: limits(map),
        }
    }

    fn shape(self, map: &Map<String, Value>) -> Shape {
        if flag(map, "x-kubernetes-int-or-string") {
            return Shape::IntOrText;
        }
        match word(map, "type") {
            "object" => self.object(map),
            "array" => Shape::List(Box::new(self.inner(map, "items")), keyed(map)),
            "string" => Shape::Text(match word(map, "format") {
                "byte" => Format::Bytes,
                "date-time" => Format::Time,
                _ => Format::Free,
            }),
            "integer" if word(map, "format") == "int32" => Shape::Integer(Width::Narrow),
            "integer" => Shape::Integer(Width::Wide),
            "number" => Shape::Number,
            "boolean" => Shape::Bool,
            _ if map.contains_key("properties") => self.object(map),
            _ if self.loose && map.contains_key("items") => {
                Shape::List(Box::new(self.inner(map, "items")), Keyed::No)
            }
            _ => Shape::Any,
        }
    }

    fn object(self, map: &Map<String, Value>) -> Shape {
        let embedded = flag(map, "x-kubernetes-embedded-resource");
        let open = self.loose || flag(map, "x-kubernetes-preserve-unknown-fields");
        if map.contains_key("additionalProperties") {
            return Shape::Map(Box::new(self.inner(map, "additionalProperties")));
        }
        let properties = map.get("properties").and_then(Value::as_object);
        let field = |(name, field): (&String, &Value)| (name.as_str().into(), self.read(field));
        let known = properties.into_iter().flatten().map(field).collect();
        let schema = Schema::of(Shape::Fields(Fields { known, open }));
        if embedded { whole_object(schema).shape } else { schema.shape }
    }

    fn inner(self, map: &Map<String, Value>, key: &str) -> Schema {
        map.get(key).map_or_else(Schema::default, |inner| self.read(inner))
    }
}

fn keyed(map: &Map<String, Value>) -> Keyed {
    match word(map, "x-kubernetes-list-type") {
        "set" => Keyed::ByValue,
        "map" => Keyed::By(words(map, "x-kubernetes-list-map-keys")),
        _ => Keyed::No,
    }
}

/// The keywords that become [`Limits`].
const LIMITS: &[&str] = &[
    "required",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "multipleOf",
    "allOf",
    "anyOf",
    "oneOf",
    "x-kubernetes-embedded-resource",
];

fn limits(map: &Map<String, Value>) -> Option<Box<Limits>> {
    if !LIMITS.iter().any(|key| map.contains_key(*key)) {
        return None;
    }
    let size = |least, most| Size { least: count(map, least), most: count(map, most) };
    let bound = |key, exclusive| {
        number(map, key).map(|value| Bound { value, exclusive: flag(map, exclusive) })
    };
    let mut required = words(map, "required");
    if flag(map, "x-kubernetes-embedded-resource") {
        required.extend(["apiVersion".to_owned(), "kind".to_owned()]);
    }
    Some(Box::new(Limits {
        required,
        words: map.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
        pattern: map.get("pattern").and_then(Value::as_str).map(Pattern::new),
        length: size("minLength", "maxLength"),
        items: size("minItems", "maxItems"),
        entries: size("minProperties", "maxProperties"),
        least: bound("minimum", "exclusiveMinimum"),
        most: bound("maximum", "exclusiveMaximum"),
        multiple_of: number(map, "multipleOf"),
        all_of: parts(map, "allOf"),
        any_of: ["anyOf", "oneOf"]
            .into_iter()
            .map(|key| parts(map, key))
            .filter(|parts| !parts.is_empty())
            .collect(),
    }))
}

fn parts(map: &Map<String, Value>, key: &str) -> Vec<Schema> {
    let parts = map.get(key).and_then(Value::as_array);
    parts.into_iter().flatten().map(|part| Reader::LOOSE.read(part)).collect()
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key) == Some(&Value::Bool(true))
}

fn word<'m>(map: &'m Map<String, Value>, key: &str) -> &'m str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn words(map: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = map.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn number(map: &Map<String, Value>, key: &str) -> Option<Number> {
    map.get(key)?.as_number().cloned()
}

fn count(map: &Map<String, Value>, key: &str) -> Option<u64> {
    map.get(key)?.as_u64()
}
