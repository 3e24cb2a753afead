//! The shop's own counts, taken where things happen and apart from herdcache's.
//!
//! Queries are counted in the database layer, outcomes in the HTTP layer. They
//! exist so that the account of the cache can be checked against somebody who
//! does not know it: at rest the two agree to the unit.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use herdfeed::{ClosedSet, Outcome, Tally};
use serde::{Deserialize, Serialize};

use crate::db::PoolFigures;

/// What a query was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// An ordinary product.
    Ordinary,
    /// A bundle.
    Bundle,
    /// An order, which is never cached.
    Orders,
    /// A change of a price.
    PriceChange,
}

impl ClosedSet for QueryKind {
    fn all() -> &'static [Self] {
        &[Self::Ordinary, Self::Bundle, Self::Orders, Self::PriceChange]
    }
    fn index(self) -> usize {
        self as usize
    }
    fn label(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Bundle => "bundle",
            Self::Orders => "orders",
            Self::PriceChange => "price_change",
        }
    }
}

/// One atomic counter for each value of a closed set.
#[derive(Debug)]
struct Counters<E> {
    counts: Box<[AtomicU64]>,
    set: std::marker::PhantomData<E>,
}

impl<E: ClosedSet> Default for Counters<E> {
    fn default() -> Self {
        Self { counts: E::all().iter().map(|_| AtomicU64::new(0)).collect(), set: std::marker::PhantomData }
    }
}

impl<E: ClosedSet> Counters<E> {
    fn count(&self, value: E) {
        self.counts[value.index()].fetch_add(1, Relaxed);
    }

    fn read(&self) -> Tally<E> {
        let mut tally = Tally::new();
        for value in E::all() {
            tally[*value] = self.counts[value.index()].load(Relaxed);
        }
        tally
    }
}

/// The counters of one running shop.
#[derive(Debug, Default)]
pub struct Stats {
    queries: Counters<QueryKind>,
    interrupted: AtomicU64,
    outcomes: Counters<Outcome>,
    absent: AtomicU64,
}

impl Stats {
    /// A query reached the database.
    pub(crate) fn query(&self, kind: QueryKind) {
        self.queries.count(kind);
    }

    /// A query was stopped at its deadline.
    pub(crate) fn interrupted(&self) {
        self.interrupted.fetch_add(1, Relaxed);
    }

    /// A product request ended.
    pub(crate) fn outcome(&self, outcome: Outcome) {
        self.outcomes.count(outcome);
    }

    /// A product request ended with "no such product".
    pub(crate) fn absent(&self) {
        self.absent.fetch_add(1, Relaxed);
    }

    /// The counts now.
    pub fn read(&self, pool: PoolFigures, products: u32) -> StatsPage {
        StatsPage {
            products,
            queries: self.queries.read(),
            interrupted: self.interrupted.load(Relaxed),
            outcomes: self.outcomes.read(),
            absent: self.absent.load(Relaxed),
            pool,
        }
    }
}

/// What `GET /stats` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct StatsPage {
    /// Products in the database, bundles included.
    pub products: u32,
    /// Queries that reached the database, by kind.
    pub queries: Tally<QueryKind>,
    /// Queries that were stopped at their deadline.
    pub interrupted: u64,
    /// Product requests by outcome, as the HTTP layer saw them.
    pub outcomes: Tally<Outcome>,
    /// Product requests that ended with "no such product". Such an answer
    /// carries no outcome, so it is not part of `outcomes`.
    pub absent: u64,
    /// The connection pool.
    pub pool: PoolFigures,
}
