//! The columns that `kubectl get` shows.
//!
//! In: a field that asks for one. Out: a [`Column`], or why it cannot have one.

use crate::shorthand::mistakes::Fault;
use crate::shorthand::schema::{Field, Shape};
use serde_json::Value;
use std::ops::Range;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::shorthand) struct Column {
    pub(in crate::shorthand) name: String,
    /// For example `.spec.image`.
    pub(in crate::shorthand) path: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub(in crate::shorthand) kind: &'static str,
    /// Shown with `-o wide` only.
    pub(in crate::shorthand) wide: bool,
}

/// Those that are there anyhow: two of kubectl's, two of ours.
const TAKEN: [&str; 4] = ["Name", "Namespace", "Ready", "Age"];

/// The column of a field.
pub(super) fn column(
    field: &Field,
    name: Option<&str>,
    wide: bool,
    path: Option<&str>,
    span: &Range<usize>,
) -> Result<Column, Fault> {
    let fault = |message: String| Fault::new("attribute-not-here", span, message);
    let kind = match &field.schema.shape {
        Shape::Whole(_) => "integer",
        Shape::Choice(values) if !values.iter().all(Value::is_string) => "integer",
        Shape::Number(_) => "number",
        Shape::Boolean => "boolean",
        Shape::DateTime => "date",
        shape if shape.is_scalar() => "string",
        shape => {
            return Err(fault(format!(
                "`column` is for single values, not for `{}`",
                shape.noun()
            )));
        }
    };
    let Some(path) = path else {
        let fault = fault("`column` is for what each object has once".to_owned());
        return Err(fault.hint("not for what stands in a list, in a map, or in `types`"));
    };
    let name = name.map_or_else(|| capitalised(&field.name), str::to_owned);
    Ok(Column { name, path: path.to_owned(), kind, wide })
}

/// Puts it behind the others, if its name is free.
pub(super) fn add(
    columns: &mut Vec<Column>,
    column: Column,
    span: &Range<usize>,
) -> Result<(), Fault> {
    let same = |name: &str| name.eq_ignore_ascii_case(&column.name);
    if TAKEN.into_iter().any(same) || columns.iter().any(|other| same(&other.name)) {
        let message = format!("there is a column `{}` already", column.name);
        let fault = Fault::new("schema-conflict", span, message);
        return Err(fault.hint("give this one another name: `column Other`"));
    }
    columns.push(column);
    Ok(())
}

fn capitalised(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}
