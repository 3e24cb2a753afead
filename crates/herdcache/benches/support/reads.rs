//! Hits on one thread or more: every key is there, and popular ones are asked for more often.

use std::hint::black_box;
use std::sync::Barrier;

use fastrand::Rng;

use super::caches::Subject;
use super::rounds::{Contender, Stopwatch, Times, interleave};
use super::traffic::{Zipf, keys};

/// What all subjects are asked.
pub(crate) struct Reads {
    pub(crate) keys: Vec<String>,
    pub(crate) sequence: Vec<usize>,
}

impl Reads {
    pub(crate) fn new(entries: usize, length: usize) -> Self {
        let sequence = Zipf::new(entries, 0.99).sequence(length, &mut Rng::with_seed(2));
        Self { keys: keys(entries), sequence }
    }

    /// Asks the subjects in turn, on so many threads.
    pub(crate) fn measure(
        &self,
        names: &[&'static str],
        subjects: &[Box<dyn Subject>],
        threads: usize,
        rounds: usize,
    ) -> Times {
        let both = names.iter().zip(subjects);
        let mut contenders: Vec<Contender<'_>> =
            both.map(|(name, subject)| Contender::new(name, || self.on_threads(&**subject, threads))).collect();
        interleave(&mut contenders, rounds)
    }

    /// Runs the sequence on each thread, from another place; gives nanoseconds per lookup, the mean of the threads.
    pub(crate) fn on_threads(&self, subject: &dyn Subject, threads: usize) -> f64 {
        let start = Barrier::new(threads);
        let run = |thread: usize| {
            let (rest, first) = self.sequence.split_at(self.sequence.len() * thread / threads);
            start.wait();
            let watch = Stopwatch::start();
            black_box(subject.hits(&self.keys, first) + subject.hits(&self.keys, rest));
            watch.per(self.sequence.len())
        };
        let times: Vec<f64> = std::thread::scope(|scope| {
            let run = &run;
            let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or(f64::NAN)).collect()
        });
        times.iter().sum::<f64>() / threads as f64
    }
}
