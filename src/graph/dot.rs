//! Prints a graph for Graphviz.
//!
//! In: a graph. Out: text. Pure.

use super::{Edge, Graph, Node};
use std::fmt::Write;

pub(super) fn print(graph: &Graph) -> String {
    let mut text = "digraph rules {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    // Writing to a String cannot fail.
    for Node { id, lines } in &graph.parents {
        let _ = writeln!(text, "  {id} [label=\"{}\", style=rounded];", label(lines));
    }
    for group in &graph.rules {
        // Only a name that begins with `cluster` is drawn as a box.
        let _ = writeln!(text, "  subgraph cluster_{} {{", group.id);
        let _ = writeln!(text, "    label=\"rule {}\";", escape(&group.title));
        for Node { id, lines } in &group.children {
            let _ = writeln!(text, "    {id} [label=\"{}\"];", label(lines));
        }
        text += "  }\n";
    }
    for Edge { from, to, why } in &graph.edges {
        let style = if why.is_firm() { "solid" } else { "dashed" };
        let _ = match why.label() {
            "" => writeln!(text, "  {from} -> {to} [style={style}];"),
            label => writeln!(text, "  {from} -> {to} [label=\"{label}\", style={style}];"),
        };
    }
    text + "}\n"
}

fn label(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("\\n")
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_ends_its_label() {
        assert_eq!(escape("a\\\"]; b\nc"), "a\\\\\\\"]; b c");
    }
}
