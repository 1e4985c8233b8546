//! Compiles the short schema of a rule's parent.

use super::Compiler;
use super::parent::parent_span;
use crate::object::Gvk;
use crate::rule::file::{RuleFile, SchemaFile};
use crate::shorthand::{Definition, Request};

impl Compiler<'_> {
    /// `schema` is that of the file.
    pub(super) fn definition(
        &mut self,
        file: &RuleFile,
        schema: &SchemaFile,
    ) -> Option<Definition> {
        let spec = &file.spec;
        let file = &spec.parent.value;
        let (Some(api_version), Some(kind)) = (&file.api_version, &file.kind) else {
            if !file.kinds.is_empty() {
                let message = "a schema describes one kind".to_owned();
                let hint = "write `apiVersion` and `kind` instead of `kinds`";
                self.note("two-kinds", &parent_span(&spec.parent), message, Some(hint));
            }
            return None;
        };
        // A parent that is no kind was noted already.
        let parent = Gvk::parse(&api_version.value, &kind.value)?;
        let fields = spec.status.as_ref().map(|status| status.fields.as_ref());
        let request = Request {
            source: self.source,
            schema: &schema.node,
            parent: &parent,
            parent_span: &api_version.span,
            let_body: spec.let_body.as_ref().map(|body| body.text.as_str()),
            status_body: fields.map(|fields| fields.map_or("", |body| body.text.as_str())),
        };
        let compiled = Definition::compile(&request);
        compiled.map_err(|problems| self.problems.extend(problems)).ok()
    }
}
