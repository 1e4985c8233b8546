//! Processes as pods run them: what they serve, how they stop, and that of several only one writes, whatever becomes of it.

use crate::replica::Replica;
use crate::sandbox::{Sandbox, TEST_GROUP};
use crate::world::{Request, eventually};
use futures::future::join_all;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ListParams, ObjectMeta, PostParams};
use kubewright::metrics::FAMILIES;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Short, but not so short that a busy machine loses it.
const LEASE: Duration = Duration::from_secs(10);

/// How long whatever follows from the end of a lease may take on a busy machine. How long it takes is printed.
const SOON: Duration = Duration::from_mins(1);

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

    /// One of several replicas of the same installation, of which one leads.
    fn replica(&self, name: &str) -> Replica {
        self.replica_with(name, &["--leader-elect"])
    }

    /// One of several replicas that share the work.
    fn sharded(&self, name: &str, shards: &str) -> Replica {
        self.replica_with(name, &["--shards", shards])
    }

    fn replica_with(&self, name: &str, flags: &[&str]) -> Replica {
        let (lease, namespace) = (format!("{}s", LEASE.as_secs()), &self.sandbox.namespace);
        let usual = ["--lease-duration", &lease, "--namespace", namespace];
        let flags = [&usual[..], &["--installation", namespace], flags].concat();
        Replica::start(&format!("{namespace}-{name}"), &self.rules(), &flags)
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.sandbox.client.clone(), &self.sandbox.namespace)
    }

    /// Every Lease that a replica held was given up.
    async fn holds_nothing(&self, replica: &Replica) {
        for lease in self.leases().list(&ListParams::default()).await.expect("a list") {
            let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
            assert!(!holder.starts_with(&replica.user), "{:?} is held", lease.metadata.name);
        }
    }

    async fn lease(&self) -> Option<LeaseSpec> {
        let name = format!("{}-shard-0", self.sandbox.namespace);
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
                let wanted = json!({"size": size.to_string()});
                let follows = |object: &Value| object["data"] == wanted;
                let object = format!("{name}-{child}");
                self.sandbox.until("ConfigMap", &object, "follows its parent", follows).await;
            }
        }
    }

    async fn until_leads(&self, replica: &Replica) -> Duration {
        let begun = Instant::now();
        eventually(&format!("{} leads", replica.user), || async {
            match replica.metric("kubewright_leader{shard=\"0\"}").await {
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

/// Each child was created once, whoever did it. Of what was under way when a replica was killed the audit log may not say how
/// it ended: those are at most [`IN_FLIGHT`], if any.
fn created_once(replicas: &[&Replica], children: usize, cut_off: usize) {
    let mut paths: Vec<String> = replicas
        .iter()
        .flat_map(|replica| created(replica))
        .filter_map(|request| Some(request.uri.split('?').next()?.to_owned()))
        .collect();
    let all = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!(all, paths.len(), "no child is created twice");
    assert!(
        all <= children && children - all <= cut_off,
        "{all} of {children} children are created"
    );
}

/// Requests of one replica that may be under way at once.
const IN_FLIGHT: usize = 32;

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
    let text = replica.until_page("/readyz", 200).await;
    assert!(
        text.contains("[-] rule pagesparent waits: ") && text.contains("PagesParent"),
        "a kind that is not served holds up its own rule alone: {text}"
    );
    scene.kind_is_there().await;
    eventually("the rule is ready", || async {
        let (_, text) = replica.page("/readyz?verbose").await;
        let expected = "[+] rule pagesparent ready\n[+] this replica leads\nready\n";
        if text == expected { Ok(()) } else { Err(text) }
    })
    .await;

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
    assert!(status.success() && begun.elapsed() < SOON, "{status}: {:?}", begun.elapsed());
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
    assert_eq!(second.metric("kubewright_leader{shard=\"0\"}").await, Some(0.0));
    let parents = names(40);
    scene.parents_are(&parents, 1).await;
    eventually("the first has begun", || async {
        if created(&first).len() > 10 { Ok(()) } else { Err(first.log()) }
    })
    .await;
    first.signal(Signal::KILL);
    let took = scene.until_leads(&second).await;
    assert!(took < LEASE + SOON, "{took:?}");
    scene.converged(&parents, 1).await;
    created_once(&[&first, &second], 80, IN_FLIGHT);
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
    assert_eq!(first.metric("kubewright_leader{shard=\"0\"}").await, Some(0.0));
    assert_eq!(
        first.writes(),
        before,
        "it slept for {:?} and sent nothing after",
        stopped.elapsed()
    );
    created_once(&[&first, &second], 120, IN_FLIGHT);
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
    scene.holds_nothing(&first).await;
    let took = scene.until_leads(&second).await;
    assert!(took < SOON, "{took:?}\n{}", second.log());
    scene.converged(&parents, 1).await;
    created_once(&[&first, &second], 80, 0);
    // On a busy machine the first may have finished everything.
    scene.parents_are(&parents, 2).await;
    scene.converged(&parents, 2).await;
    let (last, next) = (first.writes(), second.writes());
    let last = last.iter().map(|request| &request.ended).max().expect("it wrote");
    let next = next.iter().map(|request| &request.received).min().expect("it wrote");
    assert!(last <= next, "never two at once: {last} and {next}");
    eprintln!("a leader that is asked to stop: the next one leads after {took:?}");
}

/// A Lease as client-go writes it, of somebody who does not renew it, is respected for its time and no longer.
pub(crate) async fn a_foreign_holder_is_respected_for_its_time() {
    let scene = Scene::new("run-foreign", "ForeignParent").await;
    let begun = Timestamp::now();
    let now = MicroTime(begun);
    let spec = LeaseSpec {
        holder_identity: Some("somebody_else".into()),
        lease_duration_seconds: Some(8),
        acquire_time: Some(now.clone()),
        renew_time: Some(now),
        lease_transitions: Some(4),
        ..LeaseSpec::default()
    };
    let metadata = ObjectMeta { name: Some("run-foreign-shard-0".into()), ..ObjectMeta::default() };
    let lease = Lease { metadata, spec: Some(spec) };
    scene.leases().create(&PostParams::default(), &lease).await.expect("a lease");
    let replica = scene.replica("a");
    replica.until_page("/readyz", 200).await;
    let lease = scene.lease().await.expect("a lease");
    assert_eq!(lease.holder_identity.as_deref(), Some("somebody_else"), "it is left alone");
    scene.parents_are(&names(1), 1).await;
    scene.until_leads(&replica).await;
    scene.converged(&names(1), 1).await;
    let lease = scene.lease().await.expect("a lease");
    assert_eq!((lease.lease_transitions, lease.lease_duration_seconds), (Some(5), Some(10)));
    let taken = lease.acquire_time.expect("a time").0;
    assert!(
        taken.duration_since(begun).as_secs() >= 8,
        "taken at {taken}, 8 seconds after {begun}"
    );
}

/// Waits until these replicas lead all shards, each about as many; gives how long that took.
async fn spread(replicas: &[&Replica], shards: usize) -> Duration {
    let begun = Instant::now();
    eventually("all shards are led, by all", || async {
        let held = join_all(replicas.iter().map(|replica| replica.shards())).await;
        let all: BTreeSet<usize> = held.iter().flatten().copied().collect();
        let counts = || held.iter().map(Vec::len);
        let fair = counts().max().unwrap_or(0) - counts().min().unwrap_or(0) <= 1;
        if all.len() == shards && counts().sum::<usize>() == shards && fair {
            return Ok(());
        }
        let logs: Vec<String> = replicas.iter().map(|replica| replica.log()).collect();
        Err(format!("{held:?}\n{}", logs.join("\n")))
    })
    .await;
    begun.elapsed()
}

/// Of each object: what one replica wrote was answered before another one wrote it. The record of the rule is everybody's, and is only
/// ever compared and swapped.
fn never_two_at_once(replicas: &[&Replica]) {
    let mut by_object: BTreeMap<String, Vec<(usize, Request)>> = BTreeMap::new();
    for (who, replica) in replicas.iter().enumerate() {
        for request in replica.writes().into_iter().filter(|request| !request.is_about_events()) {
            let path = request.uri.split('?').next().unwrap_or_default().to_owned();
            if path.ends_with("/configmaps") || path.contains("-rule-") {
                continue;
            }
            by_object.entry(path).or_default().push((who, request));
        }
    }
    assert!(by_object.len() > 100, "there is something to compare");
    for (path, mut requests) in by_object {
        requests.sort_by(|(_, one), (_, other)| one.received.cmp(&other.received));
        for pair in requests.windows(2) {
            let [(one, first), (other, second)] = pair else { continue };
            let in_turn = one == other || first.ended <= second.received;
            assert!(in_turn, "{path} is written by two at once: {pair:#?}");
        }
        let changes = requests.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        assert!(changes < 3, "{path} goes from one to the other: {requests:#?}");
    }
}

/// Three replicas share the work and the memory. One is killed in the midst of it, and comes back.
pub(crate) async fn the_shards_of_a_killed_replica_go_to_the_others() {
    let scene = Scene::new("run-shards", "ShardParent").await;
    let mut replicas = ["a", "b", "c"].map(|name| scene.sharded(name, "3"));
    let [a, b, c] = &replicas;
    let took = spread(&[a, b, c], 3).await;
    eprintln!("three replicas have a shard each after {took:?}");
    let first = names(60);
    scene.parents_are(&first, 1).await;
    scene.converged(&first, 1).await;
    // Each child is in one cache; each process also has the record of its rule.
    eventually("the caches share the children", || async {
        let mut cached = Vec::new();
        for replica in [a, b, c] {
            let objects = replica.metric("kubewright_cache_objects{kind=\"ConfigMap\"}").await;
            cached.push(objects.unwrap_or_default());
        }
        let shared = cached.iter().all(|objects| *objects > 1.0 && *objects < 80.0);
        let all = (cached.iter().sum::<f64>() - 123.0).abs() < 0.5;
        if shared && all { Ok(()) } else { Err(format!("{cached:?}")) }
    })
    .await;

    let all = names(200);
    scene.parents_are(&all, 1).await;
    let before = created(b).len();
    eventually("it has begun", || async {
        if created(b).len() > before + 10 { Ok(()) } else { Err(b.log()) }
    })
    .await;
    b.signal(Signal::KILL);
    let took = spread_over_two(a, c).await;
    eprintln!(
        "a killed replica with a lease of {LEASE:?}: the others have its shard after {took:?}"
    );
    assert!(took < LEASE + SOON, "{took:?}");
    scene.converged(&all, 1).await;
    created_once(&[a, b, c], 400, IN_FLIGHT);

    let again = scene.sharded("d", "3");
    let took = spread(&[a, c, &again], 3).await;
    eprintln!("a replica that comes gets its share after {took:?}");
    scene.parents_are(&all, 2).await;
    scene.converged(&all, 2).await;
    never_two_at_once(&[a, b, c, &again]);
    created_once(&[a, b, c, &again], 400, IN_FLIGHT);

    let begun = Instant::now();
    let stopped = &mut replicas[0];
    stopped.signal(Signal::TERM);
    assert!(stopped.ends().await.success());
    scene.holds_nothing(&replicas[0]).await;
    let took = spread_over_two(&replicas[2], &again).await;
    assert!(took < SOON, "{took:?}");
    eprintln!(
        "a replica that is asked to stop: the others have its shard {:?} after the signal",
        begun.elapsed()
    );
}

async fn spread_over_two(one: &Replica, other: &Replica) -> Duration {
    spread(&[one, other], 3).await
}

/// Replicas that think of another number of shards wait until those that run have ended, and write nothing before.
pub(crate) async fn another_number_of_shards_waits_for_the_end_of_the_last() {
    let scene = Scene::new("run-reshard", "ReshardParent").await;
    let mut one = scene.replica("one");
    scene.until_leads(&one).await;
    let parents = names(60);
    scene.parents_are(&parents, 1).await;
    scene.converged(&parents, 1).await;
    let two = scene.sharded("two", "2");
    two.until_logged("other replicas run with another number of shards").await;
    scene.parents_are(&parents, 2).await;
    scene.converged(&parents, 2).await;
    assert_eq!(two.writes(), []);
    assert_eq!(two.shards().await, [0; 0]);
    one.signal(Signal::TERM);
    assert!(one.ends().await.success());
    let took = spread(&[&two], 2).await;
    assert!(took < SOON, "{took:?}");
    eventually("every parent had a pass", || async {
        let rule = |outcome| {
            format!("kubewright_passes_total{{rule=\"reshardparent\",outcome=\"{outcome}\"}}")
        };
        let (done, again) = (two.metric(&rule("done")).await, two.metric(&rule("again")).await);
        let passes = done.zip(again).map(|(done, again)| done + again);
        if passes >= Some(60.0) { Ok(()) } else { Err(format!("{passes:?}")) }
    })
    .await;
    // A status that the one before still owed when it was stopped is written by the next.
    let mut wrote = two.writes();
    wrote.retain(|request| !request.uri.contains("/status"));
    assert_eq!(wrote, [], "nothing is relabelled, and nothing else is written");
    scene.parents_are(&parents, 3).await;
    scene.converged(&parents, 3).await;
    never_two_at_once(&[&one, &two]);
    created_once(&[&one, &two], 120, 0);
}
