//! Compiles the right side of an operator, and checks the default of the left against it.
//!
//! In: operands as written. Out: right sides that can be compared, or mistakes. Never here: the left side's path.

use super::compile::Compiler;
use super::meaning::Meaning;
use super::right::{Literal, Right};
use super::sentence::show;
use super::written::{Operand, Operator, Written, WrittenReference};
use crate::path::Location;
use regex::RegexBuilder;
use serde_json::Value;

/// Bytes that a compiled regular expression may take.
const MAX_PATTERN: usize = 1 << 20;

impl Compiler<'_> {
    /// The right side of `exists` and `ready`.
    pub(super) fn flag(
        &mut self,
        operator: Operator,
        operand: &Operand,
        field: Location,
    ) -> Option<bool> {
        let name = operator.as_str();
        let hint = match operand {
            Operand::Literal(Value::Bool(flag)) => return Some(*flag),
            Operand::Literal(Value::String(text)) if text == "true" || text == "false" => {
                format!("write `{name}: {text}` without quotes")
            }
            _ => format!("write `{name}: true` or `{name}: false`"),
        };
        self.wrong_operand(field, format!("`{name}` takes true or false"), hint);
        None
    }

    /// The right side of any other operator.
    pub(super) fn right(
        &mut self,
        operator: Operator,
        operand: &Operand,
        meaning: Option<Meaning>,
        field: &Location,
    ) -> Option<Right> {
        match operand {
            _ if operator == Operator::Matches => self.pattern(operand, field),
            Operand::Reference(written) => self.right_reference(operator, written, meaning, field),
            Operand::Literal(Value::Array(list)) if operator.takes_list() => {
                if list.is_empty() {
                    let hint = "name at least one value".to_owned();
                    self.wrong_operand(
                        field.clone(),
                        format!("the list of `{}` is empty", operator.as_str()),
                        hint,
                    );
                }
                let literals: Vec<_> = list
                    .iter()
                    .enumerate()
                    .map(|(index, value)| {
                        self.literal(operator, value, meaning, &field.child(index))
                    })
                    .collect();
                literals.into_iter().collect::<Option<Vec<_>>>().map(Right::Literal)
            }
            Operand::Literal(value) if operator.takes_list() => {
                let hint = format!("write `{}: [{}]`", operator.as_str(), show(value));
                self.wrong_operand(
                    field.clone(),
                    format!("`{}` takes a list", operator.as_str()),
                    hint,
                );
                None
            }
            Operand::Literal(value) => self
                .literal(operator, value, meaning, field)
                .map(|literal| Right::Literal(vec![literal])),
        }
    }

    fn right_reference(
        &mut self,
        operator: Operator,
        written: &WrittenReference,
        meaning: Option<Meaning>,
        field: &Location,
    ) -> Option<Right> {
        let reference = self.reference(written, field)?;
        let at = field.child("default");
        if !operator.takes_list() && !reference.path.is_singular() {
            let hint = "compare with one value, or with several by `in`".to_owned();
            self.wrong_operand(
                field.child("path"),
                "the right side must be one value, this path may lead to several",
                hint,
            );
        }
        match reference.default().filter(|default| !default.is_null()) {
            None => {}
            Some(Value::Array(list)) if operator.takes_list() && reference.path.is_singular() => {
                for (index, value) in list.iter().enumerate() {
                    self.literal(operator, value, meaning, &at.child(index));
                }
            }
            Some(value) if operator.takes_list() && reference.path.is_singular() => {
                self.wrong_operand(
                    at,
                    "the default must be a list",
                    format!("write `[{}]`", show(value)),
                );
            }
            Some(value) => _ = self.literal(operator, value, meaning, &at),
        }
        Some(Right::Reference(reference))
    }

    /// A regular expression. It is never read from an object, whose writer could choose what it costs.
    fn pattern(&mut self, operand: &Operand, field: &Location) -> Option<Right> {
        let Operand::Literal(Value::String(pattern)) = operand else {
            let hint = "for example `matches: \"^v[0-9]+$\"`".to_owned();
            self.wrong_operand(
                field.clone(),
                "`matches` takes a regular expression, written here as text",
                hint,
            );
            return None;
        };
        match RegexBuilder::new(pattern).size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN).build()
        {
            Ok(pattern) => Some(Right::Pattern(pattern)),
            Err(regex::Error::CompiledTooBig(_)) => {
                let hint = "use smaller repetitions".to_owned();
                self.wrong_operand(field.clone(), "the regular expression is too large", hint);
                None
            }
            Err(error) => {
                // The library's text draws the place below the pattern; its last line is the reason.
                let text = error.to_string();
                let reason = text
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ")
                    .to_owned();
                self.wrong_operand(field.clone(), "this is not a regular expression", reason);
                None
            }
        }
    }

    /// One value in the rule.
    fn literal(
        &mut self,
        operator: Operator,
        value: &Value,
        meaning: Option<Meaning>,
        field: &Location,
    ) -> Option<Literal> {
        let name = operator.as_str();
        let (message, hint) = match (value, meaning.map(Meaning::of_right)) {
            (Value::Null, _) => (format!("`{name}` takes no null"), null_hint(operator)),
            (Value::Object(_), _) => (
                format!("`{name}` takes no map"),
                "a mapping on the right side is a reference and needs `path`".to_owned(),
            ),
            (value, Some(meaning)) => match meaning.read(value) {
                Ok(meant) => {
                    return Some(Literal { value: value.clone(), meant: Some(meant) });
                }
                Err(reason) => (format!("{} is not {}", show(value), meaning.noun()), reason),
            },
            (Value::Array(_), None) if operator == Operator::Contains || operator.orders() => (
                format!("`{name}` takes one value, not a list"),
                "for several, use `allOf` or `anyOf`".to_owned(),
            ),
            (value, None) if operator.orders() && !value.is_number() => {
                (format!("`{name}` compares numbers, {} is none", show(value)), order_hint(value))
            }
            (value, None) => {
                return Some(Literal { value: value.clone(), meant: None });
            }
        };
        self.wrong_operand(field.clone(), message, hint);
        None
    }

    /// A count is compared with whole numbers.
    pub(super) fn check_counts(&mut self, right: &Right, field: &Location) {
        let Right::Literal(literals) = right else {
            return;
        };
        if let Some(literal) = literals.iter().find(|literal| !literal.value.is_u64()) {
            let message = format!("{} is not a count", show(&literal.value));
            self.wrong_operand(
                field.clone(),
                message,
                "a count is a whole number from 0".to_owned(),
            );
        }
    }

    /// A default that could never be compared would fail where it is needed.
    pub(super) fn check_default(
        &mut self,
        written: &Written,
        operator: Operator,
        meaning: Option<Meaning>,
        at: &Location,
    ) {
        let Some(default) = written.reference.default.as_ref().filter(|default| !default.is_null())
        else {
            return;
        };
        let wrong = match meaning {
            Some(meaning) => meaning.read(default).err().map(|reason| (meaning.noun(), reason)),
            None if operator.orders() && !default.is_number() => {
                Some(("a number", order_hint(default)))
            }
            None if operator == Operator::Matches && !default.is_string() => {
                Some(("text", "write it in quotes".to_owned()))
            }
            None => None,
        };
        if let Some((noun, hint)) = wrong {
            self.wrong_operand(
                at.child("default"),
                format!("the default {} is not {noun}", show(default)),
                hint,
            );
        }
    }
}

fn null_hint(operator: Operator) -> String {
    match operator {
        Operator::Equals | Operator::In => "`exists: false` asks whether nothing is there",
        Operator::NotEquals | Operator::NotIn => "`exists: true` asks whether something is there",
        _ => "write a value",
    }
    .to_owned()
}

/// Text has no order of its own; many texts have one by what they mean.
fn order_hint(value: &Value) -> String {
    let fitting: Vec<_> = Meaning::ALL
        .into_iter()
        .filter(|(_, meaning)| {
            *meaning != Meaning::Age && value.is_string() && meaning.read(value).is_ok()
        })
        .map(|(name, _)| format!("`as: {name}`"))
        .collect();
    match fitting.as_slice() {
        [] => "text has an order only by what it means, see `as`".to_owned(),
        fitting => format!("say what it means with {}", fitting.join(" or ")),
    }
}
