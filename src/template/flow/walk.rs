//! The walk through a template: statement by statement, every branch.
//!
//! In: parsed templates. Out: a [`Study`]. Never here: expressions, YAML.

use super::super::token;
use super::expression::call;
use super::outline::{Mark, outline};
use super::syntax::{bytes, names, note_assigned, unquoted, written};
use super::value::Sources;
use super::{Literal, Parsed, Read, Sink, Study};
use crate::source::Place;
use minijinja::machinery::ast::{self, Expr, Stmt};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// Statements that one walk may take: macros that call each other would multiply.
const MAX_STEPS: usize = 20_000;

/// Bytes of the text of all branches.
const MAX_TEXT: usize = 512 << 10;

/// Includes and macros inside each other; the engine itself allows few more.
const DEEPEST: usize = 30;

/// What a name means that the template gives a value itself.
#[derive(Clone)]
pub(super) enum Local<'t> {
    Value(Value),
    Macro(&'t ast::Macro<'t>, &'t str),
    Module(Rc<Scope<'t>>),
}

/// A value; `text` is what a block or a macro captured, which is put in as it is.
#[derive(Clone, Default)]
pub(super) struct Value {
    pub(super) sources: Sources,
    pub(super) text: Option<Rc<str>>,
}

pub(super) type Scope<'t> = BTreeMap<&'t str, Local<'t>>;

impl From<Sources> for Value {
    fn from(sources: Sources) -> Self {
        Self { sources, text: None }
    }
}

pub(super) struct Walker<'t> {
    pub(super) files: &'t BTreeMap<&'t str, Parsed<'t>>,
    /// The file whose statements are looked at.
    pub(super) file: &'t Parsed<'t>,
    /// Innermost last.
    pub(super) scopes: Vec<Scope<'t>>,
    /// Names that some file gives a value somewhere: they may have got it where the walk cannot see it.
    assigned: BTreeSet<&'t str>,
    /// Blocks of a template that extends another.
    blocks: BTreeMap<&'t str, (&'t ast::Block<'t>, &'t str)>,
    out: String,
    slots: Vec<(Sources, Place)>,
    /// Which bytes of a file the bytes of `out` are from.
    segments: Vec<(Range<usize>, &'t Parsed<'t>, usize)>,
    pub(super) reads: Vec<Read>,
    steps: usize,
    pub(super) depth: usize,
}

/// Walks through a template.
pub(super) fn walk<'t>(files: &'t BTreeMap<&'t str, Parsed<'t>>, name: &str) -> Study {
    let Some(file) = files.get(name) else { return Study::default() };
    let mut assigned = BTreeSet::new();
    for parsed in files.values() {
        note_assigned(std::slice::from_ref(&parsed.root), &mut assigned);
    }
    let mut walker = Walker {
        files,
        file,
        scopes: vec![Scope::new()],
        assigned,
        blocks: BTreeMap::new(),
        out: String::new(),
        slots: Vec::new(),
        segments: Vec::new(),
        reads: Vec::new(),
        steps: 0,
        depth: 0,
    };
    walker.statement(&file.root);
    walker.finish()
}

impl<'t> Walker<'t> {
    fn finish(self) -> Study {
        let mut study = Study { reads: self.reads, ..Study::default() };
        for (mark, spot) in outline(&self.out) {
            match mark {
                Mark::Slot(number) => {
                    if let Some((sources, place)) = self.slots.get(number) {
                        let (sources, place) = (sources.clone(), place.clone());
                        study.sinks.push(Sink { sources, spot, place });
                    }
                }
                Mark::Text(bytes) => {
                    let segment =
                        self.segments.partition_point(|(out, _, _)| out.end <= bytes.start);
                    let Some((out, file, from)) = self.segments.get(segment) else { continue };
                    if out.start > bytes.start || bytes.end > out.end {
                        continue;
                    }
                    let begin = from + bytes.start - out.start;
                    let place = file.origin.place(file.text, &(begin..begin + bytes.len()));
                    let text = unquoted(&self.out[bytes]);
                    study.literals.push(Literal { text, spot, place });
                }
            }
        }
        study
    }

    pub(super) fn place(&self, bytes: &Range<usize>) -> Place {
        self.file.origin.place(self.file.text, bytes)
    }

    pub(super) fn is_assigned(&self, name: &str) -> bool {
        self.assigned.contains(name)
    }

    pub(super) fn find(&self, name: &str) -> Option<Local<'t>> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned()
    }

    pub(super) fn bind(&mut self, name: &'t str, local: Local<'t>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, local);
        }
    }

    /// Gives a target a value; several names get parts of it.
    pub(super) fn assign(&mut self, target: &'t Expr<'t>, value: Value) {
        match target {
            Expr::Var(name) => self.bind(name.id, Local::Value(value)),
            Expr::List(list) => self.assign_parts(&list.items, &value),
            Expr::Tuple(tuple) => self.assign_parts(&tuple.items, &value),
            // `ns.key`: what it had stays possible.
            Expr::GetAttr(attribute) => self.assign_below(&attribute.expr, &value),
            Expr::GetItem(item) => self.assign_below(&item.expr, &value),
            _ => {}
        }
    }

    fn assign_each(&mut self, targets: &'t [Expr<'t>], value: &Value) {
        for target in targets {
            self.assign(target, value.clone());
        }
    }

    fn assign_parts(&mut self, targets: &'t [Expr<'t>], value: &Value) {
        self.assign_each(targets, &value.sources.any().into());
    }

    fn assign_below(&mut self, target: &'t Expr<'t>, value: &Value) {
        let Expr::Var(name) = target else { return };
        let scope = self.scopes.iter_mut().rev().find(|scope| scope.contains_key(name.id));
        if let Some(Local::Value(known)) = scope.and_then(|scope| scope.get_mut(name.id)) {
            known.sources.add(&value.sources.mixed());
        }
    }

    pub(super) fn statements(&mut self, statements: &'t [Stmt<'t>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'t Stmt<'t>) {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.out.len() > MAX_TEXT {
            return;
        }
        match statement {
            Stmt::Template(template) => self.template(&template.children),
            Stmt::EmitRaw(raw) => self.raw(raw.raw),
            Stmt::EmitExpr(emit) => {
                let value = self.expression(&emit.expr);
                self.emit(value, &written(&emit.expr));
            }
            Stmt::ForLoop(each) => self.for_loop(each),
            Stmt::IfCond(condition) => self.condition(condition),
            Stmt::WithBlock(with) => self.with(with),
            Stmt::Set(set) => {
                let value = self.expression(&set.expr);
                self.assign(&set.target, value);
            }
            Stmt::SetBlock(set) => {
                let captured = self.captured(|walker| walker.statements(&set.body));
                let value = match &set.filter {
                    Some(filter) => self.filtered(filter, captured),
                    None => captured,
                };
                self.assign(&set.target, value);
            }
            Stmt::AutoEscape(block) => self.statements(&block.body),
            Stmt::FilterBlock(block) => {
                let captured = self.captured(|walker| walker.statements(&block.body));
                let value = self.filtered(&block.filter, captured);
                self.emit(value, &bytes(block.filter_span));
            }
            Stmt::Block(block) => {
                if let Some((own, file)) = self.blocks.get(block.name).copied() {
                    self.within(file, |walker| walker.statements(&own.body));
                }
                self.statements(&block.body);
            }
            Stmt::Import(import) => {
                let module = self.module(&import.expr);
                self.assign_local(&import.name, Local::Module(module));
            }
            Stmt::FromImport(import) => self.import_names(import),
            // What another one is built on has its own turn, in `template`.
            Stmt::Extends(_) | Stmt::Continue(_) | Stmt::Break(_) => {}
            Stmt::Include(include) => {
                for name in names(&include.name) {
                    self.scopes.push(Scope::new());
                    self.file(&name);
                    self.scopes.pop();
                }
            }
            Stmt::Macro(declared) => self.declare(declared),
            Stmt::CallBlock(block) => {
                let declared = &*block.macro_decl;
                let text = self.captured(|walker| walker.body(declared));
                self.scopes.push(Scope::from([("caller", Local::Value(text))]));
                let value = call(self, &block.call);
                self.scopes.pop();
                self.emit(value, &bytes(block.call_expr_span));
            }
            Stmt::Do(block) => drop(call(self, &block.call)),
        }
    }

    fn with(&mut self, with: &'t ast::WithBlock<'t>) {
        let values: Vec<Value> =
            with.assignments.iter().map(|(_, value)| self.expression(value)).collect();
        self.scopes.push(Scope::new());
        for ((target, _), value) in with.assignments.iter().zip(values) {
            self.assign(target, value);
        }
        self.statements(&with.body);
        self.scopes.pop();
    }

    fn import_names(&mut self, import: &'t ast::FromImport<'t>) {
        let module = self.module(&import.expr);
        for (name, alias) in &import.names {
            let Expr::Var(var) = name else { continue };
            let local = module.get(var.id).cloned();
            let local = local.unwrap_or_else(|| Local::Value(Value::default()));
            self.assign_local(alias.as_ref().unwrap_or(name), local);
        }
    }

    /// A template that extends another only fills its blocks.
    fn template(&mut self, statements: &'t [Stmt<'t>]) {
        let extended = statements.iter().find_map(|statement| match statement {
            Stmt::Extends(extends) => Some(extends),
            _ => None,
        });
        let Some(extended) = extended else { return self.statements(statements) };
        for statement in statements {
            match statement {
                Stmt::Block(block) => {
                    self.blocks.entry(block.name).or_insert((&**block, self.file.name));
                }
                other => drop(self.captured(|walker| walker.statement(other))),
            }
        }
        for name in names(&extended.name) {
            self.file(&name);
        }
    }

    fn for_loop(&mut self, each: &'t ast::ForLoop<'t>) {
        let list = self.expression(&each.iter);
        self.scopes.push(Scope::new());
        // Of the pairs of a map, the value is what is one step below; so it may be of lists of pairs.
        let element: Value = list.sources.any().into();
        match &each.target {
            Expr::Tuple(names) => self.assign_each(&names.items, &element),
            Expr::List(names) => self.assign_each(&names.items, &element),
            name => self.assign(name, element),
        }
        if let Some(filter) = &each.filter_expr {
            self.expression(filter);
        }
        self.statements(&each.body);
        self.scopes.pop();
        self.statements(&each.else_body);
    }

    /// After it, a name has the value of either branch.
    fn condition(&mut self, condition: &'t ast::IfCond<'t>) {
        self.expression(&condition.expr);
        let before = self.scopes.clone();
        self.statements(&condition.true_body);
        let one = std::mem::replace(&mut self.scopes, before);
        self.statements(&condition.false_body);
        for (scope, one) in self.scopes.iter_mut().zip(one) {
            for (name, local) in one {
                match (scope.get_mut(name), local) {
                    (Some(Local::Value(known)), Local::Value(other)) => {
                        known.sources.add(&other.sources);
                        if known.text != other.text {
                            known.text = None;
                        }
                    }
                    (Some(_), _) => {}
                    (None, local) => drop(scope.insert(name, local)),
                }
            }
        }
    }

    /// A macro is looked at once for what it reads, and again wherever it is called.
    fn declare(&mut self, declared: &'t ast::Macro<'t>) {
        self.bind(declared.name, Local::Macro(declared, self.file.name));
        drop(self.captured(|walker| walker.body(declared)));
    }

    /// The body of a macro without values for its arguments.
    fn body(&mut self, declared: &'t ast::Macro<'t>) {
        let unknown = |name: &Expr<'t>| match name {
            Expr::Var(var) => Some((var.id, Local::Value(Value::default()))),
            _ => None,
        };
        let scope: Scope<'t> = declared.args.iter().filter_map(unknown).collect();
        for default in &declared.defaults {
            self.expression(default);
        }
        self.scopes.push(scope);
        self.statements(&declared.body);
        self.scopes.pop();
    }

    /// What a module gives.
    fn module(&mut self, name: &'t Expr<'t>) -> Rc<Scope<'t>> {
        let mut module = Scope::new();
        for name in names(name) {
            self.scopes.push(Scope::new());
            drop(self.captured(|walker| walker.file(&name)));
            module.extend(self.scopes.pop().unwrap_or_default());
        }
        Rc::new(module)
    }

    fn assign_local(&mut self, target: &'t Expr<'t>, local: Local<'t>) {
        if let Expr::Var(name) = target {
            self.bind(name.id, local);
        }
    }

    fn file(&mut self, name: &str) {
        if let Some((name, file)) = self.files.get_key_value(name) {
            self.within(name, |walker| walker.statement(&file.root));
        }
    }

    /// Does something in another file.
    pub(super) fn within(&mut self, file: &str, look: impl FnOnce(&mut Self)) {
        let Some(file) = self.files.get(file).filter(|_| self.depth < DEEPEST) else { return };
        let before = std::mem::replace(&mut self.file, file);
        self.depth += 1;
        look(self);
        self.depth -= 1;
        self.file = before;
    }

    /// What is written meanwhile, as a value.
    pub(super) fn captured(&mut self, look: impl FnOnce(&mut Self)) -> Value {
        let out = std::mem::take(&mut self.out);
        let segments = std::mem::take(&mut self.segments);
        look(self);
        self.segments = segments;
        let text = std::mem::replace(&mut self.out, out);
        let mut sources = Sources::default();
        let numbers: BTreeSet<usize> = token::pieces(&text)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|piece| match piece {
                token::Piece::Slot(number) => Some(number),
                _ => None,
            })
            .collect();
        for (of_slot, _) in numbers.into_iter().filter_map(|number| self.slots.get(number)) {
            sources.add(&of_slot.mixed());
        }
        Value { sources, text: Some(text.into()) }
    }

    fn raw(&mut self, raw: &'t str) {
        let start = self.out.len();
        self.out += raw;
        // The engine cuts its raw texts out of the file.
        let from = (raw.as_ptr() as usize).checked_sub(self.file.text.as_ptr() as usize);
        if let Some(from) = from.filter(|from| from + raw.len() <= self.file.text.len()) {
            self.segments.push((start..self.out.len(), self.file, from));
        }
    }

    fn emit(&mut self, value: Value, written: &Range<usize>) {
        match value.text {
            Some(text) if self.out.len() + text.len() <= MAX_TEXT => self.out += &text,
            _ => {
                let place = self.place(written);
                self.slots.push((value.sources, place));
                // Writing to a string cannot fail.
                let _ = token::write_slot(&mut self.out, self.slots.len() - 1);
            }
        }
    }
}
