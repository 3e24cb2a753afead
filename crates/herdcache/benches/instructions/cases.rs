//! The cases: each fills a cache, warms up, and then runs its operations inside the counted window.

use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hint::black_box;

use fastrand::Rng;
use moka::policy::EvictionPolicy;

use crate::support::caches::{self, Herdcache, MokaFuture, QuickCache};
use crate::support::traffic::{Zipf, keys};
use crate::support::{Effort, ready};

/// What callgrind looks for: the name of the function whose inside is counted.
pub(crate) const WINDOW: &str = "counted_window_of_the_bench";

/// Kind of operation, then who does it.
pub(crate) const CASES: [&str; 17] = [
    "hit: herdcache get",
    "hit: herdcache get_with",
    "hit: moka::future get",
    "hit: moka::sync get",
    "hit: moka::sync get, foldhash",
    "hit: quick_cache get",
    "ready miss: herdcache get",
    "ready miss: moka::future get_with",
    "ready miss: quick_cache get_or_insert_async",
    "pending miss: herdcache get",
    "pending miss: moka::future get_with",
    "pending miss: quick_cache get_or_insert_async",
    "ready miss at a full cache: herdcache get",
    "ready miss at a full cache: moka::future get_with",
    "insert at a full cache: moka::sync TinyLFU",
    "insert at a full cache: moka::sync LRU",
    "insert at a full cache: quick_cache",
];

/// How many operations a case counts.
pub(crate) fn operations(case: &str, effort: Effort) -> usize {
    if case.starts_with("hit") { effort.of(20_000, 100_000) } else { effort.of(2_000, 10_000) }
}

#[inline(never)]
fn counted_window_of_the_bench(run: &mut dyn FnMut()) {
    run();
}

/// Runs one case in this process.
pub(crate) fn run(case: &str, effort: Effort) -> Result<(), Box<dyn Error>> {
    let count = operations(case, effort);
    let (kind, name) = case.split_once(": ").ok_or("a case is a kind and a name")?;
    match kind {
        "hit" => hit(name, count, effort.of(10_000, 100_000)),
        "ready miss" => ready_miss(name, count, 4 * count),
        "ready miss at a full cache" => ready_miss(name, count, 1_000),
        "pending miss" => pending_miss(name, count),
        _ => insert(name, count),
    }
}

fn hit(name: &str, count: usize, entries: usize) -> Result<(), Box<dyn Error>> {
    let keys = keys(entries);
    let zipf = Zipf::new(entries, 0.99);
    let sequence = zipf.sequence(2 * count, &mut Rng::with_seed(3));
    let room = entries + entries / 2;
    let touch = |value: &[u8; 256]| assert!(black_box(value[0]) > 0);
    // Twice: the first half warms up what learns, the second is counted.
    let halves = |look_up: &mut dyn FnMut(&str)| {
        let (warm, counted) = sequence.split_at(count);
        warm.iter().for_each(|index| look_up(&keys[*index]));
        counted_window_of_the_bench(&mut || counted.iter().for_each(|index| look_up(&keys[*index])));
    };
    match name {
        "herdcache get" | "herdcache get_with" => {
            let cache = caches::herdcache(room)?;
            keys.iter().for_each(|key| drop(cache.insert(key.clone(), caches::value())));
            if name.ends_with("get") {
                halves(&mut |key| touch(&ready(cache.get(key)).ok().flatten().expect_hit()));
            } else {
                halves(&mut |key| {
                    let got = ready(cache.get_with(key, |_| async { Ok(caches::value()) }));
                    touch(&got.ok().flatten().expect_hit());
                });
            }
            // One flight would mean that a lookup was a miss.
            assert_eq!(cache.snapshot().flights.total(), 0, "every lookup is a hit");
        }
        "moka::future get" => {
            let cache = caches::moka_future(room);
            keys.iter().for_each(|key| ready(cache.insert(key.clone(), caches::value())));
            halves(&mut |key| touch(&ready(cache.get(key)).expect_hit()));
        }
        "moka::sync get" => {
            let cache = caches::moka_sync(room, RandomState::new());
            keys.iter().for_each(|key| cache.insert(key.clone(), caches::value()));
            halves(&mut |key| touch(&cache.get(key).expect_hit()));
        }
        "moka::sync get, foldhash" => {
            let cache = caches::moka_sync(room, foldhash::fast::RandomState::default());
            keys.iter().for_each(|key| cache.insert(key.clone(), caches::value()));
            halves(&mut |key| touch(&cache.get(key).expect_hit()));
        }
        _ => {
            let cache = caches::quick_cache(room);
            keys.iter().for_each(|key| cache.insert(key.clone(), caches::value()));
            halves(&mut |key| touch(&cache.get(key).expect_hit()));
        }
    }
    Ok(())
}
