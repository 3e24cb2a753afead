//! Metrics as plain values: one [`Point`] for each series of each collection.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, HistogramDataPoint, Metric, NumberDataPoint, metric, number_data_point,
};

use crate::values::attributes;

/// One collection of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Who sent it.
    pub resource: BTreeMap<String, String>,
    /// What it sent.
    pub points: Vec<Point>,
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A sum that only grows.
    Counter,
    /// A sum that goes up and down.
    UpDown,
    /// A level.
    Gauge,
    /// A distribution in buckets.
    Histogram,
    /// What nobody here sends: exponential buckets, summaries, nothing.
    Other,
}

/// Since when a sum or distribution counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Temporality {
    /// Since the start.
    Cumulative,
    /// Since the last collection.
    Delta,
}

/// The distribution of a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// Upper bounds of its buckets.
    pub bounds: Vec<f64>,
    /// Samples in each of them, and beyond the last.
    pub buckets: Vec<u64>,
    /// Samples.
    pub count: u64,
}

/// One series at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The metric's name.
    pub metric: String,
    /// Its unit, empty if it has none.
    pub unit: String,
    /// Its description.
    pub about: String,
    /// What it is.
    pub kind: Kind,
    /// Since when it counts; a gauge does not.
    pub temporality: Option<Temporality>,
    /// Which series of the metric.
    pub attributes: BTreeMap<String, String>,
    /// The value; of a histogram the sum.
    pub value: f64,
    /// The buckets of a histogram, empty for others.
    pub histogram: Histogram,
}

impl Batch {
    /// The points of a metric.
    pub fn of<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a Point> {
        self.points.iter().filter(move |point| point.metric == metric)
    }

    /// The sum of a counter over its series with these attributes, in whole numbers.
    pub fn count(&self, metric: &str, with: &[(&str, &str)]) -> u64 {
        let fits =
            |point: &&Point| with.iter().all(|(key, value)| point.attributes.get(*key).is_some_and(|v| v == value));
        let sum: f64 = self.of(metric).filter(fits).map(|point| point.value).sum();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter never falls below 0")]
        let whole = sum as u64;
        whole
    }
}

/// The collections of one request.
pub(crate) fn batches(request: &ExportMetricsServiceRequest) -> Vec<Batch> {
    let batch = |sent: &opentelemetry_proto::tonic::metrics::v1::ResourceMetrics| Batch {
        resource: sent.resource.as_ref().map(|resource| attributes(&resource.attributes)).unwrap_or_default(),
        points: sent.scope_metrics.iter().flat_map(|scope| &scope.metrics).flat_map(points).collect(),
    };
    request.resource_metrics.iter().map(batch).collect()
}

fn points(metric: &Metric) -> Vec<Point> {
    let numbers = |kind, temporality, points: &[NumberDataPoint]| -> Vec<Point> {
        points.iter().map(|point| number(empty(metric, kind, temporality), point)).collect()
    };
    match &metric.data {
        Some(metric::Data::Gauge(gauge)) => numbers(Kind::Gauge, None, &gauge.data_points),
        Some(metric::Data::Sum(sum)) => {
            let kind = if sum.is_monotonic { Kind::Counter } else { Kind::UpDown };
            numbers(kind, temporality(sum.aggregation_temporality), &sum.data_points)
        }
        Some(metric::Data::Histogram(histogram)) => {
            let kind = (Kind::Histogram, temporality(histogram.aggregation_temporality));
            histogram.data_points.iter().map(|point| distribution(empty(metric, kind.0, kind.1), point)).collect()
        }
        Some(metric::Data::ExponentialHistogram(_) | metric::Data::Summary(_)) | None => {
            vec![empty(metric, Kind::Other, None)]
        }
    }
}

fn temporality(number: i32) -> Option<Temporality> {
    match AggregationTemporality::try_from(number) {
        Ok(AggregationTemporality::Cumulative) => Some(Temporality::Cumulative),
        Ok(AggregationTemporality::Delta) => Some(Temporality::Delta),
        Ok(AggregationTemporality::Unspecified) | Err(_) => None,
    }
}

fn empty(metric: &Metric, kind: Kind, temporality: Option<Temporality>) -> Point {
    Point {
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        about: metric.description.clone(),
        kind,
        temporality,
        attributes: BTreeMap::new(),
        value: f64::NAN,
        histogram: Histogram::default(),
    }
}

fn number(empty: Point, point: &NumberDataPoint) -> Point {
    let value = match point.value {
        #[expect(clippy::cast_precision_loss, reason = "counts of tests are far below 2^53")]
        Some(number_data_point::Value::AsInt(whole)) => whole as f64,
        Some(number_data_point::Value::AsDouble(real)) => real,
        None => f64::NAN,
    };
    Point { attributes: attributes(&point.attributes), value, ..empty }
}

fn distribution(empty: Point, point: &HistogramDataPoint) -> Point {
    let (bounds, buckets) = (point.explicit_bounds.clone(), point.bucket_counts.clone());
    let histogram = Histogram { bounds, buckets, count: point.count };
    Point { attributes: attributes(&point.attributes), value: point.sum.unwrap_or(f64::NAN), histogram, ..empty }
}
