//! Processor sharing: the honest origin, which slows down when it is hit.
//!
//! Of n running calls each progresses at the rate min(1, c/n). Since all
//! progress alike, one figure says it all: the service *attained* by a call that
//! has run from the beginning. A call is due when that figure has grown by its
//! work, so the running calls form a heap, and an arrival or a departure costs
//! O(log n) whatever n is.
//!
//! Time is not cut into steps: at each look the state is carried from departure
//! to departure exactly, so a late timer delays the news of an end but never
//! changes the sums. One task a model watches for the next departure.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::Done;

/// An origin of limited capacity that its running calls share; a clone is the same one.
#[derive(Clone)]
pub struct Sharing {
    inner: Arc<Inner>,
}

struct Inner {
    capacity: f64,
    desk: Arc<Desk>,
    watcher: OnceLock<AbortHandle>,
}

/// What arrivals and the watcher share.
struct Desk {
    running: Mutex<Running>,
    arrived: Notify,
}

impl Sharing {
    /// Works on up to `capacity` calls at full speed (at least 0.001).
    pub fn new(capacity: f64) -> Self {
        let capacity = capacity.max(0.001);
        let desk = Desk { running: Mutex::new(Running::new(capacity)), arrived: Notify::new() };
        let inner = Inner { capacity, desk: Arc::new(desk), watcher: OnceLock::new() };
        Self { inner: Arc::new(inner) }
    }

    /// How many calls it works on at full speed.
    pub fn capacity(&self) -> f64 {
        self.inner.capacity
    }

    /// Does `work` beside whatever else runs; drops `held` when it is done.
    ///
    /// # Cancel safety
    ///
    /// The work goes on when the future is dropped, and `held` stays held until it is done.
    pub async fn work(&self, work: Duration, held: impl Send + 'static) -> Done {
        self.inner.watcher.get_or_init(|| tokio::spawn(watch(Arc::clone(&self.inner.desk))).abort_handle());
        let (done, told) = oneshot::channel();
        let finished = self.inner.desk.running.lock().arrive(Instant::now(), work, Slip { done, held: Box::new(held) });
        finished.into_iter().for_each(Slip::hand_back);
        self.inner.desk.arrived.notify_one();
        match told.await {
            Ok(()) => Done::Worked,
            Err(_) => Done::Stopped,
        }
    }
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing").field("capacity", &self.inner.capacity).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(watcher) = self.watcher.get() {
            watcher.abort();
        }
    }
}

/// Tells the end of each call when it is due. Ends with its model.
async fn watch(desk: Arc<Desk>) {
    loop {
        let (finished, next) = {
            let mut running = desk.running.lock();
            (running.advance(Instant::now()), running.next_departure())
        };
        // Waking callers and dropping what they held is user code: outside the lock.
        finished.into_iter().for_each(Slip::hand_back);
        match next {
            Some(at) => {
                tokio::select! {
                    () = tokio::time::sleep_until(at) => {}
                    () = desk.arrived.notified() => {}
                }
            }
            None => desk.arrived.notified().await,
        }
    }
}

/// What is handed back at the end of a call.
struct Slip {
    done: oneshot::Sender<()>,
    held: Box<dyn Send>,
}

impl Slip {
    fn hand_back(self) {
        drop(self.held);
        // The caller may have left; the work was done all the same.
        let _ = self.done.send(());
    }
}

/// The running calls and how far they have come. Pure: time is an argument.
struct Running<T = Slip> {
    capacity: f64,
    /// Seconds of service that a call running from the beginning has got.
    attained_s: f64,
    at: Option<Instant>,
    next: u64,
    calls: BinaryHeap<Call<T>>,
}

struct Call<T> {
    due_s: f64,
    number: u64,
    slip: T,
}

impl<T> Running<T> {
    fn new(capacity: f64) -> Self {
        Self { capacity, attained_s: 0.0, at: None, next: 0, calls: BinaryHeap::new() }
    }

    /// Carries the state to `now`, then lets a call with `work` begin. Gives back what ended meanwhile.
    fn arrive(&mut self, now: Instant, work: Duration, slip: T) -> Vec<T> {
        let finished = self.advance(now);
        self.next += 1;
        self.calls.push(Call { due_s: self.attained_s + work.as_secs_f64(), number: self.next, slip });
        finished
    }

    /// Carries the state to `now`, departure by departure. Gives back what ended.
    fn advance(&mut self, now: Instant) -> Vec<T> {
        let mut finished = Vec::new();
        while let Some(at) = self.next_departure().filter(|at| *at <= now) {
            if let Some(call) = self.calls.pop() {
                self.attained_s = call.due_s;
                self.at = Some(at);
                finished.push(call.slip);
            }
        }
        if self.calls.is_empty() {
            // Nothing refers to the old zero: a new one keeps the sums small and exact.
            self.attained_s = 0.0;
        } else if let Some(at) = self.at {
            self.attained_s += now.saturating_duration_since(at).as_secs_f64() * self.rate();
        }
        self.at = Some(now);
        finished
    }

    /// When the next call ends if nothing arrives before.
    fn next_departure(&self) -> Option<Instant> {
        let (at, first) = (self.at?, self.calls.peek()?);
        let left_s = (first.due_s - self.attained_s).max(0.0) / self.rate();
        Some(at + Duration::from_secs_f64(left_s))
    }

    /// Progress of each call for each second.
    fn rate(&self) -> f64 {
        (self.capacity / self.calls.len() as f64).min(1.0)
    }
}

// The heap's greatest is the call that is due first; equal ones end in order of arrival.
impl<T> Ord for Call<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due_s.total_cmp(&self.due_s).then_with(|| other.number.cmp(&self.number))
    }
}

impl<T> PartialOrd for Call<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Call<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Call<T> {}

#[cfg(test)]
mod tests;
