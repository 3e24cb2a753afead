//! Calls to the origin.

use super::Kind::{Counter, Gauge, Histogram, UpDown};
use super::{Metric, SECONDS, Source, row};
use crate::labels::ORIGIN_RESULT;

pub(super) const ROWS: &[Metric] = &[
    row(
        ("herdcache.origin.calls", Counter, "{call}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.origin_calls)),
        ["Origin calls that started", "the database's load, and requests ÷ calls: what it would see without the cache"],
    ),
    row(
        ("herdcache.origin.results", Counter, "{call}"),
        &[ORIGIN_RESULT],
        Source::Cache(|cache, out| out.tally(&cache.now.origin_results)),
        ["Origin calls that ended, by how", "the origin fails, or answers late"],
    ),
    row(
        ("herdcache.origin.active", UpDown, "{call}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.origin_active)),
        ["Origin calls in progress", "beside the permits"],
    ),
    row(
        ("herdcache.origin.abandoned", UpDown, "{call}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.origin_abandoned)),
        [
            "Origin calls in progress whose flight has ended: each holds a permit",
            "permits are short though little is loaded",
        ],
    ),
    row(
        ("herdcache.origin.starts.peak", Gauge, "{call}"),
        &[],
        Source::Cache(|cache, out| out.level(cache.now.peaks.origin_starts)),
        [
            "Most origin calls that started within one second, of the last 60 s",
            "bursts shorter than the time between two scrapes",
        ],
    ),
    row(
        ("herdcache.origin.call.duration", Histogram, "s"),
        &[ORIGIN_RESULT],
        Source::OfCaches(SECONDS),
        ["Duration of origin calls, to their real end", "the origin is slow"],
    ),
    row(
        ("herdcache.origin.connection.wait.duration", Histogram, "s"),
        &[ORIGIN_RESULT],
        Source::OfCaches(SECONDS),
        ["What loaders reported of their wait for a connection", "the pool, not the database, is what is slow"],
    ),
];
