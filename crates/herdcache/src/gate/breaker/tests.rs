//! G5: when a gate gives its origin up, and how it finds it back.

use herdfeed::{OriginResult, PermitClass, PermitResult, RejectReason};
use tokio::time::{advance, sleep};

use super::*;
use crate::clock;
use crate::gate::{Admission, Gate, Permit};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn gate(name: &str) -> Gate {
    Gate::builder(4).name(name).queue(8).fail_fast(FailFast::new().at_least(4)).build().unwrap()
}

fn enter(gate: &Gate) -> Result<Permit, RejectReason> {
    match gate.enter(None, clock::exact()) {
        Admission::Granted(permit) => Ok(permit),
        Admission::Refused(reason) => Err(reason),
        Admission::Queued(_) => panic!("a permit was to be free"),
    }
}

fn load(gate: &Gate, result: OriginResult) {
    enter(gate).unwrap().report().unwrap().load_ended(result);
}

fn circuit(gate: &Gate) -> CircuitState {
    gate.snapshot().circuit.unwrap()
}

/// Loads that ran into their limit.
fn time_out(loads: &[Permit]) {
    for load in loads {
        load.report().unwrap().load_ended(OriginResult::Timeout);
    }
}

/// Kinds of what was told of a gate.
fn told(gate: &Gate) -> Vec<(Severity, Fact)> {
    let (events, _) = events::ring().read(0, events::RING);
    events.iter().filter(|event| event.subject == gate.name()).map(|e| (e.severity, e.fact.clone())).collect()
}

/// G5: failures in a row over a tenth of the window open it, whatever went well before; the same in one moment is a
/// glitch, and one success begins the row anew.
#[tokio::test(start_paused = true)]
async fn g5_opens_when_nothing_succeeds_any_more() {
    let gate = gate("g5-row");
    for _ in 0..1_000 {
        load(&gate, OriginResult::Value);
    }
    // Connections are cut: many fail at once.
    for _ in 0..50 {
        load(&gate, OriginResult::Error);
    }
    assert_eq!(circuit(&gate), CircuitState::Closed);
    advance(ms(900)).await;
    load(&gate, OriginResult::Value);
    for _ in 0..3 {
        advance(ms(400)).await;
        load(&gate, OriginResult::Timeout);
    }
    // 1.2 s without a success, but one failure too few.
    assert_eq!(circuit(&gate), CircuitState::Closed);
    load(&gate, OriginResult::Timeout);
    assert_eq!(circuit(&gate), CircuitState::Open);
}

/// G5: half of at least so many; then nobody but one probe each second; a bad probe changes nothing, a good one all.
#[tokio::test(start_paused = true)]
async fn g5_opens_probes_and_closes() {
    let gate = gate("g5-cycle");
    for result in [OriginResult::Value, OriginResult::Absent, OriginResult::Timeout] {
        load(&gate, result);
    }
    assert_eq!(circuit(&gate), CircuitState::Closed);
    load(&gate, OriginResult::Panicked);
    assert_eq!((circuit(&gate), enter(&gate).err()), (CircuitState::Open, Some(RejectReason::OriginDown)));
    advance(ms(400)).await;
    assert_eq!(gate.retry_in(RejectReason::OriginDown), ms(600));
    assert!(gate.enter_background(PermitClass::Refresh).is_none());
    advance(ms(600)).await;
    let probe = enter(&gate).unwrap();
    assert_eq!((circuit(&gate), enter(&gate).err()), (CircuitState::HalfOpen, Some(RejectReason::OriginDown)));
    probe.report().unwrap().load_ended(OriginResult::Error);
    drop(probe);
    assert_eq!(circuit(&gate), CircuitState::Open);
    assert_eq!(gate.snapshot().conditions[0].fact, Fact::OriginDown { failed: 3, calls: 5 });
    advance(ms(1_000)).await;
    load(&gate, OriginResult::Value);
    assert_eq!((circuit(&gate), gate.snapshot().conditions.len()), (CircuitState::Closed, 0));
    assert!(enter(&gate).is_ok());
    let down = (Severity::Critical, Fact::OriginDown { failed: 2, calls: 4 });
    assert_eq!(told(&gate), [down, (Severity::Info, Fact::OriginUp { duration_us: 2_000_000 })]);
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.results[PermitResult::OriginDown], snapshot.skipped, snapshot.used()), (2, 1, 0));
}

/// G5: failures that the window has left behind do not count, and what was given up never does.
#[tokio::test(start_paused = true)]
async fn g5_only_recent_failures_count() {
    let gate = gate("g5-window");
    (0..3).for_each(|_| load(&gate, OriginResult::Error));
    (0..50).for_each(|_| drop(enter(&gate).unwrap()));
    advance(ms(10_000)).await;
    (0..3).for_each(|_| load(&gate, OriginResult::Error));
    assert_eq!(circuit(&gate), CircuitState::Closed);
    load(&gate, OriginResult::Error);
    assert_eq!(circuit(&gate), CircuitState::Open);
}

/// G5: who waits for a permit when the gate opens is sent away at once; loads that run then do not close or reopen it.
#[tokio::test(start_paused = true)]
async fn g5_who_waits_is_sent_away() {
    let gate = gate("g5-queue");
    let held: Vec<_> = (0..4).map(|_| enter(&gate).unwrap()).collect();
    let waiting = tokio::spawn({
        let gate = gate.clone();
        async move { gate.acquire().await.map(drop) }
    });
    sleep(ms(10)).await;
    time_out(&held);
    assert_eq!(circuit(&gate), CircuitState::Open);
    let refused = waiting.await.unwrap().unwrap_err();
    assert_eq!((refused.reason, refused.retry_in), (RejectReason::OriginDown, ms(1_000)));
    assert_eq!(gate.snapshot().pending, 0);
    // Their permits are still out, so the probe waits for one, gives up, and is not lost.
    advance(ms(1_000)).await;
    assert_eq!(gate.acquire().await.unwrap_err().reason, RejectReason::QueueTimeout);
    drop(held);
    let probe = enter(&gate).unwrap();
    assert_eq!(circuit(&gate), CircuitState::HalfOpen);
    probe.report().unwrap().load_ended(OriginResult::Value);
    assert_eq!(circuit(&gate), CircuitState::Closed);
}

/// G5: loads that began before the origin was found back say nothing about it now.
#[tokio::test(start_paused = true)]
async fn g5_late_news_of_an_outage_do_not_reopen() {
    let gate = Gate::builder(32).name("g5-late").fail_fast(FailFast::new().at_least(4)).build().unwrap();
    let hanging: Vec<_> = (0..20).map(|_| enter(&gate).unwrap()).collect();
    (0..4).for_each(|_| load(&gate, OriginResult::Error));
    advance(ms(1_000)).await;
    load(&gate, OriginResult::Value);
    time_out(&hanging);
    assert_eq!(circuit(&gate), CircuitState::Closed);
}

/// G5: a refresh may be the probe, so that an origin is found back where every read is answered stale.
#[tokio::test(start_paused = true)]
async fn g5_a_refresh_may_be_the_probe() {
    let gate = gate("g5-refresh");
    (0..4).for_each(|_| load(&gate, OriginResult::Error));
    assert!(gate.enter_background(PermitClass::Refresh).is_none());
    advance(ms(1_000)).await;
    let probe = gate.enter_background(PermitClass::Refresh).unwrap();
    assert_eq!((circuit(&gate), enter(&gate).err()), (CircuitState::HalfOpen, Some(RejectReason::OriginDown)));
    probe.report().unwrap().load_ended(OriginResult::Value);
    assert_eq!(circuit(&gate), CircuitState::Closed);
}

/// G5: queries of the application may tell how they fared; those that never do cannot keep a gate shut for ever.
#[tokio::test(start_paused = true)]
async fn g5_queries_that_bypass_the_cache_take_part() {
    let gate = gate("g5-acquire");
    for _ in 0..4 {
        gate.acquire().await.unwrap().failed();
    }
    assert_eq!(gate.acquire().await.unwrap_err().reason, RejectReason::OriginDown);
    advance(ms(1_000)).await;
    drop(gate.acquire().await.unwrap());
    assert_eq!(circuit(&gate), CircuitState::Open, "a query that says nothing is no proof");
    advance(ms(1_000)).await;
    gate.acquire().await.unwrap().answered();
    assert_eq!(circuit(&gate), CircuitState::Closed);
    for _ in 0..4 {
        gate.acquire().await.unwrap().failed();
    }
    for second in 1..=10 {
        assert_eq!(circuit(&gate), CircuitState::Open, "{second}");
        advance(ms(1_000)).await;
        drop(gate.acquire().await.unwrap());
    }
    assert_eq!(circuit(&gate), CircuitState::Closed, "ten seconds with probes and without a failure");
}

/// G5: a probe that its callers gave up, or that was never needed, is no probe any more.
#[tokio::test(start_paused = true)]
async fn g5_a_probe_that_comes_to_nothing_is_back() {
    let gate = gate("g5-given-up");
    (0..4).for_each(|_| load(&gate, OriginResult::Error));
    advance(ms(1_000)).await;
    load(&gate, OriginResult::Abandoned);
    assert_eq!((circuit(&gate), enter(&gate).err()), (CircuitState::Open, Some(RejectReason::OriginDown)));
    advance(ms(1_000)).await;
    gate.enter_background(PermitClass::Refresh).unwrap().unused();
    assert_eq!(circuit(&gate), CircuitState::Open);
    load(&gate, OriginResult::Value);
    assert_eq!(circuit(&gate), CircuitState::Closed, "the next who came was the probe");
}

/// G5: a gate of few permits gives an origin up that takes half of it for a whole window, and not for less.
#[tokio::test(start_paused = true)]
async fn g5_time_lost_counts_where_loads_are_few() {
    // (permits, for each failed load how long it took; whether that is enough)
    let table: [(usize, &[u64], CircuitState); 9] = [
        (1, &[5_000], CircuitState::Closed),
        (1, &[5_000, 5_000], CircuitState::Open),
        (1, &[4_900, 4_900], CircuitState::Open),
        (1, &[12_000], CircuitState::Open),
        (2, &[5_000, 5_000], CircuitState::Open),
        (2, &[12_000], CircuitState::Open),
        (4, &[5_000; 3], CircuitState::Closed),
        (4, &[5_000; 4], CircuitState::Open),
        (4, &[60_000], CircuitState::Closed),
    ];
    for (permits, took, expected) in table {
        let gate = Gate::builder(permits).name("g5-few").build().unwrap();
        for round in took.chunks(permits) {
            let loads: Vec<_> = round.iter().map(|_| enter(&gate).unwrap()).collect();
            advance(ms(round[0])).await;
            time_out(&loads);
        }
        assert_eq!(circuit(&gate), expected, "{permits} permits, {took:?}");
    }
    // The ratio holds all the same: as many good ones, and it serves most.
    let gate = Gate::builder(4).name("g5-some").build().unwrap();
    let hanging: Vec<_> = (0..4).map(|_| enter(&gate).unwrap()).collect();
    advance(ms(5_000)).await;
    time_out(&hanging[..2]);
    drop(hanging);
    (0..5).for_each(|_| load(&gate, OriginResult::Value));
    let hanging: Vec<_> = (0..2).map(|_| enter(&gate).unwrap()).collect();
    advance(ms(5_000)).await;
    time_out(&hanging);
    assert_eq!(circuit(&gate), CircuitState::Closed, "4 of 9");
}

/// G5: it can be left out, and bad settings are told.
#[tokio::test(start_paused = true)]
async fn g5_may_be_left_out() {
    let gate = Gate::builder(4).without_fail_fast().build().unwrap();
    (0..100).for_each(|_| load(&gate, OriginResult::Error));
    assert!(enter(&gate).is_ok() && gate.snapshot().circuit.is_none());
    let error = |when| Gate::builder(4).fail_fast(when).build().unwrap_err().to_string();
    assert_eq!(error(FailFast::new().ratio(0.0)), r#"gate "gate": fail_fast ratio 0 is not above 0 and at most 1"#);
    assert!(error(FailFast::new().at_least(0)).contains("at_least 0 is not within 1 to 1000000"));
    assert!(error(FailFast::new().window(ms(99))).contains("window 99ms is not within 100ms to 3600s"));
    assert!(error(FailFast::new().probe_every(ms(9))).contains("probe_every 9ms is not within 10ms to 60s"));
}
