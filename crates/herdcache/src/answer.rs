//! [`Answer`]: a value together with what is known of it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::{Outcome, Tier};

use crate::clock::Moment;
use crate::entry::Entry;

/// A value from the cache. Derefs to `V`.
///
/// Facts are associated functions, so that they never hide the value's own
/// methods: `Answer::age(&answer)`.
///
/// It is not `Serialize`: what a handler writes is the value, `Json(&*answer)`.
pub struct Answer<V: Send + Sync + 'static> {
    entry: Arc<Entry<V>>,
    outcome: Outcome,
    at: Moment,
    tier: Tier,
}

impl<V: Send + Sync + 'static> Answer<V> {
    #[inline]
    pub(crate) fn new(entry: Arc<Entry<V>>, outcome: Outcome, at: Moment) -> Self {
        Self { entry, outcome, at, tier: Tier::Local }
    }

    /// The value came out of the shared tier for this request.
    pub(crate) fn shared(self) -> Self {
        Self { tier: Tier::Shared, ..self }
    }

    /// Where the value came from for this request: from the shared tier, or from this process and its origin.
    pub fn tier(answer: &Self) -> Tier {
        answer.tier
    }

    /// How the request ended, as it stands in the account.
    ///
    /// It displays as the word of the account (`hit`, `stale`, `loaded` …); for a header, which wants a `&'static str`,
    /// `herdcache::herdfeed::ClosedSet` has that as `label()`.
    pub fn outcome(answer: &Self) -> Outcome {
        answer.outcome
    }

    /// How old the value was when it was answered, counted from the arrival of the origin's answer, or from the
    /// [age at the source](crate::Loaded::source_age) that the loader told. On Linux a hit may say up to 4 ms less.
    pub fn age(answer: &Self) -> Duration {
        Duration::from_nanos(answer.at.saturating_sub(answer.entry.stamps.born))
    }

    /// Whether the value was past freshness when it was answered.
    pub fn is_stale(answer: &Self) -> bool {
        matches!(answer.outcome, Outcome::Stale | Outcome::Reserve)
    }

    /// The value, shared with the cache and with every other caller.
    #[expect(clippy::needless_pass_by_value, reason = "the answer is given up for its value")]
    pub fn into_value(answer: Self) -> Arc<V> {
        Arc::clone(&answer.entry.value)
    }
}

impl<V: Send + Sync + 'static> Deref for Answer<V> {
    type Target = V;
    #[inline]
    fn deref(&self) -> &V {
        &self.entry.value
    }
}

impl<V: Send + Sync + 'static> Clone for Answer<V> {
    fn clone(&self) -> Self {
        Self { entry: Arc::clone(&self.entry), outcome: self.outcome, at: self.at, tier: self.tier }
    }
}

impl<V: fmt::Debug + Send + Sync + 'static> fmt::Debug for Answer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("value", &self.entry.value)
            .field("outcome", &self.outcome)
            .field("age", &Self::age(self))
            .finish_non_exhaustive()
    }
}
