//! Everything that the handles of one cache share.
//!
//! The rooms meet here: this file holds them, `core/` says in which order a
//! flight passes them, `cache/get.rs` in which order a request does.

mod abandon;
mod aboard;
pub(crate) mod batch;
mod berth;
mod ends;
pub(crate) mod fly;
mod follow;
mod forget;
pub(crate) mod instead;
pub(crate) mod join;
mod land;
mod landed;
mod lease;
#[cfg(all(test, herd_loom))]
mod models;
pub(crate) mod post;
mod promote;
pub(crate) mod refresh;
mod samples;
mod savings;
pub(crate) mod share;
mod shutdown;
mod snapshot;
mod tail;
mod traces;
mod trip;
mod tune;
pub(crate) mod warm;
mod write;

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use herdfeed::{Law, Measure, MissCause, Outcome, StaleReason};

use crate::account::{Account, Sample, Tick};
use crate::classes::Classes;
use crate::clock::{self, Moment};
use crate::config::Settings;
use crate::cooling::Windows;
use crate::entry::{Stamps, Stored};
use crate::fallback::Fallback;
use crate::flight::table::Table;
use crate::freshness::Bounds;
use crate::gate::Gate;
use crate::group::{Group, Grouping};
use crate::herd::{Cover, Herds};
use crate::hotkeys::{HotKeys, Seen};
use crate::key::{Key, KeyNames};
use crate::local::{Local, Room};
use crate::measures::{Measures, Policy};
use crate::registry;
use crate::shared::Tiers;
use crate::store::{Leavings, Store, StoreOf};
use crate::sync::Notify;
use crate::sync::atomic::AtomicBool;
use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::plain::atomic::AtomicU64;
use crate::sync::{self, RandomState};
use crate::tags::Epoch;
use crate::trace::Tracer;
use crate::tuning::InForce;
use landed::LandedRing;
use samples::Samples;

/// A cache's shared tier, whose outbox writes what is stored here.
pub(crate) type SharedOf<V> = Tiers<V, Stored<V>>;

/// One cache.
pub(crate) struct Core<K: 'static, V: Send + Sync + 'static, E, S = StoreOf<K, V>> {
    pub(crate) name: String,
    /// Tells it from others of its name.
    built: u64,
    pub(crate) settings: Settings,
    pub(crate) measures: Measures,
    pub(crate) gate: Gate,
    pub(crate) store: Local<K, S>,
    pub(crate) account: Arc<Account>,
    pub(crate) table: Table<K, V, E>,
    pub(crate) names: KeyNames<K>,
    groups: Option<Grouping<K>>,
    pub(crate) hot: HotKeys<K>,
    pub(crate) herds: Herds,
    /// The bounds past freshness, as tuned.
    pub(crate) in_force: Arc<InForce>,
    /// The way to the shared tier, where there is one.
    pub(crate) shared: Option<Arc<SharedOf<V>>>,
    fallback: Fallback<K, V, E>,
    /// What kinds of errors the origin gives.
    pub(crate) classes: Classes<E>,
    leavings: Arc<Leavings<K>>,
    hasher: RandomState,
    landed: LandedRing<K>,
    samples: Samples,
    pub(crate) trace: Tracer,
    closed: AtomicBool,
    /// Told when a flight's load has ended, for those who wait for quiet.
    quiet: Notify,
}

/// The application's code that a cache holds, apart from loaders.
pub(crate) struct Hooks<K, V: Send + Sync + 'static, E> {
    pub(crate) names: KeyNames<K>,
    pub(crate) fallback: Fallback<K, V, E>,
    pub(crate) groups: Option<Grouping<K>>,
    pub(crate) shared: Option<SharedOf<V>>,
    pub(crate) classes: Classes<E>,
}

/// Flights are numbered over the whole process.
static NEXT_FLIGHT: AtomicU64 = AtomicU64::new(1);

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    pub(crate) fn new(name: String, settings: Settings, measures: Measures, gate: Gate, hooks: Hooks<K, V, E>) -> Self {
        let account = Arc::new(Account::new(&name, hooks.classes.names()));
        let in_force = Arc::new(InForce::new(&settings));
        let leavings = Arc::new(Leavings::new(Arc::clone(&account), Arc::clone(&in_force)));
        let hasher = sync::hasher(settings.steady);
        let now = clock::exact();
        let windows = Windows { base: settings.cooling_base, cap: settings.cooling_cap };
        Self {
            store: Local::new(Room::new(&settings), hasher.clone(), Arc::clone(&leavings)),
            table: Table::new(settings.max_flights, windows),
            herds: Herds::new(now),
            hot: HotKeys::new(now),
            landed: LandedRing::default(),
            samples: Samples::default(),
            trace: Tracer::new(settings.traces),
            closed: AtomicBool::new(false),
            quiet: Notify::new(),
            name,
            built: registry::number(),
            settings,
            measures,
            gate,
            account,
            groups: hooks.groups,
            names: hooks.names,
            fallback: hooks.fallback,
            classes: hooks.classes,
            shared: hooks.shared.map(Arc::new),
            in_force,
            leavings,
            hasher,
        }
    }

    #[inline]
    pub(crate) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    /// S6: whose share a load of this key is of. A cache that only observes limits nobody.
    pub(crate) fn group(&self, key: &K, policy: Policy) -> Option<Group> {
        self.groups.as_ref().filter(|_| policy.has(Measure::Permits)).map(|groups| groups.of(key))
    }

    /// Why a request found nothing servable.
    pub(crate) fn cause(&self, hash: u64, found: Option<&Stored<V>>) -> MissCause {
        match found {
            Some(_) => MissCause::Expired,
            None => self.leavings.ghosts.cause(hash),
        }
    }

    /// Counts the request in the hot-key summary if it is one of the sampled, and tells how long it took if it is timed
    /// and has been answered with `found`.
    #[inline]
    pub(crate) fn sample<Q>(&self, tick: Tick, key: &Q, (seen, found): (Seen, Option<Outcome>), now: Moment)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Sample::Take(began) = tick.sample {
            self.take(began, key, (seen, found), now);
        }
    }

    #[cold]
    fn take<Q>(&self, began: Moment, key: &Q, (seen, found): (Seen, Option<Outcome>), now: Moment)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let (1.., Some(outcome)) = (began, found) {
            self.account.timed(outcome, began, clock::exact());
        }
        self.hot.see(self.hash(key), || key.to_owned(), seen, now);
    }

    /// Counts a value that is answered past freshness.
    ///
    /// `bounds` are those that it was judged by: they may have been tuned since.
    pub(crate) fn count_stale<Q>(&self, key: &Q, stamps: &Stamps, bounds: Bounds, reason: StaleReason, now: Moment)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        // L4, checked where values leave: nothing beyond its last bound.
        if now >= bounds.last.saturating_add(clock::SLACK) {
            self.account.laws.add(Law::L4);
        }
        self.account.stale_served(
            reason,
            now.saturating_sub(bounds.soft),
            part_of(stamps.born, now, bound_of(reason, bounds)),
        );
        match reason {
            StaleReason::Cooling | StaleReason::Error | StaleReason::Rejected => {
                let cover = Cover { hash: self.hash(key), born: stamps.born, last: bounds.last };
                self.herds.covered(&self.name, cover, now, || self.names.show(&key.to_owned()));
            }
            StaleReason::Revalidating | StaleReason::SoftTimeout | StaleReason::LeaseHeld => {}
        }
    }

    /// How many invalidations of tags there have been.
    pub(crate) fn epoch(&self) -> Epoch {
        self.leavings.tags.now()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(SeqCst)
    }

    pub(crate) fn next_flight() -> u64 {
        NEXT_FLIGHT.fetch_add(1, Relaxed)
    }
}

/// Until when a value may be answered for this reason.
fn bound_of(reason: StaleReason, bounds: Bounds) -> Moment {
    match reason {
        StaleReason::Revalidating | StaleReason::LeaseHeld => bounds.hard,
        StaleReason::SoftTimeout | StaleReason::Cooling | StaleReason::Rejected | StaleReason::Error => bounds.last,
    }
}

/// How much of the time between two moments has passed.
fn part_of(born: Moment, now: Moment, bound: Moment) -> f64 {
    now.saturating_sub(born) as f64 / bound.saturating_sub(born).max(1) as f64
}
