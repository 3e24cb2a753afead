//! Requests, what they found, and what is stored.

use herdcache::herdfeed::words::{Outcome, Tier};

use super::Kind::{Counter, Gauge, Histogram, UpDown};
use super::{AGES, Metric, PARTS, SECONDS, Source, row};
use crate::labels::{DIRECTION, MISS_CAUSE, OUTCOME, PROTECTION, RANK, REMOVAL_CAUSE, STALE_REASON, TIER};
use crate::values::{CacheView, Values};

pub(super) const ROWS: &[Metric] = &[
    row(
        ("herdcache.requests", Counter, "{request}"),
        &[OUTCOME, TIER],
        Source::Cache(requests),
        [
            "Requests by how they ended; each ends in exactly one outcome. Tier is shared where the shared tier's value answered",
            "users are hurt, to see by what: availability, hit ratio, rejected (load shedding), failed",
        ],
    ),
    row(
        ("herdcache.request.active", UpDown, "{request}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.active)),
        ["Requests that have not ended", "requests pile up"],
    ),
    row(
        ("herdcache.request.duration", Histogram, "s"),
        &[OUTCOME],
        Source::OfCaches(SECONDS),
        [
            "Duration of requests: all that could not be answered at once, and one in 1,024 of those that could",
            "the latency that users feel is in question; hits are so quick that their count says enough",
        ],
    ),
    row(
        ("herdcache.misses", Counter, "{request}"),
        &[MISS_CAUSE],
        Source::Cache(|cache, out| out.tally(&cache.now.misses)),
        [
            "Requests that found nothing servable, by cause",
            "misses rise: expired wants another TTL or jitter, evicted more capacity, cold warm-up",
        ],
    ),
    row(
        ("herdcache.removals", Counter, "{entry}"),
        &[REMOVAL_CAUSE],
        Source::Cache(|cache, out| out.tally(&cache.now.removals)),
        ["Entries that left the local store, by cause: expiry and eviction apart", "entries vanish"],
    ),
    row(
        ("herdcache.entry.count", UpDown, "{entry}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.entries)),
        ["Entries in the local store, those of absent keys among them", "memory grows, or a cache is empty"],
    ),
    row(
        ("herdcache.entry.weight", UpDown, "{weight}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.entries.saturating_sub(cache.now.negatives))),
        ["Weight of the stored values; each weighs 1", "beside its limit: a full cache evicts"],
    ),
    row(
        ("herdcache.entry.weight.limit", UpDown, "{weight}"),
        &[],
        Source::Cache(|cache, out| out.count(cache.now.capacity)),
        ["The most that stored values may weigh", "beside `herdcache.entry.weight`"],
    ),
    row(
        ("herdcache.stale.serves", Counter, "{request}"),
        &[STALE_REASON],
        Source::Cache(|cache, out| out.tally(&cache.now.stale_serves)),
        [
            "Answers past freshness (stale and reserve), by reason",
            "data looks old: cooling, rejected and error mean that loads do not succeed",
        ],
    ),
    row(
        ("herdcache.stale.age", Histogram, "s"),
        &[STALE_REASON],
        Source::OfCaches(AGES),
        ["How far past freshness such answers were", "data looks old, to see how old"],
    ),
    row(
        // No unit: some translations to Prometheus would say `ratio` twice, others not.
        ("herdcache.stale.bound.ratio", Histogram, ""),
        &[STALE_REASON],
        Source::OfCaches(PARTS),
        [
            "Age of such answers as a part of the age at which they could not be given any more",
            "loads fail: at 1 values turn into errors",
        ],
    ),
    row(
        ("herdcache.invalidations", Counter, "{key}"),
        &[DIRECTION],
        Source::Cache(invalidations),
        [
            "Keys invalidated: by this process's application, sent on to the shared tier, and lost since too many waited to be sent",
            "old values survive their invalidation in other processes",
        ],
    ),
    row(
        ("herdcache.hot_key.share", Gauge, "1"),
        &[RANK],
        Source::Cache(hot_keys),
        [
            "Part of the cache's requests that its five hottest keys have, by rank; never says which keys",
            "one key may saturate a shard or its load",
        ],
    ),
    row(
        ("herdcache.ttl.fresh", Gauge, "s"),
        &[],
        Source::Cache(|cache, out| match cache.config {
            Some(config) => out.seconds(config.fresh_ms.saturating_mul(1_000)),
            None => out.maybe(None),
        }),
        ["How long values are fresh, before jitter", "herds come at a period: is it this one?"],
    ),
    row(
        ("herdcache.ttl.stale", Gauge, "s"),
        &[],
        Source::Cache(|cache, out| out.seconds(cache.now.tuned.stale_ms.saturating_mul(1_000))),
        [
            "How long past freshness values are answered while a refresh runs, as tuned now",
            "readers wait at expiry: 0 means that they must",
        ],
    ),
    row(
        ("herdcache.warmup.progress", Gauge, "1"),
        &[],
        Source::Cache(warm_up),
        ["Part of the keys given to warm-ups that they have done with; 1 when nothing is left", "after a deploy"],
    ),
    row(
        ("herdcache.protection.level", Gauge, ""),
        &[PROTECTION],
        Source::Cache(|cache, out| out.one_of(cache.now.protection)),
        ["How far protection reaches now: 1 for the level that holds", "a lease or a measure is off"],
    ),
];

/// Outcomes that a value of the shared tier can lead to.
fn may_be_shared(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Hit | Outcome::Stale | Outcome::Reserve | Outcome::Negative | Outcome::Coalesced => true,
        Outcome::Loaded
        | Outcome::Rejected
        | Outcome::Cooling
        | Outcome::Failed
        | Outcome::TimedOut
        | Outcome::Cancelled
        | Outcome::Fallback
        | Outcome::PeekMiss
        | Outcome::Closed => false,
    }
}

fn requests(cache: &CacheView<'_>, out: &mut Values) {
    let shared = cache.now.shared.as_ref();
    for (outcome, all) in cache.now.outcomes.iter() {
        let of_tier = shared.map(|shared| shared.outcomes[outcome]);
        for tier in [Tier::Local, Tier::Shared] {
            match tier {
                Tier::Local => out.count(all.saturating_sub(of_tier.unwrap_or(0))),
                Tier::Shared => out.maybe(of_tier.filter(|_| may_be_shared(outcome))),
            }
        }
    }
}

fn invalidations(cache: &CacheView<'_>, out: &mut Values) {
    let shared = cache.now.shared.as_ref();
    out.count(cache.now.invalidations);
    out.maybe(shared.map(|shared| shared.sent));
    out.maybe(shared.map(|shared| shared.lost));
}

fn hot_keys(cache: &CacheView<'_>, out: &mut Values) {
    for rank in 0..RANK.values().len() {
        out.real(cache.now.hot.get(rank).map_or(0.0, |hot| hot.share));
    }
}

fn warm_up(cache: &CacheView<'_>, out: &mut Values) {
    let warm_up = &cache.now.warmup;
    out.real(1.0 - warm_up.left as f64 / warm_up.total.max(1) as f64);
}
