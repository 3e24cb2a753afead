//! Many runs at a time, told in the order in which they were asked for.

use std::io::{self, Write};
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Stopped;
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

impl Job<'_> {
    /// Why it did not come about, for a person: settings that cannot work are the scenario's.
    pub(super) fn stopped(&self, error: &PlayError) -> Stopped {
        let why = format!("scenario {:?} under {}: {error}", self.scenario.name, self.policy);
        match error {
            PlayError::Config(_) => Stopped::usage(&why),
            PlayError::Runtime(_) | PlayError::Record(_) | PlayError::Panicked => Stopped::failed(&why),
        }
    }
}

/// Plays all of them, a few at a time.
pub(super) fn play_all(jobs: &[Job<'_>], at_a_time: Option<NonZero<usize>>) -> Result<Vec<Run>, Stopped> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = at_a_time.map_or(processors, NonZero::get).clamp(1, jobs.len().max(1));
    let (next, progress) = (AtomicUsize::new(0), Progress::new(jobs.len()));
    let done: Mutex<Vec<Option<Result<Run, Stopped>>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((place, job)) = {
                    let place = next.fetch_add(1, Relaxed);
                    jobs.get(place).map(|job| (place, job))
                } {
                    progress.begins(job);
                    let run = play(job.scenario, &job.policy, job.seed).map_err(|error| job.stopped(&error));
                    progress.ends(job, &run);
                    if let Some(slot) = done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_mut(place) {
                        *slot = Some(run);
                    }
                }
            });
        }
    });
    progress.bar.finish_and_clear();
    done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().flatten().collect()
}

/// How far it has come: a bar on a terminal, a line for each run elsewhere.
struct Progress {
    bar: ProgressBar,
    ended: AtomicUsize,
    runs: usize,
}

impl Progress {
    fn new(runs: usize) -> Self {
        let bar = ProgressBar::new(runs as u64);
        if let Ok(style) = ProgressStyle::with_template("{pos}/{len} {bar:30} {elapsed} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Self { bar, ended: AtomicUsize::new(0), runs }
    }

    fn begins(&self, job: &Job<'_>) {
        self.bar.set_message(format!("{} {}", job.scenario.name, job.policy));
    }

    fn ends(&self, job: &Job<'_>, run: &Result<Run, Stopped>) {
        self.bar.inc(1);
        let ended = self.ended.fetch_add(1, Relaxed) + 1;
        // One run needs no telling, and a bar tells by itself.
        if self.runs > 1 && self.bar.is_hidden() {
            let word = match run {
                Ok(run) if run.pass => "pass",
                Ok(_) => "FAIL",
                Err(_) => "not played",
            };
            let (name, policy) = (&job.scenario.name, &job.policy);
            let _ = writeln!(io::stderr(), "{ended}/{} {name} {policy}: {word}", self.runs);
        }
    }
}
