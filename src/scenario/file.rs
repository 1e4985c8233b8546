//! The shapes an author may write in a scenario, field by field; unknown fields are refused.
//!
//! In: the text of a scenario file. Out: one [`ScenarioFile`] per document, which may still be wrong in meaning.

use crate::problem::Problem;
use crate::rule::decode::{Decode, Decoder, Shapes, Spanned, shape};
use crate::rule::yaml_problem;
use crate::source::Source;
use crate::yaml::{self, Kind, Limits, Node};
use serde_json::{Map, Value};
use std::sync::Arc;

shape! {
    /// What should happen to one parent.
    ScenarioFile {
        /// One line for people; reports and filters use it.
        about = "about": Spanned<String>,
        /// The rule; needed only where several are for the parent's kind.
        rule = "rule": Option<Spanned<String>>,
        /// The time of every step that has none of its own.
        now = "now": Option<Spanned<String>>,
        /// The parent as it is at first.
        parent = "parent": Node,
        /// Objects that the rule reads.
        inputs = "inputs": Vec<Node>,
        /// Passes, one after the other.
        steps = "steps": Option<Vec<Spanned<StepFile>>>,
        /// For a scenario of one step: objects of somebody else.
        foreign = "foreign": Vec<Node>,
        /// For a scenario of one step: what happened to children before.
        observed = "observed": Option<Node>,
        /// For a scenario of one step: what is expected.
        expect = "expect": Option<Expect>,
    }
}

shape! {
    /// One pass.
    StepFile {
        /// One line for people.
        about = "about": Option<Spanned<String>>,
        /// The time of the pass.
        now = "now": Option<Spanned<String>>,
        /// Merged over the parent so far; null removes.
        parent = "parent": Option<Node>,
        /// From now on these are the objects that the rule reads, and no others.
        inputs = "inputs": Option<Vec<Node>>,
        /// Objects of somebody else that are there from now on.
        foreign = "foreign": Vec<Node>,
        /// What happened to children before the pass.
        observed = "observed": Option<Node>,
        /// What is expected.
        expect = "expect": Option<Expect>,
    }
}

shape! {
    /// What is expected of a pass.
    ExpectFile {
        /// What is done, by child; complete but for `keep`.
        actions = "actions": Option<Node>,
        /// Parts of rendered objects, by child.
        children = "children": Option<Node>,
        /// Children of which nothing exists after the pass.
        absent = "absent": Vec<Spanned<String>>,
        /// Conditions, by type.
        conditions = "conditions": Option<Node>,
        /// Parts of the declared status fields.
        status = "status": Option<Node>,
        /// Parts of the messages of every mistake that rendering finds.
        _problems = "problems": Vec<Spanned<String>>,
    }
}

/// The shape, and the mapping it was read from, whose places `--update` needs.
#[derive(Clone, Debug)]
pub(super) struct Expect {
    pub(super) file: ExpectFile,
    pub(super) node: Node,
}

impl Decode for Expect {
    fn decode(node: &Node, decoder: &mut Decoder) -> Option<Self> {
        Some(Self { file: ExpectFile::decode(node, decoder)?, node: node.clone() })
    }

    fn schema(shapes: &mut Shapes) -> Value {
        ExpectFile::schema(shapes)
    }
}

/// Data whose meaning comes later, with its places.
impl Decode for Node {
    fn decode(node: &Node, _: &mut Decoder) -> Option<Self> {
        Some(node.clone())
    }

    fn schema(_: &mut Shapes) -> Value {
        Value::Object(Map::new())
    }
}

/// The documents of a file that say something.
pub(super) fn documents(source: &Arc<Source>) -> Result<Vec<Node>, Problem> {
    let documents = yaml::parse(&source.text, &Limits::FILE);
    let documents = documents.map_err(|error| yaml_problem(source, error))?;
    let says_something = |node: &Node| !matches!(node.kind, Kind::Null { .. });
    Ok(documents.into_iter().map(|document| document.root).filter(says_something).collect())
}
