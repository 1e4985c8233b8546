//! Every trap of normalisation, ownership and admission that we know of, on a real API server.
//!
//! One controller runs one rule whose children are the rows of the catalogue (`traps/rows`), and one parent has them all.
//! The stages follow one another, and in each the audit log says for each child what was asked and written:
//! converged: one creation each; unrelated writers: nothing; a restart: nothing; what moves ownership; drift, seen and
//! unseen: one write each; another intent; a restart again. Beside it a rule of children that the server refuses.
//!
//! Traps that have tests of their own: 29 (`trouble::of_two_parents_the_first_keeps_the_child…`), 34 and 38 (`store`,
//! `concurrency`), 37 (`wake::a_renamed_child_is_the_new_object`), 39 (`wake::a_stripped_label…`), 40
//! (`wake::a_child_held_by_a_foreign_finalizer…`), 43 (`builtin_kinds`), 44 and 45 (`status`).

mod admission;
mod objects;
mod rows;

use crate::sandbox::{Sandbox, condition};
use crate::world::{Request, eventually, world};
use admission::{LATE, POLICIES};
use objects::{Edit, Named};
use rows::{Refused, Row};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NAMESPACE: &str = "traps";

/// A foreign object that a child of a rule would be.
const FOREIGN: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: r31-foreign}
data: {wanted: x}
";

/// A child whose selector follows the parent, though it must never change.
const IMMUTABLE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: r36-immutable}
spec:
  replicas: 0
  selector: {matchLabels: {a: {{ parent.spec.image }}}}
  template: {metadata: {labels: {a: {{ parent.spec.image }}}}, spec: {containers: [{name: c, image: i}]}}
";

struct Suite {
    sandbox: Sandbox,
    rows: Vec<Row>,
    refused: Vec<Refused>,
    rounds: usize,
}

pub(crate) async fn every_trap_of_the_catalogue() {
    let mut suite = Suite::begin().await;
    suite.converged().await;
    suite.unrelated_writers().await;
    suite.restarted().await;
    suite.ownership_moves().await;
    suite.drift().await;
    suite.another_intent().await;
    suite.at_last().await;
    suite.sandbox.stop().await;
}

const AGING: &str = "\
apiVersion: {{ \"tests.kubewright.io/v1beta1\" if parent.spec.image == \"one\" else \"tests.kubewright.io/v1\" }}
kind: Aging
metadata: {name: t32-aging}
spec: {a: x, b: {{ \"x\" if parent.spec.image == \"one\" }}}
";

/// 32: our entry speaks of a version that is not served any more, and the server refuses every apply of the object. The
/// entry is put into the new version, by one patch, and what the rule drops goes nevertheless.
pub(crate) async fn a_version_that_is_gone_blocks_nothing() {
    let client = world().client("test-traps-aging");
    admission::aging(&client, &["v1beta1", "v1"]).await;
    let rule = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: aging}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  children:
    - id: child
      template: child.yaml
      kinds:
        - {apiVersion: tests.kubewright.io/v1beta1, kind: Aging}
        - {apiVersion: tests.kubewright.io/v1, kind: Aging}
";
    let mut sandbox = Sandbox::with("traps-aging", rule, &[("child.yaml", AGING)]).await;
    sandbox.webapp_is("shop", json!({"image": "one"})).await;
    let child =
        Named::of("apiVersion: tests.kubewright.io/v1\nkind: Aging\nmetadata: {name: t32-aging}\n");
    child.until(&sandbox, "/spec/b", Some(&json!("x"))).await;
    sandbox.settled().await;
    let uid = child.get(&sandbox).await["metadata"]["uid"].clone();
    admission::aging(&client, &["v1"]).await;
    let former = Named::of(
        "apiVersion: tests.kubewright.io/v1beta1\nkind: Aging\nmetadata: {name: t32-aging}\n",
    );
    eventually("the former version is not served", || async {
        match former.api(&sandbox).get(&former.name).await {
            Err(_) => Ok(()),
            Ok(object) => Err(format!("{object:?}")),
        }
    })
    .await;
    let before = sandbox.requests().len();
    sandbox.webapp_is("shop", json!({"image": "two"})).await;
    child.until(&sandbox, "/spec", Some(&json!({"a": "x"}))).await;
    sandbox.settled().await;
    let after = child.get(&sandbox).await;
    assert_eq!(after["metadata"]["uid"], uid);
    let codes = about(&sandbox.requests().split_off(before), &child);
    assert_eq!(codes, [500, 200, 200], "a refused apply, a patch of the record, an apply");
    sandbox.stop().await;
    let before = sandbox.requests().len();
    sandbox.start();
    sandbox.settled().await;
    assert!(about(&sandbox.requests().split_off(before), &child).is_empty());
    sandbox.stop().await;
}

/// The rule text, and its templates by name.
fn rules(rows: &[Row], refused: &[Refused]) -> (String, Vec<(String, String)>) {
    let mut templates = Vec::new();
    let mut entry = |id: &str, template: &str, parent: &str, options: &str| {
        templates.push((format!("{id}.yaml"), template.to_owned()));
        let when = format!("when: [{{path: \"$.metadata.name\", equals: {parent}}}]");
        format!("    - {{id: {id}, template: {id}.yaml, {when}{options}}}\n")
    };
    let head = |name: &str| {
        format!(
            "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {{name: {name}}}
spec:
  parent: {{apiVersion: demo.kubewright.io/v1, kind: WebApp}}
  children:
"
        )
    };
    let mut text = head("traps");
    for row in rows {
        text += &entry(&row.id(), row.child, "shop", row.options);
    }
    let seen = rows.iter().map(|row| {
        let id = row.id();
        format!("  {id}: {{{{ get(children.{id}, \"metadata.annotations.seen\", \"none\") }}}}\n")
    });
    let seen: String = seen.collect();
    let round = "{{ get(parent, \"metadata.labels.round\", \"none\") }}";
    let mirror = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: mirror}}\ndata:\n  round: {round}\n{seen}"
    );
    text += &entry("mirror", &mirror, "shop", "");
    text += "---\n";
    text += &head("refused");
    let more = [FOREIGN, IMMUTABLE];
    for child in refused.iter().map(|row| row.child).chain(more) {
        let name = Named::of(child).name;
        text += &entry(&name.replace('-', "_"), child, &name, "");
    }
    text += "  status: {}\n";
    (text, templates)
}

impl Suite {
    async fn begin() -> Self {
        let (rows, refused) = (rows::accepted(), rows::refused());
        let (text, templates) = rules(&rows, &refused);
        let templates: Vec<_> =
            templates.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        admission::kinds(&world().client("test-traps-kinds")).await;
        let sandbox = Sandbox::with(NAMESPACE, &text, &templates).await;
        for policy in &POLICIES {
            policy.install(&sandbox.client, NAMESPACE).await;
        }
        let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r31-foreign"},
            "data": {"theirs": "y"}});
        sandbox.create("ConfigMap", foreign).await;
        Self { sandbox, rows, refused, rounds: 0 }
    }

    /// Requests about each row's child since a moment, as codes of writes; a read shows as 0.
    fn asked(&self, since: usize) -> BTreeMap<String, Vec<u64>> {
        let requests = self.sandbox.requests().split_off(since);
        let of = |row: &Row| (row.named().name, about(&requests, &row.named()));
        self.rows.iter().map(of).collect()
    }

    /// Claims that nothing was asked about any child but these, and of these exactly this.
    fn only(&self, since: usize, expected: &[(&str, &[u64])]) {
        let mut asked = self.asked(since);
        asked.retain(|_, codes| !codes.is_empty());
        let expected: BTreeMap<_, _> =
            expected.iter().map(|(name, codes)| ((*name).to_owned(), codes.to_vec())).collect();
        assert_eq!(asked, expected);
    }

    /// Lets passes be made, each proven by what it writes, until everything before them has been looked at.
    async fn passes(&mut self) {
        for _ in 0..2 {
            self.rounds += 1;
            let round = self.rounds.to_string();
            let label = json!({"metadata": {"labels": {"round": round}}});
            self.sandbox.edit("WebApp", "shop", label).await;
            mirror().until(&self.sandbox, "/data/round", Some(&json!(round))).await;
            self.sandbox.settled().await;
        }
    }

    fn mark(&self) -> usize {
        self.sandbox.requests().len()
    }

    fn row(&self, name: &str) -> Named {
        let row = self.rows.iter().find(|row| row.named().name == name);
        row.expect("a row of that name").named()
    }

    async fn converged(&mut self) {
        let sandbox = &self.sandbox;
        sandbox.webapp_is("shop", json!({"image": "one"})).await;
        let more = [FOREIGN, IMMUTABLE].map(Named::of);
        for named in self.refused.iter().map(Refused::named).chain(more) {
            sandbox.webapp_is(&named.name, json!({"image": "one"})).await;
        }
        mirror().until(sandbox, "/data/round", Some(&json!("none"))).await;
        for refused in &self.refused {
            until_told(sandbox, &refused.named().name, refused.told).await;
        }
        until_told(sandbox, "r31-foreign", "Kubewright did not create it").await;
        sandbox.settled().await;
        for row in &self.rows {
            let named = row.named();
            assert_eq!(about(&sandbox.requests(), &named), [201], "{}", named.name);
            let object = named.get(sandbox).await;
            for (at, is) in &row.stored {
                assert_eq!(object.pointer(at), is.as_ref(), "{at} of {object}");
            }
        }
    }

    /// What others do that is not our business, and a note on every child, which we see.
    async fn unrelated_writers(&mut self) {
        let before = self.mark();
        for row in &self.rows {
            let named = row.named();
            for edit in &row.unrelated {
                named.edit(&self.sandbox, edit).await;
            }
            named.edit(&self.sandbox, &seen("once")).await;
        }
        for row in &self.rows {
            mirror()
                .until(&self.sandbox, &format!("/data/{}", row.id()), Some(&json!("once")))
                .await;
        }
        self.passes().await;
        self.only(before, &[]);
    }

    /// While nobody looked, one child was replaced by a copy, and of another the record of ownership was reset.
    async fn restarted(&mut self) {
        self.sandbox.stop().await;
        let before = self.mark();
        let (copied, reset) = (self.row("t25-copied"), self.row("t26-reset-unseen"));
        copied.is_replaced_by_a_copy(&self.sandbox).await;
        reset.edit(&self.sandbox, &forget_owners()).await;
        self.sandbox.start();
        self.sandbox.settled().await;
        for named in [&copied, &reset] {
            until_ours(&self.sandbox, named).await;
        }
        self.passes().await;
        self.only(before, &[("t25-copied", &[200, 200]), ("t26-reset-unseen", &[200, 200])]);
    }

    /// A record of ownership that is reset; an older version of the API; a definition and a policy that come later.
    async fn ownership_moves(&mut self) {
        let before = self.mark();
        let reset = self.row("t26-reset");
        reset.edit(&self.sandbox, &forget_owners()).await;
        until_ours(&self.sandbox, &reset).await;

        let versions = self.row("t32-versions");
        versions.edit_as(&self.sandbox, "v1", &json!({"spec": {"maxReplicas": 5}})).await;
        versions.until(&self.sandbox, "/spec/maxReplicas", Some(&json!(3))).await;

        admission::turning(&self.sandbox.client, "map").await;
        self.row("t33-topology").edit(&self.sandbox, &seen("twice")).await;

        LATE.install(&self.sandbox.client, NAMESPACE).await;
        let late = self.row("t42-late-policy");
        late.edit(&self.sandbox, &seen("twice")).await;
        for id in ["t33_topology", "t42_late_policy"] {
            mirror().until(&self.sandbox, &format!("/data/{id}"), Some(&json!("twice"))).await;
        }
        self.passes().await;
        let value = late.get(&self.sandbox).await["data"]["ours"].clone();
        assert_eq!(value, "as-admission-wants");
        let writes = [("t26-reset", 2), ("t32-versions", 1), ("t42-late-policy", 1)];
        let writes = writes.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(self.successes(before), BTreeMap::from(writes));
    }

    /// Drift while we look, round for round, and once more while we do not.
    async fn drift(&mut self) {
        let most = self.rows.iter().map(|row| row.drift.len()).max().unwrap_or_default();
        for round in 0..most {
            self.drift_of(round, false).await;
        }
        self.passes().await;
        self.drift_of(0, true).await;
        self.passes().await;
    }

    async fn drift_of(&mut self, round: usize, unseen: bool) {
        if unseen {
            self.sandbox.stop().await;
        }
        let before = self.mark();
        let drifts = |row: &'_ Row| Some((row.named(), row.drift.get(round)?.clone()));
        let drifts: Vec<_> = self.rows.iter().filter_map(drifts).collect();
        for (named, drift) in &drifts {
            let was = named.get(&self.sandbox).await;
            let note = format!("{} before: {was}", named.name);
            assert_eq!(was.pointer(drift.at), drift.is.as_ref(), "{note}");
            named.edit(&self.sandbox, &drift.edit).await;
        }
        if unseen {
            self.sandbox.start();
        }
        for (named, drift) in &drifts {
            named.until(&self.sandbox, drift.at, drift.is.as_ref()).await;
        }
        self.sandbox.settled().await;
        let writes = drifts.iter().map(|(named, drift)| (named.name.clone(), drift.writes));
        assert_eq!(self.successes(before), writes.collect(), "round {round}, unseen: {unseen}");
    }

    /// Successful writes per child. A child's own controller may write between our judgement and the repair, which is
    /// then refused and made again.
    fn successes(&self, since: usize) -> BTreeMap<String, usize> {
        let asked = self.asked(since).into_iter();
        let count = |codes: Vec<u64>| codes.into_iter().filter(|code| *code == 200).count();
        let counts = asked.map(|(name, codes)| (name, count(codes)));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    async fn another_intent(&mut self) {
        let before = self.mark();
        let sandbox = &self.sandbox;
        sandbox.webapp_is("shop", json!({"image": "two"})).await;
        sandbox.webapp_is("r36-immutable", json!({"image": "two"})).await;
        let changing = |row: &'_ Row| row.second.clone().map(|second| (row.named(), second));
        let changing: Vec<_> = self.rows.iter().filter_map(changing).collect();
        for (named, (at, is, _)) in &changing {
            named.until(sandbox, at, is.as_ref()).await;
        }
        until_told(sandbox, "r36-immutable", "spec.selector").await;
        let writes: BTreeMap<_, _> =
            changing.iter().map(|(named, (.., writes))| (named.name.clone(), *writes)).collect();
        self.passes().await;
        assert_eq!(self.successes(before), writes);
    }

    /// What was refused was sent once in all that time; after another restart nothing is asked.
    async fn at_last(&mut self) {
        for refused in &self.refused {
            let named = refused.named();
            let mut codes = about(&self.sandbox.requests(), &named);
            codes.retain(|code| *code != 0);
            assert_eq!(
                codes,
                refused.sent.repeat(3),
                "once in the life of a controller: {}",
                named.name
            );
        }
        let immutable = about(&self.sandbox.requests(), &Named::of(IMMUTABLE));
        assert_eq!(immutable, [201, 422]);
        let foreign = Named::of(FOREIGN);
        let writes = about(&self.sandbox.requests(), &foreign);
        assert!(writes.iter().all(|code| matches!(code, 0 | 409)), "{writes:?}");
        assert_eq!(foreign.get(&self.sandbox).await["data"], json!({"theirs": "y"}));

        self.sandbox.stop().await;
        let before = self.mark();
        self.sandbox.start();
        self.sandbox.settled().await;
        self.passes().await;
        self.only(before, &[]);
    }
}

fn mirror() -> Named {
    Named::of("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mirror}\n")
}

fn seen(times: &str) -> Edit {
    Edit::Merge(json!({"metadata": {"annotations": {"seen": times}}}))
}

fn forget_owners() -> Edit {
    Edit::Merge(json!({"metadata": {"managedFields": [{}]}}))
}

/// Codes of the writes of one object, and 0 for each read.
fn about(requests: &[Request], named: &Named) -> Vec<u64> {
    let path = named.path();
    let of = |request: &&Request| {
        request.uri.split('?').next().is_some_and(|whole| whole.ends_with(&path))
    };
    requests
        .iter()
        .filter(of)
        .map(|request| if request.is_write() { request.code } else { 0 })
        .collect()
}

async fn until_told(sandbox: &Sandbox, parent: &str, what: &str) {
    let told = |object: &Value| condition(object, "Stalled").1.contains(what);
    sandbox.until("WebApp", parent, &format!("says {what}"), told).await;
}

async fn until_ours(sandbox: &Sandbox, named: &Named) {
    eventually(&format!("{} is ours again", named.path()), || async {
        let object = named.get(sandbox).await;
        let ours = object["metadata"]["managedFields"].to_string();
        if ours.contains("kubewright:traps:") { Ok(()) } else { Err(ours) }
    })
    .await;
}
