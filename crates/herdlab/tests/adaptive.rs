//! G3: the real gate with a limit of its own, before the lab's origin whose running calls share a capacity.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::time::Duration;

use herdcache::{Cache, Gate, LoadContext, ReadThrough, Ttl};
use herdlab::origin::{Model, Origin, OriginError, Sharing};

/// Calls that the origin works on at full speed.
const KNEE: f64 = 20.0;
const WORK: Duration = Duration::from_millis(50);
const CEILING: usize = 64;

struct Rig {
    gate: Gate,
    cache: ReadThrough<u64, u64, OriginError>,
    origin: Origin,
    next: u64,
}

impl Rig {
    fn new(seed: u64) -> Self {
        let origin = Origin::new(Model::Sharing(Sharing::new(KNEE)), WORK, None, seed);
        let gate = Gate::builder(CEILING).name("adaptive").adaptive().build().unwrap();
        let called = origin.clone();
        let cache = Cache::builder("adaptive", Ttl::fresh_for(Duration::from_secs(60)), &gate)
            .capacity(100)
            .build_over(move |cx: LoadContext<u64, u64>| {
                let origin = called.clone();
                async move { origin.call(*cx.key()).await.map(|_| *cx.key()) }
            })
            .unwrap();
        Self { gate, cache, origin, next: 0 }
    }

    /// Asks for 500 new keys each second, a quarter more than the origin can do; gives the limit at each moment.
    async fn run(&mut self, time: Duration) -> Vec<u64> {
        let mut limits = Vec::new();
        let end = tokio::time::Instant::now() + time;
        while tokio::time::Instant::now() < end {
            self.next += 1;
            let (cache, key) = (self.cache.clone(), self.next);
            tokio::spawn(async move { cache.get(&key).await.map(drop) });
            tokio::time::sleep(Duration::from_millis(2)).await;
            let gate = self.gate.snapshot();
            assert!(gate.used() <= CEILING as u64 && gate.law_violations == 0, "L3");
            limits.push(gate.limit);
        }
        limits
    }
}

fn mean(limits: &[u64]) -> f64 {
    limits.iter().sum::<u64>() as f64 / limits.len() as f64
}

/// G3: it settles within a quarter of the knee, falls below half within 5 s when the origin becomes twenty times
/// slower, and is back within 10 s of its healing.
#[tokio::test(start_paused = true)]
async fn g3_the_limit_finds_the_knee_of_a_real_gate() {
    let mut rig = Rig::new(7);
    rig.run(Duration::from_secs(10)).await;
    let settled = rig.run(Duration::from_secs(20)).await;
    let (before, near) = (mean(&settled), settled.iter().filter(|limit| (15..=25).contains(*limit)).count());
    println!("settled at {before:.1}, {near} of {} moments within a quarter", settled.len());
    assert!((before - KNEE).abs() <= 0.25 * KNEE && near * 10 >= settled.len() * 9, "{before}, {near}");
    rig.origin.faults().set_slow(20.0);
    let slow = rig.run(Duration::from_secs(5)).await;
    let fell = slow.iter().position(|limit| (*limit as f64) < before / 2.0).map(|place| place * 2);
    println!("below half after {fell:?} ms");
    assert!(fell.is_some(), "{slow:?}");
    rig.origin.faults().set_slow(1.0);
    rig.run(Duration::from_secs(10)).await;
    let after = mean(&rig.run(Duration::from_secs(10)).await);
    println!("{after:.1} afterwards");
    assert!((after - KNEE).abs() <= 0.25 * KNEE, "{after}");
}

/// G3: the ceiling is the fixed limit, the floor a tenth of it; both are told.
#[tokio::test(start_paused = true)]
async fn g3_the_bounds_are_told() {
    let gate = Gate::builder(CEILING).adaptive().build().unwrap();
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.limit, snapshot.ceiling), (6, Some(CEILING as u64)));
    assert_eq!(Gate::new(8).snapshot().ceiling, None);
    let error = Gate::builder(4).adaptive_from(5).build().unwrap_err().to_string();
    assert_eq!(error, r#"gate "gate": adaptive floor 5 is not within 1 to 4: lower it"#);
}
