//! The objects that a rule only reads.
//!
//! In: a rule, a parent, the watch caches of its inputs. Out: [`Inputs`], and in what the parent is interested, so that a
//! change of it wakes this parent and no other. Never here: a request.

mod cache;
mod interest;

pub use cache::InputCaches;
pub(crate) use cache::holding;
pub use interest::{Index, Interests, Selection};

use crate::fetch::{ChildCache, Live};
use crate::marks::visible;
use crate::object::ObjectId;
use crate::problem::Problem;
use crate::rule::{InputRule, Rule, Where};
use crate::scope::{Scope, Scopes};
use crate::selector::Selector;
use crate::store::Stored;
use crate::template::{Awaits, Context, Failure, LineTemplate, Part, Read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Objects in one list; more is a mistake, or an attack.
const MOST: usize = 10_000;

/// What the inputs of a rule are for one parent.
#[derive(Default)]
pub struct Inputs {
    by_id: BTreeMap<Arc<str>, Input>,
    /// Those that are there, as templates see them: converted once, and shared by every view of a pass.
    parts: BTreeMap<Arc<str>, Part>,
    /// A mistake in a name or a selector.
    pub failed: Option<Problem>,
    /// Whether the parent is in a namespace that the rule selects; a sentence if that cannot be told yet.
    pub selected: Option<Result<bool, String>>,
}

/// What one input is.
pub enum Input {
    /// One object.
    Object(Box<Live>, Value),
    /// All objects that are selected, sorted by namespace and name.
    List(Value),
    /// It is optional, and not there.
    Absent,
    /// It does not exist yet, or cannot be known; a fragment: `settings (ConfigMap shop/web) does not exist`.
    Missing(String),
}

impl Input {
    /// What comparisons and templates see.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Object(_, value) | Self::List(value) => Some(value),
            Self::Absent => Some(&Value::Null),
            Self::Missing(_) => None,
        }
    }
}

impl Inputs {
    /// One of them.
    pub fn get(&self, id: &str) -> Option<&Input> {
        self.by_id.get(id)
    }

    /// The first of these that reads an input which is not there, and why it is not. It has to be waited for even where a template would make do
    /// without: `default` stands in for a field that an object does not have, and must not for an object that was lost, or
    /// cannot be seen for a moment.
    pub fn missing_among<'r>(&self, reads: impl IntoIterator<Item = &'r Read>) -> Option<String> {
        reads.into_iter().find_map(|read| {
            let [root, id, ..] = read.path.as_slice() else { return None };
            match self.get(id).filter(|_| root == "inputs") {
                Some(Input::Missing(why)) => Some(format!("{}: {why}", read.path.join("."))),
                _ => None,
            }
        })
    }

    /// `inputs` as templates see it.
    pub fn part(&self) -> Part {
        let parts = self.parts.iter().map(|(id, part)| (id.to_string(), part.clone()));
        Part::group("inputs", parts, Awaits::Everything)
    }

    fn add(&mut self, id: &Arc<str>, input: Input) {
        if let Some(value) = input.value() {
            let part = Part::new(&format!("inputs.{id}"), value, Awaits::Everything);
            self.parts.insert(Arc::clone(id), part);
        }
        self.by_id.insert(Arc::clone(id), input);
    }
}

/// Looks up every input. Names may read `parent`, inputs before them, and `let` where that reads no input.
pub fn find(
    rule: &Rule,
    parent: &Live,
    caches: &InputCaches,
    scopes: &Scopes,
) -> (Inputs, Interests) {
    let mut finder = Finder { rule, parent, caches, scopes, interests: Interests::default() };
    let mut inputs = Inputs { selected: finder.selected(), ..Inputs::default() };
    if rule.inputs.is_empty() {
        return (inputs, finder.interests);
    }
    let context = match context(rule, parent) {
        Ok(context) => context,
        Err(problem) => {
            inputs.failed = Some(problem);
            return (inputs, finder.interests);
        }
    };
    for (index, input) in rule.inputs.iter().enumerate() {
        let context = context.clone().with("inputs", inputs.part());
        let reads = input.lines().flat_map(LineTemplate::reads);
        let found = match inputs.missing_among(reads) {
            Some(what) => Ok(Input::Missing(format!("{} waits for {what}", input.id))),
            None => finder.input(index, input, &context),
        };
        let found = match found {
            Ok(found) => found,
            Err(Failure::Waiting { what, .. }) => {
                Input::Missing(format!("{} waits for {what}", input.id))
            }
            Err(Failure::Failed(problem)) => {
                inputs.failed.get_or_insert(problem);
                Input::Missing(format!("{} is not known", input.id))
            }
        };
        inputs.add(&input.id, found);
    }
    (inputs, finder.interests)
}

/// The inputs where there is no cluster: among these objects. The labels of a namespace that is not among them are taken
/// to be those that the rule wants.
pub fn find_among(rule: &Rule, parent: &Live, objects: &[Value], scopes: &Scopes) -> Inputs {
    let caches = InputCaches::of_objects(rule, objects, scopes);
    let (mut inputs, _) = find(rule, parent, &caches, scopes);
    inputs.selected = inputs.selected.filter(Result::is_ok);
    inputs
}

/// Where there is no cluster: the objects that a rule edits without owning them are among these.
pub fn targets_among(rule: &Rule, objects: &[Value], scopes: &Scopes) -> Arc<[ChildCache]> {
    rule.target_kinds().into_iter().map(|gvk| holding(gvk, objects, scopes)).collect()
}

/// What names and selectors of inputs can read besides other inputs.
fn context(rule: &Rule, parent: &Live) -> Result<Context, Problem> {
    let parent = parent.seen().1.clone();
    let context = Context::new().with("parent", parent);
    let early = rule.let_body.as_ref().filter(|_| !rule.let_reads_inputs);
    let Some(body) = early else { return Ok(context) };
    match rule.templates.body(body, &context) {
        Ok(values) => {
            Ok(context.with("let", Part::new("let", &Value::Object(values), Awaits::Nothing)))
        }
        Err(Failure::Failed(problem)) => Err(problem),
        // It waits for the parent's status; render says so.
        Err(Failure::Waiting { .. }) => Ok(context),
    }
}

/// Names of namespaces; none means all.
type Namespaces = Option<BTreeSet<Arc<str>>>;

struct Finder<'a> {
    rule: &'a Rule,
    parent: &'a Live,
    caches: &'a InputCaches,
    scopes: &'a Scopes,
    interests: Interests,
}

impl Finder<'_> {
    /// Whether the parent's namespace has the labels that the rule wants.
    fn selected(&mut self) -> Option<Result<bool, String>> {
        let selector = self.rule.parent.namespace_selector.as_ref()?;
        let id = namespace_id(&self.parent.id.namespace);
        self.interests.objects.insert(id.clone());
        Some(match self.caches.namespace(&id) {
            Ok(Some(namespace)) => Ok(selector.matches(&namespace.labels())),
            Ok(None) => Err(format!("{id} does not exist")),
            Err(why) => Err(why),
        })
    }

    fn input(
        &mut self,
        index: usize,
        input: &InputRule,
        context: &Context,
    ) -> Result<Input, Failure> {
        match &input.name {
            Some(name) => {
                let name = self.rule.templates.line(name, context)?;
                let namespace = self.namespace(input, context)?;
                self.object(index, input, &namespace, &name)
            }
            None => self.list(index, input, context),
        }
    }

    fn namespace(&self, input: &InputRule, context: &Context) -> Result<String, Failure> {
        if self.scopes.of(&input.gvk.group_kind()) == Scope::Cluster {
            return Ok(String::new());
        }
        match &input.within {
            Where::Named(name) => self.rule.templates.line(name, context),
            _ => Ok(self.parent.id.namespace.to_string()),
        }
    }

    fn object(
        &mut self,
        index: usize,
        input: &InputRule,
        namespace: &str,
        name: &str,
    ) -> Result<Input, Failure> {
        let id = ObjectId::new(&Arc::new(input.gvk.group_kind()), namespace, name);
        if name.is_empty() && input.optional {
            return Ok(Input::Absent);
        }
        if name.is_empty() {
            let problem =
                Problem::new("no-name", format!("the name of input `{}` is empty", input.id));
            let hint = "with `optional: true` it reads as null then";
            return Err(Failure::Failed(problem.at(input.place.clone()).hint(hint)));
        }
        self.reach(input, &id)?;
        self.interests.objects.insert(id.clone());
        Ok(match self.caches.object(index, &id) {
            Ok(Some(stored)) => {
                let live = Live::new(stored);
                let value = visible(live.value());
                Input::Object(Box::new(live), value)
            }
            Ok(None) if input.optional => Input::Absent,
            Ok(None) => Input::Missing(format!("{} ({id}) does not exist", input.id)),
            Err(why) => Input::Missing(format!("{}: {why}", input.id)),
        })
    }

    /// A name from a parent must not lead out of its namespace unless the rule's author allowed that.
    fn reach(&self, input: &InputRule, id: &ObjectId) -> Result<(), Failure> {
        let own = &*self.parent.id.namespace;
        if self.rule.cross_namespace || own.is_empty() || *id.namespace == *own {
            return Ok(());
        }
        Err(outside(input, &format!("is {id}, outside"), own))
    }

    fn list(
        &mut self,
        index: usize,
        input: &InputRule,
        context: &Context,
    ) -> Result<Input, Failure> {
        self.reach_of_list(input)?;
        let selector = input.selector.resolve(&self.rule.templates, context)?;
        let namespaces = match self.namespaces(input, context)? {
            Ok(namespaces) => namespaces,
            Err(why) => return Ok(Input::Missing(format!("{}: {why}", input.id))),
        };
        let selection = Selection { input: index, namespaces, selector };
        let found = self.caches.select(&selection);
        self.interests.selections.insert(selection);
        let objects = match found {
            Ok(objects) => objects,
            Err(why) => return Ok(Input::Missing(format!("{}: {why}", input.id))),
        };
        if objects.len() > MOST {
            let message =
                format!("input `{}` has {} objects, more than {MOST}", input.id, objects.len());
            let problem = Problem::new("too-many-inputs", message).at(input.place.clone());
            return Err(Failure::Failed(problem.hint("narrow it with `labelSelector`")));
        }
        let value = |stored: &Arc<Stored>| visible(Live::new(Arc::clone(stored)).value());
        Ok(Input::List(objects.iter().map(value).collect()))
    }

    fn reach_of_list(&self, input: &InputRule) -> Result<(), Failure> {
        let own = &*self.parent.id.namespace;
        let within = matches!(input.within, Where::Own | Where::Named(_));
        let is_global = self.scopes.of(&input.gvk.group_kind()) == Scope::Cluster;
        if self.rule.cross_namespace || own.is_empty() || (within && !is_global) {
            return Ok(());
        }
        Err(outside(input, "reaches outside", own))
    }

    /// The namespaces of a list; none means all.
    fn namespaces(
        &mut self,
        input: &InputRule,
        context: &Context,
    ) -> Result<Result<Namespaces, String>, Failure> {
        if self.scopes.of(&input.gvk.group_kind()) == Scope::Cluster {
            return Ok(Ok(None));
        }
        Ok(Ok(Some(match &input.within {
            Where::All => return Ok(Ok(None)),
            Where::Own if self.parent.id.namespace.is_empty() => return Ok(Ok(None)),
            Where::Own => BTreeSet::from([Arc::clone(&self.parent.id.namespace)]),
            Where::Named(name) => {
                let name = self.rule.templates.line(name, context)?;
                self.reach(input, &ObjectId::new(&Arc::new(input.gvk.group_kind()), &name, "…"))?;
                BTreeSet::from([name.as_str().into()])
            }
            Where::Listed(names) => names.iter().cloned().collect(),
            Where::Selected(selector) => {
                let selector = selector.resolve(&self.rule.templates, context)?;
                return Ok(self.selected_namespaces(selector).map(Some));
            }
        })))
    }

    fn selected_namespaces(&mut self, selector: Selector) -> Result<BTreeSet<Arc<str>>, String> {
        let selected = self.caches.namespaces(&selector);
        self.interests.namespaces.insert(selector);
        selected
    }
}

/// Whoever may create a parent must not reach further than the rule's author decided.
fn outside(input: &InputRule, how: &str, own: &str) -> Failure {
    let message = format!("input `{}` {how} of the parent's namespace `{own}`", input.id);
    let problem = Problem::new("outside-namespace", message).at(input.place.clone());
    Failure::Failed(problem.hint("a rule with `crossNamespace: true` may read it"))
}

/// The identity of a namespace.
pub fn namespace_id(name: &str) -> ObjectId {
    let kind = crate::object::GroupKind { group: String::new(), kind: "Namespace".into() };
    ObjectId::new(&Arc::new(kind), "", name)
}
