//! What an uncontended miss costs beside the peers (Q5): with a load that is ready at its first poll,
//! and with one that gives way to the scheduler once.
//!
//! Every key is new and is loaded once. With room, nothing is evicted; at a full
//! cache every load makes the store decide what has to go.

#[allow(dead_code, reason = "each bench uses its own part")]
mod support;

use std::error::Error;

use serde_json::{Map, json};
use support::Effort;
use support::caches::{self, HERDCACHE_WITH, Load, MOKA_FOLDHASH, MOKA_FUTURE, QUICK_CACHE};
use support::report::Report;
use support::rounds::{Contender, Stopwatch, interleave};
use support::traffic::keys;
use tokio::runtime::Runtime;

const NAMES: [&str; 4] = [HERDCACHE_WITH, MOKA_FUTURE, MOKA_FOLDHASH, QUICK_CACHE];

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let (count, rounds) = effort.of((2_000, 5), (20_000, 21));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let keys = keys(2 * count);
    let mut report = Report::new("miss", effort);
    for (label, load, capacity) in [
        ("ready, room for all", Load::Ready, 4 * count),
        ("pending once, room for all", Load::Pending, 4 * count),
        ("ready, full cache of 1,000", Load::Ready, 1_000),
    ] {
        let mut contenders: Vec<Contender<'_>> =
            NAMES.iter().map(|name| Contender::new(name, || batch(name, &runtime, &keys, load, capacity))).collect();
        let times = interleave(&mut contenders, rounds);
        let results: Map<_, _> =
            times.medians().map(|(name, ns)| (name.to_owned(), json!({ "ns": ns.round() }))).collect();
        report.result(label, results.into());
        for name in &NAMES[1..] {
            report.ratio(format!("{label}: herdcache / {name}"), times.ratio(HERDCACHE_WITH, name));
        }
    }
    report.print()?;
    Ok(())
}

/// Loads half of the keys to warm up, then the other half; gives nanoseconds per miss of the latter.
fn batch(name: &str, runtime: &Runtime, keys: &[String], load: Load, capacity: usize) -> f64 {
    let Ok(subject) = caches::subject(name, capacity) else {
        return f64::NAN;
    };
    let (warm, timed) = keys.split_at(keys.len() / 2);
    runtime.block_on(subject.misses(warm, load));
    let watch = Stopwatch::start();
    let answered = runtime.block_on(subject.misses(timed, load));
    let took = watch.per(timed.len());
    assert_eq!(answered, timed.len() as u64, "{name} left misses unanswered");
    took
}
