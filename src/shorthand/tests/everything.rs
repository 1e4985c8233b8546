//! Whole rules: the CRD of one that uses everything, and one whose CRD was written by hand.

use crate::rule::{Folder, Loaded, load};
use crate::shorthand::crd;
use crate::source::Source;
use crate::yaml::{Limits, parse};
use std::sync::Arc;

const EVERYTHING: &str = include_str!("../../../tests/fixtures/shorthand/everything.yaml");
const GOLDEN: &str = include_str!("../../../tests/fixtures/shorthand/everything.crd.yaml");
const PAGE: &str = include_str!("../../../docs/SHORT-SCHEMA.md");
const WEBAPP: &str = include_str!("../../../tests/fixtures/shorthand/webapp.yaml");
const WEBAPP_CRD: &str = include_str!("../../../tests/fixtures/shorthand/webapp.crd.yaml");

fn loaded(files: &[(&str, &str)]) -> Loaded {
    let source = |(name, text): &(&str, &str)| Source::new(*name, *text);
    let templates = ["configmap", "deployment", "service", "ingress"].map(|name| {
        let text = format!("apiVersion: v1\nkind: {name}\nmetadata: {{name: a}}\n");
        let name = format!("webapp/{name}.yaml");
        (name.clone(), Source::new(name, text))
    });
    load(&Folder {
        rules: files.iter().map(source).collect(),
        templates: Arc::new(templates.into_iter().collect()),
    })
}

/// The schema of the hand-written CRD in short form.
const SHORT: &str = "  schema:
    spec:
      image: string, required, minLength 1 \"Container image to run.\"
      replicas: int32 = 1, min 0 \"How many pods.\"
      autoscaled: boolean \"An autoscaler owns the number of replicas; ours is only the first one.\"
      port: int32 = 8080, min 1, max 65535 \"The port the container listens on.\"
      host: string \"Host name to serve under; without it there is no Ingress.\"
      env: map of string \"Environment variables by name.\"
      files: map of string \"Files by name, mounted under /etc/webapp.\"
    status:
      phase: string, column
      availableReplicas: int32, column Available
      url: string, column URL
";

fn webapp(schema: &str) -> String {
    WEBAPP.replace("\n  let: |\n", &format!("\n{schema}\n  let: |\n"))
}

#[test]
fn the_crd_of_everything_is_as_it_was_looked_at() {
    let loaded = loaded(&[("everything.yaml", EVERYTHING)]);
    assert_eq!(loaded.problems, []);
    let definition = loaded.rules[0].definition.as_ref().unwrap();
    let golden = GOLDEN.split_once('\n').map_or("", |(_, text)| text);
    // To be made anew with `kubewright crd tests/fixtures/shorthand/everything.yaml`, and looked at again.
    assert_eq!(definition.to_yaml(), golden);
    let read = parse(golden, &Limits::FILE).unwrap();
    assert_eq!(crd(&loaded.rules[0]), Some(read[0].root.to_json()));
}

#[test]
fn the_hand_written_crd_of_webapp_has_a_short_form() {
    let loaded = loaded(&[("webapp.yaml", &webapp(SHORT))]);
    assert_eq!(loaded.problems, []);
    let by_hand = parse(WEBAPP_CRD, &Limits::FILE).unwrap()[0].root.to_json();
    assert_eq!(crd(&loaded.rules[0]), Some(by_hand.clone()));
    assert_eq!(loaded.crds.iter().map(|crd| &crd.object).collect::<Vec<_>>(), [&by_hand]);
}

#[test]
fn a_copy_beside_the_rule_must_say_the_same() {
    let copied = loaded(&[("webapp.yaml", &webapp(SHORT)), ("crd.yaml", WEBAPP_CRD)]);
    assert_eq!(copied.problems, []);
    assert_eq!(copied.crds.len(), 1);
    assert_eq!(copied.crds[0].place.source.name, "crd.yaml");

    let changed = webapp(&SHORT.replace("min 0", "min 1"));
    let differing = loaded(&[("webapp.yaml", &changed), ("crd.yaml", WEBAPP_CRD)]);
    let problems: Vec<String> = differing.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "webapp.yaml:10:5: WebApp.demo.kubewright.io is described by this schema and, differently, at crd.yaml:1:1 \
          (remove one of them: the short schema, or the other; a copy is made anew with `kubewright crd`)"
        ]
    );
    assert_eq!((differing.crds.len(), differing.rules.len()), (1, 1), "the rule itself is sound");

    // Both write a status: of different objects.
    let within = |rule: &str, name: &str| {
        rule.replace("kind: WebApp}", &format!("kind: WebApp, namespaces: [{name}]}}"))
    };
    let twin = changed.replace("name: webapp\n", "name: twin\n");
    let (one, twin) = (within(&webapp(SHORT), "one"), within(&twin, "two"));
    let twins = loaded(&[("a.yaml", &one), ("b.yaml", &twin)]);
    assert_eq!(twins.problems.len(), 1);
    assert!(
        twins.problems[0].message.ends_with("differently, at b.yaml:10:5"),
        "{}",
        twins.problems[0]
    );
}

#[test]
fn a_schema_with_mistakes_spoils_its_rule_and_shows_all_of_them() {
    let wrong = webapp(&SHORT.replace("boolean", "bool").replace("int32 = 8080", "int32 = 0"));
    let loaded = loaded(&[("webapp.yaml", &wrong), ("everything.yaml", EVERYTHING)]);
    let shown: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "webapp.yaml:13:19: there is no type `bool` (write `boolean`)",
            "webapp.yaml:14:21: this default cannot be: 0 is less than 1",
        ]
    );
    assert_eq!(loaded.bad, ["webapp"]);
    assert_eq!(loaded.rules.len(), 1);
}

#[test]
fn a_built_in_parent_has_no_schema_of_its_own() {
    let rule =
        webapp(SHORT).replace("demo.kubewright.io/v1, kind: WebApp", "apps/v1, kind: Deployment");
    let loaded = loaded(&[("webapp.yaml", &rule)]);
    let shown: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "webapp.yaml:7:24: `apps` is no group for a kind of your own (a kind that exists needs no `schema`; a new one is \
          in a domain of yours: `apps.example.com/v1`)"
        ]
    );
}

#[test]
fn the_example_of_the_documentation_compiles() {
    let (_, block) = PAGE.split_once("```yaml\n").unwrap();
    let (rule, _) = block.split_once("```").unwrap();
    let loaded = loaded(&[("shop.yaml", rule)]);
    assert_eq!(loaded.problems, [], "{rule}");
    assert!(loaded.rules[0].definition.is_some(), "{rule}");
}
