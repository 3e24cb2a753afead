//! The same herd where every flight is traced: what its waiters pay for the spans of some of them.

use std::error::Error;
use std::time::Duration;

use herdcache::{Cache, Gate, LoadContext, Traces, Ttl};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::scene::{Herd, Scene};
use crate::support::report::Report;
use crate::support::rounds::median;
use crate::{Herdcache, KEY};

type Case = (&'static str, fn() -> Traces);

/// Spans of waits for one flight: none at all, the default, every waiter's.
const CASES: [Case; 3] =
    [("heard, no span", Traces::none), ("traced, 64 waits", traced), ("traced, every wait", || traced().waits(10_000))];

fn traced() -> Traces {
    Traces::default().one_in(1).per_second(1_000)
}

/// From here on somebody listens in this process: nothing else may be timed after it.
pub(crate) fn herds(rounds: usize, waiters: usize, report: &mut Report) -> Result<(), Box<dyn Error>> {
    tracing::subscriber::set_global_default(tracing_subscriber::registry())?;
    let two = Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let mut wakes = [const { (Vec::new(), Vec::new()) }; CASES.len()];
    for round in 0..=rounds {
        for at in 0..CASES.len() {
            let at = (at + round) % CASES.len();
            let one = Builder::new_current_thread().enable_time().build()?;
            let (on_one, on_two) = (herd(CASES[at].1(), &one, waiters)?, herd(CASES[at].1(), &two, waiters)?);
            wakes[at].0.push(on_one.last_wake_ms);
            wakes[at].1.push(on_two.last_wake_ms);
        }
    }
    for ((name, _), (on_one, on_two)) in CASES.iter().zip(&wakes) {
        let [one, two] = [on_one, on_two].map(|wakes| (median(wakes) * 1_000.0).round() / 1_000.0);
        report.result(*name, json!({ "last_wake_ms_1_thread": one, "last_wake_ms_2_threads": two }));
        if *name != CASES[0].0 {
            report.ratio(format!("last wake, 1 thread: {name} / {}", CASES[0].0), median(on_one) / median(&wakes[0].0));
            report
                .ratio(format!("last wake, 2 threads: {name} / {}", CASES[0].0), median(on_two) / median(&wakes[0].1));
        }
    }
    Ok(())
}

fn herd(traces: Traces, runtime: &Runtime, waiters: usize) -> Result<Herd, Box<dyn Error>> {
    let scene = Scene::new(waiters);
    let ttl = Ttl::fresh_for(Duration::from_secs(3_600));
    let builder = Cache::builder("herd", ttl, &Gate::new(8)).traces(traces);
    let cache: &Herdcache = Box::leak(Box::new(builder.build_over(move |_: LoadContext<u64, u64>| scene.load())?));
    let herd = scene.play(runtime, move || async move { scene.end(cache.get(&KEY).await.is_ok()) });
    assert_eq!((herd.loads, herd.answered), (1, waiters), "one load answers all");
    let (counts, most) = (cache.traced(), traces != Traces::none());
    assert_eq!(counts.flights, u64::from(most), "every flight of the traced cases has a span");
    Ok(herd)
}
