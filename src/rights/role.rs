//! Rights as Kubernetes objects: a `ClusterRole`, and a Role for each namespace that has rights of its own.
//!
//! In: [`Rights`], names. Out: [`Role`]s, with comments that say what each right is for, and the bindings. Pure.

use super::{Grant, Reach, Rights, Subject};
use serde_json::{Value, json};
use std::fmt::Write;

const GROUP: &str = "rbac.authorization.k8s.io";

/// What the objects are called, and for whom they are.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'a> {
    /// Their name.
    pub name: &'a str,
    /// The service account that gets the rights: its namespace and name.
    pub account: Option<(&'a str, &'a str)>,
}

/// The rights of one place as a role.
#[derive(Clone, Debug)]
pub struct Role {
    /// Everywhere means a `ClusterRole`.
    pub reach: Reach,
    name: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    comment: String,
    fields: Vec<(&'static str, Vec<String>)>,
}

impl Rights {
    /// A role for each place, the `ClusterRole` first.
    pub fn roles(&self, name: &str) -> Vec<Role> {
        let role = |(reach, grants): (&Reach, &std::collections::BTreeMap<Subject, Grant>)| Role {
            reach: reach.clone(),
            name: name.to_owned(),
            entries: grants.iter().map(|(subject, grant)| Entry::new(subject, grant)).collect(),
        };
        self.grants.iter().map(role).collect()
    }

    /// Every object, for machines: a `v1` List.
    pub fn to_json(&self, naming: &Naming<'_>) -> Value {
        let roles = self.roles(naming.name);
        let objects = roles.iter().flat_map(|role| {
            let binding = naming.account.map(|account| role.binding(account));
            std::iter::once(role.to_json()).chain(binding)
        });
        json!({"apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>()})
    }

    /// Every object, for people and for `kubectl apply`: what is dangerous comes first, as comments.
    pub fn to_yaml(&self, naming: &Naming<'_>) -> String {
        let mut text = String::new();
        let mut comment = |line: &str| writeln!(text, "# {line}");
        // Writing to a String cannot fail.
        let _ = comment("What these rules need and nothing else; `kubewright rbac` makes it anew.");
        let _ = comment(
            "Discovery and OpenAPI are open to every user already (ClusterRole system:discovery).",
        );
        for power in &self.powers {
            let _ = comment(&format!("DANGER: {power}."));
        }
        for note in &self.notes {
            let _ = comment(&format!("{note}."));
        }
        let mut documents = Vec::new();
        for role in self.roles(naming.name) {
            documents.push(role.to_yaml());
            if let Some(account) = naming.account {
                documents.push(crate::yaml::print(&role.binding(account)));
            }
        }
        text + &documents.join("---\n")
    }
}

impl Role {
    fn kind(&self) -> &'static str {
        if self.reach == Reach::Everywhere { "ClusterRole" } else { "Role" }
    }

    fn metadata(&self) -> Value {
        match &self.reach {
            Reach::Everywhere => json!({"name": self.name}),
            Reach::Namespace(namespace) => json!({"name": self.name, "namespace": namespace}),
        }
    }

    /// The object.
    pub fn to_json(&self) -> Value {
        let rule = |entry: &Entry| -> Value {
            entry.fields.iter().map(|(field, words)| ((*field).to_owned(), json!(words))).collect()
        };
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": self.kind(), "metadata": self.metadata(),
            "rules": self.entries.iter().map(rule).collect::<Vec<_>>(),
        })
    }

    /// The object, with a comment at each of its rules.
    pub fn to_yaml(&self) -> String {
        let mut text = format!(
            "apiVersion: {GROUP}/v1\nkind: {}\nmetadata:\n  name: {}\n",
            self.kind(),
            word(&self.name)
        );
        if let Reach::Namespace(namespace) = &self.reach {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  namespace: {}", word(namespace));
        }
        text + "rules:\n" + &self.rules()
    }

    /// The list of its rules alone.
    pub fn rules(&self) -> String {
        let mut text = String::new();
        for Entry { comment, fields } in &self.entries {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  # {comment}");
            for (at, (field, words)) in fields.iter().enumerate() {
                let words: Vec<String> = words.iter().map(|text| word(text)).collect();
                let mark = if at == 0 { '-' } else { ' ' };
                let _ = writeln!(text, "  {mark} {field}: [{}]", words.join(", "));
            }
        }
        text
    }

    fn binding(&self, (namespace, account): (&str, &str)) -> Value {
        let kind = self.kind();
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": format!("{kind}Binding"), "metadata": self.metadata(),
            "roleRef": {"apiGroup": GROUP, "kind": kind, "name": self.name},
            "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}],
        })
    }
}

impl Entry {
    fn new(subject: &Subject, grant: &Grant) -> Self {
        let why = grant.why.iter().map(|(rule, why)| {
            let why: Vec<&str> = why.iter().map(String::as_str).collect();
            format!("{rule}: {}", why.join(", "))
        });
        let verbs = grant.verbs.iter().map(|verb| verb.word().to_owned()).collect();
        let mut fields = vec![
            ("apiGroups", vec![subject.group.clone()]),
            ("resources", vec![subject.resource.clone()]),
        ];
        if !subject.names.is_empty() {
            fields.push(("resourceNames", subject.names.iter().cloned().collect()));
        }
        fields.push(("verbs", verbs));
        Self { comment: why.collect::<Vec<_>>().join("; "), fields }
    }
}

/// A word as YAML: quoted unless it can be nothing but a text.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || "-./".contains(c);
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_plain = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| plain(c) || c.is_ascii_digit())
        && !reserved.contains(&text);
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
