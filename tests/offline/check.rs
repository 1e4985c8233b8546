//! `check` and `render` with types: the program itself is run on folders with mistakes that only types show.

use crate::commands::{folder, run};

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.x.io}
spec:
  group: x.io
  scope: Namespaced
  names: {kind: App, plural: apps, singular: app, listKind: AppList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                image: {type: string}
                replicas: {type: integer, default: 2}
                env: {type: object, additionalProperties: {type: string}}
            status:
              type: object
              properties:
                phase: {type: string, enum: [Good, Bad]}
                replicas: {type: integer}
";

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: app}
spec:
  parent: {apiVersion: x.io/v1, kind: App}
  children:
    - {id: web, template: web.yaml}
  status:
    fields: |
      phase: Good
";

const TEMPLATE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ parent.metadata.name }}}
spec:
  replicas: {{ parent.spec.replicas }}
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
        - name: app
          image: {{ parent.spec.image }}
          {% if parent.spec.env %}
          env:
            {% for name, value in parent.spec.env|items %}
            - {name: {{ name }}, value: {{ value }}}
            {% endfor %}
          {% endif %}
";

const PARENT: &str = "\
apiVersion: x.io/v1
kind: App
metadata: {name: one}
spec:
  image: example.com/a:1
  env: {A: b, C: d}
---
apiVersion: x.io/v1
kind: App
metadata: {name: two}
spec: {image: example.com/a:2, replicas: 3}
";

/// What `check` says of a folder with these changes; its problems on standard error.
fn checked(changes: &[(&str, &str)]) -> (i32, String, String) {
    let change = |text: &str| {
        changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    for (from, _) in changes {
        let files = [CRD, RULE, TEMPLATE, PARENT];
        assert!(files.iter().any(|file| file.contains(from)), "nothing says {from}");
    }
    let files = [
        ("rules/app.crd.yaml", &change(CRD)),
        ("rules/app.yaml", &change(RULE)),
        ("rules/example.yaml", &change(PARENT)),
        ("templates/web.yaml", &change(TEMPLATE)),
    ];
    let files = files.map(|(name, text)| (name, text.as_str()));
    run(folder(&files).path(), &["check"])
}

#[test]
fn a_folder_without_mistakes_is_fine() {
    let (code, out, error) = checked(&[]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert_eq!(out, "1 rule is fine, 2 example parents rendered\n");
}

#[test]
fn a_mistake_in_a_child_is_shown_once_where_the_template_writes_it() {
    for (from, to, place, message) in [
        (
            "  replicas: {{",
            "  replicsa: {{",
            "web.yaml:5:3",
            "Deployment $.spec.replicsa is not known",
        ),
        (
            "replicas: {{ parent.spec.replicas }}",
            "replicas: \"{{ parent.spec.replicas }}\"",
            "web.yaml:5:3",
            "Deployment $.spec.replicas is the text \"2\", should be an integer",
        ),
        (
            "value: {{ value }}",
            "value: {{ 1 }}",
            "web.yaml:16:",
            "Deployment $.spec.template.spec.containers[0].env[0].value is 1, should be text",
        ),
        (
            "        - name: app\n",
            "        - imagePullPolicy: Sometimes\n          name: app\n",
            "web.yaml:11:11",
            "is \"Sometimes\", should be one of",
        ),
        (
            "selector: {matchLabels: {app: a}}",
            "paused: true",
            "web.yaml:4:1",
            "$.spec.selector is missing",
        ),
    ] {
        let (code, _, error) = checked(&[(from, to)]);
        assert_eq!(code, 3, "{to}: {error}");
        assert!(
            error.contains(message) && error.contains(place),
            "{message} at {place} in:\n{error}"
        );
        assert_eq!(error.matches(message).count(), error.matches(place).count(), "{error}");
    }
}

#[test]
fn a_mistake_in_a_parent_a_definition_and_a_status_is_shown_at_its_line() {
    for (from, to, place, message) in [
        (
            "env: {A: b, C",
            "env: {A: 1, C",
            "example.yaml:6:9",
            "App $.spec.env.A is 1, should be text",
        ),
        ("replicas: 3}", "replicsa: 3}", "example.yaml:11:32", "App $.spec.replicsa is not known"),
        (
            "served: true",
            "serverd: true",
            "app.crd.yaml:10:7",
            "CustomResourceDefinition $.spec.versions[0].serverd",
        ),
        (
            "phase: Good",
            "phase: Great",
            "app.yaml:10:7",
            "App $.status.phase is \"Great\", should be one of",
        ),
        ("phase: Good", "phsae: Good", "app.yaml:10:7", "no App has `$.status.phsae`"),
        (
            "      subresources: {status: {}}\n",
            "",
            "app.yaml:5:39",
            "App has no status subresource",
        ),
        ("parent.spec.env %}", "parent.spec.envs %}", "web.yaml:13:17", "no App has `$.spec.envs`"),
    ] {
        let (code, _, error) = checked(&[(from, to)]);
        assert_eq!(code, 3, "{to}: {error}");
        assert!(
            error.contains(message) && error.contains(place),
            "{message} at {place} in:\n{error}"
        );
    }
}

#[test]
fn defaults_of_the_definition_are_what_templates_see() {
    let files = [
        ("rules/app.crd.yaml", CRD),
        ("rules/app.yaml", RULE),
        ("templates/web.yaml", TEMPLATE),
        ("parent.yaml", "{apiVersion: x.io/v1, kind: App, metadata: {name: a}, spec: {image: i}}"),
    ];
    let (code, out, error) = run(folder(&files).path(), &["render", "-f", "parent.yaml"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(out.contains("replicas: 2\n"), "{out}");
}

#[test]
fn kinds_that_nothing_defines_are_named_and_crds_defines_them() {
    let template = "apiVersion: y.io/v1\nkind: Other\nmetadata: {name: a}\nspec: {a: 1}\n";
    let other = CRD.replace("x.io", "y.io").replace("App", "Other").replace("apps", "others");
    let files = [
        ("rules/app.crd.yaml", CRD),
        ("rules/app.yaml", RULE),
        ("rules/example.yaml", PARENT),
        ("templates/web.yaml", template),
        ("others/readme.txt", "not a definition"),
        ("others/deep/other.yaml", other.as_str()),
    ];
    let folder = folder(&files);
    let (code, _, error) = run(folder.path(), &["check"]);
    assert_eq!(code, 0, "{error}");
    assert!(error.contains("not checked") && error.contains("y.io/v1 Other\n"), "{error}");
    for crds in ["others", "others/deep/other.yaml"] {
        let (code, _, error) = run(folder.path(), &["check", "--crds", crds]);
        assert_eq!(code, 3, "{error}");
        assert!(error.contains("Other $.spec.a is not known"), "{error}");
        assert!(error.contains("web.yaml:4:8"), "{error}");
    }
    std::fs::write(folder.path().join("others/broken.yaml"), "a: [").unwrap();
    let (code, _, error) = run(folder.path(), &["check", "--crds", "others"]);
    assert!(code == 3 && error.contains("others/broken.yaml:1:"), "{error}");
    std::fs::remove_file(folder.path().join("others/broken.yaml")).unwrap();
    let (code, _, error) = run(folder.path(), &["check", "--crds", "nowhere"]);
    assert_eq!((code, error.contains("there is no `nowhere`")), (1, true), "{error}");
    let (code, out, error) = run(folder.path(), &["render", "--crds", "others"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
}
