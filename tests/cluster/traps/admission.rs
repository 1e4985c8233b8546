//! What has to be there before the first child: kinds, and policies that change `ConfigMap`s.

use crate::sandbox::{TEST_GROUP, install_crd};
use crate::world::eventually;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

/// The kinds `Trap` and `Turning`.
pub(crate) async fn kinds(client: &Client) {
    let text = json!({"type": "string"});
    let integer = json!({"type": "integer", "format": "int64"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let with_default = |value: Value| json!({"type": "string", "default": value});
    let rule = json!({"type": "object", "properties": {"value": text, "match": with_default(json!("Prefix"))}});
    let element = json!({"type": "object", "required": ["a"], "properties": {
        "a": integer, "b": {"type": "integer", "default": 5}, "c": with_default(json!("z")), "v": text}});
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b", "c"], "items": element});
    let s = json!({"type": "string", "x-kubernetes-validations": [
        {"rule": "self != 'wrong'", "message": "must not be wrong"}]});
    let properties = json!({
        "s": s, "m": texts, "maybe": {"type": "string", "nullable": true},
        "o": {"type": "object", "properties": {"a": text, "b": with_default(json!("default"))}},
        "rules": {"type": "array", "items": rule}, "keyed": keyed,
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "port": {"x-kubernetes-int-or-string": true}, "ratio": {"type": "number"},
        "whole": {"type": "number"}, "thousand": {"type": "number"}, "big": integer, "bigger": integer,
        "time": {"type": "string", "format": "date-time"},
    });
    kind(client, "Trap", &properties).await;
    turning(client, "atomic").await;
}

/// The kind `Turning`, whose list is one whole (`atomic`) or has keys (`map`).
pub(crate) async fn turning(client: &Client, list_type: &str) {
    let element = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "v": {"type": "string"}}});
    let mut list = json!({"type": "array", "x-kubernetes-list-type": list_type, "items": element});
    if list_type == "map" {
        list["x-kubernetes-list-map-keys"] = json!(["name"]);
    }
    kind(client, "Turning", &json!({ "list": list })).await;
}

async fn kind(client: &Client, kind: &str, properties: &Value) {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{TEST_GROUP}")},
        "spec": {"group": TEST_GROUP, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}]},
    });
    install_crd(client, &crd).await;
}

/// The kind `Aging` in these versions, the last of which is stored.
pub(crate) async fn aging(client: &Client, versions: &[&str]) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": any}});
    let version = |name: &&str| {
        json!({"name": name, "served": true, "storage": versions.last() == Some(name),
               "schema": {"openAPIV3Schema": schema}})
    };
    let versions: Vec<Value> = versions.iter().map(version).collect();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("agings.{TEST_GROUP}")},
        "spec": {"group": TEST_GROUP, "scope": "Namespaced",
            "names": {"plural": "agings", "kind": "Aging"}, "versions": versions},
    });
    install_crd(client, &crd).await;
}

/// A change that admission makes to every `ConfigMap` of one name.
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    pub(crate) operations: &'static [&'static str],
    /// What its data gets, as CEL.
    pub(crate) data: &'static str,
}

const BOTH: &[&str] = &["CREATE", "UPDATE"];

/// Those that are there from the beginning.
pub(crate) const POLICIES: [Policy; 4] = [
    Policy {
        name: "t08-policy-default",
        operations: &["CREATE"],
        data: "{'injected': 'by-policy'}",
    },
    Policy { name: "t18-duration", operations: BOTH, data: "{'every': '1h0m0s'}" },
    Policy {
        name: "t22-lower-case",
        operations: BOTH,
        data: "{'host': object.data['host'].lowerAscii()}",
    },
    Policy {
        name: "t41-counter",
        operations: BOTH,
        data: "{'count': 'count' in object.data ? object.data['count'] + 'x' : 'x'}",
    },
];

/// The one that comes later.
pub(crate) const LATE: Policy =
    Policy { name: "t42-late-policy", operations: BOTH, data: "{'ours': 'as-admission-wants'}" };

impl Policy {
    /// Puts it in force for objects of one namespace, and waits until it is.
    pub(crate) async fn install(&self, client: &Client, namespace: &str) {
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                          "operations": self.operations});
        let probe = format!("{}-probe", self.name);
        let here = format!(
            "object.metadata.namespace == '{namespace}' && object.metadata.name in ['{}', '{probe}']",
            self.name
        );
        let change = format!("Object{{data: {}}}", self.data);
        let policy = json!({
            "matchConstraints": {"resourceRules": [rule]}, "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConditions": [{"name": "here", "expression": here}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}],
        });
        self.put(client, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", policy).await;
        let binding = json!({ "policyName": self.name });
        self.put(
            client,
            "MutatingAdmissionPolicyBinding",
            "mutatingadmissionpolicybindings",
            binding,
        )
        .await;
        let sent = json!({"host": "X", "ours": "as-sent"});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": probe}, "data": sent});
        let api: Api<DynamicObject> = Api::namespaced_with(
            client.clone(),
            namespace,
            &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
        );
        let parameters = PatchParams { dry_run: true, ..PatchParams::apply("tests") };
        eventually("the policy is in force", || async {
            let answer = api.patch(&probe, &parameters, &Patch::Apply(&object)).await;
            let answer = answer.map_err(|error| error.to_string())?;
            if answer.data["data"] == sent { Err("nothing changes".to_owned()) } else { Ok(()) }
        })
        .await;
    }

    async fn put(&self, client: &Client, kind: &str, plural: &str, spec: Value) {
        let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": self.name}, "spec": spec});
        let parameters = PatchParams::apply("tests");
        api.patch(self.name, &parameters, &Patch::Apply(&object)).await.expect("it is accepted");
    }
}
