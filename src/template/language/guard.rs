//! What every filter is given.
//!
//! In: a filter and what it is applied to. Out: the same filter, which sees plain text and never a missing value, a
//! placeholder or Python's spelling of a value. Never here: filters.

use super::super::value::{refuse, settled, text};
use minijinja::functions::Function;
use minijinja::value::{FunctionArgs, FunctionResult, Rest, Value, ValueOrKwargs};
use minijinja::{Error, ErrorKind, State};

/// A filter of texts: what it is applied to becomes its text.
pub(super) fn of_text<F, Rv, Args>(
    filter: F,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static
where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    let filter = Value::from_function(filter);
    move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let mut args = args.into_values();
        if let Some(input) = args.first_mut() {
            *input = Value::from(text(state, input)?);
        }
        settle(state, args.get_mut(1..).unwrap_or_default())?;
        filter.call(state, &args)
    }
}

/// A filter of texts that can lay out captured text without reading it.
pub(super) fn of_layout<F, Rv, Args>(
    filter: F,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static
where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    let filter = Value::from_function(filter);
    move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let mut args = args.into_values();
        if let Some(input) = args.first_mut().filter(|input| !input.is_safe()) {
            *input = Value::from(text(state, input)?);
        }
        settle(state, args.get_mut(1..).unwrap_or_default())?;
        filter.call(state, &args)
    }
}

/// A filter of any value.
pub(super) fn of_value<F, Rv, Args>(
    filter: F,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static
where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    let filter = Value::from_function(filter);
    move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let mut args = args.into_values();
        if args.first().is_some_and(Value::is_undefined) {
            return Err(Error::from(ErrorKind::UndefinedError));
        }
        settle(state, &mut args)?;
        // The engine pays only for what it visits itself.
        let items = args.first().and_then(Value::len).unwrap_or(0);
        state.consume_fuel(items as u64)?;
        filter.call(state, &args)
    }
}

/// A test: nothing is missing to it, but captured text is plain.
pub(super) fn of_test<F, Rv, Args>(
    test: F,
) -> impl Fn(&mut State<'_, '_>, Rest<ValueOrKwargs>) -> Result<Value, Error> + Send + Sync + 'static
where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    let test = Value::from_function(test);
    move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let mut args = args.into_values();
        settle(state, &mut args)?;
        test.call(state, &args)
    }
}

fn settle(state: &State<'_, '_>, args: &mut [Value]) -> Result<(), Error> {
    for arg in args {
        if !arg.is_kwargs() {
            *arg = settled(state, arg)?;
        }
    }
    Ok(())
}

/// A whole number among the arguments.
pub(super) fn count(value: Option<i64>, otherwise: usize) -> Result<usize, Error> {
    value.map_or(Ok(otherwise), |value| {
        usize::try_from(value).map_err(|_| refuse(format!("{value} must not be negative")))
    })
}
