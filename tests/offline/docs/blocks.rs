//! Fenced blocks of a page, and what is beside them.

/// A fenced block.
pub(super) struct Block {
    /// The line of its fence, from 1.
    pub(super) line: usize,
    /// The words after the fence.
    pub(super) info: String,
    pub(super) text: String,
}

/// A page taken apart.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) blocks: Vec<Block>,
    /// Every line outside of fenced blocks, with its number.
    pub(super) prose: Vec<(usize, String)>,
    /// The line of a fence that is never closed.
    pub(super) open: Option<usize>,
}

pub(super) fn parts(document: &str) -> Parts {
    let mut parts = Parts::default();
    for (number, line) in document.lines().enumerate() {
        let number = number + 1;
        match (line.trim_start().strip_prefix("```"), parts.open) {
            (Some(info), None) => {
                let info = info.trim().to_owned();
                parts.blocks.push(Block { line: number, info, text: String::new() });
                parts.open = Some(number);
            }
            (Some(_), Some(_)) => parts.open = None,
            (None, Some(_)) => {
                let block = parts.blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            (None, None) => parts.prose.push((number, line.to_owned())),
        }
    }
    parts
}

/// What stands between backticks in a line.
pub(super) fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// A line without what stands between backticks.
pub(super) fn without_spans(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Whether the text is what is shown, `...` being any number of lines.
pub(super) fn is_shown(shown: &str, text: &str) -> bool {
    let (shown, text): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), text.lines().collect());
    fits(&shown, &text)
}

fn fits(shown: &[&str], text: &[&str]) -> bool {
    match shown.split_first() {
        None => text.is_empty(),
        Some((&"...", rest)) => (0..=text.len()).any(|skipped| fits(rest, &text[skipped..])),
        Some((first, rest)) => text.first() == Some(first) && fits(rest, &text[1..]),
    }
}

#[test]
fn three_dots_stand_for_lines_and_nothing_else_is_forgiven() {
    assert!(is_shown("a\n...\nb\n", "a\nx\ny\nb\n"));
    assert!(is_shown("...\n", ""));
    assert!(!is_shown("a\n...\n", "b\n"));
    assert!(!is_shown("a\n", "a\nb\n"));
}
