//! A CRD that was made from a short schema, on the real API server: what the schema says is what happens.

use crate::world::{eventually, world};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kubewright::rule::{self, Folder};
use kubewright::shorthand;
use kubewright::source::Source;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::OnceCell;

const RULE: &str = "tests/fixtures/shorthand/everything.yaml";

static INSTALLED: OnceCell<()> = OnceCell::const_new();

fn crd() -> Value {
    let folder = rule::read(Path::new(RULE), Path::new("templates")).expect("the fixture");
    let loaded = rule::load(&folder);
    assert_eq!(loaded.problems, [], "the rule compiles");
    shorthand::crd(&loaded.rules[0]).expect("it describes its parent")
}

/// A schema of a kind of its own, which is only tried.
fn tried(schema: &str) -> Value {
    let rule = format!(
        "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: tried}}\nspec:\n  parent: \
         {{apiVersion: test.kubewright.io/v1, kind: Tried}}\n  children: []\n  schema: {schema}\n"
    );
    let folder = Folder { rules: vec![Source::new("rule.yaml", rule)], templates: Arc::default() };
    let loaded = rule::load(&folder);
    assert_eq!(loaded.problems, [], "{schema}");
    shorthand::crd(&loaded.rules[0]).expect("it describes its parent")
}

/// Applies the CRD; gives it as the server has it.
async fn apply(client: &Client) -> Value {
    let crd = crd();
    let name = crd["metadata"]["name"].as_str().expect("a name");
    let parameters = PatchParams::apply("tests").force().validation_strict();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let applied = crds.patch(name, &parameters, &Patch::Apply(&crd)).await;
    serde_json::to_value(applied.expect("the CRD is accepted")).expect("JSON")
}

/// Objects of the kind in a namespace of the test's own.
async fn objects(namespace: &str) -> Api<DynamicObject> {
    let client = world().client(&format!("test-{namespace}"));
    world().namespace(&client, namespace).await;
    let gvk = GroupVersionKind::gvk("test.kubewright.io", "v1alpha1", "Everything");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "everythings");
    let api = Api::namespaced_with(client.clone(), namespace, &resource);
    INSTALLED.get_or_init(|| async { drop(apply(&client).await) }).await;
    eventually("the kind is served", || async {
        api.list(&ListParams::default()).await.map(drop).map_err(|error| error.to_string())
    })
    .await;
    api
}

fn object(name: &str, spec: &Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "test.kubewright.io/v1alpha1", "kind": "Everything",
        "metadata": {"name": name}, "spec": spec,
    }))
    .expect("an object")
}

pub(crate) async fn the_server_takes_the_crd_and_a_refresh_changes_nothing() {
    objects("shorthand-refresh").await;
    let client = world().client("test-shorthand-refresh");
    let name = crd()["metadata"]["name"].as_str().expect("a name").to_owned();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    // Its own controllers write its status for a moment.
    let settled = eventually("the CRD is established", || async {
        let crd = crds.get(&name).await.map_err(|error| error.to_string())?;
        let crd = serde_json::to_value(crd).expect("JSON");
        let conditions = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let bad = conditions.iter().find(|condition| condition["type"] == "NonStructuralSchema");
        assert_eq!(bad, None, "the schema is structural");
        let is = |kind: &str| {
            conditions.iter().any(|one| one["type"] == kind && one["status"] == "True")
        };
        if is("Established") && is("NamesAccepted") { Ok(crd) } else { Err(crd.to_string()) }
    })
    .await;
    let again = apply(&client).await;
    assert_eq!(again["metadata"]["resourceVersion"], settled["metadata"]["resourceVersion"]);
    assert_eq!(again["metadata"]["generation"], 1);
}

/// An empty refusal.
const ACCEPTED: &str = "";

/// Specs, beside an image, and what the server has against them.
const SPECS: &[(&str, &str)] = &[
    ("{}", ACCEPTED),
    (r#"{"image": null}"#, "spec.image: Required value"),
    (r#"{"image": ""}"#, "spec.image in body should be at least 1 chars long"),
    (r#"{"image": 1}"#, "spec.image in body must be of type string"),
    (r#"{"replicas": -1}"#, "spec.replicas in body should be greater than or equal to 0"),
    (r#"{"replicas": 1.5}"#, "spec.replicas in body must be of type int32"),
    (r#"{"tier": "large"}"#, ACCEPTED),
    (r#"{"tier": "huge"}"#, "spec.tier: Unsupported value"),
    (r#"{"weight": 4}"#, ACCEPTED),
    (r#"{"weight": 3}"#, "spec.weight: Unsupported value"),
    (r#"{"weight": "1"}"#, "spec.weight in body must be of type integer"),
    (r#"{"ratio": 1}"#, ACCEPTED),
    (r#"{"ratio": 1.6}"#, "spec.ratio in body should be less than or equal to 1.5"),
    (r#"{"paused": "true"}"#, "spec.paused in body must be of type boolean"),
    (r#"{"cpu": 2}"#, ACCEPTED),
    (r#"{"cpu": "1.5Gi"}"#, ACCEPTED),
    (r#"{"cpu": "1e3"}"#, ACCEPTED),
    (r#"{"cpu": "1GB"}"#, "spec.cpu in body should match"),
    (r#"{"cpu": 1.5}"#, "spec.cpu"),
    (r#"{"timeout": "1h2m3.5s"}"#, ACCEPTED),
    (r#"{"timeout": "0"}"#, ACCEPTED),
    (r#"{"timeout": "1d"}"#, "spec.timeout in body should match"),
    (r#"{"timeout": "5"}"#, "spec.timeout in body should match"),
    (r#"{"since": "2026-01-31T12:00:00Z"}"#, ACCEPTED),
    (r#"{"since": "yesterday"}"#, "spec.since in body must be of type date-time"),
    (r#"{"target": "http"}"#, ACCEPTED),
    (r#"{"target": true}"#, "spec.target"),
    (r#"{"host": "shop.example"}"#, ACCEPTED),
    (r#"{"host": "Shop"}"#, "spec.host in body should match"),
    (r#"{"note": null}"#, ACCEPTED),
    (
        r#"{"nothing": {"text": null, "whole": null, "number": null, "yes": null, "amount": null, "wait": null, "at": null, "either": null, "free": null, "map": null, "list": null, "deep": null}}"#,
        ACCEPTED,
    ),
    (r#"{"nothing": {"text": "b"}}"#, "spec.nothing.text in body should match"),
    (r#"{"nothing": {"deep": {}}}"#, "spec.nothing.deep.a: Required value"),
    (r#"{"share": 101}"#, "spec.share in body should be less than or equal to 100"),
    (r#"{"settings": {"a": [1, {"b": null}]}}"#, ACCEPTED),
    (r#"{"settings": []}"#, "spec.settings in body must be of type object"),
    (r#"{"env": {"A": 1}}"#, "spec.env.A in body must be of type string"),
    (r#"{"limits": {"cpu": 1, "memory": "1Gi"}}"#, ACCEPTED),
    (r#"{"groups": {"a": ["b"]}}"#, ACCEPTED),
    (r#"{"groups": {"a": "b"}}"#, "spec.groups.a in body must be of type array"),
    (
        r#"{"groups": {"a": [], "b": [], "c": [], "d": [], "e": []}}"#,
        "spec.groups: Too many: 5: must have at most 4 items",
    ),
    (r#"{"args": ["a", "a"]}"#, ACCEPTED),
    (r#"{"args": ["1", "2", "3", "4", "5", "6"]}"#, "spec.args: Too many"),
    (r#"{"hosts": ["a", "a"]}"#, "spec.hosts[1]: Duplicate value"),
    (r#"{"ports": [{"number": 1}, {"number": 1, "protocol": "UDP"}]}"#, ACCEPTED),
    (r#"{"ports": [{"number": 1}, {"number": 1, "protocol": "TCP"}]}"#, "Duplicate value"),
    (r#"{"ports": [{"name": "a"}]}"#, "spec.ports[0].number: Required value"),
    (r#"{"autoscaling": {}}"#, "spec.autoscaling.max: Required value"),
    (r#"{"autoscaling": {"max": 3}}"#, ACCEPTED),
    (r#"{"volumes": [{"name": "a", "size": "1Gi"}]}"#, ACCEPTED),
    (r#"{"volumes": [{"size": "1Gi"}]}"#, "spec.volumes[0].name: Required value"),
    (r#"{"volumes": [{"name": "a"}]}"#, "spec.volumes[0].size: Required value"),
    (r#"{"zones": {"a": {"weight": 2}}}"#, ACCEPTED),
    (r#"{"zones": {"a": {"weight": "2"}}}"#, "spec.zones.a.weight in body must be of type integer"),
];

pub(crate) async fn what_the_schema_says_is_what_the_server_accepts() {
    let api = objects("shorthand-accepts").await;
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let mut differing = Vec::new();
    for (spec, refusal) in SPECS {
        let spec: Value = serde_json::from_str(spec).expect("JSON");
        let mut whole = json!({"image": "a"});
        for (key, value) in spec.as_object().expect("a map") {
            whole[key] = value.clone();
        }
        let answer = api.create(&dry_run, &object("a", &whole)).await;
        differing.extend(unexpected(&spec, answer, refusal));
    }
    assert_eq!(differing, [""; 0]);
}

/// What is to be said of an answer that is not as expected; an empty refusal expects that there is none.
fn unexpected<T>(what: &Value, answer: Result<T, kube::Error>, refusal: &str) -> Option<String> {
    match (answer, refusal) {
        (Ok(_), "") => None,
        (Ok(_), _) => Some(format!("{what} was accepted, instead of: {refusal}")),
        (Err(kube::Error::Api(status)), _) => {
            let expected = !refusal.is_empty() && status.message.contains(refusal);
            (!expected).then(|| format!("{what} was refused: {}", status.message))
        }
        (Err(error), _) => Some(format!("{what}: {error}")),
    }
}

pub(crate) async fn defaults_appear() {
    let api = objects("shorthand-defaults").await;
    let spec = json!({"image": "a", "autoscaling": {"max": 3}, "probe": {},
                      "ports": [{"number": 1}], "zones": {"a": {}}});
    let created = api.create(&PostParams::default(), &object("a", &spec)).await.expect("created");
    assert_eq!(
        created.data["spec"],
        json!({
            "image": "a", "replicas": 1, "tier": "small", "weight": 2, "ratio": 0.5, "paused": false,
            "cpu": "500m", "timeout": "1m30s", "target": 80, "zone": "a", "share": 50, "settings": {},
            "limits": {"cpu": "1"}, "hosts": ["a", "b"],
            "ports": [{"number": 1, "protocol": "TCP"}],
            "probe": {"path": "/", "every": "10s"},
            "autoscaling": {"min": 1, "max": 3},
            "zones": {"a": {"weight": 1}},
        })
    );
}

pub(crate) async fn what_is_immutable_stays() {
    let api = objects("shorthand-immutable").await;
    let parameters = PostParams::default();
    let spec = json!({"image": "a", "storageClass": "fast", "zone": "b", "frozen": {"a": {"b": 1}}, "ids": ["a"],
                      "volumes": [{"name": "a", "size": "1Gi", "class": "fast"}]});
    api.create(&parameters, &object("a", &spec)).await.expect("created");
    api.create(&parameters, &object("bare", &json!({"image": "a"}))).await.expect("created");
    let volume = |class: Value| json!([{"name": "a", "size": "2Gi", "class": class}]);
    let mut differing = Vec::new();
    for (name, change, refusal) in [
        ("a", json!({"image": "b", "storageClass": "fast"}), ACCEPTED),
        (
            "a",
            json!({"storageClass": "slow"}),
            "spec.storageClass: Invalid value: \"slow\": it is immutable",
        ),
        ("a", json!({"storageClass": null}), "storageClass is immutable, it cannot be removed"),
        ("a", json!({"zone": "c"}), "it is immutable"),
        // The default would come in its place.
        ("a", json!({"zone": null}), "it is immutable"),
        ("a", json!({"frozen": {"a": {"b": 1}}, "ids": ["a"]}), ACCEPTED),
        ("a", json!({"frozen": {"a": {"b": 2}}}), "it is immutable"),
        ("a", json!({"frozen": {"c": 1}}), "it is immutable"),
        ("a", json!({"ids": ["a", "b"]}), "it is immutable"),
        ("a", json!({"volumes": volume(json!("fast"))}), ACCEPTED),
        ("a", json!({"volumes": volume(json!("slow"))}), "it is immutable"),
        ("a", json!({"volumes": volume(Value::Null)}), "class is immutable, it cannot be removed"),
        ("a", json!({"volumes": []}), ACCEPTED),
        ("bare", json!({"zone": "a"}), ACCEPTED),
        ("bare", json!({"storageClass": "fast"}), ACCEPTED),
        ("bare", json!({"storageClass": "slow"}), "it is immutable"),
    ] {
        let patch = Patch::Merge(json!({"spec": change}));
        let answer = api.patch(name, &PatchParams::default(), &patch).await;
        differing.extend(unexpected(&change, answer, refusal));
    }
    assert_eq!(differing, [""; 0]);
}

pub(crate) async fn a_status_has_its_fields_and_several_writers_of_conditions() {
    let api = objects("shorthand-status").await;
    let spec = json!({"image": "a"});
    api.create(&PostParams::default(), &object("a", &spec)).await.expect("created");
    let say = async |manager: &str, status: Value| {
        let body = json!({"apiVersion": "test.kubewright.io/v1alpha1", "kind": "Everything",
                          "metadata": {"name": "a"}, "status": status});
        let parameters = PatchParams::apply(manager);
        api.patch_status("a", &parameters, &Patch::Apply(&body)).await
    };
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "R", "message": "m", "observedGeneration": 1,
               "lastTransitionTime": "2026-01-31T12:00:00Z"})
    };
    let status = json!({
        "phase": "Running", "endpoint": "https://a", "observed": 1, "clusterIP": "10.0.0.1", "name": "a",
        "ready": true, "available": 2, "nested": {"ratio": 0.5, "items": [1, "two", null]},
        "conditions": [condition("Ready")],
    });
    for anything in [json!("text"), json!(1), json!({"deep": [1]}), json!(null), json!([true])] {
        let mut status = status.clone();
        status["anything"] = anything.clone();
        let said = say("one", status).await.expect("accepted");
        assert_eq!(said.data["status"]["anything"], anything);
    }
    let both = say("two", json!({"conditions": [condition("Backup")]})).await.expect("accepted");
    let kinds: Vec<_> = both.data["status"]["conditions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|condition| condition["type"].clone())
        .collect();
    assert_eq!(kinds, ["Ready", "Backup"]);
    for wrong in [json!({"observed": "1"}), json!({"unknown": 1}), json!({"ready": "yes"})] {
        assert!(say("three", wrong.clone()).await.is_err(), "{wrong} was accepted");
    }
}

pub(crate) async fn whatever_compiles_is_accepted() {
    let client = world().client("test-shorthand-tried");
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    let parameters = PatchParams::apply("tests").force().validation_strict().dry_run();
    let mut differing = Vec::new();
    for schema in [
        "{scope: Cluster, spec: {a: string}}",
        // Rules between old and new values have a budget, by the largest value that could be there.
        "{spec: {a: 'string, immutable'}}",
        "{spec: {a: 'list of string, immutable'}}",
        "{spec: {a: 'map of list of string, immutable'}}",
        "{spec: {a: 'object, immutable'}}",
        "{spec: {.: 'object, immutable', a: map of string, b: list of string, c: object}}",
        "{spec: {a: {.: 'list, keyed by n, maxItems 30', n: string, b: 'string, immutable'}}}",
        "{spec: {a: {.: 'list, keyed by n, maxItems 9000', n: string, b: 'string, immutable, maxLength 250'}}}",
        "{spec: {a: {.: 'list, keyed by n', n: string, b: 'boolean, immutable'}}}",
        "{spec: {a: {.: 'map, maxProperties 30', b: 'map of string, immutable'}}}",
        "{spec: {a: {.: map, b: 'integer, immutable'}}}",
        "{spec: {a: {.: 'map, maxProperties 900', b: {.: 'map, maxProperties 900', c: 'boolean, immutable'}}}}",
        "{spec: {a: {.: 'map, maxProperties 5', b: 'object, immutable', c: 'quantity, immutable', d: 'duration, immutable', e: 'date-time, immutable', f: 'one of a | b, immutable'}}}",
        "{spec: {namespace: 'string, immutable', a__b: 'string, immutable', in: 'string, immutable'}}",
        // Defaults.
        "{spec: {a: {.: 'object = {}', b: string = c}}}",
        "{spec: {a: 'int-or-string = 25%', b: 'quantity = 1', c: 'date-time = 2026-01-31T12:00:00Z'}}",
        "{spec: {a: {.: 'list = [{n: a}], keyed by n and m', n: string, m: integer = 1}}}",
        "{spec: {a: 'string = \"\", nullable', b: 'one of a | b = a'}}",
        // Sets and keys of every kind.
        "{spec: {a: 'list of integer, set', b: 'list of quantity, set', c: 'list of int-or-string, set', d: 'list of one of a | b, set'}}",
        "{spec: {a: {.: 'list, keyed by n', n: int-or-string}, b: {.: 'list, keyed by n', n: boolean}, c: {.: 'list, keyed by n', n: number}}}",
        // Nesting.
        "{types: {A: {b: B}, B: {c: list of C}, C: {d: map of list of map of integer}}, spec: {a: A}}",
        "{spec: {a: list of list of string, b: map of map of boolean, c: list of object}}",
    ] {
        let crd = tried(schema);
        let name = crd["metadata"]["name"].as_str().expect("a name").to_owned();
        let answer = crds.patch(&name, &parameters, &Patch::Apply(&crd)).await;
        differing.extend(unexpected(&json!(schema), answer, ""));
    }
    assert_eq!(differing, [""; 0]);
}
