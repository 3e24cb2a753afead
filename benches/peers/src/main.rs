//! A hit beside the caches that count too: foyer, cached and stretto with their metrics on (Q2).
//!
//! The same keys, values and traffic as `hit.rs` of herdcache's benches, whose support this shares.
//! Peers are made as their own documentation shows, with room for half as many entries more.

#[allow(dead_code, reason = "shared with the benches of herdcache")]
#[path = "../../../crates/herdcache/benches/support/mod.rs"]
mod support;

mod subjects;

use std::error::Error;

use serde_json::json;
use support::Effort;
use support::caches::{HERDCACHE, HERDCACHE_QUICK, MOKA_FUTURE, QUICK_CACHE};
use support::reads::Reads;
use support::report::Report;

use subjects::{CACHED, FOYER, STRETTO};

const NAMES: [&str; 7] = [HERDCACHE_QUICK, HERDCACHE, MOKA_FUTURE, QUICK_CACHE, FOYER, CACHED, STRETTO];

fn main() -> Result<(), Box<dyn Error>> {
    let effort = Effort::from_arguments();
    let (entries, length, rounds) = effort.of((10_000, 20_000, 5), (100_000, 400_000, 21));
    let reads = Reads::new(entries, length);
    let mut subjects = Vec::new();
    for name in NAMES {
        let subject = subjects::subject(name, entries + entries / 2)?;
        reads.keys.iter().for_each(|key| subject.put(key.clone()));
        let (hits, all) = (subject.hits(&reads.keys, &reads.sequence), length as u64);
        // Some admit by a sketch, and refuse a few of what they have room for.
        assert!(hits * 100 >= all * 99, "{name} lost entries: its time would be that of misses ({hits} of {all})");
        subjects.push(subject);
    }
    let mut report = Report::new("peers", effort);
    for threads in [1, 2] {
        let times = reads.measure(&NAMES, &subjects, threads, rounds);
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
