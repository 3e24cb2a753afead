//! The closed sets: every word the account may use.
//!
//! Each enum here is the single source of its labels. Counters are arrays
//! indexed by it, JSON objects are keyed by it, screens and dashboards match it
//! without a `_` arm, so that a new value breaks the build in every place that
//! has to learn it.

use std::fmt;

/// A set of labels that is known in full at compile time.
///
/// `index` and `all` agree: `Self::all()[v.index()] == v`.
#[doc = include_str!("../docs/examples/closed_set.md")]
pub trait ClosedSet: Copy + Eq + fmt::Debug + 'static {
    /// Every value, in the order of `index`.
    fn all() -> &'static [Self];
    /// Position of this value in [`ClosedSet::all`].
    fn index(self) -> usize;
    /// The word used on the wire, in metrics and in docs.
    fn label(self) -> &'static str;
    /// The value whose label this is, if any.
    fn from_label(label: &str) -> Option<Self> {
        Self::all().iter().copied().find(|value| value.label() == label)
    }
}

/// Declares an enum together with its labels, so that the two cannot differ.
macro_rules! closed_set {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $label:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $label)] $variant,)+ }

        impl ClosedSet for $name {
            fn all() -> &'static [Self] { &[$(Self::$variant),+] }
            fn index(self) -> usize { self as usize }
            fn label(self) -> &'static str { match self { $(Self::$variant => $label),+ } }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.label()) }
        }
    };
}

mod shared;

pub use shared::{LeaseLoss, LeasePoll, LeaseResult, SharedOperation, SharedRead, SharedWrite};

closed_set! {
    /// How a request ended. Every request ends in exactly one of these, also
    /// when its future is dropped.
    #[doc = include_str!("../docs/examples/outcome.md")]
    Outcome {
        /// A fresh value was in a tier, or had just landed when the caller looked again.
        Hit = "hit",
        /// A value past freshness but within its hard bound.
        Stale = "stale",
        /// A value past its hard bound, answered because no load could help.
        Reserve = "reserve",
        /// A cached "does not exist".
        Negative = "negative",
        /// This caller's own flight brought the answer (leader).
        Loaded = "loaded",
        /// Another caller's flight brought the answer (waiter).
        Coalesced = "coalesced",
        /// Refused to protect the origin (load shedding).
        Rejected = "rejected",
        /// Refused because the key's last load failed a moment ago.
        Cooling = "cooling",
        /// The load failed and nothing older could be answered.
        Failed = "failed",
        /// The caller's own wait timeout passed; the load goes on.
        TimedOut = "timed_out",
        /// The caller's future was dropped before its answer.
        Cancelled = "cancelled",
        /// A degraded value from the fallback hook.
        Fallback = "fallback",
        /// A look without a load found nothing.
        PeekMiss = "peek_miss",
        /// The cache was shut down.
        Closed = "closed",
    }
}

impl Outcome {
    /// Whether the caller got what it asked for. `None` for a cancelled caller,
    /// who is counted neither way.
    ///
    /// A fallback value is degraded and counts as a failure here.
    pub fn is_success(self) -> Option<bool> {
        match self {
            Self::Hit | Self::Stale | Self::Reserve | Self::Negative | Self::Loaded | Self::Coalesced => Some(true),
            Self::Cancelled => None,
            Self::Rejected
            | Self::Cooling
            | Self::Failed
            | Self::TimedOut
            | Self::Fallback
            | Self::PeekMiss
            | Self::Closed => Some(false),
        }
    }
}

closed_set! {
    /// Why the local tier had nothing it could answer.
    #[doc = include_str!("../docs/examples/miss_cause.md")]
    MissCause {
        /// Not seen before, or forgotten too long ago to say.
        Cold = "cold",
        /// Its time ran out.
        Expired = "expired",
        /// It was removed to make room: the cure is capacity, not TTL.
        Evicted = "evicted",
        /// It was invalidated.
        Invalidated = "invalidated",
        /// It was written by another schema or source version.
        Version = "version",
    }
}

closed_set! {
    /// What started a flight.
    FlightTrigger {
        /// A caller found nothing it could be answered with.
        Miss = "miss",
        /// A caller was answered with a stale value.
        Stale = "stale",
        /// Refresh-ahead (`XFetch`) chose to reload before expiry.
        Early = "early",
        /// The application asked for a refresh.
        Forced = "forced",
        /// Warm-up.
        Warmup = "warmup",
        /// A batch read.
        Batch = "batch",
    }
}

closed_set! {
    /// How a flight ended. Every flight ends in exactly one of these.
    #[doc = include_str!("../docs/examples/flight_end.md")]
    FlightEnd {
        /// The origin gave a value and it was stored.
        Loaded = "loaded",
        /// The origin said that the old value still holds.
        NotModified = "not_modified",
        /// The origin said that there is no such thing.
        Absent = "absent",
        /// The shared tier had it.
        SharedHit = "shared_hit",
        /// Another process loaded it.
        Followed = "followed",
        /// The origin gave a value and it was not stored; see [`DiscardReason`].
        Discarded = "discarded",
        /// The origin gave an error.
        Failed = "failed",
        /// The flight deadline passed.
        Deadline = "deadline",
        /// The loader panicked.
        Panicked = "panicked",
        /// The gate refused it.
        Rejected = "rejected",
        /// Everyone left, or its runtime ended, before it had an answer.
        Abandoned = "abandoned",
        /// The cache was shut down.
        Closed = "closed",
    }
}

closed_set! {
    /// Why a request or a flight was refused.
    #[doc = include_str!("../docs/examples/reject_reason.md")]
    RejectReason {
        /// The gate's queue was full.
        QueueFull = "queue_full",
        /// No permit came within the queue timeout.
        QueueTimeout = "queue_timeout",
        /// The flight deadline passed in the queue.
        Deadline = "deadline",
        /// The cache had its largest number of flights.
        FlightsFull = "flights_full",
        /// The flight had its largest number of waiters.
        WaitersFull = "waiters_full",
        /// The group (tenant) had used its share.
        GroupShare = "group_share",
        /// The gate's fail-fast was open.
        OriginDown = "origin_down",
    }
}

closed_set! {
    /// Why a value past freshness was answered.
    StaleReason {
        /// A refresh runs or has been asked for.
        Revalidating = "revalidating",
        /// The key cools after a failed load.
        Cooling = "cooling",
        /// The load was refused.
        Rejected = "rejected",
        /// The load took longer than the soft timeout.
        SoftTimeout = "soft_timeout",
        /// Another process loads it.
        LeaseHeld = "lease_held",
        /// The load failed.
        Error = "error",
    }
}

closed_set! {
    /// Why an entry left the store. It leaves once, under one cause.
    RemovalCause {
        /// Past its bound when it left, whoever removed it.
        Expired = "expired",
        /// Removed to make room.
        Evicted = "evicted",
        /// Invalidated.
        Invalidated = "invalidated",
        /// Overwritten by a newer value.
        Replaced = "replaced",
    }
}

closed_set! {
    /// Why a load's value was not stored.
    DiscardReason {
        /// The key was invalidated while it was being loaded.
        Invalidated = "invalidated",
        /// A newer value was written while it was being loaded.
        NewerWrite = "newer_write",
        /// The store holds a newer source version.
        OlderVersion = "older_version",
        /// The lease was lost before the write.
        LeaseLost = "lease_lost",
        /// It was past its bound when it arrived, or came after the flight deadline.
        TooOld = "too_old",
        /// Larger than an entry may be.
        Oversize = "oversize",
        /// It could not be encoded.
        EncodeError = "encode_error",
        /// The loader asked not to store it.
        DoNotStore = "do_not_store",
        /// A batch call brought it for a key that it was not asked for, or had brought already.
        NotAsked = "not_asked",
    }
}

closed_set! {
    /// How one origin call ended.
    OriginResult {
        /// A value.
        Value = "value",
        /// There is no such thing.
        Absent = "absent",
        /// The old value still holds.
        NotModified = "not_modified",
        /// An error.
        Error = "error",
        /// Longer than it may take.
        Timeout = "timeout",
        /// The loader panicked.
        Panicked = "panicked",
        /// Given up before it ended: nobody waited any more, or its cache or runtime was shut down. No failure of the origin.
        Abandoned = "abandoned",
    }
}

closed_set! {
    /// How one background refresh ended.
    RefreshResult {
        /// A new value was stored.
        Stored = "stored",
        /// The old value still holds.
        NotModified = "not_modified",
        /// The new value was not stored.
        Discarded = "discarded",
        /// The load failed.
        Failed = "failed",
        /// The flight deadline passed.
        Deadline = "deadline",
        /// No permit was free: skipped, the next read tries again.
        SkippedNoPermit = "skipped_no_permit",
        /// The key cools.
        SkippedCooling = "skipped_cooling",
    }
}

closed_set! {
    /// Which share of a gate a permit is taken from.
    PermitClass {
        /// A caller waits for it.
        Foreground = "foreground",
        /// A background refresh.
        Refresh = "refresh",
        /// Warm-up.
        Warmup = "warmup",
    }
}

closed_set! {
    /// How a wait for a permit ended.
    PermitResult {
        /// Granted.
        Granted = "granted",
        /// The queue was full.
        QueueFull = "queue_full",
        /// The queue timeout passed.
        QueueTimeout = "queue_timeout",
        /// The flight deadline passed.
        Deadline = "deadline",
        /// Given up: the cache was shut down, nobody waits any more, or the permit of a load above came first.
        Closed = "closed",
        /// The group (tenant) had used its share of the queue.
        GroupShare = "group_share",
        /// The gate's fail-fast was open, or opened meanwhile.
        OriginDown = "origin_down",
    }
}

closed_set! {
    /// What a circuit that fails fast lets through.
    CircuitState {
        /// Everything: it works.
        Closed = "closed",
        /// Nothing but a probe, which is on its way.
        HalfOpen = "half_open",
        /// Nothing until the next probe.
        Open = "open",
    }
}

closed_set! {
    /// A countermeasure against herds that a cache can apply.
    Measure {
        /// Different soft TTLs for entries written together.
        Jitter = "jitter",
        /// One load per key at a time.
        SingleFlight = "singleflight",
        /// Stale-while-revalidate.
        Stale = "stale",
        /// Refresh-ahead (`XFetch`).
        Early = "early",
        /// Bounded concurrency at the origin, with a bounded queue.
        Permits = "permits",
    }
}

closed_set! {
    /// How far the protection of a cache reaches.
    ProtectionLevel {
        /// One load per key in the whole fleet (a lease is in use).
        Cluster = "cluster",
        /// One load per key in each process.
        Process = "process",
        /// A lease is configured but cannot be reached.
        Degraded = "degraded",
        /// One or more measures are switched off.
        Observe = "observe",
    }
}

closed_set! {
    /// Where a value came from.
    #[doc = include_str!("../docs/examples/tier.md")]
    Tier {
        /// This process.
        Local = "local",
        /// Redis or Valkey.
        Shared = "shared",
    }
}

closed_set! {
    /// A law that is checked while a cache runs.
    Law {
        /// No more permits are out than there are.
        L3 = "L3",
        /// No value is answered beyond its last bound.
        L4 = "L4",
        /// No load stores a value without being registered.
        L5 = "L5",
    }
}

closed_set! {
    /// A caller's part in a flight.
    FlightRole {
        /// Opened it.
        Leader = "leader",
        /// Joined it.
        Waiter = "waiter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn check<E: ClosedSet>(expected: &[&str]) {
        let labels: Vec<_> = E::all().iter().map(|v| v.label()).collect();
        assert_eq!(labels, expected);
        for (position, value) in E::all().iter().enumerate() {
            assert_eq!(value.index(), position);
            assert_eq!(E::from_label(value.label()), Some(*value));
        }
        assert_eq!(E::from_label("no such label"), None);
    }

    /// L1: the ledger's words are fixed; a change here is a change of the wire.
    #[test]
    fn l1_labels_are_stable() {
        check::<Outcome>(&[
            "hit",
            "stale",
            "reserve",
            "negative",
            "loaded",
            "coalesced",
            "rejected",
            "cooling",
            "failed",
            "timed_out",
            "cancelled",
            "fallback",
            "peek_miss",
            "closed",
        ]);
        check::<MissCause>(&["cold", "expired", "evicted", "invalidated", "version"]);
        check::<FlightTrigger>(&["miss", "stale", "early", "forced", "warmup", "batch"]);
        check::<FlightEnd>(&[
            "loaded",
            "not_modified",
            "absent",
            "shared_hit",
            "followed",
            "discarded",
            "failed",
            "deadline",
            "panicked",
            "rejected",
            "abandoned",
            "closed",
        ]);
        check::<RejectReason>(&[
            "queue_full",
            "queue_timeout",
            "deadline",
            "flights_full",
            "waiters_full",
            "group_share",
            "origin_down",
        ]);
        check::<StaleReason>(&["revalidating", "cooling", "rejected", "soft_timeout", "lease_held", "error"]);
        check::<RemovalCause>(&["expired", "evicted", "invalidated", "replaced"]);
        check::<DiscardReason>(&[
            "invalidated",
            "newer_write",
            "older_version",
            "lease_lost",
            "too_old",
            "oversize",
            "encode_error",
            "do_not_store",
            "not_asked",
        ]);
        check::<OriginResult>(&["value", "absent", "not_modified", "error", "timeout", "panicked", "abandoned"]);
        check::<RefreshResult>(&[
            "stored",
            "not_modified",
            "discarded",
            "failed",
            "deadline",
            "skipped_no_permit",
            "skipped_cooling",
        ]);
        check::<PermitClass>(&["foreground", "refresh", "warmup"]);
        check::<PermitResult>(&[
            "granted",
            "queue_full",
            "queue_timeout",
            "deadline",
            "closed",
            "group_share",
            "origin_down",
        ]);
        check::<CircuitState>(&["closed", "half_open", "open"]);
        check::<Measure>(&["jitter", "singleflight", "stale", "early", "permits"]);
        check::<ProtectionLevel>(&["cluster", "process", "degraded", "observe"]);
        check::<Tier>(&["local", "shared"]);
        check::<Law>(&["L3", "L4", "L5"]);
        check::<FlightRole>(&["leader", "waiter"]);
    }
}
