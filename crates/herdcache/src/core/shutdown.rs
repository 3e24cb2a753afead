//! X1: the end of a cache.

use std::sync::Arc;
use std::time::Duration;

use herdfeed::FlightEnd;

use super::Core;
use crate::flight::Landing;
use crate::key::Key;
use crate::runtime;
use crate::store::Store;
use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::atomic::fence;
use crate::sync::{pin, time};
use crate::trace;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// Starts no flight from here on; waits for running ones up to `limit`, then ends them.
    pub(crate) async fn shutdown(&self, limit: Duration) {
        // SeqCst, as in `is_closed` and `Table::reserve`: either a request sees this, or its place is seen below.
        self.closed.store(true, SeqCst);
        fence(SeqCst);
        let quiet = async {
            loop {
                let told = self.quiet.notified();
                pin!(told);
                told.as_mut().enable();
                if self.is_quiet() {
                    break;
                }
                told.await;
            }
        };
        // Without timers nothing can wait for a limit: what runs is ended at once.
        let limit = if runtime::with_timers().is_some() { limit } else { Duration::ZERO };
        let ended = match limit {
            Duration::ZERO => self.is_quiet(),
            limit => time::timeout(limit, quiet).await.is_ok(),
        };
        if !ended {
            self.close_flights();
        }
        self.settle_tiers().await;
        trace::say_last();
    }

    /// X1: what was landed is written, and held leases are given back; each of them is one operation, with its own limit.
    async fn settle_tiers(&self) {
        let Some(tiers) = self.shared.as_ref().filter(|_| runtime::with_timers().is_some()) else { return };
        // A write, the lease behind it, and one round of changes that wait: what is not sent by then is left.
        let limit = tiers.link.timeout() * 4;
        let _ = time::timeout(limit, tiers.settled()).await;
    }

    /// Wakes a shutdown that waits for quiet; costs next to nothing as long as there is none.
    pub(super) fn tell_quiet(&self) {
        // Against the store and the looks in `shutdown`: either it sees what was counted before this, or this sees it.
        fence(SeqCst);
        if self.closed.load(Relaxed) {
            self.quiet.notify_waiters();
        }
    }

    /// Whether no load runs, every flight's end is in the account, and what is traced of it has ended.
    ///
    /// The table alone does not tell: a flight leaves it just before its end is counted. Ends are read first, so that
    /// a flight that opens and lands between the two reads cannot hide one that has not.
    fn is_quiet(&self) -> bool {
        let ends = self.account.flights.total();
        self.table.len() == 0 && ends == self.account.flight_starts.total() && self.trace.is_quiet()
    }

    /// Lands every flight as closed. Loads that cannot be stopped go on without one.
    fn close_flights(&self) {
        let mut flights = Vec::with_capacity(self.table.len());
        self.table.each(|flight| flights.push(Arc::clone(flight)));
        for flight in flights {
            let Some(claim) = self.claim(&flight) else { continue };
            self.table.lock(flight.hash).set_aside(&flight);
            if let Some(call) = flight.call() {
                call.abandon();
            }
            claim.with(Landing::Closed, FlightEnd::Closed).deliver();
        }
    }
}
