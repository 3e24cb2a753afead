//! What a hit costs beside the peers, on one thread and on two (Q1, Q2, Q3, Q8).
//!
//! 24-byte keys, 256-byte values, Zipf 0.99 over 100,000 keys that are all present.
//! Every lookup reads a byte of its value. Times are the threads' own time on a processor, for
//! comparison within one run only; the instruction counts of `instructions.rs` repeat.

#[allow(dead_code, reason = "each bench uses its own part")]
mod support;

use std::error::Error;
use std::hint::black_box;

use serde_json::json;
use support::Effort;
use support::caches::{self, HERDCACHE, HERDCACHE_QUICK, MOKA_FOLDHASH, MOKA_FUTURE, MOKA_SYNC, QUICK_CACHE, Subject};
use support::reads::Reads;
use support::report::Report;
use support::rounds::{Contender, interleave};

#[cfg(not(feature = "quick-cache"))]
const NAMES: [&str; 5] = [HERDCACHE, MOKA_FUTURE, MOKA_SYNC, MOKA_FOLDHASH, QUICK_CACHE];
#[cfg(feature = "quick-cache")]
const NAMES: [&str; 6] = [HERDCACHE, MOKA_FUTURE, MOKA_SYNC, MOKA_FOLDHASH, QUICK_CACHE, HERDCACHE_QUICK];

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let (entries, length, rounds) = effort.of((10_000, 20_000, 5), (100_000, 400_000, 21));
    let mut reads = Reads::new(entries, length);
    let subjects = filled(&reads)?;
    let mut report = Report::new("hit", effort);
    for threads in [1, 2] {
        let times = reads.measure(&NAMES, &subjects, threads, rounds);
        for (name, ns) in times.medians() {
            report.result(format!("{name}, {threads} threads"), json!({ "ns": ns.round() }));
        }
        for name in &NAMES[1..] {
            report.ratio(format!("{HERDCACHE} / {name}, {threads} threads"), times.ratio(HERDCACHE, name));
        }
        if NAMES.contains(&HERDCACHE_QUICK) {
            let name = format!("{HERDCACHE_QUICK} / {QUICK_CACHE}, {threads} threads");
            report.ratio(name, times.ratio(HERDCACHE_QUICK, QUICK_CACHE));
        }
    }
    let [ours, store] = [0, 3].map(|at| allocations(&*subjects[at], &reads));
    for (name, counted) in [(NAMES[0], &ours), (NAMES[3], &store)] {
        report.result(format!("allocations of {name}"), counted.report(length));
    }
    reads.sequence = vec![0; length];
    hot_key(&subjects, &reads, rounds, &mut report);
    report.print()?;
    // The store itself allocates in its maintenance; what is beyond that is ours. Where every hit allocated once,
    // this would be 100,000; a window of the summary that turns meanwhile costs two for each key that it follows.
    let beyond = ours.followed.saturating_sub(store.followed);
    assert!(beyond < 150, "Q3: {beyond} allocations in 100,000 hits beyond those of the store");
    Ok(())
}

/// Allocations of many hits.
struct Allocations {
    /// On 61 keys, which the hot-key summary follows.
    followed: u64,
    /// On all keys.
    all: u64,
}

impl Allocations {
    fn report(&self, length: usize) -> serde_json::Value {
        json!({
            "hits_on_61_keys": 100_000,
            "allocations_on_61_keys": self.followed,
            "hits_on_all_keys": length,
            "allocations_on_all_keys": self.all,
        })
    }
}

/// Every subject, holding every key.
fn filled(reads: &Reads) -> Result<Vec<Box<dyn Subject>>, Box<dyn Error>> {
    let entries = reads.keys.len();
    let fill = |name: &&str| {
        // Room for half as many more: some count capacity per shard, and nothing may be evicted here.
        let subject = caches::subject(name, entries + entries / 2)?;
        reads.keys.iter().for_each(|key| subject.put(key.clone()));
        let hits = subject.hits(&reads.keys, &reads.sequence);
        assert_eq!(hits, reads.sequence.len() as u64, "{name} lost entries: its time would be that of misses");
        Ok(subject)
    };
    NAMES.iter().map(fill).collect()
}

/// Q3: counts the allocations of hits.
fn allocations(subject: &dyn Subject, reads: &Reads) -> Allocations {
    // 61 has no divisor in common with the sampling of one request in 16: every key is sampled.
    let followed: Vec<usize> = (0..100_000).map(|number| number % 61).collect();
    let count = |sequence: &[usize]| {
        allocation_counter::measure(|| _ = black_box(subject.hits(&reads.keys, sequence))).count_total
    };
    // Before counting: the thread's shard is chosen, and the summary learns the keys.
    count(&followed);
    Allocations { followed: count(&followed), all: count(&reads.sequence) }
}

/// Q8: what a second thread adds when both read one key.
fn hot_key(subjects: &[Box<dyn Subject>], reads: &Reads, rounds: usize, report: &mut Report) {
    for at in [0].into_iter().chain(3..NAMES.len()) {
        let subject = &*subjects[at];
        let mut pair = [1, 2].map(|threads| {
            let name = if threads == 1 { "one" } else { "two" };
            Contender::new(name, move || reads.on_threads(subject, threads))
        });
        let times = interleave(&mut pair, rounds);
        report
            .ratio(format!("{}, one hot key: throughput of 2 threads / 1", NAMES[at]), 2.0 * times.ratio("one", "two"));
    }
}
