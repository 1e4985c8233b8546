//! Reads past the quoted texts of a path.
//!
//! In: the text of a path, well-formed or not. Out: what stands outside quotes. Never here: what it means.

/// The characters outside quotes with their bytes; an open quote reaches to the end.
pub(super) fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut escaped = false;
    text.char_indices().filter(move |(_, c)| {
        if let Some(open) = quote {
            if !escaped && *c == open {
                quote = None;
            }
            escaped = !escaped && *c == '\\';
            return false;
        }
        if matches!(c, '\'' | '"') {
            quote = Some(*c);
        }
        quote.is_none()
    })
}

/// The byte of the quote that is opened last and never closed.
pub(super) fn unclosed_quote(text: &str) -> Option<usize> {
    let mut open: Option<(usize, char)> = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match open {
            Some((_, quote)) => {
                if !escaped && c == quote {
                    open = None;
                }
                escaped = !escaped && c == '\\';
            }
            None if matches!(c, '\'' | '"') => open = Some((at, c)),
            None => {}
        }
    }
    open.map(|(at, _)| at)
}

/// The byte of the `]` that closes the bracket at the start of `text`.
pub(super) fn closing_bracket(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    outside_quotes(text).find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// The byte of the last bracket that is opened and never closed.
pub(super) fn unclosed_bracket(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, c) in outside_quotes(text) {
        match c {
            '[' => open.push(at),
            ']' => _ = open.pop(),
            _ => {}
        }
    }
    open.pop()
}

/// The byte of the first filter inside a filter. Outside quotes, `?` does nothing but start a filter.
pub(super) fn nested_filter(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut filters: Vec<usize> = Vec::new();
    outside_quotes(text).find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => {
                filters.retain(|filter| *filter < depth);
                depth = depth.saturating_sub(1);
            }
            '?' if filters.iter().any(|filter| *filter < depth) => return Some(at),
            '?' => filters.push(depth),
            _ => {}
        }
        None
    })
}

/// The byte of the first function call that has `depth` calls around it. A call is a name and a parenthesis.
pub(super) fn nested_call(text: &str, depth: usize) -> Option<usize> {
    let mut calls: Vec<bool> = Vec::new();
    let mut after_name = false;
    outside_quotes(text).find_map(|(at, c)| {
        match c {
            '(' if after_name && calls.iter().filter(|call| **call).count() >= depth => {
                return Some(at);
            }
            '(' => calls.push(after_name),
            ')' => _ = calls.pop(),
            _ => {}
        }
        after_name = c.is_alphanumeric() || c == '_';
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_inside_quotes_do_not_count() {
        assert_eq!(closing_bracket("[a]"), Some(2));
        assert_eq!(closing_bracket(r#"[']\'[' + "]"] x]"#), Some(13));
        assert_eq!(closing_bracket("[[a]"), None);
        assert_eq!(closing_bracket("['a]"), None);
        assert_eq!(unclosed_bracket("$.a[0].b[?@.c[1]"), Some(8));
        assert_eq!(unclosed_bracket("$['[']"), None);
        assert_eq!(nested_filter("$[?@.a == '[?']"), None);
        assert_eq!(nested_filter("$[?@.a[?@.b]]"), Some(7));
        assert_eq!(nested_filter("$[?@.a, ?@.b]"), None);
    }

    #[test]
    fn calls_are_counted_and_groups_are_not() {
        assert_eq!(nested_call("$[?((a(b(@.c)) == 1))]", 2), None);
        assert_eq!(nested_call("$[?((a(b(@.c)) == 1))]", 1), Some(8));
        assert_eq!(nested_call("$[?a('b(c(') && d(e(@.f))]", 2), None);
        assert_eq!(nested_call("$[?a(@.b) && c(@.d) && e(@.f)]", 1), None);
    }
}
