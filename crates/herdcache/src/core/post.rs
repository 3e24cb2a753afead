//! W2: changes of keys on their way to the shared tier.
//!
//! A change is posted before it takes effect here, so that no flight that opens after
//! it reads the tier's older value. It is sent by a task that lives as long as
//! something waits and the tier takes it, or the cache is there to try again.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use herdfeed::{SharedOperation, SharedWrite};

use super::{Core, SharedOf};
use crate::clock;
use crate::entry::Stored;
use crate::key::Key;
use crate::runtime;
use crate::shared::link::NO_DEADLINE;
use crate::shared::outbox::{Change, Posted, Turn};
use crate::shared::{Fence, Tail};
use crate::spread::{Spread, Ticket};
use crate::store::Store;
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::{plain, time};

/// Changes that are sent at once.
const TOGETHER: usize = 16;
/// The first pause after a round that failed, and the longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Core<K, V, E, S> {
    /// What the changes of one call are told by; `None` where there is no tier to tell.
    pub(crate) fn ticket(&self) -> Option<Arc<Ticket>> {
        self.shared.as_ref().map(|_| Ticket::new())
    }

    /// A change of this key is about to take effect here.
    pub(super) fn post(&self, key: &K, change: Change<Stored<V>>, ticket: &Arc<Ticket>) {
        let Some(tiers) = &self.shared else { return };
        // A key without a text was never shared.
        let Some(name) = tiers.key(key) else { return };
        if let Posted::Full = tiers.outbox.post(name, change, ticket) {
            // L7: counted. Here, everything in the tier that is older is distrusted from now on.
            tiers.link.account.lost.fetch_add(1, plain::atomic::Ordering::Relaxed);
            tiers.distrust(clock::exact());
            ticket.more();
            ticket.queued();
        }
    }

    /// The changes of a call have taken effect here; they are sent if anything can be sent from here.
    pub(crate) fn spread(self: &Arc<Self>, ticket: Option<Arc<Ticket>>) -> Spread {
        let Some(ticket) = ticket else { return Spread::process() };
        self.drain();
        Spread::of(ticket)
    }

    /// Sees to it that somebody sends what waits.
    pub(crate) fn drain(self: &Arc<Self>) {
        let Some(tiers) = &self.shared else { return };
        if tiers.outbox.len() == 0 {
            return;
        }
        let Some((runtime, _)) = runtime::with_timers() else {
            // Nothing can be sent from here: the next flight on a runtime sees to it.
            if !tiers.draining.load(SeqCst) {
                tiers.outbox.give_up();
            }
            return;
        };
        if tiers.draining.swap(true, SeqCst) {
            // T4: nobody waits for the next try of a tier that is in trouble.
            if tiers.resting.load(SeqCst) {
                tiers.outbox.give_up();
            }
            return;
        }
        let (tail, state) = (Some(tiers.tail()), Draining::AtWork);
        let drain = Drain { tiers: Arc::clone(tiers), core: Arc::downgrade(self), state, tail };
        runtime.spawn(drain.all());
    }

    /// Sends one change; whether the tier has taken it.
    async fn send_change(&self, tiers: &SharedOf<V>, turn: &Turn<Stored<V>>) -> Sent {
        let link = &tiers.link;
        if let Change::Write(stored) = &turn.change {
            let write = self.offer(tiers, &turn.key, stored, Fence::Newest).await;
            if let Some(write) = write {
                link.account.writes.add(write);
            }
            match write {
                // What is newer there is not older than what was replaced here.
                Some(SharedWrite::Stored | SharedWrite::RefusedVersion | SharedWrite::RefusedFence) => {
                    return Sent::Arrived;
                }
                // What it replaces is removed at the next try.
                Some(
                    SharedWrite::Timeout
                    | SharedWrite::ConnectionError
                    | SharedWrite::BreakerOpen
                    | SharedWrite::SkippedAfterFault,
                ) => return Sent::Failed,
                // No fault of the tier's: the value stays here alone, and what it replaces is removed at once.
                Some(SharedWrite::TooLarge | SharedWrite::EncodeError) | None => {}
            }
        }
        let remove = || link.tier.remove(&turn.key, tiers.tombstone);
        match link.send(SharedOperation::Remove, NO_DEADLINE, remove).await {
            Ok(()) => Sent::Arrived,
            Err(_) => Sent::Failed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Arrived,
    Failed,
}

/// The task that sends what waits.
struct Drain<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> {
    tiers: Arc<SharedOf<V>>,
    core: Weak<Core<K, V, E, S>>,
    state: Draining,
    /// A shutdown waits for the first try of everything.
    tail: Option<Tail>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Draining {
    AtWork,
    /// Nothing waited any more, or another task has taken over.
    Over,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Drain<K, V, E, S> {
    async fn all(mut self) {
        let mut pause = PAUSE;
        loop {
            let Some(core) = self.core.upgrade() else { return };
            let turns = self.tiers.outbox.turns(TOGETHER);
            if turns.is_empty() {
                // Whoever posted since then found this task at work, and left it to it.
                self.tiers.draining.store(false, SeqCst);
                if self.tiers.outbox.len() == 0 || self.tiers.draining.swap(true, SeqCst) {
                    self.state = Draining::Over;
                    return;
                }
                continue;
            }
            // One key's trouble holds up nobody else's: what failed has gone to the back, and fewer wait than before.
            if self.round(&core, &turns).await == Sent::Arrived {
                pause = PAUSE;
                continue;
            }
            // The cache is over: whoever waits is told, and what is left is left.
            if core.is_closed() {
                return;
            }
            drop((self.tail.take(), core, turns));
            // Before whoever waits is told: a change that is posted from here on finds this task at rest.
            self.tiers.resting.store(true, SeqCst);
            self.tiers.outbox.give_up();
            let shut = self.tiers.link.shut_until().map(|until| until.saturating_sub(clock::exact()));
            time::sleep(pause.max(Duration::from_nanos(shut.unwrap_or(0)))).await;
            self.tiers.resting.store(false, SeqCst);
            pause = (pause * 2).min(LONGEST);
        }
    }

    /// Sends some changes at once; whether any of them has arrived.
    async fn round(&self, core: &Core<K, V, E, S>, turns: &[Turn<Stored<V>>]) -> Sent {
        let sending = turns.iter().map(|turn| async move {
            let sent = core.send_change(&self.tiers, turn).await;
            match sent {
                Sent::Arrived => {
                    self.tiers.link.account.sent.fetch_add(1, plain::atomic::Ordering::Relaxed);
                    self.tiers.outbox.arrived(turn);
                }
                Sent::Failed => self.tiers.outbox.failed(turn),
            }
            sent
        });
        let sent = together(sending.map(Box::pin).collect()).await;
        if sent.contains(&Sent::Arrived) { Sent::Arrived } else { Sent::Failed }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static, S: Store<K, V>> Drop for Drain<K, V, E, S> {
    fn drop(&mut self) {
        if self.state == Draining::Over {
            return;
        }
        self.tiers.resting.store(false, SeqCst);
        self.tiers.draining.store(false, SeqCst);
        // Nobody is kept waiting by a task that is gone. What came since its last look is seen to by the next flight.
        self.tiers.outbox.give_up();
    }
}

/// All of them at once; what they gave, in their order.
pub(super) async fn together<T>(mut futures: Vec<Pin<Box<impl Future<Output = T>>>>) -> Vec<T> {
    let mut given: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut open = false;
        for (future, given) in futures.iter_mut().zip(&mut given).filter(|(_, given)| given.is_none()) {
            match future.as_mut().poll(cx) {
                Poll::Ready(value) => *given = Some(value),
                Poll::Pending => open = true,
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    given.into_iter().flatten().collect()
}
