//! A scripted world for tests: services whose counters grow as told, on fixed clocks.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    reason = "each test file uses a part of it, and a failure here is a failed test"
)]

mod extreme;
mod scenes;

use herdfeed::{
    CacheConfig, CacheSnapshot, Clock, Event, Fact, FlightEnd, FlightTrigger, GateConfig, GateSnapshot, Hello, HotKey,
    LiveFlight, MissCause, OriginResult, Outcome, PermitClass, Process, ProtectionLevel, Severity, Snapshot, Stage,
};
use herdtop::msg::{Feed, TargetId};
use herdtop::update::{settle, update};
use herdtop::verdict::{Finding, Kind};
use herdtop::{Key, Model, Msg, Now};

pub(crate) use extreme::{extreme, hostile, hostile_keys, huge, most_of};
pub(crate) use scenes::{calm, disconnected, herd, paused, stampede};

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
