//! The shop pushes OTLP, over gRPC and over HTTP, to collectors in this process that are well and to some that are not.

mod callers;
mod end;
mod names;

use std::sync::{Mutex, MutexGuard, PoisonError};

use shop::Settings;
use shop::cli::TelemetryArgs;
use shop::telemetry::Telemetry;
use shop::telemetry::destination::Destination;
use tokio::runtime::{Builder, Runtime};

use crate::support::Running;

/// One test at a time: whoever observes a process sees all of its caches, and no more than a few may.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A runtime with one thread, and one with several.
fn runtimes() -> [(&'static str, Runtime); 2] {
    let current = Builder::new_current_thread().enable_all().build().unwrap();
    let several = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    [("current-thread", current), ("multi-thread", several)]
}

/// A shop that pushes to `url`. Nothing is pushed by itself within a test: the interval is a minute.
async fn pushing(url: &str, change: impl FnOnce(&mut Settings)) -> (Running, Telemetry) {
    let args = TelemetryArgs { otlp: Some(Destination::parse(url).unwrap()), ..TelemetryArgs::default() };
    Running::start_seen(change, |shop| Telemetry::start(shop, &args).unwrap().unwrap()).await
}

/// Ends so many spans, as requests would.
fn make_spans(telemetry: &Telemetry, count: u64) {
    tracing::dispatcher::with_default(telemetry.dispatch().unwrap(), || {
        for number in 0..count {
            tracing::info_span!(target: "shop", "of a test", number).in_scope(|| {});
        }
    });
}
