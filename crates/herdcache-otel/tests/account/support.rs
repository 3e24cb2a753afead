//! A provider whose collections are looked at, and caches to fill them.

use std::collections::BTreeMap;

use herdcache_otel::{CACHE, GATE};
use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ResourceMetrics, ScopeMetrics};
use opentelemetry_sdk::metrics::reader::MetricReader;
use opentelemetry_sdk::metrics::{SdkMeterProvider, Temporality};

use super::reader::OnDemand;
use tokio::sync::{Mutex, MutexGuard};

/// One test at a time.
pub(crate) async fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// A provider with a reader that collects when it is told to, on the thread that tells it: a test's paused clock is its own.
pub(crate) struct Provider {
    provider: SdkMeterProvider,
    reader: OnDemand,
}

/// One collection: by metric, by attributes as `key=value` in order, the value or a histogram's count.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) values: BTreeMap<String, BTreeMap<String, f64>>,
    pub(crate) histograms: BTreeMap<String, BTreeMap<String, Buckets>>,
    pub(crate) about: BTreeMap<String, (String, String)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Buckets {
    pub(crate) bounds: Vec<f64>,
    pub(crate) counts: Vec<u64>,
    pub(crate) count: u64,
    pub(crate) sum: f64,
}

impl Provider {
    pub(crate) fn new() -> Self {
        Self::of(Temporality::Cumulative)
    }

    pub(crate) fn of(temporality: Temporality) -> Self {
        let reader = OnDemand::new(temporality);
        Self { provider: SdkMeterProvider::builder().with_reader(reader.clone()).build(), reader }
    }

    pub(crate) fn meter(&self) -> Meter {
        self.provider.meter("herdcache")
    }

    pub(crate) fn shutdown(&self) {
        self.provider.shutdown().unwrap();
    }

    pub(crate) fn collect(&self) -> Collected {
        let mut metrics = ResourceMetrics::default();
        self.reader.collect(&mut metrics).unwrap();
        let mut collected = Collected::default();
        collected.take(&metrics);
        collected
    }
}

impl Collected {
    fn take(&mut self, metrics: &ResourceMetrics) {
        for metric in metrics.scope_metrics().flat_map(ScopeMetrics::metrics) {
            let about = (metric.unit().to_owned(), metric.description().to_owned());
            self.about.insert(metric.name().to_owned(), about);
            match metric.data() {
                AggregatedMetrics::U64(data) => self.take_data(metric.name(), data, |value| value as f64),
                AggregatedMetrics::I64(data) => self.take_data(metric.name(), data, |value| value as f64),
                AggregatedMetrics::F64(data) => self.take_data(metric.name(), data, |value| value),
            }
        }
    }

    fn take_data<T: Copy>(&mut self, name: &str, data: &MetricData<T>, real: fn(T) -> f64) {
        let mut enter = |attributes: Vec<String>, value: f64| {
            let series = self.values.entry(name.to_owned()).or_default();
            assert_eq!(series.insert(attributes.join(","), value), None, "{name} has one series twice");
        };
        match data {
            MetricData::Gauge(gauge) => {
                gauge.data_points().for_each(|point| enter(text(point.attributes()), real(point.value())));
            }
            MetricData::Sum(sum) => {
                sum.data_points().for_each(|point| enter(text(point.attributes()), real(point.value())));
            }
            MetricData::Histogram(histogram) => {
                for point in histogram.data_points() {
                    let buckets = Buckets {
                        bounds: point.bounds().collect(),
                        counts: point.bucket_counts().collect(),
                        count: point.count(),
                        sum: real(point.sum()),
                    };
                    self.histograms
                        .entry(name.to_owned())
                        .or_default()
                        .insert(text(point.attributes()).join(","), buckets);
                }
            }
            MetricData::ExponentialHistogram(_) => panic!("{name} has exponential buckets"),
        }
    }

    /// The series of one cache's metric, by its other attributes.
    pub(crate) fn of_cache(&self, metric: &str, cache: &str) -> BTreeMap<String, f64> {
        self.of(metric, &format!("{CACHE}={cache}"))
    }

    pub(crate) fn of_gate(&self, metric: &str, gate: &str) -> BTreeMap<String, f64> {
        self.of(metric, &format!("{GATE}={gate}"))
    }

    fn of(&self, metric: &str, owner: &str) -> BTreeMap<String, f64> {
        let Some(all) = self.values.get(metric) else { return BTreeMap::new() };
        let own = all.iter().filter(|(attributes, _)| attributes.split(',').any(|one| one == owner));
        own.map(|(attributes, value)| (without(attributes, owner), *value)).collect()
    }

    /// How many samples a cache's histogram has, by its other attributes.
    pub(crate) fn samples(&self, metric: &str, owner: &str) -> BTreeMap<String, u64> {
        let Some(all) = self.histograms.get(metric) else { return BTreeMap::new() };
        let own = all.iter().filter(|(attributes, _)| attributes.split(',').any(|one| one == owner));
        own.map(|(attributes, buckets)| (without(attributes, owner), buckets.count)).collect()
    }
}

/// The other attributes, by their values alone.
fn without(attributes: &str, owner: &str) -> String {
    let others = attributes.split(',').filter(|one| *one != owner);
    others.map(|one| one.split_once('=').map_or(one, |(_, value)| value)).collect::<Vec<_>>().join(",")
}

fn text<'a>(attributes: impl Iterator<Item = &'a opentelemetry::KeyValue>) -> Vec<String> {
    let mut text: Vec<_> = attributes.map(|one| format!("{}={}", one.key, one.value)).collect();
    text.sort();
    text
}
