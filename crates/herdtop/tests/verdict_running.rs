//! What is under way and no trouble: warm-ups, and settings that were tuned.

#[path = "support/script.rs"]
mod script;

use herdfeed::{Fact, OriginResult, Outcome, Severity, Snapshot, TunedNow, Warmup};
use herdtop::verdict::Kind;
use herdtop::{Key, Msg};
use script::{condition, everyday, of, one, told};

use Severity::{Info, Warn};

/// A6: as the engine tells it: what is in force, and what the cache was built with.
fn tuned(snapshot: &mut Snapshot, stale_ms: u64, refresh_off: bool) {
    snapshot.caches[0].tuned = TunedNow {
        stale_ms,
        stale_if_error_ms: stale_ms.max(20_000),
        refresh_off,
        built_stale_ms: Some(10_000),
        built_stale_if_error_ms: Some(20_000),
    };
}

/// U1: a warm-up is told with what is left of it, as a hint beside the calm, and on the page of its process.
#[test]
fn u1_a_warm_up_is_told_until_it_is_done() {
    let mut script = one();
    let warming = |snapshot: &mut Snapshot, running| {
        everyday(snapshot);
        let left = if running > 0 { 218 } else { 0 };
        snapshot.caches[0].warmup = Warmup {
            running,
            width: 2,
            total: 400,
            loaded: 400 - 17 - left,
            skipped: 14,
            failed: 3,
            cancelled: 0,
            left,
        };
    };
    script.pass(2, |snapshot| warming(snapshot, 1));
    assert_eq!(told(&script), [(Kind::WarmingUp, Info)]);
    assert_eq!(of(&script, Kind::WarmingUp).unwrap().what, "218 keys left, 2 at once, 3 failed so far");
    let line = script.text(120, 36).lines().nth(1).unwrap().trim_end().to_owned();
    assert!(line.contains("calm") && line.contains("WARMING UP users  218 keys left"), "{line}");
    script.pass(2, |snapshot| warming(snapshot, 0));
    assert_eq!(told(&script), []);
    script.press("2");
    script.send(Msg::Key(Key::Enter));
    script.press("G");
    let page = script.text(120, 36);
    let whole = "cache users: warm-ups of 400 keys: 383 loaded, 14 skipped, 3 failed, 0 cancelled, 0 left";
    assert!(page.contains(whole), "{page}");
}

/// A6: what an operator has changed is told for as long as it is in force, and an old value's cover is as it is now.
#[test]
fn a6_tuned_settings_are_told_with_what_they_were_built_with() {
    let mut script = one();
    script.pass(1, |snapshot| tuned(snapshot, 10_000, false));
    assert_eq!(told(&script), []);
    script.pass(1, |snapshot| tuned(snapshot, 3_600_000, true));
    let finding = of(&script, Kind::Tuned).unwrap();
    assert_eq!(
        finding.what,
        "no background refreshes, stale_for 1h00m (built 10s), stale_if_error_for 1h00m (built 20s)"
    );
    assert_eq!(told(&script), [(Kind::Tuned, Info)]);
    script.pass(4, |snapshot| {
        snapshot.caches[0].outcomes[Outcome::Failed] += 10;
        snapshot.caches[0].origin_results[OriginResult::Error] += 10;
        let fact = Fact::OriginFailing { ratio: 1.0, calls: 40 };
        snapshot.caches[0].conditions = vec![condition(Warn, "users", fact)];
    });
    let failing = of(&script, Kind::OriginFailing).unwrap();
    assert_eq!(failing.cure, "heal the origin; old values answer until 1h00m past freshness");
    // A process that does not say what was built is believed to run as its settings say.
    script.pass(1, |snapshot| snapshot.caches[0].tuned = TunedNow { refresh_off: true, ..TunedNow::default() });
    assert_eq!(of(&script, Kind::Tuned), None);
}
