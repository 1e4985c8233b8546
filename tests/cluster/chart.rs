//! The chart, as `helm` sees it and as it works: rendered for many values, refused for wrong ones, and installed on a control
//! plane of its own, where the program runs with the token and the rights that the chart made for it, and with nothing else.

mod fence;
mod helm;
mod installed;

pub(crate) use fence::only_the_holder_of_the_lease_writes;
use helm::{CHART, helm};
use installed::Cluster;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Values that go together, by the name of the file that says what comes of them.
const CASES: &[(&str, &str)] = &[
    ("one", "packs: {webapp: {enabled: true}}\n"),
    (
        "all-packs",
        "packs: {webapp: {enabled: true}, database: {enabled: true}, tenant: {enabled: true}, \
         namespace-defaults: {enabled: true}, config-sync: {enabled: true}, preview: {enabled: true}}\n\
         restartOnChange: false\n",
    ),
    (
        "several-replicas",
        "packs: {webapp: {enabled: true}}\nreplicas: 3\nleaderElection: {leaseDuration: 30s}\n\
         flowSchema: {enabled: true}\npriorityClassName: system-cluster-critical\n",
    ),
    (
        "with-a-fence",
        "packs: {webapp: {enabled: true}}\nreplicas: 2\navailability: {fence: true}\ninstallation: shop\n\
         serviceAccount: {name: robot}\n",
    ),
    (
        "shards",
        "packs: {preview: {enabled: true}}\nreplicas: 3\nshards: 3\nleaderElection: {enabled: false}\n",
    ),
    (
        "own-rules",
        "rules: {shop.yaml: \"a: {{ b }}\\n\"}\ntemplates: {shop/deployment.yaml: \"x: {{ y }}\\n\", flat.yaml: \"z\\n\"}\n\
         crds: {install: false}\nruleSources: {configMaps: true}\n\
         rbac: {rules: [{apiGroups: [x.io], resources: [shops], verbs: [list, watch]}]}\n\
         serviceAccount: {create: false, name: robot}\nimage: {repository: registry.example.com/kw, tag: \"1\"}\n",
    ),
    (
        "in-the-image",
        "ruleSources: {imageFolder: /rules-of-ours}\nrbac: {create: false}\n\
         image: {digest: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"}\n",
    ),
    (
        "fenced-and-placed",
        "packs: {config-sync: {enabled: true}}\nnetworkPolicy: {enabled: true, apiServerPorts: [8443], metricsFrom: \
         [{namespaceSelector: {matchLabels: {a: b}}}]}\nserviceMonitor: {enabled: true, labels: {release: p}}\n\
         podLabels: {team: x}\npodAnnotations: {note: \"1\"}\nnodeSelector: {disk: ssd}\n\
         tolerations: [{key: a, operator: Exists}]\naffinity: {nodeAffinity: {}}\nextraEnv: [{name: A, value: b}]\n\
         podDisruptionBudget: {enabled: true, maxUnavailable: 50%}\nlog: {level: debug, format: human}\nworkers: 16\n",
    ),
];

pub(crate) fn it_renders_as_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    for (case, values) in CASES {
        let file = folder.path().join("values.yaml");
        fs::write(&file, values).expect("a file");
        let file = file.to_str().expect("a path");
        let (_, error) = helm(&["lint", "--strict", CHART, "-f", file]).expect(case);
        assert!(!error.contains("WARNING"), "{case}: {error}");
        let (text, _) = rendered(&["-f", file]).expect(case);
        let path = format!("tests/chart/{case}.expected.yaml");
        if std::env::var_os("KUBEWRIGHT_UPDATE").is_some() {
            fs::create_dir_all("tests/chart").expect("a folder");
            fs::write(&path, &text).expect("a file");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            expected == text,
            "{path} is stale: set KUBEWRIGHT_UPDATE=1, and read the difference"
        );
    }
}

pub(crate) fn files_of_others_are_put_in_where_they_are() {
    for (switch, file, kind) in [
        ("prometheusRule.enabled=true", "alerts.yaml", "kind: PrometheusRule"),
        ("dashboard.enabled=true", "dashboard.json", "kubewright.json:"),
    ] {
        let answer = rendered(&["--set", "packs.webapp.enabled=true", "--set", switch]);
        if Path::new(CHART).join("files").join(file).exists() {
            assert!(answer.expect("rendered").0.contains(kind));
        } else {
            let error = answer.expect_err("the file is missing");
            assert!(
                error.contains(&format!("this chart was built without files/{file}")),
                "{error}"
            );
        }
    }
}

pub(crate) fn wrong_values_are_refused_and_named() {
    let on = "packs.webapp.enabled=true";
    for (set, said) in [
        (vec![], "switch a pack on (--set packs.webapp.enabled=true)"),
        (
            vec![on, "replicas=2", "leaderElection.enabled=false"],
            "several replicas without leader election",
        ),
        (vec![on, "availability.fence=true"], "availability.fence needs a leader"),
        (
            vec![on, "availability.fence=true", "shards=2", "leaderElection.enabled=true"],
            "each shard has its own",
        ),
        (
            vec![on, "availability.fence=true", "replicas=2", "installation=Team_A"],
            "has to know the name of the Lease",
        ),
        (vec![on, "availability.fence=maybe"], "fence"),
        (vec![on, "ruleSources.imageFolder=/x"], "leaves no place for packs"),
        (vec![on, "replicas=-1"], "replicas"),
        (vec![on, "replicas=many"], "replicas"),
        (vec![on, "repicas=2"], "repicas"),
        (vec!["packs.webap.enabled=true"], "webap"),
        (vec!["packs.webapp.enabled=yes"], "enabled"),
        (vec![on, "installation=-x-"], "installation"),
        (vec![on, "leaderElection.enabled=maybe"], "enabled"),
        (vec![on, "leaderElection.leaseDuration=fast"], "leaseDuration"),
        (vec![on, "image.digest=latest"], "digest"),
        (vec![on, "log.format=xml"], "format"),
        (vec![on, "networkPolicy.apiServerPorts={0}"], "apiServerPorts"),
        (vec![on, "rules.readme=text"], "readme"),
        (vec![on, r"templates.\.\./x=text"], "../x"),
        (vec![on, "rbac.rules[0].verbs={get}"], "apiGroups"),
    ] {
        let mut arguments = Vec::new();
        for value in &set {
            arguments.extend(["--set", value]);
        }
        let error = rendered(&arguments).expect_err(&format!("{set:?} is refused"));
        assert!(error.contains(said), "{set:?}: {error}");
    }
}

fn rendered(more: &[&str]) -> Result<(String, String), String> {
    let version = kubewright::control_plane::VERSION;
    let usual = ["template", "kubewright", CHART, "-n", "kw", "--kube-version", version];
    helm(&[&usual[..], more].concat())
}

/// The whole life of a release: what it makes works, an upgrade and the end of it take nobody's objects away, and a right that
/// is missing is told by name.
pub(crate) fn a_release_lives_and_goes_and_takes_no_object_along() {
    let cluster = Cluster::start();
    let packs = ["--set", "packs.webapp.enabled=true", "--set", "packs.tenant.enabled=true"];
    cluster.helm(&[&["install", "kw", CHART, "--create-namespace", "--wait"], &packs[..]].concat());
    let deployment = cluster.get("apps/v1", "Deployment", "kw", "kw-kubewright");
    assert_eq!(deployment["status"]["availableReplicas"], 1, "its pod may run: {deployment}");
    cluster.grants_what_rbac_prints();

    for parents in ["webapp", "tenant"] {
        cluster.apply_file(&format!("rules/{parents}.example.yaml"));
    }
    let program = cluster.run_program();
    for name in ["shop", "internal", "busy"] {
        cluster.until_ready("demo.kubewright.io/v1", "WebApp", "default", name, &program);
    }
    cluster.until_ready("demo.kubewright.io/v1", "Tenant", "", "acme", &program);
    cluster.patch_webapp("internal", &json!({"spec": {"replicas": 3}}));
    let has_three = |deployment: &Value| deployment["spec"]["replicas"] == 3;
    cluster.until(
        ("apps/v1", "Deployment", "default", "internal"),
        "has three",
        &program,
        has_three,
    );
    assert!(!program.log().contains("forbidden"), "no right is missing: {}", program.log());
    program.stop();

    let before = cluster.uids();
    cluster.helm(&[
        "upgrade",
        "kw",
        CHART,
        "--reuse-values",
        "--wait",
        "--set",
        "packs.preview.enabled=true",
    ]);
    cluster.get(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "",
        "previewsets.demo.kubewright.io",
    );
    cluster.helm(&[
        "upgrade",
        "kw",
        CHART,
        "--reuse-values",
        "--set",
        "packs.tenant.enabled=false,packs.preview.enabled=false",
    ]);
    assert_eq!(cluster.uids(), before, "an upgrade leaves parents and children alone");

    a_missing_right_is_told_by_name(&cluster);

    let before = cluster.uids();
    cluster.helm(&["uninstall", "kw", "--wait"]);
    assert_eq!(cluster.uids(), before, "everybody's objects stay");
    assert_eq!(cluster.find("apps/v1", "Deployment", "kw", "kw-kubewright"), None);
    assert_eq!(
        cluster.find("rbac.authorization.k8s.io/v1", "ClusterRole", "", "kw-kubewright-webapp"),
        None
    );

    // It comes back and finds everything as it left it.
    cluster.helm(&["install", "kw", CHART, "--set", "packs.webapp.enabled=true"]);
    let program = cluster.run_program();
    cluster.patch_webapp("internal", &json!({"spec": {"replicas": 4}}));
    let has_four = |deployment: &Value| deployment["spec"]["replicas"] == 4;
    cluster.until(("apps/v1", "Deployment", "default", "internal"), "has four", &program, has_four);
    program.stop();
    assert_eq!(cluster.uids(), before);
    cluster.stop();
}

/// Each row takes one verb out of the `ClusterRole` of the chart and does what needs it.
fn a_missing_right_is_told_by_name(cluster: &Cluster) {
    let host = |host: Value| json!({"spec": {"host": host}});
    for (resource, verb, deed) in [
        ("webapps", "list", json!({})),
        ("webapps/status", "patch", json!({"spec": {"replicas": 2}})),
        ("services", "list", json!({})),
        ("services", "watch", json!({})),
        ("ingresses", "create", host(json!("internal.example.com"))),
        ("ingresses", "delete", host(Value::Null)),
        ("deployments", "patch", json!({"spec": {"replicas": 5}})),
    ] {
        let whole = cluster.without_verb("kw-kubewright-webapp", resource, verb);
        let program = cluster.run_program();
        cluster.patch_webapp("internal", &deed);
        let (name, sub) = resource.split_once('/').unwrap_or((resource, ""));
        let resource = if sub.is_empty() { name.to_owned() } else { format!("{name}/{sub}") };
        cluster.until_told(&format!("cannot {verb} resource \"{resource}\""), &program);
        cluster.restore(&whole);
        // Whatever was left undone is done once the right is there.
        let now = json!({"metadata": {"annotations": {"kubewright.io/reconcile": format!("{verb}-{name}")}}});
        cluster.patch_webapp("internal", &now);
        cluster.until_ready("demo.kubewright.io/v1", "WebApp", "default", "internal", &program);
        program.stop();
    }
}
