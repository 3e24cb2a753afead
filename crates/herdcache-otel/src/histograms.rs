//! The histograms: instruments that are told each sample.

use opentelemetry::metrics::{Histogram, Meter};

use crate::series::Series;
use crate::table::{metrics, slot};

/// One histogram.
#[derive(Debug)]
pub(crate) struct Recorded {
    slot: usize,
    instrument: Option<Histogram<f64>>,
}

impl Recorded {
    fn new(meter: &Meter, name: &str) -> Self {
        let slot = slot(name);
        let instrument = metrics().get(slot).map(|metric| {
            let boundaries = metric.boundaries().unwrap_or_default().to_vec();
            let builder = meter.f64_histogram(metric.name).with_description(metric.meaning);
            let builder = if metric.unit.is_empty() { builder } else { builder.with_unit(metric.unit) };
            builder.with_boundaries(boundaries).build()
        });
        Self { slot, instrument }
    }

    /// One sample, under the series' attribute set of this number.
    pub(crate) fn record(&self, value: f64, series: &Series, set: usize) {
        if let (Some(instrument), Some(attributes)) = (&self.instrument, series.of(self.slot).get(set)) {
            instrument.record(value, attributes);
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Histograms {
    pub(crate) request: Recorded,
    pub(crate) wait: Recorded,
    pub(crate) flight: Recorded,
    pub(crate) waiters: Recorded,
    pub(crate) call: Recorded,
    pub(crate) connection: Recorded,
    pub(crate) permit: Recorded,
    pub(crate) stale_age: Recorded,
    pub(crate) stale_part: Recorded,
    pub(crate) shared: Recorded,
}

impl Histograms {
    pub(crate) fn new(meter: &Meter) -> Self {
        let of = |name| Recorded::new(meter, name);
        Self {
            request: of("herdcache.request.duration"),
            wait: of("herdcache.flight.wait.duration"),
            flight: of("herdcache.flight.duration"),
            waiters: of("herdcache.flight.waiters"),
            call: of("herdcache.origin.call.duration"),
            connection: of("herdcache.origin.connection.wait.duration"),
            permit: of("herdcache.permit.wait.duration"),
            stale_age: of("herdcache.stale.age"),
            stale_part: of("herdcache.stale.bound.ratio"),
            shared: of("herdcache.shared.operation.duration"),
        }
    }
}
