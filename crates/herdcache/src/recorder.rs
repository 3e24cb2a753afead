//! Measurements of slow paths, told one by one to whoever records them elsewhere.
//!
//! The engine keeps its own bounded buckets of each duration; a metrics library
//! has buckets of its own and cannot be handed ours. So each measurement is told
//! at the one place that takes it, right after it was counted. Nothing is told
//! while nobody listens, and nothing under a lock. What a recorder does with it,
//! and which metrics there are, is not known here.

use std::sync::{Arc, Weak};
use std::time::Duration;

use herdfeed::{FlightEnd, OriginResult, Outcome, PermitClass, PermitResult, SharedOperation, StaleReason};

use crate::contained::contained;
use crate::sync::plain::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use crate::sync::plain::{Mutex, RwLock};

/// The most recorders at once.
pub const RECORDERS: usize = 8;

/// One request in this many of those that were answered at once is measured.
pub const QUICK_SAMPLED: u32 = 1_024;

/// One measurement. New kinds, and new fields of known kinds, may come: match with `..` and a `_` arm.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Measured<'a> {
    /// A request has ended.
    #[non_exhaustive]
    Request {
        /// The cache's name.
        cache: &'a str,
        /// How it ended.
        outcome: Outcome,
        /// From its first poll to its end.
        took: Duration,
        /// Of that, its wait for flights; `None` if it waited for none.
        waited: Option<Duration>,
        /// How many requests it stands for: 1, or [`QUICK_SAMPLED`] for one that was answered at once.
        stands_for: u32,
    },
    /// A flight has landed.
    #[non_exhaustive]
    Flight {
        /// The cache's name.
        cache: &'a str,
        /// How it ended.
        end: FlightEnd,
        /// From its opening to its landing.
        took: Duration,
        /// Callers that had joined it and still waited; its leader is not among them.
        waiters: u64,
    },
    /// An origin call has ended.
    #[non_exhaustive]
    Call {
        /// The cache's name.
        cache: &'a str,
        /// How it ended.
        result: OriginResult,
        /// From its beginning to its real end, which may come after its flight's.
        took: Duration,
        /// What its loader reported of its wait for a connection, if it did.
        connection: Option<Duration>,
    },
    /// A wait for a permit has ended. One that was granted or refused at once has waited for 0.
    #[non_exhaustive]
    Permit {
        /// The gate's name.
        gate: &'a str,
        /// Whose share it was to be from.
        class: PermitClass,
        /// How the wait ended. A background load that finds no permit does not wait, and is not told.
        result: PermitResult,
        /// The wait.
        waited: Duration,
    },
    /// A value past freshness was answered.
    #[non_exhaustive]
    Stale {
        /// The cache's name.
        cache: &'a str,
        /// Why.
        reason: StaleReason,
        /// How far past freshness it was.
        past: Duration,
        /// Its age as a part of the age at which it could not have been answered any more; 0..=1, if no law is broken.
        of_bound: f64,
    },
    /// An operation on the shared tier or the lease has ended, whether or not it had an answer.
    #[non_exhaustive]
    Shared {
        /// The cache's name.
        cache: &'a str,
        /// Which.
        operation: SharedOperation,
        /// From its sending to its end.
        took: Duration,
    },
}

/// Is told of every measurement of a slow path in this process; for bridges to metrics libraries.
///
/// What is told: every request that could not be answered at once, one in [`QUICK_SAMPLED`] of those that could, and
/// every flight, origin call, permit, answer past freshness, and operation on a shared tier.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use std::{convert::Infallible, sync::Arc, time::Duration};
/// use herdcache::{Cache, Gate, LoadContext, Measured, Recorder, Ttl, add_recorder};
///
/// #[derive(Default)]
/// struct Slowest(AtomicU64);
///
/// impl Recorder for Slowest {
///     fn record(&self, measured: &Measured<'_>) {
///         if let Measured::Call { cache: "users", took, .. } = measured {
///             self.0.fetch_max(took.as_micros() as u64, Relaxed);
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let slowest = Arc::new(Slowest::default());
/// add_recorder(&slowest)?;                              // until `slowest` is dropped
///
/// let users = Cache::builder("users", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8))
///     .build_over(|cx: LoadContext<u64, u64>| async move {
///         tokio::time::sleep(Duration::from_millis(2)).await;
///         Ok::<_, Infallible>(*cx.key())
///     })?;
/// users.get(&7).await?;
/// assert!(slowest.0.load(Relaxed) >= 2_000);
/// # Ok(()) }
/// ```
pub trait Recorder: Send + Sync {
    /// Told of one measurement, by the thread that took it: a caller's, or a load's.
    ///
    /// No lock of ours is held. It must not block nor ask a cache, which would measure that again, and should take well
    /// below a microsecond. A panic is caught, ends nothing but this call, and is counted in [`recorder_panics`].
    fn record(&self, measured: &Measured<'_>);
}

/// No recorder more: there are [`RECORDERS`] already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyRecorders;

impl std::fmt::Display for TooManyRecorders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there are {RECORDERS} recorders already: drop one before adding another")
    }
}

impl std::error::Error for TooManyRecorders {}

type Listed = Arc<[Weak<dyn Recorder>]>;

/// Who is told. Replaced as a whole, so that nobody is told under its lock.
static LISTED: RwLock<Option<Listed>> = RwLock::new(None);
/// How many there are, so that a process without any pays one load.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// One change of the list at a time.
static CHANGE: Mutex<()> = Mutex::new(());
static PANICS: AtomicU64 = AtomicU64::new(0);

/// Tells `recorder` of every measurement from now on, for as long as the application holds on to it.
///
/// # Errors
/// [`TooManyRecorders`] when there are [`RECORDERS`] that have not been dropped.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use std::{convert::Infallible, sync::Arc, time::Duration};
/// use herdcache::{
///     Cache, Gate, Measured, QUICK_SAMPLED, RECORDERS, Recorder, TooManyRecorders, Ttl, add_recorder, recorder_panics,
/// };
///
/// /// Requests, also those answered at once, of which one in `QUICK_SAMPLED` is told for all of them.
/// #[derive(Default)]
/// struct Requests(AtomicU64);
///
/// impl Recorder for Requests {
///     fn record(&self, measured: &Measured<'_>) {
///         if let Measured::Request { stands_for, .. } = measured {
///             self.0.fetch_add(u64::from(*stands_for), Relaxed);
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let all: Vec<_> = (0..RECORDERS).map(|_| Arc::new(Requests::default())).collect();
/// for one in &all {
///     add_recorder(one)?;
/// }
/// assert_eq!(add_recorder(&Arc::new(Requests::default())), Err(TooManyRecorders));
///
/// let rows = Cache::<u64, u64, Infallible>::builder("rows", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8)).build()?;
/// for _ in 0..3 * QUICK_SAMPLED {
///     rows.get_with(&7, |_| async { Ok(1) }).await?;
/// }
/// // About as many, as far as hits go: the one that was loaded is told for itself, the others by samples.
/// assert_eq!(all[0].0.load(Relaxed) % u64::from(QUICK_SAMPLED), 1);
/// assert_eq!(recorder_panics(), 0); // measurements that a recorder lost by a panic of its own
/// # Ok(()) }
/// ```
pub fn add_recorder<R: Recorder + 'static>(recorder: &Arc<R>) -> Result<(), TooManyRecorders> {
    let added: Arc<dyn Recorder> = Arc::<R>::clone(recorder);
    let _turn = CHANGE.lock();
    let mut listed = living();
    if listed.len() >= RECORDERS {
        return Err(TooManyRecorders);
    }
    listed.push(Arc::downgrade(&added));
    list(listed);
    Ok(())
}

/// Measurements that a recorder lost because it panicked, since the process began.
pub fn recorder_panics() -> u64 {
    PANICS.load(Relaxed)
}

/// Whether anybody is told anything.
#[inline]
pub(crate) fn is_any() -> bool {
    COUNT.load(Relaxed) > 0
}

/// Tells a measurement, which is made only if somebody is told.
#[inline]
pub(crate) fn tell<'a>(measured: impl FnOnce() -> Measured<'a>) {
    if is_any() {
        tell_all(&measured());
    }
}

#[cold]
fn tell_all(measured: &Measured<'_>) {
    let Some(listed) = LISTED.read().clone() else { return };
    let mut gone = false;
    for recorder in listed.iter() {
        let Some(recorder) = recorder.upgrade() else {
            gone = true;
            continue;
        };
        // The application may let go of it meanwhile: then it dies here, and that may panic too.
        if contained(move || recorder.record(measured)).is_none() {
            PANICS.fetch_add(1, Relaxed);
        }
    }
    if gone {
        let _turn = CHANGE.lock();
        list(living());
    }
}

/// Those that have not been dropped.
fn living() -> Vec<Weak<dyn Recorder>> {
    let listed = LISTED.read().clone();
    listed.iter().flat_map(|listed| listed.iter()).filter(|one| one.strong_count() > 0).cloned().collect()
}

fn list(recorders: Vec<Weak<dyn Recorder>>) {
    let count = recorders.len();
    // The old list dies outside the lock: it may be the last to know a recorder's memory.
    let old = std::mem::replace(&mut *LISTED.write(), (count > 0).then(|| recorders.into()));
    COUNT.store(count, Relaxed);
    drop(old);
}
