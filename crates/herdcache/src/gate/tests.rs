//! G1, G2: the limit, the queue, the shares.

use herdfeed::ClosedSet;

use super::*;

fn gate(permits: usize, queue: usize) -> Gate {
    Gate::builder(permits).queue(queue).queue_timeout(Duration::from_millis(100)).build().unwrap()
}

fn deadline() -> u64 {
    clock::exact() + 10_000_000_000
}

/// G1, L3: the limit holds, the queue is bounded, a place is free the moment it is given up.
#[tokio::test(start_paused = true)]
async fn g1_the_queue_is_bounded_and_places_come_back_at_once() {
    let gate = gate(1, 1);
    let Admission::Granted(permit) = gate.enter(None, clock::exact()) else { panic!("a free gate grants") };
    let Admission::Queued(place) = gate.enter(None, clock::exact()) else { panic!("the first to wait gets a place") };
    assert!(matches!(gate.enter(None, clock::exact()), Admission::Refused(RejectReason::QueueFull)));
    drop(place);
    let Admission::Queued(place) = gate.enter(None, clock::exact()) else { panic!("the place is free again") };
    let began = tokio::time::Instant::now();
    assert_eq!(place.wait(deadline()).await.err(), Some(RejectReason::QueueTimeout));
    assert_eq!(began.elapsed(), Duration::from_millis(100));
    drop(permit);
    assert!(matches!(gate.enter(None, clock::exact()), Admission::Granted(_)));
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.used(), snapshot.pending, snapshot.usage_peak, snapshot.pending_peak), (0, 0, 1, 1));
    assert_eq!(snapshot.results[PermitResult::QueueFull], 1);
    assert_eq!(snapshot.results[PermitResult::QueueTimeout], 1);
    assert_eq!(snapshot.results[PermitResult::Granted], 2);
}

/// G1: a flight deadline that comes before the queue timeout is the reason told.
#[tokio::test(start_paused = true)]
async fn g1_the_nearer_limit_is_the_reason() {
    let gate = gate(1, 4);
    let Admission::Granted(_held) = gate.enter(None, clock::exact()) else { panic!() };
    let Admission::Queued(place) = gate.enter(None, clock::exact()) else { panic!() };
    assert_eq!(place.wait(clock::exact() + 50_000_000).await.err(), Some(RejectReason::Deadline));
}

/// G2: refreshes have their own share and never wait; a foreground load that waits comes before them.
#[tokio::test(start_paused = true)]
async fn g2_refreshes_never_starve_foreground() {
    let gate = Gate::builder(1).refresh_permits(1).build().unwrap();
    let refresh = gate.enter_background(PermitClass::Refresh).unwrap();
    assert!(gate.enter_background(PermitClass::Refresh).is_none());
    let Admission::Queued(place) = gate.enter(None, clock::exact()) else { panic!() };
    let waiting = tokio::spawn(place.wait(deadline()));
    tokio::task::yield_now().await;
    drop(refresh);
    // The permit was handed to the waiting load: the next refresh finds none.
    assert!(gate.enter_background(PermitClass::Refresh).is_none());
    assert!(waiting.await.unwrap().is_ok());
    assert_eq!(gate.snapshot().skipped, 2);
}

/// G2: with one permit no refresh and no warm-up takes it while a foreground load waits, so never twice in a row.
#[tokio::test(start_paused = true)]
async fn g2_with_one_permit_background_loads_never_take_it_twice_in_a_row() {
    let gate = Gate::builder(1).warm_up_permits(1).build().unwrap();
    let classes = [PermitClass::Refresh, PermitClass::Warmup];
    for turn in 0..100 {
        let held = gate.enter_background(classes[turn % 2]).unwrap();
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.acquire().await }
        });
        tokio::task::yield_now().await;
        drop(held);
        assert!(classes.iter().all(|class| gate.enter_background(*class).is_none()));
        let foreground = waiting.await.unwrap().unwrap();
        assert!(classes.iter().all(|class| gate.enter_background(*class).is_none()));
        drop(foreground);
    }
    let granted = gate.snapshot().granted;
    assert_eq!(PermitClass::all().iter().map(|class| granted[*class]).collect::<Vec<_>>(), [100, 50, 50]);
}

/// G2: the share of a class is its own bound.
#[tokio::test]
async fn g2_shares_bound_each_class() {
    let gate = Gate::builder(8).refresh_permits(2).build().unwrap();
    let held: Vec<_> = (0..3).map(|_| gate.enter_background(PermitClass::Refresh)).collect();
    assert_eq!(held.iter().flatten().count(), 2);
    assert_eq!(gate.snapshot().in_use[PermitClass::Refresh], 2);
}

fn granted(gate: &Gate) -> Permit {
    let Admission::Granted(permit) = gate.enter(None, clock::exact()) else { panic!("a permit is free") };
    permit
}

/// G3: a limit that rises hands out at once what it sets free, also while every permit is still held.
#[tokio::test(start_paused = true)]
async fn g3_a_limit_that_rises_wakes_who_waits() {
    let gate = Gate::builder(16).adaptive_from(2).build().unwrap();
    for round in 1..=16 {
        let held = [granted(&gate), granted(&gate)];
        let mut waits = Box::pin(gate.acquire());
        assert!(poll_once(waits.as_mut()).is_pending());
        tokio::time::advance(Duration::from_millis(50)).await;
        // Known before the permits come back, as with blocking work that goes on.
        for permit in &held {
            permit.report().unwrap().load_ended(OriginResult::Value);
        }
        if round == 16 {
            assert_eq!(gate.limit(), 3);
            assert!(poll_once(waits.as_mut()).is_ready());
        }
    }
}

/// G2, G3: while a lower limit is in force a share is that part of it, and never nothing.
#[tokio::test(start_paused = true)]
async fn g2_a_share_of_a_lower_limit_is_rounded_up() {
    let gate = Gate::builder(8).refresh_permits(2).adaptive_from(2).build().unwrap();
    let held: Vec<_> = (0..2).map(|_| gate.enter_background(PermitClass::Refresh)).collect();
    assert_eq!((gate.limit(), held.iter().flatten().count()), (2, 1));
}

/// G1: the time to come back is an estimate from how long permits were held of late, and never more than ten seconds.
#[tokio::test(start_paused = true)]
async fn g1_who_is_refused_is_told_to_come_back_in_time() {
    let gate = gate(1, 0);
    for (held_s, times, retry_in) in [(4, 1, 4), (60, 64, 10)] {
        for _ in 0..times {
            let permit = granted(&gate);
            tokio::time::advance(Duration::from_secs(held_s)).await;
            drop(permit);
        }
        let _permit = granted(&gate);
        assert_eq!(gate.acquire().await.unwrap_err().retry_in, Duration::from_secs(retry_in));
    }
}

/// A1: bad settings of a gate name the field.
#[test]
fn a1_bad_gates_are_refused() {
    let field = |builder: GateBuilder| builder.build().unwrap_err().to_string();
    assert_eq!(field(Gate::builder(0)), r#"gate "gate": permits 0 is not within 1 to 65536: raise it"#);
    assert!(field(Gate::builder(4).refresh_permits(5)).contains("refresh_permits 5 is not within 0 to 4: lower it"));
    assert!(field(Gate::builder(4).queue(100_001)).contains("queue 100001"));
    assert!(field(Gate::builder(4).name("Main DB")).contains("name must be"));
}

/// A6, G1: a query that bypasses the cache takes a permit of the same limit, waits in the same queue, and is told why not.
#[tokio::test(start_paused = true)]
async fn a6_queries_that_bypass_the_cache_take_permits_too() {
    let gate = gate(1, 1);
    let permit = gate.acquire().await.unwrap();
    let queued = tokio::spawn({
        let gate = gate.clone();
        async move { gate.acquire().await.map(drop) }
    });
    tokio::task::yield_now().await;
    let full = gate.acquire().await.unwrap_err();
    assert_eq!((full.reason, full.retry_in), (RejectReason::QueueFull, Duration::from_millis(100)));
    let began = tokio::time::Instant::now();
    assert_eq!(queued.await.unwrap().unwrap_err().reason, RejectReason::QueueTimeout);
    assert_eq!(began.elapsed(), Duration::from_millis(100));
    assert_eq!((gate.snapshot().in_use[PermitClass::Foreground], gate.snapshot().pending), (1, 0));
    // Dropped while it waits: its place is free; dropped with its permit on the way: the next gets it.
    let mut leaves = Box::pin(gate.acquire());
    assert!(poll_once(leaves.as_mut()).is_pending());
    drop(permit);
    drop(leaves);
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.used(), snapshot.pending, snapshot.law_violations), (0, 0, 0));
    assert!(gate.acquire().await.is_ok());
    let results = gate.snapshot().results;
    let ends = [PermitResult::Granted, PermitResult::QueueFull, PermitResult::QueueTimeout, PermitResult::Closed];
    assert_eq!(ends.map(|end| results[end]), [2, 1, 1, 1]);
}

/// G1: a permit that was handed to a load whose task has not run yet is not free, and is not told as free.
#[tokio::test(start_paused = true)]
async fn g1_a_permit_on_its_way_is_in_use() {
    let gate = gate(2, 4);
    let held = [gate.acquire().await.unwrap(), gate.acquire().await.unwrap()];
    let mut waits = Box::pin(gate.acquire());
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    let told = |gate: &Gate| {
        let snapshot = gate.snapshot();
        (snapshot.in_use[PermitClass::Foreground], snapshot.used(), snapshot.pending)
    };
    assert_eq!(told(&gate), (1, 1, 0));
    let permit = waits.await.unwrap();
    assert_eq!(told(&gate), (1, 1, 0));
    drop(permit);
    assert_eq!(told(&gate), (0, 0, 0));
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}
