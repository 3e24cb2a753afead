//! The account of one cache, read.

use std::sync::Arc;

use herdfeed::snapshot::{HOT_KEYS, LIVE_FLIGHTS};
use herdfeed::{
    CacheConfig, CacheSnapshot, CircuitState, Event, FlightTrigger, HotKey, LiveFlight, Peaks, ProtectionLevel,
    RemovalCause, Stage,
};

use super::Core;
use super::landed::LandedFlight;
use crate::clock::{self, Moment};
use crate::flight::Flight;
use crate::graveyard::Vigil;
use crate::herd::Sample;
use crate::hotkeys::Hot;
use crate::key::Key;
use crate::registry::Observed;
use crate::store::Store;
use crate::sync::atomic::Ordering::Relaxed;
use crate::trace;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Everything that this cache counts, now, and what it can tell of keys. Does the store's pending maintenance first.
    pub(crate) fn snapshot(&self) -> CacheSnapshot {
        let _vigil = Vigil::open();
        let now = self.look_after();
        self.look_around(now);
        trace::say();
        let live = self.live(now);
        CacheSnapshot {
            landed: self.landed.all().iter().map(|flight| self.show_landed(flight)).collect(),
            hot: self.hot_keys(now),
            conditions: self.conditions(),
            live: self.show_live(&live.flights, now),
            ..self.counted(live.counts, now)
        }
    }

    /// The same without anything of a key. Conditions are not looked for: whoever counts would not see them.
    pub(crate) fn totals(&self) -> CacheSnapshot {
        let _vigil = Vigil::open();
        let now = self.look_after();
        let mut counts = Counts::default();
        self.table.each(|flight| counts.add(flight, flight.waiting(), now));
        CacheSnapshot { hot: self.shares(now), ..self.counted(counts, now) }
    }

    /// What is overdue is done, so that totals are exact.
    ///
    /// A value that is removed meanwhile may die here, and its `Drop` may panic: that is not the reader's. The caller
    /// keeps a vigil.
    fn look_after(&self) -> Moment {
        self.store.settle();
        let now = clock::exact();
        self.expire_overdue(now);
        self.table.each_shard(|shard| shard.cooling.sweep(now));
        now
    }

    /// What is counted, without what is told of keys.
    fn counted(&self, flights: Counts, now: Moment) -> CacheSnapshot {
        let account = &self.account;
        let (begun, outcomes) = account.requests();
        let (origin_calls, origin_results) = account.calls();
        let origin_active = origin_calls.saturating_sub(origin_results.total());
        let off = self.measures.off();
        let (entries, negatives) = self.store.len();
        let protection = if off.is_empty() { self.protection() } else { ProtectionLevel::Observe };
        let (shared, lease) = self.shared.as_ref().map_or((None, None), |tiers| {
            let (shared, lease) = tiers.snapshot();
            (Some(shared), lease)
        });
        CacheSnapshot {
            name: self.name.clone(),
            built: self.built,
            gate: self.gate.name().to_owned(),
            protection: Some(protection),
            off,
            tuned: self.tuned(),
            saved: account.savings.read(now),
            begun,
            active: begun.saturating_sub(outcomes.total()),
            outcomes,
            misses: account.misses.read(),
            stale_serves: account.stale_serves.read(),
            rejections: account.rejections.read(),
            refresh_rejections: account.refresh_rejections.read(),
            flight_starts: account.flight_starts.read(),
            flights: account.flights.read(),
            participants: account.participants.read(),
            flights_active: flights.active,
            waiting: account.waiting.load(Relaxed),
            flights_unwatched: flights.unwatched,
            flight_oldest_us: flights.oldest_us,
            refreshes_active: flights.refreshes,
            refreshes: account.refreshes.read(),
            discards: account.discards.read(),
            origin_calls,
            origin_results,
            origin_errors: account.origin_errors.read(),
            origin_active,
            // Read after them: one that began since is no call of this snapshot.
            origin_abandoned: account.origin_abandoned.load(Relaxed).min(origin_active),
            entries,
            capacity: self.settings.capacity,
            negatives,
            negative_capacity: self.store.room().negatives,
            removals: account.removals.read(),
            invalidations: account.invalidations.load(Relaxed),
            warmup: account.warmth.read(),
            origin_call: account.origin_call.read(),
            flight: account.flight.read(),
            wait: account.wait.read(),
            stale_age: account.stale_age.read(),
            connection_wait: account.connection_wait.read(),
            peaks: Peaks {
                waiting: account.waiting_peak.read(now),
                flight_waiters: account.flight_waiters_peak.read(now),
                origin_starts: account.origin_starts.read(now),
                origin_active: account.origin_active_peak.read(now),
            },
            shared,
            lease,
            law_violations: account.laws.total(),
            laws: account.laws.read(),
            ..CacheSnapshot::default()
        }
    }

    /// How far protection reaches while every measure is on.
    fn protection(&self) -> ProtectionLevel {
        match &self.shared {
            Some(tiers) if tiers.link.lease.is_some() => match tiers.link.circuit() {
                CircuitState::Closed => ProtectionLevel::Cluster,
                CircuitState::HalfOpen | CircuitState::Open => ProtectionLevel::Degraded,
            },
            Some(_) | None => ProtectionLevel::Process,
        }
    }

    /// What has started and not ended.
    fn conditions(&self) -> Vec<Event> {
        let mut conditions = self.herds.active(|hash| self.table.lock(hash).crowd(hash));
        conditions.extend(self.shared.as_ref().and_then(|tiers| tiers.link.active()));
        conditions
    }

    /// S7: a load that blocked its thread before anybody joined has no watch; whoever looks ends it.
    fn expire_overdue(&self, now: Moment) {
        let mut overdue = Vec::new();
        self.table.each(|flight| {
            if flight.is_unwatched() && flight.call_deadline.load(Relaxed) <= now {
                overdue.push(Arc::clone(flight));
            }
        });
        for flight in &overdue {
            self.expire(flight);
        }
    }

    fn live(&self, now: Moment) -> Live<K, V, E> {
        let mut live = Live { counts: Counts::default(), flights: Vec::new() };
        self.table.each(|flight| {
            let waiters = flight.waiting();
            live.counts.add(flight, waiters, now);
            if flight.stage() != Stage::Landed {
                live.flights.push((Arc::clone(flight), waiters));
            }
        });
        live.flights.sort_unstable_by_key(|(flight, waiters)| (std::cmp::Reverse(*waiters), flight.started));
        live.flights.truncate(LIVE_FLIGHTS);
        live
    }

    fn show_live(&self, flights: &[Watched<K, V, E>], now: Moment) -> Vec<LiveFlight> {
        let show = |(flight, waiters): &Watched<K, V, E>| LiveFlight {
            id: flight.id,
            key: self.names.show(&flight.key),
            trigger: flight.trigger,
            cause: flight.cause,
            started_mono_us: flight.started / 1_000,
            age_us: now.saturating_sub(flight.started) / 1_000,
            waiters: *waiters,
            stage: flight.stage(),
            end: None,
        };
        flights.iter().map(show).collect()
    }

    fn show_landed(&self, flight: &LandedFlight<K>) -> LiveFlight {
        LiveFlight {
            id: flight.id,
            key: self.names.show(&flight.key),
            trigger: flight.trigger,
            cause: flight.cause,
            started_mono_us: flight.started / 1_000,
            age_us: flight.took_ns / 1_000,
            waiters: flight.waiters,
            stage: Stage::Landed,
            end: Some(flight.end),
        }
    }

    fn hot_keys(&self, now: Moment) -> Vec<HotKey> {
        let top = self.hot.top(HOT_KEYS, now);
        let (all, window_us) = (top.requests.max(1), top.window_ns / 1_000);
        top.keys.iter().map(|hot| self.show_hot(hot, all, window_us, now)).collect()
    }

    /// What part of the requests the hottest keys are, without saying which keys.
    fn shares(&self, now: Moment) -> Vec<HotKey> {
        let (hottest, top) = self.hot.shares(HOT_SHARES, now);
        let (all, window_us) = (top.requests.max(1), top.window_ns / 1_000);
        let share = |(requests, error): (u64, u64)| HotKey {
            requests,
            error,
            share: requests as f64 / all as f64,
            window_us,
            ..HotKey::default()
        };
        hottest.into_iter().map(share).collect()
    }

    fn show_hot(&self, hot: &Hot<K>, all: u64, window_us: u64, now: Moment) -> HotKey {
        let stored = self.store.get(&hot.key);
        let left = |bound: Moment| (i128::from(bound) - i128::from(now)) / 1_000;
        let clamp = |us: i128| i64::try_from(us).unwrap_or(if us < 0 { i64::MIN } else { i64::MAX });
        let bounds = stored.as_ref().map(|stored| self.in_force.bounds(stored.stamps()));
        HotKey {
            key: self.names.show(&hot.key),
            requests: hot.requests,
            error: hot.error,
            share: hot.requests as f64 / all as f64,
            window_us,
            loads: hot.loads,
            coalesced: hot.coalesced,
            stale: hot.stale,
            load_us: hot.load_ns / 1_000,
            age_us: stored.map(|stored| now.saturating_sub(stored.stamps().born) / 1_000),
            fresh_left_us: bounds.map(|bounds| clamp(left(bounds.soft))),
            stale_left_us: bounds.map(|bounds| clamp(left(bounds.hard))),
        }
    }

    /// Looks for conditions that started or ended; cheap unless some time has passed.
    pub(crate) fn look_around(&self, now: Moment) {
        self.herds.check(now, |watch| self.sample_for(watch, now));
    }

    /// What detection needs of the account.
    fn sample_for(&self, with_hot: crate::herd::Depth, now: Moment) -> Sample {
        let account = &self.account;
        let (_, outcomes) = account.requests();
        let mut removals = account.removals.read();
        let negatives = account.negatives_evicted.load(Relaxed);
        removals[RemovalCause::Evicted] = removals[RemovalCause::Evicted].saturating_sub(negatives);
        let hottest = match with_hot {
            crate::herd::Depth::Counters => None,
            crate::herd::Depth::HotKeys => {
                let top = self.hot.top(1, now);
                top.keys.first().map(|hot| crate::herd::Hottest {
                    hash: hot.hash,
                    key: self.names.show(&hot.key),
                    share: hot.requests as f64 / top.requests.max(1) as f64,
                    per_s: hot.requests as f64 * 1e9 / top.window_ns.max(1) as f64,
                })
            }
        };
        Sample {
            now,
            subject: self.name.clone(),
            permits: self.gate.permits(),
            capacity: self.settings.capacity,
            outcomes,
            misses: account.misses.read(),
            rejections: account.rejections.read(),
            removals,
            keys: account.keys_loading.load(Relaxed),
            origin_results: account.results(),
            origin_call: account.origin_call.read(),
            connection_wait: account.connection_wait.read(),
            hottest,
        }
    }
}

impl<K, V, E, S> Observed for Core<K, V, E, S>
where
    K: Key,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
    S: Store<K, V>,
{
    fn snapshot(&self) -> CacheSnapshot {
        self.snapshot()
    }

    fn totals(&self) -> CacheSnapshot {
        self.totals()
    }

    fn config(&self) -> CacheConfig {
        self.config()
    }
}

/// Hottest keys of which totals say their share.
const HOT_SHARES: usize = 5;

/// The flights in progress.
struct Live<K, V: Send + Sync + 'static, E> {
    counts: Counts,
    flights: Vec<Watched<K, V, E>>,
}

/// A flight, and how many wait for it.
type Watched<K, V, E> = (Arc<Flight<K, V, E>>, u64);

/// How many they are.
#[derive(Clone, Copy, Default)]
struct Counts {
    active: u64,
    unwatched: u64,
    refreshes: u64,
    oldest_us: u64,
}

impl Counts {
    fn add<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static>(
        &mut self,
        flight: &Flight<K, V, E>,
        waiters: u64,
        now: Moment,
    ) {
        if flight.stage() == Stage::Landed {
            return;
        }
        self.active += 1;
        self.unwatched += u64::from(waiters == 0);
        self.refreshes += u64::from(is_refresh(flight.trigger));
        self.oldest_us = self.oldest_us.max(now.saturating_sub(flight.started) / 1_000);
    }
}

/// Whether nobody but the cache or its application asked for this load.
fn is_refresh(trigger: FlightTrigger) -> bool {
    match trigger {
        FlightTrigger::Stale | FlightTrigger::Early | FlightTrigger::Forced => true,
        FlightTrigger::Miss | FlightTrigger::Batch | FlightTrigger::Warmup => false,
    }
}
