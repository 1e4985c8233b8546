//! The type of one template expression.
//!
//! In: its text, and the types of what it can read. Out: the type that its value has whenever it has one, or nothing.

use super::super::schema::{Bounds, Schema, Shape};
use super::{Known, either, map_of, number, text, whole};
use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, UnaryOpKind};
use minijinja::machinery::{parse_expr, tokenize};
use minijinja::value::{Value, ValueKind};
use std::collections::BTreeSet;

/// Longer expressions are not looked at: reading one takes stack in the order of its length.
const LONGEST: usize = 64;

/// What types depend on.
#[derive(Clone, Copy)]
pub(super) struct Typing<'a> {
    pub(super) known: &'a Known<'a>,
    /// Names that mean something else in this body.
    pub(super) hidden: &'a BTreeSet<&'a str>,
}

/// Filters that always give text, whatever goes in.
const TEXTUAL: [&str; 19] = [
    "string",
    "upper",
    "lower",
    "capitalize",
    "title",
    "trim",
    "replace",
    "regex_replace",
    "indent",
    "join",
    "format",
    "dns_label",
    "to_json",
    "to_yaml",
    "b64encode",
    "b64decode",
    "sha256",
    "quantity",
    "quantity_mul",
];

impl Typing<'_> {
    /// The type of an expression.
    pub(super) fn of(&self, expression: &str) -> Option<Schema> {
        let tokens = tokenize(expression, true, minijinja::syntax::SyntaxConfig::default());
        if tokens.take(LONGEST + 1).count() > LONGEST {
            return None;
        }
        self.expression(&parse_expr(expression).ok()?)
    }

    fn expression(&self, expression: &Expr<'_>) -> Option<Schema> {
        let of = |expression| self.expression(expression);
        match expression {
            Expr::Const(constant) => constant_type(&constant.value),
            // What is left out has no type.
            Expr::IfExpr(choice) => match (&choice.true_expr, &choice.false_expr) {
                (value, None) => of(value),
                (value, Some(omit)) | (omit, Some(value)) if self.is_omit(omit) => of(value),
                (value, Some(otherwise)) => either(of(value), of(otherwise)),
            },
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => self.read(&steps(expression)?),
            Expr::Compare(_) | Expr::Test(_) => Some(Schema::of(Shape::Boolean)),
            Expr::UnaryOp(operation) => match operation.op {
                UnaryOpKind::Not => Some(Schema::of(Shape::Boolean)),
                UnaryOpKind::Neg => of(&operation.expr).filter(is_numeric),
            },
            Expr::BinOp(both) => operation(both.op, of(&both.left), of(&both.right)),
            Expr::Filter(filter) => {
                let value = filter.expr.as_ref().and_then(of);
                self.filter(filter.name, value, &filter.args)
            }
            Expr::Call(call) => match &call.expr {
                Expr::Var(name) if !self.hidden.contains(name.id) => self.call(name.id, &call.args),
                _ => None,
            },
            Expr::List(list) => {
                let item = list.items.iter().map(of).reduce(either).flatten();
                item.map(|item| Schema::of(Shape::list_of(item)))
            }
            Expr::Map(_) => Some(Schema::of(Shape::Free)),
            Expr::Slice(_) | Expr::Tuple(_) => None,
        }
    }

    fn is_omit(&self, expression: &Expr<'_>) -> bool {
        matches!(expression, Expr::Var(name) if name.id == "omit" && !self.hidden.contains("omit"))
    }

    fn filter(
        &self,
        name: &str,
        value: Option<Schema>,
        arguments: &[CallArg<'_>],
    ) -> Option<Schema> {
        match name {
            "default" | "d" => match (value, self.argument(arguments, 0)) {
                (None, default) => default,
                (value, default) => either(value, default),
            },
            "int" | "length" | "quantity_cmp" => Some(whole()),
            "bool" | "regex_match" => Some(Schema::of(Shape::Boolean)),
            "split" | "lines" => Some(Schema::of(Shape::list_of(text()))),
            "sort" | "unique" | "list" | "select" | "reject" => {
                value.filter(|value| matches!(value.shape, Shape::List(_)))
            }
            "first" | "last" => match value?.shape {
                Shape::List(list) => Some(*list.items),
                _ => None,
            },
            name if TEXTUAL.contains(&name) => Some(text()),
            _ => None,
        }
    }

    fn call(&self, name: &str, arguments: &[CallArg<'_>]) -> Option<Schema> {
        match name {
            "get" => {
                let found = self.got(arguments);
                match (found, self.argument(arguments, 2)) {
                    (found, None) if arguments.len() < 3 => found,
                    (None, default) => default,
                    (found, default) => either(found, default),
                }
            }
            "range" => Some(Schema::of(Shape::list_of(whole()))),
            _ => None,
        }
    }

    /// What `get(object, "a.b")` leads to.
    fn got(&self, arguments: &[CallArg<'_>]) -> Option<Schema> {
        let [CallArg::Pos(object), CallArg::Pos(Expr::Const(path)), ..] = arguments else {
            return None;
        };
        let mut steps = steps(object)?;
        let path = path.value.as_str()?;
        steps.extend(path.split('.'));
        self.read(&steps)
    }

    fn argument(&self, arguments: &[CallArg<'_>], index: usize) -> Option<Schema> {
        match arguments.get(index)? {
            CallArg::Pos(argument) => self.expression(argument),
            _ => None,
        }
    }

    /// What stands at a path of names.
    fn read(&self, steps: &[&str]) -> Option<Schema> {
        let (root, rest) = steps.split_first()?;
        if self.hidden.contains(root) {
            return None;
        }
        match (*root, rest) {
            ("parent", ["spec", rest @ ..]) => below(self.known.spec, rest),
            ("parent", ["status", rest @ ..]) => below(self.known.status?, rest),
            ("parent", ["metadata", rest @ ..]) | ("children", [_, "metadata", rest @ ..]) => {
                metadata(rest)
            }
            ("parent", ["apiVersion" | "kind"]) => Some(text()),
            ("let", rest) => below(self.known.let_value?, rest),
            ("conditions", [_]) => Some(Schema::of(Shape::Boolean)),
            _ => None,
        }
    }
}

/// The type alone: bounds of where a value comes from are none of where it goes.
fn below(schema: &Schema, steps: &[&str]) -> Option<Schema> {
    let end = steps.iter().try_fold(schema, |schema, step| match &schema.shape {
        Shape::List(list) => step.parse::<usize>().ok().map(|_| &*list.items),
        _ => schema.field(step),
    })?;
    (end.shape != Shape::Any && !end.nullable).then(|| end.bare())
}

/// What every object has.
fn metadata(steps: &[&str]) -> Option<Schema> {
    match steps {
        ["name" | "namespace" | "uid" | "generateName"] | ["labels" | "annotations", _] => {
            Some(text())
        }
        ["labels" | "annotations"] => Some(map_of(text())),
        ["creationTimestamp" | "deletionTimestamp"] => Some(Schema::of(Shape::DateTime)),
        ["generation"] => Some(whole()),
        _ => None,
    }
}

/// `a.b["c"][0]` as names; nothing if a step is computed.
fn steps<'e>(expression: &'e Expr<'_>) -> Option<Vec<&'e str>> {
    match expression {
        Expr::Var(name) => Some(vec![name.id]),
        Expr::GetAttr(access) => {
            let mut steps = steps(&access.expr)?;
            steps.push(access.name);
            Some(steps)
        }
        Expr::GetItem(access) => {
            let mut steps = steps(&access.expr)?;
            let Expr::Const(key) = &access.subscript_expr else { return None };
            // Which element of a list does not matter to its type.
            steps.push(if key.value.is_integer() { "0" } else { key.value.as_str()? });
            Some(steps)
        }
        _ => None,
    }
}

fn constant_type(value: &Value) -> Option<Schema> {
    match value.kind() {
        ValueKind::Bool => Some(Schema::of(Shape::Boolean)),
        ValueKind::Number if value.is_integer() => Some(whole()),
        ValueKind::Number => Some(number()),
        ValueKind::String => Some(text()),
        ValueKind::Map => Some(Schema::of(Shape::Free)),
        ValueKind::Seq => {
            let items = value.try_iter().ok()?.map(|item| constant_type(&item));
            items.reduce(either).flatten().map(|item| Schema::of(Shape::list_of(item)))
        }
        _ => None,
    }
}

/// What an operator makes of two types.
fn operation(operator: BinOpKind, left: Option<Schema>, right: Option<Schema>) -> Option<Schema> {
    use BinOpKind as Op;
    match operator {
        Op::Concat => Some(text()),
        Op::Eq | Op::Ne | Op::Lt | Op::Lte | Op::Gt | Op::Gte | Op::In => {
            Some(Schema::of(Shape::Boolean))
        }
        // They give one of their sides.
        Op::ScAnd | Op::ScOr => either(left, right),
        Op::Div | Op::Pow => numeric(left, right).map(|_| number()),
        Op::Add | Op::Sub | Op::Mul | Op::FloorDiv | Op::Rem => numeric(left, right),
    }
}

fn is_numeric(schema: &Schema) -> bool {
    matches!(schema.shape, Shape::Whole(_) | Shape::Number(_))
}

/// The type of a calculation with both.
fn numeric(left: Option<Schema>, right: Option<Schema>) -> Option<Schema> {
    let (left, right) = (left.filter(is_numeric)?, right.filter(is_numeric)?);
    let both_whole = [&left, &right].iter().all(|side| matches!(side.shape, Shape::Whole(_)));
    Some(if both_whole { whole() } else { Schema::of(Shape::Number(Bounds::default())) })
}
