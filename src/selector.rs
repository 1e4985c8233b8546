//! Label selectors: which objects, by their labels.
//!
//! In: requirements as a rule states them, whose values may be templates; labels. Out: a [`Selector`], its verdict, and the
//! text that the API server understands. Pure.

use crate::rule::Relation;
use crate::template::{Context, Failure, LineTemplate, Templates};
use std::collections::BTreeMap;
use std::fmt;

/// Requirements whose values may still be templates. Without any it selects everything.
#[derive(Clone, Debug, Default)]
pub struct SelectorRule {
    /// Label, relation and values.
    pub requirements: Vec<(String, Relation, Vec<LineTemplate>)>,
}

/// Requirements that must all hold. Without any it selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Requirement {
    label: String,
    relation: Relation,
    values: Vec<String>,
}

impl SelectorRule {
    /// Its values.
    pub fn lines(&self) -> impl Iterator<Item = &LineTemplate> {
        self.requirements.iter().flat_map(|(.., values)| values)
    }

    /// The selector, if no value is a template.
    pub fn literal(&self) -> Option<Selector> {
        let requirement = |(label, relation, values): &(String, Relation, Vec<LineTemplate>)| {
            let values = values.iter().map(|value| value.literal().map(str::to_owned));
            Some(Requirement::new(label, *relation, values.collect::<Option<_>>()?))
        };
        let requirements = self.requirements.iter().map(requirement);
        Some(Selector::new(requirements.collect::<Option<_>>()?))
    }

    /// The selector with its values rendered.
    pub fn resolve(&self, templates: &Templates, context: &Context) -> Result<Selector, Failure> {
        let requirement = |(label, relation, values): &(String, Relation, Vec<LineTemplate>)| {
            let values = values.iter().map(|value| templates.line(value, context));
            Ok(Requirement::new(label, *relation, values.collect::<Result<_, Failure>>()?))
        };
        let requirements = self.requirements.iter().map(requirement);
        Ok(Selector::new(requirements.collect::<Result<_, Failure>>()?))
    }
}

impl Requirement {
    fn new(label: &str, relation: Relation, mut values: Vec<String>) -> Self {
        values.sort();
        values.dedup();
        Self { label: label.to_owned(), relation, values }
    }
}

impl Selector {
    fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort();
        requirements.dedup();
        Self(requirements)
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.label);
            let named = value.is_some_and(|value| requirement.values.contains(value));
            match requirement.relation {
                Relation::In => named,
                Relation::NotIn => !named,
                Relation::Exists => value.is_some(),
                Relation::DoesNotExist => value.is_none(),
            }
        })
    }
}

/// As the API server and `kubectl -l` read it.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.0.iter().map(|Requirement { label, relation, values }| match relation {
            Relation::In => format!("{label} in ({})", values.join(",")),
            Relation::NotIn => format!("{label} notin ({})", values.join(",")),
            Relation::Exists => label.clone(),
            Relation::DoesNotExist => format!("!{label}"),
        });
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> BTreeMap<String, String> {
        let entries = text.split(',').filter_map(|entry| entry.split_once('='));
        entries.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn selector(label: &str, relation: Relation, values: &[&str]) -> Selector {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Selector::new(vec![Requirement::new(label, relation, values)])
    }

    #[test]
    fn relations_mean_what_they_mean_in_kubernetes() {
        use Relation::{DoesNotExist, Exists, In, NotIn};
        for (relation, values, with, without, text) in [
            (In, &["b", "a"][..], true, false, "team in (a,b)"),
            (In, &["c"], false, false, "team in (c)"),
            (NotIn, &["a"], false, true, "team notin (a)"),
            (NotIn, &["c"], true, true, "team notin (c)"),
            (Exists, &[], true, false, "team"),
            (DoesNotExist, &[], false, true, "!team"),
        ] {
            let selector = selector("team", relation, values);
            assert_eq!(selector.matches(&labels("team=a,x=y")), with, "{selector}");
            assert_eq!(selector.matches(&labels("x=y")), without, "{selector}");
            assert_eq!(selector.to_string(), text);
        }
        assert!(Selector::default().matches(&labels("")) && Selector::default().is_empty());
    }
}
