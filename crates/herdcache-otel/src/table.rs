//! The table of metrics: the one place that says which there are.
//!
//! Registration, reading, the reference page and its test all derive from it.
//! Each row says how its values are read off a snapshot, in the order of its
//! attributes' values; rows of histograms say their boundaries.

mod flights;
mod gates;
mod origin;
mod process;
mod shared;
mod traffic;

use std::sync::LazyLock;

use crate::labels::Attribute;
use crate::values::{CacheView, GateView, ProcessView, Values};

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Only grows; an observable counter.
    Counter,
    /// Goes up and down, and may be summed; an observable up-down counter.
    UpDown,
    /// Goes up and down, and means nothing when summed; an observable gauge.
    Gauge,
    /// A distribution.
    Histogram,
}

/// What a metric is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A cache, named by `herdcache.name`.
    Cache,
    /// A gate, named by `herdcache.gate.name`.
    Gate,
    /// Both: each series has one of the two names.
    CacheOrGate,
    /// The process; no name.
    Process,
}

/// One metric.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Metric {
    /// Its name in OpenTelemetry.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its unit, as UCUM; annotations in braces say what is counted.
    pub unit: &'static str,
    /// Its attributes, beside the name of its cache or gate.
    pub attributes: &'static [Attribute],
    /// What it tells: its description.
    pub meaning: &'static str,
    /// When to look at it.
    pub look: &'static str,
    pub(crate) source: Source,
}

/// Where its values come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Cache(fn(&CacheView<'_>, &mut Values)),
    Gate(fn(&GateView<'_>, &mut Values)),
    Both(fn(&CacheView<'_>, &mut Values), fn(&GateView<'_>, &mut Values)),
    Process(fn(&ProcessView<'_>, &mut Values)),
    /// Told one by one, with the upper bounds of the buckets.
    OfCaches(&'static [f64]),
    OfGates(&'static [f64]),
}

impl Metric {
    /// What it is of.
    pub fn subject(&self) -> Subject {
        match self.source {
            Source::Cache(_) | Source::OfCaches(_) => Subject::Cache,
            Source::Gate(_) | Source::OfGates(_) => Subject::Gate,
            Source::Both(..) => Subject::CacheOrGate,
            Source::Process(_) => Subject::Process,
        }
    }

    /// Upper bounds of its buckets, if it is a histogram.
    pub fn boundaries(&self) -> Option<&'static [f64]> {
        match self.source {
            Source::OfCaches(bounds) | Source::OfGates(bounds) => Some(bounds),
            Source::Cache(_) | Source::Gate(_) | Source::Both(..) | Source::Process(_) => None,
        }
    }

    /// Its name in Prometheus; a histogram's series end in `_bucket`, `_sum` and `_count`.
    pub fn prometheus(&self) -> String {
        let unit = match self.unit {
            "s" => "_seconds",
            "1" => "_ratio",
            _ => "",
        };
        let total = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("{}{unit}{total}", self.name.replace('.', "_"))
    }
}

static METRICS: LazyLock<Vec<Metric>> =
    LazyLock::new(|| [traffic::ROWS, flights::ROWS, origin::ROWS, gates::ROWS, shared::ROWS, process::ROWS].concat());

/// Every metric that [`observe`](crate::observe) registers, in the order of the reference page.
///
/// ```
/// use herdcache_otel::{CACHE, GATE, Kind, Metric, Subject, metrics};
///
/// // A query for Prometheus, put together from the table instead of by heart.
/// let metric: &Metric = metrics().iter().find(|metric| metric.name == "herdcache.requests").ok_or("it is there")?;
/// assert_eq!((metric.kind, metric.subject(), metric.boundaries()), (Kind::Counter, Subject::Cache, None));
/// let named = match metric.subject() {
///     Subject::Gate => GATE,
///     _ => CACHE,
/// };
/// let by = format!("{}, {}", named.replace('.', "_"), metric.attributes[0].prometheus());
/// assert_eq!(
///     format!("sum by ({by}) (rate({}[5m]))", metric.prometheus()),
///     "sum by (herdcache_name, herdcache_request_outcome) (rate(herdcache_requests_total[5m]))"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn metrics() -> &'static [Metric] {
    &METRICS
}

/// Where a metric stands in the table.
pub(crate) fn slot(name: &str) -> usize {
    METRICS.iter().position(|metric| metric.name == name).unwrap_or(usize::MAX)
}

/// Seconds, from what a local database answers in to what users give up at.
pub(crate) const SECONDS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Seconds of age past freshness, from a moment to a day.
pub(crate) const AGES: &[f64] = &[0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 86_400.0];
/// Callers that joined one load.
pub(crate) const CROWDS: &[f64] =
    &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 5_000.0, 10_000.0];
/// Parts of a bound.
pub(crate) const PARTS: &[f64] = &[0.25, 0.5, 0.75, 0.9, 1.0];

const fn row(
    (name, kind, unit): (&'static str, Kind, &'static str),
    attributes: &'static [Attribute],
    source: Source,
    [meaning, look]: [&'static str; 2],
) -> Metric {
    Metric { name, kind, unit, attributes, meaning, look, source }
}
