//! U1: keys that are loaded before anybody asks for them.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use herdcache::herdfeed::{FlightEnd, FlightTrigger, PermitClass};
use herdcache::{Builder, Cache, Gate, LoadContext, Loaded, Outcome, ReadThrough, Ttl, WarmUp};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::support::{Calls, DbError, assert_quiet, ms, outcome, turns};

type Shop = ReadThrough<u64, String, DbError>;

/// What the origin did for warm-ups, and how long it takes.
#[derive(Default)]
struct Stock {
    /// Loads of any kind.
    all: Arc<Calls>,
    /// Loads of warm-ups.
    warm: Arc<Calls>,
    /// The keys of warm-ups, in the order of their loads.
    order: Mutex<Vec<u64>>,
    latency_us: AtomicU64,
}

impl Stock {
    fn takes(&self, latency: Duration) {
        self.latency_us.store(u64::try_from(latency.as_micros()).unwrap(), Relaxed);
    }
}

/// Keys from here on fail.
const FAILING: u64 = 1_000_000;

fn shop(builder: Builder<u64, String, DbError>, latency: Duration) -> (Shop, Arc<Stock>) {
    let stock = Arc::new(Stock::default());
    stock.takes(latency);
    let told = Arc::clone(&stock);
    let shop = builder.build_over(move |cx: LoadContext<u64, String>| {
        let stock = Arc::clone(&told);
        async move {
            let _call = stock.all.call();
            let _warm = (cx.trigger() == FlightTrigger::Warmup).then(|| {
                stock.order.lock().push(*cx.key());
                stock.warm.call()
            });
            tokio::time::sleep(Duration::from_micros(stock.latency_us.load(Relaxed))).await;
            if *cx.key() >= FAILING { Err(DbError("no")) } else { Ok(format!("item {}", cx.key())) }
        }
    });
    (shop.unwrap(), stock)
}

fn settings(name: &str, gate: &Gate) -> Builder<u64, String, DbError> {
    Cache::builder(name, Ttl::fresh_for(Duration::from_secs(600)), gate).jitter(0.0)
}

/// What became of the keys: total, loaded, skipped, failed, left.
fn told(warm: &WarmUp) -> [u64; 5] {
    let progress = warm.progress();
    [progress.total, progress.loaded, progress.skipped, progress.failed, progress.left]
}

/// Callers on keys of their own, `per_second` of them for `time`; gives how they were answered and how long they waited.
async fn callers(shop: Shop, per_second: u64, time: Duration) -> Vec<(Outcome, Duration)> {
    let every = Duration::from_secs(1) / u32::try_from(per_second).unwrap();
    let (mut ticks, began) = (tokio::time::interval(every), Instant::now());
    let mut asked = Vec::new();
    for key in 500_000.. {
        ticks.tick().await;
        if began.elapsed() >= time {
            break;
        }
        let shop = shop.clone();
        asked.push(tokio::spawn(async move {
            let began = Instant::now();
            let got = shop.get(&key).await;
            (outcome(&got).unwrap(), began.elapsed())
        }));
    }
    let mut answered = Vec::new();
    for asked in asked {
        answered.push(asked.await.unwrap());
    }
    answered
}

/// U1, L3, case 33: 5,000 keys of which 500 are there and 50 fail, beside 200 callers a second, behind 50 permits.
#[tokio::test(start_paused = true)]
async fn u1_a_cold_start_does_not_compete_with_callers() {
    let gate = Gate::new(50);
    let (shop, stock) = shop(settings("cold-start", &gate).capacity(20_000), ms(20));
    (0..500).for_each(|key| _ = shop.insert(key * 10, "live".to_owned()));
    let keys = (0..5_000).map(|key| if key % 100 == 7 { FAILING + key } else { key });
    let live = tokio::spawn(callers(shop.clone(), 200, Duration::from_secs(9)));
    let began = Instant::now();
    let warm = shop.warm_up(keys).await;
    let took = began.elapsed();
    assert_eq!([warm.total, warm.loaded, warm.skipped, warm.failed, warm.left], [5_000, 4_450, 500, 50, 0]);
    assert!(took >= ms(7_400) && took <= ms(9_500), "{took:?}");
    let mut answered = live.await.unwrap();
    answered.sort_unstable_by_key(|(_, waited)| *waited);
    assert!(answered.iter().all(|(outcome, _)| *outcome == Outcome::Loaded), "a caller was not answered");
    let p99 = answered[answered.len() * 99 / 100].1;
    assert!(p99 <= ms(30), "{p99:?}");
    println!("warm-up of 4,500 loads took {took:?}, {} callers waited {p99:?} at p99", answered.len());
    let (snapshot, passed) = (shop.snapshot(), gate.snapshot());
    assert_quiet(&snapshot);
    assert_eq!((stock.warm.started(), stock.warm.peak()), (4_500, 12));
    assert!(passed.usage_peak <= 50 && stock.all.peak() <= 50, "{}", passed.usage_peak);
    assert_eq!(snapshot.rejections.total(), 0);
    assert_eq!((passed.results.total(), passed.skipped), (answered.len() as u64, 0));
    assert_eq!(snapshot.flight_starts[FlightTrigger::Warmup], 4_500);
    assert_eq!(snapshot.begun, answered.len() as u64);
    let warmup = snapshot.warmup;
    assert_eq!((warmup.total, warmup.loaded, warmup.skipped, warmup.failed), (5_000, 4_450, 500, 50));
    assert_eq!((warmup.running, warmup.width, warmup.left, warmup.cancelled), (0, 0, 0, 0));
}

/// U1, E1: what is there, stale or under way is not loaded; what cools is left alone; each key is tried once.
#[tokio::test(start_paused = true)]
async fn u1_only_cold_keys_are_loaded() {
    let ttl = Ttl::fresh_for(ms(100)).stale_for(Duration::from_secs(600));
    let builder = Cache::builder("cold-keys", ttl, &Gate::new(64)).jitter(0.0).negative_ttl(ms(100));
    let (shop, stock) = shop(builder, ms(20));
    shop.insert(1, "stale".to_owned());
    shop.insert(2, Loaded::value("expired".to_owned()).stale_for(ms(0)));
    tokio::time::sleep(ms(101)).await;
    shop.insert(3, "fresh".to_owned());
    shop.insert(4, Loaded::absent());
    assert!(shop.get(&FAILING).await.is_err());
    let asked = tokio::spawn({
        let shop = shop.clone();
        async move { shop.get(&5).await }
    });
    turns().await;
    let warm = shop.warm_up([1, 2, 3, 4, 5, FAILING, FAILING + 1, 6, 6]);
    assert_eq!(told(&warm), [9, 0, 0, 0, 9]);
    let warm = warm.await;
    // 6 is given twice, and under way or there the second time.
    assert_eq!([warm.loaded, warm.skipped, warm.failed, warm.left], [2, 5, 2, 0]);
    assert_eq!(*stock.order.lock(), [2, FAILING + 1, 6]);
    assert!(asked.await.unwrap().is_ok());
    assert_eq!(shop.peek(&1).as_deref().map(String::as_str), Some("stale"));
    assert_eq!(shop.peek(&2).as_deref().map(String::as_str), Some("item 2"));
    assert_quiet(&shop.snapshot());
}

/// U1: the keys asked for most come first, and warm the next process.
#[tokio::test(start_paused = true)]
async fn u1_hot_keys_come_first() {
    let (old, _) = shop(settings("old-process", &Gate::new(64)), ms(1));
    for (key, times) in [(3, 400), (1, 1_600), (2, 6_400)] {
        for _ in 0..times {
            assert!(old.get(&key).await.is_ok());
        }
    }
    let hot = old.hot_keys();
    assert_eq!(hot, [2, 1, 3]);
    let (new, stock) = shop(settings("new-process", &Gate::new(4)), ms(1));
    let warm = new.warm_up(hot).await;
    assert_eq!((warm.loaded, warm.left), (3, 0));
    // A share of one permit: one after the other.
    assert_eq!(*stock.order.lock(), [2, 1, 3]);
    assert_eq!(stock.warm.peak(), 1);
}

/// U1, G2: the pace doubles from one load at a time, halves when the origin slows down, and recovers.
#[tokio::test(start_paused = true)]
async fn u1_the_pace_follows_the_origin() {
    let gate = Gate::new(64);
    let (shop, stock) = shop(settings("pace", &gate).capacity(100_000), ms(20));
    let warm = tokio::spawn(shop.warm_up(0..20_000));
    let width = || shop.snapshot().warmup.width;
    let mut widths = vec![];
    for _ in 0..60 {
        tokio::time::sleep(ms(5)).await;
        let now = width();
        if widths.last() != Some(&now) {
            widths.push(now);
        }
    }
    assert_eq!(widths, [1, 2, 4, 8, 16]);
    assert_eq!(gate.snapshot().in_use[PermitClass::Warmup], 16);
    stock.takes(ms(100));
    tokio::time::sleep(ms(1_500)).await;
    assert_eq!(width(), 1);
    stock.takes(ms(20));
    tokio::time::sleep(ms(500)).await;
    assert_eq!(width(), 16);
    warm.abort();
}

/// U1, G2: callers who wait for permits slow a warm-up down; it never takes what they need.
#[tokio::test(start_paused = true)]
async fn u1_the_pace_follows_the_callers() {
    let gate = Gate::builder(8).queue(10_000).queue_timeout(Duration::from_secs(5)).build().unwrap();
    let (shop, stock) = shop(settings("callers", &gate).capacity(100_000), ms(20));
    let warm = tokio::spawn(shop.warm_up(0..20_000));
    tokio::time::sleep(ms(500)).await;
    assert_eq!((shop.snapshot().warmup.width, stock.warm.peak()), (2, 2));
    // 500 a second where 400 can be served: the queue grows and every permit is wanted.
    let live = tokio::spawn(callers(shop.clone(), 500, Duration::from_secs(2)));
    tokio::time::sleep(ms(400)).await;
    let before = stock.warm.started();
    tokio::time::sleep(ms(1_500)).await;
    let meanwhile = stock.warm.started() - before;
    assert_eq!(shop.snapshot().warmup.width, 1);
    assert!(meanwhile <= 15, "{meanwhile} loads while callers waited");
    assert!(live.await.unwrap().iter().all(|(outcome, _)| *outcome == Outcome::Loaded));
    // Relieved, it goes on.
    tokio::time::sleep(ms(500)).await;
    assert_eq!(shop.snapshot().warmup.width, 2);
    warm.abort();
}

/// U1: dropped, a warm-up starts no more; what it had started lands.
#[tokio::test(start_paused = true)]
async fn u1_dropping_it_ends_it() {
    let (shop, stock) = shop(settings("dropped", &Gate::new(64)), ms(20));
    {
        let warm = shop.warm_up(0..100);
        let given = shop.snapshot().warmup;
        assert_eq!((given.running, given.total, given.left), (1, 100, 100));
        assert!(tokio::time::timeout(ms(50), warm).await.is_err());
    }
    let warmup = shop.snapshot().warmup;
    assert_eq!((warmup.running, warmup.loaded, warmup.cancelled, warmup.left, warmup.width), (0, 2, 98, 0, 0));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stock.warm.started(), 3);
    assert!(shop.peek(&2).is_some() && shop.peek(&3).is_none());
    assert_quiet(&shop.snapshot());
    assert_eq!(shop.snapshot().flights[FlightEnd::Loaded], 3);
    // Never polled, it does nothing at all.
    drop(shop.warm_up([7]));
    turns().await;
    assert_eq!((shop.snapshot().warmup.cancelled, stock.warm.started()), (99, 3));
}

/// U1, X1: a shutdown ends it; a runtime without timers loads nothing.
#[tokio::test(start_paused = true)]
async fn u1_a_closed_cache_ends_it() {
    let (shop, _) = shop(settings("closes", &Gate::new(64)), ms(20));
    let warm = tokio::spawn(shop.warm_up(0..100));
    tokio::time::sleep(ms(30)).await;
    shop.shutdown(ms(50)).await;
    let warm = warm.await.unwrap();
    assert_eq!((warm.loaded, warm.failed, warm.left), (2, 0, 98));
    assert_quiet(&shop.snapshot());
    let closed = shop.warm_up([200]).await;
    assert_eq!(closed.left, 1);
}

/// U1: where no load could be waited for, nothing is loaded and nothing hangs.
#[test]
fn u1_without_timers_nothing_is_loaded() {
    let (shop, stock) = shop(settings("timerless", &Gate::new(64)), ms(20));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let warm = runtime.block_on(shop.warm_up(0..10));
    assert_eq!((warm.loaded, warm.failed, warm.left), (0, 0, 10));
    assert_eq!(stock.warm.started(), 0);
    assert_quiet(&shop.snapshot());
}

/// U1, L7: without a free flight or permit it waits for one, and fails no key because of that.
#[tokio::test(start_paused = true)]
async fn u1_it_waits_for_flights_and_permits() {
    let gate = Gate::new(1);
    let (shop, stock) = shop(settings("waits", &gate).max_flights(1), ms(20));
    let held = tokio::spawn({
        let shop = shop.clone();
        stock.takes(ms(350));
        async move { shop.get(&9_999).await.is_ok() }
    });
    turns().await;
    let warm = tokio::spawn(shop.warm_up(0..5));
    turns().await;
    stock.takes(ms(20));
    tokio::time::sleep(ms(300)).await;
    assert_eq!(stock.warm.started(), 0);
    assert!(held.await.unwrap());
    let warm = warm.await.unwrap();
    assert_eq!((warm.loaded, warm.failed), (5, 0));
    assert_quiet(&shop.snapshot());
}

/// U1, L7: no more keys are taken than there is room for, however many come; a gate without a share warms nothing.
#[tokio::test(start_paused = true)]
async fn u1_an_iterator_without_end_is_cut_at_the_capacity() {
    let (shop, stock) = shop(settings("endless", &Gate::new(64)).capacity(100), ms(1));
    let warm = shop.warm_up(0..).await;
    assert_eq!((warm.total, warm.loaded, warm.more, stock.warm.started()), (100, 100, true, 100));
    let warm = shop.warm_up(0..100).await;
    assert_eq!((warm.total, warm.skipped, warm.more), (100, 100, false));
    let gate = Gate::builder(4).warm_up_permits(0).build().unwrap();
    let none = self::shop(settings("no-share", &gate), ms(1)).0.warm_up([1, 2]).await;
    assert_eq!((none.total, none.left), (2, 2));
}

/// U1, G4: warm-ups of several caches behind one gate take turns, and waste none of its permits by that.
#[tokio::test(start_paused = true)]
async fn u1_warm_ups_behind_one_gate_take_turns() {
    for (permits, share) in [(1, 1), (12, 3)] {
        let gate = Gate::new(permits);
        let shops: Vec<_> = (0..4).map(|_| shop(settings("turns", &gate), ms(10)).0).collect();
        let began = Instant::now();
        let warm: Vec<_> = shops.iter().map(|shop| tokio::spawn(shop.warm_up(0..60))).collect();
        tokio::time::sleep(ms(1_200 / share)).await;
        for shop in &shops {
            let loaded = shop.snapshot().warmup.loaded;
            assert!((20..=40).contains(&loaded), "{permits} permits: {loaded} of 60 at half time");
        }
        for warm in warm {
            assert_eq!(warm.await.unwrap().loaded, 60);
        }
        let took = began.elapsed();
        assert!(took <= ms(2_400 / share + 150), "{permits} permits: {took:?}");
        assert_eq!(gate.snapshot().used(), 0);
    }
}

/// U1, G4: also where one of them is always polled first.
#[tokio::test(start_paused = true)]
async fn u1_the_warm_up_that_is_polled_first_makes_way() {
    let gate = Gate::new(1);
    let shops = ["first", "second"].map(|name| shop(settings(name, &gate), ms(10)).0);
    let mut warm: Vec<_> = shops.iter().map(|shop| Box::pin(shop.warm_up(0..60))).collect();
    let both = poll_fn(|cx| {
        for warm in &mut warm {
            let _ = warm.as_mut().poll(cx);
        }
        Poll::<()>::Pending
    });
    assert!(tokio::time::timeout(ms(600), both).await.is_err());
    let loaded = shops.map(|shop| shop.snapshot().warmup.loaded);
    assert!(loaded.iter().all(|loaded| (20..=40).contains(loaded)), "{loaded:?} of 60 at half time");
}

/// U1: on a runtime with several threads, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn u1_it_runs_on_many_threads() {
    let gate = Gate::new(64);
    let (shop, stock) = shop(settings("threads", &gate), Duration::ZERO);
    let warm = tokio::spawn(shop.warm_up(0..500)).await.unwrap();
    assert_eq!((warm.loaded, warm.skipped, warm.failed, warm.left), (500, 0, 0, 0));
    assert!(stock.warm.peak() <= 16);
    while shop.snapshot().origin_active > 0 {
        tokio::task::yield_now().await;
    }
    assert_quiet(&shop.snapshot());
    assert_eq!(gate.snapshot().used(), 0);
}
