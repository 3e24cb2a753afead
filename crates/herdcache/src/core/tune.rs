//! Tuning a running cache, and the settings in force for the feed.

use std::time::Duration;

use herdfeed::{CacheConfig, Fact, Severity, TunedNow};

use super::Core;
use crate::clock;
use crate::config::ConfigError;
use crate::events;
use crate::key::Key;
use crate::measures::Switch;
use crate::store::Store;
use crate::trace;
use crate::tuning::Tuning;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// A6: changes what is wanted and tells of each change.
    pub(crate) fn tune(&self, tuning: Tuning) -> Result<(), ConfigError> {
        let now = clock::exact();
        let tuned = self.in_force.change(&self.name, tuning, |what| {
            events::tell(&self.name, Severity::Info, now, Fact::Tuned { what });
        });
        trace::say();
        tuned
    }

    /// The settings in force that tuning may change.
    pub(super) fn tuned(&self) -> TunedNow {
        let (stale_ns, last_ns) = self.in_force.past();
        let built = &self.settings.ttl;
        TunedNow {
            stale_ms: stale_ns / 1_000_000,
            stale_if_error_ms: last_ns / 1_000_000,
            refresh_off: self.in_force.refresh() == Switch::Off,
            built_stale_ms: Some(ms(built.stale_for)),
            built_stale_if_error_ms: Some(ms(built.last_for())),
        }
    }

    /// Effective settings, for the feed.
    pub(crate) fn config(&self) -> CacheConfig {
        let settings = &self.settings;
        let (shared, lease) = self.shared.as_ref().map_or((None, None), |tiers| {
            let (shared, lease) = tiers.config();
            (Some(shared), lease)
        });
        let (tuned, (most_stale, most_last)) = (self.tuned(), self.in_force.most());
        CacheConfig {
            name: self.name.clone(),
            gate: self.gate.name().to_owned(),
            store: settings.store.label().to_owned(),
            capacity: settings.capacity,
            fresh_ms: ms(settings.ttl.fresh_for),
            stale_ms: tuned.stale_ms,
            stale_if_error_ms: tuned.stale_if_error_ms,
            tunable_stale_ms: ms(most_stale),
            tunable_stale_if_error_ms: ms(most_last),
            refresh_off: tuned.refresh_off,
            jitter: settings.jitter,
            early_refresh: settings.early_refresh,
            soft_timeout_ms: settings.soft_timeout.map(ms),
            origin_timeout_ms: ms(settings.origin_timeout),
            flight_deadline_ms: ms(settings.flight_deadline),
            negative_ttl_ms: ms(settings.negative_ttl),
            cooling_base_ms: ms(settings.cooling_base),
            cooling_cap_ms: ms(settings.cooling_cap),
            max_flights: settings.max_flights as u64,
            max_waiters: settings.max_waiters as u64,
            group_share: self.groups.as_ref().map(|groups| groups.share),
            when_unwatched: settings.when_unwatched.label().to_owned(),
            fallback: self.fallback.get().is_some(),
            keys: self.names.view().label().to_owned(),
            shared,
            lease,
        }
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
