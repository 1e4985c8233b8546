//! From a child's template to objects ready to be sent.
//!
//! In: a child of a rule, what it may read. Out: canonical objects with identity, marks, owner and intent hash.

use super::generate::{self, Generated};
use super::{Setting, Stuck, held_up, reserved};
use crate::fetch::{Live, Observed};
use crate::marks::{self, Mark, annotation, label};
use crate::object::{Gvk, ObjectId, metadata};
use crate::owned::{self, FieldPath, Ignored, IntentMark, SecretPlaces, Step};
use crate::problem::Problem;
use crate::refusal::Texts;
use crate::rule::{ChildRule, Policies, Rule};
use crate::scope::Scope;
use crate::source::Place;
use crate::template::{Awaits, Context, HUSHED, Part};
use crate::view::View;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// As long as any name may be.
const LONGEST_NAME: usize = 253;

/// An object that should exist.
#[derive(Clone, Debug)]
pub struct DesiredChild {
    /// The child's id in the rule.
    pub child: Arc<str>,
    /// The keys of the items around it, outermost group first.
    pub items: Vec<String>,
    /// Its kind and version.
    pub gvk: Gvk,
    /// Which object.
    pub id: ObjectId,
    /// What is sent, marks included.
    pub object: Value,
    /// Hash of what is wanted, without what is ignored. It never leaves the process: there may be secrets in it.
    pub intent: u64,
    /// What the object says of it.
    pub marked: IntentMark,
    /// Where its values are secret.
    pub secrets: SecretPlaces,
    /// Fields that are left to whoever owns them.
    pub ignored: Ignored,
    /// Whether no owner reference ties it to the parent.
    pub free: bool,
    /// Whether it holds generated values.
    pub generates: bool,
    /// Whether what the server says about it may be shown: it may quote a value of a Secret.
    pub texts: Texts,
    /// Whether its generated values were lost, so that it is not created.
    pub lost: bool,
    /// What is done with it in cases in which rules differ.
    pub policies: Policies,
}

impl DesiredChild {
    /// Its id, with the items around it: `quota[blue]`.
    pub fn name(&self) -> String {
        super::place_name(&self.child, &self.items)
    }

    /// Whether an object with this mark was applied for what is wanted now, as far as the mark can tell.
    pub fn is_marked(&self, mark: IntentMark) -> bool {
        match mark {
            IntentMark::Whole(hash) => hash == self.intent,
            IntentMark::Open(_) => mark == self.marked,
            IntentMark::Unknown => true,
        }
    }

    /// The body for an object that exists: an ignored field is sent only while nobody else owns it.
    pub fn body_beside(&self, live: &Live, manager: &str) -> Value {
        let fields = live.stored.managed_fields();
        let fields: Value =
            fields.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        owned::without_ignored(&self.object, &self.ignored, &|path| {
            owned::holders(&fields, path, &self.object)
                .iter()
                .all(|holder| holder.is_apply_of(manager))
        })
    }
}

/// Renders one child.
pub(super) fn objects(
    rule: &Rule,
    child: &ChildRule,
    view: &View<'_>,
    observed: &Observed,
    setting: &Setting<'_>,
) -> Result<Vec<DesiredChild>, Stuck> {
    held_up(child.template.reads(), &observed.inputs)?;
    let generated = generate::values(child, &view.keys(), observed, setting);
    let context = context(child, view, &generated);
    let documents = rule.templates.documents(&child.template, &context)?;
    if documents.is_empty() && !child.may_be_empty {
        let hint = "guard the child with `when`, or allow it with `mayBeEmpty: true`";
        let message = format!("the template of `{}` renders no object", child.id);
        let problem = Problem::new("no-object", message);
        return Err(Stuck::Failed(problem.at(child.place.clone()).hint(hint)));
    }
    let making = Making {
        rule,
        child,
        items: view.keys(),
        ignored: child.ignored(view),
        parent: &observed.parent,
        generated,
        setting,
    };
    let object = |(nth, document)| {
        making.object(document).map_err(|Refused { problem, at }| {
            let place = place_of(rule, child, view, nth, &at);
            let problem = if rule.reveal { hushed(*problem) } else { *problem };
            Stuck::Failed(problem.at(place.unwrap_or_else(|| child.place.clone())))
        })
    };
    documents.into_iter().enumerate().map(object).collect()
}

/// The same for what holds up an edit.
pub(super) fn hushed_in(rule: &Rule, stuck: Stuck) -> Stuck {
    match stuck {
        Stuck::Failed(problem) if rule.reveal => Stuck::Failed(hushed(problem)),
        other => other,
    }
}

/// What a mistake may quote from a rendered object.
const QUOTING: [&str; 5] =
    ["illegal-name", "illegal-object", "illegal-patch", "outside-namespace", "reserved-name"];

/// A mistake without what it may quote: the author lets values of Secrets come anywhere.
fn hushed(problem: Problem) -> Problem {
    if QUOTING.contains(&problem.code) {
        return Problem { message: HUSHED.to_owned(), hint: None, ..problem };
    }
    problem
}

/// What the template of a child can see.
pub(super) fn context<'v>(
    child: &ChildRule,
    view: &'v View<'_>,
    generated: &Generated,
) -> Cow<'v, Context> {
    let mut context = view.context();
    if !child.generate.is_empty() {
        let values = Value::Object(generated.values.clone());
        context.to_mut().insert("generated", Part::new("generated", &values, Awaits::Nothing));
    }
    context
}

/// Where the template writes a part of the `nth` document. It renders again: for mistakes only.
fn place_of(
    rule: &Rule,
    child: &ChildRule,
    view: &View<'_>,
    nth: usize,
    at: &FieldPath,
) -> Option<Place> {
    let context = view.context();
    let documents = rule.templates.documents(&child.template, &context).ok()?;
    let part = at.locate(documents.get(nth)?);
    rule.templates.place(&child.template, &context, nth, &part)
}

/// Where the template names the `nth` document.
pub(super) fn place_of_name(
    rule: &Rule,
    child: &ChildRule,
    view: &View<'_>,
    nth: usize,
) -> Option<Place> {
    let name = FieldPath::new(["metadata", "name"].map(Step::field));
    place_of(rule, child, view, nth, &name)
}

/// Why a document is no object of a child, and the part of it that is to blame.
pub(super) struct Refused {
    pub(super) problem: Box<Problem>,
    at: FieldPath,
}

/// Refuses a document for the part that these keys lead to.
fn refused(problem: Problem, keys: &[&str]) -> Refused {
    let at = FieldPath::new(keys.iter().map(|key| Step::field(key)));
    Refused { problem: Box::new(problem), at }
}

/// What every object of one child at one item has in common.
struct Making<'m> {
    rule: &'m Rule,
    child: &'m ChildRule,
    items: Vec<String>,
    ignored: Ignored,
    parent: &'m Live,
    generated: Generated,
    setting: &'m Setting<'m>,
}

impl Making<'_> {
    /// Identity, marks, owner, canonical form, hash.
    fn object(&self, document: Value) -> Result<DesiredChild, Refused> {
        let gvk = kind_of(self.child, &document)?;
        refuse_marks(&document)?;
        let scope = self.setting.scopes.of(&gvk.group_kind());
        let id = identity(&gvk, scope, &document, self.parent, self.rule.cross_namespace)?;
        if id == self.parent.id {
            let message = format!("`{}` renders {id}, its own parent", self.child.id);
            let problem = Problem::new("own-parent", message);
            return Err(refused(problem.hint("give it another name"), &["metadata", "name"]));
        }
        let mut object = owned::canonical(document).map_err(|mistakes| mistake(&mistakes))?;
        generate::keep(&mut object, &self.generated.values)
            .map_err(|problem| refused(problem, &["data"]))?;
        let free = self.add_marks(&mut object, &id, scope);
        let secrets = self.child.secrets_in(&gvk);
        let (intent, marked) = owned::hash_without_ignored(&object, &self.ignored, &secrets);
        let text = json!(marked.to_string());
        entries(&mut object, "annotations").insert(annotation::INTENT.into(), text);
        let texts = Texts::about(&gvk, self.rule.reveal);
        Ok(DesiredChild {
            child: Arc::clone(&self.child.id),
            items: self.items.clone(),
            gvk,
            id,
            object,
            intent,
            marked,
            secrets,
            ignored: self.ignored.clone(),
            free,
            generates: !self.generated.values.is_empty(),
            texts,
            lost: self.generated.lost,
            policies: self.child.policies,
        })
    }

    /// Marks, and the owner reference where there can be one. Tells whether there is none.
    fn add_marks(&self, object: &mut Value, id: &ObjectId, scope: Scope) -> bool {
        let (stays, outlives) = self.child.policies.kept(&id.kind);
        let own = &self.parent.id.namespace;
        let free = outlives || (!own.is_empty() && id.namespace != *own);
        let mark = Mark {
            free,
            stays,
            outlives,
            rule: self.rule.identity.to_string(),
            parent: self.parent.id.to_string(),
            child: self.child.id.to_string(),
            items: self.items.clone(),
            object: id.to_string(),
        };
        let labels = entries(object, "labels");
        labels.insert(label::OWNER.into(), json!(self.setting.installation));
        labels.insert(label::RULE.into(), json!(mark.rule));
        labels.insert(label::PARENT.into(), json!(marks::label_value(&self.parent.id.name)));
        labels.insert(label::CHILD.into(), json!(marks::label_value(&mark.child)));
        if !mark.items.is_empty() {
            labels.insert(label::ITEM.into(), json!(marks::label_value(&mark.items.join("."))));
        }
        labels.insert(label::SLOT.into(), json!(marks::slot(&self.parent.id).to_string()));
        entries(object, "annotations")
            .insert(annotation::CHILD.into(), json!(mark.to_annotation()));
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return free;
        };
        if !free {
            metadata.insert("ownerReferences".into(), json!([owner(self.parent)]));
        }
        match scope {
            Scope::Namespaced => metadata.insert("namespace".into(), json!(&*id.namespace)),
            Scope::Cluster => metadata.remove("namespace"),
        };
        free
    }
}

fn kind_of(child: &ChildRule, document: &Value) -> Result<Gvk, Refused> {
    let gvk = Gvk::of(document).ok_or_else(|| {
        let message = format!("`{}` renders a document without `apiVersion` or `kind`", child.id);
        refused(Problem::new("no-kind", message), &[])
    })?;
    if child.kinds.contains(&gvk) {
        return Ok(gvk);
    }
    let hint =
        format!("add `{{apiVersion: {}, kind: {}}}` to `kinds`", gvk.api_version(), gvk.kind);
    let message = format!("`{}` renders a {gvk}, which it does not declare", child.id);
    Err(refused(Problem::new("undeclared-kind", message).hint(hint), &["kind"]))
}

/// Our marks prove ownership, and our finalizer holds: a template must not make any. Below `metadata` anywhere else it must
/// not either: controllers copy what stands in the templates of pods and claims to objects of their own.
pub(super) fn refuse_marks(document: &Value) -> Result<(), Refused> {
    for kind in ["labels", "annotations"] {
        let entries = document.get("metadata").and_then(|metadata| metadata.get(kind));
        if entries.is_some_and(|entries| !entries.is_null() && !entries.is_object()) {
            let message = format!("`metadata.{kind}` is not a map");
            return Err(refused(Problem::new("illegal-object", message), &["metadata", kind]));
        }
    }
    let Some((at, name)) = reserved::found(document) else { return Ok(()) };
    let message = format!(
        "the template sets `{name}`, but names under {} are Kubewright's own",
        marks::PREFIX
    );
    let problem = Problem::new("reserved-name", message).hint("leave it out");
    Err(Refused { problem: Box::new(problem), at })
}

fn identity(
    gvk: &Gvk,
    scope: Scope,
    document: &Value,
    parent: &Live,
    cross_namespace: bool,
) -> Result<ObjectId, Refused> {
    let kind = Arc::new(gvk.group_kind());
    let name = metadata(document, "name").unwrap_or_default();
    if name.is_empty() {
        let problem = Problem::new("no-name", format!("a {} has no `metadata.name`", gvk.kind));
        return Err(refused(problem, &["metadata", "name"]));
    }
    legal_name(gvk, name).map_err(|problem| refused(problem, &["metadata", "name"]))?;
    let own = &*parent.id.namespace;
    let written = metadata(document, "namespace");
    match (scope, own.is_empty()) {
        (Scope::Cluster, is_global) if is_global || cross_namespace => {
            Ok(ObjectId::new(&kind, "", name))
        }
        (Scope::Cluster, _) => Err(outside(format!(
            "{} {name} lives in no namespace, its parent in `{own}`",
            gvk.kind
        ))),
        (Scope::Namespaced, true) => match written {
            Some(namespace) if !namespace.is_empty() => {
                legal_namespace(gvk, name, namespace)
                    .map_err(|problem| refused(problem, &["metadata", "namespace"]))?;
                Ok(ObjectId::new(&kind, namespace, name))
            }
            _ => {
                let message = format!("{} {name} has no `metadata.namespace`", gvk.kind);
                let hint = "a child of a cluster-scoped parent must say where it lives";
                let problem = Problem::new("no-namespace", message).hint(hint);
                Err(refused(problem, &["metadata", "namespace"]))
            }
        },
        (Scope::Namespaced, false) => match written.filter(|namespace| *namespace != own) {
            None => Ok(ObjectId::new(&kind, own, name)),
            Some(namespace) if cross_namespace => {
                legal_namespace(gvk, name, namespace)
                    .map_err(|problem| refused(problem, &["metadata", "namespace"]))?;
                Ok(ObjectId::new(&kind, namespace, name))
            }
            Some(namespace) => Err(outside(format!(
                "{} {name} is to live in `{namespace}`, its parent lives in `{own}`",
                gvk.kind
            ))),
        },
    }
}

/// Whoever may create a parent must not reach further than the rule's author decided.
fn outside(message: String) -> Refused {
    let hint = "a rule with `crossNamespace: true` may write outside of the parent's namespace";
    let problem = Problem::new("outside-namespace", message).hint(hint);
    refused(problem, &["metadata", "namespace"])
}

/// Names become a part of the request's path and often come from what a parent contains: they must stay one step of it.
/// Every kind demands at least this much; most demand more, which the API server says better.
fn legal_name(gvk: &Gvk, name: &str) -> Result<(), Problem> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._~:@!$&'()*+,;=".contains(c);
    let why = if name.len() > LONGEST_NAME {
        format!("is longer than {LONGEST_NAME} characters")
    } else if matches!(name, "." | "..") {
        "means a folder".to_owned()
    } else {
        match name.chars().find(|c| !legal(*c)) {
            Some(c) => format!("has a {c:?} in it"),
            None => return Ok(()),
        }
    };
    let shown: String = name.chars().take(63).collect();
    let message = format!("{shown:?} is no name for a {}: it {why}", gvk.kind);
    Err(Problem::new("illegal-name", message)
        .hint("the filter `dns_label` makes a name of any text"))
}

fn legal_namespace(gvk: &Gvk, name: &str, namespace: &str) -> Result<(), Problem> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if namespace.len() <= 63 && namespace.chars().all(legal) {
        return Ok(());
    }
    let message = format!("{} {name}: {namespace:?} is no name for a namespace", gvk.kind);
    Err(Problem::new("illegal-name", message))
}

/// So many of an object's mistakes are told at once.
const MOST_TOLD: usize = 5;

/// An object's mistakes, at the place of the first.
fn mistake(mistakes: &[owned::Mistake]) -> Refused {
    let Some(first) = mistakes.first() else {
        return refused(Problem::new("illegal-object", "the object is not one"), &[]);
    };
    let told = mistakes.iter().take(MOST_TOLD).map(|mistake| mistake.message.as_str());
    let problem = Problem::new("illegal-object", told.collect::<Vec<_>>().join("; "));
    let problem = Problem { hint: first.hint.map(str::to_owned), ..problem };
    Refused { problem: Box::new(problem), at: first.path.clone() }
}

/// Not blocking: a parent's deletion should not wait for its children, unless somebody asks for that.
fn owner(parent: &Live) -> Value {
    let value = parent.value();
    json!({
        "apiVersion": value.get("apiVersion"),
        "kind": value.get("kind"),
        "name": &*parent.id.name,
        "uid": &*parent.stored.uid,
        "controller": true,
    })
}

fn entries<'a>(object: &'a mut Value, kind: &str) -> &'a mut Map<String, Value> {
    if !object["metadata"][kind].is_object() {
        object["metadata"][kind] = json!({});
    }
    match &mut object["metadata"][kind] {
        Value::Object(entries) => entries,
        _ => unreachable!("it was made an object just now"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_step_of_a_path_and_never_becomes_a_query() {
        let gvk = Gvk::parse("v1", "ConfigMap").unwrap();
        let told = |name: &str| legal_name(&gvk, name).map_err(|problem| problem.message);
        for name in ["web", "a.b-c", "system:node@x", "A_b"] {
            assert_eq!(told(name), Ok(()), "{name}");
        }
        for name in ["..", ".", "a/b", "a?force=true", "a#b", "a%2Fb", "a b", "ü", "a\nb", "a\\b"]
        {
            assert!(told(name).is_err(), "{name:?}");
        }
        assert_eq!(
            told("a/b"),
            Err("\"a/b\" is no name for a ConfigMap: it has a '/' in it".into())
        );
        assert!(told(&"a".repeat(254)).unwrap_err().len() < 150);
    }

    #[test]
    fn a_template_makes_no_mark_of_ours_anywhere() {
        let told = |document: &Value| {
            refuse_marks(document).map_err(|refused| (refused.at.to_string(), refused.problem.code))
        };
        let marks = json!({"kubewright.io/child": "x", "a": "b"});
        for (document, at) in [
            (json!({"metadata": {"labels": marks}}), "metadata.labels[kubewright.io/child]"),
            (
                json!({"metadata": {"annotations": marks}}),
                "metadata.annotations[kubewright.io/child]",
            ),
            (
                json!({"metadata": {"finalizers": ["a", "kubewright.io/web"]}}),
                "metadata.finalizers",
            ),
            (
                json!({"spec": {"template": {"metadata": {"annotations": marks}}}}),
                "spec.template.metadata.annotations[kubewright.io/child]",
            ),
            (
                json!({"spec": {"claims": [{}, {"metadata": {"labels": marks}}]}}),
                "spec.claims[1].metadata.labels[kubewright.io/child]",
            ),
        ] {
            assert_eq!(told(&document), Err((at.to_owned(), "reserved-name")), "{document}");
        }
        for document in [
            json!({"metadata": {"labels": {"a": "kubewright.io/x", "x.kubewright.io/y": "z"}}}),
            json!({"data": {"kubewright.io/x": "y"}, "spec": {"labels": marks}}),
            json!({"metadata": {"labels": null}, "spec": {"metadata": "text"}}),
        ] {
            assert_eq!(told(&document), Ok(()), "{document}");
        }
        assert_eq!(
            told(&json!({"metadata": {"labels": "text"}})),
            Err(("metadata.labels".to_owned(), "illegal-object"))
        );
    }

    #[test]
    fn a_namespace_is_a_dns_label() {
        let gvk = Gvk::parse("v1", "ConfigMap").unwrap();
        assert!(legal_namespace(&gvk, "a", "team-1").is_ok());
        for namespace in ["../kube-system", "a/b", "A", "ü", &"a".repeat(64)] {
            assert!(legal_namespace(&gvk, "a", namespace).is_err(), "{namespace}");
        }
    }
}
