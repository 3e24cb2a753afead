//! A scripted world for tests: services whose counters grow as told, on fixed clocks.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part of it, and a failure here is a failed test"
)]

use herdfeed::{
    CacheConfig, CacheSnapshot, Clock, Event, Fact, FlightEnd, FlightTrigger, GateConfig, GateSnapshot, Hello, HotKey,
    LiveFlight, MissCause, OriginResult, Outcome, PermitClass, Process, ProtectionLevel, Severity, Snapshot, Stage,
};
use herdtop::msg::{Feed, TargetId};
use herdtop::update::{settle, update};
use herdtop::verdict::{Finding, Kind};
use herdtop::{Key, Model, Msg, Now};

/// 12:41:07 of some day, and two hours on the monotonic clock.
pub(crate) const START: Now = Now { mono_us: 7_200_000_000, unix_us: 1_760_013_667_000_000 };

pub(crate) struct Script {
    pub(crate) model: Model,
    pub(crate) services: Vec<Service>,
}

pub(crate) struct Service {
    pub(crate) id: TargetId,
    pub(crate) hello: Hello,
    pub(crate) snapshot: Snapshot,
}

pub(crate) fn hello(service: &str, pid: u32, boot: &str) -> Hello {
    Hello {
        v: [1, 0],
        min: 1,
        lib: "herdcache 0.1.0".into(),
        process: Process {
            service: service.into(),
            app_version: Some("1.4.0".into()),
            host: "box".into(),
            pid,
            boot: boot.into(),
            started_unix_us: START.unix_us,
        },
        clock: Clock { mono_us: 60_000_000, unix_us: START.unix_us },
        caps: vec![],
        caches: vec![CacheConfig {
            name: "users".into(),
            gate: "db".into(),
            capacity: 10_000,
            fresh_ms: 30_000,
            jitter: 0.1,
            origin_timeout_ms: 5_000,
            flight_deadline_ms: 10_000,
            ..CacheConfig::default()
        }],
        gates: vec![GateConfig {
            name: "db".into(),
            permits: 32,
            queue: 64,
            queue_timeout_ms: 500,
            refresh_permits: 8,
            ..GateConfig::default()
        }],
    }
}

pub(crate) fn cache() -> CacheSnapshot {
    CacheSnapshot {
        name: "users".into(),
        gate: "db".into(),
        protection: Some(ProtectionLevel::Process),
        entries: 8_400,
        negatives: 0,
        negative_capacity: 1_000,
        capacity: 10_000,
        ..CacheSnapshot::default()
    }
}

pub(crate) fn gate() -> GateSnapshot {
    GateSnapshot { name: "db".into(), limit: 32, queue: 64, ..GateSnapshot::default() }
}

pub(crate) fn flight(id: u64, key: &str, started_mono_us: u64, age_us: u64, waiters: u64) -> LiveFlight {
    LiveFlight {
        id,
        key: key.into(),
        trigger: FlightTrigger::Miss,
        cause: Some(MissCause::Expired),
        started_mono_us,
        age_us,
        waiters,
        stage: Stage::Origin,
        end: None,
    }
}

pub(crate) fn condition(severity: Severity, subject: &str, fact: Fact) -> Event {
    Event { seq: 0, mono_us: 0, unix_us: START.unix_us, severity, subject: subject.into(), fact }
}

pub(crate) fn hot(key: &str, per_s: u64, share: f64) -> HotKey {
    HotKey {
        key: key.into(),
        requests: per_s * 30,
        share,
        window_us: 30_000_000,
        loads: 3,
        coalesced: 812,
        stale: 40,
        load_us: 24_000,
        age_us: Some(4_000_000),
        fresh_left_us: Some(26_000_000),
        stale_left_us: Some(86_000_000),
        ..HotKey::default()
    }
}

impl Script {
    pub(crate) fn new() -> Self {
        let mut script = Self { model: Model::default(), services: Vec::new() };
        script.send(Msg::Tick(START));
        script
    }

    pub(crate) fn send(&mut self, msg: Msg) {
        update(&mut self.model, msg);
    }

    pub(crate) fn press(&mut self, keys: &str) {
        for key in keys.chars() {
            self.send(Msg::Key(Key::Char(key)));
        }
    }

    pub(crate) fn feed(&mut self, service: usize, feed: Feed) {
        let target = self.services[service].id;
        self.send(Msg::Feed { target, feed });
    }

    /// A process that is there and has said one snapshot.
    pub(crate) fn attach(&mut self, name: &str, pid: u32) -> usize {
        let id = TargetId(u32::try_from(self.services.len()).unwrap());
        let snapshot = Snapshot {
            seq: 1,
            mono_us: 60_000_000,
            unix_us: self.model.now.unix_us,
            caches: vec![cache()],
            gates: vec![gate()],
            ..Snapshot::default()
        };
        self.services.push(Service { id, hello: hello(name, pid, "boot-1"), snapshot });
        let service = self.services.len() - 1;
        self.feed(
            service,
            Feed::Added { address: format!("unix:/run/{name}-{pid}.sock"), name: format!("{name}-{pid}") },
        );
        let hello = self.services[service].hello.clone();
        self.feed(service, Feed::Hello(Box::new(hello)));
        self.tell(service);
        service
    }

    /// The service says how it stands.
    pub(crate) fn tell(&mut self, service: usize) {
        let snapshot = self.services[service].snapshot.clone();
        self.feed(service, Feed::Snapshot(Box::new(snapshot)));
        settle(&mut self.model);
    }

    /// Changes what every service will say.
    pub(crate) fn each(&mut self, change: impl Fn(&mut Snapshot)) {
        for service in &mut self.services {
            change(&mut service.snapshot);
        }
    }

    /// Quarters of a second pass; every service says a snapshot in each, changed by `change`.
    pub(crate) fn pass(&mut self, quarters: usize, change: impl Fn(&mut Snapshot)) {
        for _ in 0..quarters {
            let now = self.model.now.plus_us(250_000);
            self.send(Msg::Tick(now));
            for service in 0..self.services.len() {
                let snapshot = &mut self.services[service].snapshot;
                snapshot.seq += 1;
                snapshot.mono_us += 250_000;
                snapshot.unix_us += 250_000;
                change(snapshot);
                self.tell(service);
            }
        }
    }

    /// Time passes and nobody says anything; the clock ticks as ever.
    pub(crate) fn silence(&mut self, us: u64) {
        let start = self.model.now;
        (0..us).step_by(250_000).for_each(|passed| self.sleep(start.plus_us((passed + 250_000).min(us))));
        self.sleep(start.plus_us(us));
    }

    /// The clock ticks; if that is much later than the last time this program itself has stood still.
    pub(crate) fn sleep(&mut self, until: Now) {
        self.send(Msg::Tick(until));
    }

    pub(crate) fn text(&self, width: u16, height: u16) -> String {
        herdtop::picture::text(&self.model, width, height)
    }
}

/// A quarter of a second of everyday traffic: 4,000 hits, some loads and joins a second.
pub(crate) fn everyday(snapshot: &mut Snapshot) {
    let cache = &mut snapshot.caches[0];
    cache.begun += 1_000;
    for (outcome, count) in [
        (Outcome::Hit, 960),
        (Outcome::Stale, 20),
        (Outcome::Negative, 2),
        (Outcome::Loaded, 10),
        (Outcome::Coalesced, 8),
    ] {
        cache.outcomes[outcome] += count;
    }
    cache.origin_calls += 10;
    cache.origin_results[OriginResult::Value] += 10;
    cache.flights[FlightEnd::Loaded] += 10;
    for _ in 0..10 {
        cache.origin_call.record_us(24_000);
        cache.wait.record_us(20_000);
        cache.stale_age.record_us(800_000);
    }
    cache.hot = vec![hot("user:42", 1_240, 0.31), hot("feed:home", 410, 0.1), hot("price:EUR", 98, 0.024)];
    let gate = &mut snapshot.gates[0];
    gate.granted[PermitClass::Foreground] += 10;
    for _ in 0..10 {
        gate.wait.record_us(90);
    }
}

/// One process that has run for twelve seconds.
pub(crate) fn one() -> Script {
    let mut script = Script::new();
    script.attach("api", 101);
    script.pass(48, everyday);
    script
}

/// What is found of this kind.
pub(crate) fn of(script: &Script, kind: Kind) -> Option<Finding> {
    script.model.findings.iter().find(|finding| finding.kind == kind).cloned()
}

/// Everything that is found, the most severe first.
pub(crate) fn told(script: &Script) -> Vec<(Kind, Severity)> {
    script.model.findings.iter().map(|finding| (finding.kind, finding.severity)).collect()
}

/// Nothing is wrong.
pub(crate) fn calm() -> Script {
    let mut script = Script::new();
    script.attach("api", 101);
    script.attach("api", 102);
    script.pass(48, everyday);
    script
}

/// One load, 812 waiters, expired: protected.
pub(crate) fn herd() -> Script {
    let mut script = calm();
    script.pass(8, |snapshot| {
        everyday(snapshot);
        let mono_us = snapshot.mono_us;
        let cache = &mut snapshot.caches[0];
        cache.outcomes[Outcome::Coalesced] += 200;
        cache.flights_active = 2;
        cache.waiting = 815;
        cache.live = vec![
            flight(7, "user:42", 71_600_000, mono_us - 71_600_000, 812),
            flight(8, "user:7", 72_100_000, mono_us - 72_100_000, 3),
        ];
        let mut landed = flight(5, "price:EUR", 71_300_000, 900_000, 4);
        landed.stage = Stage::Landed;
        landed.end = Some(FlightEnd::Failed);
        cache.landed = vec![landed];
        cache.conditions = vec![condition(
            Severity::Info,
            "users",
            Fact::HerdStarted {
                flight: 7,
                key: "user:42".into(),
                cause: Some(MissCause::Expired),
                trigger: FlightTrigger::Miss,
                waiters: 812,
                loads: 1,
            },
        )];
        snapshot.gates[0].in_use[PermitClass::Foreground] = 2;
    });
    script
}

/// Single-flight and permits are off: 240 loads of one key at once.
pub(crate) fn stampede() -> Script {
    let mut script = calm();
    script.pass(8, |snapshot| {
        everyday(snapshot);
        let mono_us = snapshot.mono_us;
        let cache = &mut snapshot.caches[0];
        cache.protection = Some(ProtectionLevel::Observe);
        cache.off = vec![herdfeed::Measure::SingleFlight, herdfeed::Measure::Permits];
        cache.flights_active = 240;
        cache.origin_active = 240;
        cache.live = (0..240)
            .map(|n| flight(100 + n, "user:42", mono_us - 1_800_000 + n * 5_000, 1_800_000 - n * 5_000, 0))
            .collect();
        cache.origin_call.record_us(2_400_000);
        let gate = &mut snapshot.gates[0];
        gate.in_use[PermitClass::Foreground] = 32;
        gate.pending = 64;
    });
    script
}

/// Nobody is there any more.
pub(crate) fn disconnected() -> Script {
    let mut script = calm();
    let retry_at_us = script.model.now.mono_us + 4_000_000;
    for service in 0..2 {
        let why = format!("unix:/run/api-{}.sock: nobody listens there: start the service", 101 + service);
        script.feed(service, Feed::Down { why, retry_at_us });
    }
    script.silence(1_250_000);
    script
}

/// The picture is held while data goes on arriving.
pub(crate) fn paused() -> Script {
    let mut script = herd();
    script.press(" ");
    script.pass(12, everyday);
    script
}

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
