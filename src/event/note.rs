//! The text of an Event.
//!
//! In: what is told of each child. Out: one line of at most 1 KB, the same for the same facts. Pure.

use super::Reason;

/// The server takes no longer one.
pub(super) const LONGEST: usize = 1024;

/// Objects that a list names.
const LISTED: usize = 10;

/// Troubles that a text tells.
const TOLD: usize = 5;

impl Reason {
    /// What stands before the parts, and between them, and how many there are.
    fn frame(&self) -> (&'static str, &'static str, usize) {
        match self {
            Self::Created => ("created ", ", ", LISTED),
            Self::Recreated => ("created anew, since it was gone: ", ", ", LISTED),
            Self::Adopted => ("adopted ", ", ", LISTED),
            Self::Pruned => ("deleted, since it is no longer wanted: ", ", ", LISTED),
            Self::LeftBehind => {
                ("left behind without our marks, since it is no longer wanted: ", ", ", LISTED)
            }
            Self::Waiting => ("not there or not ready for some minutes: ", "; ", TOLD),
            _ => ("", "; ", TOLD),
        }
    }

    /// The text that tells these parts.
    pub(super) fn note(&self, parts: &[&str]) -> String {
        let (before, between, most) = self.frame();
        let mut listed: Vec<&str> = parts.iter().copied().take(most).collect();
        let more = parts.len().saturating_sub(most);
        let more = (more > 0).then(|| format!("and {more} more"));
        listed.extend(more.as_deref());
        cut(&format!("{before}{}", listed.join(between)), LONGEST)
    }
}

/// In one line, and not longer than so many bytes.
pub(super) fn cut(text: &str, longest: usize) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() > longest {
        let end = text.floor_char_boundary(longest - '…'.len_utf8());
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_children_make_one_short_text() {
        let children: Vec<String> =
            (0..2000).map(|n| format!("quota[team-{n}] (ResourceQuota t/q-{n})")).collect();
        let parts: Vec<&str> = children.iter().map(String::as_str).collect();
        let note = Reason::Created.note(&parts);
        assert!(note.starts_with("created quota[team-0] (ResourceQuota t/q-0), quota[team-1] "));
        assert!(note.ends_with(", and 1990 more"), "{note}");
        assert_eq!(Reason::ChildFailed.note(&["a: no", "b: no"]), "a: no; b: no");
    }

    #[test]
    fn a_text_is_one_line_that_the_server_takes() {
        for text in ["x".repeat(5000), "ü".repeat(5000), "日本 ".repeat(900)] {
            let note = Reason::RenderFailed.note(&[&text]);
            assert!(note.len() <= LONGEST && note.ends_with('…'), "{}", note.len());
        }
        assert_eq!(cut("a\n  b\tc", 100), "a b c");
        assert_eq!(cut("", 100), "");
    }
}
