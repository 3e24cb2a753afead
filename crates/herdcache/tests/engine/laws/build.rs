//! The cache of a history, and the gate in front of its origin.

use std::sync::Arc;

use herdcache::{Cache, ConfigError, FailFast, Gate, ReadThrough, Switch, Ttl};

use super::history::{FAIL_FAST_WINDOW, Fallback, Setup};
use super::judge;
use super::load::{DEGRADED, Down, Key, Row, Source};
use super::world::{Order, Shared};
use crate::support::ms;

pub(super) fn gate(setup: &Setup) -> Result<Gate, ConfigError> {
    let mut gate = Gate::builder(setup.permits).queue(setup.queue).refresh_permits(setup.refresh_permits);
    // One that is longer than the deadline can only be the default.
    if setup.queue_timeout <= setup.flight_deadline {
        gate = gate.queue_timeout(setup.queue_timeout);
    }
    gate = match setup.fail_fast {
        Some(failures) => {
            gate.fail_fast(FailFast::new().at_least(failures).window(FAIL_FAST_WINDOW).probe_every(ms(20)))
        }
        None => gate.without_fail_fast(),
    };
    gate.build()
}

pub(super) fn build(setup: &Setup, gate: &Gate, world: &Shared) -> Result<ReadThrough<Key, Row, Down>, ConfigError> {
    let mut ttl = Ttl::fresh_for(setup.fresh_for).stale_for(setup.stale_for);
    if let Some(longer) = setup.stale_if_error_for {
        ttl = ttl.stale_if_error_for(longer);
    }
    let mut builder = Cache::builder("laws", ttl, gate)
        .jitter(setup.jitter)
        .early_refresh(setup.beta)
        .origin_timeout(setup.origin_timeout)
        .flight_deadline(setup.flight_deadline)
        .negative_ttl(setup.negative_ttl)
        .cooling(setup.cooling.0, setup.cooling.1)
        .max_flights(setup.max_flights)
        .max_waiters(setup.max_waiters)
        .capacity(setup.capacity)
        .when_unwatched(setup.when_unwatched);
    if let Some(limit) = setup.soft_timeout {
        builder = builder.soft_timeout(limit);
    }
    if let Some(share) = setup.group_share {
        builder = builder.group_share(share, |key: &Key| key.number % 2);
    }
    if let Some(most) = setup.tunable {
        builder = builder.tunable_stale_for(most).tunable_stale_if_error_for(most);
    }
    if setup.fallback != Fallback::None {
        let (world, fallback) = (Arc::clone(world), setup.fallback);
        builder = builder.fallback(move |key: &Key, error| {
            let covered = fallback.covers(key.number).then_some(Row { key: key.number, birth: DEGRADED })?;
            // The caller is not shown the error that this stands in for.
            let mut world = world.lock();
            if world.order == Order::Rough {
                return Some(covered);
            }
            if let Err(fault) = judge::refused(&world, key.tag, error) {
                world.faults.push(format!("{fault}: fallback for {error:?}"));
            }
            Some(covered)
        });
    }
    let cache = builder.build_over(Source(Arc::clone(world)))?;
    setup.off.iter().for_each(|measure| cache.set_measure(*measure, Switch::Off));
    Ok(cache)
}
