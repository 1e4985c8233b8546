//! Paths into objects: JSONPath as RFC 9535 has it, parsed once and asked many times.
//!
//! In: a path as a rule's author wrote it, and JSON values. Out: the values it leads to, and where they are.
//! Never here: comparing what was found; changing it.
//!
//! The parser is `jsonpath-rust`. The walk is ours, because that crate's engine builds the text of the way to each
//! value it passes: a list under a long key would cost memory in the order of the key's length times the list's. Ours
//! keeps no text, compares numbers exactly, compiles patterns once and tells what was looked for in vain. What the
//! language has and this does not, so that the cost stays bounded: a filter inside a filter, a second `..`, more than
//! 64 branches, calls more than three deep, and patterns taken from the object.

mod correct;
pub mod equality;
mod filter;
mod location;
mod lower;
mod mistake;
mod outline;
mod pattern;
mod program;
mod quotes;
mod walk;

pub use location::{Location, Step};
pub use mistake::PathError;
pub(crate) use outline::Leg;

use program::{Program, Segment, Selector};
use serde_json::Value;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::Arc;
use walk::Hop;

/// The longest path that is read, in bytes.
pub const MAX_LENGTH: usize = 4096;

/// A compiled JSONPath. Cheap to clone; equal to another if both were written the same.
#[derive(Clone)]
pub struct Path(Arc<Compiled>);

struct Compiled {
    text: String,
    way: Way,
}

enum Way {
    /// Names and indexes from 0 only: no engine needed.
    Plain(Location),
    General(Program),
}

impl Path {
    /// Reads a path. Forms of kubectl and other tools are refused, with the corrected path as the hint.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let program = read(text).map_err(|error| error.or_corrected(text))?;
        let way = plain(&program).map_or(Way::General(program), Way::Plain);
        Ok(Self(Arc::new(Compiled { text: text.to_owned(), way })))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether it leads to one value at most, whatever the object.
    pub fn is_singular(&self) -> bool {
        match &self.0.way {
            Way::Plain(_) => true,
            Way::General(program) => program.segments.iter().all(Segment::is_singular),
        }
    }

    /// The steps of a path made of names and indexes from 0 alone: the one place it can lead to, without a value.
    pub fn plain_steps(&self) -> Option<&[Step]> {
        match &self.0.way {
            Way::Plain(location) => Some(location.steps()),
            Way::General(_) => None,
        }
    }

    /// The values it leads to, in the order of RFC 9535.
    pub fn query<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match &self.0.way {
            Way::Plain(location) => location.of(value).into_iter().collect(),
            Way::General(program) => collect(program, value, |found, _| found),
        }
    }

    /// The values it leads to, and `None` for each thing looked for in vain.
    ///
    /// A name, an index and a filter *look something up*: where they find nothing, something is missing, and so is
    /// all that would follow it. `*`, a slice and `..` *go over* what is there: over nothing they give nothing, and
    /// something missing counts as nothing there. So over `{"a": [{"b": 1}, {}]}`
    ///
    /// | path | leads to |
    /// | --- | --- |
    /// | `$.a[*].b` | 1, missing |
    /// | `$.x` | missing |
    /// | `$.a[?@.b == 2].b` | missing |
    /// | `$.x[*].b` | nothing |
    ///
    /// The values are those of [`Path::query`], in the same order.
    pub fn lookup<'v>(&self, value: &'v Value) -> Vec<Option<&'v Value>> {
        match &self.0.way {
            Way::Plain(location) => vec![location.of(value)],
            Way::General(program) => collect(program, value, |found, _| Some(found)),
        }
    }

    /// Where the values of [`Path::query`] are.
    pub fn locate(&self, value: &Value) -> Vec<Location> {
        match &self.0.way {
            Way::Plain(location) => {
                location.of(value).map(|_| location.clone()).into_iter().collect()
            }
            Way::General(program) => {
                collect(program, value, |found, trail| found.and(location_of(trail)))
            }
        }
    }

    /// The place of one result of [`Path::lookup`] as text, for people: `$.a[1].b`. A filter that found nothing is
    /// shown as `[?]`. Paths that lead to one value are shown as they were written.
    pub fn describe(&self, value: &Value, nth: usize) -> String {
        let mut text = None;
        if let Way::General(program) = &self.0.way
            && !self.is_singular()
        {
            let mut at = 0;
            walk::walk(program, value, &mut |_, trail| {
                if at == nth {
                    text = Some(text_of(trail));
                    return ControlFlow::Break(());
                }
                at += 1;
                ControlFlow::Continue(())
            });
        }
        text.unwrap_or_else(|| self.0.text.clone())
    }
}

/// As it was written.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({:?})", self.0.text)
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Path {}

impl Hash for Path {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

/// What `pick` makes of each result of a walk.
fn collect<'v, T>(
    program: &Program,
    value: &'v Value,
    pick: impl Fn(Option<&'v Value>, &[Hop<'_>]) -> Option<T>,
) -> Vec<T> {
    let mut picked = Vec::new();
    walk::walk(program, value, &mut |found, trail| {
        picked.extend(pick(found, trail));
        ControlFlow::Continue(())
    });
    picked
}

fn location_of(trail: &[Hop<'_>]) -> Option<Location> {
    let step = |hop: &Hop<'_>| match hop {
        Hop::Key(key) => Some(Step::from(*key)),
        Hop::Index(index) => Some(Step::from(*index)),
        Hop::Sought => None,
    };
    trail.iter().map(step).collect::<Option<Vec<_>>>().map(Location::from)
}

fn text_of(trail: &[Hop<'_>]) -> String {
    let mut text = "$".to_owned();
    for hop in trail {
        // Writing to a string cannot fail.
        let _written = match hop {
            Hop::Key(key) => location::write_key(&mut text, key),
            Hop::Index(index) => write!(text, "[{index}]"),
            Hop::Sought => write!(text, "[?]"),
        };
    }
    text
}

/// Parses and checks, without guessing what was meant.
fn read(text: &str) -> Result<Program, PathError> {
    if text.len() > MAX_LENGTH {
        return Err(PathError::new(0, format!("the path is longer than {MAX_LENGTH} bytes")));
    }
    if let Some(error) = mistake::foreign_form(text).or_else(|| mistake::too_nested(text)) {
        return Err(error);
    }
    let model = jsonpath_rust::parser::parse_json_path(text)
        .map_err(|error| mistake::syntax(text, &error))?;
    lower::lower(&model).map_err(|refusal| mistake::refused(text, refusal))
}

fn plain(program: &Program) -> Option<Location> {
    let step = |segment: &Segment| match segment {
        Segment::Children(selectors) => match selectors.as_slice() {
            [Selector::Key(key)] => Some(Step::Key(key.clone())),
            [Selector::Index(index)] => usize::try_from(*index).ok().map(Step::Index),
            _ => None,
        },
        Segment::Descendants(_) => None,
    };
    program.segments.iter().map(step).collect::<Option<Vec<_>>>().map(Location::from)
}

#[cfg(test)]
mod tests;
