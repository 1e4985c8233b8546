//! What the API server asks of a definition of a kind beside its types.
//!
//! In: a `CustomResourceDefinition`. Out: findings: types that there are not, a name that is not the one it must have.

use super::Checker;
use super::scalar::shown;
use crate::comparison::closest;
use serde_json::{Map, Value};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keys of a schema whose values are schemas by name, schemas in a list, and schemas.
const BY_NAME: [&str; 1] = ["properties"];
const LISTED: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 3] = ["items", "additionalProperties", "not"];

impl Checker {
    pub(super) fn definition(&mut self, definition: &Map<String, Value>) {
        let Some(spec) = definition.get("spec").and_then(Value::as_object) else { return };
        let text = |keys: [&str; 2]| definition.get(keys[0])?.get(keys[1])?.as_str();
        let plural =
            spec.get("names").and_then(|names| names.get("plural")).and_then(Value::as_str);
        if let (Some(name), Some(plural), Some(group)) =
            (text(["metadata", "name"]), plural, text(["spec", "group"]))
        {
            let expected = format!("{plural}.{group}");
            if name != expected {
                let message = format!("is {}, should be {}", shown(name), shown(&expected));
                let hint = "a definition is called like its plural and its group".to_owned();
                self.below("metadata", |checker| {
                    checker.below("name", |checker| checker.note("not-allowed", message, hint));
                });
            }
        }
        let versions = spec.get("versions").and_then(Value::as_array);
        for (index, version) in versions.into_iter().flatten().enumerate() {
            let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
            let Some(schema) = schema else { continue };
            let depth = self.at.len();
            self.at.extend(["spec".into(), "versions".into(), index.into()]);
            self.at.extend(["schema".into(), "openAPIV3Schema".into()]);
            self.types_of(schema);
            self.at.truncate(depth);
        }
    }

    /// As deep as the reader of YAML lets it be.
    fn types_of(&mut self, schema: &Value) {
        let Some(schema) = schema.as_object() else { return };
        if let Some(kind) = schema.get("type").and_then(Value::as_str)
            && !TYPES.contains(&kind)
            && !kind.is_empty()
        {
            let hint = closest(kind, TYPES).map(|near| format!("did you mean `{near}`?"));
            let message = format!("is {}, should be one of {}", shown(kind), TYPES.join(", "));
            self.below("type", |checker| checker.note("not-allowed", message, hint));
        }
        for (key, below) in schema {
            let key = key.as_str();
            match below {
                Value::Object(named) if BY_NAME.contains(&key) => self.below(key, |checker| {
                    for (name, schema) in named {
                        checker.below(name.as_str(), |checker| checker.types_of(schema));
                    }
                }),
                Value::Array(list) if LISTED.contains(&key) => self.below(key, |checker| {
                    for (index, schema) in list.iter().enumerate() {
                        checker.below(index, |checker| checker.types_of(schema));
                    }
                }),
                single if SINGLE.contains(&key) => {
                    self.below(key, |checker| checker.types_of(single));
                }
                _ => {}
            }
        }
    }
}
