//! Calls to the origin.

use herdcache::herdfeed::words::OriginResult;

use super::Kind::{Counter, Gauge, Histogram, UpDown};
use super::{Metric, SECONDS, Source, row};
use crate::labels::{ERROR_CLASS, ORIGIN_RESULT};
use crate::values::{CacheView, Values};

pub(super) const ROWS: &[Metric] = &[
    row(
        ("herdcache.origin.calls", Counter, "{call}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.origin_calls)),
        ["Origin calls that started", "the database's load, and requests ÷ calls: what it would see without the cache"],
    ),
    row(
        ("herdcache.origin.results", Counter, "{call}"),
        &[ORIGIN_RESULT, ERROR_CLASS],
        Source::Cache(results),
        [
            "Origin calls that ended, by how; errors also by the class that the application gives them",
            "the origin fails, or answers late",
        ],
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

fn results(cache: &CacheView<'_>, out: &mut Values) {
    for (result, count) in cache.now.origin_results.iter() {
        if result == OriginResult::Error {
            out.maybe(None);
            cache.now.origin_errors.iter().for_each(|(class, count)| out.class(class, *count));
        } else {
            out.count(count);
        }
    }
}
