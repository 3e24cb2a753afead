//! Interleaved rounds: every contender runs in every round, so that a disturbance meets all alike.

use std::time::Duration;

/// A thread's own time on a processor: what other programs take from it does not count.
pub(crate) struct Stopwatch(Duration);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(thread_time())
    }

    /// Nanoseconds of this thread per operation.
    pub(crate) fn per(&self, operations: usize) -> f64 {
        thread_time().saturating_sub(self.0).as_nanos() as f64 / operations as f64
    }
}

#[cfg(target_os = "linux")]
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Elsewhere the wall clock has to do.
#[cfg(not(target_os = "linux"))]
fn thread_time() -> Duration {
    static ANCHOR: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    ANCHOR.get_or_init(std::time::Instant::now).elapsed()
}

/// One thing that is measured beside others.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    run: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Contender<'a> {
    /// `run` runs one batch and gives nanoseconds per operation.
    pub(crate) fn new(name: &'static str, run: impl FnMut() -> f64 + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// Nanoseconds per operation of each round, by contender.
pub(crate) struct Times(Vec<(&'static str, Vec<f64>)>);

/// Runs each contender `rounds` times, in turn, and one round before that is not counted.
pub(crate) fn interleave(contenders: &mut [Contender<'_>], rounds: usize) -> Times {
    let mut times: Vec<(&'static str, Vec<f64>)> = contenders.iter().map(|c| (c.name, Vec::new())).collect();
    for round in 0..=rounds {
        for turn in 0..contenders.len() {
            // Each round begins with another one: whoever comes after a noisy neighbour changes.
            let at = (turn + round) % contenders.len();
            let took = (contenders[at].run)();
            if round > 0 {
                times[at].1.push(took);
            }
        }
    }
    Times(times)
}

impl Times {
    /// Names with their medians, in the order of the contenders.
    pub(crate) fn medians(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.0.iter().map(|(name, times)| (*name, median(times)))
    }

    /// The median over the rounds of one contender's time ÷ the other's in the same round.
    pub(crate) fn ratio(&self, of: &str, to: &str) -> f64 {
        let find = |name: &str| self.0.iter().find(|(n, _)| *n == name).map_or(&[][..], |(_, times)| times);
        let ratios: Vec<f64> = find(of).iter().zip(find(to)).map(|(a, b)| a / b).collect();
        median(&ratios)
    }
}

/// The middle value; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
