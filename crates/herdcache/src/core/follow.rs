//! Z2: a flight that follows another process: it looks into the shared tier until that process's value is there.
//!
//! Within bounds of count and time, without a permit or a place in a queue; whoever
//! finds neither value nor lease tries to be the one successor.

use std::time::Duration;

use herdfeed::{LeasePoll, SharedOperation, Stage};

use super::SharedOf;
use super::fly::Pilot;
use super::share::{Look, Next};
use crate::clock::{self, Moment, nanos};
use crate::key::Key;
use crate::shared::follow::Pauses;
use crate::store::Store;
use crate::sync::plain::atomic::Ordering::Relaxed;
use crate::sync::time;

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Pilot<K, V, E, S> {
    /// Z2: waits for a moment, then looks again.
    pub(super) async fn follow(&self, pauses: &mut Pauses, began: Moment) -> Look<V> {
        let Some((trip, _)) = self.trip_and_key() else { return Look::Next(Next::LoadAlone) };
        self.flight.set_stage(Stage::Following);
        let mut following = Following::new(&trip.tiers);
        let limit = trip.tiers.leasing.as_ref().and_then(|(settings, _)| settings.follow_for).map_or(u64::MAX, nanos);
        let until = began.saturating_add(limit).min(self.flight.deadline);
        let now = clock::exact();
        if now >= until {
            return Look::Next(Next::LoadAlone);
        }
        // However long the pauses have grown: the last look comes while there is time for it to be answered.
        let last = until.saturating_sub(nanos(trip.tiers.link.timeout()));
        let most = if now < last { last - now } else { until - now };
        time::sleep(pauses.next(fastrand::f64()).min(Duration::from_nanos(most))).await;
        if clock::exact() >= self.flight.deadline {
            return Look::Next(Next::Follow);
        }
        let look = self.look(SharedOperation::Read).await;
        self.flight.set_stage(Stage::Following);
        let over = trip.lease_is_over_at();
        let (poll, look) = match look {
            Look::Answer(stored) | Look::Stale(stored, _) => (LeasePoll::Found, Look::Answer(stored)),
            // The tier cannot tell: the lease's own time does.
            Look::Next(Next::Load) if over > clock::exact() => (LeasePoll::Waiting, Look::Next(Next::Follow)),
            Look::Next(Next::Load) => (LeasePoll::Successor, Look::Next(Next::Load)),
            Look::Next(Next::Follow) => (LeasePoll::Waiting, Look::Next(Next::Follow)),
            other @ Look::Next(Next::Read | Next::LoadAlone) => (LeasePoll::GaveUp, other),
        };
        following.found(poll);
        look
    }

    pub(super) fn pauses(&self) -> Pauses {
        let leasing = self.trip.as_ref().and_then(|trip| trip.tiers.leasing.as_ref());
        leasing.map_or(Pauses::new(Duration::ZERO, Duration::ZERO), |(settings, _)| {
            Pauses::new(settings.poll, settings.poll_most)
        })
    }
}

/// A flight that follows, for the account.
struct Following<'a, V: Send + Sync + 'static> {
    tiers: &'a SharedOf<V>,
    found: LeasePoll,
}

impl<'a, V: Send + Sync + 'static> Following<'a, V> {
    fn new(tiers: &'a SharedOf<V>) -> Self {
        tiers.link.account.following.fetch_add(1, Relaxed);
        Self { tiers, found: LeasePoll::GaveUp }
    }

    fn found(&mut self, poll: LeasePoll) {
        self.found = poll;
    }
}

impl<V: Send + Sync + 'static> Drop for Following<'_, V> {
    fn drop(&mut self) {
        let account = &self.tiers.link.account;
        account.following.fetch_sub(1, Relaxed);
        account.polls.add(self.found);
    }
}
