//! S2: code of the application that panics where the engine calls it.

use std::cell::Cell;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use herdcache::herdfeed::FlightEnd;
use herdcache::{Builder, Cache, Gate, KeyView, LoadContext, LocalStore, Outcome, ReadThrough, Ttl};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::{Calls, DbError, Rows, ask, assert_quiet, ms, outcome, turns, value};

/// A waker that panics.
struct Alarm;

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        panic!("no bell");
    }
}

/// S2: a caller whose waker panics keeps nobody else asleep, neither at a landing nor in a gate's queue.
#[tokio::test(start_paused = true)]
async fn s2_a_waker_that_panics_disturbs_nobody_else() {
    let gate = Gate::builder(1).build().unwrap();
    let cache: Rows = Cache::builder("s2-waker", Ttl::fresh_for(ms(1_000)), &gate).jitter(0.0).build().unwrap();
    let calls = Arc::new(Calls::default());
    let leader = ask(&cache, 1, calls.load(ms(10), Ok(1)));
    turns().await;
    let waker = Waker::from(Arc::new(Alarm));
    let mut cx = Context::from_waker(&waker);
    let (mut waits, mut queues) = (Box::pin(cache.get_with(&1, |_| async { Ok(2) })), Box::pin(gate.acquire()));
    assert!(waits.as_mut().poll(&mut cx).is_pending() && queues.as_mut().poll(&mut cx).is_pending());
    let after = [ask(&cache, 1, calls.load(ms(10), Ok(3))), ask(&cache, 2, calls.load(ms(10), Ok(2)))];
    turns().await;
    assert_eq!(value(leader.await.unwrap()), 1);
    // It has its permit, told or not; whoever queues behind it gets the permit after it.
    assert!(queues.await.is_ok());
    let [coalesced, last] = after;
    assert_eq!((value(coalesced.await.unwrap()), value(last.await.unwrap())), (1, 2));
    assert_eq!(outcome(&waits.await), Some(Outcome::Coalesced));
    assert_quiet(&cache.snapshot());
    assert_eq!(gate.snapshot().used(), 0);
}

/// S2, S6: a function that names groups and panics costs its own caller the answer, and leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn s2_a_group_that_panics_leaves_nothing_behind() {
    let gate = Gate::new(8);
    let ttl = Ttl::fresh_for(ms(100)).stale_for(ms(10_000));
    let builder = Cache::<u64, u64, DbError>::builder("s2-group", ttl, &gate).jitter(0.0);
    let builder = builder.group_share(0.5, |key: &u64| assert_ne!(*key, 13, "no such tenant"));
    let cache = builder.build_over(|cx: LoadContext<u64, u64>| async move { Ok::<_, DbError>(*cx.key()) }).unwrap();
    let asked = async |act: fn(ReadThrough<u64, u64, DbError>) -> JoinHandle<()>| act(cache.clone()).await.is_err();
    assert!(asked(|cache| tokio::spawn(async move { drop(cache.get(&13).await) })).await);
    assert!(asked(|cache| tokio::spawn(async move { drop(cache.get_many(&[1, 13, 2]).await) })).await);
    assert!(asked(|cache| tokio::spawn(async move { assert_eq!(cache.warm_up([3, 13, 4]).await.total, 3) })).await);
    cache.insert(13, 1);
    tokio::time::sleep(ms(200)).await;
    assert!(asked(|cache| tokio::spawn(async move { drop(cache.get(&13).await) })).await, "its refresh");
    let snapshot = cache.snapshot();
    assert_quiet(&snapshot);
    assert_eq!((gate.snapshot().used(), snapshot.warmup.running, snapshot.warmup.left), (0, 0, 0));
    assert_eq!(snapshot.outcomes[Outcome::Stale], snapshot.stale_serves.total());
    assert_eq!(outcome(&cache.get(&1).await), Some(Outcome::Loaded), "led by the batch, and free again");
}

/// What a [`Touchy`] key is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Clone,
    Eq,
    Hash,
    Serialize,
}

thread_local! {
    /// The act that panics, and after how many more of it.
    static FUSE: Cell<Option<(Act, u32)>> = const { Cell::new(None) };
}

/// A key that panics when its fuse has burnt down.
#[derive(Debug)]
struct Touchy(u64);

fn touch(act: Act) {
    match FUSE.get() {
        Some((set, 1)) if set == act => {
            FUSE.set(None);
            panic!("{act:?}");
        }
        Some((set, left)) if set == act => FUSE.set(Some((act, left - 1))),
        Some(_) | None => {}
    }
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        touch(Act::Clone);
        Self(self.0)
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        touch(Act::Eq);
        self.0 == other.0
    }
}
impl Eq for Touchy {}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        touch(Act::Hash);
        self.0.hash(hasher);
    }
}

impl serde::Serialize for Touchy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        touch(Act::Serialize);
        serializer.serialize_u64(self.0)
    }
}

type Keyed = Cache<Touchy, u64, DbError>;

fn keyed() -> Keyed {
    // Ten waiters make a herd, so that keys are shown as well.
    Cache::builder("touchy", Ttl::fresh_for(ms(1_000)).stale_for(ms(60_000)), &Gate::new(8))
        .jitter(0.0)
        .cooling(ms(10), ms(10))
        .build()
        .unwrap()
}

/// A leader and eleven waiters. Gives how many were answered; the others' own tasks panicked or got an error.
async fn crowd(cache: &Keyed) -> usize {
    let callers: Vec<_> = (0..12)
        .map(|_| {
            let cache = cache.clone();
            tokio::spawn(async move {
                let load = |_| async {
                    tokio::time::sleep(ms(30)).await;
                    Ok(5)
                };
                cache.get_with(&Touchy(1), load).await.is_ok_and(|found| found.is_some())
            })
        })
        .collect();
    let mut answered = 0;
    for caller in callers {
        answered += usize::from(caller.await.unwrap_or(false));
    }
    answered
}

/// Afterwards nothing is left behind, and the key can be loaded.
async fn assert_healed(cache: &Keyed, case: &str) {
    FUSE.set(None);
    tokio::time::sleep(ms(61_100)).await;
    let got = cache.get_with(&Touchy(1), |_| async { Ok(6) }).await;
    assert_eq!(got.unwrap().as_deref(), Some(&6), "{case}");
    turns().await;
    assert_quiet(&cache.snapshot());
    let began = Instant::now();
    cache.shutdown(ms(1_000)).await;
    assert_eq!(began.elapsed(), ms(0), "{case}: a flight was left behind");
}

/// Lets the act panic at its first, second, third … time in a herd's life, until it happens no more.
async fn sweep_a_herd(act: Act) -> u32 {
    for nth in 1.. {
        let case = format!("{act:?} number {nth}");
        let cache = keyed();
        FUSE.set(Some((act, nth)));
        let answered =
            tokio::time::timeout(ms(30_000), crowd(&cache)).await.unwrap_or_else(|_| panic!("{case}: callers hang"));
        let blown = FUSE.take().is_none();
        assert!(blown || answered == 12, "{case}: {answered} answered");
        assert_healed(&cache, &case).await;
        if !blown {
            return nth - 1;
        }
    }
    unreachable!()
}

/// S2: wherever a key's `Clone` panics, callers are told and the key can be loaded again.
#[tokio::test(start_paused = true)]
async fn s2_a_panicking_key_clone_leaves_nothing_behind() {
    assert!(sweep_a_herd(Act::Clone).await > 0);
}

/// S2: the same for `Hash`.
#[tokio::test(start_paused = true)]
async fn s2_a_panicking_key_hash_leaves_nothing_behind() {
    assert!(sweep_a_herd(Act::Hash).await > 0);
}

/// S2: the same for `Eq`.
#[tokio::test(start_paused = true)]
async fn s2_a_panicking_key_eq_leaves_nothing_behind() {
    assert!(sweep_a_herd(Act::Eq).await > 0);
}

/// S2: the same for `Serialize`, by which keys are shown.
#[tokio::test(start_paused = true)]
async fn s2_a_panicking_key_serialize_leaves_nothing_behind() {
    assert!(sweep_a_herd(Act::Serialize).await > 0);
}

/// S2, R1: wherever a key panics on the way to a refresh, the next read refreshes.
#[tokio::test(start_paused = true)]
async fn s2_a_key_that_panics_in_a_refresh_does_not_end_refreshing() {
    for act in [Act::Clone, Act::Hash, Act::Eq] {
        for nth in 1.. {
            let case = format!("{act:?} number {nth}");
            let cache = keyed();
            cache.insert(Touchy(1), 1);
            tokio::time::sleep(ms(2_000)).await;
            FUSE.set(Some((act, nth)));
            let reader = cache.clone();
            let read = tokio::spawn(async move { reader.get_with(&Touchy(1), |_| async { Ok(2) }).await.is_ok() });
            let _ = read.await;
            turns().await;
            let blown = FUSE.take().is_none();
            tokio::time::sleep(ms(100)).await;
            if blown {
                let again = cache.get_with(&Touchy(1), |_| async { Ok(2) }).await;
                assert!(again.is_ok(), "{case}");
                turns().await;
            }
            let snapshot = cache.snapshot();
            assert_eq!(cache.peek(&Touchy(1)).as_deref(), Some(&2), "{case}: {:?}", snapshot.refreshes);
            assert_quiet(&snapshot);
            assert_healed(&cache, &case).await;
            if !blown {
                break;
            }
        }
    }
}

/// S2: the store's pending maintenance hashes and clones no key, and compares one with its successor at most: none can
/// spoil a look at the process, which is at all caches.
#[tokio::test(start_paused = true)]
async fn s2_a_key_spoils_no_look() {
    let build =
        |name: &str| Cache::<Touchy, u64, DbError>::builder(name, Ttl::fresh_for(ms(1_000)), &Gate::new(8)).capacity(4);
    let crowded = |builder: Builder<Touchy, u64, DbError>| {
        let cache = builder.build().unwrap();
        // Some that make room, and some that are written anew.
        (0..40).chain(30..40).for_each(|key| drop(cache.insert(Touchy(key), key)));
        cache
    };
    let look = |name: &str| {
        let seen = herdcache::process_totals();
        let ours = seen.caches.iter().find(|one| one.name == name).unwrap();
        (ours.entries, ours.removals.total())
    };
    for (act, name) in [(Act::Hash, "s2-look-hash"), (Act::Clone, "s2-look-clone")] {
        let _cache = crowded(build(name));
        FUSE.set(Some((act, 1)));
        assert_eq!(look(name), (4, 46));
        assert!(FUSE.take().is_some(), "a key was asked for its {act:?}");
    }
    // The fast store has no maintenance that could compare any.
    let cache = crowded(build("s2-look-eq").store(LocalStore::Moka));
    FUSE.set(Some((Act::Eq, 1)));
    look("s2-look-eq");
    assert_eq!(FUSE.take(), None, "no key was compared");
    // What maintenance was about to do is done by the next.
    cache.insert(Touchy(50), 50);
    let (entries, _) = look("s2-look-eq");
    assert_eq!(entries, 4);
}

/// S2: a function that shows keys and panics hurts neither callers nor readers of the account.
#[tokio::test(start_paused = true)]
async fn s2_a_panicking_key_view_hurts_nobody() {
    let cache: Keyed = Cache::builder("view", Ttl::fresh_for(ms(1_000)), &Gate::new(8))
        .show_keys(KeyView::With(|_| panic!("secret")))
        .build()
        .unwrap();
    let answered = tokio::time::timeout(ms(30_000), crowd(&cache)).await.unwrap_or(0);
    assert_eq!(answered, 12);
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.outcomes[Outcome::Coalesced], 11);
    assert_quiet(&snapshot);
}

/// S2: the load's own `Drop` panics. That is a panic of the load: a typed error, and the key can be loaded again.
#[tokio::test(start_paused = true)]
async fn s2_a_load_whose_drop_panics_ends_its_flight() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "in Drop");
        }
    }
    // Ready at once, ready later, and cut off at its deadline.
    for (turns_left, end) in [(0, FlightEnd::Panicked), (3, FlightEnd::Panicked), (u32::MAX, FlightEnd::Failed)] {
        let cache = keyed();
        let load = |_| {
            // Held by the future itself, so that it goes off when the future is dropped.
            let (bomb, mut left) = (Bomb, turns_left);
            std::future::poll_fn(move |cx| {
                let _ = &bomb;
                if left == 0 {
                    return Poll::Ready(Ok(3));
                }
                left -= 1;
                if left < u32::MAX / 2 {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            })
        };
        let got = cache.get_with(&Touchy(1), load).await;
        assert_eq!(outcome(&got), Some(Outcome::Failed));
        turns().await;
        let snapshot = cache.snapshot();
        assert_eq!(snapshot.flights[end], 1, "{turns_left}: {:?}", snapshot.flights);
        assert_quiet(&snapshot);
        assert_eq!(cache.gate().snapshot().used(), 0);
        assert_healed(&cache, "after a panic in Drop").await;
    }
}
