//! From the parser's model to a program, refusing what could not be walked exactly or cheaply.
//!
//! In: the model of `jsonpath-rust`. Out: a [`Program`], or why not. Never here: syntax, evaluation.

use super::pattern;
use super::program::{Filter, Operand, Order, Program, Query, Segment, Selector};
use jsonpath_rust::parser::model;
use serde_json::Value;

/// A path may reach a value at most this often: each `[a, b]` multiplies, and a chain of them would be exponential.
const MAX_BRANCHES: usize = 64;

/// Why a path that parses is not taken.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) hint: Option<&'static str>,
    /// Text near the mistake: the parser's model has no positions.
    pub(super) near: &'static str,
}

type Lowered<T> = Result<T, Refusal>;

fn refuse<T>(
    near: &'static str,
    message: impl Into<String>,
    hint: Option<&'static str>,
) -> Lowered<T> {
    Err(Refusal { message: message.into(), hint, near })
}

/// Checks and translates a whole path.
pub(super) fn lower(query: &model::JpQuery) -> Lowered<Program> {
    let mut lowering = Lowering { shared: Vec::new() };
    let segments = lowering.segments(&query.segments)?;
    Ok(Program { segments, shared: lowering.shared })
}

struct Lowering {
    shared: Vec<Vec<Segment>>,
}

impl Lowering {
    fn segments(&mut self, segments: &[model::Segment]) -> Lowered<Vec<Segment>> {
        let lowered = segments
            .iter()
            .map(|segment| match segment {
                model::Segment::Descendant(inner) => {
                    Ok(Segment::Descendants(self.selectors(inner)?))
                }
                inner => Ok(Segment::Children(self.selectors(inner)?)),
            })
            .collect::<Lowered<Vec<_>>>()?;
        check_cost(&lowered)?;
        Ok(lowered)
    }

    fn selectors(&mut self, segment: &model::Segment) -> Lowered<Vec<Selector>> {
        match segment {
            model::Segment::Selector(selector) => Ok(vec![self.selector(selector)?]),
            model::Segment::Selectors(selectors) => {
                selectors.iter().map(|selector| self.selector(selector)).collect()
            }
            // The grammar has no `..` inside `..`.
            model::Segment::Descendant(inner) => self.selectors(inner),
        }
    }

    fn selector(&mut self, selector: &model::Selector) -> Lowered<Selector> {
        Ok(match selector {
            model::Selector::Name(name) => Selector::Key(name.clone()),
            model::Selector::Wildcard => Selector::Wildcard,
            model::Selector::Index(index) => Selector::Index(*index),
            model::Selector::Slice(start, end, step) => {
                Selector::Slice { start: *start, end: *end, step: step.unwrap_or(1) }
            }
            model::Selector::Filter(filter) => Selector::Filter(self.filter(filter)?),
        })
    }

    fn filter(&mut self, filter: &model::Filter) -> Lowered<Filter> {
        let negate = |not: bool, inner: Filter| {
            if not { Filter::Not(Box::new(inner)) } else { inner }
        };
        Ok(match filter {
            model::Filter::Or(parts) => Filter::Any(self.filters(parts)?),
            model::Filter::And(parts) => Filter::All(self.filters(parts)?),
            model::Filter::Atom(model::FilterAtom::Filter { expr, not }) => {
                negate(*not, self.filter(expr)?)
            }
            model::Filter::Atom(model::FilterAtom::Test { expr, not }) => {
                negate(*not, self.test(expr)?)
            }
            model::Filter::Atom(model::FilterAtom::Comparison(comparison)) => {
                self.comparison(comparison)?
            }
        })
    }

    fn filters(&mut self, parts: &[model::Filter]) -> Lowered<Vec<Filter>> {
        parts.iter().map(|part| self.filter(part)).collect()
    }

    fn test(&mut self, test: &model::Test) -> Lowered<Filter> {
        use model::TestFunction::{Count, Custom, Length, Match, Search, Value};
        let model::Test::Function(function) = test else {
            return Ok(Filter::Exists(self.query(test)?));
        };
        match &**function {
            Match(subject, pattern) => self.matches("match(", subject, pattern, pattern::whole),
            Search(subject, pattern) => {
                self.matches("search(", subject, pattern, pattern::anywhere)
            }
            Length(_) => {
                refuse("length(", "`length` gives a number, which must be compared", Some(COMPARE))
            }
            Count(_) => {
                refuse("count(", "`count` gives a number, which must be compared", Some(COMPARE))
            }
            Value(_) => {
                refuse("value(", "`value` gives a value, which must be compared", Some(COMPARE))
            }
            Custom(name, _) => unknown_function(name),
        }
    }

    fn matches(
        &mut self,
        near: &'static str,
        subject: &model::FnArg,
        pattern: &model::FnArg,
        compile: impl FnOnce(&str) -> Result<regex::Regex, String>,
    ) -> Lowered<Filter> {
        // A pattern out of the object would let its writer choose the cost, element by element.
        let model::FnArg::Literal(model::Literal::String(pattern)) = pattern else {
            return refuse(near, "the pattern must be text in quotes", None);
        };
        match compile(pattern) {
            Ok(pattern) => Ok(Filter::Matches(self.argument(near, subject)?, pattern)),
            Err(message) => refuse(near, message, None),
        }
    }

    fn comparison(&mut self, comparison: &model::Comparison) -> Lowered<Filter> {
        use model::Comparison::{Eq, Gt, Gte, Lt, Lte, Ne};
        let (left, order, right) = match comparison {
            Eq(left, right) => (left, Order::Equal, right),
            Ne(left, right) => (left, Order::NotEqual, right),
            Lt(left, right) => (left, Order::Less, right),
            Lte(left, right) => (left, Order::LessOrEqual, right),
            Gt(left, right) => (left, Order::More, right),
            Gte(left, right) => (left, Order::MoreOrEqual, right),
        };
        Ok(Filter::Compare(self.comparable(left)?, order, self.comparable(right)?))
    }

    fn comparable(&mut self, comparable: &model::Comparable) -> Lowered<Operand> {
        Ok(match comparable {
            model::Comparable::Literal(literal) => Operand::Literal(literal_value(literal)?),
            model::Comparable::Function(function) => self.function(function)?,
            model::Comparable::SingularQuery(model::SingularQuery::Current(steps)) => {
                Operand::Value(Query::Child(steps.iter().map(singular).collect()))
            }
            model::Comparable::SingularQuery(model::SingularQuery::Root(steps)) => {
                Operand::Value(self.share(steps.iter().map(singular).collect()))
            }
        })
    }

    fn function(&mut self, function: &model::TestFunction) -> Lowered<Operand> {
        use model::TestFunction::{Count, Custom, Length, Match, Search, Value};
        match function {
            Length(argument) => Ok(Operand::Length(Box::new(self.argument("length(", argument)?))),
            Count(argument) => Ok(Operand::Count(self.nodes("count(", argument)?)),
            Value(argument) => Ok(Operand::Value(self.nodes("value(", argument)?)),
            Match(..) => refuse("match(", "`match` is true or false and cannot be compared", None),
            Search(..) => {
                refuse("search(", "`search` is true or false and cannot be compared", None)
            }
            Custom(name, _) => unknown_function(name),
        }
    }

    /// An argument that must be one value.
    fn argument(&mut self, near: &'static str, argument: &model::FnArg) -> Lowered<Operand> {
        let wrong = || refuse(near, "this function takes one value", Some("`count` takes several"));
        match argument {
            model::FnArg::Literal(literal) => Ok(Operand::Literal(literal_value(literal)?)),
            model::FnArg::Filter(_) => wrong(),
            model::FnArg::Test(test) => match &**test {
                model::Test::Function(function) => self.function(function),
                model::Test::RelQuery(segments) if !is_singular(segments) => wrong(),
                model::Test::AbsQuery(query) if !is_singular(&query.segments) => wrong(),
                query => Ok(Operand::Value(self.query(query)?)),
            },
        }
    }

    /// An argument that may be several values.
    fn nodes(&mut self, near: &'static str, argument: &model::FnArg) -> Lowered<Query> {
        match argument {
            model::FnArg::Test(test) if !matches!(**test, model::Test::Function(_)) => {
                self.query(test)
            }
            _ => refuse(near, "this function takes a path that starts with `@` or `$`", None),
        }
    }

    fn query(&mut self, test: &model::Test) -> Lowered<Query> {
        match test {
            model::Test::RelQuery(segments) => Ok(Query::Child(self.segments(segments)?)),
            model::Test::AbsQuery(query) => {
                let segments = self.segments(&query.segments)?;
                Ok(self.share(segments))
            }
            model::Test::Function(_) => refuse("(", "a path is needed here", None),
        }
    }

    fn share(&mut self, segments: Vec<Segment>) -> Query {
        self.shared.push(segments);
        Query::Shared(self.shared.len() - 1)
    }
}

const COMPARE: &str = "for example `[?count(@.a[*]) > 1]`";

fn unknown_function<T>(name: &str) -> Lowered<T> {
    let hint = Some("RFC 9535 has length, count, value, match and search");
    refuse("(", format!("there is no function `{name}`"), hint)
}

fn literal_value(literal: &model::Literal) -> Lowered<Value> {
    Ok(match literal {
        model::Literal::Int(number) => Value::from(*number),
        model::Literal::Float(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => Value::Number(number),
            None => return refuse("e", "the number is too large", None),
        },
        model::Literal::String(text) => Value::from(text.as_str()),
        model::Literal::Bool(value) => Value::from(*value),
        model::Literal::Null => Value::Null,
    })
}

fn singular(step: &model::SingularQuerySegment) -> Segment {
    Segment::Children(vec![match step {
        model::SingularQuerySegment::Name(name) => Selector::Key(name.clone()),
        model::SingularQuerySegment::Index(index) => Selector::Index(*index),
    }])
}

fn is_singular(segments: &[model::Segment]) -> bool {
    segments.iter().all(|segment| {
        matches!(
            segment,
            model::Segment::Selector(model::Selector::Name(_) | model::Selector::Index(_))
        )
    })
}

/// Keeps a walk linear in the size of the object: a second `..` multiplies by its depth, a list of selectors by its
/// length, and whoever writes the object decides how large and deep it is.
fn check_cost(segments: &[Segment]) -> Lowered<()> {
    let mut descents = 0;
    let mut branches = 1_usize;
    for segment in segments {
        let (Segment::Children(selectors) | Segment::Descendants(selectors)) = segment;
        branches = branches.saturating_mul(selectors.len());
        descents += usize::from(matches!(segment, Segment::Descendants(_)));
    }
    if descents > 1 {
        return refuse(
            "..",
            "`..` may stand once in a path",
            Some("write the steps after the first `..`"),
        );
    }
    if branches > MAX_BRANCHES {
        return refuse(",", format!("the path branches into more than {MAX_BRANCHES}"), None);
    }
    Ok(())
}
