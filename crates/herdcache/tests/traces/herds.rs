//! Herds that nobody could have chosen before: told as they land, with the times that were noted.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use herdcache::herdfeed::{FlightEnd, FlightRole};
use herdcache::{Cache, Gate, HerdFlight, HerdSpan, HerdTracer, HerdWait, MemoryTier, TraceStep, Traces, trace_herds};

use crate::support::{Rows, TTL, all, ask, assert_quiet, ms, rows, slow, turns};

/// What was told of one herd.
#[derive(Clone, Debug)]
struct Told {
    cache: String,
    key: String,
    end: FlightEnd,
    waiters: u64,
    began: SystemTime,
    took: Duration,
    steps: Vec<(TraceStep, SystemTime, Duration)>,
    waits: Vec<HerdWait>,
    landed: u32,
}

#[derive(Default)]
struct Tracer {
    told: Arc<Mutex<Vec<Told>>>,
    panics: bool,
}

struct Span {
    told: Arc<Mutex<Vec<Told>>>,
    place: usize,
    panics: bool,
}

impl HerdTracer for Tracer {
    fn begin(&self, flight: &HerdFlight<'_>) -> Option<Arc<dyn HerdSpan>> {
        let mut told = self.told.lock().unwrap();
        told.push(Told {
            cache: flight.cache.to_owned(),
            key: flight.key.to_owned(),
            end: flight.end,
            waiters: flight.waiters,
            began: flight.began,
            took: flight.took,
            steps: flight.steps.iter().map(|step| (step.step, step.began, step.took)).collect(),
            waits: Vec::new(),
            landed: 0,
        });
        let place = told.len() - 1;
        drop(told);
        assert!(!self.panics, "a rude tracer");
        Some(Arc::new(Span { told: Arc::clone(&self.told), place, panics: false }))
    }
}

impl HerdSpan for Span {
    fn landed(&self) {
        self.told.lock().unwrap()[self.place].landed += 1;
        assert!(!self.panics, "a rude span");
    }

    fn waited(&self, wait: &HerdWait) {
        self.told.lock().unwrap()[self.place].waits.push(*wait);
    }
}

/// There is one tracer of herds in a process, so these tests take turns.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

async fn herd(cache: &Rows, key: u64, callers: usize, result: Result<u64, &'static str>) {
    let callers: Vec<_> = (0..callers).map(|_| ask(cache, key, slow(result))).collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap().is_ok(), result.is_ok());
    }
}

/// The flight has the start that was noted, its steps lie within, and each waiter is told when it began to wait.
#[tokio::test(start_paused = true)]
async fn a_herd_is_told_with_the_times_that_were_noted() {
    let _turn = TURN.lock().await;
    let tracer = Arc::new(Tracer::default());
    trace_herds(&tracer).unwrap();
    assert!(trace_herds(&Arc::new(Tracer::default())).is_err());
    // No subscriber at all, and nothing is hot: only the herd itself is a reason.
    let cache = rows("told", Traces::default()).build().unwrap();
    let load = |_| -> crate::support::Load {
        Box::pin(async {
            tokio::time::sleep(ms(4_000)).await;
            Ok(1)
        })
    };
    // Paused time passes in no time: what ended did so between these two moments.
    let before = SystemTime::now();
    let first = ask(&cache, 1, load);
    turns().await;
    tokio::time::advance(ms(3_000)).await;
    let callers: Vec<_> = (0..30).map(|_| ask(&cache, 1, load)).collect();
    for caller in callers.into_iter().chain([first]) {
        caller.await.unwrap().unwrap();
    }
    let during = before..=SystemTime::now();
    let told = tracer.told.lock().unwrap().clone();
    let [told] = &told[..] else { panic!("one herd: {told:?}") };
    assert_eq!(
        (&*told.cache, told.key.len(), told.end, told.waiters, told.landed),
        ("told", 16, FlightEnd::Loaded, 30, 1)
    );
    assert_eq!(told.took, ms(4_000));
    assert!(during.contains(&(told.began + told.took)));
    let [(TraceStep::Origin, began, took)] = told.steps[..] else { panic!("{:?}", told.steps) };
    // All of one look at the wall clock: to the nanosecond within the flight.
    assert_eq!((began, took), (told.began, ms(4_000)));
    let waited = |role, took| told.waits.iter().filter(|wait| (wait.role, wait.took) == (role, took)).count();
    assert_eq!([waited(FlightRole::Leader, ms(4_000)), waited(FlightRole::Waiter, ms(1_000))], [1, 30]);
    assert!(told.waits.iter().all(|wait| during.contains(&(wait.began + wait.took))));
    assert_eq!((cache.traced().flights, cache.traced().waits), (1, 31));
}

/// L7: ten thousand herds are told as often as the budget allows, each with as many waits as it may; the rest is counted.
#[tokio::test(start_paused = true)]
async fn l7_a_storm_of_herds_stays_within_both_budgets() {
    let _turn = TURN.lock().await;
    let tracer = Arc::new(Tracer::default());
    trace_herds(&tracer).unwrap();
    let cache = rows("storm", Traces::default().waits(4)).build().unwrap();
    let began = tokio::time::Instant::now();
    for key in 0..10_000 {
        herd(&cache, key, 12, Ok(1)).await;
    }
    let seconds = began.elapsed().as_secs();
    let counts = cache.traced();
    assert_eq!(counts.flights + counts.flights_refused, 10_000, "{counts:?}");
    assert!((10 * seconds..=10 * (seconds + 1) + 10).contains(&counts.flights), "{counts:?} in {seconds} s");
    assert_eq!((counts.waits, counts.waits_refused), (4 * counts.flights, 8 * counts.flights));
    let told = tracer.told.lock().unwrap();
    assert_eq!(told.len() as u64, counts.flights);
    assert!(told.iter().all(|told| told.landed == 1 && told.waits.len() == 4));
    drop(told);
    assert_quiet(&cache.snapshot());
}

/// L7: a herd that looked again and again is told by as many steps as any flight, its own call among them; the rest is counted.
#[tokio::test(start_paused = true)]
async fn l7_the_steps_of_one_herd_are_bounded_and_counted() {
    let _turn = TURN.lock().await;
    let tracer = Arc::new(Tracer::default());
    trace_herds(&tracer).unwrap();
    let tier = MemoryTier::new();
    let cache = || -> Rows {
        let builder = Cache::builder("steps", TTL, &Gate::new(2));
        builder.shared(tier.clone()).lease(tier.clone()).build().unwrap()
    };
    let (holder, follower) = (cache(), cache());
    let fails = |_| -> crate::support::Load {
        Box::pin(async {
            tokio::time::sleep(ms(4_000)).await;
            Err("down")
        })
    };
    let load = ask(&holder, 1, fails);
    turns().await;
    herd(&follower, 1, 30, Ok(2)).await;
    load.await.unwrap().unwrap_err();
    let told = tracer.told.lock().unwrap().remove(0);
    let origins = told.steps.iter().filter(|(step, ..)| *step == TraceStep::Origin).count();
    assert_eq!((told.steps.len(), origins), (16, 1), "{:?}", told.steps);
    assert!(follower.traced().steps_refused > 0);
}

/// A flight that has a span already is told once, and what is no herd is not told.
#[tokio::test(start_paused = true)]
async fn a_flight_is_told_in_one_way_only() {
    let _turn = TURN.lock().await;
    let tracer = Arc::new(Tracer::default());
    trace_herds(&tracer).unwrap();
    let (book, open) = crate::book::Book::open();
    let cache = rows("once", all()).build().unwrap();
    herd(&cache, 1, 30, Ok(1)).await;
    herd(&cache, 2, 3, Ok(1)).await;
    assert_eq!((book.flights().len(), tracer.told.lock().unwrap().len()), (2, 0));
    drop(open);
    herd(&cache, 3, 3, Ok(1)).await;
    assert_eq!(tracer.told.lock().unwrap().len(), 0);
    herd(&cache, 4, 30, Err("down")).await;
    assert_eq!(tracer.told.lock().unwrap()[0].end, FlightEnd::Failed);
}

/// A tracer that panics, or that is gone, costs nobody an answer; the budget is not used up by it.
#[tokio::test(start_paused = true)]
async fn s2_a_tracer_that_panics_costs_nobody_an_answer() {
    let _turn = TURN.lock().await;
    let tracer = Arc::new(Tracer { panics: true, ..Tracer::default() });
    trace_herds(&tracer).unwrap();
    let cache = rows("rude", Traces::default()).build().unwrap();
    herd(&cache, 1, 30, Ok(1)).await;
    assert_eq!((tracer.told.lock().unwrap().len(), cache.traced().flights), (1, 0));
    drop(tracer);
    herd(&cache, 2, 30, Ok(1)).await;
    cache.shutdown(ms(1)).await;
    assert_quiet(&cache.snapshot());
}
