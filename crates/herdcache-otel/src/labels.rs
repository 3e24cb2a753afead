//! Attributes, each with the closed set of values that it may have.
//!
//! The sets are those of the account, so that a word that is added there appears
//! here. Nothing in this crate can make an attribute out of anything else but the
//! names of caches and gates.

use herdcache::herdfeed::OTHER_ERROR;
use herdcache::herdfeed::words::{
    CircuitState, ClosedSet, DiscardReason, FlightEnd, FlightRole, FlightTrigger, Law, LeaseLoss, LeasePoll,
    LeaseResult, MissCause, OriginResult, Outcome, PermitClass, PermitResult, ProtectionLevel, RefreshResult,
    RejectReason, RemovalCause, SharedOperation, SharedRead, SharedWrite, StaleReason, Tier,
};

/// The attribute that names a cache.
pub const CACHE: &str = "herdcache.name";
/// The attribute that names a gate.
pub const GATE: &str = "herdcache.gate.name";
/// The name that caches and gates beyond the limit share; no cache or gate can be called so.
pub const OTHER: &str = "~other";

/// An attribute of a metric, beside the name of its cache or gate.
///
/// ```
/// use herdcache_otel::{Attribute, metrics};
/// let of = |name: &str| metrics().iter().find(|metric| metric.name == name).map(|metric| metric.attributes[0]);
/// let outcome: Attribute = of("herdcache.requests").ok_or("it is there")?;
/// assert_eq!((outcome.key, outcome.values().len()), ("herdcache.request.outcome", 14));
/// assert!(outcome.values().contains(&"coalesced") && !outcome.is_named_by_application());
/// assert_eq!(outcome.prometheus(), "herdcache_request_outcome"); // the label
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy)]
pub struct Attribute {
    /// Its key.
    pub key: &'static str,
    values: fn() -> Vec<&'static str>,
    /// Whether the application names further values when it builds a cache.
    named: bool,
}

impl Attribute {
    /// Every value that it may have.
    pub fn values(&self) -> Vec<&'static str> {
        (self.values)()
    }

    /// Whether it may also have the values, at most 16, that the application gives a cache at its build
    /// ([`Builder::error_classes`](herdcache::Builder::error_classes)).
    pub fn is_named_by_application(&self) -> bool {
        self.named
    }

    /// Its label in Prometheus.
    pub fn prometheus(&self) -> String {
        self.key.replace('.', "_")
    }
}

impl std::fmt::Debug for Attribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attribute").field("key", &self.key).field("values", &self.values()).finish_non_exhaustive()
    }
}

fn labels<E: ClosedSet>() -> Vec<&'static str> {
    E::all().iter().map(|value| value.label()).collect()
}

macro_rules! attributes {
    ($($name:ident = $key:literal: $values:expr;)+) => {
        $(pub(crate) const $name: Attribute = Attribute { key: $key, values: $values, named: false };)+
    };
}

attributes! {
    OUTCOME = "herdcache.request.outcome": labels::<Outcome>;
    TIER = "herdcache.tier": labels::<Tier>;
    MISS_CAUSE = "herdcache.miss.cause": labels::<MissCause>;
    REMOVAL_CAUSE = "herdcache.removal.cause": labels::<RemovalCause>;
    TRIGGER = "herdcache.flight.trigger": labels::<FlightTrigger>;
    END = "herdcache.flight.end": labels::<FlightEnd>;
    ROLE = "herdcache.flight.role": labels::<FlightRole>;
    ORIGIN_RESULT = "herdcache.origin.result": labels::<OriginResult>;
    CLASS = "herdcache.permit.class": labels::<PermitClass>;
    PERMIT_RESULT = "herdcache.permit.result": labels::<PermitResult>;
    REJECT_REASON = "herdcache.reject.reason": labels::<RejectReason>;
    STALE_REASON = "herdcache.stale.reason": labels::<StaleReason>;
    REFRESH_RESULT = "herdcache.refresh.result": labels::<RefreshResult>;
    DISCARD_REASON = "herdcache.discard.reason": labels::<DiscardReason>;
    SHARED_READ = "herdcache.shared.read": labels::<SharedRead>;
    SHARED_WRITE = "herdcache.shared.write": labels::<SharedWrite>;
    OPERATION = "herdcache.shared.operation": labels::<SharedOperation>;
    CIRCUIT = "herdcache.circuit.state": labels::<CircuitState>;
    PROTECTION = "herdcache.protection.level": labels::<ProtectionLevel>;
    LEASE_RESULT = "herdcache.lease.result": labels::<LeaseResult>;
    LEASE_LOSS = "herdcache.lease.loss": labels::<LeaseLoss>;
    LEASE_POLL = "herdcache.lease.poll": labels::<LeasePoll>;
    LAW = "herdcache.law": labels::<Law>;
    DIRECTION = "herdcache.direction": || vec!["local", "sent", "lost"];
    RANK = "herdcache.hot_key.rank": || vec!["1", "2", "3", "4", "5"];
    TIER_FAULT = "error.type": || vec!["timeout", "connection_error", "refused"];
}

/// The class of an origin's error.
pub(crate) const ERROR_CLASS: Attribute = Attribute { key: "error.type", values: || vec![OTHER_ERROR], named: true };
