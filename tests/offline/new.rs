//! `new`: what it writes is accepted by `check` and renders back what it was made from.

use crate::program::{files, folder, run, run_with};
use kubewright::yaml::{self, Limits};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

fn objects(text: &str) -> Vec<Value> {
    let documents = yaml::parse(text, &Limits::FILE).unwrap();
    let mut objects: Vec<_> =
        documents.iter().map(|document| plain(document.root.to_json())).collect();
    objects.retain(|object| !object.is_null());
    objects.sort_by_key(|object| format!("{} {}", object["kind"], object["metadata"]["name"]));
    objects
}

/// Without what the rule adds and without the namespace.
fn plain(mut object: Value) -> Value {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return object;
    };
    metadata.remove("ownerReferences");
    metadata.remove("namespace");
    for kind in ["labels", "annotations"] {
        let Some(entries) = metadata.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        entries.retain(|name, _| !name.starts_with("kubewright.io/"));
        if entries.is_empty() {
            metadata.remove(kind);
        }
    }
    object
}

/// Makes a rule `app` and gives the folder and what the command said, after seeing that `check` accepts it and `render`
/// gives back `expected`.
fn round_trip(manifests: &str, expected: &str) -> (tempfile::TempDir, String) {
    let made = folder(&[("in.yaml", manifests)]);
    let (code, out, error) = run(made.path(), &["new", "app", "--from", "in.yaml"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    let (code, checked, error) = run(made.path(), &["check"]);
    assert_eq!((code, error.as_str()), (0, ""), "{checked}");
    let (code, rendered, error) = run(made.path(), &["render"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert_eq!(objects(&rendered), objects(expected));
    (made, out)
}

const SHOP: &str = "\
# The shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: prod
  labels: {app: shop, tier: web} # flow style
spec:
  replicas: 3
  selector:
    matchLabels:
      app: shop
  template:
    metadata:
      labels:
        app: shop
        tier: web
    spec:
      serviceAccountName: default
      containers:
        - name: web
          image: \"registry.example.com/shop:1.4.2\" # keep in step with the chart
          args: [\"--name\", \"shop\"]
          ports:
            - {name: http, containerPort: 8080}
          env:
            # Countries.
            - name: COUNTRY
              value: \"no\"
            - {name: TIMEOUT, value: \"0755\"}
            - name: POD
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
          readinessProbe:
            httpGet: {path: /, port: 8080}
          resources:
            requests: {cpu: 100m, memory: 64Mi}
          volumeMounts:
            - {name: config, mountPath: /etc/shop}
      volumes:
        - name: config
          configMap:
            name: shop-config
---
apiVersion: v1
kind: Service
metadata:
  name: shop
  namespace: prod
spec:
  selector: {app: shop}
  ports:
    - port: 80
      targetPort: 8080
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec:
  tls:
    - hosts: [shop.example.com]
      secretName: shop-tls
  rules:
    - host: shop.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {service: {name: shop, port: {number: 80}}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: shop-config
data:
  # A script with everything in it.
  start.sh: |
    #!/bin/sh
    echo ${HOME} {{ not a template }} {% nor this %} {# nor this #}
      exec shop

  plain: yes it is
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: shop
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  minReplicas: 2
  maxReplicas: 9
";

const SHOP_TOLD: &str = "\
wrote rules/app.yaml
wrote rules/app.crd.yaml
wrote rules/app.example.yaml
wrote templates/app/deployment.yaml
wrote templates/app/service.yaml
wrote templates/app/ingress.yaml
wrote templates/app/config.yaml
wrote templates/app/autoscaler.yaml

The example parent renders back exactly the 5 objects given.
Fields of the parent: config.plain, config.start.sh, env.COUNTRY, env.TIMEOUT, host, image, maxReplicas, minReplicas, \
port, replicas, resources.requests.cpu, resources.requests.memory

Please look at:
  Deployment shop: spec.template.spec.containers[0].args[1] still says `shop`
  Deployment shop: spec.template.spec.containers[0].volumeMounts[0].mountPath still says `shop`
  Ingress shop: spec.tls[0].secretName still says `shop`

Next:
  kubewright check         # every mistake in rules and templates; needs no cluster
  kubewright render        # the children of the example parents
  kubewright dev --once    # on a real local control plane, until all is ready
";

const SHOP_RULE: &str = "\
# For every App, the objects of the manifests that this rule was made from.
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata:
  name: app
spec:
  parent: {apiVersion: demo.example.com/v1, kind: App}

  let: |
    name: {{ parent.metadata.name }}

  children:
    - id: deployment
      template: app/deployment.yaml
      # The autoscaler owns the number of replicas; ours is only the first one.
      ignore: [{path: \"$.spec.replicas\"}]
    - id: service
      template: app/service.yaml
    - id: ingress
      template: app/ingress.yaml
    - id: config
      template: app/config.yaml
    - id: autoscaler
      template: app/autoscaler.yaml

  # Ready, Reconciling and Stalled on the parent; fields and conditions of your own go here.
  status: {}
";

const SHOP_DEPLOYMENT: &str = "\
# The shop.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ let.name }}
  labels: {app: {{ let.name }}, tier: web} # flow style
spec:
  replicas: {{ parent.spec.replicas }}
  selector:
    matchLabels:
      app: {{ let.name }}
  template:
    metadata:
      labels:
        app: {{ let.name }}
        tier: web
    spec:
      serviceAccountName: default
      containers:
        - name: web
          image: {{ parent.spec.image }} # keep in step with the chart
          args: [\"--name\", \"shop\"]
          ports:
            - {name: http, containerPort: {{ parent.spec.port }}}
          env:
            # Countries.
            - name: COUNTRY
              value: {{ parent.spec.env.COUNTRY }}
            - {name: TIMEOUT, value: {{ parent.spec.env.TIMEOUT }}}
            - name: POD
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
          readinessProbe:
            httpGet: {path: /, port: {{ parent.spec.port }}}
          resources:
            requests: {cpu: {{ parent.spec.resources.requests.cpu }}, memory: {{ parent.spec.resources.requests.memory }}}
          volumeMounts:
            - {name: config, mountPath: /etc/shop}
      volumes:
        - name: config
          configMap:
            name: {{ let.name }}-config
";

const SHOP_CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ let.name }}-config
data:
  # A script with everything in it.
  start.sh: {{ parent.spec.config[\"start.sh\"] }}

  plain: {{ parent.spec.config.plain }}
";

#[test]
fn a_web_application_becomes_a_rule_that_renders_it_back() {
    let (made, out) = round_trip(SHOP, SHOP);
    assert_eq!(out, SHOP_TOLD);
    assert_eq!(read(made.path(), "rules/app.yaml"), SHOP_RULE);
    assert_eq!(read(made.path(), "templates/app/deployment.yaml"), SHOP_DEPLOYMENT);
    assert_eq!(read(made.path(), "templates/app/config.yaml"), SHOP_CONFIG);
    let example = &objects(&read(made.path(), "rules/app.example.yaml"))[0];
    assert_eq!(example["metadata"]["name"], "shop");
    assert_eq!(example["spec"]["env"]["COUNTRY"], "no", "a text stays one");
    assert!(read(made.path(), "rules/app.example.yaml").contains("namespace: prod"));
    let crd = &objects(&read(made.path(), "rules/app.crd.yaml"))[0];
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(spec["required"], serde_json::json!(["host", "image"]));
    assert_eq!(spec["properties"]["replicas"]["default"], 3);
}

#[test]
fn another_parent_of_the_new_rule_gets_objects_of_its_own() {
    let (made, _) = round_trip(SHOP, SHOP);
    let example = read(made.path(), "rules/app.example.yaml").replace("name: shop", "name: other");
    fs::write(made.path().join("other.yaml"), example).unwrap();
    let (code, out, error) = run(made.path(), &["render", "-f", "other.yaml"]);
    assert_eq!((code, error.as_str()), (0, ""));
    let names: Vec<_> =
        objects(&out).iter().map(|object| object["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["other-config", "other", "other", "other", "other"]);
    assert!(!out.contains("app: shop"), "{out}");
}

#[test]
fn a_database_keeps_its_claims_and_its_exported_bookkeeping_goes() {
    let expected = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata:
      labels: {app: db}
    spec:
      initContainers:
        - name: prepare
          image: busybox:1
          command: [sh, -c, 'echo \"{{ .Values.x }}\"']
      containers:
        - name: db
          image: postgres:17
          ports:
            - {containerPort: 5432}
            - {name: metrics, containerPort: 9187}
          env:
            - {name: PGDATA, value: /data}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 10Gi}}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec:
  clusterIP: None
  selector: {app: db}
  ports: [{port: 5432, targetPort: 5432}]
";
    let exported = expected.replacen(
        "  name: db\n",
        "  name: db\n  namespace: data\n  uid: 1-2\n  resourceVersion: \"7\"\n  creationTimestamp: \"2026-01-01T00:00:00Z\"\n  \
         generation: 3\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {\"a\":\"{{ x }}\"}\n",
        1,
    ) + "status:\n  loadBalancer: {}\n";
    let (made, out) = round_trip(&exported, expected);
    let template = read(made.path(), "templates/app/statefulSet.yaml");
    for line in [
        "  name: {{ let.name }}\nspec:\n  serviceName: {{ let.name }}\n",
        "          image: {{ parent.spec.prepare.image }}\n",
        "          command: [sh, -c, 'echo \"{{ \"{{\" }} .Values.x }}\"']\n",
        "            - {containerPort: {{ parent.spec.statefulSet.port }}}\n",
        "            - {name: metrics, containerPort: {{ parent.spec.statefulSet.metricsPort }}}\n",
        "        resources: {requests: {storage: {{ parent.spec.storage }}}}\n",
    ] {
        assert!(template.contains(line), "{line}\nis not in\n{template}");
    }
    assert!(!out.contains("printed anew"), "{out}");
}

#[test]
fn a_cron_job_and_odd_values_come_back_as_they_were() {
    let manifests = "\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: backup
  annotations: {note: \"{{ now }}\", octal: \"0755\", answer: 'no', empty: ''}
spec:
  schedule: \"*/5 * * * *\"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: backup
              image: backup
              env: [{name: A, value: ''}, {name: B, value: \"1_000\"}, {\"name\":\"C\",\"value\":\"{{\"}]
              args:
                - |
                  set -e
                  for f in ${FILES}; do
                    printf '{%s}' \"{{$f}}\" {#x
                  done
                - >-
                  folded
                  text
                - ~
              securityContext: {runAsUser: 0755, readOnlyRootFilesystem: yes}
";
    let manifests = manifests.replace("                - ~\n", "");
    let (made, _) = round_trip(&manifests, &manifests);
    let template = read(made.path(), "templates/app/cronJob.yaml");
    assert!(
        template.contains("printf '{{ \"{%\" }}s}' \"{{ \"{{\" }}$f}}\" {{ \"{#\" }}x\n"),
        "{template}"
    );
    assert!(template.contains("runAsUser: 0755"), "{template}");
    let example = &objects(&read(made.path(), "rules/app.example.yaml"))[0];
    assert_eq!(example["spec"]["schedule"], "*/5 * * * *");
    assert_eq!(example["spec"]["env"]["C"], "{{", "what a parent says is no template");
}

#[test]
fn lists_json_anchors_and_unusual_layouts_come_back() {
    let list = "\
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: a # the first
    data: &data
      k: |+
        text

      x: \"\"
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: a-b, creationTimestamp: null, uid: x}
    data: {k: v}
metadata: {resourceVersion: \"\"}
";
    let expected = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {k: \"text\\n\\n\", x: \"\"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a-b}
data: {k: v}
";
    let (made, out) = round_trip(list, expected);
    assert!(read(made.path(), "templates/app/config.yaml").contains("# the first"));
    assert!(out.contains("ConfigMap a-b: printed anew, without its comments"), "{out}");

    let json = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80}],"selector":{"app":"a"}}}"#;
    let (made, _) = round_trip(json, json);
    assert!(
        read(made.path(), "rules/app.yaml")
            .contains("kinds: [{apiVersion: \"v1\", kind: \"Service\"}]")
    );

    let anchors = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: &labels {app: a}}
spec:
  selector: {matchLabels: *labels}
  template:
    metadata: {labels: *labels}
    spec:
      containers:
      - name: one
        image: &image nginx
        env: &env
        - {name: X, value: \"1\"}
      - {name: two, image: *image, env: *env}
";
    round_trip(anchors, anchors);
    let windows = SHOP.replace('\n', "\r\n");
    round_trip(&windows, SHOP);
}

#[test]
fn fields_that_several_objects_have_are_kept_apart() {
    let manifests = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: x-api}
spec:
  replicas: 2
  selector: {matchLabels: {app: x-api}}
  template:
    metadata: {labels: {app: x-api}}
    spec:
      containers:
      - {name: app, image: a, env: [{name: LEVEL, value: debug}]}
      - {name: x-api, image: sidecar, ports: [{containerPort: 1}, {containerPort: 2}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: x-web}
spec:
  replicas: 3
  selector: {matchLabels: {app: x-web}}
  template:
    metadata: {labels: {app: x-web}}
    spec:
      containers: [{name: app, image: b, env: [{name: LEVEL, value: info}]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x-in}
data: {in: 'a: \"{{ b }}\"'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x.y}
data:
  in: >-
    folded
    text
  text: |2-
      no
";
    let (_, out) = round_trip(manifests, manifests);
    assert!(
        out.contains(
            "configIn.config.in, configY.config.in, configY.config.text, deploymentApi.replicas, deploymentApiApp.env.LEVEL, \
             deploymentApiApp.image, deploymentWeb.replicas, deploymentWebApp.env.LEVEL, deploymentWebApp.image"
        ),
        "{out}"
    );
}

#[test]
fn cluster_scoped_objects_make_a_cluster_scoped_parent() {
    let manifests = "\
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: team, namespace: team}
";
    let (made, _) = round_trip(manifests, manifests);
    let crd = &objects(&read(made.path(), "rules/app.crd.yaml"))[0];
    assert_eq!(crd["spec"]["scope"], "Cluster");
    let account = read(made.path(), "templates/app/serviceAccount.yaml");
    assert!(account.contains("{name: {{ let.name }}, namespace: {{ let.name }}}"), "{account}");
}

#[test]
fn secrets_never_become_fields_and_foreign_names_are_told() {
    let manifests = "\
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData: {password: hunter2}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: b}
";
    let made = folder(&[]);
    let arguments =
        ["new", "app", "--from", "-", "--kind", "Vault", "--group", "x.io", "--out", "deep/er"];
    let (code, out, error) = run_with(made.path(), &arguments, manifests);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(out.contains("Secret a: its values stay in the template"), "{out}");
    assert!(out.contains("ServiceAccount b: its name does not begin with `a`"), "{out}");
    assert!(out.contains("  cd deep/er\n"), "{out}");
    assert!(!read(made.path(), "deep/er/rules/app.example.yaml").contains("hunter2"));
    assert!(
        read(made.path(), "deep/er/rules/app.yaml").contains("{apiVersion: x.io/v1, kind: Vault}")
    );
    let (code, ..) = run(&made.path().join("deep/er"), &["check"]);
    assert_eq!(code, 0);
}

#[test]
fn bad_input_is_refused_whole_with_file_line_and_column() {
    for (manifests, code, expected) in [
        ("a: [1\n", 3, "in.yaml:1:4"),
        ("a: 1\na: 2\n", 3, "in.yaml:2:1"),
        ("# nothing\n", 3, "there is no object in in.yaml"),
        ("apiVersion: v1\nkind: Pod\n---\nfoo: bar\n", 3, "in.yaml:4:1"),
        ("apiVersion: v1\nkind: Pod\n---\nfoo: bar\n", 3, "error: 2 problems"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n",
            3,
            "this Pod has no `metadata.name`",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: 1}\n",
            3,
            "ConfigMap a: data.x must be a string, not a number",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n---\napiVersion: v1\nkind: ConfigMap\n\
             metadata: {name: c, namespace: d}\n",
            3,
            "ConfigMap c is in `d`, others are in `b`",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
            3,
            "ConfigMap a is at in.yaml:1:1 too",
        ),
    ] {
        let made = folder(&[("in.yaml", manifests)]);
        let (got, out, error) = run(made.path(), &["new", "app", "--from", "in.yaml"]);
        assert_eq!((got, out.as_str()), (code, ""), "{manifests}");
        assert!(error.contains(expected), "{expected} is not in\n{error}");
        assert_eq!(files(made.path()), ["in.yaml"]);
    }
    let empty = folder(&[]);
    let (code, _, error) = run(empty.path(), &["new", "app", "--from", "missing.yaml"]);
    assert_eq!(code, 1);
    assert!(error.contains("cannot read `missing.yaml`"), "{error}");
    let (code, _, error) = run(empty.path(), &["new", "../app"]);
    assert_eq!(code, 3);
    assert!(error.contains("`../app` is no name for a rule"), "{error}");
}

#[test]
fn files_that_exist_are_listed_and_nothing_is_written() {
    let made = folder(&[("rules/greeting.yaml", "mine"), ("templates/greeting/page.yaml", "mine")]);
    let (code, out, error) = run(made.path(), &["new", "greeting"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        error,
        "\
error: these files exist already, nothing was written:
  rules/greeting.yaml
  templates/greeting/page.yaml
move them away, choose another name, or another folder with --out
"
    );
    assert_eq!(files(made.path()), ["rules/greeting.yaml", "templates/greeting/page.yaml"]);
    assert_eq!(read(made.path(), "rules/greeting.yaml"), "mine");
}

#[test]
fn a_rule_of_that_name_in_another_file_is_noticed() {
    let rule = "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: greeting}\n";
    let made = folder(&[("rules/mine.yaml", rule)]);
    let (code, _, error) = run(made.path(), &["new", "greeting"]);
    assert_eq!(code, 1);
    assert!(error.contains("there is a rule `greeting` already"), "{error}");
    assert_eq!(files(made.path()), ["rules/mine.yaml"]);
}

#[test]
fn a_failure_in_the_middle_leaves_nothing_behind() {
    let made = folder(&[("out/templates", "a file where a folder should be")]);
    let (code, _, error) = run(made.path(), &["new", "greeting", "--out", "out"]);
    assert_eq!(code, 1);
    assert!(error.contains("nothing was written"), "{error}");
    assert_eq!(files(made.path()), ["out/templates"]);
    assert!(!made.path().join("out/rules").exists());
}

#[test]
fn the_small_example_checks_and_renders() {
    let made = folder(&[]);
    let (code, out, error) = run(made.path(), &["new", "greeting"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(
        out.ends_with(
            "  kubewright dev --once    # on a real local control plane, until all is ready\n"
        ),
        "{out}"
    );
    let (code, out, error) = run(made.path(), &["check"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert_eq!(out, "1 rule is fine, 2 example parents rendered\n");
    let (_, out, _) = run(made.path(), &["render"]);
    assert!(out.contains("<h1>Hello, World!</h1>"), "{out}");
    assert!(out.contains("<h1>Good night, no!</h1>"), "{out}");
}

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: backups, singular: backup, kind: Backup, listKind: BackupList}
  versions:
    - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [schedule, keep, target, mode]
              properties:
                schedule: {type: string, pattern: '^[0-9* /,-]+$'}
                keep: {type: integer, minimum: 3}
                mode: {type: string, enum: [full, partial]}
                target:
                  type: object
                  required: [bucket]
                  properties: {bucket: {type: string}, 'region': {type: string}}
                note: {type: string}
            status:
              type: object
              properties:
                conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

#[test]
fn a_crd_becomes_a_rule_with_a_plausible_parent() {
    let made = folder(&[("crd.yaml", CRD)]);
    let (code, out, error) = run(made.path(), &["new", "backup", "--crd", "crd.yaml"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(!out.contains("must match"), "a text that fits was found: {out}");
    assert_eq!(
        read(made.path(), "rules/backup.example.yaml"),
        "\
apiVersion: example.com/v1
kind: Backup
metadata:
  name: backup
spec:
  keep: 3
  mode: full
  schedule: \"* * * * *\"
  target:
    bucket: example
"
    );
    assert_eq!(
        read(made.path(), "templates/backup/config.yaml"),
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ let.name }}-config
data:
  keep: \"{{ parent.spec.keep }}\"
  mode: \"{{ parent.spec.mode }}\"
  schedule: \"{{ parent.spec.schedule }}\"
  target.bucket: \"{{ parent.spec.target.bucket }}\"
"
    );
    assert_eq!(read(made.path(), "rules/backup.crd.yaml"), CRD);
    assert!(read(made.path(), "rules/backup.yaml").contains("type: Configured"));
    let (code, out, error) = run(made.path(), &["check"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert_eq!(out, "1 rule is fine, 1 example parent rendered\n");
}

#[test]
fn a_crd_that_stands_in_the_rules_folder_is_not_copied() {
    let made = folder(&[("rules/kinds/backup.yaml", CRD)]);
    let (code, _, error) = run(made.path(), &["new", "backup", "--crd", "rules/kinds/backup.yaml"]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(!made.path().join("rules/backup.crd.yaml").exists());
    assert_eq!(run(made.path(), &["check"]).0, 0);
}

#[test]
fn what_is_no_usable_crd_says_so() {
    let two = format!("{CRD}---\n{}", CRD.replace("kind: Backup,", "kind: Restore,"));
    let (old, unserved) = (
        CRD.replace("k8s.io/v1\n", "k8s.io/v1beta1\n"),
        CRD.replace("served: true", "served: false"),
    );
    for (text, arguments, expected) in [
        (SHOP, vec![], "there is no CustomResourceDefinition in this file"),
        (two.as_str(), vec![], "choose one with --kind: Backup, Restore"),
        (two.as_str(), vec!["--kind", "Other"], "there are: Backup, Restore"),
        (old.as_str(), vec![], "crd.yaml:1:13"),
        (unserved.as_str(), vec![], "this CRD serves no version"),
        ("a: [", vec![], "crd.yaml:1:"),
    ] {
        let made = folder(&[("crd.yaml", text)]);
        let all: Vec<_> =
            ["new", "backup", "--crd", "crd.yaml"].into_iter().chain(arguments).collect();
        let (code, _, error) = run(made.path(), &all);
        assert_eq!(code, 3, "{error}");
        assert!(error.contains(expected), "{expected} is not in\n{error}");
        assert_eq!(files(made.path()), ["crd.yaml"]);
    }
    let made = folder(&[("crd.yaml", two.as_str())]);
    let (code, ..) =
        run(made.path(), &["new", "restore", "--crd", "crd.yaml", "--kind", "Restore"]);
    assert_eq!(code, 0);
}
