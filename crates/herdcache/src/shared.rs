//! The shared tier and the lease: what is told to other processes, and what is believed of them.
//!
//! A room like the others: it sends operations, wraps and unwraps values, paces and
//! counts. When a flight reads, follows, takes a lease or writes is the corridor's to
//! know (`core/share.rs`), and freshness is judged by stamps of our own as ever.

pub(crate) mod account;
mod breaker;
mod codec;
pub(crate) mod envelope;
pub(crate) mod follow;
pub(crate) mod link;
pub(crate) mod outbox;
mod settings;
mod tier;

use std::sync::Arc;
use std::time::Duration;

use herdfeed::{LeaseConfig, LeaseSnapshot, SharedConfig, SharedSnapshot};

use crate::clock::{Moment, nanos};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use crate::sync::{Notify, pin};
pub use codec::{Codec, CodecError};
use link::Link;
use outbox::Outbox;
pub(crate) use settings::{LeaseSettings, SharedSettings};
pub use settings::{Leasing, Shared, WriteFailure};
pub(crate) use tier::LeaseToken as Token;
pub use tier::{
    Acquired, Fence, Found, Holding, Lease, LeaseSight, LeaseToken, Operation, Reading, SharedKey, SharedTier,
    TierError, Write, Writing,
};

/// One cache's way to its shared tier; `W` is what its outbox writes.
pub(crate) struct Tiers<V, W> {
    pub(crate) link: Arc<Link>,
    /// The first part of every key: the name that the cache was given.
    namespace: String,
    pub(crate) codec: Arc<dyn Codec<V>>,
    pub(crate) settings: SharedSettings,
    pub(crate) leasing: Option<(LeaseSettings, Duration)>,
    pub(crate) outbox: Outbox<W>,
    /// Nothing in the tier that was born before this is believed: what was forgotten here may still lie there.
    floor: AtomicU64,
    /// How long a tombstone stays.
    pub(crate) tombstone: Duration,
    /// Whether a task sends what waits.
    pub(crate) draining: AtomicBool,
    /// Whether that task rests between two tries.
    pub(crate) resting: AtomicBool,
    tails: Arc<Tails>,
}

impl<V: 'static, W: Clone> Tiers<V, W> {
    /// `namespace` is the cache's name as its builder was given it, `subject` its name in telemetry.
    pub(crate) fn new(
        (namespace, subject): (String, &str),
        shared: Shared<V>,
        leasing: Option<Leasing>,
        flight_deadline: Duration,
    ) -> Self {
        let Shared { tier, codec, settings } = shared;
        let timeout = settings.operation_timeout;
        let (lease, leasing) = match leasing {
            Some(Leasing { lease, settings }) => {
                let time = settings.time(flight_deadline, timeout);
                (Some(lease), Some((settings, time)))
            }
            None => (None, None),
        };
        let longest = leasing.as_ref().map_or(flight_deadline, |(_, time)| flight_deadline.max(*time));
        Self {
            link: Arc::new(Link::new(subject, (tier, lease), timeout, settings.breaking)),
            namespace,
            codec,
            outbox: Outbox::new(settings.queue),
            settings,
            leasing,
            floor: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            resting: AtomicBool::new(false),
            tombstone: longest.saturating_add(timeout * 2),
            tails: Arc::default(),
        }
    }

    /// The key as the tier knows it; `None` if JSON cannot hold it.
    pub(crate) fn key<K: crate::key::Key>(&self, key: &K) -> Option<SharedKey> {
        SharedKey::of(&self.namespace, self.settings.schema_version, key)
    }

    /// A piece of work on the tier that a shutdown waits for.
    pub(crate) fn tail(&self) -> Tail {
        self.tails.running.fetch_add(1, SeqCst);
        Tail(Arc::clone(&self.tails))
    }

    /// X1: returns when no such work runs.
    pub(crate) async fn settled(&self) {
        loop {
            let told = self.tails.ended.notified();
            pin!(told);
            told.as_mut().enable();
            if self.tails.running.load(SeqCst) == 0 {
                return;
            }
            told.await;
        }
    }

    /// Nothing in the tier from before `moment` is believed any more.
    pub(crate) fn distrust(&self, moment: Moment) {
        self.floor.fetch_max(moment, SeqCst);
    }

    /// What of the tier is believed: only what was born after this.
    pub(crate) fn floor(&self) -> Moment {
        self.floor.load(SeqCst)
    }

    /// How much younger than it is a value may look here: its ways to the tier and from it do not count as age.
    pub(crate) fn haze(&self) -> u64 {
        nanos(self.settings.operation_timeout).saturating_mul(2)
    }

    /// Both parts of a snapshot.
    pub(crate) fn snapshot(&self) -> (SharedSnapshot, Option<LeaseSnapshot>) {
        let (shared, lease) = self.link.snapshot();
        let (queued, queue) = (self.outbox.len() as u64, self.outbox.most() as u64);
        (SharedSnapshot { queued, queue, ..shared }, lease)
    }

    pub(crate) fn config(&self) -> (SharedConfig, Option<LeaseConfig>) {
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (settings, breaking) = (&self.settings, self.link.breaking());
        let shared = SharedConfig {
            operation_timeout_ms: ms(settings.operation_timeout),
            largest_value: settings.largest_value as u64,
            schema_version: settings.schema_version,
            codec: self.codec.name().to_owned(),
            write_failure: settings.write_failure.label().to_owned(),
            breaker_in_a_row: breaking.in_a_row,
            probe_every_ms: ms(breaking.probe_every),
            queue: settings.queue as u64,
        };
        let lease = self.leasing.as_ref().map(|(settings, time)| LeaseConfig {
            time_ms: ms(*time),
            renewals: settings.renewals,
            poll_ms: ms(settings.poll),
            poll_most_ms: ms(settings.poll_most),
            follow_ms: settings.follow_for.map(ms),
        });
        (shared, lease)
    }
}

/// Work on the tier that outlives its flight.
#[derive(Debug, Default)]
struct Tails {
    running: AtomicUsize,
    ended: Notify,
}

/// One piece of it, while it lives.
#[derive(Debug)]
pub(crate) struct Tail(Arc<Tails>);

impl Drop for Tail {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, SeqCst) == 1 {
            self.0.ended.notify_waiters();
        }
    }
}
