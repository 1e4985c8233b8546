//! What the translation of a template calls, and authors cannot.
//!
//! In: the calls that [`super::super::desugar`] writes. Out: values, and notes of what is missing. Never here: anything
//! with a name that does not begin with `__`.

use super::super::trace::{self, walk};
use super::super::value::{Omit, settled, text};
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

/// Makes them known.
pub(super) fn add(env: &mut Environment<'static>) {
    env.add_filter("__step", step);
    env.add_filter("__text", |state: &mut State<'_, '_>, value: &Value| match value.kind() {
        // The engine refuses what is missing, and knows what to do with what it captured.
        ValueKind::Undefined | ValueKind::String => Ok(value.clone()),
        _ => text(state, value).map(Value::from),
    });
    env.add_filter("__plain", |state: &mut State<'_, '_>, value: &Value| settled(state, value));
    // The engine takes a part of what is missing for an empty list.
    env.add_filter("__sliced", |state: &mut State<'_, '_>, value: &Value| match value.kind() {
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        _ => settled(state, value),
    });
    env.add_filter("__soft", |state: &mut State<'_, '_>, value: &Value| soft(state, value));
    env.add_function("__live", |state: &mut State<'_, '_>, expression: usize| {
        trace::is_live(state, expression)
    });
}

/// `map.items()` and the like, which many know from Ansible; everything else is a filter.
pub(super) fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if value.kind() == ValueKind::Map
        && args.is_empty()
        && matches!(name, "items" | "keys" | "values")
    {
        return state.apply_filter(name, std::slice::from_ref(value));
    }
    Err(Error::from(ErrorKind::UnknownMethod))
}

/// A chain of accesses: what is missing on the way is undefined, and noted under the number of the chain.
fn step(state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
    if args.iter().any(Value::is_safe) {
        let args = args.iter().map(|arg| settled(state, arg)).collect::<Result<Vec<_>, _>>()?;
        return step(state, &args);
    }
    let [base, site, steps @ ..] = args else {
        return Err(Error::from(ErrorKind::MissingArgument));
    };
    if let Some(value) = walk(base, steps) {
        return Ok(value);
    }
    if let Ok(site) = usize::try_from(site.clone()) {
        trace::note(state, trace::gap(base, steps), Some(site));
    }
    Ok(Value::UNDEFINED)
}

/// What does not exist yet is left out of a lenient body; an inline `if` without `else` stays what it is.
fn soft(state: &mut State<'_, '_>, value: &Value) -> Value {
    // Only a value that was looked for and not found cannot be printed.
    let is_gap = value.is_undefined() && state.format(value.clone()).is_err();
    if is_gap { Value::from_object(Omit) } else { value.clone() }
}
