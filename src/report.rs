//! What a pass found and did, for people: `dev` shows it as a tree.
//!
//! In: reports of passes. Out: lines of text. Never here: anything a pass decides on.

use crate::object::ObjectId;
use serde_json::Value;
use std::fmt::Write;

/// One parent after a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The rule.
    pub rule: String,
    /// The parent.
    pub parent: ObjectId,
    /// How it stands.
    pub state: State,
    /// Why, unless it is ready.
    pub message: String,
    /// Its children, in the order of the rule.
    pub children: Vec<ChildReport>,
    /// The declared status fields as they were computed.
    pub fields: Vec<(String, Value)>,
}

impl Report {
    /// Of a parent that is paused or being deleted.
    pub fn left_alone(rule: &str, parent: &ObjectId, why: &str) -> Self {
        Self {
            rule: rule.to_owned(),
            parent: parent.clone(),
            state: State::InProgress,
            message: why.to_owned(),
            children: Vec::new(),
            fields: Vec::new(),
        }
    }
}

/// One child after a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildReport {
    /// The child's id in the rule.
    pub child: String,
    /// The object, unless it could not be rendered.
    pub object: Option<ObjectId>,
    /// How it stands.
    pub state: State,
    /// Why, unless it is ready.
    pub message: String,
}

/// How a parent or a child stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All is as it should be.
    Ready,
    /// On its way.
    InProgress,
    /// It needs somebody's help.
    Failed,
}

impl State {
    /// One lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::InProgress => "waiting",
            Self::Failed => "failed",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            Self::Ready => "\x1b[32m",
            Self::InProgress => "\x1b[33m",
            Self::Failed => "\x1b[31m",
        }
    }
}

/// How the tree is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// ANSI colours; only for a terminal.
    pub colour: bool,
    /// Line-drawing characters; plain ASCII without.
    pub unicode: bool,
}

impl Style {
    /// The word of a state, in its colour.
    pub fn state(self, state: State) -> String {
        if self.colour {
            format!("{}{}\x1b[0m", state.colour(), state.word())
        } else {
            state.word().to_owned()
        }
    }

    fn branch(self, last: bool) -> &'static str {
        match (self.unicode, last) {
            (true, false) => "├─",
            (true, true) => "└─",
            (false, false) => "|-",
            (false, true) => "`-",
        }
    }
}

/// Parents, their children, readiness and status fields as an indented tree.
pub fn tree(reports: &[Report], style: Style) -> String {
    let mut text = String::new();
    for report in reports {
        // Writing to a String cannot fail.
        let _ = parent(&mut text, report, style);
    }
    text
}

fn parent(text: &mut String, report: &Report, style: Style) -> std::fmt::Result {
    let head = format!("{} (rule {})", report.parent, report.rule);
    writeln!(text, "{head:<58} {}{}", style.state(report.state), because(&report.message))?;
    let widest = report.children.iter().map(|c| c.child.len()).max().unwrap_or(0);
    let rows = report.children.len() + usize::from(!report.fields.is_empty());
    for (row, child) in report.children.iter().enumerate() {
        let object = child.object.as_ref().map(ToString::to_string).unwrap_or_default();
        let left = format!("{} {:<widest$}  {object}", style.branch(row + 1 == rows), child.child);
        writeln!(text, "{left:<58} {}{}", style.state(child.state), because(&child.message))?;
    }
    if !report.fields.is_empty() {
        let fields: Vec<String> =
            report.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        writeln!(text, "{} status {}", style.branch(true), fields.join(", "))?;
    }
    Ok(())
}

fn because(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marks::parse_id;
    use serde_json::json;

    #[test]
    fn the_tree_shows_parents_children_states_and_fields() {
        let child = |name: &str, object: &str, state, message: &str| ChildReport {
            child: name.into(),
            object: parse_id(object),
            state,
            message: message.into(),
        };
        let report = Report {
            rule: "webapp".into(),
            parent: parse_id("WebApp.demo.kubewright.io default/shop").unwrap(),
            state: State::InProgress,
            message: "deployment: 0 of 2 replicas are ready".into(),
            children: vec![
                child("config", "ConfigMap default/shop-files", State::Ready, ""),
                child("deployment", "Deployment.apps default/shop", State::InProgress, "0 of 2"),
                child("broken", "", State::Failed, "a.yaml:3:1: no"),
            ],
            fields: vec![("phase".into(), json!("Pending"))],
        };
        let expected = "\
WebApp.demo.kubewright.io default/shop (rule webapp)       waiting: deployment: 0 of 2 replicas are ready
|- config      ConfigMap default/shop-files                ready
|- deployment  Deployment.apps default/shop                waiting: 0 of 2
|- broken                                                  failed: a.yaml:3:1: no
`- status phase: \"Pending\"
";
        assert_eq!(tree(&[report], Style { colour: false, unicode: false }), expected);
    }
}
