//! B1: `get_many` over an origin that can load several keys in one call.

mod answers;
mod failures;
mod limits;
mod room;
mod sharing;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use herdcache::{Builder, Cache, Gate, Got, LoadContext, Loaded, Origin, Outcome, ReadThrough, Ttl};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::support::{Calls, DbError, ms, outcome};

/// What a batch call answers.
pub(crate) type Reply = Result<Vec<(u64, Loaded<String>)>, DbError>;

/// An origin whose batch calls load up to `MOST` keys, after 10 ms and as its script says.
struct Shelf<const MOST: usize> {
    calls: Arc<Calls>,
    /// The keys of each call, in its order; a call of `load` has one.
    asked: Arc<Mutex<Vec<Vec<u64>>>>,
    reply: fn(&[u64]) -> Reply,
}

fn book(key: u64) -> Loaded<String> {
    Loaded::value(format!("book {key}"))
}

/// Every book that was asked for.
#[expect(clippy::unnecessary_wraps, reason = "one of the replies of a script")]
pub(crate) fn all(keys: &[u64]) -> Reply {
    Ok(keys.iter().map(|key| (*key, book(*key))).collect())
}

impl<const MOST: usize> Shelf<MOST> {
    fn note(&self, keys: Vec<u64>) -> impl Sized + use<MOST> {
        self.asked.lock().push(keys);
        self.calls.call()
    }
}

impl<const MOST: usize> Origin<u64, String> for Shelf<MOST> {
    type Error = DbError;
    const MAX_BATCH: usize = MOST;

    async fn load(&self, cx: LoadContext<u64, String>) -> Result<Loaded<String>, DbError> {
        let _call = self.note(vec![*cx.key()]);
        tokio::time::sleep(ms(10)).await;
        Ok(book(*cx.key()))
    }

    async fn load_many(&self, contexts: Vec<LoadContext<u64, String>>) -> Reply {
        let keys: Vec<u64> = contexts.iter().map(|cx| *cx.key()).collect();
        let _call = self.note(keys.clone());
        tokio::time::sleep(ms(10)).await;
        (self.reply)(&keys)
    }
}

pub(crate) type Books = ReadThrough<u64, String, DbError>;

/// What the origin of a cache saw.
pub(crate) struct Seen {
    calls: Arc<Calls>,
    asked: Arc<Mutex<Vec<Vec<u64>>>>,
}

impl Seen {
    /// The keys of each call so far, the calls in the order of their first keys.
    pub(crate) fn asked(&self) -> Vec<Vec<u64>> {
        let mut asked = self.asked.lock().clone();
        asked.sort_unstable();
        asked
    }
}

pub(crate) fn settings(name: &str, gate: &Gate) -> Builder<u64, String, DbError> {
    Cache::builder(name, Ttl::fresh_for(ms(60_000)), gate).jitter(0.0)
}

/// A cache over a shelf.
pub(crate) fn over<const MOST: usize>(
    builder: Builder<u64, String, DbError>,
    reply: fn(&[u64]) -> Reply,
) -> (Books, Seen) {
    let seen = Seen { calls: Arc::default(), asked: Arc::default() };
    let shelf = Shelf::<MOST> { calls: Arc::clone(&seen.calls), asked: Arc::clone(&seen.asked), reply };
    (builder.build_over(shelf).unwrap(), seen)
}

/// A cache whose calls load up to four books, behind 64 permits.
fn books(name: &str, reply: fn(&[u64]) -> Reply) -> (Books, Seen) {
    over::<4>(settings(name, &Gate::new(64)), reply)
}

/// A batch in a task of its own. It has not run yet when this returns.
pub(crate) fn ask_many(books: &Books, keys: impl Into<Vec<u64>>) -> JoinHandle<Vec<Got<String, DbError>>> {
    let (books, keys) = (books.clone(), keys.into());
    tokio::spawn(async move { books.get_many(&keys).await })
}

/// How each key was answered; `None` is an absence.
pub(crate) fn outcomes(got: &[Got<String, DbError>]) -> Vec<Option<Outcome>> {
    got.iter().map(outcome).collect()
}

/// The values; `-` where there is none.
pub(crate) fn values(got: &[Got<String, DbError>]) -> Vec<&str> {
    got.iter().map(|got| got.as_ref().ok().and_then(Option::as_ref).map_or("-", |answer| answer.as_str())).collect()
}

/// How long it takes.
async fn timed<T>(what: impl Future<Output = T>) -> (T, Duration) {
    let began = tokio::time::Instant::now();
    let done = what.await;
    (done, began.elapsed())
}
