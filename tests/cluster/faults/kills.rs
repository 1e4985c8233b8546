//! `kubewright run` is killed again and again, wherever it is in its work.
//!
//! In: the work of a plot, and how often (`KUBEWRIGHT_KILLS`, for longer runs). Out: the state of an undisturbed run, every
//! object made once.

use super::plot::{Plot, work};
use super::storms::{calm, chance_below, difference, nothing_twice, rests};
use crate::proxy::Proxy;
use crate::replica::Replica;
use crate::world::{PATIENCE, world};
use std::cell::Cell;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Unless said otherwise.
const KILLS: usize = 25;

/// A process that has nothing to do any more is killed after this time.
const IDLE: Duration = Duration::from_millis(1500);

/// So many requests after its first write a process is killed, at most.
const WRITES: u64 = 60;

pub(crate) async fn a_process_that_is_killed_at_any_moment_leaves_nothing_half_done() {
    let calm = calm().await;
    let kills =
        std::env::var("KUBEWRIGHT_KILLS").map_or(KILLS, |text| text.parse().expect("a number"));
    let name = "faults-kills";
    let plot = Plot::new(world().client(name), name).await;
    let proxy = Proxy::start(world().client("kubewright-faults-kills")).await;
    let rules = plot.write_down();
    let flags = ["--installation", name, "--namespace", name];
    let start =
        || Replica::start_at(name, &proxy.kubeconfig(), &rules.path().join("rules"), &flags);
    let (lives, done, idle) = (Cell::new(0), Cell::new(false), Cell::new(0));
    let killing = async {
        while lives.get() < kills || !done.get() {
            let (life, mark, begun) = (lives.get(), proxy.seen().len(), Instant::now());
            let replica = start();
            // From its first request on, of which there are about ten before the first write.
            let until = chance_below(life, 10 + WRITES);
            let asked = || proxy.seen().len() - mark;
            while asked() < until && (asked() == 0 || begun.elapsed() < 4 * IDLE) {
                assert!(begun.elapsed() < PATIENCE, "it never asks: {}", replica.log());
                sleep(Duration::from_millis(2)).await;
            }
            idle.set(idle.get() + usize::from(asked() < until));
            // Killed, as by the kernel.
            drop(replica);
            lives.set(life + 1);
        }
    };
    let pause = async || {
        let until = lives.get() + kills / 5;
        while lives.get() < until {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let working = async {
        work(&plot, pause).await;
        done.set(true);
    };
    let time = PATIENCE + Duration::from_secs(8) * u32::try_from(kills).expect("a number");
    let both = async { tokio::join!(killing, working) };
    tokio::time::timeout(time, both).await.expect("parents that are deleted go");
    let replica = start();
    let begun = Instant::now();
    rests(&plot, &proxy, |state| difference(state, &calm.state)).await;
    let took = begun.elapsed();
    eprintln!(
        "{name}: killed {} times, {} of them idle; all right after {took:.1?}",
        lives.get(),
        idle.get()
    );
    nothing_twice(calm, &proxy.seen(), name);
    drop(replica);
}
