//! Landing: a flight's one end is counted, told, and handed to those who wait.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use herdfeed::{FlightEnd, FlightTrigger, OriginResult, RefreshResult, RejectReason};
use tokio::runtime::Handle;

use super::Core;
use super::landed::LandedFlight;
use crate::clock;
use crate::cooling::Windows;
use crate::error::Failure;
use crate::flight::{Flight, Landing};
use crate::graveyard::Vigil;
use crate::key::Key;
use crate::store::Store;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// E1: the flight failed; its key cools. `None` if the flight had ended before.
    pub(super) fn fail(
        &self,
        flight: &Arc<Flight<K, V, E>>,
        failure: Failure<E>,
        end: FlightEnd,
    ) -> Option<(Landing<V, E>, FlightEnd)> {
        if !flight.claim_end() {
            return None;
        }
        let key = flight.key.clone();
        let windows = Windows {
            base: self.settings.cooling_base,
            cap: self.settings.cooling_cap,
        };
        let now = clock::exact();
        let _vigil = Vigil::open();
        let mut shard = self.table.lock(flight.hash);
        // A superseded load says nothing about the key as it is now.
        if flight.doomed().is_none() {
            let until = shard.cooling.failed(key, flight.hash, failure.clone(), now, windows);
            if let Some(previous) = &flight.previous {
                previous.stamps().cool_until(until);
            }
        }
        // Callers from now on find the key cooling, not a flight that is over.
        shard.set_aside(flight);
        Some((Landing::Failed(failure), end))
    }

    /// S7: the flight's limit has passed. Its key is free from here on; its load may still run.
    pub(super) fn expire(&self, flight: &Arc<Flight<K, V, E>>) {
        let limit = flight.call_deadline.load(Relaxed);
        let (failure, end) = if limit > 0 && limit < flight.deadline {
            (
                Failure::OriginTimeout {
                    limit: self.settings.origin_timeout,
                },
                FlightEnd::Failed,
            )
        } else {
            (
                Failure::Deadline {
                    limit: self.settings.flight_deadline,
                },
                FlightEnd::Deadline,
            )
        };
        let Some(landed) = self.fail(flight, failure, end) else {
            return;
        };
        if let Some(call) = flight.call() {
            call.ended(OriginResult::Timeout);
            call.abandon();
        }
        self.deliver(flight, Some(landed));
    }

    /// S7: sees to it, from outside the load's task, that the flight ends in time.
    pub(crate) fn watch(self: &Arc<Self>, flight: &Arc<Flight<K, V, E>>, runtime: &Handle) {
        if !flight.claim_watch() {
            return;
        }
        let (core, watched) = (Arc::clone(self), Arc::clone(flight));
        let task = runtime.spawn(async move {
            loop {
                let left = watched.call_deadline.load(Relaxed).saturating_sub(clock::exact());
                if left == 0 {
                    break;
                }
                tokio::time::sleep(Duration::from_nanos(left)).await;
            }
            core.expire(&watched);
        });
        flight.adopt(task.abort_handle());
    }

    /// S2: the load has really ended; its registration goes, and the key's next load may start.
    pub(super) fn retire(&self, flight: &Arc<Flight<K, V, E>>) {
        let removed = self.table.lock(flight.hash).remove(flight);
        if removed.gone.is_some() {
            self.table.release();
        }
        if let Some(held) = &removed.held {
            held.may_start.notify_one();
        }
        self.quiet.notify_waiters();
    }

    /// Counts and tells the end that was claimed, then wakes everyone.
    pub(super) fn deliver(&self, flight: &Arc<Flight<K, V, E>>, landed: Option<(Landing<V, E>, FlightEnd)>) {
        let Some((landing, end)) = landed else { return };
        let now = clock::exact();
        let took_ns = now.saturating_sub(flight.started);
        let waiters = flight.waiting();
        self.account.flights.add(end);
        self.account.flight.record(took_ns);
        if let Some(result) = refresh_result(flight.trigger, end) {
            self.account.refreshes.add(result);
        }
        if let Some(previous) = &flight.previous {
            previous.stamps().release_refresh();
        }
        // The leader is no coalesced request.
        let joined = if flight.trigger == FlightTrigger::Miss {
            waiters.saturating_sub(1)
        } else {
            waiters
        };
        self.hot.loaded(flight.hash, joined, took_ns);
        if LandedFlight::<K>::is_notable(waiters, took_ns) {
            self.landed.push(LandedFlight {
                id: flight.id,
                key: flight.key.clone(),
                trigger: flight.trigger,
                cause: flight.cause,
                started: flight.started,
                took_ns,
                waiters,
                end,
            });
        }
        if self.herds.is_flying(flight.hash) {
            let left = self.table.lock(flight.hash).loads(flight.hash, &flight.key) as u64;
            self.herds.landed(self, flight, end, left);
        }
        self.look_around(now);
        flight.land(landing);
    }

    /// Counts a refusal under its reason.
    pub(crate) fn count_rejection(&self, reason: RejectReason) {
        self.account.rejections.add(reason);
    }
}

/// What a background refresh came to, if the flight was one.
fn refresh_result(trigger: FlightTrigger, end: FlightEnd) -> Option<RefreshResult> {
    match trigger {
        FlightTrigger::Miss | FlightTrigger::Batch | FlightTrigger::Warmup => return None,
        FlightTrigger::Stale | FlightTrigger::Early | FlightTrigger::Forced => {}
    }
    Some(match end {
        FlightEnd::Loaded | FlightEnd::Absent | FlightEnd::SharedHit | FlightEnd::Followed => RefreshResult::Stored,
        FlightEnd::NotModified => RefreshResult::NotModified,
        FlightEnd::Discarded => RefreshResult::Discarded,
        FlightEnd::Deadline => RefreshResult::Deadline,
        FlightEnd::Rejected => RefreshResult::SkippedNoPermit,
        FlightEnd::Failed | FlightEnd::Panicked | FlightEnd::Abandoned | FlightEnd::Closed => RefreshResult::Failed,
    })
}
