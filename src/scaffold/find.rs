//! Finds what should differ between parents: the choice is conservative, everything else stays as it was written.
//!
//! In: manifests. Out: edits of their texts, the parent's fields, what was left alone. Pure.
//!
//! Fields become: images, replicas, container ports (and what refers to them by number), values of environment variables,
//! resource quantities and sizes of claims, bounds of autoscalers, schedules, host names, the texts of `ConfigMap`s.
//! Secrets never do: whoever may read a parent would read them.

mod name;

use super::edit::Edit;
use super::kinds::{at, containers, entries, entry, is_scaled, items, pod_spec};
use super::manifest::Manifest;
use super::names;
use super::parameter::{Parameter, Parameters, Sort};
use super::verify::titled;
use crate::yaml::{self, Kind, Limits, Node, Style};
use std::collections::BTreeMap;

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// For each manifest, what to change in its text.
    pub edits: Vec<Vec<Edit>>,
    /// The parent's fields.
    pub parameters: Parameters,
    /// What stays the same for all parents although it may not look so.
    pub notes: Vec<String>,
}

/// What all manifests have in common.
pub(super) struct Shared<'a> {
    /// The manifests.
    pub manifests: &'a [Manifest],
    /// An id for each.
    pub ids: &'a [String],
    /// The name that all begin with.
    pub base: &'a str,
    /// The namespace that they were written for, if the parent's takes its place.
    pub namespace: Option<&'a str>,
}

/// Looks at every manifest.
pub(super) fn find(shared: &Shared<'_>) -> Found {
    let trees: Vec<Option<Node>> = shared
        .manifests
        .iter()
        .map(|manifest| yaml::parse(&manifest.text, &Limits::FILE).ok()?.into_iter().next())
        .map(|document| document.map(|document| document.root))
        .collect();
    let mut finder = Finder {
        shared,
        found: Found { edits: vec![Vec::new(); trees.len()], ..Found::default() },
        ports: BTreeMap::new(),
    };
    let all = || trees.iter().enumerate().filter_map(|(index, tree)| Some((index, tree.as_ref()?)));
    for (index, tree) in all() {
        finder.workload(index, tree);
    }
    for (index, tree) in all() {
        finder.other(index, tree);
    }
    for (index, tree) in all() {
        finder.names(index, tree, &mut Vec::new());
    }
    finder.found
}

struct Finder<'a> {
    shared: &'a Shared<'a>,
    found: Found,
    /// Expressions for container ports, by number.
    ports: BTreeMap<u64, String>,
}

/// A field to be: where it goes and what it is.
struct Wish<'a> {
    path: Vec<String>,
    sort: Sort,
    description: &'a str,
}

impl Finder<'_> {
    fn manifest(&self, index: usize) -> &Manifest {
        &self.shared.manifests[index]
    }

    fn title(&self, index: usize) -> String {
        titled(&self.manifest(index).gvk, &self.manifest(index).name)
    }

    /// Nothing if only one manifest is like this one, else its id: it keeps fields of the same name apart.
    fn qualifier(&self, index: usize, like: impl Fn(&Manifest) -> bool) -> Vec<String> {
        let alone = self.shared.manifests.iter().filter(|manifest| like(manifest)).count() < 2;
        if alone { Vec::new() } else { vec![self.shared.ids[index].clone()] }
    }

    fn workload(&mut self, index: usize, root: &Node) {
        let gvk = self.manifest(index).gvk.clone();
        for (name, container) in containers(root, &gvk) {
            let above = self.container_qualifier(index, name);
            self.container(index, container, &above);
        }
        let spec = root.get("spec");
        if is_scaled(&gvk) {
            let above = self.qualifier(index, |other| is_scaled(&other.gvk));
            self.field(index, spec, "replicas", &above, "How many pods.");
        }
        if gvk.kind == "CronJob" {
            let above = self.qualifier(index, |other| other.gvk.kind == "CronJob");
            self.field(index, spec, "schedule", &above, "When it runs, as a cron expression.");
        }
        for claim in items(spec.and_then(|spec| spec.get("volumeClaimTemplates"))) {
            self.storage(index, claim);
        }
    }

    /// Where a container's fields go: to the top if there is one container in all, else below its name.
    fn container_qualifier(&self, index: usize, name: &str) -> Vec<String> {
        let mut all = Vec::new();
        for manifest in self.shared.manifests {
            let Some(pod) = pod_spec(&manifest.gvk) else { continue };
            let pointer = format!("/{}", pod.join("/"));
            for list in ["initContainers", "containers"] {
                let items = manifest.object.pointer(&format!("{pointer}/{list}"));
                let items = items.and_then(|items| items.as_array()).into_iter().flatten();
                all.extend(items.filter_map(|container| container.get("name")?.as_str()));
            }
        }
        if all.len() < 2 {
            return Vec::new();
        }
        let id = &self.shared.ids[index];
        let suffix = names::suffix(name, self.shared.base).unwrap_or(name);
        let own = names::camel(suffix).unwrap_or_else(|| id.clone());
        let alone = all.iter().filter(|other| **other == name).count() == 1;
        vec![if alone { own } else { format!("{id}{}", names::kind_of(&own)) }]
    }

    fn container(&mut self, index: usize, container: &Node, above: &[String]) {
        if let Some((key, value)) = entry(container, "image") {
            let path = below(above, &["image"]);
            let wish = Wish { path, sort: Sort::Required, description: "Container image to run." };
            self.replace(index, Some(key), value, &wish);
        }
        for variable in items(container.get("env")) {
            let name = variable.get("name").and_then(Node::as_str);
            if let (Some(name), Some((key, value))) = (name, entry(variable, "value")) {
                let path = below(above, &["env", name]);
                let wish =
                    Wish { path, sort: Sort::Defaulted, description: "An environment variable." };
                self.replace(index, Some(key), value, &wish);
            }
        }
        for kind in ["requests", "limits"] {
            let quantities = at(container, &["resources", kind]);
            for (key, value) in entries(quantities) {
                let path = below(above, &["resources", kind, key.as_str().unwrap_or_default()]);
                let wish = Wish { path, sort: Sort::Quantity, description: "A quantity." };
                self.replace(index, Some(key), value, &wish);
            }
        }
        self.container_ports(index, container, above);
    }

    fn container_ports(&mut self, index: usize, container: &Node, above: &[String]) {
        let ports = items(container.get("ports"));
        let mut own = BTreeMap::new();
        for (at, port) in ports.iter().enumerate() {
            let Some((key, value)) = entry(port, "containerPort") else { continue };
            let name = port.get("name").and_then(Node::as_str).and_then(names::camel);
            let field = match name {
                _ if ports.len() == 1 => "port".to_owned(),
                Some(name) => format!("{name}Port"),
                None if at == 0 => "port".to_owned(),
                None => format!("port{}", at + 1),
            };
            let path = below(above, &[&field]);
            let wish =
                Wish { path, sort: Sort::Port, description: "A port the container listens on." };
            if let (Some(expression), Some(number)) =
                (self.replace(index, Some(key), value, &wish), number(value))
            {
                own.entry(number).or_insert_with(|| expression.clone());
                self.ports.entry(number).or_insert(expression);
            }
        }
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            for (_, action) in entries(container.get(probe)) {
                let Some((key, port)) = entry(action, "port") else { continue };
                if let Some(expression) = number(port).and_then(|number| own.get(&number)) {
                    self.edit(index, Some(key), port, expression);
                }
            }
        }
    }

    fn other(&mut self, index: usize, root: &Node) {
        let gvk = self.manifest(index).gvk.clone();
        let spec = root.get("spec");
        match (gvk.group.as_str(), gvk.kind.as_str()) {
            ("", "Service") => self.target_ports(index, spec),
            ("", "ConfigMap") => self.config(index, root),
            ("", "Secret") => {
                let note = format!(
                    "{}: its values stay in the template; do not commit them",
                    self.title(index)
                );
                self.found.notes.push(note);
            }
            ("", "PersistentVolumeClaim") => self.storage(index, root),
            ("autoscaling", "HorizontalPodAutoscaler") => {
                let above =
                    self.qualifier(index, |other| other.gvk.kind == "HorizontalPodAutoscaler");
                for (field, what) in [
                    ("minReplicas", "At least so many pods."),
                    ("maxReplicas", "At most so many pods."),
                ] {
                    self.field(index, spec, field, &above, what);
                }
            }
            ("networking.k8s.io", "Ingress") => {
                for rule in items(spec.and_then(|spec| spec.get("rules"))) {
                    let host = entry(rule, "host");
                    if let Some((key, host)) = host {
                        self.host(index, Some(key), host);
                    }
                }
                for tls in items(spec.and_then(|spec| spec.get("tls"))) {
                    for host in items(tls.get("hosts")) {
                        self.host(index, None, host);
                    }
                }
            }
            ("gateway.networking.k8s.io", _) => {
                let hosts = items(spec.and_then(|spec| spec.get("hostnames")));
                for host in hosts {
                    self.host(index, None, host);
                }
            }
            _ => {}
        }
    }

    fn host(&mut self, index: usize, key: Option<&Node>, host: &Node) {
        let path = vec!["host".to_owned()];
        let wish = Wish { path, sort: Sort::Required, description: "Host name to serve under." };
        self.replace(index, key, host, &wish);
    }

    fn storage(&mut self, index: usize, claim: &Node) {
        let Some((key, value)) = at(claim, &["spec", "resources", "requests"])
            .and_then(|requests| entry(requests, "storage"))
        else {
            return;
        };
        let claims = |manifest: &Manifest| {
            let templates = manifest.object.pointer("/spec/volumeClaimTemplates");
            let templates = templates.and_then(|list| list.as_array()).map_or(0, Vec::len);
            templates + usize::from(manifest.gvk.kind == "PersistentVolumeClaim")
        };
        let alone = self.shared.manifests.iter().map(claims).sum::<usize>() < 2;
        let name = at(claim, &["metadata", "name"]).and_then(Node::as_str).unwrap_or_default();
        let own = names::camel(names::suffix(name, self.shared.base).unwrap_or(name));
        let own = own.unwrap_or_else(|| self.shared.ids[index].clone());
        let path = if alone { vec!["storage".to_owned()] } else { vec![own, "storage".to_owned()] };
        let wish = Wish { path, sort: Sort::Quantity, description: "How much storage to claim." };
        self.replace(index, Some(key), value, &wish);
    }

    fn target_ports(&mut self, index: usize, spec: Option<&Node>) {
        for port in items(spec.and_then(|spec| spec.get("ports"))) {
            let Some((key, target)) = entry(port, "targetPort") else { continue };
            let expression = number(target).and_then(|number| self.ports.get(&number)).cloned();
            if let Some(known) = expression {
                self.edit(index, Some(key), target, &known);
            }
        }
    }

    fn config(&mut self, index: usize, root: &Node) {
        let above = self.qualifier(index, |other| other.gvk.kind == "ConfigMap");
        for (key, value) in entries(root.get("data")) {
            let path = below(&above, &["config", key.as_str().unwrap_or_default()]);
            let wish =
                Wish { path, sort: Sort::Defaulted, description: "A text of the ConfigMap." };
            self.replace(index, Some(key), value, &wish);
        }
    }

    fn field(
        &mut self,
        index: usize,
        spec: Option<&Node>,
        name: &str,
        above: &[String],
        description: &str,
    ) {
        if let Some((key, value)) = spec.and_then(|spec| entry(spec, name)) {
            let sort = if number(value).is_some() { Sort::Count } else { Sort::Defaulted };
            let wish = Wish { path: below(above, &[name]), sort, description };
            self.replace(index, Some(key), value, &wish);
        }
    }

    /// Makes a value a field of the parent; gives the expression, or nothing for what cannot be one.
    fn replace(
        &mut self,
        index: usize,
        key: Option<&Node>,
        value: &Node,
        wish: &Wish<'_>,
    ) -> Option<String> {
        let is_scalar = matches!(value.kind, Kind::String { .. } | Kind::Number(_) | Kind::Bool(_));
        if !is_scalar || self.is_edited(index, value) || self.bytes(index, key, value).is_none() {
            return None;
        }
        let parameter = Parameter {
            value: value.to_json(),
            sort: wish.sort,
            description: wish.description.to_owned(),
        };
        let expression = self.found.parameters.add(&wish.path, &parameter);
        self.edit(index, key, value, &expression);
        Some(expression)
    }

    fn edit(&mut self, index: usize, key: Option<&Node>, value: &Node, expression: &str) {
        self.write(index, key, value, &format!("{{{{ {expression} }}}}"));
    }

    fn write(&mut self, index: usize, key: Option<&Node>, value: &Node, with: &str) {
        let Some(bytes) = self.bytes(index, key, value) else { return };
        let glued = self.manifest(index).text[..bytes.start].ends_with(':');
        let with = if glued { format!(" {with}") } else { with.to_owned() };
        self.found.edits[index].push(Edit { bytes, with });
    }

    /// The bytes that an expression takes the place of: of a block scalar, its header as well.
    fn bytes(
        &self,
        index: usize,
        key: Option<&Node>,
        value: &Node,
    ) -> Option<std::ops::Range<usize>> {
        let text = &self.manifest(index).text;
        match &value.kind {
            Kind::String { style: Style::Literal | Style::Folded, text: content } => {
                let key = key.filter(|_| !content.trim().is_empty())?;
                let start = key.span.end + text.get(key.span.end..value.span.start)?.find(':')? + 1;
                let end = text.get(..value.span.end)?.trim_end_matches(['\n', '\r', ' ']).len();
                (start < end).then_some(start..end)
            }
            _ if value.span.is_empty() => None,
            _ => Some(value.span.clone()),
        }
    }

    fn is_edited(&self, index: usize, value: &Node) -> bool {
        let holds = |edit: &Edit| edit.bytes.contains(&value.span.start);
        self.found.edits[index].iter().any(holds)
    }
}

fn below(above: &[String], more: &[&str]) -> Vec<String> {
    above.iter().cloned().chain(more.iter().map(|step| (*step).to_owned())).collect()
}

fn number(node: &Node) -> Option<u64> {
    match &node.kind {
        Kind::Number(number) => number.as_u64(),
        _ => None,
    }
}
