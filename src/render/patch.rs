//! Edits of objects that the rule does not own.
//!
//! In: a child that is an edit, the object that it is about. Out: what is to be true of that object. Pure. Never here: an
//! object that does not exist: an edit waits for it, and never makes it.

use super::child::{hushed_in, refuse_marks};
use super::{DesiredChild, Place, Setting, Stuck, held_up};
use crate::fetch::{Live, Observed};
use crate::marks::{PatchMark, patch_manager};
use crate::object::{Gvk, ObjectId};
use crate::owned::{self, IntentMark, SecretPlaces};
use crate::problem::Problem;
use crate::refusal::Texts;
use crate::rule::{ChildRule, PatchRule, PatchType, Policies, Rule, Target};
use crate::scope::Scope;
use crate::view::View;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is to be true of an object that the rule does not own.
pub struct DesiredPatch {
    /// What is sent, as if it were a child: its identity is that of the target.
    pub wanted: DesiredChild,
    /// The field manager.
    pub manager: String,
    /// The target as it is.
    pub live: Live,
    /// For a JSON patch.
    pub operations: Option<Vec<Operation>>,
    /// Whether the edit stays when it is no longer wanted.
    pub stays: bool,
}

/// One operation of a JSON patch, of those that can be judged from what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// `add` or `replace`, or `test`.
    pub op: &'static str,
    /// A JSON pointer.
    pub path: String,
    /// What is there, or should be.
    pub value: Value,
}

impl Operation {
    /// Whether it only asks.
    pub fn is_test(&self) -> bool {
        self.op == "test"
    }
}

/// Operations as a JSON patch has them.
pub(crate) fn as_json(operations: &[Operation]) -> Value {
    let one = |operation: &Operation| json!({"op": operation.op, "path": operation.path, "value": operation.value});
    operations.iter().map(one).collect()
}

impl DesiredPatch {
    /// The child's id and the keys of the items around it.
    pub fn place(&self) -> Place {
        (Arc::clone(&self.wanted.child), self.wanted.items.clone())
    }

    /// The annotation that remembers the edit on its target.
    pub fn mark_key(&self) -> String {
        PatchMark::key(&self.manager)
    }

    /// The intent that was last applied, as the target remembers it.
    pub fn marked(&self) -> Option<IntentMark> {
        let text = self.live.stored.annotation(&self.mark_key())?;
        Some(IntentMark::parse(&serde_json::from_str::<PatchMark>(&text).ok()?.intent))
    }
}

/// An edit, or why there is none, and which object it is about, if that is known.
pub(super) struct Made {
    pub(super) target: Option<ObjectId>,
    pub(super) patch: Result<DesiredPatch, Stuck>,
}

/// Renders an edit.
pub(super) fn patch(
    rule: &Rule,
    (child, patch): (&ChildRule, &PatchRule),
    view: &View<'_>,
    observed: &Observed,
    setting: &Setting<'_>,
) -> Made {
    let making = Making { rule, child, patch, view, observed, setting };
    match making.target() {
        Ok((gvk, id)) => {
            let made = making.made(&gvk, &id);
            Made { patch: made.map_err(|stuck| hushed_in(rule, stuck)), target: Some(id) }
        }
        Err(stuck) => Made { patch: Err(hushed_in(rule, stuck)), target: None },
    }
}

struct Making<'m, 'v> {
    rule: &'m Rule,
    child: &'m ChildRule,
    patch: &'m PatchRule,
    view: &'m View<'v>,
    observed: &'m Observed,
    setting: &'m Setting<'m>,
}

impl Making<'_, '_> {
    fn refused(&self, code: &'static str, message: String) -> Stuck {
        Stuck::Failed(Problem::new(code, message).at(self.child.place.clone()))
    }

    fn target(&self) -> Result<(Gvk, ObjectId), Stuck> {
        let parent = &self.observed.parent;
        let (gvk, name, namespace) = match &self.patch.target {
            Target::Parent => {
                let is = |gvk: &&Gvk| gvk.group_kind() == *parent.id.kind;
                let gvk = self.rule.parent.kinds.iter().find(is);
                let gvk = gvk.unwrap_or(self.rule.parent.gvk()).clone();
                return Ok((gvk, parent.id.clone()));
            }
            Target::Object { gvk, name, namespace } => (gvk, name, namespace),
        };
        let context = self.view.context();
        let name = self.rule.templates.line(name, &context)?;
        let is_global = self.setting.scopes.of(&gvk.group_kind()) == Scope::Cluster;
        let own = parent.id.namespace.to_string();
        let namespace = match namespace {
            _ if is_global => String::new(),
            Some(namespace) => self.rule.templates.line(namespace, &context)?,
            None => own.clone(),
        };
        if name.is_empty() {
            return Err(
                self.refused("no-name", format!("the name of the {} to edit is empty", gvk.kind))
            );
        }
        let id = ObjectId::new(&Arc::new(gvk.group_kind()), &namespace, &name);
        if !own.is_empty() && namespace != own && !self.rule.cross_namespace {
            let message = format!("it edits {id}, outside of the parent's namespace `{own}`");
            let problem = Problem::new("outside-namespace", message).at(self.child.place.clone());
            let hint = "a rule with `crossNamespace: true` may edit it";
            return Err(Stuck::Failed(problem.hint(hint)));
        }
        Ok((gvk.clone(), id))
    }

    fn made(&self, gvk: &Gvk, id: &ObjectId) -> Result<DesiredPatch, Stuck> {
        let live = match self.observed.target(id) {
            Ok(Some(stored)) => Live::new(stored),
            Ok(None) => {
                return Err(Stuck::Waiting(format!("it waits for {id}, which does not exist")));
            }
            Err(why) => return Err(Stuck::Waiting(format!("it waits for {id}: {why}"))),
        };
        held_up(self.child.template.reads(), &self.observed.inputs)?;
        let mut documents =
            self.rule.templates.documents(&self.child.template, &self.view.context())?;
        let (Some(document), true) = (documents.pop(), documents.is_empty()) else {
            return Err(self.refused("illegal-patch", "a patch is one document".to_owned()));
        };
        match self.patch.how {
            PatchType::Apply => self.applied(document, gvk, id, live),
            PatchType::Json => self.json(&document, gvk, id, live),
        }
    }

    fn applied(
        &self,
        mut document: Value,
        gvk: &Gvk,
        id: &ObjectId,
        live: Live,
    ) -> Result<DesiredPatch, Stuck> {
        for field in ["status", "apiVersion", "kind"] {
            if document.get(field).is_some() {
                let message = format!("a patch does not say `{field}`");
                return Err(self.refused("illegal-patch", message));
            }
        }
        let at = |problem: Problem| Stuck::Failed(problem.at(self.child.place.clone()));
        refuse_marks(&document).map_err(|refused| at(*refused.problem))?;
        // What a Secret's data is made canonical by.
        if let Some(fields) = document.as_object_mut() {
            fields.insert("apiVersion".to_owned(), json!(gvk.api_version()));
            fields.insert("kind".to_owned(), json!(gvk.kind));
        }
        let mut object = owned::canonical(document).map_err(|mistakes| {
            let first = mistakes.first();
            let told = first.map(|mistake| format!("{}: {}", mistake.path, mistake.message));
            self.refused("illegal-patch", told.unwrap_or_default())
        })?;
        object["metadata"]["name"] = json!(&*id.name);
        if !id.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(&*id.namespace);
        }
        let ignored = self.child.ignored(self.view);
        let secrets = self.child.secrets_in(gvk);
        let (intent, marked) = owned::hash_without_ignored(&object, &ignored, &secrets);
        let items = self.view.keys();
        let parent = self.observed.parent.id.to_string();
        let manager = patch_manager(&self.rule.identity, &parent, &self.child.id, &items);
        let mark = PatchMark {
            rule: self.rule.identity.to_string(),
            parent,
            child: self.child.id.to_string(),
            items: items.clone(),
            intent: marked.to_string(),
            stays: self.patch.stays,
        };
        let mark = serde_json::to_string(&mark).unwrap_or_default();
        object["metadata"]["annotations"][PatchMark::key(&manager)] = json!(mark);
        let wanted =
            DesiredChild { marked, secrets, ignored, ..self.wanted(gvk, id, object, intent) };
        Ok(DesiredPatch { wanted, manager, live, operations: None, stays: self.patch.stays })
    }

    fn json(
        &self,
        document: &Value,
        gvk: &Gvk,
        id: &ObjectId,
        live: Live,
    ) -> Result<DesiredPatch, Stuck> {
        let list = document.get("operations").and_then(Value::as_array);
        let only = document.as_object().is_some_and(|map| map.len() == 1);
        let Some(list) = list.filter(|_| only) else {
            let message = "a JSON patch is a list below `operations`".to_owned();
            return Err(self.refused("illegal-patch", message));
        };
        let operations =
            list.iter().map(|one| self.operation(one)).collect::<Result<Vec<_>, _>>()?;
        let manager = patch_manager(
            &self.rule.identity,
            &self.observed.parent.id.to_string(),
            &self.child.id,
            &self.view.keys(),
        );
        let intent = crate::marks::hash64(document.to_string().as_bytes());
        let wanted = self.wanted(gvk, id, Value::Null, intent);
        Ok(DesiredPatch { wanted, manager, live, operations: Some(operations), stays: true })
    }

    fn operation(&self, one: &Value) -> Result<Operation, Stuck> {
        let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        let op = match text("op") {
            "test" => "test",
            "add" => "add",
            "replace" => "replace",
            other => {
                let message =
                    format!("a JSON patch knows `test`, `add` and `replace`, not `{other}`");
                return Err(self.refused("illegal-patch", message));
            }
        };
        let path = text("path").to_owned();
        let last = path.rsplit('/').next().unwrap_or_default();
        let legal = path.starts_with('/') && last.parse::<usize>().is_err() && last != "-";
        let ours = ["/apiVersion", "/kind", "/status", "/metadata/name", "/metadata/namespace"];
        let Some(value) = one.get("value").filter(|_| legal) else {
            let message = format!("`{path}` with a `value` is no field of a map");
            return Err(self.refused("illegal-patch", message));
        };
        if ours
            .iter()
            .any(|forbidden| path == *forbidden || path.starts_with(&format!("{forbidden}/")))
        {
            return Err(self.refused("illegal-patch", format!("a patch does not change `{path}`")));
        }
        self.leave_marks(&path, value)?;
        Ok(Operation { op, path, value: value.clone() })
    }

    /// Nobody makes marks of ours: neither by name, nor in a map that is put around them.
    fn leave_marks(&self, path: &str, value: &Value) -> Result<(), Stuck> {
        let object = path.split('/').skip(1).collect::<Vec<_>>();
        let name = |step: &str| step.replace("~1", "/").replace("~0", "~");
        let object =
            object.iter().rev().fold(value.clone(), |inner, step| json!({name(step): inner}));
        refuse_marks(&object)
            .map_err(|refused| Stuck::Failed((*refused.problem).at(self.child.place.clone())))
    }

    fn wanted(&self, gvk: &Gvk, id: &ObjectId, object: Value, intent: u64) -> DesiredChild {
        DesiredChild {
            child: Arc::clone(&self.child.id),
            items: self.view.keys(),
            gvk: gvk.clone(),
            id: id.clone(),
            object,
            intent,
            // A JSON patch leaves no mark.
            marked: IntentMark::Unknown,
            secrets: SecretPlaces::default(),
            ignored: owned::Ignored::default(),
            free: false,
            generates: false,
            texts: Texts::about(gvk, self.rule.reveal),
            lost: false,
            policies: Policies::default(),
        }
    }
}
