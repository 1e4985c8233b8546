//! Many new parents: ours and the floor in turn, in the same run, each time in a fresh namespace.
//!
//! In: how many. Out: [`Flood`]s: rate, requests, latencies, CPU and memory. Never here: printing.

use crate::floor::{self, Floor};
use crate::ours::{Ours, Taken};
use crate::seen::{Seen, is_ready};
use crate::world::{Requests, World, name};
use crate::{OURS, PATIENCE, Result, quantiles};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// What came of one flood.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Flood {
    /// Parents that were ready per second, from the first creation to the last status.
    pub(crate) rate: f64,
    /// From the answer to a parent's creation to its status: half of them took less, and 99 in 100.
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Requests by verb, for all parents together.
    pub(crate) requests: Requests,
    /// Seconds of CPU; only of a process of its own.
    pub(crate) cpu: Option<f64>,
    /// Bytes: before, after, and at most.
    pub(crate) memory: Option<(u64, u64, u64)>,
}

/// A flood over our program, which goes on running.
pub(crate) async fn over_ours(
    world: &World,
    namespace: &str,
    parents: usize,
    per_second: Option<u32>,
) -> Result<(Flood, Ours)> {
    world.namespace(namespace).await?;
    let seen = Seen::begin(world.api(namespace, "App"), is_ready).await;
    let ours = Ours::start(world.plane.kubeconfig(), namespace, &|text| text)?;
    // One parent before all others: when it is ready, the watches are there.
    world.parents(namespace, parents..parents + 1, None, &|_, _, _| {}).await?;
    seen.wait(1, PATIENCE).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    seen.clear();
    let (mark, before) = (world.mark()?, ours.taken()?);
    let created = Mutex::new(HashMap::new());
    let begun = Instant::now();
    let note = |name: String, _, at| {
        created.lock().unwrap_or_else(PoisonError::into_inner).insert(name, at);
    };
    world.parents(namespace, 0..parents, per_second, &note).await?;
    let ready = seen.wait(parents, PATIENCE).await?;
    let after = ours.taken()?;
    // The last Events are still on their way.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let created = created.into_inner().unwrap_or_else(PoisonError::into_inner);
    let requests = world.requests(OURS, mark)?;
    let mut flood = told(begun, &created, &ready, requests);
    let Taken { memory, peak, .. } = ours.taken()?;
    flood.cpu = Some(after.cpu - before.cpu);
    flood.memory = Some((before.memory, memory, peak));
    Ok((flood, ours))
}

/// The same over the floor.
pub(crate) async fn over_floor(
    world: &World,
    namespace: &str,
    parents: usize,
    per_second: Option<u32>,
) -> Result<Flood> {
    world.namespace(namespace).await?;
    let seen = Seen::begin(world.api(namespace, "App"), is_ready).await;
    let floor = Arc::new(Floor::new(world, namespace).await?);
    let mark = world.mark()?;
    let created = Mutex::new(HashMap::new());
    let work: Mutex<JoinSet<Result<()>>> = Mutex::default();
    let begun = Instant::now();
    let converge = |name: String, parent, at| {
        created.lock().unwrap_or_else(PoisonError::into_inner).insert(name, at);
        let floor = Arc::clone(&floor);
        let converge = async move { floor.converge(&parent).await };
        work.lock().unwrap_or_else(PoisonError::into_inner).spawn(converge);
    };
    world.parents(namespace, 0..parents, per_second, &converge).await?;
    let mut work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
    while let Some(ended) = work.join_next().await {
        ended??;
    }
    let ready = seen.wait(parents, PATIENCE).await?;
    let created = created.into_inner().unwrap_or_else(PoisonError::into_inner);
    let requests = world.requests(floor::AGENT, mark)?;
    Ok(told(begun, &created, &ready, requests))
}

fn told(
    begun: Instant,
    created: &HashMap<String, Instant>,
    ready: &HashMap<String, Instant>,
    requests: Requests,
) -> Flood {
    let took = |(name, at): (&String, &Instant)| {
        Some(ready.get(name)?.saturating_duration_since(*at).as_secs_f64() * 1e3)
    };
    let (p50_ms, p99_ms) = quantiles(created.iter().filter_map(took).collect());
    let last = (0..created.len()).filter_map(|number| ready.get(&name(number))).max();
    let lasted = last.map_or(Duration::MAX, |last| last.duration_since(begun));
    let rate = f64::from(u32::try_from(created.len()).unwrap_or(u32::MAX)) / lasted.as_secs_f64();
    Flood { rate, p50_ms, p99_ms, requests, cpu: None, memory: None }
}
