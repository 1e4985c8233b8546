//! Load: our program against a real API server, beside the floor.
//!
//! `cargo bench --bench load -- --parents 1000 --json load.json`; what the numbers mean is in `docs/BENCHMARKS.md`. The machine's
//! two cores are shared by etcd, the API server, the loader and whatever else runs: ratios say more than rates.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints numbers")]

mod calm;
mod flood;
mod floor;
mod ours;
mod report;
mod seen;
mod world;

use calm::Calm;
use clap::Parser;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use world::World;

pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type Result<T> = std::result::Result<T, Failed>;

/// By which the audit log knows our program.
pub(crate) const OURS: &str = "kubewright/";

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_mins(15);

/// Measures our program against a real API server, beside a bare client.
#[derive(Debug, Parser)]
struct Arguments {
    /// New parents of each flood; so many are at rest afterwards.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    parents: usize,
    /// Floods over ours and over the floor, in turn.
    #[arg(long, default_value_t = 2, value_name = "N")]
    rounds: usize,
    /// New parents per second where they come one by one.
    #[arg(long, default_value_t = 20, value_name = "N")]
    pace: u32,
    /// Children that are edited and deleted one after the other.
    #[arg(long, default_value_t = 50, value_name = "N")]
    repairs: usize,
    /// How long the silence is listened to.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    quiet: u64,
    /// Writes the numbers as JSON, too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    kubewright::control_plane::child::run_if_asked();
    let arguments = Arguments::parse();
    if !arguments.bench {
        println!(
            "this takes minutes and a control plane; ask for it with `cargo bench --bench load`"
        );
        return ExitCode::SUCCESS;
    }
    let measured = tokio::runtime::Runtime::new()
        .map_err(Failed::from)
        .and_then(|runtime| runtime.block_on(measure(&arguments)));
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let world = World::start().await?;
    let (parents, mut report) = (arguments.parents, Report::new(arguments.parents));
    let mut calm = None;
    eprintln!("a flood that does not count: servers are slow at first");
    drop(flood::over_floor(&world, "warm", parents / 2, None).await?);
    for round in 0..arguments.rounds.max(1) {
        eprintln!("round {round}: {parents} parents over ours, and as many over the floor");
        let (namespace, other) = (format!("ours-{round}"), format!("floor-{round}"));
        // Nobody is always first.
        if round % 2 == 1 {
            report.floor.push(flood::over_floor(&world, &other, parents, None).await?);
        }
        let (flood, ours) = flood::over_ours(&world, &namespace, parents, None).await?;
        report.ours.push(flood);
        if round % 2 == 0 {
            report.floor.push(flood::over_floor(&world, &other, parents, None).await?);
        }
        calm = Some((namespace, ours));
    }
    let few = (parents / 5).max(1);
    eprintln!("{few} parents, {} a second", arguments.pace);
    report.paced_floor =
        Some(flood::over_floor(&world, "floor-paced", few, Some(arguments.pace)).await?);
    let Some((namespace, ours)) = calm else { return Ok(()) };
    let calm = Calm { world: &world, namespace: &namespace, parents };
    eprintln!("{parents} parents at rest: {} s of silence", arguments.quiet);
    report.quiet = Some(calm.quiet(&ours, arguments.quiet).await?);
    eprintln!("{} repairs", arguments.repairs);
    report.repair = Some(calm.repair(arguments.repairs).await?);
    eprintln!("a restart, and another template");
    let (restart, ours) = calm.restart(ours).await?;
    report.restart = Some(restart);
    let (edit, ours) = calm.edit(ours).await?;
    report.edit = Some(edit);
    ours.stop()?;
    let (paced, ours) = flood::over_ours(&world, "ours-paced", few, Some(arguments.pace)).await?;
    report.paced_ours = Some(paced);
    ours.stop()?;
    eprintln!("{parents} parents without children");
    report.childless = Some(calm.childless("childless").await?);
    world.plane.stop().await?;
    println!("{}", report.table());
    if let Some(file) = &arguments.json {
        std::fs::write(file, serde_json::to_string_pretty(&report.json())?)?;
    }
    Ok(())
}

/// Half are below the first, and 99 in 100 below the second.
pub(crate) fn quantiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at =
        |part: usize| values.get((values.len() * part / 100).min(values.len().saturating_sub(1)));
    (at(50).copied().unwrap_or(f64::NAN), at(99).copied().unwrap_or(f64::NAN))
}
