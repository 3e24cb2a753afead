//! What loom has tried in every order: the flight table, its waiters, the gate's queue.
//!
//! Each model runs the very files that ship, with loom's locks and atomics in them,
//! through every interleaving of its two or three threads with at most
//! [`OF_TWO`] or [`OF_THREE`] involuntary switches, and every value that a relaxed load may see.
//! Loads are ready at their first poll, since tasks and time are not loom's: the
//! shuttle models have those. Run by `scripts/models`.

mod ends;
mod held;
mod queue;
mod reads;
mod writes;

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use herdfeed::{FlightTrigger, MissCause};
use loom::sync::atomic::{AtomicU64, Ordering::SeqCst};
use loom::thread::{Builder, JoinHandle};

use super::Core;
use super::join::{Turn, Want};
use crate::cache::Cache;
use crate::flight::{Flight, Slot};
use crate::gate::Gate;
use crate::measures::Policy;
use crate::ttl::Ttl;
use crate::unwatched::WhenUnwatched;

type Models = Core<u8, u64, Infallible>;
type Model = Cache<u8, u64, Infallible>;
type One = Arc<Flight<u8, u64, Infallible>>;

/// Involuntary switches within one run, of models with two threads and with three.
///
/// Errors of this kind mostly need one or two at the wrong place. One more, and three threads take many minutes
/// instead of seconds.
const OF_TWO: usize = 3;
const OF_THREE: usize = 2;
const KEY: u8 = 1;
/// In words: half a megabyte.
const STACK: usize = 65_536;

/// Runs `model` in every order; gives how many there were.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) -> usize {
    let model = Arc::new(model);
    static STATES: std::sync::Mutex<()> = std::sync::Mutex::new(());
    // One after another: each wants a core for itself.
    let _alone = STATES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.max_branches = 20_000;
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    builder.check(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        fastrand::seed(1);
        // loom's own first thread has too small a stack for the engine; it waits while this one runs.
        let model = Arc::clone(&model);
        spawn(move || model()).join().unwrap();
    });
    let runs = runs.load(std::sync::atomic::Ordering::Relaxed);
    println!("{runs} interleavings");
    runs
}

/// A thread of a model, with room for the engine's frames.
fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().stack_size(STACK).spawn(work).unwrap()
}

/// A cache whose values stay fresh, behind a gate with room for everyone.
fn cache(unwatched: WhenUnwatched) -> Model {
    let ttl = Ttl::fresh_for(Duration::from_secs(3_600));
    let gate = Gate::builder(8).build().unwrap();
    Cache::builder("model", ttl, &gate).jitter(0.0).when_unwatched(unwatched).build().unwrap()
}

/// What the origin holds: a number that changes.
#[derive(Clone)]
struct Source(Arc<AtomicU64>, Arc<AtomicU64>);

impl Source {
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)))
    }

    fn write(&self, value: u64) {
        self.0.store(value, SeqCst);
    }

    fn read(&self) -> u64 {
        self.1.fetch_add(1, SeqCst);
        self.0.load(SeqCst)
    }

    fn loads(&self) -> u64 {
        self.1.load(SeqCst)
    }
}

/// One caller's read, to its end.
fn get(cache: &Model, source: &Source) -> u64 {
    let source = source.clone();
    let answer = loom::future::block_on(cache.get_with(&KEY, |_| async move { Ok(source.read()) }));
    *answer.unwrap().unwrap()
}

/// What is stored.
fn stored(cache: &Model) -> Option<u64> {
    cache.peek(&KEY).map(|answer| *answer)
}

/// L1, L6: every request and flight has ended, once, and nothing is left.
fn is_quiet(core: &Models) {
    let (begun, outcomes) = core.account.requests();
    assert_eq!(begun, outcomes.total(), "L1: a request without its one outcome");
    assert_eq!(core.account.flight_starts.total(), core.account.flights.total(), "L1: a flight without its one end");
    assert_eq!(core.table.len(), 0, "L6: a place in the table was not given back");
    let shard = core.table.lock(core.hash(&KEY));
    assert_eq!(shard.loads(core.hash(&KEY)), 0, "L6: a row was left in the table");
    let waiting = core.account.waiting.load(crate::sync::plain::atomic::Ordering::Relaxed);
    assert_eq!(waiting, 0, "L6: somebody is counted as waiting");
    let broken = core.account.laws.total();
    assert_eq!(broken, 0, "a law was broken");
}

/// A miss of the key, as a request that joins.
fn miss(core: &Models, waker: &Waker) -> Turn<u8, u64, Infallible> {
    let want = Want {
        key: &KEY,
        hash: core.hash(&KEY),
        trigger: FlightTrigger::Miss,
        policy: Policy::FULL,
        cause: MissCause::Cold,
    };
    core.join(&want, waker)
}

/// A flight that this caller opened, and its place in it.
fn opened(core: &Models) -> (One, Slot) {
    match miss(core, Waker::noop()) {
        Turn::Lead(flight, slot) => (flight, slot),
        _ => panic!("the key is being loaded already"),
    }
}

/// Waits until the flight has landed.
fn landing(flight: &One, slot: Slot) {
    loom::future::block_on(poll_fn(|cx| match flight.poll(slot, cx.waker()) {
        Some(_) => Poll::Ready(()),
        None => Poll::Pending,
    }));
}
