//! Many runs at a time, told in the order in which they were asked for.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::play::{PlayError, play};
use crate::policy::Policy;
use crate::run::Run;
use crate::scenario::Scenario;

/// One run that is asked for.
pub(super) struct Job<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) policy: Policy,
    pub(super) seed: u64,
}

/// Plays all of them, a few at a time.
pub(super) fn play_all(jobs: &[Job<'_>], at_a_time: Option<usize>) -> Result<Vec<Run>, PlayError> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = at_a_time.unwrap_or(processors).clamp(1, jobs.len().max(1));
    let (next, bar) = (AtomicUsize::new(0), bar(jobs.len()));
    let done: Mutex<Vec<Option<Result<Run, PlayError>>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((place, job)) = {
                    let place = next.fetch_add(1, Relaxed);
                    jobs.get(place).map(|job| (place, job))
                } {
                    bar.set_message(format!("{} {}", job.scenario.name, job.policy));
                    let run = play(job.scenario, &job.policy, job.seed);
                    bar.inc(1);
                    if let Some(slot) = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_mut(place) {
                        *slot = Some(run);
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().flatten().collect()
}

/// Nothing of it is seen where the standard error is no terminal.
fn bar(runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {bar:30} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
