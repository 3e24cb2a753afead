//! [`observe`]: from a meter to instruments.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use herdcache::{TooManyRecorders, add_recorder};
use opentelemetry::metrics::Meter;

use crate::histograms::Histograms;
use crate::names::Names;
use crate::observing::State;
use crate::series::Owner;
use crate::table::{Kind, Metric, metrics};
use crate::values::Value;

/// How many caches, and how many gates, have series of their own by default.
///
/// The SDK keeps at most 2,000 series of an instrument and folds the rest without a name; this many names stay below.
pub const NAMES: usize = 80;

/// Observes every cache and gate of this process, also those that are built later, until the handle is dropped.
///
/// Call it once for each meter provider: a second handle on the same meter would record each sample twice.
///
/// # Errors
/// [`TooManyRecorders`] when [`herdcache::RECORDERS`] handles, or recorders of the application's own, are live already.
pub fn observe(meter: &Meter) -> Result<Observing, TooManyRecorders> {
    Observer::new().observe(meter)
}

/// [`observe`] with settings.
///
/// ```
/// # let meter = opentelemetry::global::meter("herdcache");
/// use herdcache_otel::{NAMES, OTHER, Observer, Observing};
/// let metrics: Observing = Observer::new()
///     .names(20)                          // caches, and gates, with series of their own
///     .only_caches(["users", "orders"])
///     .only_gates(["orders-db"])
///     .observe(&meter)?;
/// assert!(20 < NAMES);                    // the default
/// assert_eq!(OTHER, "~other");            // what the 21st would be called, with the sums of all such
/// drop(metrics);                          // after the provider's shutdown
/// # Ok::<(), herdcache::TooManyRecorders>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is observed before `observe` is called"]
pub struct Observer {
    names: Option<usize>,
    caches: Option<BTreeSet<String>>,
    gates: Option<BTreeSet<String>>,
}

impl Observer {
    /// With the documented defaults: all caches and gates, [`NAMES`] names.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many caches, and how many gates, have series of their own; those that come later share the name `~other`,
    /// with exact sums, and are counted by `herdcache.label.overflow`. Default [`NAMES`]; 0 gives that one name to all.
    ///
    /// More: series (about 150 for a cache, see the reference page), and beyond [`NAMES`] the SDK's own limit of 2,000
    /// for an instrument, which the application raises by a view. Fewer: caches that cannot be told apart.
    pub fn names(self, most: usize) -> Self {
        Self { names: Some(most), ..self }
    }

    /// Observes only caches of these names. Gates are not affected. Default: all caches.
    pub fn only_caches<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { caches: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// Observes only gates of these names. Caches are not affected. Default: all gates.
    pub fn only_gates<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { gates: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// Registers every instrument on `meter`; see [`observe`].
    ///
    /// # Errors
    /// As [`observe`].
    pub fn observe(self, meter: &Meter) -> Result<Observing, TooManyRecorders> {
        let most = self.names.unwrap_or(NAMES);
        let caches = Names::new(|name| Owner::Cache(name), most, self.caches);
        let gates = Names::new(|name| Owner::Gate(name), most, self.gates);
        let state = Arc::new(State::new(caches, gates, Histograms::new(meter)));
        add_recorder(&state)?;
        for (slot, metric) in metrics().iter().enumerate() {
            register(meter, slot, metric, Arc::downgrade(&state));
        }
        Ok(Observing { _state: state })
    }
}

/// An observation. Dropping it ends it: instruments report nothing more, and no sample is recorded.
///
/// Keep it until the meter provider was shut down, so that the last collection has everything.
#[must_use = "dropping the handle ends the observation at once"]
#[derive(Debug)]
pub struct Observing {
    _state: Arc<State>,
}

/// Registers one observable instrument. Its callback cannot be unregistered and outlives the handle: it holds nothing.
fn register(meter: &Meter, slot: usize, metric: &Metric, state: Weak<State>) {
    /// Names, describes and builds an instrument.
    macro_rules! build {
        ($make:ident, $convert:expr) => {{
            let builder = meter.$make(metric.name).with_description(metric.meaning);
            let builder = if metric.unit.is_empty() { builder } else { builder.with_unit(metric.unit) };
            let _ = builder
                .with_callback(move |to| {
                    if let Some(state) = state.upgrade() {
                        state.tell(slot, to, $convert);
                    }
                })
                .build();
        }};
    }
    match metric.kind {
        Kind::Counter => build!(u64_observable_counter, whole),
        Kind::UpDown => build!(i64_observable_up_down_counter, |value| whole(value).try_into().unwrap_or(i64::MAX)),
        Kind::Gauge => build!(f64_observable_gauge, real),
        // Registered beside the recorder: it is told its samples one by one.
        Kind::Histogram => {}
    }
}

fn whole(value: Value) -> u64 {
    match value {
        Value::Count(count) => count,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "no row gives a counter a fraction"
        )]
        Value::Real(real) => real as u64,
    }
}

fn real(value: Value) -> f64 {
    match value {
        Value::Count(count) => count as f64,
        Value::Real(real) => real,
    }
}
