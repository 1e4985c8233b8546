//! The lines of a diff.

use super::lines::{Sign, lines};
use crate::owned::changes::changes_within;
use serde_json::{Value, json};

/// The diff of two values as a person reads it.
fn diff(was: &Value, is: &Value) -> String {
    let (was, is) = (json!({ "spec": was }), json!({ "spec": is }));
    let lines = lines(&changes_within(&is, &was, "spec", None)).into_iter();
    let shown = lines.map(|line| {
        let sign = match line.sign {
            Sign::Same | Sign::Gap => ' ',
            Sign::Minus => '-',
            Sign::Plus => '+',
        };
        format!("{sign} {}\n", line.text)
    });
    shown.collect()
}

#[test]
fn a_diff_shows_what_changes_what_is_around_it_and_what_it_is_in() {
    let spec = |replicas: i64, image: &str| {
        json!({"a": 1, "b": 2, "c": 3, "d": 4, "replicas": replicas, "template": {"containers": [
            {"name": "app", "image": image, "ports": [{"port": 80}]}]}})
    };
    assert_eq!(
        diff(&spec(1, "x:1"), &spec(2, "x:2")),
        [
            "  spec:",
            "  …",
            "    c: 3",
            "    d: 4",
            "-   replicas: 1",
            "+   replicas: 2",
            "    template:",
            "      containers:",
            "-       - image: x:1",
            "+       - image: x:2",
            "          name: app",
            "          ports:",
            "  …",
            "",
        ]
        .join("\n")
    );
}

#[test]
fn a_text_of_several_lines_is_compared_line_by_line() {
    let text = |line: &str| json!({"page": format!("one\n{line}\nthree\n")});
    assert_eq!(
        diff(&text("two"), &text("2")),
        "  spec:\n    page: |\n      one\n-     two\n+     2\n      three\n"
    );
}

#[test]
fn what_comes_and_goes_has_its_dash() {
    let list = |items: Value| json!({ "l": items });
    assert_eq!(
        diff(
            &list(json!([{"name": "a"}, {"name": "b"}])),
            &list(json!([{"name": "a"}, {"name": "b"}, {"name": "c", "x": 1}]))
        ),
        "  spec:\n    l:\n      - name: a\n      - name: b\n+     - name: c\n+       x: 1\n"
    );
}
