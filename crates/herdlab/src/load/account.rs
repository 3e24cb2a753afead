//! The callers' own account of a load, apart from the engine's.

use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use herdfeed::{Outcome, Tally};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Reply;
use crate::quantiles::{self, Quantiles};

/// Counts what callers ask and are told; a clone is the same account.
#[derive(Clone, Debug)]
pub struct LoadAccount {
    book: Arc<Mutex<Book>>,
}

/// What a load has come to so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadFigures {
    /// Requests sent.
    pub requests: u64,
    /// Requests that have not ended.
    pub in_flight: u64,
    /// Most requests in flight at once.
    pub peak_in_flight: u64,
    /// Arrivals that were not sent because too many were in flight.
    pub dropped_arrivals: u64,
    /// Ended requests by what the caller was told.
    pub outcomes: Tally<Outcome>,
    /// Answers "does not exist", which carry no outcome.
    pub absent: u64,
    /// From the intended start to the answer.
    pub latency: Option<Quantiles>,
    /// Age of the values answered as stale.
    pub stale_age: Option<Quantiles>,
    /// Age of the oldest value answered as stale.
    pub oldest_stale: Duration,
    /// Age of the oldest value answered as reserve.
    pub oldest_reserve: Duration,
}

#[derive(Debug)]
struct Book {
    figures: LoadFigures,
    latency: Histogram<u64>,
    stale_age: Histogram<u64>,
}

impl Default for LoadAccount {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadAccount {
    /// An empty account.
    pub fn new() -> Self {
        let book = Book {
            figures: LoadFigures::default(),
            latency: quantiles::histogram(),
            stale_age: quantiles::histogram(),
        };
        Self { book: Arc::new(Mutex::new(book)) }
    }

    /// What it has come to so far.
    pub fn figures(&self) -> LoadFigures {
        let book = self.book.lock();
        LoadFigures {
            latency: Quantiles::of(&book.latency),
            stale_age: Quantiles::of(&book.stale_age),
            ..book.figures.clone()
        }
    }

    pub(super) fn dropped(&self) {
        self.book.lock().figures.dropped_arrivals += 1;
    }

    pub(super) fn sent(&self, intended: Instant) -> Request {
        let figures = &mut self.book.lock().figures;
        figures.requests += 1;
        figures.in_flight += 1;
        figures.peak_in_flight = figures.peak_in_flight.max(figures.in_flight);
        Request { account: self.clone(), intended, reply: None }
    }
}

/// A request in flight. Dropped without an answer, it was cancelled.
pub(super) struct Request {
    account: LoadAccount,
    intended: Instant,
    reply: Option<Reply>,
}

impl Request {
    pub(super) fn told(mut self, reply: Reply) {
        self.reply = Some(reply);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let latency = self.intended.elapsed();
        let mut book = self.account.book.lock();
        book.figures.in_flight -= 1;
        let Some(reply) = self.reply else {
            book.figures.outcomes[Outcome::Cancelled] += 1;
            return;
        };
        quantiles::record(&mut book.latency, latency);
        let Some(outcome) = reply.outcome else {
            book.figures.absent += 1;
            return;
        };
        book.figures.outcomes[outcome] += 1;
        let Some(age) = reply.age else { return };
        if outcome == Outcome::Stale {
            quantiles::record(&mut book.stale_age, age);
            book.figures.oldest_stale = book.figures.oldest_stale.max(age);
        } else if outcome == Outcome::Reserve {
            book.figures.oldest_reserve = book.figures.oldest_reserve.max(age);
        }
    }
}
