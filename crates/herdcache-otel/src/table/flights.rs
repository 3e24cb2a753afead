//! Flights: loads, who waits for them, and what becomes of them.

use herdcache::herdfeed::words::{ClosedSet, PermitClass, RejectReason};

use super::Kind::{Counter, Gauge, Histogram, UpDown};
use super::{CROWDS, Metric, SECONDS, Source, row};
use crate::labels::{CLASS, DISCARD_REASON, END, OUTCOME, REFRESH_RESULT, REJECT_REASON, ROLE, TRIGGER};
use crate::values::{CacheView, Values};

pub(super) const ROWS: &[Metric] = &[
    row(
        ("herdcache.flight.starts", Counter, "{flight}"),
        &[TRIGGER],
        Source::Cache(|cache, out| out.tally(&cache.now.flight_starts)),
        ["Flights that started, by trigger", "loads rise, to see what starts them"],
    ),
    row(
        ("herdcache.flights", Counter, "{flight}"),
        &[END],
        Source::Cache(|cache, out| out.tally(&cache.now.flights)),
        ["Flights that ended, by how; each ends in exactly one way", "loads fail or are refused"],
    ),
    row(
        ("herdcache.flight.participants", Counter, "{request}"),
        &[ROLE],
        Source::Cache(|cache, out| out.tally(&cache.now.participants)),
        [
            "Requests that took part in a flight: the leader opened it, a waiter joined it",
            "many waiters for each leader: a herd that single-flight holds back",
        ],
    ),
    row(
        ("herdcache.flight.duration", Histogram, "s"),
        &[END],
        Source::OfCaches(SECONDS),
        ["Duration of flights: shared read, queue, lease, origin and write", "readers wait"],
    ),
    row(
        ("herdcache.flight.waiters", Histogram, "{request}"),
        &[],
        Source::OfCaches(CROWDS),
        ["Waiters of a flight when it landed, its leader not among them", "how large herds are"],
    ),
    row(
        ("herdcache.flight.wait.duration", Histogram, "s"),
        &[OUTCOME],
        Source::OfCaches(SECONDS),
        [
            "How long requests waited for flights, by how they ended",
            "readers wait, leaders and waiters apart by outcome",
        ],
    ),
    row(
        ("herdcache.flight.active", UpDown, "{flight}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.flights_active)),
        ["Flights in progress", "loads pile up"],
    ),
    row(
        ("herdcache.flight.waiting", UpDown, "{request}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.waiting)),
        ["Requests that wait for a flight, leaders among them", "a herd is on"],
    ),
    row(
        ("herdcache.flight.unwatched", UpDown, "{flight}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.flights_unwatched)),
        ["Flights in progress that nobody waits for", "callers give up before loads end"],
    ),
    row(
        ("herdcache.flight.oldest.age", Gauge, "s"),
        &[],
        Source::Cache(|cache, out| out.seconds(cache.now.flight_oldest_us)),
        ["Age of the oldest flight in progress; 0 without any", "a load hangs"],
    ),
    row(
        ("herdcache.flight.deadline", Gauge, "s"),
        &[],
        Source::Cache(|cache, out| match cache.config {
            Some(config) => out.seconds(config.flight_deadline_ms.saturating_mul(1_000)),
            None => out.maybe(None),
        }),
        ["Limit of a whole flight", "beside `herdcache.flight.oldest.age`"],
    ),
    row(
        ("herdcache.flight.waiting.peak", Gauge, "{request}"),
        &[],
        Source::Cache(|cache, out| out.level(cache.now.peaks.waiting)),
        [
            "Most requests that waited for flights at once within 60 s",
            "herds shorter than the time between two scrapes",
        ],
    ),
    row(
        ("herdcache.rejections", Counter, "{refusal}"),
        &[REJECT_REASON, CLASS],
        Source::Cache(rejections),
        [
            "Refusals to protect the origin (load shedding), by reason; the request may still be answered with an older value",
            "requests are rejected",
        ],
    ),
    row(
        ("herdcache.refreshes", Counter, "{refresh}"),
        &[REFRESH_RESULT],
        Source::Cache(|cache, out| out.tally(&cache.now.refreshes)),
        ["Background refreshes by how they ended, skipped ones too", "values grow old although refreshes are on"],
    ),
    row(
        ("herdcache.refresh.pending", UpDown, "{refresh}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.refreshes_active)),
        ["Background refreshes in progress", "beside `herdcache.refresh.limit` of the gate"],
    ),
    row(
        ("herdcache.discards", Counter, "{value}"),
        &[DISCARD_REASON],
        Source::Cache(|cache, out| out.tally(&cache.now.discards)),
        ["Values that were loaded and not stored, by reason", "loads succeed and the cache stays empty"],
    ),
];

/// A warm-up's load that finds no room is skipped, and so is a refresh that finds no permit: no refusals.
fn rejections(cache: &CacheView<'_>, out: &mut Values) {
    for (reason, all) in cache.now.rejections.iter() {
        let of_refreshes = cache.now.refresh_rejections[reason];
        for class in PermitClass::all() {
            match class {
                PermitClass::Foreground => out.count(all.saturating_sub(of_refreshes)),
                PermitClass::Refresh => out.maybe(may_befall_a_refresh(reason).then_some(of_refreshes)),
                PermitClass::Warmup => out.maybe(None),
            }
        }
    }
}

/// A refresh does not queue and has no waiters that could be too many: it may only find no room among the flights.
fn may_befall_a_refresh(reason: RejectReason) -> bool {
    match reason {
        RejectReason::FlightsFull | RejectReason::GroupShare => true,
        RejectReason::QueueFull
        | RejectReason::QueueTimeout
        | RejectReason::Deadline
        | RejectReason::WaitersFull
        | RejectReason::OriginDown => false,
    }
}
