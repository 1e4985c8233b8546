//! Where a path may lead, as far as its text alone says: for whoever knows types and no values.
//!
//! In: a compiled path. Out: its [`Leg`]s. Never here: types, values.

use super::program::{Filter, Operand, Query, Segment, Selector};
use super::{Path, Step, Way};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    /// Into a map, by name.
    Key(String),
    /// Into a list, by position: `[0]`, `[1:2]`.
    Position,
    /// To everything one step below: `[*]`.
    Each,
    /// To some of what is one step below: a filter, and the ways from there that it looks at.
    Some(Vec<Vec<Leg>>),
    /// Anywhere below: `..`, and several selectors at once.
    Anywhere,
}

impl Path {
    /// Its steps.
    pub(crate) fn legs(&self) -> Vec<Leg> {
        let of_step = |step: &Step| match step {
            Step::Key(key) => Leg::Key(key.clone()),
            Step::Index(_) => Leg::Position,
        };
        match &self.0.way {
            Way::Plain(location) => location.steps().iter().map(of_step).collect(),
            Way::General(program) => legs(&program.segments),
        }
    }
}

fn legs(segments: &[Segment]) -> Vec<Leg> {
    segments.iter().map(leg).collect()
}

fn leg(segment: &Segment) -> Leg {
    let Segment::Children(selectors) = segment else { return Leg::Anywhere };
    match selectors.as_slice() {
        [Selector::Key(key)] => Leg::Key(key.clone()),
        [Selector::Index(_) | Selector::Slice { .. }] => Leg::Position,
        [Selector::Wildcard] => Leg::Each,
        [Selector::Filter(filter)] => {
            let mut ways = Vec::new();
            of_filter(filter, &mut ways);
            Leg::Some(ways)
        }
        _ => Leg::Anywhere,
    }
}

fn of_filter(filter: &Filter, ways: &mut Vec<Vec<Leg>>) {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => {
            for part in parts {
                of_filter(part, ways);
            }
        }
        Filter::Not(inner) => of_filter(inner, ways),
        Filter::Exists(query) => of_query(query, ways),
        Filter::Compare(left, _, right) => {
            of_operand(left, ways);
            of_operand(right, ways);
        }
        Filter::Matches(operand, _) => of_operand(operand, ways),
    }
}

fn of_operand(operand: &Operand, ways: &mut Vec<Vec<Leg>>) {
    match operand {
        Operand::Literal(_) => {}
        Operand::Value(query) | Operand::Count(query) => of_query(query, ways),
        Operand::Length(inner) => of_operand(inner, ways),
    }
}

fn of_query(query: &Query, ways: &mut Vec<Vec<Leg>>) {
    if let Query::Child(segments) = query {
        ways.push(legs(segments));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_its_steps_and_what_its_filters_look_at() {
        let key = |name: &str| Leg::Key(name.to_owned());
        for (path, expected) in [
            ("$", vec![]),
            ("$.a['b/c'][0]", vec![key("a"), key("b/c"), Leg::Position]),
            ("$.a[-1][1:2][*]", vec![key("a"), Leg::Position, Leg::Position, Leg::Each]),
            ("$.a[*].b", vec![key("a"), Leg::Each, key("b")]),
            ("$..a", vec![Leg::Anywhere]),
            ("$['a','b'].c", vec![Leg::Anywhere, key("c")]),
            (
                "$.a[?@.b == 'x' && !@.c[0] || length(@.d) > $.e].f",
                vec![
                    key("a"),
                    Leg::Some(vec![vec![key("b")], vec![key("c"), Leg::Position], vec![key("d")]]),
                    key("f"),
                ],
            ),
        ] {
            assert_eq!(Path::parse(path).unwrap().legs(), expected, "{path}");
        }
    }
}
