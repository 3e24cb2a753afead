//! A hit beside the caches that count too: foyer, cached and stretto with their metrics on (Q2).
//!
//! The same keys, values and traffic as `hit.rs` of herdcache's benches, whose support this shares.
//! Peers are made as their own documentation shows, with room for half as many entries more.

#[allow(dead_code, reason = "shared with the benches of herdcache")]
#[path = "../../../crates/herdcache/benches/support/mod.rs"]
mod support;

mod subjects;

use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;

use fastrand::Rng;
use serde_json::json;
use support::Effort;
use support::caches::{HERDCACHE, HERDCACHE_QUICK, MOKA_FUTURE, QUICK_CACHE, Subject};
use support::report::Report;
use support::rounds::{Contender, Stopwatch, interleave};
use support::traffic::{Zipf, keys};

use subjects::{CACHED, FOYER, STRETTO};

const NAMES: [&str; 7] = [HERDCACHE_QUICK, HERDCACHE, MOKA_FUTURE, QUICK_CACHE, FOYER, CACHED, STRETTO];

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let (entries, length, rounds) = effort.of((10_000, 20_000, 5), (100_000, 400_000, 21));
    let keys = keys(entries);
    let sequence = Zipf::new(entries, 0.99).sequence(length, &mut Rng::with_seed(2));
    let mut subjects = Vec::new();
    for name in NAMES {
        let subject = subjects::subject(name, entries + entries / 2)?;
        keys.iter().for_each(|key| subject.put(key.clone()));
        let (hits, all) = (subject.hits(&keys, &sequence), length as u64);
        // Some admit by a sketch, and refuse a few of what they have room for.
        assert!(hits * 100 >= all * 99, "{name} lost entries: its time would be that of misses ({hits} of {all})");
        subjects.push(subject);
    }
    let mut report = Report::new("peers", effort);
    for threads in [1, 2] {
        let mut contenders: Vec<Contender<'_>> = NAMES
            .iter()
            .zip(&subjects)
            .map(|(name, subject)| {
                let (keys, sequence) = (&keys, &sequence);
                Contender::new(name, move || on_threads(&**subject, keys, sequence, threads))
            })
            .collect();
        let times = interleave(&mut contenders, rounds);
        for (name, ns) in times.medians() {
            report.result(format!("{name}, {threads} threads"), json!({ "ns": ns.round() }));
        }
        for ours in [HERDCACHE_QUICK, HERDCACHE] {
            for peer in &NAMES[2..] {
                report.ratio(format!("{ours} / {peer}, {threads} threads"), times.ratio(ours, peer));
            }
        }
    }
    report.print()?;
    Ok(())
}

/// Runs the sequence on each thread, from another place; gives nanoseconds per lookup, the mean of the threads.
fn on_threads(subject: &dyn Subject, keys: &[String], sequence: &[usize], threads: usize) -> f64 {
    let start = Barrier::new(threads);
    let run = |thread: usize| {
        let (rest, first) = sequence.split_at(sequence.len() * thread / threads);
        start.wait();
        let watch = Stopwatch::start();
        black_box(subject.hits(keys, first) + subject.hits(keys, rest));
        watch.per(sequence.len())
    };
    let times: Vec<f64> = std::thread::scope(|scope| {
        let run = &run;
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or(f64::NAN)).collect()
    });
    times.iter().sum::<f64>() / threads as f64
}
