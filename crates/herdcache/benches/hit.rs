//! What a hit costs beside the peers, on one thread and on two (Q1, Q3, Q8).
//!
//! 24-byte keys, 256-byte values, Zipf 0.99 over 100,000 keys that are all present.
//! Every lookup reads a byte of its value. Times are for comparison within one run
//! only; the instruction counts of `instructions.rs` repeat from machine to machine.

#[allow(dead_code, reason = "each bench uses its own part")]
mod support;

use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use fastrand::Rng;
use serde_json::json;
use support::caches::{self, Herdcache, MokaFuture, MokaSync, QuickCache};
use support::report::Report;
use support::rounds::{Contender, Times, interleave};
use support::traffic::{Zipf, keys};
use support::{Effort, ready};

/// Every cache, filled with every key.
struct Caches {
    keys: Vec<String>,
    herdcache: Herdcache,
    moka_future: MokaFuture,
    moka_sync: MokaSync<RandomState>,
    moka_sync_foldhash: MokaSync<foldhash::fast::RandomState>,
    quick_cache: QuickCache,
}

const NAMES: [&str; 5] =
    ["herdcache get", "moka::future get", "moka::sync get", "moka::sync get, foldhash", "quick_cache get"];

impl Caches {
    fn filled(entries: usize) -> Result<Self, Box<dyn Error>> {
        // Room for half as many more: the peers count capacity per shard, and nothing may be evicted here.
        let room = entries + entries / 2;
        let caches = Self {
            keys: keys(entries),
            herdcache: caches::herdcache(room)?,
            moka_future: caches::moka_future(room),
            moka_sync: caches::moka_sync(room, RandomState::new()),
            moka_sync_foldhash: caches::moka_sync(room, foldhash::fast::RandomState::default()),
            quick_cache: caches::quick_cache(room),
        };
        for key in &caches.keys {
            drop(caches.herdcache.insert(key.clone(), caches::value()));
            ready(caches.moka_future.insert(key.clone(), caches::value()));
            caches.moka_sync.insert(key.clone(), caches::value());
            caches.moka_sync_foldhash.insert(key.clone(), caches::value());
            caches.quick_cache.insert(key.clone(), caches::value());
        }
        Ok(caches)
    }

    /// Looks the keys up in one cache; gives how many were there.
    fn look_up(&self, name: &str, sequence: &[usize]) -> u64 {
        let keys = sequence.iter().map(|index| self.keys[*index].as_str());
        let byte = |value: &[u8; 256]| u64::from(black_box(value[0]) > 0);
        match name {
            "herdcache get" => ready(async {
                let mut hits = 0;
                for key in keys {
                    if let Ok(Some(answer)) = self.herdcache.get(key).await {
                        hits += byte(&answer);
                    }
                }
                hits
            }),
            "moka::future get" => ready(async {
                let mut hits = 0;
                for key in keys {
                    if let Some(value) = self.moka_future.get(key).await {
                        hits += byte(&value);
                    }
                }
                hits
            }),
            "moka::sync get" => keys.filter_map(|key| self.moka_sync.get(key)).map(|v| byte(&v)).sum(),
            "moka::sync get, foldhash" => {
                keys.filter_map(|key| self.moka_sync_foldhash.get(key)).map(|v| byte(&v)).sum()
            }
            _ => keys.filter_map(|key| self.quick_cache.get(key)).map(|v| byte(&v)).sum(),
        }
    }
}

/// Runs the sequence on each thread from another place; gives nanoseconds per lookup of a thread.
fn on_threads(caches: &Caches, name: &str, sequence: &[usize], threads: usize) -> f64 {
    let start = Barrier::new(threads + 1);
    let began = std::thread::scope(|scope| {
        for thread in 0..threads {
            let start = &start;
            scope.spawn(move || {
                let (rest, first) = sequence.split_at(sequence.len() * thread / threads);
                start.wait();
                caches.look_up(name, first);
                caches.look_up(name, rest);
            });
        }
        start.wait();
        Instant::now()
    });
    began.elapsed().as_nanos() as f64 / sequence.len() as f64
}

/// The contenders on one thread and on two.
fn measure(caches: &Caches, sequence: &[usize], threads: usize, rounds: usize) -> Times {
    let mut contenders: Vec<Contender<'_>> =
        NAMES.iter().map(|name| Contender::timed(name, move || on_threads(caches, name, sequence, threads))).collect();
    interleave(&mut contenders, rounds)
}

/// Q3: hits of keys that the hot-key summary follows allocate nothing.
fn allocations(caches: &Caches, sequence: &[usize]) -> (u64, u64) {
    let followed: Vec<usize> = (0..10_000).map(|number| number % 64).collect();
    // Before counting: the thread's shard is chosen, and the summary learns the keys.
    for _ in 0..20 {
        caches.look_up(NAMES[0], &followed);
    }
    let steady = allocation_counter::measure(|| _ = black_box(caches.look_up(NAMES[0], &followed)));
    let all = allocation_counter::measure(|| _ = black_box(caches.look_up(NAMES[0], sequence)));
    (steady.count_total, all.count_total)
}

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let (entries, length, rounds) = effort.of((10_000, 20_000, 5), (100_000, 400_000, 21));
    let caches = Caches::filled(entries)?;
    let mut rng = Rng::with_seed(2);
    let sequence = Zipf::new(entries, 0.99).sequence(length, &mut rng);
    for name in NAMES {
        let hits = caches.look_up(name, &sequence);
        assert_eq!(hits, length as u64, "{name} lost entries: its time would be that of misses");
    }
    let mut report = Report::new("hit", effort);
    for threads in [1, 2] {
        let times = measure(&caches, &sequence, threads, rounds);
        for (name, ns) in times.medians() {
            report.result(format!("{name}, {threads} threads"), json!({ "ns": ns.round() }));
        }
        for name in &NAMES[1..] {
            report.ratio(format!("herdcache / {name}, {threads} threads"), times.ratio(NAMES[0], name));
        }
    }
    hot_key(&caches, length, rounds, &mut report);
    let (steady, all) = allocations(&caches, &sequence);
    report.result("allocations of 10,000 hits, keys that the hot-key summary follows", json!(steady));
    report.result(format!("allocations of {length} hits, Zipf"), json!(all));
    report.print()?;
    assert_eq!(steady, 0, "Q3: a hit allocated");
    Ok(())
}

/// Q8: what a second thread adds when both read one key.
fn hot_key(caches: &Caches, length: usize, rounds: usize, report: &mut Report) {
    let sequence = vec![0; length];
    for name in [NAMES[0], NAMES[3], NAMES[4]] {
        let mut pair = [
            Contender::timed("one", || on_threads(caches, name, &sequence, 1)),
            Contender::timed("two", || on_threads(caches, name, &sequence, 2)),
        ];
        let times = interleave(&mut pair, rounds);
        report.ratio(format!("{name}, one hot key: throughput of 2 threads / 1"), 2.0 * times.ratio("one", "two"));
    }
}
