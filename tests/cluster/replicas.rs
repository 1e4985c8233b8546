//! Processes as pods run them: what they serve, how they stop, and that of several only one writes, whatever becomes of it.

use crate::replica::Replica;
use crate::sandbox::{Sandbox, TEST_GROUP};
use crate::world::{Request, eventually, world};
use futures::future::join_all;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, PostParams};
use kubewright::metrics::FAMILIES;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Short, but not so short that a busy machine loses it.
const LEASE: Duration = Duration::from_secs(6);

/// For every parent two ConfigMaps.
fn rule(kind: &str, namespace: &str) -> String {
    let child = |id: &str| {
        format!(
            "    - id: {id}
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {{name: \"{{{{ parent.metadata.name }}}}-{id}\"}}
        data: {{size: \"{{{{ parent.spec.size }}}}\"}}
"
        )
    };
    format!(
        "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {}}}
spec:
  parent: {{apiVersion: {TEST_GROUP}/v1, kind: {kind}, namespaces: [{namespace}]}}
  children:
{}{}  status: {{}}
",
        kind.to_lowercase(),
        child("one"),
        child("two")
    )
}

/// A sandbox without a controller of its own, and a folder with the rule for it.
struct Scene {
    sandbox: Sandbox,
    kind: &'static str,
    folder: TempDir,
}

impl Scene {
    async fn new(namespace: &str, kind: &'static str) -> Self {
        let scene = Self::without_kind(namespace, kind).await;
        scene.kind_is_there().await;
        scene
    }

    async fn without_kind(namespace: &str, kind: &'static str) -> Self {
        let sandbox = Sandbox::bare(namespace).await;
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("rules")).expect("a folder");
        let path = folder.path().join("rules/rule.yaml");
        fs::write(path, rule(kind, namespace)).expect("a file");
        Self { sandbox, kind, folder }
    }

    async fn kind_is_there(&self) {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        self.sandbox.kind_is(self.kind, any).await;
    }

    fn rules(&self) -> PathBuf {
        self.folder.path().join("rules")
    }

    /// One of several replicas of the same installation.
    fn replica(&self, name: &str) -> Replica {
        let (lease, namespace) = (format!("{}s", LEASE.as_secs()), &self.sandbox.namespace);
        let flags = ["--leader-elect", "--lease-duration", &lease, "--namespace", namespace];
        let flags = [&flags[..], &["--installation", namespace]].concat();
        Replica::start(&format!("{namespace}-{name}"), &self.rules(), &flags)
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.sandbox.client.clone(), &self.sandbox.namespace)
    }

    async fn lease(&self) -> Option<LeaseSpec> {
        let name = format!("{}-leader", self.sandbox.namespace);
        self.leases().get_opt(&name).await.expect("an answer").and_then(|lease| lease.spec)
    }

    /// Creates or edits parents.
    async fn parents_are(&self, names: &[String], size: u32) {
        let set = names.iter().map(|name| self.sandbox.is(self.kind, name, json!({"size": size})));
        join_all(set).await;
    }

    /// Waits until all children of these parents say what their parents say.
    async fn converged(&self, names: &[String], size: u32) {
        for name in names {
            for child in ["one", "two"] {
                let follows = |object: &Value| object["data"]["size"] == size.to_string();
                let object = format!("{name}-{child}");
                self.sandbox.until("ConfigMap", &object, "follows its parent", follows).await;
            }
        }
    }

    async fn until_leads(&self, replica: &Replica) -> Duration {
        let begun = Instant::now();
        eventually(&format!("{} leads", replica.user), || async {
            match replica.metric("kubewright_leader").await {
                Some(1.0) => Ok(()),
                other => Err(format!("{other:?}\n{}", replica.log())),
            }
        })
        .await;
        begun.elapsed()
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("parent-{number}")).collect()
}

fn created(replica: &Replica) -> Vec<Request> {
    replica
        .writes()
        .into_iter()
        .filter(|request| request.code == 201 && request.uri.contains("/configmaps/"))
        .collect()
}

/// Each child was created once, whoever did it.
fn created_once(replicas: &[&Replica], children: usize) {
    let mut paths: Vec<String> = replicas
        .iter()
        .flat_map(|replica| created(replica))
        .filter_map(|request| Some(request.uri.split('?').next()?.to_owned()))
        .collect();
    let all = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!((all, paths.len()), (children, children), "each child is created once");
}

/// Probes say what is missing, metrics have what is documented, signals change the log, and SIGTERM ends it.
pub(crate) async fn a_process_tells_how_it_is_and_stops_when_asked() {
    let scene = Scene::without_kind("run-pages", "PagesParent").await;
    let config = scene.folder.path().join("kubewright.yaml");
    fs::write(&config, "workers: 3\nlog: warn\nlog-format: human\nlease-duration: 30s\n")
        .expect("a file");
    let config = config.display().to_string();
    // Flags count before the file.
    let flags = ["--config", &config, "--log", "info", "--installation", "run-pages"];
    let mut replica = Replica::start("run-pages", &scene.rules(), &flags);
    assert_eq!(replica.page("/healthz").await, (200, "ok\n".to_owned()));
    let text = replica.until_page("/readyz", 503).await;
    assert!(
        text.contains("[-] rule pagesparent waits: ") && text.contains("PagesParent"),
        "{text}"
    );
    scene.kind_is_there().await;
    let text = replica.until_page("/readyz?verbose", 200).await;
    assert_eq!(text, "[+] rule pagesparent ready\n[+] this replica leads\nready\n");

    let parents = names(3);
    scene.parents_are(&parents, 1).await;
    scene.converged(&parents, 1).await;
    eventually("all parents are counted as ready", || async {
        let ready =
            replica.metric("kubewright_parents{rule=\"pagesparent\",state=\"ready\"}").await;
        if ready == Some(3.0) { Ok(()) } else { Err(format!("{ready:?}")) }
    })
    .await;
    let (_, page) = replica.page("/metrics").await;
    documented(&page);
    for (sample, least) in [
        ("kubewright_writes_total{verb=\"create\",kind=\"ConfigMap\",reason=\"created\"}", 6.0),
        ("kubewright_children{rule=\"pagesparent\",state=\"ready\"}", 6.0),
        ("kubewright_passes_total{rule=\"pagesparent\",outcome=\"done\"}", 3.0),
        ("kubewright_cache_objects{kind=\"ConfigMap\"}", 6.0),
        ("kubewright_cache_bytes{kind=\"ConfigMap\"}", 6.0 * 100.0),
        ("kubewright_rules{state=\"ready\"}", 1.0),
        ("kubewright_requests_total{verb=\"PATCH\",result=\"ok\"}", 9.0),
        ("kubewright_queue_wait_seconds_count{lane=\"edit\"}", 3.0),
    ] {
        let found = replica.metric(sample).await;
        assert!(found.is_some_and(|found| found >= least), "{sample}: {found:?}\n{page}");
    }

    assert!(!replica.log().contains("wrote a child"), "{}", replica.log());
    replica.signal(Signal::USR1);
    replica.until_logged("the log level was changed").await;
    scene.parents_are(&parents[..1], 2).await;
    let fields = replica.until_logged("wrote a child").await;
    assert_eq!(fields["rule"], "pagesparent", "{fields}");
    assert!(!replica.log().contains("\"size\""), "no bodies: {}", replica.log());

    let begun = Instant::now();
    replica.signal(Signal::TERM);
    let status = replica.ends().await;
    assert!(
        status.success() && begun.elapsed() < Duration::from_secs(5),
        "{status}: {:?}",
        begun.elapsed()
    );
}

/// Every sample belongs to a family that is documented.
fn documented(page: &str) {
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let is_of = |family: &&&kubewright::metrics::Family| {
            let suffix = name.strip_prefix(family.name);
            matches!(suffix, Some("" | "_bucket" | "_sum" | "_count"))
        };
        assert!(FAMILIES.iter().any(|family| is_of(&family)), "{line}");
    }
}

/// A leader that is killed is replaced when its lease has run out, and what it had begun is finished once.
pub(crate) async fn a_killed_leader_is_replaced_within_its_lease() {
    let scene = Scene::new("run-kill", "KillParent").await;
    let first = scene.replica("a");
    scene.until_leads(&first).await;
    let second = scene.replica("b");
    second.until_page("/readyz", 200).await;
    assert_eq!(second.metric("kubewright_leader").await, Some(0.0));
    let parents = names(40);
    scene.parents_are(&parents, 1).await;
    eventually("the first has begun", || async {
        if created(&first).len() > 10 { Ok(()) } else { Err(first.log()) }
    })
    .await;
    first.signal(Signal::KILL);
    let took = scene.until_leads(&second).await;
    assert!(took < LEASE + Duration::from_secs(4), "{took:?}");
    scene.converged(&parents, 1).await;
    created_once(&[&first, &second], 80);
    let lease = scene.lease().await.expect("a lease");
    assert!(lease.holder_identity.is_some_and(|holder| holder.starts_with(&second.user)));
    assert_eq!(lease.lease_transitions, Some(1));
    eprintln!("a killed leader with a lease of {LEASE:?}: the next one leads after {took:?}");
}

/// A leader that is stopped in the midst of its work and wakes when another one leads sends nothing more.
pub(crate) async fn a_leader_that_wakes_past_its_lease_does_no_harm() {
    let scene = Scene::new("run-freeze", "FreezeParent").await;
    let first = scene.replica("a");
    scene.until_leads(&first).await;
    let second = scene.replica("b");
    second.until_page("/readyz", 200).await;
    let parents = names(60);
    scene.parents_are(&parents, 1).await;
    eventually("the first has begun", || async {
        if created(&first).len() > 10 { Ok(()) } else { Err(first.log()) }
    })
    .await;
    first.signal(Signal::STOP);
    let stopped = Instant::now();
    scene.until_leads(&second).await;
    scene.converged(&parents, 1).await;
    // The one who sleeps has work under way that it still thinks is its own.
    scene.parents_are(&parents, 2).await;
    let before = first.writes();
    first.signal(Signal::CONT);
    first.until_logged("this replica leads no longer").await;
    scene.converged(&parents, 2).await;
    first.until_page("/readyz", 200).await;
    assert_eq!(first.metric("kubewright_leader").await, Some(0.0));
    assert_eq!(
        first.writes(),
        before,
        "it slept for {:?} and sent nothing after",
        stopped.elapsed()
    );
    created_once(&[&first, &second], 120);
    let quiet = first.metric("kubewright_queue_running").await;
    assert_eq!(quiet, Some(0.0), "no pass hangs");
}

/// A leader that is asked to stop finishes what it has begun, and the next one leads at once.
pub(crate) async fn a_leader_that_is_stopped_hands_over() {
    let scene = Scene::new("run-term", "TermParent").await;
    let mut first = scene.replica("a");
    scene.until_leads(&first).await;
    let second = scene.replica("b");
    second.until_page("/readyz", 200).await;
    let parents = names(40);
    scene.parents_are(&parents, 1).await;
    eventually("the first has begun", || async {
        if created(&first).len() > 10 { Ok(()) } else { Err(first.log()) }
    })
    .await;
    first.signal(Signal::TERM);
    let status = first.ends().await;
    assert!(status.success(), "{status}");
    let took = scene.until_leads(&second).await;
    assert!(took < Duration::from_secs(3), "{took:?}\n{}", second.log());
    scene.converged(&parents, 1).await;
    created_once(&[&first, &second], 80);
    let (last, next) = (first.writes(), second.writes());
    let last = last.iter().map(|request| &request.ended).max().expect("it wrote");
    let next = next.iter().map(|request| &request.received).min().expect("it wrote");
    assert!(last <= next, "never two at once: {last} and {next}");
    eprintln!("a leader that is asked to stop: the next one leads after {took:?}");
}

/// A Lease as client-go writes it, of somebody who does not renew it, is respected for its time and no longer.
pub(crate) async fn a_foreign_holder_is_respected_for_its_time() {
    let scene = Scene::new("run-foreign", "ForeignParent").await;
    let now = MicroTime(Timestamp::now());
    let spec = LeaseSpec {
        holder_identity: Some("somebody_else".into()),
        lease_duration_seconds: Some(8),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: Some(4),
        ..LeaseSpec::default()
    };
    let metadata = ObjectMeta { name: Some("run-foreign-leader".into()), ..ObjectMeta::default() };
    let lease = Lease { metadata, spec: Some(spec) };
    scene.leases().create(&PostParams::default(), &lease).await.expect("a lease");
    let replica = scene.replica("a");
    replica.until_page("/readyz", 200).await;
    let seen = Instant::now();
    let lease = scene.lease().await.expect("a lease");
    assert_eq!(lease.holder_identity.as_deref(), Some("somebody_else"), "it is left alone");
    scene.parents_are(&names(1), 1).await;
    scene.until_leads(&replica).await;
    assert!(seen.elapsed() > Duration::from_secs(5), "{:?}", seen.elapsed());
    scene.converged(&names(1), 1).await;
    let lease = scene.lease().await.expect("a lease");
    assert_eq!((lease.lease_transitions, lease.lease_duration_seconds), (Some(5), Some(6)));
    assert!(world().requests_as(&replica.user).iter().all(|request| request.code < 500));
}
