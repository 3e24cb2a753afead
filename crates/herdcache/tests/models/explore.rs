//! Runs a story under many schedules, or once more under one that failed.

use std::future::Future;

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, UncontrolledNondeterminismCheckScheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

/// Schedules of each kind, unless `HERD_RUNS` says otherwise.
const RUNS: usize = 4_000;
/// How many preemptions PCT bets on: most errors need one or two.
const DEPTH: usize = 3;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.max_steps = MaxSteps::FailAfter(200_000);
    config.failure_persistence = FailurePersistence::Print;
    // Relaxed orders are loom's business.
    config.silence_warnings = true;
    config
}

/// One run of a story.
fn run<F: Future<Output = ()>>(story: impl Fn() -> F) {
    herdcache::model::reset();
    shuttle::future::block_on(story());
}

/// Runs a story under random schedules and under schedules with few preemptions.
pub(crate) fn explore<F: Future<Output = ()> + 'static>(story: impl Fn() -> F + Copy + Send + Sync + 'static) {
    if let Ok(schedule) = std::env::var("HERD_REPLAY") {
        let mut scheduler = ReplayScheduler::new_from_encoded(schedule.trim());
        scheduler.set_allow_incomplete();
        Runner::new(scheduler, config()).run(move || run(story));
        return;
    }
    let runs = number("HERD_RUNS").map_or(RUNS, |runs| usize::try_from(runs).unwrap());
    let seed = number("HERD_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("{runs} random schedules and {runs} with {DEPTH} preemptions, HERD_SEED={seed}");
    Runner::new(RandomScheduler::new_from_seed(seed, runs), config()).run(move || run(story));
    Runner::new(PctScheduler::new_from_seed(seed, DEPTH, runs), config()).run(move || run(story));
    // A schedule can be replayed only if nothing but the schedule decides what happens.
    let again = UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new_from_seed(seed, runs / 20));
    Runner::new(again, config()).run(move || run(story));
}
