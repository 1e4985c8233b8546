//! Prints a graph as a Mermaid flowchart.
//!
//! In: a graph. Out: text. Pure.

use super::{Edge, Graph, Node};
use std::fmt::Write;

pub(super) fn print(graph: &Graph) -> String {
    let mut text = "flowchart LR\n".to_owned();
    // Writing to a String cannot fail.
    for Node { id, lines } in &graph.parents {
        let _ = writeln!(text, "  {id}([\"{}\"])", label(lines));
    }
    for group in &graph.rules {
        let _ = writeln!(text, "  subgraph {}[\"rule {}\"]", group.id, escape(&group.title));
        for Node { id, lines } in &group.children {
            let _ = writeln!(text, "    {id}[\"{}\"]", label(lines));
        }
        text += "  end\n";
    }
    for Edge { from, to, why } in &graph.edges {
        let arrow = if why.is_firm() { "-->" } else { "-.->" };
        let label = match why.label() {
            "" => String::new(),
            label => format!("|\"{label}\"|"),
        };
        let _ = writeln!(text, "  {from} {arrow}{label} {to}");
    }
    text
}

fn label(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br/>")
}

/// What Mermaid or the HTML it makes would understand as something else, by number.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' | '\n' | '\r' => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_ends_its_label() {
        assert_eq!(escape("a\"]; b#<x>"), "a#34;]#59; b#35;#60;x#62;");
    }
}
