//! The words of the shared tier and of the lease.

use std::fmt;

use super::ClosedSet;

closed_set! {
    /// What a cache asks of the shared tier and of the lease: each is one round trip.
    SharedOperation {
        /// Value, remaining time and lease of a key, or of all keys of a batch.
        Read = "read",
        /// Storing a value.
        Write = "write",
        /// Removing a value, which leaves a tombstone.
        Remove = "remove",
        /// Trying once for a lease.
        Acquire = "acquire",
        /// Making a lease last longer.
        Renew = "renew",
        /// Giving a lease back.
        Release = "release",
    }
}

closed_set! {
    /// What one read of the shared tier found.
    #[doc = include_str!("../../docs/examples/shared_read.md")]
    SharedRead {
        /// A fresh value.
        Hit = "hit",
        /// A value past freshness.
        Stale = "stale",
        /// The knowledge that there is no such thing.
        Negative = "negative",
        /// Nothing that could be used.
        Miss = "miss",
        /// No answer in time.
        Timeout = "timeout",
        /// It could not be reached, or refused. Never a miss.
        ConnectionError = "connection_error",
        /// Not asked: the circuit was open.
        BreakerOpen = "breaker_open",
        /// Bytes that are corrupt, foreign, or of a later version.
        DecodeError = "decode_error",
        /// Bytes that belong to another key.
        KeyMismatch = "key_mismatch",
    }
}

closed_set! {
    /// What became of a value that was to be written to the shared tier.
    SharedWrite {
        /// Stored.
        Stored = "stored",
        /// A newer source version is there.
        RefusedVersion = "refused_version",
        /// A newer fencing token is there: a later load, a write or an invalidation.
        RefusedFence = "refused_fence",
        /// No answer in time.
        Timeout = "timeout",
        /// It could not be reached, or refused.
        ConnectionError = "connection_error",
        /// Not asked: the circuit was open.
        BreakerOpen = "breaker_open",
        /// Not asked: an earlier operation of the same flight had failed, or an invalidation of the key waits.
        SkippedAfterFault = "skipped_after_fault",
        /// Larger than a shared value may be.
        TooLarge = "too_large",
        /// It, or its key, could not be encoded.
        EncodeError = "encode_error",
    }
}

closed_set! {
    /// How one try for a lease ended.
    LeaseResult {
        /// This process has it.
        Acquired = "acquired",
        /// Another process has it.
        Held = "held",
        /// Nobody could say: the load goes on under this process's own protection.
        Unavailable = "unavailable",
        /// Not tried: a fault before, or another process's lease that must not be waited for.
        Skipped = "skipped",
    }
}

closed_set! {
    /// How a lease was lost before its load had ended.
    LeaseLoss {
        /// It was over when it was to be renewed.
        Expired = "expired",
        /// The write was refused, since a newer fencing token was there.
        Fenced = "fenced",
        /// It had been renewed as often as it may be.
        RenewLimit = "renew_limit",
    }
}

closed_set! {
    /// What a follower found when it looked again.
    LeasePoll {
        /// The holder's value.
        Found = "found",
        /// The lease is still held.
        Waiting = "waiting",
        /// No value and no lease: it tries to be the successor.
        Successor = "successor",
        /// It follows no longer.
        GaveUp = "gave_up",
    }
}

impl SharedRead {
    /// Whether the tier answered at all.
    pub fn is_answer(self) -> bool {
        match self {
            Self::Hit | Self::Stale | Self::Negative | Self::Miss | Self::DecodeError | Self::KeyMismatch => true,
            Self::Timeout | Self::ConnectionError | Self::BreakerOpen => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    /// T4: these labels are those of metrics; a change here is a change of the wire.
    #[test]
    fn t4_labels_are_stable() {
        check::<SharedOperation>(&["read", "write", "remove", "acquire", "renew", "release"]);
        check::<SharedRead>(&[
            "hit",
            "stale",
            "negative",
            "miss",
            "timeout",
            "connection_error",
            "breaker_open",
            "decode_error",
            "key_mismatch",
        ]);
        check::<SharedWrite>(&[
            "stored",
            "refused_version",
            "refused_fence",
            "timeout",
            "connection_error",
            "breaker_open",
            "skipped_after_fault",
            "too_large",
            "encode_error",
        ]);
        check::<LeaseResult>(&["acquired", "held", "unavailable", "skipped"]);
        check::<LeaseLoss>(&["expired", "fenced", "renew_limit"]);
        check::<LeasePoll>(&["found", "waiting", "successor", "gave_up"]);
    }
}
