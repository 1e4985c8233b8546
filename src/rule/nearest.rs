//! What was probably meant by a name that is not known.
//!
//! In: a name, the known ones. Out: one of them, or none. Never here: accepting the wrong one.

use crate::comparison::closest;

/// What was probably meant by a name: its word for the same thing in other tools, else a slip of the finger.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut same = SAME_THING.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    same.find_map(|(_, own)| known.iter().copied().find(|known| known == own))
        .or_else(|| closest(name, known.iter().copied()))
}

/// Words of other tools and programming languages, and ours.
const SAME_THING: &[(&str, &str)] = &[
    ("and", "allOf"),
    ("dependsOn", "needs"),
    ("each", "forEach"),
    ("else", "otherwise"),
    ("eq", "equals"),
    ("for", "forEach"),
    ("greaterThan", "moreThan"),
    ("gt", "moreThan"),
    ("gte", "atLeast"),
    ("if", "when"),
    ("jsonPath", "path"),
    ("lt", "lessThan"),
    ("lte", "atMost"),
    ("match", "matches"),
    ("max", "atMost"),
    ("maximum", "atMost"),
    ("min", "atLeast"),
    ("minimum", "atLeast"),
    ("msg", "message"),
    ("ne", "notEquals"),
    ("or", "anyOf"),
    ("pattern", "matches"),
    ("regex", "matches"),
    ("value", "equals"),
    ("vars", "let"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_tools_and_slips_of_the_finger_are_understood() {
        let known = ["equals", "atLeast", "path", "otherwise", "children", "when"];
        for (name, expected) in [
            ("eq", Some("equals")),
            ("MIN", Some("atLeast")),
            ("jsonpath", Some("path")),
            ("else", Some("otherwise")),
            ("childs", Some("children")),
            ("if", Some("when")),
            ("lt", None),
            ("labels", None),
        ] {
            assert_eq!(nearest(name, &known), expected, "{name}");
        }
    }
}
