//! The shapes an author may write in a rule, field by field; unknown fields are refused.
//!
//! In: one YAML document. Out: a [`RuleFile`], which may still be wrong in meaning. It never leaves `rule`.

use super::decode::{Decode, Decoder, Shapes, Spanned, nearest};
use crate::template::Origin;
use crate::yaml::{Kind, Node};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) use super::comparison_file::ComparisonFile;
pub(super) use super::policy_file::{
    Adopt, GenerateFile, InputFile, OnImmutable, OnRemoveFile, OnRuleRemoved, PatchFile,
    SelectorFile, Update, WhenGone,
};

/// The apiVersion of every rule this program reads.
pub const API_VERSION: &str = "kubewright.io/v1alpha1";

shape! {
    /// A rule: for every object of a kind, these children should exist.
    RuleFile {
        /// Always `kubewright.io/v1alpha1`.
        api_version = "apiVersion": Spanned<String>,
        /// Always `Rule`.
        kind = "kind": Spanned<String>,
        /// The rule's name.
        metadata = "metadata": MetadataFile,
        /// What the rule says.
        spec = "spec": SpecFile,
    }
}

shape! {
    /// The name of a rule, and whatever else tools attach to documents.
    MetadataFile {
        /// A DNS label; it appears in labels, field managers, logs and metrics.
        name = "name": Spanned<String>,
        /// For other tools.
        _labels = "labels": BTreeMap<String, String>,
        /// For other tools.
        _annotations = "annotations": BTreeMap<String, String>,
    }
}

shape! {
    /// What a rule says.
    SpecFile {
        /// The watched kind, and which of its objects.
        parent = "parent": Spanned<ParentFile>,
        /// The watched kind in short form, for `kubewright crd`; without it the kind has a CRD already.
        schema = "schema": Option<SchemaFile>,
        /// Former names of this rule: what was created under them is still its own.
        formerly = "formerly": Vec<Spanned<String>>,
        /// Allows a rule whose parents live in namespaces to read and write outside of the parent's own.
        cross_namespace = "crossNamespace": Option<bool>,
        /// Allows values of Secrets in other objects, in status fields and in messages.
        reveal = "reveal": Option<bool>,
        /// Every parent is looked at again after this time, for example `10m`; events alone are enough by default.
        resync = "resync": Option<Spanned<String>>,
        /// What becomes of the children when the rule is taken away: they stay by default.
        on_rule_removed = "onRuleRemoved": Option<OnRuleRemoved>,
        /// Values computed once per pass, readable everywhere as `let.<name>`.
        let_body = "let": Option<BodyFile>,
        /// Objects that the rule reads and never writes.
        inputs = "inputs": Vec<InputFile>,
        /// The objects that should exist for each parent.
        children = "children": Vec<EntryFile>,
        /// What the parent's status should say; without it no status is written.
        status = "status": Option<StatusFile>,
    }
}

shape! {
    /// The watched kind, and which of its objects.
    ParentFile {
        /// For example `apps/v1`.
        api_version = "apiVersion": Option<Spanned<String>>,
        /// For example `Deployment`.
        kind = "kind": Option<Spanned<String>>,
        /// Several kinds, instead of `apiVersion` and `kind`.
        kinds = "kinds": Vec<KindFile>,
        /// Only objects of these namespaces; empty means all.
        namespaces = "namespaces": Vec<Spanned<String>>,
        /// Only objects in namespaces with these labels.
        namespace_selector = "namespaceSelector": Option<SelectorFile>,
        /// Only objects with these labels.
        label_selector = "labelSelector": Option<SelectorFile>,
        /// Only objects for which all of these hold.
        when = "when": Vec<ComparisonFile>,
    }
}

/// An entry of `children`: one child, or a group of children.
#[derive(Clone, Debug)]
pub(crate) enum EntryFile {
    /// One child.
    Child(Box<ChildFile>),
    /// Children that exist once per item of a list or map.
    Group(Box<GroupFile>),
}

impl Decode for EntryFile {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        if is_group(node) {
            return Decode::decode(node, decoder).map(Box::new).map(Self::Group);
        }
        Decode::decode(node, decoder).map(Box::new).map(Self::Child)
    }

    fn schema(shapes: &mut Shapes) -> Value {
        json!({"anyOf": [ChildFile::schema(shapes), GroupFile::schema(shapes)]})
    }
}

/// Whether an entry is meant as a group, even where its `forEach` is misspelt.
fn is_group(node: &Node) -> bool {
    let Kind::Mapping(entries) = &node.kind else { return false };
    let has = |key: &str| node.get(key).is_some();
    let meant =
        |(key, _): &(Node, Node)| nearest(key.as_str().unwrap_or_default(), &["forEach"]).is_some();
    has("forEach") || has("children") || (!has("id") && entries.iter().any(meant))
}

impl EntryFile {
    /// The children in it, those of groups included.
    pub(crate) fn children(&self) -> Vec<&ChildFile> {
        match self {
            Self::Child(child) => vec![child],
            Self::Group(group) => group.children.iter().flat_map(Self::children).collect(),
        }
    }
}

shape! {
    /// Children that exist once per item of a list or map.
    GroupFile {
        /// What the items are.
        for_each = "forEach": ForEachFile,
        /// Values computed once per item; they are added to the outer `let`.
        let_body = "let": Option<BodyFile>,
        /// Only items for which all of these hold.
        when = "when": Vec<ComparisonFile>,
        /// The children of each item, or further groups.
        children = "children": Vec<EntryFile>,
    }
}

shape! {
    /// A list or a map, and how its items are told apart.
    ForEachFile {
        /// The object that has it: parent by default.
        of = "of": Option<Spanned<String>>,
        /// Where the list or map itself is.
        path = "path": Spanned<String>,
        /// Taken where there is none.
        default = "default": Option<Value>,
        /// What tells items apart, below each item; the key of a map or the text of a list of texts by default.
        key = "key": Option<Spanned<String>>,
        /// What comparisons and templates call the item; `item` by default. An item of a map has `key` and `value`.
        item = "item": Option<Spanned<String>>,
    }
}

shape! {
    /// An object that should exist for each parent.
    ChildFile {
        /// Names the child in this rule: `[a-z][a-zA-Z0-9_]*`.
        id = "id": Spanned<String>,
        /// A file of the template folder.
        template = "template": Option<Spanned<String>>,
        /// The template itself.
        inline = "inline": Option<BodyFile>,
        /// The kinds the template may render; needed only where it does not state them literally.
        kinds = "kinds": Vec<KindFile>,
        /// Allows a template that renders no object.
        may_be_empty = "mayBeEmpty": Option<bool>,
        /// The child is wanted while all of these hold.
        when = "when": Vec<ComparisonFile>,
        /// Children that come first.
        needs = "needs": Vec<NeedFile>,
        /// Replaces the well-known readiness rule of the kind; empty means it does not count.
        ready = "ready": Option<Vec<ComparisonFile>>,
        /// Fields given at creation, then left to whoever owns them.
        ignore = "ignore": Vec<IgnoreFile>,
        /// If there are any, all other fields are given at creation and then left to whoever owns them.
        only = "only": Vec<IgnoreFile>,
        /// Makes the child an edit of an object that the rule does not own; its template says what is edited.
        patch = "patch": Option<Spanned<PatchFile>>,
        /// For a Secret: values that are made once, when it is created; its template reads them as `generated.NAME`, and they are kept under these names in its data.
        generate = "generate": BTreeMap<String, Spanned<GenerateFile>>,
        /// What is done when a Secret with generated values is gone although the parent lives: `hold` by default.
        when_gone = "whenGone": Option<Spanned<WhenGone>>,
        /// How a child that exists is brought up to date: `apply` by default.
        update = "update": Option<Update>,
        /// What is done when the API server refuses to change a field: `fail` by default.
        on_immutable = "onImmutable": Option<OnImmutable>,
        /// Whether an object that somebody else made may become this child: `never` by default.
        adopt = "adopt": Option<Adopt>,
        /// What becomes of it when it is no longer wanted: `delete` by default; `orphan` for namespaces, definitions of kinds, and volumes.
        on_remove = "onRemove": Option<OnRemoveFile>,
    }
}

shape! {
    /// A kind, where a template does not state it literally.
    KindFile {
        /// For example `apps/v1`.
        api_version = "apiVersion": Spanned<String>,
        /// For example `Deployment`.
        kind = "kind": Spanned<String>,
    }
}

/// A child that comes first: `id`, or `{id: …, until: ready | exists}`.
#[derive(Clone, Debug)]
pub(super) struct NeedFile {
    /// The other child.
    pub id: Spanned<String>,
    /// What is waited for.
    pub until: Until,
}

words! {
    /// What a child waits for in another one.
    Until {
        /// It is ready.
        Ready = "ready",
        /// It exists.
        Exists = "exists",
    }
}

shape! {
    /// The long form of a need.
    NeedLongFile {
        /// The other child.
        id = "id": Spanned<String>,
        /// What is waited for.
        until = "until": Option<Until>,
    }
}

impl Decode for NeedFile {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        if let Kind::Mapping(_) = node.kind {
            let long = NeedLongFile::decode(node, decoder)?;
            return Some(Self { id: long.id, until: long.until.unwrap_or(Until::Ready) });
        }
        Some(Self { id: Spanned::decode(node, decoder)?, until: Until::Ready })
    }

    fn schema(shapes: &mut Shapes) -> Value {
        json!({"anyOf": [String::schema(shapes), NeedLongFile::schema(shapes)]})
    }
}

shape! {
    /// A field that is left to whoever owns it.
    IgnoreFile {
        /// Which field of the child.
        path = "path": Spanned<String>,
        /// Only while all of these hold.
        when = "when": Vec<ComparisonFile>,
    }
}

shape! {
    /// What the parent's status should say.
    StatusFile {
        /// Put before `Ready`, `Reconciling` and `Stalled`, where several rules write the status of one kind.
        prefix = "prefix": Option<Spanned<String>>,
        /// Conditions of the rule's own.
        conditions = "conditions": Vec<ConditionFile>,
        /// The declared fields, as one template body.
        fields = "fields": Option<BodyFile>,
    }
}

shape! {
    /// A condition of the rule's own.
    ConditionFile {
        /// For example `Serving`.
        kind = "type": Spanned<String>,
        /// It is True while all of these hold.
        when = "when": Vec<ComparisonFile>,
        /// Reason and message while it is True.
        then = "then": BecauseFile,
        /// Reason and message while it is False.
        otherwise = "otherwise": BecauseFile,
        /// Reason and message while it is Unknown.
        unknown = "unknown": Option<BecauseFile>,
    }
}

shape! {
    /// Why a condition is as it is.
    BecauseFile {
        /// One CamelCase word.
        reason = "reason": Spanned<String>,
        /// A sentence for people; may use `{{ … }}`, and `{{ failing }}` for what fails, sorted, at most five. Without it the comparisons explain themselves.
        message = "message": Option<BodyFile>,
    }
}

/// A template written inside a rule.
#[derive(Clone, Debug)]
pub(super) struct BodyFile {
    /// Its source.
    pub text: String,
    /// Where its first character stands in the file.
    pub origin: Origin,
    /// The scalar, in bytes of the file.
    pub span: Range<usize>,
}

impl Decode for BodyFile {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        let content = node.content_origin(&decoder.source().text);
        let (Kind::String { text, .. }, Some(content)) = (&node.kind, content) else {
            decoder.wrong_type(node, "a template as text");
            if let (Some(problem), Kind::Mapping(_)) = (decoder.problems.last_mut(), &node.kind) {
                problem.hint =
                    Some("put `|` after the colon: the block below is a template".into());
            }
            return None;
        };
        let origin = Origin::inside(decoder.source(), content);
        Some(Self { text: text.clone(), origin, span: node.span.clone() })
    }

    fn schema(shapes: &mut Shapes) -> Value {
        String::schema(shapes)
    }
}

/// The parent's short schema; [`crate::shorthand`] reads it.
#[derive(Clone, Debug)]
pub(super) struct SchemaFile {
    /// As it was written.
    pub node: Node,
}

impl Decode for SchemaFile {
    fn decode(node: &Node, _: &mut Decoder) -> Option<Self> {
        Some(Self { node: node.clone() })
    }

    fn schema(_: &mut Shapes) -> Value {
        json!({"type": "object"})
    }
}

/// Whether a document says it is a rule: by its kind, or by an apiVersion of ours, or by both nearly.
pub(super) fn is_rule(document: &Value) -> bool {
    let text = |key| document.get(key).and_then(Value::as_str).unwrap_or_default();
    let (group, _) = text("apiVersion").split_once('/').unwrap_or((text("apiVersion"), ""));
    let (own, _) = API_VERSION.split_once('/').unwrap_or_default();
    let nearly = || nearest(group, &[own]).is_some() || document.pointer("/spec/parent").is_some();
    group == own || (text("kind") == "Rule" && (group.is_empty() || nearly()))
}
