//! From a schema as written to what it means: types looked up, attributes put where they belong, defaults checked.
//!
//! In: a [`WrittenField`]. Out: a [`Schema`], and the columns that its fields ask for; every mistake in the meaning.
//! Never here: `OpenAPI`.

mod apply;
mod column;
mod immutable;
mod types;

pub(super) use column::Column;

use super::attribute::Attribute;
use super::line::{Line, Type};
use super::mistakes::{Fault, Mistakes};
use super::names;
use super::schema::{Bounds, Field, Schema, Shape};
use super::span::At;
use super::value::{self, Wrong};
use super::written::{Content, WrittenField};
use std::ops::Range;
use types::Types;

/// Resolves the fields of one short schema.
pub(super) struct Resolver<'w, 'm, 's> {
    types: Types<'w>,
    pub(super) columns: Vec<Column>,
    pub(super) mistakes: &'m mut Mistakes<'s>,
}

impl<'w, 'm, 's> Resolver<'w, 'm, 's> {
    /// Knows these types, which are resolved when they are needed.
    pub(super) fn new(types: &'w [WrittenField], mistakes: &'m mut Mistakes<'s>) -> Self {
        for written in types {
            mistakes.sound(names::type_name(&written.name));
        }
        Self { types: Types::new(types), columns: Vec::new(), mistakes }
    }

    /// `spec` or `status`, with the path at which it stands.
    pub(super) fn root(&mut self, written: &'w WrittenField, path: &str) -> Option<Schema> {
        let schema = self.field(written, Some(path))?.schema;
        immutable::check(&schema, self.mistakes);
        Some(schema)
    }

    /// A field; its path is known where each object has it once.
    fn field(&mut self, written: &'w WrittenField, path: Option<&str>) -> Option<Field> {
        let (schema, line) = match &written.content {
            Content::Line(line) => (self.type_of(&line.kind), Some(line)),
            Content::Broken => return None,
            Content::Fields { own, fields } => {
                (self.nested(own.as_ref(), fields, path), own.as_ref())
            }
        };
        let name = written.name.value.clone();
        let field = Field { name, required: false, schema: schema? };
        match line {
            Some(line) => self.finish(field, line, path),
            None => Some(field),
        }
    }

    /// All fields of an object, so that the mistakes of each are found.
    fn fields(&mut self, written: &'w [WrittenField], path: Option<&str>) -> Option<Vec<Field>> {
        let resolved: Vec<_> = written
            .iter()
            .map(|field| {
                let legal = self.mistakes.sound(names::field_name(&field.name));
                let path = path.map(|path| format!("{path}.{}", field.name.value));
                let field = self.field(field, path.as_deref());
                legal.and(field)
            })
            .collect();
        resolved.into_iter().collect()
    }

    /// An object; or, if its own line says so, a list or a map of such objects.
    fn nested(
        &mut self,
        own: Option<&Line>,
        fields: &'w [WrittenField],
        path: Option<&str>,
    ) -> Option<Schema> {
        let kind = match own.map(|line| &line.kind) {
            None => "object",
            Some(At { value: Type::Named(name), .. })
                if ["object", "list", "map"].contains(&name.as_str()) =>
            {
                name
            }
            Some(At { span, .. }) => {
                let message = "what has fields is an `object`, a `list` or a `map`";
                self.mistakes.note(Fault::new("unknown-type", span, message));
                return None;
            }
        };
        let fields = self.fields(fields, path.filter(|_| kind == "object"))?;
        let object = Schema::of(Shape::Object { fields, open: false });
        Some(match kind {
            "list" => Schema::of(Shape::list_of(object)),
            "map" => Schema::of(Shape::Map { values: Box::new(object), size: Bounds::default() }),
            _ => object,
        })
    }

    /// Puts attributes, description and default where they belong.
    fn finish(&mut self, mut field: Field, line: &Line, path: Option<&str>) -> Option<Field> {
        let before = self.mistakes.problems.len();
        for attribute in &line.attributes {
            let applied = match &attribute.value {
                Attribute::Column { name, wide } => {
                    let span = &attribute.span;
                    column::column(&field, name.as_deref(), *wide, path, span)
                        .and_then(|column| column::add(&mut self.columns, column, span))
                }
                _ => apply::attribute(&mut field, attribute),
            };
            self.mistakes.sound(applied);
        }
        if let Some(text) = &line.description {
            field.schema.description = Some(text.clone());
        }
        self.mistakes.sound(default(&mut field, line));
        (self.mistakes.problems.len() == before).then_some(field)
    }
}

/// Its own default, or that of its type, which must hold here too.
fn default(field: &mut Field, line: &Line) -> Result<(), Fault> {
    let schema = &mut field.schema;
    let wrong = |span: &Range<usize>, whose: &str, wrong: &Wrong| {
        let message = format!("{whose} cannot be: {}", wrong.sentence());
        Fault::new("illegal-default", span, message).maybe_hint(wrong.hint)
    };
    let span = match (&line.default, &schema.default) {
        (None, None) => return Ok(()),
        (None, Some(inherited)) => {
            let span = &line.kind.span;
            value::hold(inherited, schema)
                .map_err(|error| wrong(span, "the default of this type", &error))?;
            span
        }
        (Some(At { value: literal, span }), _) => {
            let value = value::read(literal, schema)
                .map_err(|error| wrong(span, "this default", &error))?;
            schema.default = Some(value);
            span
        }
    };
    if field.required {
        let fault = Fault::new("schema-conflict", span, "what has a default is never missing");
        return Err(fault.hint("leave `required` or the default out"));
    }
    Ok(())
}
