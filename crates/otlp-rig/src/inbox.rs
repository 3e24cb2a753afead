//! What a collector has received, in the order in which it came.

use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use parking_lot::{Condvar, Mutex};

use crate::points::{Batch, batches};
use crate::spans::{Span, spans};

/// Most requests that are kept. A collector that is full says so to the sender, which may try again.
pub const LIMIT: usize = 1_000;

/// Why a collector takes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no room; a sender may try again.
    Full,
    /// It has too much to do: `RESOURCE_EXHAUSTED`, 429.
    Exhausted,
    /// It is broken: `INTERNAL`, 500.
    Broken,
}

#[derive(Debug, Default)]
struct Requests {
    metrics: Vec<ExportMetricsServiceRequest>,
    traces: Vec<ExportTraceServiceRequest>,
    raw: Vec<Vec<u8>>,
    refusal: Option<Refusal>,
    refused: u64,
}

/// What a collector has received.
#[derive(Debug, Default)]
pub struct Inbox {
    requests: Mutex<Requests>,
    came: Condvar,
}

impl Inbox {
    pub(crate) fn put_metrics(&self, request: ExportMetricsServiceRequest) -> Result<(), Refusal> {
        self.put(|requests| requests.metrics.push(request))
    }

    pub(crate) fn put_spans(&self, request: ExportTraceServiceRequest) -> Result<(), Refusal> {
        self.put(|requests| requests.traces.push(request))
    }

    fn put(&self, push: impl FnOnce(&mut Requests)) -> Result<(), Refusal> {
        let mut requests = self.requests.lock();
        let is_full = requests.metrics.len() + requests.traces.len() >= LIMIT;
        if let Some(refusal) = requests.refusal.or(is_full.then_some(Refusal::Full)) {
            requests.refused += 1;
            return Err(refusal);
        }
        push(&mut requests);
        drop(requests);
        self.came.notify_all();
        Ok(())
    }

    /// What a request looked like before anybody understood it.
    pub(crate) fn put_raw(&self, request: Vec<u8>) {
        let mut requests = self.requests.lock();
        if requests.raw.len() < LIMIT {
            requests.raw.push(request);
        }
    }

    /// Takes nothing from now on, and says so.
    pub fn refuse(&self, refusal: Refusal) {
        self.requests.lock().refusal = Some(refusal);
    }

    /// Requests that were refused.
    pub fn refused(&self) -> u64 {
        self.requests.lock().refused
    }

    /// Each request as it came, of either signal, refused or not: its head as text, a line's end, and the bytes of its body,
    /// compressed if they were.
    pub fn raw(&self) -> Vec<Vec<u8>> {
        self.requests.lock().raw.clone()
    }

    /// Every collection of metrics, one for each resource of each request.
    pub fn batches(&self) -> Vec<Batch> {
        self.requests.lock().metrics.iter().flat_map(batches).collect()
    }

    /// The last collection of metrics; empty if none came.
    pub fn last(&self) -> Batch {
        self.requests.lock().metrics.last().map(batches).and_then(|mut batches| batches.pop()).unwrap_or_default()
    }

    /// Every span.
    pub fn spans(&self) -> Vec<Span> {
        self.requests.lock().traces.iter().flat_map(spans).collect()
    }

    /// Waits until `done` gives something, at most `most`; asked again whenever something comes.
    pub fn wait<T>(&self, most: Duration, done: impl Fn(&Self) -> Option<T>) -> Option<T> {
        let until = Instant::now() + most;
        loop {
            let before = self.count();
            if let Some(found) = done(self) {
                return Some(found);
            }
            let mut requests = self.requests.lock();
            while requests.metrics.len() + requests.traces.len() == before {
                if self.came.wait_until(&mut requests, until).timed_out() {
                    return None;
                }
            }
        }
    }

    fn count(&self) -> usize {
        let requests = self.requests.lock();
        requests.metrics.len() + requests.traces.len()
    }
}
