//! What the value of an expression is made of.
//!
//! In: expressions, what names mean. Out: [`Value`]s. Never here: statements, and what the values are.

use super::super::check;
use super::syntax::written;
use super::value::Sources;
use super::walk::{Local, Scope, Value, Walker};
use super::{ANY, Read};
use minijinja::machinery::ast::{self, BinOpKind, CallArg, CallType, Expr, UnaryOpKind};

/// Filters after which nothing but a hash is left.
const HASHES: [&str; 1] = ["sha256"];

/// Filters that give the value itself, or a list of its parts.
const SAME: [&str; 13] = [
    "default",
    "d",
    "list",
    "sort",
    "unique",
    "reverse",
    "merge",
    "items",
    "values",
    "select",
    "reject",
    "selectattr",
    "rejectattr",
];

/// Filters that give an element.
const PARTS: [&str; 2] = ["first", "last"];

impl<'t> Walker<'t> {
    pub(super) fn expression(&mut self, expr: &'t Expr<'t>) -> Value {
        match expr {
            Expr::Const(_) => Value::default(),
            Expr::Var(name) => self.variable(name.id, expr),
            Expr::GetAttr(_) | Expr::GetItem(_) => self.access(expr),
            Expr::Slice(slice) => {
                for bound in [&slice.start, &slice.stop, &slice.step].into_iter().flatten() {
                    self.expression(bound);
                }
                self.expression(&slice.expr).sources.into()
            }
            Expr::UnaryOp(unary) => {
                let value = self.expression(&unary.expr);
                match unary.op {
                    UnaryOpKind::Not => Value::default(),
                    UnaryOpKind::Neg => value.sources.mixed().into(),
                }
            }
            Expr::BinOp(binary) => {
                let either = matches!(binary.op, BinOpKind::ScAnd | BinOpKind::ScOr);
                let sources = self.all([&binary.left, &binary.right]);
                if either { sources.into() } else { sources.mixed().into() }
            }
            Expr::Compare(compare) => {
                let others = compare.ops.iter().map(|operand| &operand.expr);
                self.all(std::iter::once(&compare.expr).chain(others)).mixed().into()
            }
            Expr::IfExpr(choice) => {
                self.expression(&choice.test_expr);
                self.all(std::iter::once(&choice.true_expr).chain(&choice.false_expr)).into()
            }
            Expr::Filter(_) => self.filtered(expr, Value::default()),
            Expr::Test(test) => {
                self.expression(&test.expr);
                self.arguments(&test.args);
                Value::default()
            }
            Expr::Call(made) => call(self, made),
            Expr::List(list) => self.all(&list.items).mixed().into(),
            Expr::Tuple(tuple) => self.all(&tuple.items).mixed().into(),
            Expr::Map(map) => self.all(map.keys.iter().chain(&map.values)).mixed().into(),
        }
    }

    fn all(&mut self, exprs: impl IntoIterator<Item = &'t Expr<'t>>) -> Sources {
        let mut all = Sources::default();
        for expr in exprs {
            all.add(&self.expression(expr).sources);
        }
        all
    }

    fn arguments(&mut self, arguments: &'t [CallArg<'t>]) -> Sources {
        self.all(arguments.iter().map(of_argument))
    }

    fn variable(&mut self, name: &'t str, expr: &Expr<'t>) -> Value {
        match self.find(name) {
            Some(Local::Value(value)) => value,
            Some(_) => Value::default(),
            None if !check::is_read(name) || self.is_assigned(name) => Value::default(),
            None => {
                self.read(vec![name.to_owned()], expr);
                Sources::name(name).into()
            }
        }
    }

    fn read(&mut self, path: Vec<String>, expr: &Expr<'t>) {
        let read = Read { path, place: self.place(&written(expr)) };
        if !self.reads.contains(&read) {
            self.reads.push(read);
        }
    }

    /// A chain of accesses: what it begins with is read together with its steps.
    fn access(&mut self, expr: &'t Expr<'t>) -> Value {
        let mut steps = Vec::new();
        let mut base = expr;
        loop {
            base = match base {
                Expr::GetAttr(attribute) => {
                    steps.push(attribute.name.to_owned());
                    &attribute.expr
                }
                Expr::GetItem(item) => {
                    let literal = match &item.subscript_expr {
                        Expr::Const(key) => key.value.as_str().map(str::to_owned),
                        computed => {
                            self.expression(computed);
                            None
                        }
                    };
                    steps.push(literal.unwrap_or_else(|| ANY.to_owned()));
                    &item.expr
                }
                _ => break,
            };
        }
        steps.reverse();
        let value = match base {
            Expr::Var(name) => match self.find(name.id) {
                Some(Local::Module(module)) => {
                    match steps.first().map(|name| module.get(&**name)) {
                        Some(Some(Local::Value(value))) => {
                            steps.remove(0);
                            value.clone()
                        }
                        _ => return Value::default(),
                    }
                }
                Some(_) => self.variable(name.id, base),
                None if !check::is_read(name.id) || self.is_assigned(name.id) => Value::default(),
                None => {
                    let known = steps.iter().take_while(|step| *step != ANY).cloned();
                    let path = std::iter::once(name.id.to_owned()).chain(known).collect();
                    self.read(path, expr);
                    Sources::name(name.id).into()
                }
            },
            other => self.expression(other),
        };
        steps.iter().fold(value.sources, |sources, step| sources.step(step)).into()
    }

    /// A filter and those before it; the innermost applies to `captured` if nothing is written in front of it.
    pub(super) fn filtered(&mut self, expr: &'t Expr<'t>, captured: Value) -> Value {
        let Expr::Filter(filter) = expr else { return self.expression(expr) };
        let value = match &filter.expr {
            Some(inner @ Expr::Filter(_)) => self.filtered(inner, captured),
            Some(inner) => self.expression(inner),
            None => captured,
        };
        let more = self.arguments(&filter.args);
        let mut sources = value.sources;
        if HASHES.contains(&filter.name) {
            sources.add(&more);
            return sources.hashed().into();
        }
        if PARTS.contains(&filter.name) {
            return sources.any().into();
        }
        sources.add(&more);
        if SAME.contains(&filter.name) { sources.into() } else { sources.mixed().into() }
    }
}

/// What a call gives: what a macro writes, or everything that goes in.
pub(super) fn call<'t>(walker: &mut Walker<'t>, made: &'t ast::Call<'t>) -> Value {
    match made.identify_call() {
        CallType::Function(name) => match walker.find(name) {
            Some(Local::Macro(declared, file)) => expanded(walker, declared, file, &made.args),
            Some(Local::Value(value)) => {
                walker.arguments(&made.args);
                value
            }
            _ if name == "get" => below(walker, &made.args),
            _ => walker.arguments(&made.args).mixed().into(),
        },
        CallType::Method(Expr::Var(base), method) => match walker.find(base.id) {
            Some(Local::Module(module)) => match module.get(method) {
                Some(Local::Macro(declared, file)) => expanded(walker, declared, file, &made.args),
                _ => walker.arguments(&made.args).mixed().into(),
            },
            _ => on_value(walker, &made.expr, &made.args),
        },
        _ => on_value(walker, &made.expr, &made.args),
    }
}

/// `map.items()` and the like.
fn on_value<'t>(walker: &mut Walker<'t>, expr: &'t Expr<'t>, args: &'t [CallArg<'t>]) -> Value {
    let mut sources = match expr {
        Expr::GetAttr(method) => walker.expression(&method.expr).sources,
        other => walker.expression(other).sources,
    };
    sources.add(&walker.arguments(args));
    sources.into()
}

/// `get(object, "a.b", default)`
fn below<'t>(walker: &mut Walker<'t>, args: &'t [CallArg<'t>]) -> Value {
    let mut args = args.iter().map(of_argument);
    let mut sources =
        args.next().map(|object| walker.expression(object).sources).unwrap_or_default();
    let text = |expr: &Expr<'_>| match expr {
        Expr::Const(key) => key.value.as_str().map(str::to_owned),
        _ => None,
    };
    let path = args.next().map(|path| {
        walker.expression(path);
        match path {
            Expr::List(keys) => keys.items.iter().map(text).collect::<Vec<_>>(),
            other => text(other).map_or_else(
                || vec![None],
                |path| path.split('.').map(|step| Some(step.to_owned())).collect(),
            ),
        }
    });
    for step in path.into_iter().flatten() {
        sources = sources.step(step.as_deref().unwrap_or(ANY));
    }
    sources.add(&walker.all(args));
    sources.into()
}

fn of_argument<'e, 't>(argument: &'e CallArg<'t>) -> &'e Expr<'t> {
    match argument {
        CallArg::Pos(expr)
        | CallArg::Kwarg(_, expr)
        | CallArg::PosSplat(expr)
        | CallArg::KwargSplat(expr) => expr,
    }
}

/// A macro with values for its arguments.
fn expanded<'t>(
    walker: &mut Walker<'t>,
    declared: &'t ast::Macro<'t>,
    file: &'t str,
    args: &'t [CallArg<'t>],
) -> Value {
    let mut scope = Scope::new();
    let names: Vec<&'t str> = declared.args.iter().filter_map(name_of).collect();
    // Defaults belong to the last arguments.
    let first = names.len().saturating_sub(declared.defaults.len());
    for (at, name) in names.iter().enumerate() {
        let default = at.checked_sub(first).and_then(|at| declared.defaults.get(at));
        let value = default.map(|default| walker.expression(default)).unwrap_or_default();
        scope.insert(name, Local::Value(value));
    }
    let mut spread = Sources::default();
    for (at, argument) in args.iter().enumerate() {
        let value = walker.expression(of_argument(argument));
        match argument {
            CallArg::Kwarg(name, _) => drop(scope.insert(name, Local::Value(value))),
            CallArg::Pos(_) => {
                if let Some(name) = names.get(at) {
                    scope.insert(name, Local::Value(value));
                }
            }
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => spread.add(&value.sources.any()),
        }
    }
    for local in scope.values_mut() {
        if let Local::Value(value) = local {
            value.sources.add(&spread);
        }
    }
    walker.captured(|walker| {
        walker.within(file, |walker| {
            walker.scopes.push(scope);
            walker.statements(&declared.body);
            walker.scopes.pop();
        });
    })
}

fn name_of<'t>(expr: &Expr<'t>) -> Option<&'t str> {
    match expr {
        Expr::Var(var) => Some(var.id),
        _ => None,
    }
}
