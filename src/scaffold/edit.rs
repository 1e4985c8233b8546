//! Changes a text in place, so that comments, order and style of everything else stay.
//!
//! In: a text, the bytes to replace. Out: the text as a template. Pure.

use std::ops::Range;

/// Bytes to replace, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    /// Bytes of the text.
    pub bytes: Range<usize>,
    /// What comes there: template text.
    pub with: String,
}

/// Takes bytes out.
pub(super) fn cut(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        kept += text.get(at..range.start).unwrap_or_default();
        at = at.max(range.end);
    }
    kept + text.get(at..).unwrap_or_default()
}

/// Puts edits into a text; what stays says in a template what it said before. Where two edits overlap, the first wins.
pub(super) fn substitute(text: &str, edits: &[Edit]) -> String {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.bytes.start);
    let mut template = String::with_capacity(text.len() + 32 * edits.len());
    let mut at = 0;
    for edit in sorted {
        let Some(kept) = text.get(at..edit.bytes.start) else { continue };
        escape(kept, &mut template);
        if template.ends_with('{') {
            template.pop();
            template += "{{ \"{\" }}";
        }
        template += &edit.with;
        at = edit.bytes.end;
    }
    escape(text.get(at..).unwrap_or_default(), &mut template);
    template
}

/// Writes a text such that a template prints it: whatever would begin an expression is printed by one.
fn escape(text: &str, template: &mut String) {
    let mut rest = text;
    while let Some(at) = openings(rest) {
        template.push_str(&rest[..at]);
        template.push_str("{{ \"");
        template.push_str(&rest[at..at + 2]);
        template.push_str("\" }}");
        rest = &rest[at + 2..];
    }
    template.push_str(rest);
}

fn openings(text: &str) -> Option<usize> {
    ["{{", "{%", "{#"].iter().filter_map(|opening| text.find(opening)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(bytes: Range<usize>, with: &str) -> Edit {
        Edit { bytes, with: with.to_owned() }
    }

    #[test]
    fn what_looks_like_a_template_is_printed_by_one() {
        for (text, expected) in [
            ("a: {{ x }}", "a: {{ \"{{\" }} x }}"),
            ("{{{%", "{{ \"{{\" }}{{ \"{%\" }}"),
            ("${VAR} }} {a}", "${VAR} }} {a}"),
            ("{# c #}", "{{ \"{#\" }} c #}"),
        ] {
            assert_eq!(substitute(text, &[]), expected);
        }
    }

    #[test]
    fn a_brace_in_front_of_an_edit_does_not_join_it() {
        assert_eq!(substitute("{a}", &[edit(1..2, "{{ b }}")]), "{{ \"{\" }}{{ b }}}");
    }

    #[test]
    fn edits_may_come_in_any_order_and_overlaps_are_left_out() {
        let edits = [edit(4..5, "Y"), edit(0..1, "X"), edit(0..3, "Z")];
        assert_eq!(substitute("a bcd", &edits), "X bcY");
        assert_eq!(cut("abcdef", vec![3..4, 0..2, 1..2]), "cef");
    }
}
