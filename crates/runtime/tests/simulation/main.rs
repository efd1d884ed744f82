//! Several nodes on one faulty log, in simulated time: appends conflict, fail, have an unknown result or come late;
//! wakeups are lost; leases lapse; nodes are killed, paused and cut off. Everything in a run depends on its seed.
//!
//! `SIMULATION_SEED=n` plays one seed and prints what was committed. `SIMULATION_RUNS=n` plays so many, and
//! `SIMULATION_FROM=n` begins with another seed than 0.

mod acts;
mod checks;
mod condition;
mod journal;
mod model;
mod node_log;
mod random;
mod tools;
mod users;
mod wire;
mod world;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use journal::{Defect, Journal};
use random::Random;
use world::World;

/// The number of runs without a setting.
const RUNS: u64 = 50;

/// What came of a run.
struct Outcome {
    /// Everything that was committed, in order.
    journal: Arc<Journal>,
    violations: Vec<String>,
    commits: usize,
    responses: usize,
}

/// Plays one seed.
fn play(seed: u64, defect: Option<Defect>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let world = World::new(seed, defect).await;
        tokio::join!(biased; users::play(world.clone()), world.clone().disturb());
        world.calm();
        let mut is_settled = world.settle().await;
        let mut is_answered = false;
        if is_settled && Random::new(seed, "end").chance(500) {
            is_answered = users::answer_everything(world.clone()).await;
            is_settled = world.settle().await;
        }
        let mut violations = checks::check(&world, is_answered).await;
        if !is_settled {
            violations.push("it does not settle".to_owned());
        }
        let (commits, responses) = (world.journal.len(), world.responses.len());
        Outcome { journal: Arc::clone(&world.journal), violations, commits, responses }
    })
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

/// The first line of each violation.
fn brief(violations: &[String]) -> String {
    let first = |violation: &String| violation.lines().next().unwrap_or_default().chars().take(300).collect::<String>();
    violations.iter().map(|violation| first(violation) + "\n").collect()
}

/// How to play a seed again.
fn command(seed: u64) -> String {
    format!("SIMULATION_SEED={seed} cargo test -p holdpoint-runtime --test simulation whatever_happens -- --nocapture")
}

#[test]
fn whatever_happens() {
    if let Some(seed) = setting("SIMULATION_SEED") {
        let Outcome { journal, violations, .. } = play(seed, None);
        println!("{}", journal.trace());
        assert!(violations.is_empty(), "seed {seed}:\n{}", violations.join("\n"));
        return;
    }
    let (from, runs) = (setting("SIMULATION_FROM").unwrap_or(0), setting("SIMULATION_RUNS").unwrap_or(RUNS));
    let (next, begun) = (AtomicU64::new(from), Instant::now());
    let (commits, responses) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let failed: Vec<(u64, Vec<String>)> = thread::scope(|scope| {
        let play_some = || {
            let mut failed = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= from + runs {
                    return failed;
                }
                let outcome = play(seed, None);
                commits.fetch_add(outcome.commits, Ordering::Relaxed);
                responses.fetch_add(outcome.responses, Ordering::Relaxed);
                if !outcome.violations.is_empty() {
                    println!("seed {seed}:\n{}", brief(&outcome.violations));
                    failed.push((seed, outcome.violations));
                }
            }
        };
        let players: Vec<_> = (0..threads).map(|_| scope.spawn(play_some)).collect();
        players.into_iter().flat_map(|player| player.join().expect("no run panics")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let rate = runs as f64 / seconds * 60.0;
    println!(
        "{runs} runs in {seconds:.1} s, {rate:.0} a minute: {} commits, {} responses, {} runs failed",
        commits.into_inner(),
        responses.into_inner(),
        failed.len()
    );
    if let Some((seed, violations)) = failed.iter().min_by_key(|(seed, _)| *seed) {
        panic!("{} of {runs} runs failed. Seed {seed}:\n{}\n{}", failed.len(), brief(violations), command(*seed));
    }
}

/// A failure can be looked into: the same seed gives the same run.
#[test]
fn a_run_is_repeated_by_its_seed() {
    let mut hashes = BTreeSet::new();
    for seed in 0..15 {
        let [a, b] = [0, 1].map(|_| play(seed, None).journal);
        hashes.insert(a.hash());
        if a.hash() != b.hash() {
            let (a, b) = (a.trace(), b.trace());
            let first = a.lines().zip(b.lines()).position(|(a, b)| a != b).unwrap_or_default();
            let lines = |trace: &str| trace.lines().skip(first).take(3).collect::<Vec<_>>().join("\n");
            panic!("seed {seed} differs in line {first}:\n{}\n{}", lines(&a), lines(&b));
        }
    }
    assert_eq!(hashes.len(), 15, "another seed gives another run");
}

/// The simulation can fail: each defect is found.
#[test]
fn a_defect_is_found() {
    let defects = [
        (Defect::WrongExpected, "more than one outcome"),
        (Defect::LostAppend, "is not in the log"),
        (Defect::OpenHold, "the rows of its holds"),
        (Defect::Owner, "it has an owner"),
        (Defect::Unclaimed, "was approved by a grant that was"),
        (Defect::SecondRun, "more runs than starts"),
        (Defect::Unapproved, "was not approved"),
    ];
    for (defect, text) in defects {
        let found = (0..40).any(|seed| play(seed, Some(defect)).violations.iter().any(|found| found.contains(text)));
        assert!(found, "{defect:?} is not found");
    }
}
