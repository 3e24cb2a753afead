//! Worlds that try to harm a screen: figures at the far end of their types, and strings from outside.

use herdfeed::{
    CacheSnapshot, Fact, FlightEnd, GateSnapshot, HotKey, LiveFlight, Outcome, PermitClass, Severity, Snapshot,
};
use herdtop::msg::Feed;

use super::{Script, cache, calm, condition, everyday, flight, gate, hot};

/// Figures at the far end of their types.
pub(crate) fn huge() -> Script {
    let mut script = calm();
    script.pass(4, |snapshot| {
        let cache = &mut snapshot.caches[0];
        for outcome in [Outcome::Hit, Outcome::Stale, Outcome::Rejected, Outcome::Failed] {
            cache.outcomes[outcome] = cache.outcomes[outcome].saturating_add(u64::MAX / 1_000);
        }
        cache.capacity = u64::MAX;
        cache.entries = u64::MAX;
        cache.flights_active = u64::MAX;
        cache.live = vec![flight(u64::MAX, "k", 0, u64::MAX, u64::MAX)];
        cache.hot = vec![HotKey {
            key: "k".into(),
            requests: u64::MAX,
            share: f64::MAX,
            window_us: 1,
            loads: u64::MAX,
            age_us: Some(u64::MAX),
            fresh_left_us: Some(i64::MIN),
            stale_left_us: Some(i64::MIN),
            load_us: u64::MAX,
            ..HotKey::default()
        }];
        let gate = &mut snapshot.gates[0];
        gate.limit = u64::MAX;
        gate.pending = u64::MAX;
        gate.queue = u64::MAX;
        gate.in_use[PermitClass::Foreground] = u64::MAX;
    });
    script
}

/// The largest number wherever a snapshot holds one: every tally, histogram and figure.
pub(crate) fn extreme() -> Script {
    let mut script = Script::new();
    script.attach("api", 101);
    script.attach("api", 102);
    for most in [u64::MAX - 7, u64::MAX] {
        script.pass(1, |snapshot| most_of(snapshot, most));
    }
    script
}

/// Every figure of a snapshot at `most`.
pub(crate) fn most_of(snapshot: &mut Snapshot, most: u64) {
    use herdfeed::ClosedSet;
    fn fill<E: ClosedSet>(tally: &mut herdfeed::Tally<E>, most: u64) {
        for label in E::all() {
            tally[*label] = most;
        }
    }
    let histogram =
        herdfeed::Histogram { count: most, sum_us: most, buckets: vec![most; herdfeed::histogram::BUCKETS] };
    let mut all = CacheSnapshot {
        live: (0..40).map(|id| flight(id, "k", 0, most, most)).collect(),
        landed: vec![LiveFlight { end: Some(FlightEnd::Loaded), ..flight(most, "k", most, most, most) }],
        hot: vec![HotKey { window_us: 1, share: f64::MAX, ..hot("k", most / 30, 1.0) }],
        conditions: vec![
            condition(Severity::Critical, "users", Fact::OriginFailing { ratio: f64::MAX, calls: most }),
            condition(Severity::Critical, "users", Fact::OriginSlow { p99_us: most, usual_us: most }),
            condition(Severity::Critical, "users", Fact::Avalanche { keys: most, within_us: most }),
            condition(
                Severity::Critical,
                "users",
                Fact::Rejecting { per_s: most, reason: herdfeed::RejectReason::QueueFull },
            ),
            condition(Severity::Critical, "users", Fact::StaleBoundNear { key: "k".into(), ratio: 1.0, left_us: most }),
        ],
        law_violations: most,
        saved: herdfeed::Saved {
            coalesced: most,
            cooled: most,
            stale: most,
            reserve: most,
            over_limit: most,
            expiries_peak: most,
            jittered_peak: most,
        },
        ..cache()
    };
    fill(&mut all.outcomes, most);
    fill(&mut all.misses, most);
    fill(&mut all.stale_serves, most);
    fill(&mut all.rejections, most);
    fill(&mut all.flight_starts, most);
    fill(&mut all.flights, most);
    fill(&mut all.participants, most);
    fill(&mut all.refreshes, most);
    fill(&mut all.discards, most);
    fill(&mut all.origin_results, most);
    fill(&mut all.removals, most);
    for figure in [
        &mut all.begun,
        &mut all.active,
        &mut all.flights_active,
        &mut all.waiting,
        &mut all.flights_unwatched,
        &mut all.flight_oldest_us,
        &mut all.origin_calls,
        &mut all.origin_active,
        &mut all.origin_abandoned,
        &mut all.entries,
        &mut all.capacity,
        &mut all.negatives,
        &mut all.negative_capacity,
        &mut all.invalidations,
    ] {
        *figure = most;
    }
    for figure in [&mut all.origin_call, &mut all.flight, &mut all.wait, &mut all.stale_age, &mut all.connection_wait] {
        *figure = histogram.clone();
    }
    let mut full = GateSnapshot {
        limit: most,
        ceiling: Some(most),
        pending: most,
        queue: most,
        skipped: most,
        wait: histogram,
        usage_peak: most,
        pending_peak: most,
        origin_capacity: Some(1),
        law_violations: most,
        ..gate()
    };
    fill(&mut full.in_use, most);
    fill(&mut full.granted, most);
    fill(&mut full.results, most);
    (snapshot.caches, snapshot.gates) = (vec![all.clone(), CacheSnapshot { name: "orders".into(), ..all }], vec![full]);
}

/// Key names that try to harm the screen.
pub(crate) fn hostile_keys() -> Vec<String> {
    vec![
        "商品:東京:価格:在庫".into(),
        "👩‍👩‍👧‍👦:family:👍🏽".into(),
        format!("z{}", "\u{301}".repeat(50)),
        "ﾊﾟﾋﾟﾌﾟ:ﾍﾞ".into(),
        "שלום:\u{202e}evil".into(),
        "k".repeat(10_240),
        "a\nb\tc\rd".into(),
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m".into(),
        "nul\0nul".into(),
        String::from_utf8_lossy(&[b'x', 0xff, 0xfe, b'y']).into_owned(),
    ]
}

/// A world whose every string from outside is hostile.
pub(crate) fn hostile() -> Script {
    let mut script = Script::new();
    script.attach("api\u{1b}[31m", 1);
    script.pass(8, |snapshot| {
        everyday(snapshot);
        let mono_us = snapshot.mono_us;
        let cache = &mut snapshot.caches[0];
        let keys = hostile_keys();
        cache.hot = keys.iter().zip(1..).map(|(key, n)| hot(key, 1_000 / n, 0.1)).collect();
        cache.live =
            keys.iter().zip(1..).map(|(key, n)| flight(n, key, mono_us - n * 100_000, n * 100_000, 20)).collect();
        cache.conditions = keys
            .iter()
            .map(|key| {
                let fact = Fact::StaleBoundNear { key: key.clone(), ratio: 0.9, left_us: 12_000_000 };
                condition(Severity::Warn, "users\u{1b}[2J", fact)
            })
            .collect();
    });
    script.feed(0, Feed::Events(script.services[0].snapshot.caches[0].conditions.clone()));
    script.silence(0);
    script
}
