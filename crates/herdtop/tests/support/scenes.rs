//! Worlds that a screen can be looked at: from a quiet one to one that is gone.

use herdfeed::{Fact, FlightEnd, FlightTrigger, MissCause, Outcome, PermitClass, ProtectionLevel, Severity, Stage};
use herdtop::msg::Feed;

use super::{Script, condition, everyday, flight};

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
