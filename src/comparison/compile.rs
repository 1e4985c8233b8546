//! From a comparison as written to a compiled one, with every mistake at once.
//!
//! In: [`Written`] and the [`Names`] of its place. Out: a [`Comparison`] that cannot be invalid, or all that is wrong
//! with it and where. Never here: YAML, evaluation.

use super::names::{Names, RootKind};
use super::reference::Reference;
use super::written::{Operator, Written, WrittenReference};
use super::{Comparison, Tree};
use crate::path::{Location, Path};
use serde_json::Value;

/// Something wrong with a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// A stable, searchable name, as problems have it: `illegal-operand`.
    pub code: &'static str,
    /// The key it is about, in the written form: `$.allOf[1].atLeast`.
    pub field: Location,
    /// What is wrong: one sentence fragment, lower case, no full stop.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// The byte of the field's text, where that is known.
    pub offset: Option<usize>,
}

/// How deep `allOf`, `anyOf` and `not` may nest.
const MAX_DEPTH: usize = 16;

impl Comparison {
    /// Compiles one comparison.
    pub fn compile(written: &Written, names: &Names) -> Result<Self, Vec<Mistake>> {
        Compiler::run(names, |compiler| compiler.comparison(written, &Location::root(), 0))
    }

    /// Compiles a list, as in `when`; the fields of mistakes start with the index.
    pub fn compile_all(written: &[Written], names: &Names) -> Result<Vec<Self>, Vec<Mistake>> {
        Compiler::run(names, |compiler| compiler.comparisons(written, &Location::root(), 0))
    }
}

impl Reference {
    /// Compiles a reference that stands alone, as in `forEach`.
    pub fn compile(written: &WrittenReference, names: &Names) -> Result<Self, Vec<Mistake>> {
        Compiler::run(names, |compiler| compiler.reference(written, &Location::root()))
    }
}

pub(super) struct Compiler<'n> {
    pub(super) names: &'n Names,
    mistakes: Vec<Mistake>,
}

impl<'n> Compiler<'n> {
    /// What `compile` makes, unless there was any mistake.
    fn run<T>(
        names: &'n Names,
        compile: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Result<T, Vec<Mistake>> {
        let mut compiler = Self { names, mistakes: Vec::new() };
        match compile(&mut compiler) {
            Some(made) if compiler.mistakes.is_empty() => Ok(made),
            _ => Err(compiler.mistakes),
        }
    }

    /// Notes that a comparison is not put together as comparisons are.
    pub(super) fn mistake(
        &mut self,
        field: Location,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        self.note("illegal-comparison", field, message, hint);
    }

    /// Notes that an operator does not take what it is given.
    pub(super) fn wrong_operand(
        &mut self,
        field: Location,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        self.note("illegal-operand", field, message, hint);
    }

    fn note(
        &mut self,
        code: &'static str,
        field: Location,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) {
        let (message, hint) = (message.into(), hint.into());
        self.mistakes.push(Mistake { code, field, message, hint, offset: None });
    }

    fn comparisons(
        &mut self,
        written: &[Written],
        at: &Location,
        depth: usize,
    ) -> Option<Vec<Comparison>> {
        let compiled: Vec<_> = written
            .iter()
            .enumerate()
            .map(|(index, written)| self.comparison(written, &at.child(index), depth))
            .collect();
        compiled.into_iter().collect()
    }

    fn comparison(&mut self, written: &Written, at: &Location, depth: usize) -> Option<Comparison> {
        if depth > MAX_DEPTH {
            self.mistake(at.clone(), format!("comparisons nest deeper than {MAX_DEPTH}"), None);
            return None;
        }
        self.check_one_operator(written, at);
        let combinations = [
            written.all_of.as_ref().map(|_| "allOf"),
            written.any_of.as_ref().map(|_| "anyOf"),
            written.not.as_ref().map(|_| "not"),
        ];
        if let Some(combination) = combinations.into_iter().flatten().next() {
            self.check_stands_alone(written, at, combination);
        }
        let mut trees = Vec::new();
        for (key, parts) in [("allOf", &written.all_of), ("anyOf", &written.any_of)] {
            let Some(parts) = parts else { continue };
            if parts.is_empty() {
                self.mistake(at.child(key), format!("`{key}` is empty"), "leave it out".to_owned());
            }
            let compiled = self.comparisons(parts, &at.child(key), depth + 1);
            let tree = if key == "allOf" { Tree::All } else { Tree::Any };
            trees.push(compiled.map(tree));
        }
        if let Some(inner) = &written.not {
            let compiled = self.comparison(inner, &at.child("not"), depth + 1);
            trees.push(compiled.map(|inner| Tree::Not(Box::new(inner))));
        }
        let compares = !written.operators.is_empty() || written.count.is_some();
        // What has no operator was told so; without a path there is nothing more to tell.
        if compares || (trees.is_empty() && written.reference.path.is_some()) {
            trees.push(self.single(written, at).map(Tree::Single));
        }
        trees.pop().flatten().map(Comparison)
    }

    /// Two operators in one comparison would leave open which is meant, or whether both are.
    fn check_one_operator(&mut self, written: &Written, at: &Location) {
        let mut keys: Vec<&str> =
            written.operators.iter().map(|(operator, _)| operator.as_str()).collect();
        keys.extend(written.count.as_ref().map(|_| "count"));
        keys.extend(written.all_of.as_ref().map(|_| "allOf"));
        keys.extend(written.any_of.as_ref().map(|_| "anyOf"));
        keys.extend(written.not.as_ref().map(|_| "not"));
        self.check_one_of(&keys, at);
    }

    pub(super) fn check_one_of(&mut self, keys: &[&str], at: &Location) {
        match keys {
            [_] => {}
            [] => {
                let known = Operator::ALL.map(Operator::as_str).join(", ");
                let hint = format!("write one of {known}, count, allOf, anyOf, not");
                self.mistake(at.clone(), "the comparison has no operator", hint);
            }
            [_, second, ..] => {
                let list =
                    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
                let hint = "keep one, or make it several comparisons below `allOf`".to_owned();
                self.mistake(
                    at.child(*second),
                    format!("one operator is needed, not {list}"),
                    hint,
                );
            }
        }
    }

    fn check_stands_alone(&mut self, written: &Written, at: &Location, combination: &str) {
        let present = [
            ("of", written.reference.of.is_some()),
            ("path", written.reference.path.is_some()),
            ("default", written.reference.default.is_some()),
            ("as", written.meaning.is_some()),
            ("some", written.some.is_some()),
        ];
        for (key, _) in present.into_iter().filter(|(_, present)| *present) {
            let hint = format!("write it in the comparisons below `{combination}`");
            self.mistake(
                at.child(key),
                format!("`{key}` means nothing beside `{combination}`"),
                hint,
            );
        }
    }

    /// Compiles `{of, path, default}`.
    pub(super) fn reference(
        &mut self,
        written: &WrittenReference,
        at: &Location,
    ) -> Option<Reference> {
        let name = self.name(written, at);
        let path = self.path(written, at);
        if written.default == Some(Value::Null) {
            let hint = "leave it out, or compare with `exists`".to_owned();
            self.wrong_operand(at.child("default"), "the default is null", hint);
        }
        Some(Reference { of: name?.0, path: path?, default: written.default.clone() })
    }

    pub(super) fn name(
        &mut self,
        written: &WrittenReference,
        at: &Location,
    ) -> Option<(String, RootKind)> {
        let name = written.of.as_deref().unwrap_or(self.names.default_name());
        let kind = self.names.kind(name);
        if kind.is_none() {
            let hint = self.names.suggest(name);
            let message = format!("nothing is called `{name}` here");
            let hint = if name == "self" {
                "only `ready` knows the child as `self`: name it by its id".to_owned()
            } else {
                hint
            };
            self.note("unknown-name", at.child("of"), message, hint);
        }
        kind.map(|kind| (name.to_owned(), kind))
    }

    fn path(&mut self, written: &WrittenReference, at: &Location) -> Option<Path> {
        let Some(text) = &written.path else {
            self.mistake(at.clone(), "`path` is missing", "`$` is the whole value".to_owned());
            return None;
        };
        match Path::parse(text) {
            Ok(path) => Some(path),
            Err(error) => {
                self.mistakes.push(Mistake {
                    code: "illegal-path",
                    field: at.child("path"),
                    message: error.message,
                    hint: error.hint,
                    offset: Some(error.offset),
                });
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::{rows, written};
    use serde_json::json;

    fn names() -> Names {
        Names::new("parent", RootKind::Parent)
            .with("deployment", RootKind::Child)
            .with("let", RootKind::Let)
    }

    /// Field and message of each mistake.
    fn mistakes(value: &Value) -> Vec<(String, String)> {
        let mistakes =
            Comparison::compile(&written(value), &names()).expect_err(&value.to_string());
        mistakes.into_iter().map(|mistake| (mistake.field.to_string(), mistake.message)).collect()
    }

    fn hints(value: &Value) -> Vec<String> {
        let mistakes =
            Comparison::compile(&written(value), &names()).expect_err(&value.to_string());
        mistakes.into_iter().filter_map(|mistake| mistake.hint).collect()
    }

    const MISTAKES: &str = r#"
{"path": "$.a"}
    $ | the comparison has no operator
{"path": "$.a", "equals": 1, "exists": true}
    $.exists | one operator is needed, not `equals` and `exists`
{"path": "$.a", "equals": 1, "count": {"equals": 1}}
    $.count | one operator is needed, not `equals` and `count`
{"equals": 1}
    $ | `path` is missing
{"path": ".a", "equals": 1}
    $.path | a path starts with `$`
{"of": "deploymnt", "path": "$.a", "equals": 1}
    $.of | nothing is called `deploymnt` here
{"path": "$.a", "equals": {"of": "x", "path": "$"}}
    $.equals.of | nothing is called `x` here
{"path": "$.a", "equals": {"of": "parent"}}
    $.equals | `path` is missing
{"path": "$.a", "equals": {"path": "b"}}
    $.equals.path | a path starts with `$`
{"path": "$.a", "equals": {"path": "$.b[*]"}}
    $.equals.path | the right side must be one value, this path may lead to several
{"path": "$.a", "equals": null}
    $.equals | `equals` takes no null
{"path": "$.a", "notEquals": null}
    $.notEquals | `notEquals` takes no null
{"path": "$.a", "equals": {"x": 1}}
    $.equals | `equals` takes no map
{"path": "$.a", "in": 1}
    $.in | `in` takes a list
{"path": "$.a", "in": []}
    $.in | the list of `in` is empty
{"path": "$.a", "notIn": [1, null]}
    $.notIn[1] | `notIn` takes no null
{"path": "$.a", "in": {"path": "$.b", "default": 1}}
    $.in.default | the default must be a list
{"path": "$.a", "atLeast": [1]}
    $.atLeast | `atLeast` takes one value, not a list
{"path": "$.a", "atLeast": "1Gi"}
    $.atLeast | `atLeast` compares numbers, "1Gi" is none
{"path": "$.a", "lessThan": true}
    $.lessThan | `lessThan` compares numbers, true is none
{"path": "$.a", "contains": [1]}
    $.contains | `contains` takes one value, not a list
{"path": "$.a", "exists": "true"}
    $.exists | `exists` takes true or false
{"path": "$.a", "exists": {"path": "$.b"}}
    $.exists | `exists` takes true or false
{"path": "$.a", "exists": true, "default": 1}
    $.default | `default` means nothing beside `exists`
{"path": "$.a", "exists": true, "as": "age"}
    $.as | `as` means nothing beside `exists`
{"path": "$.a", "matches": 1}
    $.matches | `matches` takes a regular expression, written here as text
{"path": "$.a", "matches": {"path": "$.b"}}
    $.matches | `matches` takes a regular expression, written here as text
{"path": "$.a", "matches": "a("}
    $.matches | this is not a regular expression
{"path": "$.a", "matches": "(\\w{100}){100}"}
    $.matches | the regular expression is too large
{"path": "$.a", "matches": "a", "as": "semver"}
    $.as | `as` means nothing beside `matches`
{"path": "$.a", "matches": "a", "default": 1}
    $.default | the default 1 is not text
{"path": "$.a", "equals": 1, "default": null}
    $.default | the default is null
{"path": "$.a", "atLeast": 1, "default": "0"}
    $.default | the default "0" is not a number
{"path": "$.a", "as": "quantity", "atLeast": 1, "default": "x"}
    $.default | the default "x" is not a quantity
{"path": "$.a", "as": "size", "atLeast": 1}
    $.as | unknown `as: size`
{"path": "$.a", "as": "quantity", "equals": "1K"}
    $.equals | "1K" is not a quantity
{"path": "$.a", "as": "quantity", "in": ["1", "x"]}
    $.in[1] | "x" is not a quantity
{"path": "$.a", "as": "semver", "atLeast": "1.2"}
    $.atLeast | "1.2" is not a semantic version
{"path": "$.a", "as": "time", "atMost": "2026-01-01"}
    $.atMost | "2026-01-01" is not a time of RFC 3339
{"path": "$.a", "as": "duration", "atMost": 30}
    $.atMost | 30 is not a duration
{"path": "$.a", "as": "age", "atLeast": "2026-01-01T00:00:00Z"}
    $.atLeast | "2026-01-01T00:00:00Z" is not a duration
{"path": "$.a", "as": "age", "equals": "1h"}
    $.equals | an age cannot be compared with `equals`
{"path": "$.a", "as": "age", "atLeast": {"path": "$.b", "default": 1}}
    $.atLeast.default | 1 is not a duration
{"path": "$.a", "some": true, "equals": 1}
    $.some | the path leads to one value, there are not several
{"path": "$.a", "ready": true, "of": "deployment"}
    $.path | `path` means nothing beside `ready`
{"ready": true}
    $.ready | `parent` cannot be asked whether it is ready
{"of": "deployment", "ready": "yes"}
    $.ready | `ready` takes true or false
{"path": "$.a", "count": {}}
    $.count | the comparison has no operator
{"path": "$.a", "count": {"atLeast": 1, "atMost": 2}}
    $.count.atMost | one operator is needed, not `atLeast` and `atMost`
{"path": "$.a", "count": {"matches": "x"}}
    $.count.matches | a count cannot be compared with `matches`
{"path": "$.a", "count": {"equals": "1"}}
    $.count.equals | "1" is not a count
{"path": "$.a", "count": {"atLeast": -1}}
    $.count.atLeast | -1 is not a count
{"path": "$.a", "count": {"equals": 1}, "default": 0}
    $.default | `default` means nothing beside `count`
{"path": "$.a[*]", "count": {"equals": 1}, "some": true}
    $.some | `some` means nothing beside `count`
{"allOf": []}
    $.allOf | `allOf` is empty
{"anyOf": []}
    $.anyOf | `anyOf` is empty
{"allOf": [{"of": "let", "path": "$.a", "exists": true}], "path": "$.b"}
    $.path | `path` means nothing beside `allOf`
{"not": {"anyOf": [{"path": "$.a", "exists": true}, {"path": "$.a", "exists": 1}]}}
    $.not.anyOf[1].exists | `exists` takes true or false
"#;

    #[test]
    fn each_mistake_is_told_where_it_is() {
        for (value, [field, message]) in rows(MISTAKES) {
            assert_eq!(mistakes(&value), [(field.to_owned(), message.to_owned())], "{value}");
        }
    }

    #[test]
    fn hints_say_what_to_write_instead() {
        for (value, [hint]) in rows(
            r#"
{"of": "deploymnt", "path": "$.a", "equals": 1}
    did you mean `deployment`? known here: deployment, let, parent
{"of": "zzz", "path": "$.a", "equals": 1}
    known here: deployment, let, parent
{"path": "{.a.b}", "equals": 1}
    write `$.a.b`
{"path": "$.a", "equals": null}
    `exists: false` asks whether nothing is there
{"path": "$.a", "notEquals": null}
    `exists: true` asks whether something is there
{"path": "$.a", "in": "x"}
    write `in: ["x"]`
{"path": "$.a", "exists": "false"}
    write `exists: false` without quotes
{"path": "$.a", "exists": 1}
    write `exists: true` or `exists: false`
{"path": "$.a", "equals": {"x": 1}}
    a mapping on the right side is a reference and needs `path`
{"path": "$.a", "atLeast": "1Gi"}
    say what it means with `as: quantity`
{"path": "$.a", "atLeast": "5m"}
    say what it means with `as: quantity` or `as: duration`
{"path": "$.a", "atLeast": "v1.2.3"}
    say what it means with `as: semver`
{"path": "$.a", "atLeast": "2026-01-01T00:00:00Z"}
    say what it means with `as: time`
{"path": "$.a", "atLeast": "abc"}
    text has an order only by what it means, see `as`
{"path": "$.a", "as": "Quantity", "atLeast": "1"}
    did you mean `quantity`? known are quantity, semver, time, duration, age
{"path": "$.a", "as": "duration", "atLeast": "7d"}
    the units of a duration are h, m, s, ms, us and ns (a day is 24h)
{"path": "$.a", "matches": "a("}
    unclosed group
"#,
        ) {
            assert_eq!(hints(&value), [hint], "{value}");
        }
    }

    #[test]
    fn all_mistakes_are_told_at_once() {
        let value = json!({"allOf": [
            {"of": "x", "path": "a.b", "as": "y", "equals": 1},
            {"path": "$.a", "equals": null, "atLeast": "x"},
            {"not": {}},
        ]});
        let fields: Vec<_> = mistakes(&value).into_iter().map(|(field, _)| field).collect();
        assert_eq!(
            fields,
            [
                "$.allOf[0].of",
                "$.allOf[0].path",
                "$.allOf[0].as",
                "$.allOf[1].equals",
                "$.allOf[1].atLeast",
                "$.allOf[1].equals",
                "$.allOf[2].not",
            ]
        );
        let list = [written(&json!({"path": "$.a"})), written(&json!({"path": "$.a", "in": 1}))];
        let mistakes = Comparison::compile_all(&list, &names()).unwrap_err();
        let fields: Vec<_> = mistakes.iter().map(|mistake| mistake.field.to_string()).collect();
        assert_eq!(fields, ["$[0]", "$[1].in"]);
    }

    #[test]
    fn a_mistake_in_a_path_points_into_its_text() {
        let value = json!({"path": "$.a", "equals": {"path": "$.b-c"}});
        let mistakes = Comparison::compile(&written(&value), &names()).unwrap_err();
        assert_eq!(mistakes[0].offset, Some(3));
        assert_eq!(mistakes[0].hint.as_deref(), Some("write `$['b-c']`"));
    }

    #[test]
    fn nesting_is_bounded() {
        let mut nested = written(&json!({"path": "$.a", "exists": true}));
        for _ in 0..16 {
            nested = Written { not: Some(Box::new(nested)), ..Written::default() };
        }
        assert!(Comparison::compile(&nested, &names()).is_ok());
        for _ in 0..10_000 {
            nested = Written { not: Some(Box::new(nested)), ..Written::default() };
        }
        let mistakes = Comparison::compile(&nested, &names()).unwrap_err();
        assert_eq!(mistakes.len(), 1);
        assert_eq!(mistakes[0].message, "comparisons nest deeper than 16");
    }

    #[test]
    fn a_reference_needs_a_path_and_a_known_name() {
        let reference = |of: Option<&str>, path: Option<&str>| {
            let written = WrittenReference {
                of: of.map(str::to_owned),
                path: path.map(str::to_owned),
                default: None,
            };
            Reference::compile(&written, &Names::new("self", RootKind::Itself))
        };
        assert_eq!(reference(None, Some("$.a")).unwrap().of(), "self");
        assert_eq!(reference(Some("parent"), None).unwrap_err().len(), 2);
    }
}
