//! What can be told of a template's syntax tree by looking at it.
//!
//! In: expressions, statements. Out: bytes, names. Never here: values.

use minijinja::machinery::Span;
use minijinja::machinery::ast::{Expr, Stmt};
use std::collections::BTreeSet;
use std::ops::Range;

/// The bytes of a span.
pub(super) fn bytes(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

/// The bytes of an expression. The parser's span of one that follows another begins somewhere in it.
pub(super) fn written(expr: &Expr<'_>) -> Range<usize> {
    let mut first = expr;
    loop {
        first = match first {
            Expr::GetAttr(attribute) => &attribute.expr,
            Expr::GetItem(item) => &item.expr,
            Expr::Slice(slice) => &slice.expr,
            Expr::Call(call) => &call.expr,
            Expr::Test(test) => &test.expr,
            Expr::BinOp(binary) => &binary.left,
            Expr::Compare(compare) => &compare.expr,
            Expr::IfExpr(choice) => &choice.true_expr,
            Expr::Filter(filter) => match &filter.expr {
                Some(input) => input,
                None => break,
            },
            _ => break,
        };
    }
    let (first, all) = (bytes(first.span()), bytes(expr.span()));
    first.start.min(all.start)..all.end.max(first.end)
}

/// The names of templates that are written out, as they must be.
pub(super) fn names(expr: &Expr<'_>) -> Vec<String> {
    match expr {
        Expr::Const(name) => name.value.as_str().map(str::to_owned).into_iter().collect(),
        Expr::List(list) => list.items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

/// What a scalar says, without its quotes.
pub(super) fn unquoted(text: &str) -> String {
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text).to_owned()
}

/// Notes every name that is set outside of loops and macros.
pub(super) fn note_assigned<'t>(statements: &'t [Stmt<'t>], assigned: &mut BTreeSet<&'t str>) {
    for statement in statements {
        let targets: Vec<&Expr<'t>> = match statement {
            Stmt::Set(set) => vec![&set.target],
            Stmt::SetBlock(set) => vec![&set.target],
            Stmt::Import(import) => vec![&import.name],
            Stmt::FromImport(import) => {
                import.names.iter().map(|(name, alias)| alias.as_ref().unwrap_or(name)).collect()
            }
            _ => Vec::new(),
        };
        for target in targets {
            if let Expr::Var(name) = target {
                assigned.insert(name.id);
            }
        }
        match statement {
            Stmt::Macro(declared) => drop(assigned.insert(declared.name)),
            Stmt::Template(template) => note_assigned(&template.children, assigned),
            Stmt::IfCond(condition) => {
                note_assigned(&condition.true_body, assigned);
                note_assigned(&condition.false_body, assigned);
            }
            Stmt::Block(block) => note_assigned(&block.body, assigned),
            _ => {}
        }
    }
}
