//! [`Mailbox`]: what links have read and the screen has not yet taken in.
//!
//! Bounded. Of snapshots only the newest of each process waits; of events the
//! oldest go when there are too many. Both losses are counted. Putting never waits.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::msg::{Feed, Msg, TargetId};

/// The most events that wait.
const EVENTS: usize = 8_192;
/// The most other things that wait; a link says few of them.
const OTHERS: usize = 4_096;

/// What waits for the screen.
#[derive(Debug, Default)]
pub struct Mailbox {
    inside: Mutex<Inside>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct Inside {
    queue: VecDeque<(TargetId, Feed)>,
    events: usize,
    snapshots_dropped: u64,
    events_dropped: u64,
    told: (u64, u64),
}

impl Mailbox {
    /// Takes in what a link read.
    pub fn put(&self, target: TargetId, feed: Feed) {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).put(target, feed);
        self.arrived.notify_one();
    }

    /// Everything that waits, in order, and the losses if there are new ones.
    pub fn take(&self) -> Vec<Msg> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.events = 0;
        let queue = std::mem::take(&mut inside.queue);
        let losses = (inside.snapshots_dropped, inside.events_dropped);
        let news = std::mem::replace(&mut inside.told, losses) != losses;
        drop(inside);
        let mut messages: Vec<Msg> = queue.into_iter().map(|(target, feed)| Msg::Feed { target, feed }).collect();
        if news {
            messages.push(Msg::Dropped { snapshots: losses.0, events: losses.1 });
        }
        messages
    }

    /// Ends when something has arrived.
    ///
    /// # Cancel safety
    /// Safe: an arrival that nobody heard ends the next call.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }
}

impl Inside {
    fn put(&mut self, target: TargetId, feed: Feed) {
        match feed {
            Feed::Snapshot(snapshot) => self.snapshot(target, Feed::Snapshot(snapshot)),
            Feed::Events(events) => {
                self.events += events.len();
                self.queue.push_back((target, Feed::Events(events)));
                while self.events > EVENTS {
                    self.drop_oldest_events();
                }
            }
            other => self.queue.push_back((target, other)),
        }
        if self.queue.len() > OTHERS {
            self.queue.pop_front();
        }
    }

    /// A snapshot takes the place of the one before, unless a new stream began between.
    fn snapshot(&mut self, target: TargetId, feed: Feed) {
        let mut of_target = self.queue.iter_mut().rev().filter(|(id, _)| *id == target);
        let before =
            of_target.find(|(_, feed)| !matches!(feed, Feed::Events(_) | Feed::Lag { .. } | Feed::BadLines(_)));
        match before {
            Some((_, old @ Feed::Snapshot(_))) => {
                *old = feed;
                self.snapshots_dropped += 1;
            }
            _ => self.queue.push_back((target, feed)),
        }
    }

    fn drop_oldest_events(&mut self) {
        let oldest = self.queue.iter().position(|(_, feed)| matches!(feed, Feed::Events(_)));
        let Some((_, Feed::Events(events))) = oldest.and_then(|place| self.queue.remove(place)) else {
            self.events = 0;
            return;
        };
        self.events = self.events.saturating_sub(events.len());
        self.events_dropped += events.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdfeed::{Event, Fact, Severity, Snapshot};

    const A: TargetId = TargetId(1);
    const B: TargetId = TargetId(2);

    fn snapshot(seq: u64) -> Feed {
        Feed::Snapshot(Box::new(Snapshot { seq, ..Snapshot::default() }))
    }

    fn events(count: u64) -> Feed {
        let event = |seq| Event {
            seq,
            mono_us: 0,
            unix_us: 0,
            severity: Severity::Info,
            subject: String::new(),
            fact: Fact::Unknown,
        };
        Feed::Events((0..count).map(event).collect())
    }

    fn seqs(messages: &[Msg]) -> Vec<u64> {
        let seq = |msg: &Msg| match msg {
            Msg::Feed { feed: Feed::Snapshot(snapshot), .. } => Some(snapshot.seq),
            _ => None,
        };
        messages.iter().filter_map(seq).collect()
    }

    #[test]
    fn of_snapshots_only_the_newest_of_each_process_waits() {
        let mailbox = Mailbox::default();
        for (target, seq) in [(A, 1), (B, 7), (A, 2), (A, 3)] {
            mailbox.put(target, snapshot(seq));
        }
        let messages = mailbox.take();
        assert_eq!(seqs(&messages), [3, 7]);
        assert!(matches!(messages.last(), Some(Msg::Dropped { snapshots: 2, events: 0 })));
        assert!(mailbox.take().is_empty());
    }

    #[test]
    fn a_snapshot_never_crosses_the_start_of_a_stream() {
        let mailbox = Mailbox::default();
        mailbox.put(A, snapshot(1));
        mailbox.put(A, Feed::Connecting);
        mailbox.put(A, snapshot(2));
        assert_eq!(seqs(&mailbox.take()), [1, 2]);
    }

    #[test]
    fn too_many_events_push_out_the_oldest_and_are_counted() {
        let mailbox = Mailbox::default();
        for _ in 0..100 {
            mailbox.put(A, events(1_000));
        }
        let messages = mailbox.take();
        assert_eq!(messages.len(), 9);
        assert!(matches!(messages.last(), Some(Msg::Dropped { events: 92_000, .. })));
    }
}
