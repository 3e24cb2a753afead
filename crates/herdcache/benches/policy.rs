//! Evidence for the local stores and their policies: moka with `TinyLFU`, moka with LRU, and `quick_cache`, bare and as
//! herdcache uses them (the last with the feature `quick-cache`, LRU with `lab`).
//!
//! How often a newly hot key is loaded at a full cache until it stays, the hit
//! ratio of Zipf 0.99 over a million keys, and what an insert costs. With
//! `-- --trace FILE [--entries N,N,…]` only the hit ratios of that file: numbers of objects in the order in
//! which they were asked for, each 32 bits, the highest byte first.

#[path = "policy/stores.rs"]
mod stores;
#[allow(dead_code, reason = "each bench uses its own part")]
mod support;

use std::error::Error;

use fastrand::Rng;
use serde_json::{Map, Value, json};
use stores::{names, store};
use support::Effort;
use support::report::Report;
use support::rounds::{Contender, Stopwatch, interleave};
use support::traffic::Zipf;

/// Entries of the store in the trials of a newly hot key.
const CAPACITY: usize = 1_000;
/// A key that no other traffic asks for.
const NEW_KEY: u64 = u64::MAX;

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let mut report = Report::new("policy", effort);
    if let Some(file) = argument("--trace") {
        report.result(format!("hit ratio of {file}"), trace(&file)?);
        report.print()?;
        return Ok(());
    }
    report.result("loads until a newly hot key stays, nobody joins a load", new_hot_key(effort, 0)?);
    report.result("loads until a newly hot key stays, 8 requests join each load", new_hot_key(effort, 8)?);
    report.result("hit ratio of Zipf 0.99 over 1,000,000 keys", hit_ratios(effort)?);
    report.result("ns per insert of a new key at a full cache", inserts(effort)?);
    report.print()?;
    Ok(())
}

/// What follows an option on the command line.
fn argument(option: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != option).nth(1)
}

/// Hits ÷ reads of a recorded sequence, from an empty store on.
fn trace(file: &str) -> Result<Value, Box<dyn Error>> {
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    if bytes.is_empty() || bytes.len() % 4 != 0 {
        return Err(format!("{file} holds {} bytes, which are no 32-bit numbers", bytes.len()).into());
    }
    let reads: Vec<u64> = bytes
        .chunks_exact(4)
        .map(|object| object.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
        .collect();
    let entries = argument("--entries").unwrap_or_else(|| "300,1500,6000".to_owned());
    let mut results = Map::new();
    for capacity in entries.split(',') {
        let capacity: usize = capacity.parse().map_err(|error| format!("--entries {capacity:?}: {error}"))?;
        let mut row = Map::new();
        for name in names() {
            let store = store(name, capacity)?;
            let loads: u64 = reads.iter().map(|key| store.read(*key).loads()).sum();
            row.insert(name.to_owned(), ratio(loads, reads.len() as f64));
        }
        results.insert(format!("{capacity} entries"), row.into());
    }
    Ok(json!({ "reads": reads.len(), "hit_ratio": results }))
}

/// Hits ÷ reads to four places.
fn ratio(loads: u64, reads: f64) -> Value {
    json!(((1.0 - loads as f64 / reads) * 10_000.0).round() / 10_000.0)
}

/// A key nobody asked for before takes a twentieth of all reads: how often it is loaded until it stays.
///
/// `joined` requests look the key up while it is loaded: each is a miss that the store sees.
fn new_hot_key(effort: Effort, joined: usize) -> Result<Value, Box<dyn Error>> {
    let trials = effort.of(20, 200);
    let zipf = Zipf::new(100_000, 0.99);
    let mut results = Map::new();
    for name in names() {
        let mut loads = Vec::new();
        for trial in 0..trials {
            loads.push(one_trial(name, &zipf, joined, &mut Rng::with_seed(trial))?);
        }
        loads.sort_unstable();
        let share = |loads_at_most: u64| loads.iter().filter(|n| **n <= loads_at_most).count() as f64 / trials as f64;
        results.insert(
            name.to_owned(),
            json!({
                "trials": trials,
                "median": loads[loads.len() / 2],
                "max": loads[loads.len() - 1],
                "share_of_trials_with_one_load": share(1),
            }),
        );
    }
    Ok(results.into())
}

fn one_trial(name: &str, zipf: &Zipf, joined: usize, rng: &mut Rng) -> Result<u64, Box<dyn Error>> {
    let store = store(name, CAPACITY)?;
    // Full, and the policy knows what is popular.
    for _ in 0..20 * CAPACITY {
        store.read(zipf.draw(rng) as u64);
    }
    let mut loads = 0;
    for read in 0..20 * CAPACITY {
        if read % 20 == 0 {
            loads += store.read_with(NEW_KEY, joined).loads();
        } else {
            store.read(zipf.draw(rng) as u64);
        }
    }
    Ok(loads)
}

/// Hits ÷ reads, after as many reads again to warm up.
fn hit_ratios(effort: Effort) -> Result<Value, Box<dyn Error>> {
    let reads = effort.of(200_000, 3_000_000);
    let zipf = Zipf::new(1_000_000, 0.99);
    let mut results = Map::new();
    for capacity in [1_000, 10_000, 100_000] {
        let mut row = Map::new();
        for name in names() {
            let store = store(name, capacity)?;
            let mut rng = Rng::with_seed(capacity as u64);
            for _ in 0..reads {
                store.read(zipf.draw(&mut rng) as u64);
            }
            let loads: u64 = (0..reads).map(|_| store.read(zipf.draw(&mut rng) as u64).loads()).sum();
            row.insert(name.to_owned(), ratio(loads, f64::from(reads)));
        }
        results.insert(format!("{capacity} entries"), row.into());
    }
    Ok(results.into())
}

/// Time of an insert that makes the store decide what has to go.
fn inserts(effort: Effort) -> Result<Value, Box<dyn Error>> {
    let (batch, rounds) = effort.of((5_000_usize, 5), (50_000, 21));
    let mut contenders = Vec::new();
    for name in names() {
        let store = store(name, CAPACITY)?;
        let mut next = 0;
        contenders.push(Contender::new(name, move || {
            let watch = Stopwatch::start();
            (0..batch).for_each(|_| {
                next += 1;
                store.put(next);
            });
            watch.per(batch)
        }));
    }
    let times = interleave(&mut contenders, rounds);
    let results: Map<_, _> = times.medians().map(|(name, ns)| (name.to_owned(), json!(ns.round()))).collect();
    Ok(results.into())
}
