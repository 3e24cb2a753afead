//! Tiers, leases and codecs that keep their contracts badly, and ends that come at bad moments.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use herdcache::herdfeed::{CircuitState, LeaseResult, SharedOperation, SharedRead};
use herdcache::{
    Acquired, Codec, CodecError, Fault, Found, Holding, Lease, LeaseToken, Loaded, MemoryTier, Operation, Reach,
    Reading, Shared, SharedKey, SharedTier, TierError, Ttl, Write, WriteFailure, Writing,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::{assert_quiet_but_queued, calls, get, lease, leased, process, shared};
use crate::support::{DbError, ask, ask_on, assert_quiet, ms, rows, turns, value};

const MINUTE: Ttl = Ttl::fresh_for(ms(60_000));

/// What an [`Odd`] tier does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Oddity {
    /// It panics before it gives a future.
    Panics,
    /// It does nothing wrong. What it is asked for is counted when it is asked, not when its future is polled.
    Counts,
    /// It gives another remaining time than that for which the value is kept.
    Lies(Duration),
    /// It fails to remove a key whose text ends in this.
    Spares(&'static str),
}

/// A tier with an oddity.
#[derive(Clone)]
struct Odd {
    inner: MemoryTier,
    oddity: Oddity,
    asked: Arc<AtomicU64>,
}

impl Odd {
    fn new(inner: &MemoryTier, oddity: Oddity) -> Self {
        Self { inner: inner.clone(), oddity, asked: Arc::default() }
    }

    fn is_asked(&self) {
        assert_ne!(self.oddity, Oddity::Panics, "a tier's own fault");
        self.asked.fetch_add(1, SeqCst);
    }
}

impl SharedTier for Odd {
    fn read<'a>(&'a self, key: &'a SharedKey) -> Operation<'a, Reading> {
        self.is_asked();
        Box::pin(async move {
            let mut reading = self.inner.read(key).await?;
            if let (Oddity::Lies(left), Some(found)) = (self.oddity, reading.found.take()) {
                reading.found = Some(Found { left, ..found });
            }
            Ok(reading)
        })
    }

    fn write<'a>(&'a self, key: &'a SharedKey, writing: Writing<'a>) -> Operation<'a, Write> {
        self.is_asked();
        self.inner.write(key, writing)
    }

    fn remove<'a>(&'a self, key: &'a SharedKey, keep_for: Duration) -> Operation<'a, ()> {
        self.is_asked();
        if let Oddity::Spares(end) = self.oddity {
            if key.text().ends_with(end) {
                return Box::pin(async { Err(TierError::Refused) });
            }
        }
        self.inner.remove(key, keep_for)
    }
}

impl Lease for Odd {
    fn acquire<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Acquired> {
        self.is_asked();
        self.inner.acquire(key, token, time)
    }
    fn renew<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Holding> {
        self.inner.renew(key, token, time)
    }
    fn release<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken) -> Operation<'a, Holding> {
        self.inner.release(key, token)
    }
}

/// T4, S2: a tier or a lease that panics before it gives a future is a fault like others, and reaches no caller.
#[tokio::test(start_paused = true)]
async fn t4_a_panic_before_the_operation_reaches_no_caller() {
    let memory = MemoryTier::new();
    let odd = Odd::new(&memory, Oddity::Panics);
    let (cache, calls) = (rows("rude-tier", MINUTE).shared(odd.clone()).build().unwrap(), calls());
    assert_eq!(get(&cache, 7, &calls, (ms(10), 1)).await, 1);
    assert_eq!(shared(&cache).reads[SharedRead::ConnectionError], 1);
    assert_eq!(cache.invalidate(&7).await, Reach::Queued);
    assert_quiet_but_queued(&cache, 1);
    let cache = process("rude-lease", MINUTE, &memory).lease(odd).build().unwrap();
    assert_eq!(get(&cache, 7, &calls, (ms(10), 2)).await, 2);
    assert_eq!(lease(&cache).acquisitions[LeaseResult::Unavailable], 1);
    assert_quiet(&cache.snapshot());
}

/// T4: behind an open circuit an implementation is not even asked for a future: it may send as soon as it is asked.
#[tokio::test(start_paused = true)]
async fn t4_an_open_circuit_asks_for_nothing() {
    let memory = MemoryTier::new();
    let odd = Odd::new(&memory, Oddity::Counts);
    let (cache, calls) = (rows("eager", MINUTE).shared(odd.clone()).build().unwrap(), calls());
    memory.inject(Fault::Fail(TierError::Connection));
    for key in 0..5 {
        get(&cache, key, &calls, (ms(0), 1)).await;
    }
    assert_eq!((shared(&cache).circuit, odd.asked.load(SeqCst)), (Some(CircuitState::Open), 5));
    assert_eq!(cache.invalidate(&7).await, Reach::Queued);
    assert_eq!(odd.asked.load(SeqCst), 5);
}

/// T4: operations that belong to no flight open the circuit too when they time out, on a clock that never stands still.
#[tokio::test]
async fn t4_timed_out_changes_open_the_circuit() {
    let tier = MemoryTier::new();
    let shared_tier = Shared::json(tier.clone()).operation_timeout(ms(5));
    let cache = rows("real-clock", MINUTE).shared(shared_tier).build().unwrap();
    tier.inject_on(SharedOperation::Remove, Fault::Hang);
    assert_eq!(cache.invalidate_many(&[1, 2, 3, 4, 5]).await, Reach::Queued);
    turns().await;
    let tiers = shared(&cache);
    assert_eq!((tiers.timeouts[SharedOperation::Remove], tiers.circuit), (5, Some(CircuitState::Open)));
}

/// T5: an inserted value whose version comes too late here is not told to others either.
#[tokio::test(start_paused = true)]
async fn t5_an_insert_that_comes_too_late_here_is_not_shared() {
    let tier = MemoryTier::new();
    let (cache, calls) = (process("late-version", MINUTE, &tier).build().unwrap(), calls());
    assert_eq!(cache.insert(7, Loaded::value(5).version(5)).await, Reach::Cluster);
    tier.evict();
    let writes = tier.operations(SharedOperation::Write);
    cache.insert(7, Loaded::value(3).version(3)).await;
    turns().await;
    assert_eq!((tier.values(), tier.operations(SharedOperation::Write)), (0, writes));
    assert_eq!(get(&cache, 7, &calls, (ms(0), 9)).await, 5);
}

/// A codec without bytes for 13.
struct Superstitious;
impl Codec<u64> for Superstitious {
    fn id(&self) -> u32 {
        13
    }
    fn name(&self) -> &'static str {
        "superstitious"
    }
    fn encode(&self, value: &u64, into: &mut Vec<u8>) -> Result<(), CodecError> {
        into.extend(value.to_le_bytes());
        if *value == 13 { Err(CodecError) } else { Ok(()) }
    }
    fn decode(&self, bytes: &[u8]) -> Result<u64, CodecError> {
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| CodecError)
    }
}

/// W2: an inserted value that cannot be written removes at once what it replaces; the tier is there, so nothing waits.
#[tokio::test(start_paused = true)]
async fn w2_a_value_without_bytes_removes_at_once_what_it_replaces() {
    let tier = MemoryTier::new();
    let one = rows("no-bytes", MINUTE).shared(Shared::new(tier.clone(), Superstitious)).build().unwrap();
    get(&one, 7, &calls(), (ms(0), 1)).await;
    turns().await;
    assert_eq!(tier.values(), 1);
    let began = Instant::now();
    assert_eq!(one.insert(7, 13).await, Reach::Cluster);
    assert_eq!((tier.values(), shared(&one).queued, began.elapsed()), (0, 0, ms(0)));
    assert_eq!(one.peek(&7).as_deref(), Some(&13));
}

/// W2: a key whose removal fails holds up nobody else's.
#[tokio::test(start_paused = true)]
async fn w2_one_failing_key_does_not_hold_up_the_others() {
    let memory = MemoryTier::new();
    let one = rows("one-shard", MINUTE).shared(Odd::new(&memory, Oddity::Spares(",3]"))).build().unwrap();
    let keys: Vec<u64> = (0..200).collect();
    let began = Instant::now();
    assert_eq!(one.invalidate_many(&keys).await, Reach::Queued);
    turns().await;
    assert_eq!((shared(&one).sent, shared(&one).queued, began.elapsed()), (199, 1, ms(0)));
}

/// W2, T4: during an outage whoever awaits a change is told at once that it waits, not at the next try.
#[tokio::test(start_paused = true)]
async fn w2_a_change_during_an_outage_is_told_as_queued_at_once() {
    let tier = MemoryTier::new();
    let one = process("outage", MINUTE, &tier).build().unwrap();
    tier.inject(Fault::Fail(TierError::Connection));
    assert_eq!(one.invalidate(&1).await, Reach::Queued);
    sleep(ms(4_000)).await;
    let began = Instant::now();
    assert_eq!(one.invalidate(&2).await, Reach::Queued);
    assert_eq!(began.elapsed(), ms(0));
    // It is sent all the same, once the tier is back.
    tier.heal();
    sleep(ms(6_000)).await;
    assert_eq!((shared(&one).sent, shared(&one).queued), (2, 0));
}

/// L4: a value that was stale already when it was written is not answered for longer by those who copy it.
#[tokio::test(start_paused = true)]
async fn l4_a_copy_of_a_stale_value_ends_with_the_original() {
    let tier = MemoryTier::new();
    let build = || {
        let ttl = Ttl::fresh_for(ms(10_000)).stale_for(ms(60_000));
        process("born-stale", ttl, &tier).build().unwrap()
    };
    let (one, other, calls) = (build(), build(), calls());
    let old = |_| async { Ok(Loaded::value(1).source_age(ms(50_000))) };
    assert_eq!(value(one.get_with(&7, old).await), 1);
    turns().await;
    let down = || calls.load(ms(0), Err(DbError("down")));
    assert_eq!(value(other.get_with(&7, down()).await), 1);
    sleep(ms(19_000)).await;
    assert_eq!(value(other.get_with(&7, down()).await), 1);
    // Twenty seconds were left of its seventy.
    sleep(ms(1_500)).await;
    assert!(one.get_with(&7, down()).await.is_err());
    assert!(other.get_with(&7, down()).await.is_err());
}

/// T2: a value of which more time is said to be left than it was given is one whose time is not known: a counted miss.
#[tokio::test(start_paused = true)]
async fn t2_more_time_than_was_given_is_not_believed() {
    for left in [Duration::MAX, ms(120_000)] {
        let memory = MemoryTier::new();
        let calls = calls();
        let build = |oddity| rows("liar", MINUTE).shared(Odd::new(&memory, oddity)).build().unwrap();
        get(&build(Oddity::Counts), 7, &calls, (ms(0), 1)).await;
        sleep(ms(30_000)).await;
        let liar = build(Oddity::Lies(left));
        assert_eq!(get(&liar, 7, &calls, (ms(0), 2)).await, 2, "{left:?}");
        assert_eq!(shared(&liar).reads[SharedRead::DecodeError], 1);
    }
}

/// X1: a try for a lease that a shutdown cut short may have taken it: it is given back before the shutdown is over.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_gives_back_what_an_unanswered_try_took() {
    let tier = MemoryTier::new();
    let cache = leased("cut-short", MINUTE, &tier).build().unwrap();
    tier.inject_on(SharedOperation::Acquire, Fault::Mute);
    let caller = ask(&cache, 7, calls().load(ms(10), Ok(1)));
    sleep(ms(5)).await;
    assert_eq!(tier.leases(), 1);
    cache.shutdown(ms(0)).await;
    assert_eq!(tier.leases(), 0);
    assert!(caller.await.unwrap().is_err());
}

/// Polls a shutdown where it is woken, and keeps whether it was over then.
struct ShutsDown {
    shutdown: Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    over: Mutex<Option<bool>>,
}

impl Wake for ShutsDown {
    fn wake(self: Arc<Self>) {
        let mut cx = Context::from_waker(Waker::noop());
        let polled = self.shutdown.lock().unwrap().as_mut().poll(&mut cx);
        *self.over.lock().unwrap() = Some(polled == Poll::Ready(()));
    }
}

/// X1: a shutdown that looks in the very moment in which a flight lands still waits for its write.
#[tokio::test(start_paused = true)]
async fn x1_a_shutdown_at_the_landing_waits_for_the_write() {
    let tier = MemoryTier::new();
    let (cache, calls) = (process("landing", MINUTE, &tier).build().unwrap(), calls());
    let closing = cache.clone();
    let shutdown: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move { closing.shutdown(ms(1_000)).await });
    let waker = Arc::new(ShutsDown { shutdown: Mutex::new(shutdown), over: Mutex::default() });
    let mut got = Box::pin(cache.get_with(&7, calls.load(ms(10), Ok(1))));
    let foreign = Waker::from(Arc::clone(&waker));
    assert!(got.as_mut().poll(&mut Context::from_waker(&foreign)).is_pending());
    sleep(ms(20)).await;
    assert_eq!(value(got.await), 1);
    let over = waker.over.lock().unwrap().take();
    assert_eq!(over, Some(false), "the write was yet to be sent");
    turns().await;
    assert_eq!(tier.values(), 1);
}

/// S8: the runtime of a load ends while its callers wait for the shared write: no panic is told, the value is there.
#[test]
fn s8_a_runtime_that_ends_during_the_write_is_no_panic() {
    let build = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (home, abroad, tier) = (build(), build(), MemoryTier::new());
    let shared_tier = Shared::json(tier.clone()).operation_timeout(ms(5_000)).write_failure(WriteFailure::Fail);
    let cache = rows("ends-in-write", MINUTE).shared(shared_tier).build().unwrap();
    tier.inject_on(SharedOperation::Write, Fault::Hang);
    let go = Arc::new(Notify::new());
    let gone = Arc::clone(&go);
    let load = move |_| -> crate::support::Load {
        Box::pin(async move {
            gone.notified().await;
            Ok(1)
        })
    };
    let wait_for = |is: &dyn Fn() -> bool| {
        (0..5_000).take_while(|_| !is()).for_each(|_| std::thread::sleep(ms(1)));
        assert!(is());
    };
    let leader = ask_on(&home, &cache, 7, load);
    wait_for(&|| cache.snapshot().flights_active == 1);
    let waiter = ask_on(&abroad, &cache, 7, calls().load(ms(0), Ok(2)));
    wait_for(&|| cache.snapshot().waiting == 2);
    go.notify_one();
    wait_for(&|| tier.operations(SharedOperation::Write) == 1);
    home.shutdown_background();
    assert_eq!(value(abroad.block_on(waiter).unwrap()), 1);
    drop(leader);
}
