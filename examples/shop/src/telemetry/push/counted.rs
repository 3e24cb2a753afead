//! An exporter whose exports end in time and are counted.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use tokio::runtime::Handle;

use super::delivery::Delivery;

/// Another exporter, with a limit and an account.
#[derive(Debug)]
pub(super) struct Counted<E> {
    inner: E,
    limit: Duration,
    /// Whose clock the limit runs by.
    handle: Option<Handle>,
    delivery: Arc<Delivery>,
}

impl<E> Counted<E> {
    pub(super) fn new(inner: E, limit: Duration, handle: Option<Handle>, delivery: Arc<Delivery>) -> Self {
        Self { inner, limit, handle, delivery }
    }

    /// `sending`, which is given up at the limit.
    ///
    /// The thread that polls it belongs to the SDK and has no runtime: the timer is made in ours. A client that blocks (that
    /// of HTTP does) cannot be given up and has the same limit itself.
    async fn in_time(&self, sending: impl Future<Output = OTelSdkResult>) -> OTelSdkResult {
        let Some(handle) = &self.handle else { return sending.await };
        let sending = {
            let _within = handle.enter();
            tokio::time::timeout(self.limit, sending)
        };
        sending.await.unwrap_or(Err(OTelSdkError::Timeout(self.limit)))
    }
}

impl<E: PushMetricExporter> PushMetricExporter for Counted<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.delivery.hand_over(1);
        self.delivery.attempt();
        let ended = self.in_time(self.inner.export(metrics)).await;
        self.delivery.attempted(1, &ended);
        ended
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.inner.temporality()
    }
}

impl<E: SpanExporter> SpanExporter for Counted<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        // They were handed over when they ended: some may have found the queue full.
        let count = batch.len() as u64;
        self.delivery.attempt();
        let ended = self.in_time(self.inner.export(batch)).await;
        self.delivery.attempted(count, &ended);
        ended
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
