//! Load: requests sent when they are meant to start, whatever became of earlier ones.
//!
//! A latency counts from the *intended* start. A generator that waits for slow
//! answers, or counts from the moment it got round to sending, hides exactly the
//! time that users spend waiting. What cannot be sent within the bound on
//! requests in flight is not delayed but dropped and counted.

mod account;
mod closed;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::Outcome;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::arrivals::{Arrival, Arrivals};
pub use account::{LoadAccount, LoadFigures};
pub use closed::{ClosedPlan, drive_closed};

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// How its request ended, as the cache told this caller. `None` where an
    /// answer carries no outcome: "does not exist".
    pub outcome: Option<Outcome>,
    /// Age of the value that it got, if it got one.
    pub age: Option<Duration>,
}

/// A load to be sent.
#[derive(Debug)]
pub struct Plan<I = Arrivals> {
    /// When, and for which keys.
    pub arrivals: I,
    /// Ends after this long; `None` goes on until stopped.
    pub length: Option<Duration>,
    /// The most requests in flight; arrivals beyond it are dropped and counted.
    pub most_in_flight: usize,
    /// How long the last requests may take once nothing more is sent.
    pub patience: Duration,
}

/// Ends a load early; a clone ends the same load.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<Notify>,
}

impl Stop {
    /// Nothing more is sent from now on.
    pub fn now(&self) {
        self.asked.notify_one();
    }
}

/// Sends the load of `plan` by `ask` and counts into `account` until its end.
///
/// `ask` is called once for each request, with the key; its future runs as a
/// task of its own. Requests that are still in flight after the plan's patience
/// are dropped, which the account tells as cancelled.
///
/// # Cancel safety
///
/// Dropping the future drops the requests in flight with it.
pub async fn drive<I, A, F>(plan: Plan<I>, account: LoadAccount, stop: Stop, ask: A)
where
    I: IntoIterator<Item = Arrival>,
    A: Fn(u64) -> F,
    F: Future<Output = Reply> + Send + 'static,
{
    let start = Instant::now();
    let mut in_flight = JoinSet::new();
    for Arrival { at, key } in plan.arrivals {
        if plan.length.is_some_and(|length| at >= length) {
            break;
        }
        let intended = start + at;
        tokio::select! {
            biased;
            () = stop.asked.notified() => break,
            () = tokio::time::sleep_until(intended) => {}
        }
        while in_flight.try_join_next().is_some() {}
        if in_flight.len() >= plan.most_in_flight {
            account.dropped();
            continue;
        }
        let request = account.sent(intended);
        let reply = ask(key);
        in_flight.spawn(async move { request.told(reply.await) });
    }
    let rest = async { while in_flight.join_next().await.is_some() {} };
    // Whoever is left after that is aborted, and its guard counts it as cancelled.
    let _ = tokio::time::timeout(plan.patience, rest).await;
    in_flight.shutdown().await;
}

#[cfg(test)]
mod tests;
