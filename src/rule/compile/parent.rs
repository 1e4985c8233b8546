//! Compiles what a rule says of itself, and of the objects that it is for.

use super::{Compiler, is_dns_label};
use crate::comparison::{GoDuration, Names, RootKind};
use crate::object::Gvk;
use crate::rule::compiled::ParentRule;
use crate::rule::decode::Spanned;
use crate::rule::file::{API_VERSION, OnRuleRemoved, ParentFile, RuleFile};
use crate::source::Place;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Looking at every parent more often than this is a mistake: events do better.
const SHORTEST_RESYNC: Duration = Duration::from_secs(10);

/// What a rule says of itself.
pub(super) struct Header {
    pub(super) name: Arc<str>,
    pub(super) identity: Arc<str>,
    pub(super) place: Place,
    pub(super) formerly: Vec<Arc<str>>,
    pub(super) cross_namespace: bool,
    pub(super) reveal: bool,
    pub(super) resync: Option<Duration>,
    pub(super) on_rule_removed: OnRuleRemoved,
}

impl Compiler<'_> {
    pub(super) fn header(&mut self, file: &RuleFile) -> Option<Header> {
        if file.api_version.value != API_VERSION {
            let message =
                format!("this program reads `{API_VERSION}`, not `{}`", file.api_version.value);
            self.note("wrong-version", &file.api_version.span, message, None);
        }
        if file.kind.value != "Rule" {
            let message = format!("expected `Rule`, found `{}`", file.kind.value);
            self.note("wrong-kind", &file.kind.span, message, None);
        }
        let name = &file.metadata.name;
        let spec = &file.spec;
        let mut names = BTreeSet::new();
        for name in std::iter::once(name).chain(&spec.formerly) {
            self.rule_name(name);
            if !names.insert(&name.value) {
                let message = format!("`{}` is named twice", name.value);
                self.note("duplicate-name", &name.span, message, None);
            }
        }
        let oldest = spec.formerly.last().unwrap_or(name);
        Some(Header {
            name: name.value.as_str().into(),
            identity: oldest.value.as_str().into(),
            place: Place::new(self.source, name.span.clone()),
            formerly: spec.formerly.iter().map(|name| name.value.as_str().into()).collect(),
            cross_namespace: spec.cross_namespace.unwrap_or(false),
            reveal: spec.reveal.unwrap_or(false),
            resync: match &spec.resync {
                Some(resync) => Some(self.resync(resync)?),
                None => None,
            },
            on_rule_removed: spec.on_rule_removed.unwrap_or(OnRuleRemoved::Keep),
        })
    }

    fn rule_name(&mut self, name: &Spanned<String>) {
        if !is_dns_label(&name.value) {
            let message = format!("`{}` is no name for a rule", name.value);
            let hint = "use at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends";
            self.note("illegal-name", &name.span, message, Some(hint));
        }
    }

    fn resync(&mut self, resync: &Spanned<String>) -> Option<Duration> {
        let duration = match resync.value.parse::<GoDuration>() {
            Ok(duration) => duration,
            Err(error) => {
                let message = format!("`{}` is no duration: {error}", resync.value);
                self.note("illegal-duration", &resync.span, message, None);
                return None;
            }
        };
        let nanoseconds = u64::try_from(duration.nanoseconds()).unwrap_or_default();
        let duration = Duration::from_nanos(nanoseconds);
        if duration < SHORTEST_RESYNC {
            let message = format!("`{}` is too often", resync.value);
            let hint =
                "events wake a parent at once; `resync` is at least 10s, and usually not needed";
            self.note("illegal-duration", &resync.span, message, Some(hint));
            return None;
        }
        Some(duration)
    }

    pub(super) fn parent(&mut self, file: &RuleFile) -> Option<ParentRule> {
        let kinds = self.parent_kinds(&file.spec.parent);
        let parent = &file.spec.parent.value;
        for namespace in
            parent.namespaces.iter().filter(|namespace| !is_dns_label(&namespace.value))
        {
            let message = format!("`{}` is no name for a namespace", namespace.value);
            self.note("illegal-namespace", &namespace.span, message, None);
        }
        let namespaces =
            parent.namespaces.iter().map(|namespace| namespace.value.clone()).collect();
        let names = Names::new("parent", RootKind::Parent);
        let when = self.comparisons(&parent.when, &names);
        let namespace_selector =
            parent.namespace_selector.as_ref().map(|selector| self.literal_selector(selector));
        let label_selector =
            parent.label_selector.as_ref().map(|selector| self.literal_selector(selector));
        Some(ParentRule {
            kinds: kinds?,
            namespaces,
            namespace_selector: namespace_selector.map_or(Some(None), |found| found.map(Some))?,
            label_selector: label_selector.map_or(Some(None), |found| found.map(Some))?,
            when: when?,
        })
    }

    /// Either one kind, or a list of them.
    fn parent_kinds(&mut self, parent: &Spanned<ParentFile>) -> Option<Vec<Gvk>> {
        let span = parent_span(parent);
        let parent = &parent.value;
        let one = match (&parent.api_version, &parent.kind) {
            (Some(api_version), Some(kind)) => Some(self.gvk(api_version, kind)?),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                let missing = if parent.kind.is_none() { "kind" } else { "apiVersion" };
                self.note("missing-field", &span, format!("field `{missing}` is missing"), None);
                return None;
            }
        };
        let several: Vec<_> =
            parent.kinds.iter().map(|kind| self.gvk(&kind.api_version, &kind.kind)).collect();
        let several: Vec<Gvk> = several.into_iter().collect::<Option<_>>()?;
        match (one, several.as_slice()) {
            (Some(gvk), []) => Some(vec![gvk]),
            (Some(_), _) => {
                let message = "`parent` has both a kind and `kinds`".to_owned();
                self.note("two-kinds", &span, message, Some("keep one"));
                None
            }
            (None, []) => {
                let message = "`parent` does not say which kind".to_owned();
                let hint = "write `apiVersion` and `kind`, or several below `kinds`";
                self.note("missing-field", &span, message, Some(hint));
                None
            }
            (None, kinds) => {
                let mut seen = BTreeSet::new();
                if let Some(twice) = kinds.iter().find(|gvk| !seen.insert(gvk.group_kind())) {
                    let message = format!("{} is listed twice", twice.group_kind());
                    self.note("duplicate-kind", &span, message, Some("keep one version"));
                }
                Some(several)
            }
        }
    }
}

/// Where a rule names the kind that it is for.
pub(super) fn parent_span(parent: &Spanned<ParentFile>) -> Range<usize> {
    let first = parent.value.kinds.first().map(|kind| &kind.kind.span);
    let kind = parent.value.kind.as_ref().or(parent.value.api_version.as_ref());
    let named = kind.map(|kind| &kind.span);
    named.or(first).cloned().unwrap_or_else(|| parent.span.start..parent.span.start + 1)
}
