//! Names of a new rule: its parent's kind, group and plural, the ids of its children, the name its objects share.
//!
//! In: what the author gave, names of objects. Out: names that Kubernetes accepts. Pure.

use crate::problem::Problem;
use crate::yaml::{self, Limits};

/// What a new rule and its parent are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The rule's name, and that of its files.
    pub rule: String,
    /// The parent's kind.
    pub kind: String,
    /// The parent's API group.
    pub group: String,
}

/// The version of every parent made here.
pub(super) const VERSION: &str = "v1";

impl Names {
    /// Refuses what Kubernetes would refuse: a rule is a DNS label, a kind a CamelCase word, a group a DNS name with a dot.
    pub fn new(rule: &str, kind: Option<&str>, group: &str) -> Result<Self, Problem> {
        if !is_label(rule) {
            let message = format!("`{rule}` is no name for a rule");
            let hint = "lower-case letters, digits and `-`, at most 63, starting with a letter";
            return Err(Problem::new("illegal-name", message).hint(hint));
        }
        let kind = kind.map_or_else(|| kind_of(rule), str::to_owned);
        if let Some(word) = [rule, &kind].into_iter().find(|word| !is_plain(word)) {
            let message = format!("YAML does not read `{word}` as a text");
            return Err(Problem::new("illegal-name", message).hint("choose another word"));
        }
        let camel = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.chars().all(|c| c.is_ascii_alphanumeric())
            && kind.len() <= 60;
        if !camel {
            let message = format!("`{kind}` is no name for a kind");
            return Err(Problem::new("illegal-kind", message).hint("one word such as `WebApp`"));
        }
        if !group.contains('.') || group.len() > 180 || !group.split('.').all(is_dns_part) {
            let message = format!("`{group}` is no API group");
            let hint = "a DNS name of yours, such as `demo.example.com`";
            return Err(Problem::new("illegal-group", message).hint(hint));
        }
        Ok(Self { rule: rule.to_owned(), kind, group: group.to_owned() })
    }

    /// `group/version` of the parent.
    pub(super) fn api_version(&self) -> String {
        format!("{}/{VERSION}", self.group)
    }

    /// The kind in lower case.
    pub(super) fn singular(&self) -> String {
        self.kind.to_ascii_lowercase()
    }

    /// As English makes it, near enough.
    pub(super) fn plural(&self) -> String {
        let word = self.singular();
        if let Some(stem) = word.strip_suffix('y')
            && !stem.ends_with(['a', 'e', 'i', 'o', 'u'])
        {
            return format!("{stem}ies");
        }
        let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end));
        if hisses { format!("{word}es") } else { format!("{word}s") }
    }
}

/// Whether YAML takes the bare word for a text: `no` and `y` are booleans.
fn is_plain(word: &str) -> bool {
    match yaml::parse(word, &Limits::FILE).as_deref() {
        Ok([document]) => document.root.as_str() == Some(word),
        // What is no YAML is no name either, which the next check says better.
        _ => true,
    }
}

fn is_label(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase()) && is_dns_part(name)
}

fn is_dns_part(part: &str) -> bool {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.len() <= 63 && part.starts_with(ends) && part.ends_with(ends) && part.chars().all(legal)
}

/// `web-app` gives `WebApp`.
pub fn kind_of(name: &str) -> String {
    words(name).map(capital).collect()
}

/// `shop-api.v2` gives `shopApiV2`; nothing if no letter starts it.
pub(super) fn camel(name: &str) -> Option<String> {
    let text: String = words(name)
        .enumerate()
        .map(|(at, word)| if at == 0 { lower(word) } else { capital(word) })
        .collect();
    text.starts_with(|c: char| c.is_ascii_lowercase()).then_some(text)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

fn lower(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_lowercase() + rest
}

/// Short words for kinds that everybody calls so.
const SHORT: &[(&str, &str)] = &[
    ("ConfigMap", "config"),
    ("HorizontalPodAutoscaler", "autoscaler"),
    ("PodDisruptionBudget", "disruptionBudget"),
    ("PersistentVolumeClaim", "claim"),
];

/// The id of a child by its kind alone.
pub(super) fn id_of_kind(kind: &str) -> String {
    let short =
        SHORT.iter().find(|(known, _)| *known == kind).map(|(_, short)| (*short).to_owned());
    short.or_else(|| camel(kind)).unwrap_or_else(|| "child".to_owned())
}

/// An id for each of `(kind, name)`: the kind where there is one of it, else with what tells its name apart.
pub(super) fn ids(objects: &[(&str, &str)], base: &str) -> Vec<String> {
    let reserved = ["parent", "item", "self", "let", "rule", "conditions"];
    let mut ids: Vec<String> = Vec::new();
    for (kind, name) in objects {
        let short = id_of_kind(kind);
        let alone = objects.iter().filter(|(other, _)| other == kind).count() == 1;
        let suffix = name.strip_prefix(base).unwrap_or(name);
        let mut id = if alone { short } else { short + &kind_of(suffix) };
        if reserved.contains(&id.as_str()) || !is_plain(&id) {
            id += "Object";
        }
        let taken = |id: &str| ids.iter().any(|other| other.eq_ignore_ascii_case(id));
        let free = std::iter::once(id.clone()).chain((2..).map(|n| format!("{id}{n}")));
        ids.extend(free.into_iter().find(|id| !taken(id)));
    }
    ids
}

/// The name that all objects share: the shortest one that the others begin with, else what all begin with, else the
/// first one.
pub(super) fn base(names: &[&str]) -> String {
    let all_begin = |base: &str| names.iter().all(|name| suffix(name, base).is_some());
    let shortest = names.iter().min_by_key(|name| name.len()).copied().unwrap_or_default();
    let cuts = shortest.rmatch_indices(['-', '.']).map(|(at, _)| &shortest[..at]);
    let shared =
        std::iter::once(shortest).chain(cuts).find(|base| !base.is_empty() && all_begin(base));
    shared.or_else(|| names.first().copied()).unwrap_or_default().to_owned()
}

/// What follows the base in a name made of it: nothing, or `-more`.
pub(super) fn suffix<'a>(name: &'a str, base: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(base)?;
    let plain = rest.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    (rest.is_empty() || (rest.starts_with(['-', '.']) && plain)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_plurals_come_from_the_rules_name() {
        for (name, kind, plural) in [
            ("web-app", "WebApp", "webapps"),
            ("greeting", "Greeting", "greetings"),
            ("policy", "Policy", "policies"),
            ("gateway", "Gateway", "gateways"),
            ("box", "Box", "boxes"),
        ] {
            let names = Names::new(name, None, "a.b").unwrap();
            assert_eq!((names.kind.as_str(), names.plural().as_str()), (kind, plural));
        }
    }

    #[test]
    fn names_that_kubernetes_refuses_are_refused() {
        for (rule, kind, group) in [
            ("Web", None, "a.b"),
            ("", None, "a.b"),
            ("a-", None, "a.b"),
            ("7a", None, "a.b"),
            ("no", None, "a.b"),
            ("a", Some("Yes"), "a.b"),
            ("a/../b", None, "a.b"),
            ("a", Some("webApp"), "a.b"),
            ("a", Some("Web App"), "a.b"),
            ("a", None, "example"),
            ("a", None, "a..b"),
            ("a", None, "A.b"),
        ] {
            assert!(Names::new(rule, kind, group).is_err(), "{rule} {kind:?} {group}");
        }
    }

    #[test]
    fn the_base_is_what_all_names_begin_with() {
        for (names, expected) in [
            (vec!["shop", "shop-config"], "shop"),
            (vec!["shop-api", "shop-config"], "shop"),
            (vec!["shop", "shopping"], "shop"),
            (vec!["a", "b"], "a"),
            (vec!["shop-api-x", "shop-api-y", "shop-api"], "shop-api"),
        ] {
            assert_eq!(base(&names), expected, "{names:?}");
        }
        assert_eq!(suffix("shopping", "shop"), None);
        assert_eq!(suffix("shop-a b", "shop"), None);
    }

    #[test]
    fn ids_are_unique_and_legal_even_on_a_case_insensitive_disk() {
        let objects =
            [("ConfigMap", "s-a"), ("ConfigMap", "s-A"), ("ConfigMap", "s"), ("Rule", "r")];
        assert_eq!(ids(&objects, "s"), ["configA", "configA2", "config", "ruleObject"]);
    }
}
