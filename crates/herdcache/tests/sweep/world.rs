//! The world of a scene: one cache, its gate, an origin whose keys say how it answers, and the other callers.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use herdcache::{
    Builder, Cache, Gate, GateBuilder, Got, LoadContext, Loaded, MemoryTier, Origin, ReadThrough, Ttl, WhenUnwatched,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::support::{Calls, DbError, ms};

pub(crate) type Items = ReadThrough<u64, u64, DbError>;

/// Keys below this take three steps of 4 ms and give ten times themselves.
const SLOW: u64 = 100;
/// Keys from here on are loaded at once.
pub(crate) const QUICK: u64 = SLOW;
/// Keys from here on do not exist, which takes a step to find out.
pub(crate) const ABSENT: u64 = 1_000;
/// Keys from here on fail after a step.
pub(crate) const FAILS: u64 = 2_000;
/// Keys from here on panic after a step.
pub(crate) const PANICS: u64 = 3_000;
/// Keys from here on are never answered.
pub(crate) const NEVER: u64 = 4_000;
/// The key within whose load a future is polled.
const OUTER: u64 = 9_000;
/// The key that this load reads afterwards.
const NESTED: u64 = 50;

/// Fresh for a second, stale for another, in reserve for a third.
const TTL: Ttl = Ttl::fresh_for(ms(1_000)).stale_for(ms(1_000)).stale_if_error_for(ms(2_000));

/// An origin whose batch calls load up to `MOST` keys.
struct Shelf<const MOST: usize>(Arc<Calls>);

async fn bring(key: u64) -> Result<Loaded<u64>, DbError> {
    let steps = match key {
        0..SLOW => 3,
        QUICK..ABSENT | OUTER.. => 0,
        ABSENT..NEVER => 1,
        NEVER..OUTER => return std::future::pending().await,
    };
    for _ in 0..steps {
        tokio::time::sleep(ms(4)).await;
    }
    match key {
        ABSENT..FAILS => Ok(Loaded::absent()),
        FAILS..PANICS => Err(DbError("down")),
        PANICS..NEVER => panic!("a loader panics"),
        _ => Ok(Loaded::value(key * 10).tags(["all"])),
    }
}

impl<const MOST: usize> Origin<u64, u64> for Shelf<MOST> {
    type Error = DbError;
    const MAX_BATCH: usize = MOST;

    async fn load(&self, cx: LoadContext<u64, u64>) -> Result<Loaded<u64>, DbError> {
        let _call = self.0.call();
        bring(*cx.key()).await
    }

    async fn load_many(&self, contexts: Vec<LoadContext<u64, u64>>) -> Result<Vec<(u64, Loaded<u64>)>, DbError> {
        let _call = self.0.call();
        let mut reply = Vec::new();
        for cx in contexts {
            reply.push((*cx.key(), bring(*cx.key()).await?));
        }
        Ok(reply)
    }
}

/// How another caller must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// With the value of its key.
    Value,
    /// In some way, but in time.
    Somehow,
}

/// A caller beside the one that is swept.
struct Other {
    asked: JoinHandle<Got<u64, DbError>>,
    key: u64,
    must_be: Answered,
}

/// Shared by all who take part in a scene.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) items: Items,
    pub(crate) gate: Gate,
    pub(crate) calls: Arc<Calls>,
    /// The tier that it shares with others, if it does.
    pub(crate) tier: Option<MemoryTier>,
    others: Arc<Mutex<Vec<Other>>>,
    /// Requests that were made by anybody but the swept future.
    requests: Arc<AtomicU64>,
    /// Of these, how many were given up.
    given_up: Arc<AtomicU64>,
    closed: Arc<AtomicBool>,
    /// Whether loads count themselves in `calls`.
    counted: Arc<AtomicBool>,
}

/// A gate whose waits end within the time that a scene gives them.
pub(crate) fn gate(permits: usize, queue: usize) -> GateBuilder {
    Gate::builder(permits).queue(queue).queue_timeout(ms(200))
}

impl World {
    pub(crate) fn new(what: WhenUnwatched, gate: GateBuilder) -> Self {
        Self::with(what, gate, |builder| builder)
    }

    /// With settings of its own.
    pub(crate) fn with(
        what: WhenUnwatched,
        gate: GateBuilder,
        set: impl FnOnce(Builder<u64, u64, DbError>) -> Builder<u64, u64, DbError>,
    ) -> Self {
        let gate = gate.build().unwrap();
        let builder = Cache::builder("swept", TTL, &gate).jitter(0.0).when_unwatched(what);
        let builder = builder.cooling(ms(20), ms(20)).origin_timeout(ms(400)).flight_deadline(ms(800));
        let calls = Arc::new(Calls::default());
        let items = set(builder).build_over(Shelf::<4>(Arc::clone(&calls))).unwrap();
        let (requests, given_up, closed) = (Arc::default(), Arc::default(), Arc::default());
        let counted = Arc::new(AtomicBool::new(true));
        Self { items, gate, calls, tier: None, others: Arc::default(), requests, given_up, closed, counted }
    }

    /// A caller who has to get the value of this key, whatever becomes of the future that is swept.
    pub(crate) fn ask(&self, key: u64) {
        self.ask_for(key, Answered::Value);
    }

    /// A caller who has to be answered.
    pub(crate) fn ask_for(&self, key: u64, must_be: Answered) {
        let items = self.items.clone();
        self.requests.fetch_add(1, SeqCst);
        self.wait_for(key, must_be, async move { items.get(&key).await });
    }

    /// Somebody else who waits, and makes no request of the account.
    pub(crate) fn wait_for(
        &self,
        key: u64,
        must_be: Answered,
        asked: impl Future<Output = Got<u64, DbError>> + Send + 'static,
    ) {
        self.others.lock().push(Other { asked: tokio::spawn(asked), key, must_be });
    }

    /// Requests beside those of [`World::ask`].
    pub(crate) fn made(&self, requests: u64) {
        self.requests.fetch_add(requests, SeqCst);
    }

    /// Requests that were made by anybody but the swept future.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(SeqCst)
    }

    /// Of the requests of others, this many are dropped before they are answered.
    pub(crate) fn gives_up(&self, requests: u64) {
        self.given_up.fetch_add(requests, SeqCst);
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.load(SeqCst)
    }

    /// From here on the cache takes no load.
    pub(crate) fn close(&self) {
        self.closed.store(true, SeqCst);
    }

    /// Some loads of this scene are not in `calls`.
    pub(crate) fn counts_for_itself(&self) {
        self.counted.store(false, SeqCst);
    }

    pub(crate) fn is_counted(&self) -> bool {
        self.counted.load(SeqCst)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }

    /// Whoever asked has been answered, as it had to be.
    pub(crate) async fn others_are_answered(&self) -> Result<(), String> {
        let others = std::mem::take(&mut *self.others.lock());
        for Other { asked, key, must_be } in others {
            if !asked.is_finished() {
                return Err(format!("S1, S2: another caller of {key} still waits"));
            }
            let got = asked.await.map_err(|died| format!("another caller of {key} died: {died}"))?;
            let value = got.as_ref().ok().and_then(|answer| answer.as_deref().copied());
            if must_be == Answered::Value && value != Some(key * 10) {
                return Err(format!("S1: another caller of {key} got {got:?}"));
            }
        }
        Ok(())
    }

    /// S5: does it within a load of another key, which then reads once more, under the permit that it has lent meanwhile.
    pub(crate) async fn within_a_load<T: Send + 'static>(&self, what: impl Future<Output = T> + Send + 'static) -> T {
        let (tell, told) = oneshot::channel();
        self.made(2);
        let (items, calls) = (self.items.clone(), Arc::clone(&self.calls));
        let load = |_| async move {
            let _call = calls.call();
            let done = what.await;
            let again = items.get(&NESTED).await;
            let _ = tell.send((done, again.is_ok()));
            Ok(0)
        };
        self.items.get_with(&OUTER, load).await.unwrap();
        let (done, again) = told.await.unwrap();
        assert!(again, "S5: the load's permit cannot be lent any more");
        done
    }
}
