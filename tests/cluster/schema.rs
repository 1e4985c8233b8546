//! The embedded types are what the server says, and what is found in an object is what the server does with it.

#[path = "../fixtures/schema/cases.rs"]
mod cases;
mod describe;
mod notation;
mod probe;

use crate::sandbox::condition;
use crate::world::{eventually, world};
use describe::Description;
use futures::{StreamExt, stream};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kubewright::path::{Location, Step};
use kubewright::schema::{Types, check_object, default_parent};
use serde_json::{Value, json};
use std::fs;

const EMBEDDED: &str = "src/schema/builtin.txt";

/// Writes the embedded types anew instead of comparing them: `KUBEWRIGHT_REFRESH=1`.
fn refreshing() -> bool {
    std::env::var_os("KUBEWRIGHT_REFRESH").is_some_and(|value| !value.is_empty())
}

pub(crate) async fn schema_is_fresh() {
    let client = world().client("test-schema-fresh");
    let text = of_server(&client).await;
    if refreshing() {
        fs::write(EMBEDDED, &text).expect("the file is written");
        return;
    }
    let embedded = fs::read_to_string(EMBEDDED).expect("the embedded types");
    let differing = embedded.lines().zip(text.lines()).find(|(old, new)| old != new);
    assert!(
        embedded == text,
        "{EMBEDDED} is not what the server says, first at {differing:?}: set KUBEWRIGHT_REFRESH=1 to write it anew"
    );
}

/// The types as the server describes them, with those claims alone that it stands by.
async fn of_server(client: &Client) -> String {
    let description = Description::of(client).await;
    let mut objects = cases::accepted();
    objects.push(in_deployment(&objects[0]));
    objects.extend(cases::intents());
    let claims = probe::claims(client, &description, &objects).await;
    notation::print(&description, &claims)
}

/// A pod as a template: what is asked of one need not be asked of the other.
fn in_deployment(pod: &Value) -> Value {
    let labels = &pod["metadata"]["labels"];
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "from-pod"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
        },
    })
}

#[derive(Debug)]
struct Judged {
    object: Value,
    found: Vec<String>,
    answer: Result<Value, String>,
}

/// What is found in objects, and what the server says to them.
async fn judged(client: &Client, objects: impl IntoIterator<Item = Value>) -> Vec<Judged> {
    let description = Description::of(client).await;
    let (definition, _) = cases::custom();
    install(client, &definition).await;
    let types = Types::builtin().with_crds([&definition]);
    let mut judged = Vec::new();
    for object in objects {
        let findings = check_object(&types, &object).expect("a known kind");
        let found = findings.iter().map(|found| format!("{}: {found}", found.code)).collect();
        let answer = probe::dry_run(client, &description, &object).await;
        judged.push(Judged { object, found, answer });
    }
    judged
}

pub(crate) async fn nothing_is_found_in_what_the_server_accepts() {
    let client = world().client("test-schema-accepted");
    let (definition, things) = cases::custom();
    let objects = cases::accepted().into_iter().chain(things).chain([definition]);
    for Judged { object, found, answer } in judged(&client, objects).await {
        assert!(answer.is_ok(), "{answer:?} to {object}");
        assert_eq!(found, Vec::<String>::new(), "in {object}");
    }
}

pub(crate) async fn what_is_found_the_server_refuses_or_does_not_keep() {
    let client = world().client("test-schema-refused");
    let cases = cases::refused();
    let objects = cases.iter().map(|case| case.object.clone());
    for (judged, case) in judged(&client, objects).await.iter().zip(&cases) {
        let kept = judged
            .answer
            .as_ref()
            .is_ok_and(|answer| case.place.of(answer) == case.place.of(&judged.object));
        assert_eq!(judged.answer.is_ok(), case.drops, "{judged:?}");
        assert!(!kept && judged.found.len() == 1, "{judged:?}");
        assert!(judged.found[0].starts_with(&case.code), "{judged:?}");
    }
}

/// Puts all kinds of values into every place of some rich objects. Where something is found, the server must refuse the
/// object, or not keep what was found.
pub(crate) async fn no_finding_in_thousands_of_changed_objects_is_false() {
    let client = world().client("test-schema-changed");
    let description = Description::of(&client).await;
    let (definition, mut objects) = cases::custom();
    install(&client, &definition).await;
    let types = Types::builtin().with_crds([&definition]);
    let pod = cases::accepted().swap_remove(0);
    objects.extend([in_deployment(&pod), pod]);
    let suspects: Vec<_> = objects
        .iter()
        .flat_map(changed)
        .filter_map(|object| {
            let findings = check_object(&types, &object).expect("a known kind");
            (!findings.is_empty()).then_some((object, findings))
        })
        .collect();
    assert!(suspects.len() > 2000, "{} are too few", suspects.len());
    let answers = stream::iter(suspects).map(|(object, findings)| async {
        let answer = probe::dry_run(&client, &description, &object).await;
        (object, findings, answer)
    });
    let mut answers = answers.buffer_unordered(8);
    while let Some((object, findings, answer)) = answers.next().await {
        let Ok(answer) = answer else { continue };
        for finding in findings {
            let path = &finding.path;
            assert_ne!(path.of(&answer), path.of(&object), "{finding}, in {object}");
        }
    }
}

/// The object with each of some values in each of its places.
fn changed(object: &Value) -> Vec<Value> {
    let values = [
        json!(null),
        json!("x"),
        json!(5),
        json!(2.5),
        json!(true),
        json!([]),
        json!([null]),
        json!({"a": "b"}),
    ];
    let mut places = Vec::new();
    places_below(object, &Location::root(), &mut places);
    let identity = ["$.apiVersion", "$.kind", "$.metadata", "$.metadata.name"];
    places.retain(|place| !identity.contains(&place.to_string().as_str()));
    let put = |place: &Location, value: &Value| {
        let mut changed = object.clone();
        cases::change(&mut changed, place, Some(value.clone()));
        changed
    };
    places.iter().flat_map(|place| values.iter().map(|value| put(place, value))).collect()
}

fn places_below(value: &Value, at: &Location, places: &mut Vec<Location>) {
    let steps: Vec<(Step, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.as_str().into(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.into(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, value) in steps {
        let place = at.child(step);
        places_below(value, &place, places);
        places.push(place);
    }
}

pub(crate) async fn defaults_are_those_of_the_server() {
    let client = world().client("test-schema-defaults");
    let (definition, things) = cases::custom();
    let types = Types::builtin().with_crds([&definition]);
    for Judged { mut object, answer, .. } in judged(&client, things).await {
        default_parent(&types, &mut object);
        assert_eq!(object["spec"], answer.expect("accepted")["spec"]);
    }
}

async fn install(client: &Client, definition: &Value) {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition["metadata"]["name"].as_str().expect("a name");
    let parameters = PatchParams::apply("test-schema").force();
    crds.patch(name, &parameters, &Patch::Apply(definition)).await.expect("the CRD is accepted");
    eventually("the CRD is served", || async {
        let crd = crds.get(name).await.map_err(|error| error.to_string())?;
        let crd = serde_json::to_value(crd).unwrap_or_default();
        if condition(&crd, "Established").0 == "True" { Ok(()) } else { Err(crd.to_string()) }
    })
    .await;
}
