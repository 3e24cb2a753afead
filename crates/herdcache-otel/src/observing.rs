//! What lasts as long as an observation: names, looks at the process, histograms.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use herdcache::herdfeed::words::ClosedSet;
use herdcache::{Measured, Recorder};
use opentelemetry::KeyValue;
use opentelemetry::metrics::AsyncInstrument;

use crate::fold::{Folds, Line, Looks, Seen};
use crate::histograms::Histograms;
use crate::labels::{ERROR_CLASS, OTHER};
use crate::names::{Named, Names};
use crate::reading::{Reading, Readings};
use crate::series::{Owner, Series};
use crate::table::{Source, metrics};
use crate::values::{CacheView, GateView, ProcessView, Value, Values};

/// The state that callbacks and the recorder share. The handle alone keeps it alive.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) caches: Names,
    pub(crate) gates: Names,
    pub(crate) histograms: Histograms,
    process: Arc<Series>,
    /// How many instruments ask in one collection.
    asking: usize,
    readings: Readings,
    looks: Looks,
    /// Of caches, and of gates.
    folds: Mutex<(Folds, Folds)>,
    /// Instruments that said nothing in a collection because something panicked.
    failed: AtomicU64,
}

impl State {
    pub(crate) fn new(caches: Names, gates: Names, histograms: Histograms) -> Self {
        Self {
            caches,
            gates,
            histograms,
            process: Arc::new(Series::new(Owner::Process)),
            asking: metrics().iter().filter(|metric| metric.boundaries().is_none()).count(),
            readings: Readings::default(),
            looks: Looks::default(),
            folds: Mutex::default(),
            failed: AtomicU64::new(0),
        }
    }

    /// Tells an instrument every value that its metric has. Never panics: that would end the reader.
    pub(crate) fn tell<T>(&self, slot: usize, to: &dyn AsyncInstrument<T>, convert: fn(Value) -> T) {
        let told = catch_unwind(AssertUnwindSafe(|| {
            let reading = self.readings.part(slot, self.asking, || self.look());
            for (series, line) in &reading.0 {
                let (Some(values), sets) = (line.get(slot), series.of(slot)) else { continue };
                for (attributes, value) in sets.iter().zip(&values.sets) {
                    if let Some(value) = value {
                        to.observe(convert(*value), attributes);
                    }
                }
                for (set, class, count) in &values.classes {
                    let base = sets.get(*set).map_or(&[][..], Vec::as_slice);
                    let class = KeyValue::new(ERROR_CLASS.key, class.clone());
                    to.observe(convert(Value::Count(*count)), &[&[class], base].concat());
                }
            }
        }));
        if told.is_err() {
            self.failed.fetch_add(1, Relaxed);
        }
    }

    /// One look at every cache and gate.
    fn look(&self) -> Reading {
        let (now, when) = self.looks.take(herdcache::process_totals);
        let (cache_configs, gate_configs) = herdcache::process_config();
        let cache_configs: HashMap<_, _> = cache_configs.iter().map(|config| (config.name.as_str(), config)).collect();
        let gate_configs: HashMap<_, _> = gate_configs.iter().map(|config| (config.name.as_str(), config)).collect();
        let (mut caches, mut gates) = (Seen::new(), Seen::new());
        for cache in &now.caches {
            let config = cache_configs.get(cache.name.as_str()).copied();
            let line = || line_of_cache(&CacheView { now: cache, config });
            place(self.caches.find(&cache.name), (&cache.name, cache.built), line, &mut caches);
        }
        for gate in &now.gates {
            let config = gate_configs.get(gate.name.as_str()).copied();
            let line = || line_of_gate(&GateView { now: gate, config });
            place(self.gates.find(&gate.name), (&gate.name, gate.built), line, &mut gates);
        }
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reading = Reading(folds.0.take(caches, when));
        reading.0.extend(folds.1.take(gates, when));
        let overflow = folds.0.ever(OTHER) + folds.1.ever(OTHER);
        drop(folds);
        let process = ProcessView { now: &now, overflow, failed: self.failed.load(Relaxed) };
        reading.0.push((Arc::clone(&self.process), line_of_process(&process)));
        reading
    }
}

/// Enters a line where its name leads.
fn place(named: Named, (name, built): (&str, u64), line: impl FnOnce() -> Line, seen: &mut Seen) {
    let (under, series) = match named {
        Named::Own(series) => (name, series),
        Named::Folded(series) => (OTHER, series),
        Named::Ignored => return,
    };
    let (_, lines) = seen.entry(under.to_owned()).or_insert_with(|| (series, HashMap::new()));
    lines.insert(built, line());
}

fn line_of_cache(cache: &CacheView<'_>) -> Line {
    line(|source, values| match source {
        Source::Cache(read) | Source::Both(read, _) => read(cache, values),
        Source::Gate(_) | Source::Process(_) | Source::OfCaches(_) | Source::OfGates(_) => {}
    })
}

fn line_of_gate(gate: &GateView<'_>) -> Line {
    line(|source, values| match source {
        Source::Gate(read) | Source::Both(_, read) => read(gate, values),
        Source::Cache(_) | Source::Process(_) | Source::OfCaches(_) | Source::OfGates(_) => {}
    })
}

fn line_of_process(process: &ProcessView<'_>) -> Line {
    line(|source, values| match source {
        Source::Process(read) => read(process, values),
        Source::Cache(_) | Source::Gate(_) | Source::Both(..) | Source::OfCaches(_) | Source::OfGates(_) => {}
    })
}

fn line(read: impl Fn(Source, &mut Values)) -> Line {
    let each = |metric: &crate::table::Metric| {
        let mut values = Values::default();
        read(metric.source, &mut values);
        values
    };
    metrics().iter().map(each).collect()
}

impl Recorder for State {
    fn record(&self, measured: &Measured<'_>) {
        let of = &self.histograms;
        let cache = |name: &str| series(self.caches.find(name));
        match *measured {
            Measured::Request { cache: name, outcome, took, waited, .. } => {
                let Some(series) = cache(name) else { return };
                of.request.record(took.as_secs_f64(), &series, outcome.index());
                if let Some(waited) = waited {
                    of.wait.record(waited.as_secs_f64(), &series, outcome.index());
                }
            }
            Measured::Flight { cache: name, end, took, waiters, .. } => {
                let Some(series) = cache(name) else { return };
                of.flight.record(took.as_secs_f64(), &series, end.index());
                of.waiters.record(waiters as f64, &series, 0);
            }
            Measured::Call { cache: name, result, took, connection, .. } => {
                let Some(series) = cache(name) else { return };
                of.call.record(took.as_secs_f64(), &series, result.index());
                if let Some(connection) = connection {
                    of.connection.record(connection.as_secs_f64(), &series, result.index());
                }
            }
            Measured::Permit { gate, class, result, waited, .. } => {
                let Some(series) = series(self.gates.find(gate)) else { return };
                let results = herdcache::herdfeed::PermitResult::all().len();
                of.permit.record(waited.as_secs_f64(), &series, class.index() * results + result.index());
            }
            Measured::Stale { cache: name, reason, past, of_bound, .. } => {
                let Some(series) = cache(name) else { return };
                of.stale_age.record(past.as_secs_f64(), &series, reason.index());
                of.stale_part.record(of_bound, &series, reason.index());
            }
            Measured::Shared { cache: name, operation, took, .. } => {
                let Some(series) = cache(name) else { return };
                of.shared.record(took.as_secs_f64(), &series, operation.index());
            }
            // A kind that a later engine tells and this crate has no histogram for.
            _ => {}
        }
    }
}

fn series(named: Named) -> Option<Arc<Series>> {
    match named {
        Named::Own(series) | Named::Folded(series) => Some(series),
        Named::Ignored => None,
    }
}
