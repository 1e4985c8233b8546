//! Compiles an edit of an object that the rule does not own.

use super::Compiler;
use crate::rule::compiled::{PatchRule, Target};
use crate::rule::decode::Spanned;
use crate::rule::file::{ChildFile, PatchFile};
use crate::rule::policy_file::{PatchRemoval, PatchType, TargetFile};

impl Compiler<'_> {
    pub(super) fn patch(
        &mut self,
        file: &ChildFile,
        patch: &Spanned<PatchFile>,
    ) -> Option<PatchRule> {
        self.no_child_policy(file, patch);
        let how = patch.value.how.unwrap_or(PatchType::Apply);
        let usual = match how {
            PatchType::Apply => PatchRemoval::Remove,
            PatchType::Json => PatchRemoval::Leave,
        };
        let removal = patch.value.on_remove.as_ref();
        let on_remove = removal.map_or(usual, |removal| removal.value);
        if how == PatchType::Json && on_remove == PatchRemoval::Remove {
            let span = removal.map_or(&patch.span, |removal| &removal.span);
            let message = "nobody knows what was there before a JSON patch".to_owned();
            let hint = "write `onRemove: leave`, or use `type: apply`";
            self.note("irreversible-patch", span, message, Some(hint));
        }
        let target = match &patch.value.target {
            TargetFile::Parent => Target::Parent,
            TargetFile::Object(object) => {
                let gvk = self.gvk(&object.api_version, &object.kind);
                let name = self.line(&object.name);
                let namespace = object.namespace.as_ref().map(|namespace| self.line(namespace));
                Target::Object {
                    gvk: gvk?,
                    name: name?,
                    namespace: match namespace {
                        Some(namespace) => Some(namespace?),
                        None => None,
                    },
                }
            }
        };
        Some(PatchRule { target, how, stays: on_remove == PatchRemoval::Leave })
    }

    /// What says how an object of our own is treated means nothing for an edit.
    fn no_child_policy(&mut self, file: &ChildFile, patch: &Spanned<PatchFile>) {
        let said = [
            ("update", file.update.is_some()),
            ("onImmutable", file.on_immutable.is_some()),
            ("adopt", file.adopt.is_some()),
            ("onRemove", file.on_remove.is_some()),
            ("generate", !file.generate.is_empty()),
            ("only", !file.only.is_empty()),
            ("kinds", !file.kinds.is_empty()),
            ("mayBeEmpty", file.may_be_empty.is_some()),
        ];
        for (field, _) in said.into_iter().filter(|(_, said)| *said) {
            let message = format!("`{field}` is for objects of the rule's own, not for a patch");
            let hint = match field {
                "onRemove" => "write it inside of `patch`",
                _ => "remove it",
            };
            self.note("not-for-patches", &patch.span, message, Some(hint));
        }
    }
}
