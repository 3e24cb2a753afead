//! What stands for pushing OTLP in a build without it: nothing is ever pushed.

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::MeterProviderBuilder;
use tracing::Dispatch;

use super::end::Limit;
use super::{Deliveries, TelemetryArgs, TelemetryError};

/// There is none.
pub(super) enum Push {}

impl Push {
    #[expect(clippy::unnecessary_wraps, reason = "one signature with and without the feature")]
    pub(super) fn start(
        _args: &TelemetryArgs,
        _resource: &Resource,
        meters: MeterProviderBuilder,
    ) -> Result<(MeterProviderBuilder, Option<Self>), TelemetryError> {
        Ok((meters, None))
    }

    pub(super) fn dispatch(&self) -> Option<&Dispatch> {
        match *self {}
    }

    pub(super) fn end_traces(&mut self, _limit: Limit) {
        match *self {}
    }

    pub(super) fn end(self) -> Deliveries {
        match self {}
    }
}
