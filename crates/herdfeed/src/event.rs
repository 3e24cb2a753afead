//! [`Event`]: one fact, with its time and severity.
//!
//! Events decorate the counters: losing some never corrupts the picture. Times are microseconds, as in a snapshot;
//! parts of a whole are 0..=1.

use serde::{Deserialize, Serialize};

use crate::words::{
    CircuitState, FlightEnd, FlightTrigger, LeaseLoss, MissCause, RejectReason, SharedOperation, SharedWrite,
};

/// How much a fact asks of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Worth acting on before it grows.
    Warn,
    /// Callers are being hurt.
    Critical,
}

/// One fact about a cache or a gate.
#[doc = include_str!("../docs/examples/event.md")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Place in the process's sequence of events; a gap means loss.
    pub seq: u64,
    /// When it happened, on the process's monotonic clock.
    pub mono_us: u64,
    /// When it happened, wall time.
    pub unix_us: u64,
    /// How much it asks of an operator.
    pub severity: Severity,
    /// The cache or gate it is about.
    pub subject: String,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// The end of a herd: what it was and what it would have cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HerdEnd {
    /// The flight's number.
    pub flight: u64,
    /// The key as the application lets it be seen.
    pub key: String,
    /// Why the value was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<MissCause>,
    /// What started the flight.
    pub trigger: FlightTrigger,
    /// Most requests that waited at once.
    pub peak: u64,
    /// Most loads of this key in progress at once; 1 while single-flight works.
    pub loads: u64,
    /// Origin calls that coalescing saved.
    pub avoided: u64,
    /// Requests that arrived each second while it flew.
    pub arrivals_per_s: f64,
    /// How long it flew.
    pub duration_us: u64,
    /// How it ended.
    pub end: FlightEnd,
    /// Time since the last herd of this key ended; 0 for the first.
    pub since_last_us: u64,
    /// Herds of this key in a row whose distance was about the same.
    pub repeats: u64,
}

/// What happened.
///
/// `kind` on the wire is the variant in snake case. A reader meets kinds that it
/// does not know as [`Fact::Unknown`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fact {
    /// A flight started (sampled).
    FlightStarted {
        /// The flight's number.
        flight: u64,
        /// The key as the application lets it be seen.
        key: String,
        /// What started it.
        trigger: FlightTrigger,
        /// Why it was needed, if a miss started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<MissCause>,
    },
    /// A flight ended (sampled; failures first).
    FlightLanded {
        /// The flight's number.
        flight: u64,
        /// The key as the application lets it be seen.
        key: String,
        /// How it ended.
        end: FlightEnd,
        /// Requests that waited for it at landing.
        waiters: u64,
        /// How long it flew.
        duration_us: u64,
    },
    /// Many requests wait for one flight.
    HerdStarted {
        /// The flight's number.
        flight: u64,
        /// The key as the application lets it be seen.
        key: String,
        /// Why the value was missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<MissCause>,
        /// What started the flight.
        trigger: FlightTrigger,
        /// Requests waiting when it was noticed.
        waiters: u64,
        /// Loads of this key in progress at once; 1 while single-flight works.
        loads: u64,
    },
    /// A herd's flight landed.
    HerdEnded(HerdEnd),
    /// Many distinct keys expired, or were invalidated, and load at once.
    Avalanche {
        /// Distinct keys that started loading within `within_us`.
        keys: u64,
        /// The span in which they did.
        within_us: u64,
    },
    /// The avalanche is over.
    AvalancheEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// Entries are removed to make room much faster than usual: capacity is too small.
    EvictionSurge {
        /// Evictions within the last 10 seconds.
        evictions: u64,
        /// Part of recent misses that eviction caused, 0..=1.
        miss_share: f64,
    },
    /// The surge is over.
    EvictionSurgeEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// Every permit is out and loads wait, or are refused.
    OriginSaturated {
        /// The gate's limit.
        limit: u64,
        /// Loads waiting.
        pending: u64,
        /// Refusals since it began.
        rejected: u64,
    },
    /// Permits are free again.
    OriginRelieved {
        /// How long it lasted.
        duration_us: u64,
    },
    /// The origin answers much more slowly than it used to.
    OriginSlow {
        /// 99th percentile of the last 10 seconds.
        p99_us: u64,
        /// Median of the 99th percentile over the last 5 minutes.
        usual_us: u64,
    },
    /// The origin is as fast as it used to be.
    OriginSlowEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// A large part of origin calls fails.
    OriginFailing {
        /// Failed part of the last 10 seconds' calls, 0..=1.
        ratio: f64,
        /// Calls in these 10 seconds.
        calls: u64,
    },
    /// Origin calls succeed again.
    OriginFailingEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// So many loads failed that the gate refuses new ones, except one probe at a time.
    OriginDown {
        /// Loads that failed within the gate's window, or since then.
        failed: u64,
        /// Loads that ended within the window, or since then.
        calls: u64,
    },
    /// A probe succeeded: the gate lets loads through again.
    OriginUp {
        /// How long it refused them.
        duration_us: u64,
    },
    /// The origin answers, but loads spend much of their time waiting for a connection.
    ConnectionsExhausted {
        /// Mean wait for a connection over the last 10 seconds.
        wait_us: u64,
        /// Mean duration of the whole origin call over the last 10 seconds.
        call_us: u64,
    },
    /// Connections are free again.
    ConnectionsExhaustedEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// Callers are being refused.
    Rejecting {
        /// Refusals within the last second.
        per_s: u64,
        /// The reason given most often.
        reason: RejectReason,
    },
    /// No caller has been refused for a while.
    RejectingEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// The cache is young and mostly empty.
    ColdStart {
        /// Hit ratio so far, 0..=1.
        hit_ratio: f64,
    },
    /// The cache is warm.
    ColdStartEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// Another key is now asked for most.
    HotKeyChanged {
        /// The key as the application lets it be seen.
        key: String,
        /// Its part of all requests, 0..=1.
        share: f64,
        /// Its requests per second.
        per_s: f64,
    },
    /// A value was answered close to its bound after a failed refresh.
    StaleBoundNear {
        /// The key as the application lets it be seen.
        key: String,
        /// Age ÷ bound, 0..=1.
        ratio: f64,
        /// Time left until values turn into errors.
        left_us: u64,
    },
    /// A refresh succeeded again.
    StaleBoundNearEnded {
        /// How long it lasted.
        duration_us: u64,
    },
    /// A second live cache was built under a name that is taken: two caches of one name coalesce nothing with
    /// each other. Build a cache once and clone its handle.
    DuplicateName {
        /// The name that both were given.
        name: String,
    },
    /// A setting was changed at run time.
    Tuned {
        /// What, and to which value.
        what: String,
    },
    /// So many operations on the shared tier failed that it is left alone, except for one probe at a time.
    SharedDown {
        /// The operation whose failure was the last straw.
        operation: SharedOperation,
        /// Operations that failed within the breaker's window.
        failed: u64,
        /// Operations that ended within the breaker's window.
        calls: u64,
    },
    /// A probe succeeded: the shared tier is in use again.
    SharedUp {
        /// How long it was left alone.
        duration_us: u64,
    },
    /// The circuit before the shared tier has changed.
    CircuitChanged {
        /// What it lets through from now on.
        state: CircuitState,
    },
    /// A process lost the right to load a key before its load had ended.
    LeaseLost {
        /// The key as the application lets it be seen.
        key: String,
        /// How.
        loss: LeaseLoss,
    },
    /// The shared tier refused a value, since something newer was there.
    WriteRefused {
        /// The key as the application lets it be seen.
        key: String,
        /// What was newer.
        write: SharedWrite,
    },
    /// A kind that this reader does not know.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_kind_is_read_as_unknown() {
        let line = r#"{"seq":1,"mono_us":2,"unix_us":3,"severity":"info","subject":"c","kind":"meteor","size":9}"#;
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(event.fact, Fact::Unknown);
    }

    #[test]
    fn an_event_survives_the_wire() {
        let event = Event {
            seq: 7,
            mono_us: 1,
            unix_us: 2,
            severity: Severity::Warn,
            subject: "users".into(),
            fact: Fact::HerdEnded(HerdEnd {
                flight: 3,
                key: "k".into(),
                cause: Some(MissCause::Expired),
                trigger: FlightTrigger::Miss,
                peak: 812,
                loads: 1,
                avoided: 812,
                arrivals_per_s: 10.5,
                duration_us: 4,
                end: FlightEnd::Loaded,
                since_last_us: 5,
                repeats: 6,
            }),
        };
        let text = serde_json::to_string(&event).unwrap();
        assert!(text.contains(r#""kind":"herd_ended""#), "{text}");
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
