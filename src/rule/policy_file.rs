//! Selectors, inputs and policies as an author writes them in a rule.
//!
//! In: YAML nodes. Out: shapes, which may still be wrong in meaning. They never leave `rule`, but for the closed sets of words.

use super::decode::{Decode, Decoder, Shapes, Spanned};
use super::file::BodyFile;
use crate::yaml::{Kind, Node};
use serde_json::{Value, json};
use std::collections::BTreeMap;

shape! {
    /// An object, or a list of objects, that the rule reads and never writes.
    InputFile {
        /// Names the input in this rule: `[a-z][a-zA-Z0-9_]*`.
        id = "id": Spanned<String>,
        /// For example `v1`.
        api_version = "apiVersion": Spanned<String>,
        /// For example `ConfigMap`.
        kind = "kind": Spanned<String>,
        /// The name of one object; may use `{{ … }}` with `parent`, inputs above it, and a `let` that reads no input.
        name = "name": Option<BodyFile>,
        /// All objects with these labels, as a list sorted by namespace and name; `{}` means all objects.
        label_selector = "labelSelector": Option<SelectorFile>,
        /// The namespace it is in; the parent's own by default. May use `{{ … }}` as the name does.
        namespace = "namespace": Option<BodyFile>,
        /// For a list: `all`, or the names of namespaces.
        namespaces = "namespaces": Option<Spanned<NamespacesFile>>,
        /// For a list: all namespaces with these labels.
        namespace_selector = "namespaceSelector": Option<SelectorFile>,
        /// An object that is absent reads as null, instead of holding up whoever reads it.
        optional = "optional": Option<Spanned<bool>>,
    }
}

/// `all`, or a list of names.
#[derive(Clone, Debug)]
pub(crate) enum NamespacesFile {
    /// All of them.
    All,
    /// These.
    These(Vec<String>),
}

impl Decode for NamespacesFile {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        match &node.kind {
            Kind::String { text, .. } if text == "all" => Some(Self::All),
            Kind::Sequence(_) => Decode::decode(node, decoder).map(Self::These),
            _ => {
                decoder.wrong_type(node, "`all` or a list of names");
                None
            }
        }
    }

    fn schema(shapes: &mut Shapes) -> Value {
        json!({"anyOf": [{"enum": ["all"]}, Vec::<String>::schema(shapes)]})
    }
}

shape! {
    /// Selects objects by their labels, as everywhere in Kubernetes.
    SelectorFile {
        /// Labels and their values. In an input a value may use `{{ … }}`.
        match_labels = "matchLabels": BTreeMap<String, BodyFile>,
        /// Requirements; all of them must hold.
        match_expressions = "matchExpressions": Vec<RequirementFile>,
    }
}

shape! {
    /// One requirement of a selector.
    RequirementFile {
        /// The label.
        key = "key": Spanned<String>,
        /// What must hold of it.
        operator = "operator": Relation,
        /// The values, for `In` and `NotIn`. In an input a value may use `{{ … }}`.
        values = "values": Vec<BodyFile>,
    }
}

words! {
    /// What must hold of a label.
    Relation {
        /// It has one of the values.
        In = "In",
        /// It has none of the values, or is not there.
        NotIn = "NotIn",
        /// It is there.
        Exists = "Exists",
        /// It is not there.
        DoesNotExist = "DoesNotExist",
    }
}

words! {
    /// How a child that exists is brought up to date.
    Update {
        /// What differs is patched.
        Apply = "apply",
        /// It is deleted and created anew.
        Recreate = "recreate",
        /// It is left alone, whatever becomes of it.
        Never = "never",
    }
}

words! {
    /// What is done when the API server refuses to change a field.
    OnImmutable {
        /// The refusal is told.
        Fail = "fail",
        /// The child is deleted and created anew, once the server has said that the new one is valid.
        Recreate = "recreate",
    }
}

words! {
    /// Whether an object that somebody else made may become a child.
    Adopt {
        /// It never may.
        Never = "never",
        /// It may if it has no owner and no rule made it.
        Unowned = "unowned",
    }
}

words! {
    /// What becomes of a child that is no longer wanted.
    Removal {
        /// It is deleted.
        Delete = "delete",
        /// It stays, without our marks.
        Orphan = "orphan",
    }
}

words! {
    /// What becomes of the children of a rule that is taken away.
    OnRuleRemoved {
        /// They stay as they are.
        Keep = "keep",
        /// They are deleted.
        Delete = "delete",
    }
}

shape! {
    /// A value that is made once, when its Secret is created.
    GenerateFile {
        /// How many characters it has: 32 by default, 8 to 1024.
        length = "length": Option<Spanned<u64>>,
        /// Which characters: `alphanumeric` by default.
        characters = "characters": Option<Characters>,
    }
}

words! {
    /// What a generated value is made of.
    Characters {
        /// Letters and digits.
        Alphanumeric = "alphanumeric",
        /// `0` to `9` and `a` to `f`.
        Hex = "hex",
        /// `0` to `9`.
        Digits = "digits",
    }
}

words! {
    /// What is done when a Secret with generated values is gone although the parent lives.
    WhenGone {
        /// It is told; nothing is made anew, since something may depend on the old values.
        Hold = "hold",
        /// New values are made.
        Renew = "renew",
    }
}

/// One word for every occasion, or one for each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OnRemoveFile {
    /// While the parent lives.
    pub(crate) unwanted: Option<Removal>,
    /// When the parent is deleted.
    pub(crate) parent_deleted: Option<Removal>,
}

shape! {
    /// What becomes of a child, by occasion.
    OnRemoveLongFile {
        /// The rule no longer wants it, and the parent lives.
        unwanted = "unwanted": Option<Removal>,
        /// The parent is deleted.
        parent_deleted = "parentDeleted": Option<Removal>,
    }
}

impl Decode for OnRemoveFile {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        if let Kind::Mapping(_) = node.kind {
            let long = OnRemoveLongFile::decode(node, decoder)?;
            return Some(Self { unwanted: long.unwanted, parent_deleted: long.parent_deleted });
        }
        let both = Some(Removal::decode(node, decoder)?);
        Some(Self { unwanted: both, parent_deleted: both })
    }

    fn schema(shapes: &mut Shapes) -> Value {
        json!({"anyOf": [Removal::schema(shapes), OnRemoveLongFile::schema(shapes)]})
    }
}
