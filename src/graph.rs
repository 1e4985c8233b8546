//! Rules as a graph: parents, children, and which of them depends on which.
//!
//! In: compiled rules. Out: nodes and edges in a stable order, printed as Mermaid or DOT. Pure.

mod dot;
mod mermaid;

use crate::comparison::Comparison;
use crate::object::Gvk;
use crate::rule::{ChildRule, Rule, Target, Until};
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A language for drawings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Shown by many forges and editors in Markdown.
    #[default]
    Mermaid,
    /// For Graphviz.
    Dot,
}

/// A drawing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Kinds of parents, each once.
    parents: Vec<Node>,
    /// The rules, each with its children.
    rules: Vec<Group>,
    edges: Vec<Edge>,
}

/// A rule and its children.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    id: String,
    title: String,
    children: Vec<Node>,
}

/// A box with some lines of text.
#[derive(Debug, PartialEq, Eq)]
struct Node {
    id: String,
    lines: Vec<String>,
}

/// An arrow.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    from: String,
    to: String,
    why: Why,
}

/// What an arrow means; it points from what comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    /// A parent and its child, wanted always.
    Wants,
    /// A parent and its child, wanted under a condition.
    WantsWhen,
    /// The child at the end waits until the other is ready.
    NeedsReady,
    /// The child at the end waits until the other exists.
    NeedsExisting,
    /// The template of the child at the end reads the other.
    Reads,
    /// The `when` of the child at the end asks about the other.
    Asks,
    /// A child is itself a parent, of another rule.
    IsParent,
}

impl Why {
    fn label(self) -> &'static str {
        match self {
            Self::Wants => "",
            Self::WantsWhen | Self::Asks => "when",
            Self::NeedsReady => "needs",
            Self::NeedsExisting => "needs, exists",
            Self::Reads => "reads",
            Self::IsParent => "is parent",
        }
    }

    /// Whether it is drawn as a line that always holds.
    fn is_firm(self) -> bool {
        matches!(self, Self::Wants | Self::NeedsReady | Self::NeedsExisting)
    }
}

/// Draws the rules, sorted by name whatever their order is.
pub fn graph(rules: &[Arc<Rule>]) -> Graph {
    let mut rules: Vec<&Rule> = rules.iter().map(AsRef::as_ref).collect();
    rules.sort_by(|left, right| left.name.cmp(&right.name));
    let kinds: BTreeSet<&Gvk> = rules.iter().flat_map(|rule| &rule.parent.kinds).collect();
    let ids: BTreeMap<&Gvk, String> =
        kinds.into_iter().enumerate().map(|(at, gvk)| (gvk, format!("p{at}"))).collect();
    let mut graph = Graph::default();
    for (gvk, id) in &ids {
        graph
            .parents
            .push(Node { id: id.clone(), lines: vec![gvk.kind.clone(), gvk.api_version()] });
    }
    for (at, rule) in rules.iter().enumerate() {
        graph.add(at, rule, &ids);
    }
    graph
}

impl Graph {
    /// Prints it; equal rules give equal bytes.
    pub fn print(&self, format: Format) -> String {
        match format {
            Format::Mermaid => mermaid::print(self),
            Format::Dot => dot::print(self),
        }
    }

    fn add(&mut self, at: usize, rule: &Rule, parents: &BTreeMap<&Gvk, String>) {
        let id_of = |child: &str| {
            let index = rule.children.iter().position(|other| *other.id == *child);
            let input = || rule.inputs.iter().position(|other| *other.id == *child);
            let input = || input().map(|index| format!("r{at}i{index}"));
            index.map(|index| format!("r{at}c{index}")).or_else(input)
        };
        let mut children = Vec::new();
        for (index, input) in rule.inputs.iter().enumerate() {
            let lines = vec![format!("input {}", input.id), input.gvk.kind.clone()];
            children.push(Node { id: format!("r{at}i{index}"), lines });
        }
        for (index, child) in rule.children.iter().enumerate() {
            let id = format!("r{at}c{index}");
            let mut lines = vec![child.id.to_string()];
            lines.extend(child.kinds.iter().map(|gvk| gvk.kind.clone()));
            lines.extend(child.patch.iter().map(|patch| match &patch.target {
                Target::Parent => "edits its parent".to_owned(),
                Target::Object { gvk, .. } => format!("edits a {}", gvk.kind),
            }));
            children.push(Node { id: id.clone(), lines });
            let why = if child.when.is_empty() { Why::Wants } else { Why::WantsWhen };
            for parent in rule.parent.kinds.iter().filter_map(|gvk| parents.get(gvk)) {
                self.edges.push(Edge { from: parent.clone(), to: id.clone(), why });
            }
            for (other, why) in reasons(rule, child) {
                let from = id_of(other);
                self.edges.extend(from.map(|from| Edge { from, to: id.clone(), why }));
            }
            // Which version a rule speaks makes no difference to what the object is.
            let kinds: BTreeSet<_> = child.kinds.iter().map(Gvk::group_kind).collect();
            for (gvk, parent) in parents {
                if kinds.contains(&gvk.group_kind()) {
                    let (from, to) = (id.clone(), parent.clone());
                    self.edges.push(Edge { from, to, why: Why::IsParent });
                }
            }
        }
        self.rules.push(Group { id: format!("r{at}"), title: rule.name.to_string(), children });
    }
}

/// The children and inputs that come before this one, and why.
fn reasons<'r>(rule: &Rule, child: &'r ChildRule) -> BTreeSet<(&'r str, Why)> {
    let needed = child.needs.iter().map(|need| {
        let why = if need.until == Until::Ready { Why::NeedsReady } else { Why::NeedsExisting };
        (&*need.id, why)
    });
    let asked = child.when.iter().flat_map(Comparison::roots).map(|root| (root, Why::Asks));
    let read = child.template.reads().iter().filter_map(|read| match read.path.as_slice() {
        [root, id, ..] if root == "children" || root == "inputs" => Some((id.as_str(), Why::Reads)),
        _ => None,
    });
    let all: BTreeSet<_> = needed.chain(asked).chain(read).collect();
    let comes_before = |id: &str| child.after.contains(id) || rule.input(id).is_some();
    all.into_iter().filter(|(id, _)| comes_before(id)).collect()
}
