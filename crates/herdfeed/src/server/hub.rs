//! [`Hub`]: what all connections of one publisher share.
//!
//! The only place that calls the source. It keeps the newest snapshot's lines for
//! a moment, so that sixteen subscribers cost one snapshot, and the seats.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::hello::CacheConfig;
use crate::line::Line;
use crate::server::account::{Account, count};
use crate::server::fit::{lines_of, text_of};
use crate::server::limits::{Limits, SHARED_FOR};
use crate::server::past::Past;
use crate::server::{Batch, Source};
use crate::snapshot::Snapshot;

/// Whether the publisher is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    Closing,
}

/// The source panicked; the panic has been counted.
#[derive(Debug)]
pub(super) struct SourcePanicked;

/// One snapshot as text.
#[derive(Debug)]
pub(super) struct View {
    taken: Instant,
    /// The snapshot's lines.
    pub(super) lines: Vec<Bytes>,
    /// The sequence number that the next event gets.
    pub(super) next_event: u64,
}

/// What all connections of one publisher share.
pub(super) struct Hub {
    source: Arc<dyn Source>,
    pub(super) limits: Limits,
    pub(super) account: Arc<Account>,
    /// The moment from which every subscriber's ticks are counted, so that equal cadences coincide.
    pub(super) epoch: Instant,
    view: Mutex<Option<Arc<View>>>,
    past: Mutex<Past>,
    /// A subscriber has left.
    left: Notify,
    phase: watch::Receiver<Phase>,
}

impl Hub {
    pub(super) fn new(
        source: Arc<dyn Source>,
        limits: Limits,
        account: Arc<Account>,
        phase: watch::Receiver<Phase>,
    ) -> Self {
        Self {
            source,
            limits,
            account,
            epoch: Instant::now(),
            view: Mutex::default(),
            past: Mutex::default(),
            left: Notify::new(),
            phase,
        }
    }

    /// Waits until the publisher closes.
    pub(super) async fn closing(&self) {
        let mut phase = self.phase.clone();
        // An error means that the publisher is gone, which is closing as well.
        let _ = phase.wait_for(|phase| *phase == Phase::Closing).await;
    }

    fn ask<T>(&self, question: impl FnOnce(&dyn Source) -> T) -> Result<T, SourcePanicked> {
        // Nothing of ours is half changed when a question panics; the source answers for itself.
        catch_unwind(AssertUnwindSafe(|| question(&*self.source))).map_err(|_| {
            count(&self.account.source_panics);
            SourcePanicked
        })
    }

    /// The first line of every answer.
    pub(super) fn hello(&self) -> Result<Bytes, SourcePanicked> {
        let hello = self.ask(Source::hello)?;
        let line = Line::Hello(Box::new(hello));
        // A hello beyond the limit would need thousands of caches; its reader then lacks their settings only.
        Ok(text_of(&line, &self.account).unwrap_or_else(|| bare_hello(line)))
    }

    /// The caches whose keys the application keeps hashed.
    pub(super) fn hashed(&self) -> Result<Vec<String>, SourcePanicked> {
        let hello = self.ask(Source::hello)?;
        // Whatever does not say that keys are readable keeps them hashed.
        let hashed = |cache: &CacheConfig| !matches!(cache.keys.as_str(), "plain" | "function");
        Ok(hello.caches.into_iter().filter(hashed).map(|cache| cache.name).collect())
    }

    pub(super) fn events(&self, since: u64, most: usize) -> Result<Batch, SourcePanicked> {
        self.ask(|source| source.events(since, most))
    }

    /// The newest snapshot, at most [`SHARED_FOR`] old.
    pub(super) fn view(&self) -> Result<Arc<View>, SourcePanicked> {
        if let Some(view) = lock(&self.view).as_ref().filter(|view| view.taken.elapsed() < SHARED_FOR) {
            return Ok(Arc::clone(view));
        }
        let snapshot = self.ask(Source::snapshot)?;
        let next_event = snapshot.next_event;
        let view = Arc::new(View { taken: Instant::now(), lines: lines_of(snapshot, &self.account), next_event });
        *lock(&self.view) = Some(Arc::clone(&view));
        Ok(view)
    }

    /// Adds one second to the pre-roll.
    pub(super) fn sample(&self) {
        let Ok(snapshot) = self.ask(|source| -> Snapshot { source.snapshot() }) else {
            return;
        };
        lock(&self.past).note(&snapshot);
    }

    /// The pre-roll's lines.
    pub(super) fn past(&self) -> Vec<Bytes> {
        let lines = lock(&self.past).lines();
        lines.into_iter().filter_map(|line| text_of(&Line::Past(line), &self.account)).collect()
    }

    /// Waits until no subscriber is left.
    pub(super) async fn all_left(&self) {
        while self.account.subscribers.load(Ordering::Relaxed) > 0 {
            self.left.notified().await;
        }
    }

    /// A seat for one more subscriber, if there is one.
    pub(super) fn seat(self: &Arc<Self>) -> Option<Seat> {
        let most = self.limits.subscribers as u64;
        let taken = |now: u64| (now < most).then_some(now + 1);
        self.account.subscribers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok()?;
        Some(Seat(Arc::clone(self)))
    }
}

/// The right to be a subscriber; dropping it frees the place.
pub(super) struct Seat(pub(super) Arc<Hub>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.account.subscribers.fetch_sub(1, Ordering::Relaxed);
        self.0.left.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bare_hello(line: Line) -> Bytes {
    let Line::Hello(mut hello) = line else {
        return Bytes::new();
    };
    hello.caches.clear();
    hello.gates.clear();
    Line::Hello(hello).encode().map(Bytes::from).unwrap_or_default()
}
