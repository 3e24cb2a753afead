//! A herd: 10,000 tasks ask for one missing key whose load takes 20 ms (Q4).
//!
//! Counts loads, the time from the load's end to the last task's answer, and, on
//! one thread, allocations and the peak of bytes per waiter with its task. A task
//! that only waits for a notification shows what the task alone costs. Also prints
//! the size of a waiting caller's future and the allocations of one miss; with the feature
//! `tracing`, what a herd's last answer costs where its flight is traced.

#[path = "herd/scene.rs"]
mod scene;
#[allow(dead_code, reason = "each bench uses its own part")]
mod support;
#[cfg(feature = "tracing")]
#[path = "herd/traced.rs"]
mod traced;

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use herdcache::{Cache, Gate, LoadContext, ReadThrough, Ttl};
use scene::{Herd, Scene};
use serde_json::{Value, json};
use support::Effort;
use support::caches::{self, HERDCACHE_WITH, Load, MOKA_FUTURE, QUICK_CACHE};
use support::report::Report;
use support::rounds::median;
use support::traffic::keys;
use tokio::runtime::{Builder, Runtime};

const KEY: u64 = 7;
const NAMES: [&str; 5] =
    ["herdcache get", "herdcache get_with", "moka::future get_with", "quick_cache get_or_insert_async", "task alone"];

type Herdcache = ReadThrough<u64, u64, Infallible>;

fn herdcache(scene: Scene) -> Result<Herdcache, Box<dyn Error>> {
    let ttl = Ttl::fresh_for(Duration::from_secs(3_600));
    let cache = Cache::<u64, u64, Infallible>::builder("herd", ttl, &Gate::new(8))
        .build_over(move |_: LoadContext<u64, u64>| scene.load())?;
    Ok(cache)
}

/// One herd through a new cache. Caches are leaked, so that a task holds one pointer whatever its cache.
fn herd(name: &str, runtime: &Runtime, waiters: usize) -> Result<Herd, Box<dyn Error>> {
    let scene = Scene::new(waiters);
    Ok(match name {
        "herdcache get" => {
            let cache: &Herdcache = Box::leak(Box::new(herdcache(scene)?));
            scene.play(runtime, move || async move {
                scene.end(cache.get(&KEY).await.is_ok());
            })
        }
        "herdcache get_with" => {
            let cache: &Herdcache = Box::leak(Box::new(herdcache(scene)?));
            scene.play(runtime, move || async move {
                scene.end(cache.get_with(&KEY, |_| scene.load()).await.is_ok());
            })
        }
        "moka::future get_with" => {
            let cache: &moka::future::Cache<u64, u64> = Box::leak(Box::new(moka::future::Cache::new(10_000)));
            scene.play(runtime, move || async move {
                scene.end(cache.try_get_with(KEY, scene.load()).await.is_ok());
            })
        }
        "quick_cache get_or_insert_async" => {
            let cache: &quick_cache::sync::Cache<u64, u64> = Box::leak(Box::new(quick_cache::sync::Cache::new(10_000)));
            scene.play(runtime, move || async move {
                scene.end(cache.get_or_insert_async(&KEY, scene.load()).await.is_ok());
            })
        }
        _ => scene.play(runtime, move || async move {
            scene.notice().notified().await;
            scene.end(true);
        }),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let (waiters, rounds) = effort.of((1_000, 3), (10_000, 15));
    let two = Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let mut report = Report::new("herd", effort);
    let one = || Builder::new_current_thread().enable_time().build();
    let mut wakes = vec![(Vec::new(), Vec::new()); NAMES.len()];
    for round in 0..=rounds {
        for at in 0..NAMES.len() {
            let at = (at + round) % NAMES.len();
            let (on_one, on_two) = (herd(NAMES[at], &one()?, waiters)?, herd(NAMES[at], &two, waiters)?);
            for herd in [&on_one, &on_two] {
                assert_eq!((herd.loads, herd.answered), (1, waiters), "{}: one load answers all", NAMES[at]);
            }
            wakes[at].0.push(on_one.last_wake_ms);
            wakes[at].1.push(on_two.last_wake_ms);
        }
    }
    for (name, (on_one, on_two)) in NAMES.iter().zip(&wakes) {
        report.result(*name, entry(name, median(on_one), median(on_two), waiters)?);
    }
    for at in 2..4 {
        let ratio = |ours: &[f64], theirs: &[f64]| median(ours) / median(theirs);
        report.ratio(format!("last wake, 1 thread: {} / {}", NAMES[0], NAMES[at]), ratio(&wakes[0].0, &wakes[at].0));
        report.ratio(format!("last wake, 2 threads: {} / {}", NAMES[0], NAMES[at]), ratio(&wakes[0].1, &wakes[at].1));
    }
    sizes(&mut report)?;
    misses(&mut report)?;
    #[cfg(feature = "tracing")]
    traced::herds(rounds, waiters, &mut report)?;
    report.print()?;
    Ok(())
}

/// What a herd of one subject came to; memory is counted on one thread.
fn entry(name: &str, wake_one: f64, wake_two: f64, waiters: usize) -> Result<Value, Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let counted = |waiters: usize| {
        let mut end = Ok(());
        let counted = allocation_counter::measure(|| end = herd(name, &runtime, waiters).map(drop));
        end.map(|()| counted)
    };
    // The difference of two herds leaves out what the runtime and the cache allocate once.
    let few = waiters / 100;
    let (small, large) = (counted(few)?, counted(waiters)?);
    let per = |more: u64, fewer: u64| {
        let each = more.saturating_sub(fewer) as f64 / (waiters - few) as f64;
        (each * 100.0).round() / 100.0
    };
    Ok(json!({
        "last_wake_ms_1_thread": (wake_one * 1_000.0).round() / 1_000.0,
        "last_wake_ms_2_threads": (wake_two * 1_000.0).round() / 1_000.0,
        "allocations_per_waiter": per(large.count_total, small.count_total),
        "peak_bytes_per_waiter": per(large.bytes_max, small.bytes_max),
    }))
}

/// Bytes of the future that a waiting task holds.
fn sizes(report: &mut Report) -> Result<(), Box<dyn Error>> {
    let scene = Scene::new(1);
    let ours = herdcache(scene)?;
    let moka = moka::future::Cache::<u64, u64>::new(10);
    let quick = quick_cache::sync::Cache::<u64, u64>::new(10);
    report.result(
        "bytes of the future",
        json!({
            NAMES[0]: size_of_val(&ours.get(&KEY)),
            NAMES[1]: size_of_val(&ours.get_with(&KEY, |_| scene.load())),
            NAMES[2]: size_of_val(&moka.try_get_with(KEY, scene.load())),
            NAMES[3]: size_of_val(&quick.get_or_insert_async(&KEY, scene.load())),
        }),
    );
    Ok(())
}

/// Allocations and bytes of one uncontended miss, the load's own (one value) included.
fn misses(report: &mut Report) -> Result<(), Box<dyn Error>> {
    let keys = keys(20_000);
    let (warm, counted) = keys.split_at(10_000);
    for (label, load) in [("ready", Load::Ready), ("pending", Load::Pending)] {
        let mut results = serde_json::Map::new();
        for name in [HERDCACHE_WITH, MOKA_FUTURE, QUICK_CACHE] {
            let subject = caches::subject(name, 40_000)?;
            let runtime = Builder::new_current_thread().enable_time().build()?;
            runtime.block_on(subject.misses(warm, load));
            let info = allocation_counter::measure(|| _ = runtime.block_on(subject.misses(counted, load)));
            let per = |total: f64| (total / counted.len() as f64 * 100.0).round() / 100.0;
            results.insert(
                name.to_owned(),
                json!({ "allocations": per(info.count_total as f64), "bytes_allocated": per(info.bytes_total as f64) }),
            );
        }
        report.result(format!("allocations of one {label} miss"), results.into());
    }
    Ok(())
}
