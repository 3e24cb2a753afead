//! What happens beside the readers: trouble, what the application does, other queries, a warm-up.

mod refresh;

use std::sync::Arc;
use std::time::Duration;

use herdcache::Progress;
use herdfeed::Outcome;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::ms;
use super::stage::Stage;
use crate::arrivals::{Arrivals, KeyChoice, Pacing};
use crate::load::{LoadAccount, Plan, Reply, Stop, drive};
use crate::policy::{Cure, Policy};
use crate::run::{BystanderFacts, WarmUpFacts};
use crate::scenario::{Act, Bystander, Deed, Scenario, Trouble, WarmUpSpec};

/// Starts everything that has its time; the tasks are aborted at the run's end.
pub(super) fn start(scenario: &Scenario, policy: &Policy, stage: &Arc<Stage>) -> Vec<JoinHandle<()>> {
    let refresher =
        (policy.cure() == Some(Cure::Refresher)).then(|| tokio::spawn(refresh::round(scenario, Arc::clone(stage))));
    let trouble = scenario.trouble.iter().map(|trouble| tokio::spawn(suffer(*trouble, Arc::clone(stage))));
    let acts = scenario.act.iter().map(|act| tokio::spawn(perform(*act, Arc::clone(stage))));
    trouble.chain(acts).chain(refresher).collect()
}

async fn suffer(trouble: Trouble, stage: Arc<Stage>) {
    let start = Instant::now();
    tokio::time::sleep_until(start + trouble.from.0).await;
    let set = |slow, fail| {
        for faults in [stage.source.origin.faults(), stage.beside.faults()] {
            faults.set_slow(slow);
            faults.set_fail_ratio(fail);
        }
    };
    if trouble.touches_origin() {
        set(trouble.slow, trouble.fail);
    }
    let store = trouble.store.zip(stage.store.as_ref());
    if let Some((what, store)) = store {
        store.suffer(what);
    }
    tokio::time::sleep_until(start + trouble.until.0).await;
    if trouble.touches_origin() {
        set(1.0, 0.0);
    }
    if let Some((_, store)) = store {
        store.heal();
    }
}

async fn perform(act: Act, stage: Arc<Stage>) {
    let mut at = Instant::now() + act.at.0;
    loop {
        tokio::time::sleep_until(at).await;
        deed(act, &stage).await;
        match act.every {
            Some(every) if every.0 > Duration::ZERO => at += every.0,
            Some(_) | None => return,
        }
    }
}

async fn deed(act: Act, stage: &Stage) {
    let (cache, source, key) = (&stage.cache, &stage.source, stage.key(act.key));
    match act.what {
        Deed::Write => {
            source.write(act.key);
            cache.invalidate(&key).await;
            source.invalidated(act.key);
        }
        Deed::WriteUnseen => {
            source.write(act.key);
            source.invalidated(act.key);
        }
        Deed::Invalidate => {
            cache.invalidate(&key).await;
            source.invalidated(act.key);
        }
        Deed::MarkStale => _ = cache.mark_stale(&key).await,
        Deed::Clear => _ = cache.clear().await,
        Deed::ExpireAll => {
            source.expired_by_hand();
            cache.expire_all();
        }
    }
}

/// Queries that no cache stands before.
pub(super) fn beside(other: Bystander, length: Duration, stage: &Arc<Stage>, seed: u64) -> JoinHandle<BystanderFacts> {
    let stage = Arc::clone(stage);
    tokio::spawn(async move {
        let account = LoadAccount::new();
        let plan = Plan {
            arrivals: Arrivals::new(
                Pacing::Poisson,
                other.per_second,
                KeyChoice::zipf(1_000, 0.0),
                seed.wrapping_add(2),
            ),
            length: Some(length),
            most_in_flight: 1_000_000,
            patience: Duration::from_secs(3_600),
        };
        let origin = stage.beside.clone();
        drive(plan, account.clone(), Stop::default(), move |key| {
            let origin = origin.clone();
            async move {
                let outcome = if origin.call(key).await.is_ok() { Outcome::Loaded } else { Outcome::Failed };
                Reply { outcome: Some(outcome), age: None }
            }
        })
        .await;
        let figures = account.figures();
        let answered = figures.outcomes[Outcome::Loaded];
        BystanderFacts {
            requests: figures.requests,
            success_ratio: (figures.requests > 0).then(|| answered as f64 / figures.requests as f64),
            latency_ms: figures.latency,
        }
    })
}

/// A warm-up of some keys.
pub(super) fn warm_up(spec: WarmUpSpec, stage: &Arc<Stage>) -> JoinHandle<WarmUpFacts> {
    let stage = Arc::clone(stage);
    tokio::spawn(async move {
        let start = Instant::now();
        let keys = (spec.from..spec.from.saturating_add(spec.keys)).map(|number| stage.key(number)).collect::<Vec<_>>();
        let Progress { loaded, skipped, failed, .. } = stage.cache.warm_up(keys).await;
        WarmUpFacts { loaded, skipped, failed, duration_ms: ms(start.elapsed()) }
    })
}
