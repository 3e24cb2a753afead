//! The report of a load run, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::record::Record;
use super::{Errors, Plan};
use crate::db::PoolFigures;
use crate::stats::{QueryKind, StatsPage};

/// Whether a run was good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No request failed, or failures were expected.
    Good,
    /// A request failed, was answered 5xx or could not be sent.
    Errors,
}

/// What a run has seen, before it is put into words.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) warm_up: Warmed,
    pub(crate) lasted: Duration,
    pub(crate) products: Record,
    pub(crate) orders: Record,
    pub(crate) database: Database,
}

/// How a run went.
#[derive(Debug, Serialize)]
pub struct Report {
    target: String,
    seed: u64,
    rate_per_s: u32,
    keys: u32,
    zipf: f64,
    hot_share: f64,
    warm_up: Warmed,
    /// From the first request to the last answer.
    seconds: f64,
    products: Lane,
    hot_bundle: Latency,
    orders: Lane,
    database: Database,
}

/// What the warm-up asked for, before the measurement.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Warmed {
    pub(crate) asked: u32,
    pub(crate) failed: u32,
}

/// How one kind of request was answered.
#[derive(Debug, Serialize)]
pub(crate) struct Lane {
    sent: u64,
    unsent: u64,
    late: u64,
    open_peak: u64,
    by_status: BTreeMap<u16, u64>,
    by_outcome: BTreeMap<&'static str, u64>,
    failures: BTreeMap<&'static str, u64>,
    latency: Latency,
}

/// Latencies in milliseconds, from when a request was due to its answer's end.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    count: u64,
    p50_ms: f64,
    p95_ms: f64,
    p99_ms: f64,
    max_ms: f64,
}

/// What the database saw during the run, by the shop's own count.
#[derive(Debug, Serialize)]
pub(crate) struct Database {
    ordinary_queries: u64,
    bundle_queries: u64,
    bundle_queries_per_s: f64,
    orders_queries: u64,
    interrupted: u64,
    pool_waits: u64,
    pool_wait_timeouts: u64,
    /// Time during which every connection was in use.
    pool_full_ms: u64,
    /// Since the shop started, not since the run did.
    pool_peak: u64,
    pool_size: u64,
}

impl Database {
    /// The difference of two pages that were read `lasted` apart.
    pub(crate) fn between(before: &StatsPage, after: &StatsPage, lasted: Duration) -> Self {
        let queries = after.queries.since(&before.queries);
        let grown = |of: fn(&PoolFigures) -> u64| of(&after.pool).saturating_sub(of(&before.pool));
        Self {
            ordinary_queries: queries[QueryKind::Ordinary],
            bundle_queries: queries[QueryKind::Bundle],
            bundle_queries_per_s: queries[QueryKind::Bundle] as f64 / lasted.as_secs_f64().max(0.001),
            orders_queries: queries[QueryKind::Orders],
            interrupted: after.interrupted.saturating_sub(before.interrupted),
            pool_waits: grown(|pool| pool.waits),
            pool_wait_timeouts: grown(|pool| pool.wait_timeouts),
            pool_full_ms: grown(|pool| pool.full_us) / 1_000,
            pool_peak: after.pool.peak,
            pool_size: after.pool.size,
        }
    }
}

impl From<&Histogram<u64>> for Latency {
    fn from(us: &Histogram<u64>) -> Self {
        let ms = |us: u64| us as f64 / 1_000.0;
        Self {
            count: us.len(),
            p50_ms: ms(us.value_at_quantile(0.5)),
            p95_ms: ms(us.value_at_quantile(0.95)),
            p99_ms: ms(us.value_at_quantile(0.99)),
            max_ms: ms(us.max()),
        }
    }
}

impl From<&Record> for Lane {
    fn from(record: &Record) -> Self {
        Self {
            sent: record.sent,
            unsent: record.unsent,
            late: record.late,
            open_peak: record.open_peak,
            by_status: record.by_status.clone(),
            by_outcome: record.by_outcome.clone(),
            failures: record.failures.clone(),
            latency: Latency::from(&record.all),
        }
    }
}

impl Lane {
    fn errors(&self) -> u64 {
        let refused: u64 = self.by_status.range(500..).map(|(_, count)| count).sum();
        refused + self.failures.values().sum::<u64>() + self.unsent
    }
}

impl Report {
    pub(crate) fn new(plan: &Plan, seen: Seen) -> Self {
        Self {
            target: plan.target.to_string(),
            seed: plan.seed,
            rate_per_s: plan.rate,
            keys: plan.keys,
            zipf: plan.zipf,
            hot_share: plan.hot_share,
            warm_up: seen.warm_up,
            seconds: seen.lasted.as_secs_f64(),
            products: Lane::from(&seen.products),
            hot_bundle: Latency::from(&seen.products.hot),
            orders: Lane::from(&seen.orders),
            database: seen.database,
        }
    }

    /// Whether the run was good.
    pub fn verdict(&self, errors: Errors) -> Verdict {
        match errors {
            Errors::Fail if self.products.errors() + self.orders.errors() > 0 => Verdict::Errors,
            Errors::Fail | Errors::Expected => Verdict::Good,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, rate_per_s, keys, zipf, seed, database, .. } = self;
        writeln!(f, "{target}: {rate_per_s}/s for {:.1} s, {keys} keys, zipf {zipf}, seed {seed}", self.seconds)?;
        if self.warm_up.asked > 0 {
            writeln!(f, "warm-up     asked {}, failed {}", self.warm_up.asked, self.warm_up.failed)?;
        }
        writeln!(f, "products    {}", self.products)?;
        writeln!(f, "  latency   {}", self.products.latency)?;
        writeln!(f, "  hot       {}", self.hot_bundle)?;
        writeln!(f, "  outcomes  {}", pairs(&self.products.by_outcome))?;
        writeln!(f, "orders      {}", self.orders)?;
        writeln!(f, "  latency   {}", self.orders.latency)?;
        writeln!(f, "database    {database}")?;
        writeln!(f, "Latencies count from when a request was due, not from when it could be sent.")
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sent {}, status {}", self.sent, pairs(&self.by_status))?;
        if !self.failures.is_empty() {
            write!(f, ", no answer: {}", pairs(&self.failures))?;
        }
        write!(f, "; late {}, open at most {}, unsent {}", self.late, self.open_peak, self.unsent)
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, p50_ms, p95_ms, p99_ms, max_ms } = self;
        write!(f, "p50 {p50_ms:.1} ms  p95 {p95_ms:.1} ms  p99 {p99_ms:.1} ms  max {max_ms:.1} ms  ({count})")
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "bundle queries {} ({:.2}/s), ordinary {}, orders {}, stopped at deadline {}\n  \
             pool      {} connections, all in use for {} ms, peak {} since start, waits {}, of them timed out {}",
            self.bundle_queries,
            self.bundle_queries_per_s,
            self.ordinary_queries,
            self.orders_queries,
            self.interrupted,
            self.pool_size,
            self.pool_full_ms,
            self.pool_peak,
            self.pool_waits,
            self.pool_wait_timeouts,
        )
    }
}

fn pairs<K: fmt::Display>(counts: &BTreeMap<K, u64>) -> String {
    let pairs: Vec<_> = counts.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    if pairs.is_empty() { "none".to_owned() } else { pairs.join(", ") }
}
