//! What each way of writing a rule asks for.

use super::*;
use crate::rule::{self, Folder};
use crate::source::Source;
use serde_json::json;

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n";

/// The rights of one rule about Shops, as lines: `PLACE GROUP/RESOURCE VERBS`, Events aside.
fn lines(spec: &str, templates: &[(&str, &str)]) -> Vec<String> {
    match of(spec, templates) {
        Ok(rights) => shown(&rights),
        Err(unknown) => unknown.iter().map(ToString::to_string).collect(),
    }
}

fn of(spec: &str, templates: &[(&str, &str)]) -> Result<Rights, Vec<Unknown>> {
    let text = format!(
        "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {{name: shop}}\nspec:\n{spec}"
    );
    let source = |(name, text): &(&str, &str)| ((*name).to_owned(), Source::new(*name, *text));
    let folder = Folder {
        rules: vec![Source::new("rule.yaml", text)],
        templates: Arc::new(templates.iter().map(source).collect()),
    };
    let loaded = rule::load(&folder);
    assert_eq!(loaded.problems, []);
    let crd = |kind: &str, scope: &str, plural: &str| {
        json!({"kind": "CustomResourceDefinition", "spec": {
            "group": "x.io", "scope": scope, "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "subresources": {"status": {}}}]}})
    };
    let crds =
        [crd("Shop", "Namespaced", "shops"), crd("Mall", "Cluster", "malls"), crd("Odd", "", "")];
    rights(&loaded.rules, &Types::builtin().with_crds(&crds))
}

fn shown(rights: &Rights) -> Vec<String> {
    let places = rights.grants.iter();
    let all = places.flat_map(|(reach, grants)| grants.iter().map(move |grant| (reach, grant)));
    all.filter(|(_, (subject, _))| subject.resource != "events")
        .map(|(reach, (subject, grant))| {
            let verbs: Vec<&str> = grant.verbs.iter().map(|verb| verb.word()).collect();
            let names: Vec<&str> = subject.names.iter().map(String::as_str).collect();
            let names =
                if names.is_empty() { String::new() } else { format!("={}", names.join("|")) };
            format!("{reach} {}/{}{names} {}", subject.group, subject.resource, verbs.join(","))
        })
        .collect()
}

const SHOP: &str = "  parent: {apiVersion: x.io/v1, kind: Shop}\n";

#[test]
fn a_parent_is_read_and_its_status_is_written_where_the_rule_has_one() {
    let child = "  children: [{id: a, template: a.yaml}]\n";
    let templates = [("a.yaml", DEPLOYMENT)];
    let all = "everywhere apps/deployments get,list,watch,create,patch,delete";
    let plain = lines(&format!("{SHOP}{child}"), &templates);
    assert_eq!(plain, [all, "everywhere x.io/shops list,watch"]);
    let told = lines(&format!("{SHOP}{child}  status: {{}}\n"), &templates);
    assert_eq!(
        told,
        [all, "everywhere x.io/shops list,watch", "everywhere x.io/shops/status patch"]
    );
}

#[test]
fn what_is_confined_needs_nothing_elsewhere() {
    let confined = "  parent: {apiVersion: x.io/v1, kind: Shop, namespaces: [one, two]}\n";
    let rest = "  children: [{id: a, template: a.yaml, when: [{of: b, path: \"$.data\", exists: true}]}]\n  \
                inputs: [{id: b, apiVersion: v1, kind: Secret, name: b}]\n";
    let templates = [("a.yaml", DEPLOYMENT)];
    let found = lines(&format!("{confined}{rest}"), &templates);
    let of = |place: &str| {
        [
            format!("{place} /secrets list,watch"),
            format!("{place} apps/deployments get,list,watch,create,patch,delete"),
            format!("{place} x.io/shops list,watch"),
        ]
    };
    assert_eq!(found, [of("one"), of("two")].concat());
    // Whoever may reach further is watched where it is, and its children may be anywhere.
    let found = lines(&format!("{confined}  crossNamespace: true\n{rest}"), &templates);
    assert_eq!(
        found,
        [
            "everywhere /secrets list,watch",
            "everywhere apps/deployments get,list,watch,create,patch,delete",
            "one x.io/shops get,list,watch,patch",
            "two x.io/shops get,list,watch,patch",
        ]
    );
}

#[test]
fn what_is_never_deleted_needs_no_right_to_delete() {
    let child = |policies: &str| {
        let child = format!("{SHOP}  children: [{{id: a, template: a.yaml{policies}}}]\n");
        lines(&child, &[("a.yaml", DEPLOYMENT)])
    };
    let deletes = |found: &[String]| found[0].ends_with(",delete");
    let changes_parent = |found: &[String]| found[1].ends_with(",patch");
    for (policies, deleted, held) in [
        ("", true, false),
        (", onRemove: orphan", false, true),
        // Garbage collection takes it along with its parent.
        (", onRemove: {unwanted: orphan, parentDeleted: delete}", false, false),
        (", onRemove: {unwanted: delete, parentDeleted: orphan}", true, true),
        (", onRemove: orphan, onImmutable: recreate", true, true),
        (", onRemove: orphan, update: recreate", true, true),
    ] {
        let found = child(policies);
        assert_eq!(
            (deletes(&found), changes_parent(&found)),
            (deleted, held),
            "{policies} {found:?}"
        );
    }
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n";
    let spec = format!("{SHOP}  children: [{{id: a, template: a.yaml}}]\n");
    let found = lines(&spec, &[("a.yaml", claim)]);
    assert_eq!(found[0], "everywhere /persistentvolumeclaims get,list,watch,create,patch");
}

#[test]
fn edits_inputs_and_selectors_are_read_and_edits_are_patched() {
    let spec = format!(
        "{SHOP}{}",
        "  inputs:
    - {id: one, apiVersion: v1, kind: ConfigMap, labelSelector: {}, namespaces: [shared]}
  children:
    - {id: edit, template: a.yaml, patch: {target: {apiVersion: v1, kind: Service, name: web}}}
"
    );
    let found = lines(
        &format!("{spec}  crossNamespace: true\n"),
        &[("a.yaml", "spec: {x: {{ inputs.one|length }}}\n")],
    );
    assert_eq!(
        found,
        [
            "everywhere /services list,watch,patch",
            // The parent is held until the edit is taken back.
            "everywhere x.io/shops get,list,watch,patch",
            "shared /configmaps list,watch",
        ]
    );
    let selected = SHOP.replace('}', ", namespaceSelector: {matchLabels: {a: b}}}");
    let found = lines(&format!("{selected}  children: []\n"), &[]);
    assert_eq!(found, ["everywhere /namespaces list,watch", "everywhere x.io/shops list,watch"]);
}

#[test]
fn events_about_what_lives_in_no_namespace_are_in_the_default_one() {
    let of = |kind: &str| {
        let spec = format!("  parent: {{apiVersion: x.io/v1, kind: {kind}}}\n  children: []\n");
        let rights = of(&spec, &[]).unwrap();
        let has = |grants: &BTreeMap<Subject, Grant>| {
            grants.keys().any(|subject| subject.resource == "events")
        };
        let places = rights.grants.iter().filter(|(_, grants)| has(grants));
        places.map(|(reach, _)| reach.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (of("Shop"), of("Mall")),
        (vec!["everywhere".to_owned()], vec!["default".to_owned()])
    );
}

#[test]
fn roles_and_bindings_need_powers_by_name_where_the_name_is_known() {
    let binding = |role: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: a}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\n"
        )
    };
    let spec = format!("{SHOP}  children: [{{id: a, template: a.yaml}}]\n");
    let group = "everywhere rbac.authorization.k8s.io/";
    let bind = |template: &str| -> (Vec<String>, usize) {
        let rights = of(&spec, &[("a.yaml", template)]).unwrap();
        let powers = shown(&rights).into_iter().filter(|line| line.contains("roles"));
        (powers.collect(), rights.powers.len())
    };
    let two = [binding("view"), binding("edit")].join("---\n");
    assert_eq!(bind(&two), (vec![format!("{group}clusterroles=edit|view bind")], 1));
    for computed in ["{{ parent.spec.role }}", "{{ \"view\" }}", "x-{{ parent.spec.role }}"] {
        assert_eq!(
            bind(&binding(computed)),
            (vec![format!("{group}clusterroles bind")], 1),
            "{computed}"
        );
    }
    let looped =
        format!("{{% for role in [\"a\"] %}}\n---\n{}{{% endfor %}}\n", binding("{{ role }}"));
    assert_eq!(bind(&looped), (vec![format!("{group}clusterroles bind")], 1));
    let role =
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\nrules: []\n";
    let all = format!("{group}roles get,list,watch,create,patch,delete,escalate");
    assert_eq!(bind(role), (vec![all], 1));
}

#[test]
fn what_a_kind_is_called_must_be_known() {
    let spec = format!("{SHOP}  children: [{{id: a, template: a.yaml}}]\n");
    for kind in ["Odd", "Missing"] {
        let template = format!("apiVersion: x.io/v1\nkind: {kind}\nmetadata: {{name: a}}\n");
        let found = lines(&spec, &[("a.yaml", &template)]);
        let said =
            format!("rule shop: what x.io/v1 {kind} is called in rights is not known (child a)");
        assert_eq!(found, [said]);
    }
}

#[test]
fn what_holds_everywhere_is_not_said_again_for_a_namespace() {
    let spec = format!("{SHOP}  children: []\n");
    let rights = of(&spec, &[]).unwrap();
    let own = Own { namespace: "ours", leases: false };
    let mut more = rights.clone();
    let subject =
        Subject { group: String::new(), resource: "configmaps".into(), names: BTreeSet::new() };
    let rule = Arc::from("shop");
    more.add(Reach::Everywhere, subject, &[Verb::Get, Verb::List], (&rule, "test"));
    assert!(
        shown(&rights.with_own(&own))
            .contains(&"ours /configmaps list,watch,create,patch,delete".to_owned())
    );
    assert!(
        shown(&more.with_own(&own))
            .contains(&"ours /configmaps watch,create,patch,delete".to_owned())
    );
}
