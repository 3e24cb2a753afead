//! The corridor of a warm-up: the next key, a load if it is cold, the pace.
//!
//! Nothing of it runs by itself: whoever polls the warm-up drives it, on any runtime.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::ramp::{End, Foreground, Ramp};
use super::{Count, Done};
use crate::clock::{self, Moment, nanos};
use crate::core::Core;
use crate::core::warm::Warming;
use crate::error::Failure;
use crate::flight::{Flight, Landing};
use crate::gate::Gate;
use crate::key::Key;
use crate::origin::AnyOrigin;
use crate::runtime;
use crate::sync::plain::atomic::Ordering::Relaxed;
use crate::sync::{Notify, task, time};

/// Callers' waits are looked at this often, and a load that found no permit tries again.
const LOOK: Duration = Duration::from_millis(100);
/// Keys that are looked up in a row before others of the runtime get their turn.
const IN_A_ROW: u32 = 64;

/// A warm-up in progress.
pub(super) struct Run<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> {
    core: Arc<Core<K, V, E>>,
    origin: Arc<dyn AnyOrigin<K, V, E>>,
    keys: std::vec::IntoIter<K>,
    /// A key that found no permit: it is next.
    again: Option<K>,
    flying: Vec<Arc<Flight<K, V, E>>>,
    told: Arc<Notify>,
    ramp: Ramp,
    looked: Moment,
    /// What the account holds of this warm-up's width.
    width: u64,
    /// How often warm-ups had been denied a permit when this one last got one.
    denied: u64,
    manners: Manners,
    count: Arc<Count>,
}

/// Whether it has made way for another warm-up, or had to, since it last got a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manners {
    Owed,
    Shown,
}

/// Whether more keys can be looked up now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Go {
    On,
    /// Until something lands, or the next look.
    Wait,
    /// Every key is done with, or none can be loaded any more.
    Home,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Run<K, V, E> {
    pub(super) fn new(
        core: Arc<Core<K, V, E>>,
        origin: Arc<dyn AnyOrigin<K, V, E>>,
        keys: Vec<K>,
        count: Arc<Count>,
    ) -> Self {
        let share = core.gate.0.settings.warmup_permits as u64;
        let ramp = Ramp::new(share, Foreground::of(&core.gate.snapshot()));
        let warmth = &core.account.warmth;
        warmth.running.fetch_add(1, Relaxed);
        warmth.total.fetch_add(count.total, Relaxed);
        Self {
            core,
            origin,
            keys: keys.into_iter(),
            again: None,
            flying: Vec::new(),
            told: Arc::default(),
            ramp,
            looked: clock::exact(),
            width: 0,
            denied: 0,
            manners: Manners::Shown,
            count,
        }
    }

    /// Every key in turn.
    pub(super) async fn all(mut self) {
        let gate = self.core.gate.clone();
        // Elsewhere no load could be waited for.
        while runtime::with_timers().is_some() {
            self.collect();
            let mut in_a_row = 0;
            let go = loop {
                match self.next() {
                    Go::On if in_a_row < IN_A_ROW => in_a_row += 1,
                    Go::On => {
                        task::yield_now().await;
                        break Go::On;
                    }
                    go => break go,
                }
            };
            match go {
                Go::On => {}
                Go::Wait => {
                    let _ = time::timeout(LOOK, self.news(&gate)).await;
                }
                Go::Home => return,
            }
        }
    }

    /// Waits for a landing, or for a permit that another warm-up gives back if there was none for this one.
    async fn news(&self, gate: &Gate) {
        let (mut told, mut free) = (pin!(self.told.notified()), pin!(gate.0.turns.free.notified()));
        poll_fn(|cx| {
            let waits = self.manners == Manners::Shown;
            let come = told.as_mut().poll(cx).is_ready() || waits && free.as_mut().poll(cx).is_ready();
            if come { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Looks up one key, if there is room for a load.
    fn next(&mut self) -> Go {
        if self.flying.len() as u64 >= self.ramp.width() {
            return if self.ramp.width() > 0 { Go::Wait } else { Go::Home };
        }
        if self.makes_way() {
            return Go::Wait;
        }
        let Some(key) = self.again.take().or_else(|| self.keys.next()) else {
            return if self.flying.is_empty() { Go::Home } else { Go::Wait };
        };
        let turns = &self.core.gate.0.turns;
        let origin = &self.origin;
        match self.core.warm(&key, &self.told, |cx| Arc::clone(origin).start(cx)) {
            Warming::Flying(flight) => {
                self.flying.push(flight);
                (self.denied, self.manners) = (turns.denied.load(Relaxed), Manners::Owed);
            }
            Warming::Present => self.count.add(Done::Skipped),
            Warming::Cooling => self.count.add(Done::Failed),
            Warming::NoPermit => {
                turns.denied.fetch_add(1, Relaxed);
                self.manners = Manners::Shown;
                return self.try_again(key);
            }
            Warming::Full => return self.try_again(key),
            // What has begun is still waited for.
            Warming::Closed => {
                self.again = Some(key);
                return if self.flying.is_empty() { Go::Home } else { Go::Wait };
            }
        }
        Go::On
    }

    /// Whether another warm-up has been denied a permit since this one got its last: that one goes first, once.
    fn makes_way(&mut self) -> bool {
        let others = self.core.gate.0.turns.denied.load(Relaxed) != self.denied;
        let way = others && self.manners == Manners::Owed;
        if way {
            self.manners = Manners::Shown;
        }
        way
    }

    /// This key is next, a little later and a little slower.
    fn try_again(&mut self, key: K) -> Go {
        self.again = Some(key);
        self.ramp.found_no_permit();
        self.tell_width();
        Go::Wait
    }

    /// Counts the loads that have landed, and takes a look if it is time for one.
    fn collect(&mut self) {
        let (count, ramp) = (&self.count, &mut self.ramp);
        self.flying.retain(|flight| {
            let Some(landing) = flight.landing() else { return true };
            let (done, end) = told_by(landing);
            count.add(done);
            ramp.landed(end);
            false
        });
        let now = clock::exact();
        if self.ramp.is_round_over() || now.saturating_sub(self.looked) >= nanos(LOOK) {
            self.looked = now;
            self.ramp.look(Foreground::of(&self.core.gate.snapshot()));
        }
        self.tell_width();
    }

    fn tell_width(&mut self) {
        let (all, now) = (&self.core.account.warmth.width, self.ramp.width());
        all.fetch_add(now.wrapping_sub(self.width), Relaxed);
        self.width = now;
    }
}

fn told_by<V: Send + Sync + 'static, E>(landing: &Landing<V, E>) -> (Done, End) {
    match landing {
        Landing::Value(entry) => (Done::Loaded, End::Value(entry.stamps.load_ns)),
        // The shared tier's answer says nothing of the origin.
        Landing::Absent | Landing::Shared { .. } => (Done::Loaded, End::Absent),
        Landing::Failed(Failure::OriginTimeout { .. } | Failure::Deadline { .. }) => (Done::Failed, End::Late),
        Landing::Failed(_) | Landing::Rejected { .. } | Landing::Closed | Landing::Orphaned => {
            (Done::Failed, End::Failed)
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Drop for Run<K, V, E> {
    fn drop(&mut self) {
        let warmth = &self.core.account.warmth;
        warmth.width.fetch_sub(self.width, Relaxed);
        warmth.cancelled.fetch_add(self.count.read().left, Relaxed);
        warmth.running.fetch_sub(1, Relaxed);
    }
}
