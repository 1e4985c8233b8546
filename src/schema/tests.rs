//! What the types say, of kinds and of hand-made definitions. Findings in whole objects are tested against a real API
//! server: see tests/offline/schema.rs.

use super::builtin::{kinds as builtin_kinds, named};
use super::shape::{Keyed, Schema, Shape};
use super::*;
use crate::path::Path;
use crate::rule::{self, Folder};
use crate::source::Source;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

fn gvk(api_version: &str, kind: &str) -> Gvk {
    Gvk::parse(api_version, kind).unwrap()
}

/// A definition of `x.io/v1 Thing` with these properties of `spec`.
fn definition(spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": spec},
                    "status": {"type": "object", "properties": {
                        "phase": {"type": "string"},
                        "conditions": {"type": "array", "items": {"type": "object", "properties": {
                            "type": {"type": "string"}, "status": {"type": "string"},
                            "reason": {"type": "string"}, "message": {"type": "string"},
                            "lastTransitionTime": {"type": "string"},
                        }}},
                    }},
                }}},
            }],
        },
    })
}

/// Every type that can be reached, and how many fields it has.
fn reachable(schema: &Schema, seen: &mut BTreeSet<&'static str>) -> usize {
    if let Shape::Named(name) = schema.shape {
        let found = named(name).unwrap_or_else(|| panic!("{name} is no type"));
        return if seen.insert(name) { reachable(found, seen) } else { 0 };
    }
    match &schema.shape {
        Shape::List(inner, _) | Shape::Map(inner) => reachable(inner, seen),
        Shape::Fields(fields) => {
            fields.known.values().map(|field| 1 + reachable(field, seen)).sum()
        }
        _ => 0,
    }
}

#[test]
fn every_word_of_the_embedded_description_is_understood() {
    let mut seen = BTreeSet::new();
    let fields: usize = builtin_kinds().values().map(|kind| reachable(&kind.root, &mut seen)).sum();
    let text = include_str!("builtin.txt");
    let lines = text.lines().filter(|line| line.starts_with(' ')).count();
    let headers = text.lines().filter(|line| !line.starts_with([' ', '#'])).count();
    assert_eq!(fields, lines, "every field is read and can be reached");
    assert_eq!(seen.len() + builtin_kinds().len(), headers);
    assert!(builtin_kinds().len() > 60 && fields > 2000);
}

#[test]
fn the_embedded_description_has_what_others_rely_on() {
    let types = Types::builtin();
    let kind = |api_version, name| types.kind(&gvk(api_version, name)).unwrap();
    assert_eq!(kind("v1", "Namespace").scope, Scope::Cluster);
    assert_eq!(kind("v1", "Pod").scope, Scope::Namespaced);
    assert!(kind("apps/v1", "Deployment").has_status && !kind("v1", "ConfigMap").has_status);
    assert_eq!(types.other_versions(&gvk("autoscaling/v2", "HorizontalPodAutoscaler")), ["v1"]);
    assert_eq!(types.other_versions(&gvk("apps/v1beta1", "Deployment")), ["v1"]);

    let field = |of: &str, name: &str| {
        let Shape::Fields(fields) = &named(of).unwrap().shape else { panic!("{of} has fields") };
        fields.known[name].clone()
    };
    let ports = field("core.v1.Container", "ports");
    let keys = ["containerPort", "protocol"].map(str::to_owned).to_vec();
    assert!(matches!(ports.shape, Shape::List(_, Keyed::By(found)) if found == keys));
    assert_eq!(field("core.v1.ContainerPort", "protocol").default, Some(json!("TCP")));
    assert!(field("apps.v1.DeploymentSpec", "selector").is_whole());
    assert!(field("core.v1.PodSpec", "tolerations").is_whole());
    assert!(!field("core.v1.PodSpec", "nodeSelector").shape.is_any());
    assert!(!field("core.v1.PodSpec", "containers").is_whole());
    let must = &named("core.v1.Container").unwrap().limits.as_ref().unwrap().required;
    assert_eq!(must, &["name"]);
}

impl Shape {
    fn is_any(&self) -> bool {
        matches!(self, Self::Any)
    }
}

/// `yes`, `?`, or where it ends and the hint.
fn told(check: PathCheck) -> String {
    match check {
        PathCheck::Possible => "yes".to_owned(),
        PathCheck::Unknown => "?".to_owned(),
        PathCheck::Impossible { at, hint } => format!("{at} ({})", hint.unwrap_or_default()),
    }
}

#[test]
fn paths_are_followed_as_far_as_types_are_known() {
    let types = Types::builtin().with_crds([&definition(&json!({
        "ports": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
        }}},
        "free": {"x-kubernetes-preserve-unknown-fields": true},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"known": {"type": "string"}}},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {
            "value": {"type": "integer"}}}},
    }))]);
    for (path, expected) in [
        ("$", "yes"),
        ("$.spec", "yes"),
        ("$.sepc.x", "$.sepc (did you mean `spec`?)"),
        ("$.metadata.labels['a/b']", "yes"),
        ("$.metadata.lables", "$.metadata.lables (did you mean `labels`?)"),
        ("$.metadata.labels.a.b", "$.metadata.labels.a.b (nothing is below `$.metadata.labels.a`)"),
        ("$.spec.ports[0].name", "yes"),
        ("$.spec.ports[-1:].name", "yes"),
        ("$.spec.ports[*].nmae", "$.spec.ports[*].nmae (did you mean `name`?)"),
        (
            "$.spec.ports.name",
            "$.spec.ports.name (`$.spec.ports` is a list: go over it with `[*]`)",
        ),
        ("$.spec[0]", "$.spec[*] (`$.spec` is a map)"),
        (
            "$.spec.ports[*].name.x",
            "$.spec.ports[*].name.x (nothing is below `$.spec.ports[*].name`)",
        ),
        ("$.spec.ports[?@.name == 'a'].tags[0]", "yes"),
        ("$.spec.ports[?@.name == 'a'].tag", "$.spec.ports[?].tag (did you mean `tags`?)"),
        ("$.spec.ports[?@.nam == 'a'].tags", "@.nam (did you mean `name`?)"),
        ("$.spec.map.anything.value", "yes"),
        ("$.spec.map[*].vlaue", "$.spec.map[*].vlaue (did you mean `value`?)"),
        ("$.spec.free.anything[3]", "?"),
        ("$.spec.open.known", "yes"),
        ("$.spec.open.other", "?"),
        ("$.spec.open[*]", "?"),
        ("$.spec[*][0].name", "?"),
        ("$.status[*][*].reason", "yes"),
        ("$.status[*][*].raeson", "$.status[*][*].raeson (did you mean `reason`?)"),
        ("$..nowhere", "?"),
        ("$['spec','status'].x", "?"),
    ] {
        let parsed = Path::parse(path).unwrap();
        assert_eq!(
            told(path_exists(&types, &gvk("x.io/v1", "Thing"), &parsed)),
            expected,
            "{path}"
        );
    }
    let path = Path::parse("$.spec.replicsa").unwrap();
    let deployment = told(path_exists(&types, &gvk("apps/v1", "Deployment"), &path));
    assert_eq!(deployment, "$.spec.replicsa (did you mean `replicas`?)");
    assert_eq!(path_exists(&types, &gvk("y.io/v1", "Thing"), &path), PathCheck::Unknown);
}

#[test]
fn status_fields_are_kept_refused_or_have_nowhere_to_go() {
    let mut without = definition(&json!({}));
    let version = without["spec"]["versions"][0].as_object_mut().unwrap();
    version.remove("subresources");
    without["spec"]["names"]["kind"] = json!("Other");
    let types = Types::builtin().with_crds([&definition(&json!({})), &without]);
    let field = |api_version, kind, name| status_field(&types, &gvk(api_version, kind), name);
    assert_eq!(field("x.io/v1", "Thing", "phase"), StatusCheck::Kept);
    let hint = Some("did you mean `phase`?".to_owned());
    assert_eq!(field("x.io/v1", "Thing", "pahse"), StatusCheck::Refused { hint });
    assert_eq!(field("x.io/v1", "Other", "phase"), StatusCheck::NoStatus);
    assert_eq!(field("v1", "ConfigMap", "phase"), StatusCheck::NoStatus);
    assert_eq!(field("v1", "Namespace", "phase"), StatusCheck::Kept);
    assert_eq!(field("y.io/v1", "Thing", "phase"), StatusCheck::Unknown);
}

#[test]
fn findings_are_sentences_with_a_remedy() {
    let types = Types::builtin().with_crds([&definition(&json!({
        "count": {"type": "integer", "minimum": 1},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "list": {"type": "array", "items": {"type": "string"}},
        "empty": {"type": "object"},
        "either": {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
    }))]);
    let long = "x".repeat(100);
    for (spec, expected) in [
        (json!({"cuont": 1}), "$.spec.cuont is not known (did you mean `count`?)"),
        (
            json!({"replicas": 1}),
            "$.spec.replicas is not known (known here: colour, count, either, empty, list)",
        ),
        (
            json!({"empty": {"a": 1}}),
            "$.spec.empty.a is not known (the schema knows no field here)",
        ),
        (
            json!({"count": "3"}),
            "$.spec.count is the text \"3\", should be an integer (drop the quotes)",
        ),
        (json!({"count": "three"}), "$.spec.count is the text \"three\", should be an integer"),
        (json!({"count": 1.5}), "$.spec.count is 1.5, should be an integer"),
        (json!({"count": 0}), "$.spec.count is 0, should be at least 1"),
        (json!({"colour": true}), "$.spec.colour is true, should be text (quote it)"),
        (
            json!({"colour": "gren"}),
            "$.spec.colour is \"gren\", should be one of \"red\", \"green\" (did you mean `green`?)",
        ),
        (
            json!({"list": "a"}),
            "$.spec.list is the text \"a\", should be a list (put it in a list: `- …` or `[…]`)",
        ),
        (json!({"list": [{}]}), "$.spec.list[0] is a map, should be text"),
        (
            json!({"either": {}}),
            "$.spec.either fits none of the schema's alternatives (for one of them, $.spec.either.a is missing)",
        ),
        (
            json!({"count": long}),
            &format!("$.spec.count is the text \"{}…\", should be an integer", &long[..40]),
        ),
    ] {
        let object = json!({"apiVersion": "x.io/v1", "kind": "Thing", "spec": spec});
        let findings = check_object(&types, &object).unwrap();
        let told = findings.iter().map(|finding| finding.problem("Thing").to_string());
        assert_eq!(told.collect::<Vec<_>>(), [format!("Thing {expected}")]);
    }
    let many: Vec<_> = (0..1000).collect();
    let object = json!({"apiVersion": "x.io/v1", "kind": "Thing", "spec": {"list": many}});
    assert_eq!(check_object(&types, &object).unwrap().len(), 50, "nobody reads more");
}

#[test]
fn a_definition_that_is_wrong_itself_is_read_as_far_as_it_goes() {
    let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing", "spec": {"a": 1}});
    let schema = |schema: Value| {
        let mut crd = definition(&json!({}));
        crd["spec"]["versions"][0]["schema"] = schema;
        crd
    };
    for crd in [
        schema(json!(null)),
        schema(json!({"openAPIV3Schema": "text"})),
        schema(json!({"openAPIV3Schema": {"type": "objetc"}})),
        schema(json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": 1}}})),
        schema(json!({"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "additionalProperties": false, "required": "a", "enum": 1,
                "maxProperties": -1, "allOf": {}, "anyOf": [1]}}}})),
    ] {
        let types = Types::builtin().with_crds([&crd]);
        assert_eq!(check_object(&types, &thing), Some(Vec::new()), "{crd}");
    }
    let pattern = json!({"a": {"type": "string", "pattern": "(?<!lookbehind)"}});
    let types = Types::builtin().with_crds([&definition(&pattern)]);
    let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing", "spec": {"a": "b"}});
    assert_eq!(check_object(&types, &thing), Some(Vec::new()), "a foreign pattern is not judged");
    for foreign in
        [json!(null), json!([]), json!({"kind": "Service"}), json!({"spec": {"versions": [1]}})]
    {
        assert_eq!(Types::builtin().with_crds([&foreign]).custom.len(), 0, "{foreign}");
    }
}

/// The problems of a rule, each as one line.
fn problems_of(rule: &str, templates: &[(&str, &str)], types: &Types) -> Vec<String> {
    let source = |(name, text): &(&str, &str)| ((*name).to_owned(), Source::new(*name, *text));
    let folder = Folder {
        rules: vec![Source::new("rule.yaml", rule)],
        templates: Arc::new(templates.iter().map(source).collect()),
    };
    let loaded = rule::load(&folder);
    assert_eq!(loaded.problems, []);
    rule_findings(&loaded.rules[0], types).iter().map(ToString::to_string).collect()
}

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent:
    apiVersion: x.io/v1
    kind: Thing
    when: [{path: \"$.spec.no1\", exists: true}]
  let: |
    a: {{ parent.spec.no2 }}
  children:
    - id: web
      template: web.yaml
      when: [{anyOf: [{path: \"$.spec.name\", exists: true}, {path: \"$.spec.no3\", equals: {path: \"$.spec.no4\"}}]}]
      ready: [{path: \"$.status.replicsa\", atLeast: 1}, {of: parent, path: \"$.spec.name\", exists: true}]
      ignore:
        - path: \"$.spec.replicas\"
        - path: \"$.spec.replicaz\"
        - {path: \"$.spec.selector.matchLabels.a\", when: [{path: \"$.spec.no5\", exists: true}]}
        - path: \"$.spec.template.spec.containers[?@.name == 'a'].args[0]\"
    - id: other
      template: other.yaml
      needs: [web]
  status:
    conditions:
      - type: Serving
        when: [{of: web, path: \"$.status.availableReplicas\", atLeast: 1}, {of: web, path: \"$.status.no6\", exists: true}]
        then: {reason: A, message: \"{{ parent.spec.no7 }}\"}
        otherwise: {reason: B}
    fields: |
      phase: {{ children.web.status.no8 ~ children.other.spec.any }}
      pahse: x
";

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ parent.metadata.name }}}
spec: {replicas: {{ parent.spec.no9 }}}
";
const OTHER: &str = "apiVersion: y.io/v1
kind: Unknown
metadata: {name: {{ parent.metadata.name }}}
spec: {x: {{ children.web.status.replicas }}, y: {{ children.web.spec.no10 }}}
";

#[test]
fn a_rule_is_told_of_every_field_that_cannot_be_there() {
    let types = Types::builtin().with_crds([&definition(&json!({"name": {"type": "string"}}))]);
    let templates = [("web.yaml", WEB), ("other.yaml", OTHER)];
    let found = problems_of(RULE, &templates, &types);
    let thing = |no: usize| format!("no Thing has `$.spec.no{no}` (known here: name)");
    let expected = [
        format!("rule.yaml:8:19: {}", thing(1)),
        format!("rule.yaml:14:67: {}", thing(3)),
        format!("rule.yaml:14:96: {}", thing(4)),
        "rule.yaml:15:22: no Deployment has `$.status.replicsa` (did you mean `replicas`?)".into(),
        "rule.yaml:18:17: no Deployment has `$.spec.replicaz` (did you mean `replicas`?)".into(),
        format!("rule.yaml:19:65: {}", thing(5)),
        "rule.yaml:19:18: `$.spec.selector.matchLabels.a` is a part of `$.spec.selector`, which has one owner (ignore `$.spec.selector`)".into(),
        "rule.yaml:20:17: `$.spec.template.spec.containers[?@.name == 'a'].args[0]` is a part of `$.spec.template.spec.containers[?].args`, which has one owner (ignore `$.spec.template.spec.containers[?].args`)".into(),
        "rule.yaml:27:91: no Deployment has `$.status.no6`".into(),
        format!("rule.yaml:10:11: {}", thing(2)),
        format!("web.yaml:4:21: {}", thing(9)),
        "other.yaml:4:53: no Deployment has `$.spec.no10`".into(),
        "rule.yaml:31:17: no Deployment has `$.status.no8`".into(),
        format!("rule.yaml:28:40: {}", thing(7)),
        "rule.yaml:32:7: no Thing has `$.status.pahse` (did you mean `phase`?)".into(),
    ];
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found.starts_with(expected), "{found}\nis not {expected}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    assert_eq!(problems_of(RULE, &templates, &Types::builtin()).len(), 7, "only Deployments");
}

#[test]
fn a_rule_that_writes_a_status_nobody_keeps_is_told() {
    let rule = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: x.io/v1, kind: Thing}
  children: [{id: web, template: web.yaml}]
  status: {}
";
    let templates = [("web.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")];
    let mut crd = definition(&json!({}));
    let fine = Types::builtin().with_crds([&crd]);
    assert_eq!(problems_of(rule, &templates, &fine), Vec::<String>::new());
    let status = crd.pointer_mut(
        "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions/items/properties",
    );
    status.unwrap().as_object_mut().unwrap().remove("reason");
    let types = Types::builtin().with_crds([&crd]);
    let found = problems_of(rule, &templates, &types);
    assert_eq!(
        found,
        [
            "rule.yaml:5:39: no Thing has `$.status.conditions[*].reason` (known here: lastTransitionTime, message, status, type)"
        ]
    );
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("subresources");
    let types = Types::builtin().with_crds([&crd]);
    let found = problems_of(rule, &templates, &types);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("rule.yaml:5:39: Thing has no status subresource"), "{found:?}");
}
