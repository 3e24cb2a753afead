//! The contracts of a shared tier and of a lease, in bytes: what another crate implements on Redis.
//!
//! Each method stands for one round trip. Time limits, the circuit and the account are
//! the cache's: an implementation only does what it is asked, or says why it could not.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// An operation on its way: boxed, since it stands for a round trip over a network.
///
/// # Cancel safety
/// A cache drops it at its own limits. What had been sent may still take effect; every operation of these traits bears
/// that.
///
/// ```
/// use std::time::Duration;
/// use herdcache::{Acquired, Holding, Lease, LeaseToken, MemoryTier, Operation, SharedKey, TierError};
///
/// /// A lease of another server: each method is a future in a box.
/// struct Far(MemoryTier);
///
/// impl Lease for Far {
///     fn acquire<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Acquired> {
///         Box::pin(async move {
///             tokio::time::sleep(Duration::from_millis(1)).await; // the way there
///             self.0.acquire(key, token, time).await
///         })
///     }
///     fn renew<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Holding> {
///         self.0.renew(key, token, time)
///     }
///     fn release<'a>(&'a self, _: &'a SharedKey, _: &'a LeaseToken) -> Operation<'a, Holding> {
///         Box::pin(async { Err(TierError::Connection) }) // it could not be reached
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (far, token) = (Far(MemoryTier::new()), LeaseToken::random());
/// let key = SharedKey::of("users", 1, &7).ok_or("JSON can hold it")?;
/// assert!(matches!(far.acquire(&key, &token, Duration::from_secs(1)).await?, Acquired::Yes { .. }));
/// assert_eq!(far.release(&key, &token).await, Err(TierError::Connection));
/// # Ok(()) }
/// ```
pub type Operation<'a, T> = Pin<Box<dyn Future<Output = Result<T, TierError>> + Send + 'a>>;

/// Why an operation failed. A failure is never a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TierError {
    /// No answer within the implementation's own limit. The cache's `operation_timeout` is counted as one too.
    Timeout,
    /// There is no connection, or it broke.
    Connection,
    /// The server answered with an error: it is read-only, out of memory, or does not let this user in.
    Refused,
}

impl fmt::Display for TierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no answer in time",
            Self::Connection => "no connection",
            Self::Refused => "refused by the server",
        })
    }
}

impl std::error::Error for TierError {}

/// A key as shared tiers and leases know it.
///
/// K1: its text is the JSON array of the cache's name, its `schema_version` and the key, so that no two keys, caches
/// or schemas share one, whatever bytes they hold.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SharedKey {
    text: Box<str>,
    hash: u64,
}

impl SharedKey {
    /// The key of a cache as it was named when it was built, for who tests an implementation or looks into a tier.
    /// `None` if JSON cannot hold the key: such keys are not shared.
    ///
    /// ```
    /// use herdcache::SharedKey;
    /// let key = SharedKey::of("users", 1, &("tenant", 7)).expect("JSON can hold it");
    /// assert_eq!(key.text(), r#"["users",1,["tenant",7]]"#);
    /// // For the hash tag of a cluster: the same in every process.
    /// assert_eq!(key.hash(), SharedKey::of("users", 1, &("tenant", 7)).expect("as before").hash());
    /// ```
    pub fn of<K: crate::key::Key>(cache: &str, schema_version: u32, key: &K) -> Option<Self> {
        let (text, hash) = crate::key::shared_text(cache, schema_version, key)?;
        Some(Self::new(text, hash))
    }

    pub(crate) fn new(text: String, hash: u64) -> Self {
        Self { text: text.into_boxed_str(), hash }
    }

    /// The text, as UTF-8: what to store under. It holds the application's key in plain.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A 64-bit hash of the text, the same in every process: for the hash tag that keeps a key, its lease and its
    /// counter on one node of a cluster.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Keys may be personal data: only the hash is shown.
impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedKey({:016x})", self.hash)
    }
}

/// What a shared tier has under a key, read in one round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The value, if there is one.
    pub found: Option<Found>,
    /// Whether some process holds the key's lease.
    pub lease: LeaseSight,
    /// The fencing token under the key: of its value, or of the tombstone that an invalidation left; 0 if neither is
    /// there. A load that holds no lease may be stored if this has not grown until then.
    pub fence: u64,
}

impl Reading {
    /// Nothing is there.
    pub const fn nothing() -> Self {
        Self { found: None, lease: LeaseSight::Free, fence: 0 }
    }
}

/// A value as it lies in a shared tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The bytes that were written.
    pub bytes: Vec<u8>,
    /// What is left of the time for which they were to be kept. Ages are worked out from it, so that no machine's
    /// clock is compared with another's; a value whose time is not known must not be given.
    pub left: Duration,
}

/// What a read saw of the key's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseSight {
    /// Nobody holds it.
    Free,
    /// Some process holds it.
    Held,
    /// This tier does not know: the lease is kept elsewhere. Followers then go by the time that it has left, and its
    /// fencing tokens mean nothing here: who overran is not told from who did not.
    Unknown,
}

/// A value to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Writing<'a> {
    /// What to store.
    pub bytes: &'a [u8],
    /// How long, from its arrival on. Never 0.
    pub keep_for: Duration,
    /// The version at the source, if the loader gave one.
    pub version: Option<u64>,
    /// By what right.
    pub fence: Fence,
}

/// The right by which a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// What a load brought: only if no larger token is under the key.
    Load(u64),
    /// The application's own write: newer than every load in progress. The tier gives it the next token.
    Newest,
}

/// What became of a value that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Stored, with its token and version.
    Stored,
    /// Refused: a value of a newer source version is there.
    OlderVersion,
    /// Refused: a larger fencing token is there.
    OlderFence,
}

/// A tier that several processes share.
///
/// Implementations hold a connection and nothing of a cache; the same handle may serve several caches.
/// [`MemoryTier`](crate::MemoryTier) is one within a process, for tests, with every fault that can be had.
#[doc = include_str!("../../docs/examples/tier.md")]
pub trait SharedTier: Send + Sync + 'static {
    /// Reads what is under a key: value, remaining time, whether its lease is held, and the token, in one round trip.
    ///
    /// # Errors
    /// [`TierError`]: then the cache loads under its own protection and writes nothing back.
    fn read<'a>(&'a self, key: &'a SharedKey) -> Operation<'a, Reading>;

    /// Reads several keys, in their order. As given, one after the other: an implementation that can should send them
    /// together.
    ///
    /// # Errors
    /// As [`SharedTier::read`], for all of them.
    fn read_many<'a>(&'a self, keys: &'a [SharedKey]) -> Operation<'a, Vec<Reading>> {
        Box::pin(async move {
            let mut readings = Vec::with_capacity(keys.len());
            for key in keys {
                readings.push(self.read(key).await?);
            }
            Ok(readings)
        })
    }

    /// Stores a value unless something newer is there, in one atomic step.
    ///
    /// First an older [version](Writing::version) than that of the value under the key is refused, then a smaller
    /// [fence](Writing::fence) than the token there. A [`Fence::Newest`] gets the larger of the stored token + 1 and the
    /// counter's next, so that a lost counter cannot lock a key.
    ///
    /// # Errors
    /// [`TierError`]. It may have been stored all the same.
    fn write<'a>(&'a self, key: &'a SharedKey, writing: Writing<'a>) -> Operation<'a, Write>;

    /// Removes the value and leaves a tombstone for `keep_for`, whose token is larger than any given for this key
    /// before: the larger of the stored token + 1 and the counter's next. Loads that began before it are refused.
    ///
    /// # Errors
    /// [`TierError`]. The cache tries again later; removing twice does no harm.
    fn remove<'a>(&'a self, key: &'a SharedKey, keep_for: Duration) -> Operation<'a, ()>;
}

/// The random name of one holder of a lease. Only who knows it can renew or release the lease.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaseToken([u8; 16]);

impl LeaseToken {
    /// One that no other holder has.
    pub fn random() -> Self {
        Self(fastrand::u128(..).to_le_bytes())
    }

    /// The bytes to store and to compare.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseToken")
    }
}

/// How a try for a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// It is this holder's, with the fencing token of its load.
    Yes {
        /// The larger of the token under the key + 1 and the counter's next: larger than any before.
        fence: u64,
        /// The token under the key, as a [`Reading`] would give it now: if it has grown since the holder looked, the
        /// key was loaded or invalidated meanwhile.
        under: u64,
    },
    /// Another holder has it.
    Held {
        /// What is left of its time, if known.
        left: Option<Duration>,
    },
}

/// Whether a lease is still its holder's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// It is.
    Yes,
    /// It is over, or another's by now.
    Lost,
}

/// A time-limited right to load a key, over all processes.
///
/// Expiry is the implementation's: on Redis `SET NX PX` with the token, released and renewed by a script that compares
/// it. Nothing of it waits; followers look again by reading the [`SharedTier`].
#[doc = include_str!("../../docs/examples/lease.md")]
pub trait Lease: Send + Sync + 'static {
    /// Tries once to take the key's lease for `time`.
    ///
    /// # Errors
    /// [`TierError`]: then the load goes on without a lease, under its own process's protection.
    fn acquire<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Acquired>;

    /// Makes the lease last for `time` from now on, if it is still the token's.
    ///
    /// # Errors
    /// [`TierError`]: whether it is still held is not known.
    fn renew<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken, time: Duration) -> Operation<'a, Holding>;

    /// Gives the lease back, if it is still the token's; never another's.
    ///
    /// # Errors
    /// [`TierError`]: it ends by itself when its time is over.
    fn release<'a>(&'a self, key: &'a SharedKey, token: &'a LeaseToken) -> Operation<'a, Holding>;
}
