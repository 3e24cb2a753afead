//! What must hold when everything has ended: the account, the permits, the table, and a cache as good as new.

use std::fmt::Debug;

use herdcache::herdfeed::Measure;
use herdcache::{GetError, Outcome, RejectReason};
use tokio::time::Instant;

use crate::harness::{End, Own};
use crate::support::ms;
use crate::world::{QUICK, World};

/// More than the longest of all limits in a scene, and than any value may be answered for.
const LONG: std::time::Duration = ms(5_000);

/// Law `what`, unless both are the same.
fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}

/// Lets everything end, then judges.
pub(crate) async fn rest(world: &World, own: Option<Own>) -> Result<(), String> {
    tokio::time::sleep(LONG).await;
    world.others_are_answered().await?;
    account(world)?;
    if let Some(own) = own {
        ledger(world, own)?;
    }
    if !world.is_closed() {
        as_good_as_new(world).await?;
        if world.tier.is_some() {
            // What these loads brought is written, and their leases go back, behind their answers.
            tokio::time::sleep(ms(1)).await;
        }
        account(world)?;
    }
    empty(world).await
}

/// L6: nothing is left in any gauge; L1: what began has ended, once.
fn account(world: &World) -> Result<(), String> {
    let (cache, gate) = (world.items.snapshot(), world.gate.snapshot());
    same("L6 active, waiting", &[cache.active, cache.waiting], &[0; 2])?;
    let flights = [cache.flights_active, cache.flights_unwatched, cache.origin_active, cache.origin_abandoned];
    same("L6 flights, unwatched, calls, abandoned", &flights, &[0; 4])?;
    same("L6 permits out, queued", &[gate.used(), gate.pending], &[0; 2])?;
    same("L6 warm-ups, their width", &[cache.warmup.running, cache.warmup.width], &[0; 2])?;
    same("L1 outcomes", &cache.outcomes.total(), &cache.begun)?;
    same("L1 ends of flights", &cache.flights.total(), &cache.flight_starts.total())?;
    same("L1 ends of calls", &cache.origin_results.total(), &cache.origin_calls)?;
    if world.is_counted() {
        same("L1 calls as the origin counts them", &cache.origin_calls, &world.calls.started())?;
    }
    if let (Some(tier), Some(shared), Some(lease)) = (&world.tier, &cache.shared, &cache.lease) {
        same("X1 leases in the tier, held, followed", &[tier.leases() as u64, lease.held, lease.following], &[0; 3])?;
        same("W2 changes that wait", &[shared.queued, shared.lost], &[0; 2])?;
    }
    let keys = cache.warmup.loaded + cache.warmup.skipped + cache.warmup.failed + cache.warmup.cancelled;
    same("L1 keys of warm-ups", &keys, &cache.warmup.total)?;
    same("run-time checks of the laws", &[cache.law_violations, gate.law_violations], &[0; 2])
}

/// L1: the swept future's own requests are in the ledger if it was polled, and told as cancelled if it was cut.
fn ledger(world: &World, own: Own) -> Result<(), String> {
    let cache = world.items.snapshot();
    let reads = if own.polls > 0 { own.reads } else { 0 };
    same("L1 begun", &cache.begun, &(world.requests() + reads))?;
    let cancelled = cache.outcomes[Outcome::Cancelled].saturating_sub(world.given_up());
    match own.end {
        End::Ready => same("L1 cancelled", &cancelled, &0),
        // Of a batch, some may have been answered before.
        End::Cut if reads > 1 && cancelled <= reads => Ok(()),
        End::Cut => same("L1 cancelled", &cancelled, &reads),
    }
}

/// L3, G1: all permits and all places of the queue can be taken at once, and no more; S2: every key can be loaded.
async fn as_good_as_new(world: &World) -> Result<(), String> {
    if let Some(tier) = &world.tier {
        tier.heal();
    }
    world.items.clear();
    // G5: a gate that is shut lets one through to find out.
    probe(world, QUICK).await?;
    let before = world.gate.snapshot();
    let places = before.limit + before.queue;
    let asked: Vec<_> = (0..=places).map(|nth| tokio::spawn(probing(world, QUICK + 1 + nth))).collect();
    let mut refused = 0;
    for asked in asked {
        match asked.await.map_err(|died| died.to_string())? {
            Ok(()) => {}
            Err(GetError::Rejected { reason: RejectReason::QueueFull, .. }) => refused += 1,
            Err(other) => return Err(format!("L6: a read of the gate's {places} places got {other:?}")),
        }
    }
    let bare = world.items.snapshot().off.contains(&Measure::Permits);
    same("L6 refused beyond the permits and places that there are", &refused, &u64::from(!bare))?;
    for key in [1, 2, 7] {
        probe(world, key).await?;
    }
    Ok(())
}

/// A read that has to be loaded.
async fn probe(world: &World, key: u64) -> Result<(), String> {
    probing(world, key).await.map_err(|error| format!("S2: {key} cannot be loaded any more: {error:?}"))
}

fn probing(world: &World, key: u64) -> impl Future<Output = Result<(), GetError<crate::support::DbError>>> + use<> {
    let items = world.items.clone();
    let calls = std::sync::Arc::clone(&world.calls);
    async move {
        let load = |_| async move {
            let _call = calls.call();
            tokio::time::sleep(ms(1)).await;
            Ok(key)
        };
        items.get_with(&key, load).await.map(|_| ())
    }
}

/// L6: no row is left in the table, else the shutdown would have something to wait for.
async fn empty(world: &World) -> Result<(), String> {
    let began = Instant::now();
    world.items.shutdown(ms(60_000)).await;
    same("L6 the table, by what a shutdown waits for", &began.elapsed(), &ms(0))
}
