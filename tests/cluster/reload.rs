//! Rules that change, at run time and while nobody ran: what is remembered of them, and how far a mistake gets.

use crate::replica::Replica;
use crate::sandbox::{Sandbox, condition};
use crate::world::eventually;
use serde_json::{Value, json};
use std::path::Path;

const RULE: &str = "\
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: fleet}
spec:
  parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp}
  onRuleRemoved: delete
  children:
    - id: config
      inline: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ parent.metadata.name }}, labels: {tier: \"one\"}}
        data: {image: {{ parent.spec.image }}}
    - id: account
      inline: |
        apiVersion: v1
        kind: ServiceAccount
        metadata: {name: {{ parent.metadata.name }}}
  status: {}
";

/// The same without its last child.
fn without_account() -> String {
    let start = RULE.find("    - id: account").expect("a child");
    let end = RULE.find("  status").expect("a status");
    format!("{}{}", &RULE[..start], &RULE[end..])
}

/// Beside the rule of a test, so that its folder is not empty without it.
const OTHER: &str = "
apiVersion: kubewright.io/v1alpha1
kind: Rule
metadata: {name: other}
spec:
  parent: {apiVersion: v1, kind: PersistentVolumeClaim}
  children: []
";

async fn fleet(name: &str, parents: usize, rollout_rate: u32) -> Sandbox {
    let mut sandbox = Sandbox::at_rest_with(name, RULE, &[]).await;
    for number in 0..parents {
        sandbox.webapp_is(&format!("app-{number}"), json!({"image": "a"})).await;
    }
    sandbox.begin(rollout_rate).await;
    // A status waits for the schema of its kind, which may be new.
    for number in 0..parents {
        sandbox.until_ready(&format!("app-{number}")).await;
    }
    sandbox.settled().await;
    sandbox
}

fn record(object: &Value) -> Value {
    serde_json::from_str(object["data"]["record"].as_str().expect("a record")).expect("JSON")
}

async fn tiers(sandbox: &Sandbox, parents: usize) -> Vec<String> {
    let mut tiers = Vec::new();
    for number in 0..parents {
        let config = sandbox.get("ConfigMap", &format!("app-{number}")).await;
        tiers.push(config["metadata"]["labels"]["tier"].as_str().unwrap_or("none").to_owned());
    }
    tiers
}

pub(crate) async fn what_changed_while_nobody_ran_is_as_if_it_had_changed_at_run_time() {
    let mut sandbox = fleet("remembers", 2, 50).await;
    let kept = sandbox.get("ConfigMap", "remembers-rule-fleet").await;
    let kinds = json!([{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": "v1", "kind": "ServiceAccount"}]);
    assert_eq!(record(&kept)["children"], kinds);
    assert_eq!(record(&kept)["settled"], record(&kept)["version"]);

    // A restart alone writes nothing.
    sandbox.stop().await;
    let before = sandbox.writes().len();
    sandbox.begin(50).await;
    sandbox.settled().await;
    assert_eq!(sandbox.writes().split_off(before), []);

    // A kind that the rule names no longer is pruned, and then forgotten.
    sandbox.stop().await;
    sandbox.rule_is(&without_account());
    sandbox.begin(50).await;
    for number in 0..2 {
        sandbox.until_gone("ServiceAccount", &format!("app-{number}")).await;
    }
    let only = json!([{"apiVersion": "v1", "kind": "ConfigMap"}]);
    sandbox.settled().await;
    sandbox
        .until("ConfigMap", "remembers-rule-fleet", "forgets the kind", |object| {
            let record = record(object);
            record["settled"] == record["version"]
                && (record["children"] == only || record["children"] == kinds)
        })
        .await;

    // A rule that was taken away lets its parents go as it said, and is forgotten last.
    sandbox.stop().await;
    sandbox.rule_is(OTHER);
    sandbox.begin(50).await;
    for number in 0..2 {
        sandbox.until_gone("ConfigMap", &format!("app-{number}")).await;
    }
    sandbox.until_gone("ConfigMap", "remembers-rule-fleet").await;
    sandbox.stop().await;
}

pub(crate) async fn a_rule_that_is_bad_or_missing_after_a_restart_runs_on() {
    let mut sandbox = fleet("runs-on", 1, 50).await;
    for (round, text) in ["kind: [", "", &RULE.replace("children", "childs")].iter().enumerate() {
        sandbox.stop().await;
        sandbox.rule_is(text);
        sandbox.begin(50).await;
        let name = format!("new-{round}");
        sandbox.webapp_is(&name, json!({"image": "b"})).await;
        sandbox.until("ConfigMap", &name, "is made by the old rule", |_| true).await;
        assert_eq!(sandbox.controller().kept().len(), 1, "{text}");
        assert!(sandbox.find("ConfigMap", "app-0").await.is_some());
    }
    sandbox.stop().await;
}

pub(crate) async fn a_changed_rule_goes_over_its_parents_one_by_one_and_an_edit_does_not_wait() {
    const PARENTS: usize = 30;
    let mut sandbox = fleet("by-turns", PARENTS, 1).await;
    let before = sandbox.writes().len();
    sandbox.rule_is(&RULE.replace("tier: \"one\"", "tier: \"two\""));
    eventually("the first has changed", || async {
        let changed = tiers(&sandbox, PARENTS).await.iter().filter(|tier| *tier == "two").count();
        if changed > 0 { Ok(()) } else { Err(format!("{changed}")) }
    })
    .await;
    sandbox.edit("WebApp", "app-29", json!({"spec": {"image": "edited"}})).await;
    let edited = |object: &Value| object["data"]["image"] == "edited";
    sandbox.until("ConfigMap", "app-29", "is edited", edited).await;
    sandbox.webapp_is("late", json!({"image": "a"})).await;
    sandbox.until("ConfigMap", "late", "is made", |_| true).await;
    let (_, progress) = sandbox.controller().rollouts().pop().expect("a roll-out");
    assert!(progress.pending > PARENTS / 3, "others still wait: {progress:?}");
    assert!(!progress.halted);

    // What would not change costs nothing: back to the first version, for those that have not seen the second.
    sandbox.rule_is(RULE);
    sandbox.settled().await;
    eventually("it is over", || async {
        let left = sandbox.controller().rollouts();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
    assert_eq!(tiers(&sandbox, PARENTS).await, vec!["one"; PARENTS]);
    let applies = sandbox.writes().split_off(before);
    let applies = applies.iter().filter(|write| write.uri.contains("/configmaps/app-")).count();
    assert!(applies < PARENTS, "{applies} writes for those that had changed");
    sandbox.stop().await;
}

pub(crate) async fn a_roll_out_stands_still_while_too_many_fail() {
    const PARENTS: usize = 40;
    let mut sandbox = fleet("stands-still", PARENTS, 10).await;
    sandbox.rule_is(
        &RULE.replace("tier: \"one\"", "tier: {{ \"no label value \" ~ parent.spec.image }}"),
    );
    eventually("it stands still", || async {
        match sandbox.controller().rollouts().pop() {
            Some((_, progress)) if progress.halted => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    let (_, told) = sandbox.until_told("stands-still-rule-fleet", "RolloutHalted").await;
    assert_eq!(told["type"], "Warning");
    let mut stalled = 0;
    for number in 0..PARENTS {
        let parent = sandbox.get("WebApp", &format!("app-{number}")).await;
        stalled += usize::from(condition(&parent, "Stalled").0 == "True");
    }
    assert!((3..PARENTS / 2).contains(&stalled), "{stalled} of {PARENTS} have seen the mistake");

    sandbox.rule_is(&RULE.replace("tier: \"one\"", "tier: \"mended\""));
    eventually("all are mended", || async {
        let tiers = tiers(&sandbox, PARENTS).await;
        if tiers == vec!["mended"; PARENTS] { Ok(()) } else { Err(format!("{tiers:?}")) }
    })
    .await;
    sandbox.stop().await;
}

/// How many of the parents' ConfigMaps are there.
async fn configs(sandbox: &Sandbox, parents: usize) -> usize {
    let mut found = 0;
    for number in 0..parents {
        let name = format!("app-{number}");
        found += usize::from(sandbox.find("ConfigMap", &name).await.is_some());
    }
    found
}

/// The token that allows what a record says is held back.
async fn token(sandbox: &Sandbox, name: &str) -> String {
    let kept = sandbox
        .until("ConfigMap", name, "says what is held back", |object| {
            !record(object)["withheld"].is_null()
        })
        .await;
    let line = record(&kept)["withheld"][0].as_str().expect("a line").to_owned();
    let (_, token) = line.split_once("allow-deletions=").expect("a command");
    token.to_owned()
}

async fn allow(sandbox: &Sandbox, name: &str, token: &str) {
    let annotations = json!({"kubewright.io/allow-deletions": token});
    sandbox.edit("ConfigMap", name, json!({"metadata": {"annotations": annotations}})).await;
}

pub(crate) async fn a_typo_does_not_prune_a_fleet() {
    const PARENTS: usize = 8;
    const RECORD: &str = "typo-rule-fleet";
    let mut sandbox = fleet("typo", PARENTS, 50).await;
    let typo = RULE.replace(
        "    - id: config\n",
        "    - id: config\n      when: [{path: \"$.spec.imagee\", exists: true}]\n",
    );
    sandbox.rule_is(&typo);
    let stalled = |object: &Value| {
        let (status, message) = condition(object, "Stalled");
        status == "True" && message.contains(RECORD)
    };
    sandbox.until_told(RECORD, "DeletionWithheld").await;
    // Those that have seen it fail, and so the others do not see it at all.
    sandbox.until_told(RECORD, "RolloutHalted").await;
    eventually("the parents are told", || async {
        let mut told = 0;
        for number in 0..PARENTS {
            told += usize::from(stalled(&sandbox.get("WebApp", &format!("app-{number}")).await));
        }
        if told > 2 { Ok(()) } else { Err(format!("{told}")) }
    })
    .await;
    assert_eq!(configs(&sandbox, PARENTS).await, PARENTS);

    // The same after a restart, and a token that is not for this allows nothing.
    sandbox.stop().await;
    sandbox.begin(50).await;
    allow(&sandbox, RECORD, "00000000").await;
    sandbox.edit("WebApp", "app-0", json!({"spec": {"image": "edited"}})).await;
    sandbox.settled().await;
    assert_eq!(configs(&sandbox, PARENTS).await, PARENTS);

    let token = token(&sandbox, RECORD).await;
    allow(&sandbox, RECORD, &token).await;
    for number in 0..PARENTS {
        sandbox.until_gone("ConfigMap", &format!("app-{number}")).await;
    }
    sandbox.stop().await;
}

pub(crate) async fn an_emptied_input_does_not_prune_a_fleet_and_an_owner_may() {
    const PARENTS: usize = 7;
    const RECORD: &str = "emptied-rule-fleet";
    let rule = RULE
        .replace("  children:\n", "  inputs: [{id: switch, apiVersion: v1, kind: ConfigMap, name: switch}]\n  children:\n")
        .replace(
            "    - id: config\n",
            "    - id: config\n      when: [{of: switch, path: \"$.data.on\", equals: \"yes\"}, {path: \"$.spec.image\", notEquals: none}]\n",
        );
    let mut sandbox = Sandbox::at_rest_with("emptied", &rule, &[]).await;
    for number in 0..PARENTS {
        sandbox.webapp_is(&format!("app-{number}"), json!({"image": "a"})).await;
    }
    let switch = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "switch"}, "data": {"on": "yes"}});
    sandbox.create("ConfigMap", switch).await;
    sandbox.begin(50).await;
    sandbox.settled().await;
    assert_eq!(configs(&sandbox, PARENTS).await, PARENTS);

    sandbox.edit("ConfigMap", "switch", json!({"data": {"on": "oops"}})).await;
    let token = token(&sandbox, RECORD).await;
    sandbox.settled().await;
    assert_eq!(configs(&sandbox, PARENTS).await, PARENTS);

    // Whoever owns a parent may do with it what he likes.
    sandbox.edit("WebApp", "app-0", json!({"spec": {"image": "none"}})).await;
    sandbox.until_gone("ConfigMap", "app-0").await;
    assert_eq!(configs(&sandbox, PARENTS).await, PARENTS - 1);

    // It is put right: nothing has happened.
    sandbox.edit("ConfigMap", "switch", json!({"data": {"on": "yes"}})).await;
    let fine = |object: &Value| condition(object, "Stalled").0 == "False";
    for number in 1..PARENTS {
        sandbox.until("WebApp", &format!("app-{number}"), "is fine again", fine).await;
    }
    assert_eq!(configs(&sandbox, PARENTS).await, PARENTS - 1);

    // What was meant is allowed by what was shown.
    sandbox.edit("ConfigMap", "switch", json!({"data": {"on": "off"}})).await;
    let again = eventually("it is shown anew", || async {
        let again = self::token(&sandbox, RECORD).await;
        if again == token { Err(again) } else { Ok(again) }
    })
    .await;
    allow(&sandbox, RECORD, &again).await;
    for number in 1..PARENTS {
        sandbox.until_gone("ConfigMap", &format!("app-{number}")).await;
    }
    sandbox.stop().await;
}

const TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ parent.metadata.name }}}
data: {text: \"first\"}
";

const STOLEN: &str =
    r#"inline: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}\ndata: {}""#;

pub(crate) async fn rules_in_config_maps_are_taken_over_and_a_bad_one_is_told() {
    const NAME: &str = "from-maps";
    let sandbox = Sandbox::bare(NAME).await;
    let rule = "apiVersion: kubewright.io/v1alpha1\nkind: Rule\nmetadata: {name: mapped}\nspec:\n  \
                parent: {apiVersion: demo.kubewright.io/v1, kind: WebApp, namespaces: [from-maps]}\n  \
                children: [{id: config, template: mapped/config.yaml}]\n";
    let config_map = |name: &str, annotations: Value, data: Value| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
            "metadata": {"name": name, "labels": {"kubewright.io/rules": "true"}, "annotations": annotations}})
    };
    let folder = json!({"kubewright.io/templates": "mapped"});
    sandbox
        .create("ConfigMap", config_map("templates", folder, json!({"config.yaml": TEMPLATE})))
        .await;
    sandbox.create("ConfigMap", config_map("rules", json!({}), json!({"rule.yaml": rule}))).await;
    // Whoever may write elsewhere cannot give rules to us.
    sandbox.namespace("from-maps-other").await;
    let elsewhere = sandbox.looking_into("from-maps-other");
    let stolen = rule.replace("mapped", "stolen").replace("template: stolen/config.yaml", STOLEN);
    elsewhere
        .create("ConfigMap", config_map("rules", json!({}), json!({"rule.yaml": stolen})))
        .await;
    let flags = ["--rule-configmaps", "--namespace", NAME, "--installation", NAME];
    let mut replica = Replica::start("maps", Path::new("no/such/folder"), &flags);
    sandbox.webapp_is("one", json!({"image": "a"})).await;
    let says = |text: &'static str| move |object: &Value| object["data"]["text"] == text;
    sandbox.until("ConfigMap", "one", "is made", says("first")).await;

    let second = json!({"data": {"config.yaml": TEMPLATE.replace("first", "second")}});
    sandbox.edit("ConfigMap", "templates", second).await;
    sandbox.until("ConfigMap", "one", "follows its template", says("second")).await;

    let bad = json!({"data": {"rule.yaml": rule.replace("children", "childs")}});
    sandbox.edit("ConfigMap", "rules", bad).await;
    let (note, _) = sandbox.until_told("rules", "RuleRefused").await;
    assert!(note.contains("childs"), "{note}");
    sandbox.webapp_is("two", json!({"image": "a"})).await;
    sandbox.until("ConfigMap", "two", "is made by the rule as it was", says("second")).await;
    let (code, text) = replica.page("/readyz").await;
    assert_eq!(code, 200, "{text}");
    assert!(text.contains("rule mapped runs on as it was"), "{text}");
    assert!(!text.contains("stolen"), "{text}");
    assert_eq!(sandbox.find("ConfigMap", "stolen").await, None);

    // What is deleted on purpose is gone: nothing is left that looks after the children.
    let other = json!({"data": {"rule.yaml": OTHER}});
    sandbox.edit("ConfigMap", "rules", other).await;
    replica.until_logged("the rule is gone").await;
    replica.signal(rustix::process::Signal::TERM);
    assert!(replica.ends().await.success());
    assert!(
        sandbox.find("ConfigMap", "one").await.is_some(),
        "kept, as it is unless a rule says so"
    );
}
