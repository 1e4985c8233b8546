//! A rule from existing manifests.
//!
//! In: files with objects, names. Out: a rule whose example parent renders exactly these objects, proven by rendering it.
//! Pure.

use super::clean::Bookkeeping;
use super::edit::substitute;
use super::find::{Found, Shared, find};
use super::manifest::{self, Manifest};
use super::names::{self, Names};
use super::{Scaffold, crd, verify};
use crate::problem::Problem;
use crate::schema::Types;
use crate::scope::{Scope, Scopes};
use crate::source::Source;
use crate::yaml;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

/// More notes than this are counted, not listed.
const MOST_NOTES: usize = 20;

/// Makes the rule, or says everything that is wrong with the input.
pub fn from_manifests(names: &Names, sources: &[Arc<Source>]) -> Result<Scaffold, Vec<Problem>> {
    let scope = scope_of(sources)?;
    let namespaced = scope == Scope::Namespaced;
    let mut manifests = manifest::read(sources, &Bookkeeping { namespace: namespaced })?;
    let problems: Vec<Problem> = check(&manifests, scope);
    if !problems.is_empty() {
        return Err(problems);
    }
    loop {
        let built = build(names, scope, &manifests);
        let wrong = differing(&built, &manifests, namespaced);
        if wrong.is_empty() {
            return Ok(built.scaffold);
        }
        // Text that cannot be kept is printed anew, once; what differs even then is refused.
        let mut again = false;
        for index in &wrong {
            let manifest = &mut manifests[*index];
            again |= manifest.kept;
            manifest.text = yaml::print(&manifest.object);
            manifest.kept = false;
        }
        if !again {
            return Err(wrong
                .iter()
                .map(|index| not_the_same(&built, *index, &manifests))
                .collect());
        }
    }
}

/// An object without a namespace can only belong to a parent without one.
fn scope_of(sources: &[Arc<Source>]) -> Result<Scope, Vec<Problem>> {
    let scopes = Scopes::offline(&Types::builtin());
    let manifests = manifest::read(sources, &Bookkeeping { namespace: false })?;
    let cluster = |manifest: &Manifest| scopes.of(&manifest.gvk.group_kind()) == Scope::Cluster;
    Ok(if manifests.iter().any(cluster) { Scope::Cluster } else { Scope::Namespaced })
}

fn check(manifests: &[Manifest], scope: Scope) -> Vec<Problem> {
    let scopes = Scopes::offline(&Types::builtin());
    let mut problems = Vec::new();
    let first = manifests.iter().find_map(|manifest| manifest.namespace.as_deref());
    for manifest in manifests {
        let titled = verify::titled(&manifest.gvk, &manifest.name);
        let wrong = |code, message: String| Problem::new(code, message).at(manifest.place.clone());
        if let Some((message, hint)) = verify::refusal(&manifest.object) {
            let problem = wrong("illegal-object", format!("{titled}: {message}"));
            problems.push(Problem { hint: hint.map(str::to_owned), ..problem });
        }
        match (scope, manifest.namespace.as_deref()) {
            (Scope::Namespaced, Some(own)) if Some(own) != first => {
                let message = format!(
                    "{titled} is in `{own}`, others are in `{}`",
                    first.unwrap_or_default()
                );
                let hint = "a parent's children live in its own namespace: make a rule for each";
                problems.push(wrong("several-namespaces", message).hint(hint));
            }
            (Scope::Cluster, None)
                if scopes.of(&manifest.gvk.group_kind()) == Scope::Namespaced =>
            {
                let message = format!("{titled} does not say its namespace");
                let hint = "others live in no namespace, and so will the parent: write `metadata.namespace`";
                problems.push(wrong("no-namespace", message).hint(hint));
            }
            _ => {}
        }
    }
    problems
}

struct Built {
    scaffold: Scaffold,
    ids: Vec<String>,
}

fn build(names: &Names, scope: Scope, manifests: &[Manifest]) -> Built {
    let written: Vec<(&str, &str)> = manifests
        .iter()
        .map(|manifest| (manifest.gvk.kind.as_str(), manifest.name.as_str()))
        .collect();
    let object_names: Vec<&str> = written.iter().map(|(_, name)| *name).collect();
    let base = names::base(&object_names);
    let ids = names::ids(&written, &base);
    let namespace = manifests
        .iter()
        .find_map(|manifest| manifest.namespace.as_deref())
        .filter(|_| scope == Scope::Namespaced);
    let found = find(&Shared { manifests, ids: &ids, base: &base, namespace });

    let mut scaffold = Scaffold::default();
    scaffold.add(format!("rules/{}.yaml", names.rule), rule(names, manifests, &ids));
    let schema = found.parameters.schema();
    let required = found.parameters.any_required();
    scaffold
        .add(format!("rules/{}.crd.yaml", names.rule), crd::print(names, scope, &schema, required));
    let parent = example(names, &base, namespace, &found);
    scaffold.add(format!("rules/{}.example.yaml", names.rule), yaml::print(&parent));
    for ((manifest, id), edits) in manifests.iter().zip(&ids).zip(&found.edits) {
        let path = format!("templates/{}/{id}.yaml", names.rule);
        scaffold.add(path, substitute(&manifest.text, edits));
    }
    scaffold.parameters = found.parameters.paths();
    scaffold.objects = manifests.len();
    scaffold.notes = notes(manifests, found.notes);
    Built { scaffold, ids }
}

fn notes(manifests: &[Manifest], found: Vec<String>) -> Vec<String> {
    let printed = manifests.iter().filter(|manifest| !manifest.kept);
    let mut notes: Vec<String> = printed
        .map(|manifest| {
            let titled = verify::titled(&manifest.gvk, &manifest.name);
            format!("{titled}: printed anew, without its comments")
        })
        .collect();
    let mut seen = BTreeSet::new();
    notes.extend(found.into_iter().filter(|note| seen.insert(note.clone())));
    if notes.len() > MOST_NOTES {
        let more = notes.len() - MOST_NOTES;
        notes.truncate(MOST_NOTES);
        notes.push(format!("and {more} more"));
    }
    notes
}

fn example(names: &Names, base: &str, namespace: Option<&str>, found: &Found) -> Value {
    let mut parent = json!({
        "apiVersion": names.api_version(),
        "kind": names.kind,
        "metadata": {"name": base},
        "spec": found.parameters.example(),
    });
    if let Some(namespace) = namespace {
        parent["metadata"]["namespace"] = json!(namespace);
    }
    parent
}

fn rule(names: &Names, manifests: &[Manifest], ids: &[String]) -> String {
    let Names { rule, kind, .. } = names;
    let mut text = format!(
        "\
# For every {kind}, the objects of the manifests that this rule was made from.
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata:
  name: {rule}
spec:
  parent: {{apiVersion: {}, kind: {kind}}}

  let: |
    name: {{{{ parent.metadata.name }}}}

  children:
",
        names.api_version()
    );
    for (manifest, id) in manifests.iter().zip(ids) {
        // Writing to a String cannot fail.
        let _ = write!(text, "    - id: {id}\n      template: {rule}/{id}.yaml\n");
        if !states_its_kind(&manifest.text) {
            let kind = Value::from(manifest.gvk.kind.as_str());
            let version = Value::from(manifest.gvk.api_version());
            let _ = writeln!(text, "      kinds: [{{apiVersion: {version}, kind: {kind}}}]");
        }
        if is_autoscaled(manifest, manifests) {
            text +=
                "      # The autoscaler owns the number of replicas; ours is only the first one.\n";
            text += "      ignore: [{path: \"$.spec.replicas\"}]\n";
        }
    }
    text + "\n  # Ready, Reconciling and Stalled on the parent; fields and conditions of your own go here.\n  status: {}\n"
}

/// Whether apiVersion and kind stand on lines of their own, where they are read without rendering.
fn states_its_kind(text: &str) -> bool {
    let states = |key: &str| text.lines().filter(|line| line.starts_with(key)).count() == 1;
    states("apiVersion: ") && states("kind: ")
}

fn is_autoscaled(manifest: &Manifest, manifests: &[Manifest]) -> bool {
    let target = |other: &Manifest, field: &str| {
        let pointer = format!("/spec/scaleTargetRef/{field}");
        other.object.pointer(&pointer).and_then(Value::as_str).map(str::to_owned)
    };
    manifests.iter().filter(|other| other.gvk.kind == "HorizontalPodAutoscaler").any(|other| {
        target(other, "kind").as_deref() == Some(manifest.gvk.kind.as_str())
            && target(other, "name").as_deref() == Some(manifest.name.as_str())
    })
}

/// The manifests that the example parent does not give back exactly.
fn differing(built: &Built, manifests: &[Manifest], namespaced: bool) -> Vec<usize> {
    let loaded = built.scaffold.load(&[]);
    let [rule] = loaded.rules.as_slice() else { return (0..manifests.len()).collect() };
    let Some(example) = loaded.examples.first() else { return (0..manifests.len()).collect() };
    let desired = verify::desired(rule, &example.object, &loaded.crds);
    let is_back = |index: usize| {
        let mut rendered =
            desired.children.iter().filter(|child| *child.child == *built.ids[index]);
        let object = rendered.next().map(|child| &child.object);
        let manifest = &manifests[index];
        rendered.next().is_none()
            && object.is_some_and(|object| verify::is_same(object, &manifest.object, namespaced))
    };
    (0..manifests.len()).filter(|index| !is_back(*index)).collect()
}

/// What stands in the way of a manifest, as well as it can be said.
fn not_the_same(built: &Built, index: usize, manifests: &[Manifest]) -> Problem {
    let manifest = &manifests[index];
    let template = format!("/{}.yaml", built.ids[index]);
    let is_its_own = |problem: &Problem| {
        problem.place.as_ref().is_some_and(|place| place.source.name.ends_with(&template))
    };
    let why = built.scaffold.check(&[]).into_iter().find(is_its_own);
    let why = why.map_or_else(String::new, |problem| format!(": {}", problem.message));
    let titled = verify::titled(&manifest.gvk, &manifest.name);
    let message = format!("a template cannot give {titled} back exactly{why}");
    Problem::new("not-the-same", message).at(manifest.place.clone())
}
