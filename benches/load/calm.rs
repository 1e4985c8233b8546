//! Many parents at rest: what our program does, takes and answers while they are in its caches.
//!
//! In: our program with its parents, from a flood. Out: numbers of each scenario. Never here: printing.

use crate::ours::Ours;
use crate::seen::{Seen, is_ready};
use crate::world::{ONE_IN, Requests, World, name, writes};
use crate::{OURS, PATIENCE, Result, quantiles};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde_json::json;
use std::time::{Duration, Instant};

/// Parents at rest.
pub(crate) struct Calm<'a> {
    pub(crate) world: &'a World,
    pub(crate) namespace: &'a str,
    pub(crate) parents: usize,
}

/// Nothing happens.
#[derive(Debug, Serialize)]
pub(crate) struct Quiet {
    pub(crate) seconds: u64,
    /// Besides those that hold or renew a watch.
    pub(crate) requests: u64,
    /// Of one core, in percent.
    pub(crate) cpu_percent: f64,
}

/// Somebody changes or takes away a child: p50 and p99 in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Repair {
    pub(crate) edited: (f64, f64),
    pub(crate) deleted: (f64, f64),
    /// One write by nobody but the loader, from sending it to seeing it.
    pub(crate) bare: (f64, f64),
}

/// A new process with the same parents.
#[derive(Debug, Serialize)]
pub(crate) struct Restart {
    pub(crate) writes: u64,
    pub(crate) requests: Requests,
    /// Until an edit that was made right after the start had reached the child.
    pub(crate) edit_served_s: f64,
    /// Of CPU, until there was nothing more to do.
    pub(crate) cpu: f64,
}

/// A template that comes out differently for one parent in a hundred.
#[derive(Debug, Serialize)]
pub(crate) struct Edit {
    pub(crate) expected: u64,
    pub(crate) writes: u64,
}

impl Calm<'_> {
    /// Listens to the silence.
    pub(crate) async fn quiet(&self, ours: &Ours, seconds: u64) -> Result<Quiet> {
        self.at_rest(ours).await?;
        let (mark, before) = (self.world.mark()?, ours.taken()?);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let cpu = ours.taken()?.cpu - before.cpu;
        let requests = self.world.requests(OURS, mark)?;
        let requests = requests.iter().filter(|(verb, _)| *verb != "watch").map(|(_, count)| count);
        let percent = 100.0 * cpu / f64::from(u32::try_from(seconds)?);
        Ok(Quiet { seconds, requests: requests.sum(), cpu_percent: percent })
    }

    /// Edits and deletes children one after the other, and writes as often to something that nobody repairs.
    pub(crate) async fn repair(&self, samples: usize) -> Result<Repair> {
        let maps = self.world.api(self.namespace, "ConfigMap");
        let by_hand =
            PatchParams { field_manager: Some("by-hand".into()), ..PatchParams::default() };
        let (mut edited, mut deleted, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for sample in 0..samples {
            let victim = name(sample % self.parents.max(1));
            let is_it = |victim: &str| {
                let victim = victim.to_owned();
                move |map: &DynamicObject| {
                    let broken = map.data["data"]["logging.json"] == "broken";
                    map.metadata.name.as_deref() == Some(&*victim) && !broken
                }
            };
            let change = Patch::Merge(json!({"data": {"logging.json": "broken"}}));
            let seen = Seen::begin(maps.clone(), is_it(&victim)).await;
            seen.clear();
            maps.patch(&victim, &by_hand, &change).await?;
            edited.push(self.since(Instant::now(), &seen, &victim).await?);
            seen.clear();
            maps.delete(&victim, &DeleteParams::background()).await?;
            deleted.push(self.since(Instant::now(), &seen, &victim).await?);
            drop(seen);
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nobodys"},
                "data": {"sample": sample.to_string()}});
            let is_written = move |map: &DynamicObject| {
                map.data["data"]["sample"].as_str() == Some(&*sample.to_string())
            };
            let seen = Seen::begin(maps.clone(), is_written).await;
            let begun = Instant::now();
            maps.patch("nobodys", &PatchParams::apply("loader"), &Patch::Apply(&body)).await?;
            bare.push(self.since(begun, &seen, "nobodys").await?);
        }
        let (edited, deleted, bare) = (quantiles(edited), quantiles(deleted), quantiles(bare));
        Ok(Repair { edited, deleted, bare })
    }

    async fn since(&self, begun: Instant, seen: &Seen, name: &str) -> Result<f64> {
        let found = seen.wait(1, PATIENCE).await?;
        let at = found.get(name).copied().unwrap_or_else(Instant::now);
        Ok(at.saturating_duration_since(begun).as_secs_f64() * 1e3)
    }

    /// Starts a new process: first nobody does anything, then somebody edits a parent while another one starts.
    pub(crate) async fn restart(&self, ours: Ours) -> Result<(Restart, Ours)> {
        // A status that is owed is written by whoever comes next.
        self.at_rest(&ours).await?;
        ours.stop()?;
        let mark = self.world.mark()?;
        let ours = Ours::start(self.world.plane.kubeconfig(), self.namespace, &|text| text)?;
        self.at_rest(&ours).await?;
        let (requests, cpu) = (self.world.requests(OURS, mark)?, ours.taken()?.cpu);
        ours.stop()?;
        let maps = self.world.api(self.namespace, "ConfigMap");
        let is_edited = |map: &DynamicObject| {
            map.data["data"]["logging.json"].as_str().is_some_and(|text| text.contains("\"warn\""))
        };
        let seen = Seen::begin(maps, is_edited).await;
        let begun = Instant::now();
        let ours = Ours::start(self.world.plane.kubeconfig(), self.namespace, &|text| text)?;
        let change = Patch::Merge(json!({"spec": {"level": "warn"}}));
        let apps = self.world.api(self.namespace, "App");
        let last = name(self.parents - 1);
        apps.patch(&last, &PatchParams::default(), &change).await?;
        let edit_served_s = self.since(begun, &seen, &last).await? / 1e3;
        self.at_rest(&ours).await?;
        Ok((Restart { writes: writes(&requests), requests, edit_served_s, cpu }, ours))
    }

    /// Another template, by which one in a hundred changes; a new process, since nothing else may have a part in it.
    pub(crate) async fn edit(&self, ours: Ours) -> Result<(Edit, Ours)> {
        self.at_rest(&ours).await?;
        ours.stop()?;
        let mark = self.world.mark()?;
        let other = |text: String| {
            let more = "  debug.txt: \"yes\"\n";
            text.replace("data:\n  application", &format!("data:\n{{% if parent.spec.level == 'debug' %}}\n{more}{{% endif %}}\n  application"))
        };
        let ours = Ours::start(self.world.plane.kubeconfig(), self.namespace, &other)?;
        self.at_rest(&ours).await?;
        let requests = self.world.requests(OURS, mark)?;
        // The parent that came before all others may be of that sort too.
        let expected = (0..=self.parents).filter(|number| number.is_multiple_of(ONE_IN)).count();
        Ok((Edit { expected: u64::try_from(expected)?, writes: writes(&requests) }, ours))
    }

    /// Waits until our program has had next to nothing to do for two seconds.
    pub(crate) async fn at_rest(&self, ours: &Ours) -> Result<()> {
        let begun = Instant::now();
        let mut calm = 0;
        while calm < 4 {
            let before = ours.taken()?.cpu;
            tokio::time::sleep(Duration::from_millis(500)).await;
            calm = if ours.taken()?.cpu - before <= 0.02 { calm + 1 } else { 0 };
            if begun.elapsed() > PATIENCE {
                return Err("it does not come to rest".into());
            }
        }
        Ok(())
    }

    /// Bytes that our program takes for parents of the same sort whose children are not wanted.
    pub(crate) async fn childless(&self, namespace: &str) -> Result<(u64, u64)> {
        self.world.namespace(namespace).await?;
        let none = |text: String| {
            let never = "when: [{path: \"$.spec.nothing\", exists: true}], template:";
            text.replace("template:", never)
        };
        let none = |text: String| if text.contains("kind: Rule") { none(text) } else { text };
        let seen = Seen::begin(self.world.api(namespace, "App"), is_ready).await;
        let ours = Ours::start(self.world.plane.kubeconfig(), namespace, &none)?;
        self.world.parents(namespace, self.parents..self.parents + 1, None, &|_, _, _| {}).await?;
        seen.wait(1, PATIENCE).await?;
        self.at_rest(&ours).await?;
        let before = ours.taken()?.memory;
        self.world.parents(namespace, 0..self.parents, None, &|_, _, _| {}).await?;
        seen.wait(self.parents + 1, PATIENCE).await?;
        self.at_rest(&ours).await?;
        let after = ours.taken()?.memory;
        ours.stop()?;
        Ok((before, after))
    }
}
