//! A rule to start from, for a kind that has a CRD already.
//!
//! In: a file with the CRD, the rule's name. Out: a rule with one child, an example parent with every required field. Pure.

use super::Scaffold;
use super::names::Names;
use super::parameter::expression;
use super::plausible::plausible;
use crate::problem::Problem;
use crate::source::{Place, Source};
use crate::yaml::{self, Limits, Node};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::sync::Arc;

/// Fields that the first template shows.
const SHOWN: usize = 5;

/// Makes the rule for the CRD in `source`; of several, the one of `kind`. With `copy`, the CRD is one of the files.
pub fn from_crd(
    rule: &str,
    kind: Option<&str>,
    source: &Arc<Source>,
    copy: bool,
) -> Result<Scaffold, Vec<Problem>> {
    let (crd, text) = chosen(kind, source).map_err(|problem| vec![problem])?;
    let names = Names::new(rule, Some(&crd.kind), &crd.group).map_err(|problem| vec![problem])?;
    let mut scaffold = Scaffold { objects: 1, ..Scaffold::default() };
    let mut parent = crd.example(rule, &mut scaffold.notes);
    let shown = crd.shown(&mut parent, &mut scaffold.notes);
    scaffold.add(format!("rules/{rule}.yaml"), crd.rule(&names));
    let existing = if copy {
        scaffold.add(format!("rules/{rule}.crd.yaml"), text);
        Vec::new()
    } else {
        vec![Source::new(source.name.as_str(), text)]
    };
    scaffold.add(format!("rules/{rule}.example.yaml"), yaml::print(&parent));
    scaffold.add(format!("templates/{rule}/config.yaml"), crd.template(&shown));
    let problems = scaffold.check(&existing);
    if problems.is_empty() { Ok(scaffold) } else { Err(problems) }
}

/// What matters of a CRD.
struct Crd {
    group: String,
    kind: String,
    version: String,
    cluster: bool,
    schema: Value,
    has_conditions: bool,
}

/// The CRD, and the text of a file that holds it alone.
fn chosen(kind: Option<&str>, source: &Arc<Source>) -> Result<(Crd, String), Problem> {
    let documents = yaml::parse(&source.text, &Limits::FILE).map_err(|error| {
        let problem =
            Problem::new("illegal-yaml", error.message).at(Place::new(source, error.span));
        Problem { hint: error.hint, ..problem }
    })?;
    let crds: Vec<&Node> = documents
        .iter()
        .map(|document| &document.root)
        .filter(|root| root.get("kind").and_then(Node::as_str) == Some("CustomResourceDefinition"))
        .collect();
    let kind_of =
        |node: &Node| Some(node.get("spec")?.get("names")?.get("kind")?.as_str()?.to_owned());
    let kinds: Vec<String> = crds.iter().filter_map(|node| kind_of(node)).collect();
    let whole = || Place::new(source, 0..source.text.find('\n').unwrap_or(source.text.len()));
    let fitting: Vec<&Node> = crds
        .into_iter()
        .filter(|node| kind.is_none() || kind_of(node).as_deref() == kind)
        .collect();
    match (fitting.as_slice(), kind) {
        ([node], _) => {
            let crd = read(node, source)?;
            let text = if documents.len() == 1 {
                source.text.clone()
            } else {
                yaml::print(&node.to_json())
            };
            Ok((crd, text))
        }
        ([], None) => {
            let problem =
                Problem::new("no-crd", "there is no CustomResourceDefinition in this file");
            Err(problem.at(whole()).hint("for other objects use --from"))
        }
        ([], Some(kind)) => {
            let problem =
                Problem::new("no-crd", format!("there is no CRD of kind `{kind}` in this file"));
            Err(problem.at(whole()).hint(format!("there are: {}", kinds.join(", "))))
        }
        _ => {
            let problem = Problem::new("several-crds", "there are several CRDs in this file");
            Err(problem.at(whole()).hint(format!("choose one with --kind: {}", kinds.join(", "))))
        }
    }
}

fn read(node: &Node, source: &Arc<Source>) -> Result<Crd, Problem> {
    let object = node.to_json();
    let place = |keys: &[&str]| {
        let found = keys.iter().try_fold(node, |node, key| node.get(key)).unwrap_or(node);
        let text = source.text.get(found.span.clone()).unwrap_or_default();
        let length = text.find('\n').unwrap_or(text.len());
        Place::new(source, found.span.start..found.span.start + length)
    };
    if object.get("apiVersion").and_then(Value::as_str) != Some("apiextensions.k8s.io/v1") {
        let problem = Problem::new(
            "old-crd",
            "only apiextensions.k8s.io/v1 is served by Kubernetes 1.22 and later",
        );
        return Err(problem.at(place(&["apiVersion"])));
    }
    let text = |pointer: &str| {
        object.pointer(pointer).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| {
            let message = format!("this CRD has no `{}`", pointer[1..].replace('/', "."));
            Problem::new("incomplete-crd", message).at(place(&["spec"]))
        })
    };
    let versions = object.pointer("/spec/versions").and_then(Value::as_array);
    let is = |version: &&Value, field: &str| version.get(field) == Some(&Value::Bool(true));
    let served = || versions.into_iter().flatten().filter(|version| is(version, "served"));
    let Some(version) = served().find(|version| is(version, "storage")).or_else(|| served().next())
    else {
        let problem = Problem::new("incomplete-crd", "this CRD serves no version");
        return Err(problem.at(place(&["spec", "versions"])));
    };
    let schema = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
    let has_status = version.pointer("/subresources/status").is_some();
    let conditions = "/properties/status/properties/conditions";
    Ok(Crd {
        group: text("/spec/group")?,
        kind: text("/spec/names/kind")?,
        version: version.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        cluster: text("/spec/scope")? == "Cluster",
        has_conditions: has_status && schema.pointer(conditions).is_some(),
        schema,
    })
}

impl Crd {
    /// A parent with everything that is required, `spec` first of all.
    fn example(&self, name: &str, notes: &mut Vec<String>) -> Value {
        let mut parent = Map::new();
        if let Value::Object(map) = plausible(&self.schema, "parent", 0, notes) {
            parent = map;
        }
        let spec = self.schema.pointer("/properties/spec");
        if !parent.contains_key("spec")
            && let Some(spec) = spec
        {
            parent.insert("spec".into(), plausible(spec, "spec", 0, notes));
        }
        parent.remove("status");
        parent.insert("apiVersion".into(), json!(format!("{}/{}", self.group, self.version)));
        parent.insert("kind".into(), json!(self.kind));
        parent.insert("metadata".into(), json!({"name": name}));
        for note in notes.iter_mut() {
            if let Some(rest) = note.strip_prefix("parent.") {
                *note = rest.to_owned();
            }
        }
        Value::Object(parent)
    }

    /// Scalar fields for the first template; where nothing is required, the example gets some.
    fn shown(&self, parent: &mut Value, notes: &mut Vec<String>) -> Vec<Vec<String>> {
        let mut shown = Vec::new();
        scalars(&parent["spec"], &mut Vec::new(), &mut shown);
        if shown.is_empty()
            && let Some(properties) =
                self.schema.pointer("/properties/spec/properties").and_then(Value::as_object)
            && let Some(spec) = parent.get_mut("spec").and_then(Value::as_object_mut)
        {
            let simple = |schema: &Value| {
                let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
                ["string", "integer", "number", "boolean"].contains(&kind)
            };
            for (name, schema) in properties.iter().filter(|(_, schema)| simple(schema)).take(SHOWN)
            {
                spec.insert(name.clone(), plausible(schema, &format!("spec.{name}"), 0, notes));
                shown.push(vec![name.clone()]);
            }
        }
        shown.truncate(SHOWN);
        shown
    }

    fn rule(&self, names: &Names) -> String {
        let Self { group, version, kind, .. } = self;
        let rule = &names.rule;
        let mut text = format!(
            "\
# For every {kind}, a ConfigMap with some of its fields: a start. Replace it by what a {kind} needs.
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata:
  name: {rule}
spec:
  parent: {{apiVersion: {group}/{version}, kind: {kind}}}

  let: |
    name: {{{{ parent.metadata.name }}}}

  children:
    - id: config
      template: {rule}/config.yaml
"
        );
        if self.has_conditions {
            text += "
  # Ready, Reconciling and Stalled come by themselves; this one is ours.
  status:
    conditions:
      - type: Configured
        when: [{of: config, path: \"$.data\", exists: true}]
        then: {reason: Written, message: \"the ConfigMap of {{ let.name }} exists\"}
        otherwise: {reason: Empty, message: \"the ConfigMap of {{ let.name }} is empty\"}
        unknown: {reason: NotCreated, message: \"the ConfigMap does not exist yet\"}
";
        }
        text
    }

    fn template(&self, shown: &[Vec<String>]) -> String {
        let mut text =
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ let.name }}-config\n"
                .to_owned();
        if self.cluster {
            text += "  # The parent lives in no namespace: its children must say where they live.\n  namespace: default\n";
        }
        text += "data:\n";
        if shown.is_empty() {
            text += "  name: \"{{ parent.metadata.name }}\"\n";
        }
        for path in shown {
            // Quoted: the texts of a ConfigMap are texts, whatever type the field has.
            let _ = writeln!(text, "  {}: \"{{{{ {} }}}}\"", path.join("."), expression(path));
        }
        text
    }
}

/// Paths of texts, numbers and booleans whose names may be keys of a `ConfigMap`.
fn scalars(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                if name.chars().all(legal) {
                    path.push(name.clone());
                    scalars(value, path, found);
                    path.pop();
                }
            }
        }
        Value::Null | Value::Array(_) => {}
        _ if path.is_empty() => {}
        _ => found.push(path.clone()),
    }
}
