//! Which claims of the description the server stands by.
//!
//! The description calls fields required, and texts enumerations, which the server takes without them or with others.
//! So each claim is tried on objects that the server accepts: the field is taken away, the text replaced. What is
//! refused wherever it is tried is claimed; what is accepted once, or never tried, is not.

use super::cases::change;
use super::describe::{Description, short};
use futures::StreamExt;
use http::Request;
use kube::Client;
use kubewright::path::Step;
use serde_json::Value;
use std::collections::BTreeMap;

/// A word that no enumeration has.
const UNHEARD_OF: &str = "Unheard-of";

/// Something that the description says of a field of a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim {
    /// The type's short name.
    pub(crate) of: String,
    pub(crate) field: String,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    /// It must be there.
    Required,
    /// It takes the words of its enumeration only, or none.
    Words,
}

/// Each claim that was tried, and whether it held.
pub(crate) type Claims = BTreeMap<Claim, bool>;

/// Tries every claim on every object.
pub(crate) async fn claims(
    client: &Client,
    description: &Description,
    objects: &[Value],
) -> Claims {
    let mut trials = Vec::new();
    for object in objects {
        let Some(root) = root(description, object) else { continue };
        let verdict = dry_run(client, description, object).await;
        assert!(verdict.is_ok(), "{verdict:?} of {object}");
        let mut trier = Trier { description, object, at: Vec::new(), trials: Vec::new() };
        trier.of_type(&root, object);
        trials.extend(trier.trials);
    }
    assert!(trials.len() > 500, "{} trials are too few to say anything", trials.len());
    let tried = futures::stream::iter(trials).map(|(claim, object)| async move {
        let verdict = dry_run(client, description, &object).await;
        (claim, verdict.is_err())
    });
    tried
        .buffer_unordered(8)
        .fold(Claims::new(), |mut claims, (claim, holds)| async move {
            *claims.entry(claim).or_insert(true) &= holds;
            claims
        })
        .await
}

fn root(description: &Description, object: &Value) -> Option<String> {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    description.kinds.get(&(text("apiVersion"), text("kind"))).map(|kind| kind.root.clone())
}

/// Walks through an object and collects what to try.
struct Trier<'a> {
    description: &'a Description,
    object: &'a Value,
    at: Vec<Step>,
    trials: Vec<(Claim, Value)>,
}

impl Trier<'_> {
    fn of_type(&mut self, name: &str, value: &Value) {
        let Some(schema) = self.description.types.get(name) else { return };
        let (Some(properties), Some(map)) = (schema["properties"].as_object(), value.as_object())
        else {
            return;
        };
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (field, value) in map {
            let Some(property) = properties.get(field) else { continue };
            self.at.push(Step::Key(field.clone()));
            if required.contains(&Value::from(field.as_str())) {
                self.try_it(name, field, What::Required, None);
            }
            if !property["enum"].is_null() {
                self.try_it(name, field, What::Words, Some(UNHEARD_OF));
            }
            if !property["items"]["enum"].is_null() {
                self.at.push(Step::Index(0));
                self.try_it(name, field, What::Words, Some(UNHEARD_OF));
                self.at.pop();
            }
            self.below(property, value);
            self.at.pop();
        }
    }

    fn below(&mut self, schema: &Value, value: &Value) {
        let named = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
        match (named, value) {
            (Some(named), _) => self.of_type(&short(named), value),
            (None, Value::Array(list)) => {
                for (index, element) in list.iter().enumerate() {
                    self.at.push(Step::Index(index));
                    self.below(&schema["items"], element);
                    self.at.pop();
                }
            }
            (None, Value::Object(map)) => {
                for (key, value) in map {
                    self.at.push(Step::Key(key.clone()));
                    self.below(&schema["additionalProperties"], value);
                    self.at.pop();
                }
            }
            _ => {}
        }
    }

    /// With the value at hand replaced, or taken away.
    fn try_it(&mut self, of: &str, field: &str, what: What, instead: Option<&str>) {
        let mut object = self.object.clone();
        change(&mut object, &self.at.clone().into(), instead.map(Value::from));
        let claim = Claim { of: of.to_owned(), field: field.to_owned(), what };
        self.trials.push((claim, object));
    }
}

/// Applies an object without storing it; gives it as it would be stored, or why not.
pub(crate) async fn dry_run(
    client: &Client,
    description: &Description,
    object: &Value,
) -> Result<Value, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (plural, namespaced) = description.resource(&api_version, &kind);
    let namespace = match (namespaced, object["metadata"]["namespace"].as_str()) {
        (false, _) => String::new(),
        (true, namespace) => format!("/namespaces/{}", namespace.unwrap_or("default")),
    };
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let name = text(&object["metadata"]["name"]);
    let path = format!("/{root}/{api_version}{namespace}/{plural}/{name}");
    let request = Request::patch(format!("{path}?dryRun=All&fieldManager=somebody&force=true"))
        .header("content-type", "application/apply-patch+yaml")
        .body(object.to_string().into_bytes())
        .expect("a request");
    match client.request::<Value>(request).await {
        Ok(object) => Ok(object),
        // Some permanent mistakes are answered with 500.
        Err(kube::Error::Api(status)) if [400, 403, 409, 422, 500].contains(&status.code) => {
            Err(status.message.clone())
        }
        Err(error) => panic!("{path} was not judged: {error}"),
    }
}
