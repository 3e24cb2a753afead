//! One line of every kind, with every field set to something else than its default.

use herdfeed::snapshot::{CacheSnapshot, GateSnapshot, HotKey, LiveFlight, Peaks, Saved, Stage, TunedNow, Warmup};
use herdfeed::{
    CacheConfig, CircuitState, Clock, ClosedSet, Event, Fact, FailFastConfig, FlightEnd, FlightTrigger, GateConfig,
    Hello, HerdEnd, Histogram, LeaseConfig, LeaseLoss, LeaseSnapshot, Line, Measure, MissCause, OperationTimes, Past,
    Process, ProtectionLevel, RejectReason, Second, Severity, SharedConfig, SharedOperation, SharedSnapshot,
    SharedWrite, Snapshot, Tally,
};

/// One line of every kind.
pub(crate) fn lines() -> Vec<Line> {
    vec![
        Line::Hello(Box::new(hello())),
        Line::Past(Past { cache: "users".into(), seconds: vec![second(1), second(2)] }),
        Line::Snap { part: [2, 3], snapshot: Box::new(snapshot()) },
        Line::Events { events: facts().into_iter().zip(1..).map(|(fact, seq)| event(seq, fact)).collect() },
        Line::Lag { from: 3, to: 9 },
        Line::Bye { why: "shutdown".into() },
    ]
}

/// The word that names a line's kind.
pub(crate) fn kind(line: &Line) -> &'static str {
    match line {
        Line::Hello(_) => "hello",
        Line::Past(_) => "past",
        Line::Snap { .. } => "snap",
        Line::Events { .. } => "events",
        Line::Lag { .. } => "lag",
        Line::Bye { .. } => "bye",
        Line::Unknown => "unknown",
    }
}

/// Counts that differ for every value of the set.
fn tally<E: ClosedSet>() -> Tally<E> {
    let mut tally = Tally::new();
    for (value, count) in E::all().iter().zip(1..) {
        tally[*value] = count;
    }
    tally
}

fn histogram() -> Histogram {
    let mut histogram = Histogram::default();
    for us in [0, 1, 7, 250] {
        histogram.record_us(us);
    }
    histogram
}

fn second(number: u64) -> Second {
    Second { mono_us: number * 1_000_000, outcomes: tally(), origin_calls: number, waiting: 4 }
}

fn event(seq: u64, fact: Fact) -> Event {
    let severity = match seq % 3 {
        0 => Severity::Info,
        1 => Severity::Warn,
        _ => Severity::Critical,
    };
    Event { seq, mono_us: 10 + seq, unix_us: 1_700_000_000_000_000 + seq, severity, subject: "users".into(), fact }
}

fn hello() -> Hello {
    Hello {
        v: [1, 0],
        min: 1,
        lib: "herdcache 0.1.0".into(),
        process: Process {
            service: "api".into(),
            app_version: Some("2.3.4".into()),
            host: "host-1".into(),
            pid: 4711,
            boot: "b00t".into(),
            started_unix_us: 1_700_000_000_000_000,
        },
        clock: Clock { mono_us: 5, unix_us: 1_700_000_000_000_005 },
        caps: vec!["flights".into(), "past".into()],
        caches: vec![cache_config()],
        gates: vec![GateConfig {
            name: "db".into(),
            permits: 32,
            queue: 128,
            queue_timeout_ms: 500,
            refresh_permits: 8,
            warmup_permits: 7,
            origin_capacity: Some(100),
            adaptive_floor: Some(3),
            fail_fast: Some(FailFastConfig { ratio: 0.5, at_least: 20, window_ms: 10_000, probe_every_ms: 1_000 }),
        }],
    }
}

fn cache_config() -> CacheConfig {
    CacheConfig {
        name: "users".into(),
        gate: "db".into(),
        store: "moka".into(),
        capacity: 10_000,
        fresh_ms: 60_000,
        stale_ms: 30_000,
        stale_if_error_ms: 90_000,
        tunable_stale_ms: 600_000,
        tunable_stale_if_error_ms: 3_600_000,
        refresh_off: true,
        jitter: 0.1,
        early_refresh: 1.5,
        soft_timeout_ms: Some(50),
        origin_timeout_ms: 5_000,
        flight_deadline_ms: 10_000,
        negative_ttl_ms: 1_000,
        cooling_base_ms: 100,
        cooling_cap_ms: 5_001,
        max_flights: 10_001,
        max_waiters: 100_000,
        group_share: Some(0.25),
        when_unwatched: "abandon".into(),
        fallback: true,
        keys: "hash".into(),
        shared: Some(SharedConfig {
            operation_timeout_ms: 50,
            largest_value: 1 << 20,
            schema_version: 2,
            codec: "json".into(),
            write_failure: "fail".into(),
            breaker_in_a_row: 5,
            probe_every_ms: 1_001,
            queue: 10_002,
        }),
        lease: Some(LeaseConfig {
            time_ms: 10_100,
            renewals: 3,
            poll_ms: 25,
            poll_most_ms: 250,
            follow_ms: Some(4_000),
        }),
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        seq: 812,
        mono_us: 6,
        unix_us: 1_700_000_000_000_006,
        caches: vec![cache()],
        gates: vec![gate()],
        next_event: 31,
        events_dropped: 2,
    }
}

fn gate() -> GateSnapshot {
    GateSnapshot {
        name: "db".into(),
        built: 50,
        limit: 32,
        ceiling: Some(64),
        in_use: tally(),
        pending: 11,
        queue: 128,
        granted: tally(),
        results: tally(),
        skipped: 12,
        wait: histogram(),
        usage_peak: 31,
        pending_peak: 40,
        origin_capacity: Some(100),
        circuit: Some(CircuitState::HalfOpen),
        conditions: vec![event(29, facts().swap_remove(8))],
        law_violations: 34,
    }
}

fn cache() -> CacheSnapshot {
    CacheSnapshot {
        name: "users".into(),
        built: 49,
        gate: "db".into(),
        protection: Some(ProtectionLevel::Process),
        off: vec![Measure::Jitter, Measure::SingleFlight],
        tuned: TunedNow {
            stale_ms: 35,
            stale_if_error_ms: 36,
            refresh_off: true,
            built_stale_ms: Some(44),
            built_stale_if_error_ms: Some(45),
        },
        saved: Saved {
            coalesced: 37,
            cooled: 38,
            stale: 39,
            reserve: 40,
            over_limit: 41,
            expiries_peak: 42,
            jittered_peak: 43,
        },
        begun: 200,
        active: 95,
        outcomes: tally(),
        misses: tally(),
        stale_serves: tally(),
        rejections: tally(),
        refresh_rejections: tally(),
        flight_starts: tally(),
        flights: tally(),
        participants: tally(),
        flights_active: 21,
        waiting: 22,
        flights_unwatched: 23,
        flight_oldest_us: 24,
        refreshes_active: 46,
        refreshes: tally(),
        discards: tally(),
        origin_calls: 25,
        origin_results: tally(),
        origin_errors: [("_OTHER".to_owned(), 47), ("unreachable".to_owned(), 48)].into(),
        origin_active: 26,
        origin_abandoned: 27,
        entries: 28,
        negatives: 3,
        negative_capacity: 10,
        capacity: 10_000,
        removals: tally(),
        invalidations: 29,
        origin_call: histogram(),
        flight: histogram(),
        wait: histogram(),
        stale_age: histogram(),
        connection_wait: histogram(),
        peaks: Peaks { waiting: 812, flight_waiters: 811, origin_starts: 9, origin_active: 8 },
        live: vec![live(Stage::Origin, None)],
        landed: vec![live(Stage::Landed, Some(FlightEnd::Loaded))],
        hot: vec![hot()],
        conditions: vec![event(30, facts().swap_remove(0))],
        law_violations: 33,
        laws: tally(),
        warmup: Warmup { running: 1, width: 4, total: 60, loaded: 30, skipped: 11, failed: 3, cancelled: 2, left: 14 },
        shared: Some(shared()),
        lease: Some(lease()),
    }
}

fn shared() -> SharedSnapshot {
    SharedSnapshot {
        reads: tally(),
        writes: tally(),
        outcomes: tally(),
        timeouts: tally(),
        connection_errors: tally(),
        refusals: tally(),
        operations: vec![OperationTimes { operation: SharedOperation::Read, times: histogram() }],
        circuit: Some(CircuitState::Closed),
        transitions: tally(),
        queued: 34,
        queue: 10_000,
        sent: 35,
        lost: 36,
    }
}

fn lease() -> LeaseSnapshot {
    LeaseSnapshot { acquisitions: tally(), losses: tally(), polls: tally(), renewals: 37, held: 38, following: 39 }
}

fn live(stage: Stage, end: Option<FlightEnd>) -> LiveFlight {
    LiveFlight {
        id: 9,
        key: "9f2c".into(),
        trigger: FlightTrigger::Miss,
        cause: Some(MissCause::Expired),
        started_mono_us: 3,
        age_us: 2_410_000,
        waiters: 812,
        stage,
        end,
    }
}

fn hot() -> HotKey {
    HotKey {
        key: "9f2c".into(),
        requests: 5_000,
        error: 16,
        share: 0.25,
        window_us: 30_000_000,
        loads: 3,
        coalesced: 811,
        stale: 7,
        load_us: 2_410_000,
        age_us: Some(1_000),
        fresh_left_us: Some(-5),
        stale_left_us: Some(6),
    }
}

/// One fact of every kind, in the order of [`place_of`].
pub(crate) fn facts() -> Vec<Fact> {
    let (key, cause, trigger) = (|| "9f2c".to_owned(), Some(MissCause::Expired), FlightTrigger::Miss);
    vec![
        Fact::FlightStarted { flight: 9, key: key(), trigger, cause },
        Fact::FlightLanded { flight: 9, key: key(), end: FlightEnd::Loaded, waiters: 812, duration_us: 4 },
        Fact::HerdStarted { flight: 9, key: key(), cause, trigger, waiters: 100, loads: 1 },
        Fact::HerdEnded(HerdEnd {
            flight: 9,
            key: key(),
            cause,
            trigger,
            peak: 812,
            loads: 1,
            avoided: 811,
            arrivals_per_s: 337.5,
            duration_us: 2_410_000,
            end: FlightEnd::Loaded,
            since_last_us: 300_000_000,
            repeats: 3,
        }),
        Fact::Avalanche { keys: 230, within_us: 1_000_000 },
        Fact::AvalancheEnded { duration_us: 5 },
        Fact::EvictionSurge { evictions: 1_100, miss_share: 0.75 },
        Fact::EvictionSurgeEnded { duration_us: 6 },
        Fact::OriginSaturated { limit: 32, pending: 128, rejected: 2_931 },
        Fact::OriginRelieved { duration_us: 7 },
        Fact::OriginSlow { p99_us: 900_000, usual_us: 20_000 },
        Fact::OriginSlowEnded { duration_us: 8 },
        Fact::OriginFailing { ratio: 0.5, calls: 40 },
        Fact::OriginFailingEnded { duration_us: 9 },
        Fact::ConnectionsExhausted { wait_us: 400_000, call_us: 450_000 },
        Fact::ConnectionsExhaustedEnded { duration_us: 10 },
        Fact::Rejecting { per_s: 77, reason: RejectReason::QueueFull },
        Fact::RejectingEnded { duration_us: 11 },
        Fact::ColdStart { hit_ratio: 0.125 },
        Fact::ColdStartEnded { duration_us: 12 },
        Fact::HotKeyChanged { key: key(), share: 0.25, per_s: 1_500.5 },
        Fact::StaleBoundNear { key: key(), ratio: 0.875, left_us: 13 },
        Fact::StaleBoundNearEnded { duration_us: 14 },
        Fact::Tuned { what: "permits = 16".into() },
        Fact::DuplicateName { name: "users".into() },
        Fact::OriginDown { failed: 17, calls: 20 },
        Fact::OriginUp { duration_us: 15 },
        Fact::SharedDown { operation: SharedOperation::Read, failed: 5, calls: 6 },
        Fact::SharedUp { duration_us: 16 },
        Fact::CircuitChanged { state: CircuitState::HalfOpen },
        Fact::LeaseLost { key: key(), loss: LeaseLoss::Expired },
        Fact::WriteRefused { key: key(), write: SharedWrite::RefusedFence },
    ]
}

/// Place of a kind of fact in [`facts`]; a new kind breaks the build here.
pub(crate) fn place_of(fact: &Fact) -> usize {
    match fact {
        Fact::FlightStarted { .. } => 0,
        Fact::FlightLanded { .. } => 1,
        Fact::HerdStarted { .. } => 2,
        Fact::HerdEnded(_) => 3,
        Fact::Avalanche { .. } => 4,
        Fact::AvalancheEnded { .. } => 5,
        Fact::EvictionSurge { .. } => 6,
        Fact::EvictionSurgeEnded { .. } => 7,
        Fact::OriginSaturated { .. } => 8,
        Fact::OriginRelieved { .. } => 9,
        Fact::OriginSlow { .. } => 10,
        Fact::OriginSlowEnded { .. } => 11,
        Fact::OriginFailing { .. } => 12,
        Fact::OriginFailingEnded { .. } => 13,
        Fact::ConnectionsExhausted { .. } => 14,
        Fact::ConnectionsExhaustedEnded { .. } => 15,
        Fact::Rejecting { .. } => 16,
        Fact::RejectingEnded { .. } => 17,
        Fact::ColdStart { .. } => 18,
        Fact::ColdStartEnded { .. } => 19,
        Fact::HotKeyChanged { .. } => 20,
        Fact::StaleBoundNear { .. } => 21,
        Fact::StaleBoundNearEnded { .. } => 22,
        Fact::Tuned { .. } => 23,
        Fact::DuplicateName { .. } => 24,
        Fact::OriginDown { .. } => 25,
        Fact::OriginUp { .. } => 26,
        Fact::SharedDown { .. } => 27,
        Fact::SharedUp { .. } => 28,
        Fact::CircuitChanged { .. } => 29,
        Fact::LeaseLost { .. } => 30,
        Fact::WriteRefused { .. } => 31,
        Fact::Unknown => 32,
    }
}
