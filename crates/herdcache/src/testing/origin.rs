//! [`ScriptedOrigin`]: an origin that does as it is told.
//!
//! A script is what the test says beforehand: how every call ends unless told
//! otherwise, and how the next calls of one key end. It judges nothing and keeps no
//! clock of its own; what a delay means is up to tokio's.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use super::calls::Calls;
use crate::loaded::Loaded;
use crate::origin::{LoadContext, Origin};
use crate::sync::plain::Mutex;
use crate::sync::time;

/// How one call of a [`ScriptedOrigin`] ends, and after which time.
#[doc = include_str!("../../docs/examples/reply.md")]
#[derive(Debug)]
#[must_use]
pub struct Reply<V, E> {
    after: Duration,
    end: End<V, E>,
}

#[derive(Debug)]
enum End<V, E> {
    Gives(Loaded<V>),
    Fails(E),
    Panics(String),
    Hangs,
}

impl<V, E> Reply<V, E> {
    fn at_once(end: End<V, E>) -> Self {
        Self { after: Duration::ZERO, end }
    }

    /// A value, an `Option` or a whole [`Loaded`], with its TTLs, tags and version.
    pub fn value(value: impl Into<Loaded<V>>) -> Self {
        Self::at_once(End::Gives(value.into()))
    }

    /// There is no such thing.
    pub fn absent() -> Self {
        Self::value(Loaded::absent())
    }

    /// The origin fails.
    pub fn error(error: E) -> Self {
        Self::at_once(End::Fails(error))
    }

    /// The load panics with this message.
    pub fn panics(message: impl Into<String>) -> Self {
        Self::at_once(End::Panics(message.into()))
    }

    /// The call never ends by itself: the cache's limits end it.
    pub fn hangs() -> Self {
        Self::at_once(End::Hangs)
    }

    /// It takes this long. Default 0: it is ready at its first poll.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = delay;
        self
    }
}

impl<V, E> End<V, E> {
    async fn come(self) -> Result<Loaded<V>, E> {
        match self {
            Self::Gives(loaded) => Ok(loaded),
            Self::Fails(error) => Err(error),
            Self::Panics(message) => panic!("{message}"),
            Self::Hangs => future::pending().await,
        }
    }
}

/// An origin that answers as its script says, and counts by itself. A clone is the same origin: one for the cache, one to
/// ask and to tell.
///
/// `BATCH` is its [`MAX_BATCH`](Origin::MAX_BATCH); see [`ScriptedOrigin::batched`]. A key's `Hash` and `Eq` are asked under its
/// lock: they must not ask this origin.
///
/// ```
/// use std::time::Duration;
/// use herdcache::testing::{Reply, ScriptedOrigin, run_paused};
/// use herdcache::{Cache, Gate, GetError, LoadContext, Ttl};
/// # fn main() -> Result<(), herdcache::ConfigError> {
/// run_paused(async {
///     let origin = ScriptedOrigin::new(|cx: &LoadContext<u64, u64>| Reply::value(cx.key() * 10));
///     let rows = Cache::builder("rows", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///         .build_over(origin.clone())?;
///     origin.next(1, Reply::error("down").after(Duration::from_millis(5))).next(2, Reply::hangs());
///     assert!(matches!(rows.get(&1).await, Err(GetError::Failed(_))));
///     assert!(matches!(rows.get(&2).await, Err(GetError::Failed(_))), "origin_timeout, 5 s later");
///     assert_eq!(rows.get(&3).await.expect("answered").as_deref(), Some(&30));
///     assert_eq!((origin.calls().started(), origin.calls_of(&1)), (3, 1));
///     Ok(())
/// })
/// # }
/// ```
pub struct ScriptedOrigin<K, V, E, const BATCH: usize = 1>(Arc<Script<K, V, E>>);

type Standing<K, V, E> = Box<dyn Fn(&LoadContext<K, V>) -> Reply<V, E> + Send + Sync>;

struct Script<K, V, E> {
    calls: Calls,
    standing: Standing<K, V, E>,
    keys: Mutex<HashMap<K, Lines<V, E>>>,
}

/// What is said of one key.
struct Lines<V, E> {
    next: VecDeque<Reply<V, E>>,
    calls: u64,
}

impl<V, E> Default for Lines<V, E> {
    fn default() -> Self {
        Self { next: VecDeque::new(), calls: 0 }
    }
}

impl<K, V, E> ScriptedOrigin<K, V, E> {
    /// An origin whose calls end as `standing` says, unless [`next`](Self::next) says otherwise.
    pub fn new(standing: impl Fn(&LoadContext<K, V>) -> Reply<V, E> + Send + Sync + 'static) -> Self {
        let (calls, keys) = (Calls::new(), Mutex::new(HashMap::new()));
        Self(Arc::new(Script { calls, standing: Box::new(standing), keys }))
    }

    /// The same origin with batch calls of up to `BATCH` keys, for [`get_many`](crate::ReadThrough::get_many).
    ///
    /// A batch is one call. It takes as long as the longest of its keys' replies; then they come in the order of the
    /// keys, and the first error, panic or hang is that of the whole call.
    pub fn batched<const BATCH: usize>(self) -> ScriptedOrigin<K, V, E, BATCH> {
        ScriptedOrigin(self.0)
    }
}

impl<K: Hash + Eq, V, E, const BATCH: usize> ScriptedOrigin<K, V, E, BATCH> {
    /// How the next call of this key ends; called again, the one after that. Calls beyond end as usual.
    pub fn next(&self, key: K, reply: Reply<V, E>) -> &Self {
        self.0.tell(key, |lines| lines.next.push_back(reply));
        self
    }

    /// The calls of all keys: how many began, run, and ran at once.
    pub fn calls(&self) -> &Calls {
        &self.0.calls
    }

    /// How often this key was asked for, alone or in a batch.
    pub fn calls_of(&self, key: &K) -> u64 {
        self.0.keys.lock().get(key).map_or(0, |lines| lines.calls)
    }

    /// Replies that were scripted for this key and not given yet: 0 when the script has been played.
    pub fn left_of(&self, key: &K) -> usize {
        self.0.keys.lock().get(key).map_or(0, |lines| lines.next.len())
    }
}

impl<K: Hash + Eq, V, E> Script<K, V, E> {
    /// Reads or writes what is said of a key. A key that is not needed dies after the lock, which comes after it here.
    fn tell<R>(&self, key: K, change: impl FnOnce(&mut Lines<V, E>) -> R) -> R {
        let mut keys = self.keys.lock();
        if let Some(lines) = keys.get_mut(&key) {
            return change(lines);
        }
        change(keys.entry(key).or_default())
    }
}

impl<K: Hash + Eq + Clone, V, E> Script<K, V, E> {
    fn reply(&self, cx: &LoadContext<K, V>) -> Reply<V, E> {
        // The key is cloned outside the lock too.
        let scripted = self.tell(cx.key().clone(), |lines| {
            lines.calls += 1;
            lines.next.pop_front()
        });
        // The test's code runs outside the lock: it may ask this very origin.
        scripted.unwrap_or_else(|| (self.standing)(cx))
    }
}

async fn take(delay: Duration) {
    if !delay.is_zero() {
        time::sleep(delay).await;
    }
}

impl<K, V, E, const BATCH: usize> Origin<K, V> for ScriptedOrigin<K, V, E, BATCH>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    V: Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    type Error = E;
    const MAX_BATCH: usize = BATCH;

    async fn load(&self, cx: LoadContext<K, V>) -> Result<Loaded<V>, E> {
        let _call = self.0.calls.call();
        let Reply { after, end } = self.0.reply(&cx);
        take(after).await;
        end.come().await
    }

    async fn load_many(&self, keys: Vec<LoadContext<K, V>>) -> Result<Vec<(K, Loaded<V>)>, E> {
        let _call = self.0.calls.call();
        let replies: Vec<_> = keys.iter().map(|cx| (cx.key().clone(), self.0.reply(cx))).collect();
        take(replies.iter().map(|(_, reply)| reply.after).max().unwrap_or_default()).await;
        let mut brought = Vec::with_capacity(replies.len());
        for (key, reply) in replies {
            brought.push((key, reply.end.come().await?));
        }
        Ok(brought)
    }
}

impl<K, V, E, const BATCH: usize> Clone for ScriptedOrigin<K, V, E, BATCH> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, V, E, const BATCH: usize> fmt::Debug for ScriptedOrigin<K, V, E, BATCH> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedOrigin").field("calls", &self.0.calls).finish_non_exhaustive()
    }
}
