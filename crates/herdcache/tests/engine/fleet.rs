//! Two processes over one tier: laws L1 to L6 and L8 as properties of random histories, with every fault that the tier knows.
//!
//! A history is two caches of one name, each with a gate of its own, over one [`MemoryTier`](herdcache::MemoryTier) that
//! is their lease too, on paused time. The source is a number for each key that grows with each change; what a caller
//! gets tells how old it is. `world.rs` keeps the record, `judge.rs` holds the answers against it.
//!
//! `HERDCACHE_FLEETS=10000` plays more of them, `HERDCACHE_FLEET=7` that one alone.

mod judge;
mod play;
mod source;
mod steps;
mod world;

use steps::History;
use world::Reached;

/// Histories of a usual run.
const HISTORIES: u64 = 150;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays one history on a runtime of its own.
fn run(history: &History) -> Result<Reached, String> {
    fastrand::seed(history.seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(play::play(history))
}

/// Takes steps away as long as a law is still broken.
fn shrink(mut history: History, mut broken: String) -> (History, String) {
    let mut chunk = history.steps.len();
    while chunk > 0 {
        let mut at = 0;
        while at < history.steps.len() {
            let mut smaller = history.clone();
            smaller.steps.drain(at..(at + chunk).min(history.steps.len()));
            match run(&smaller) {
                Err(still) => (history, broken) = (smaller, still),
                Ok(_) => at += chunk,
            }
        }
        chunk /= 2;
    }
    (history, broken)
}

/// L1 to L6, L8 over processes: see `judge.rs` and `play.rs` for each.
#[test]
fn l1_to_l8_hold_in_every_history_of_two_processes() {
    let seeds = match number("HERDCACHE_FLEET") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HERDCACHE_FLEETS").unwrap_or(HISTORIES),
    };
    let mut reached = Reached::default();
    for seed in seeds {
        let history = steps::history(seed);
        match run(&history) {
            Ok(one) => reached.add(&one),
            Err(broken) => {
                let (least, broken) = shrink(history, broken);
                panic!("{broken}\n\nrun it alone with HERDCACHE_FLEET={seed}; the steps that it takes:\n{least}");
            }
        }
    }
    println!("{reached:#?}");
    if reached.histories >= HISTORIES {
        assert_eq!(reached.never(), Vec::<&str>::new(), "what the histories never reach");
    }
}
