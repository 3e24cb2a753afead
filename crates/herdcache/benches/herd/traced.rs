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

/// Spans of waits for one flight: none at all, the default, every waiter's.
fn cases() -> [(&'static str, Traces); 3] {
    let traced = Traces::default().one_in(1).per_second(1_000);
    [("heard, no span", Traces::none()), ("traced, 64 waits", traced), ("traced, every wait", traced.waits(10_000))]
}

/// From here on somebody listens in this process: nothing else may be timed after it.
pub(crate) fn herds(rounds: usize, waiters: usize, report: &mut Report) -> Result<(), Box<dyn Error>> {
    tracing::subscriber::set_global_default(tracing_subscriber::registry())?;
    let two = Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let cases = cases();
    let mut wakes = [const { (Vec::new(), Vec::new()) }; 3];
    for round in 0..=rounds {
        for at in 0..cases.len() {
            let at = (at + round) % cases.len();
            let one = Builder::new_current_thread().enable_time().build()?;
            let (on_one, on_two) = (herd(cases[at].1, &one, waiters)?, herd(cases[at].1, &two, waiters)?);
            wakes[at].0.push(on_one.last_wake_ms);
            wakes[at].1.push(on_two.last_wake_ms);
        }
    }
    let medians = wakes.map(|(on_one, on_two)| [median(&on_one), median(&on_two)]);
    for ((name, _), wake) in cases.iter().zip(&medians) {
        let [one, two] = wake.map(|wake| (wake * 1_000.0).round() / 1_000.0);
        report.result(*name, json!({ "last_wake_ms_1_thread": one, "last_wake_ms_2_threads": two }));
    }
    for ((name, _), wake) in cases.iter().zip(&medians).skip(1) {
        for (at, threads) in ["1 thread", "2 threads"].into_iter().enumerate() {
            report.ratio(format!("last wake, {threads}: {name} / {}", cases[0].0), wake[at] / medians[0][at]);
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
    let spans = u64::from(traces != Traces::none());
    assert_eq!(cache.traced().flights, spans, "every flight of the traced cases has a span");
    Ok(herd)
}
