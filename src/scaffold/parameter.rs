//! Fields of a new parent: where they stand below `spec`, what they hold in the example, how a schema describes them.
//!
//! In: values found in manifests. Out: an expression that reads each, the example's `spec`, its schema. Pure.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One field of the parent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    /// What the manifest says.
    pub value: Value,
    /// What kind of value it is.
    pub sort: Sort,
    /// One sentence for the schema.
    pub description: String,
}

/// What kind of value a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Each parent must have one of its own.
    Required,
    /// What the manifest says becomes the default.
    Defaulted,
    /// The same, a number or a text such as `100m`.
    Quantity,
    /// The same, from 1 to 65535.
    Port,
    /// The same, 0 or more.
    Count,
}

/// All fields of the parent.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    root: Fields,
}

type Fields = BTreeMap<String, Field>;

#[derive(Debug)]
enum Field {
    One(Parameter),
    Several(Fields),
}

impl Parameters {
    /// Adds a field and gives the expression that reads it. A name that means something else already gets a number.
    pub(super) fn add(&mut self, path: &[String], parameter: &Parameter) -> String {
        let Some((first, rest)) = path.split_first() else { return String::new() };
        for number in 1_usize.. {
            let mut path =
                vec![if number == 1 { first.clone() } else { format!("{first}{number}") }];
            path.extend_from_slice(rest);
            if insert(&mut self.root, &path, parameter) {
                return expression(&path);
            }
        }
        String::new()
    }

    /// The `spec` of the example parent.
    pub(super) fn example(&self) -> Value {
        values(&self.root)
    }

    /// The schema of `spec`.
    pub(super) fn schema(&self) -> Value {
        schema(&self.root)
    }

    /// Whether some field must be given.
    pub(super) fn any_required(&self) -> bool {
        any_required(&self.root)
    }

    /// Every field as a dotted path.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        list(&self.root, "", &mut paths);
        paths
    }
}

/// False if something else is there.
fn insert(fields: &mut Fields, path: &[String], parameter: &Parameter) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    if rest.is_empty() {
        return match fields.get(first) {
            None => {
                fields.insert(first.clone(), Field::One(parameter.clone()));
                true
            }
            Some(Field::One(known)) => known.value == parameter.value,
            Some(Field::Several(_)) => false,
        };
    }
    let next = fields.entry(first.clone()).or_insert_with(|| Field::Several(Fields::new()));
    match next {
        Field::Several(fields) => insert(fields, rest, parameter),
        Field::One(_) => false,
    }
}

fn values(fields: &Fields) -> Value {
    let value = |field: &Field| match field {
        Field::One(parameter) => parameter.value.clone(),
        Field::Several(fields) => values(fields),
    };
    fields.iter().map(|(name, field)| (name.clone(), value(field))).collect::<Map<_, _>>().into()
}

fn list(fields: &Fields, above: &str, paths: &mut Vec<String>) {
    for (name, field) in fields {
        match field {
            Field::One(_) => paths.push(format!("{above}{name}")),
            Field::Several(fields) => list(fields, &format!("{above}{name}."), paths),
        }
    }
}

fn any_required(fields: &Fields) -> bool {
    fields.values().any(|field| match field {
        Field::One(parameter) => parameter.is_required(),
        Field::Several(fields) => any_required(fields),
    })
}

fn schema(fields: &Fields) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, field) in fields {
        let (property, is_required) = match field {
            Field::One(parameter) => (parameter.schema(), parameter.is_required()),
            Field::Several(below) => {
                let mut property = schema(below);
                let required = any_required(below);
                if !required {
                    // An empty map, which the API server then fills with the defaults below it.
                    property["default"] = json!({});
                }
                (property, required)
            }
        };
        properties.insert(name.clone(), property);
        if is_required {
            required.push(json!(name));
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

impl Parameter {
    fn is_required(&self) -> bool {
        self.sort == Sort::Required
    }

    fn schema(&self) -> Value {
        let mut schema = match &self.value {
            _ if self.sort == Sort::Quantity => json!({"x-kubernetes-int-or-string": true}),
            Value::Bool(_) => json!({"type": "boolean"}),
            Value::Number(number) if number.is_f64() => json!({"type": "number"}),
            Value::Number(_) => json!({"type": "integer"}),
            _ if self.is_required() => json!({"type": "string", "minLength": 1}),
            _ => json!({"type": "string"}),
        };
        schema["description"] = json!(self.description);
        if schema["type"] == "integer" {
            let (least, most) = match self.sort {
                Sort::Port => (Some(1), Some(65535)),
                Sort::Count => (Some(0), None),
                _ => (None, None),
            };
            for (bound, value) in [("minimum", least), ("maximum", most)] {
                if let Some(value) = value {
                    schema[bound] = json!(value);
                }
            }
        }
        if !self.is_required() {
            schema["default"] = self.value.clone();
        }
        schema
    }
}

/// Words that mean something in an expression.
const WORDS: &[&str] = &[
    "true", "false", "none", "True", "False", "None", "not", "and", "or", "in", "is", "if", "else",
];

/// What reads a field of the parent's `spec` in a template.
pub(super) fn expression(path: &[String]) -> String {
    let mut expression = "parent.spec".to_owned();
    for step in path {
        let word = step.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && step.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !WORDS.contains(&step.as_str());
        if word {
            expression = expression + "." + step;
        } else {
            // A JSON string is a string of the template language as well.
            expression = expression + "[" + &Value::from(step.as_str()).to_string() + "]";
        }
    }
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(value: Value, sort: Sort) -> Parameter {
        Parameter { value, sort, description: "d".into() }
    }

    fn path(path: &str) -> Vec<String> {
        path.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn equal_values_share_a_field_and_others_get_one_of_their_own() {
        let mut parameters = Parameters::default();
        let mut add =
            |at: &str, value: Value| parameters.add(&path(at), &parameter(value, Sort::Required));
        assert_eq!(add("image", json!("a")), "parent.spec.image");
        assert_eq!(add("image", json!("a")), "parent.spec.image");
        assert_eq!(add("image", json!("b")), "parent.spec.image2");
        assert_eq!(add("image/x", json!("c")), "parent.spec.image3.x");
        assert_eq!(add("env/app.conf", json!("c")), "parent.spec.env[\"app.conf\"]");
        assert_eq!(add("env/in", json!("c")), "parent.spec.env[\"in\"]");
        assert_eq!(parameters.paths(), ["env.app.conf", "env.in", "image", "image2", "image3.x"]);
    }

    #[test]
    fn a_group_without_required_fields_is_filled_by_the_server() {
        let mut parameters = Parameters::default();
        parameters.add(&path("env/A"), &parameter(json!("no"), Sort::Defaulted));
        parameters.add(&path("app/image"), &parameter(json!("x"), Sort::Required));
        parameters.add(&path("app/port"), &parameter(json!(80), Sort::Port));
        let text = |default| json!({"type": "string", "description": "d", "default": default});
        assert_eq!(
            parameters.schema(),
            json!({"type": "object", "required": ["app"], "properties": {
                "env": {"type": "object", "default": {}, "properties": {"A": text("no")}},
                "app": {"type": "object", "required": ["image"], "properties": {
                    "image": {"type": "string", "minLength": 1, "description": "d"},
                    "port": {"type": "integer", "description": "d", "default": 80, "minimum": 1, "maximum": 65535}}}}})
        );
        assert_eq!(
            parameters.example(),
            json!({"env": {"A": "no"}, "app": {"image": "x", "port": 80}})
        );
    }
}
