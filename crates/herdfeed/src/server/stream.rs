//! One subscriber: hello, the past, then events and snapshots at its cadence.
//!
//! The task holds one line ahead of what the connection has taken, so a slow
//! reader makes it wait here, alone: it then gets the newest snapshot, and `lag`
//! for events that the ring has overwritten meanwhile.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use hyper::body::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use crate::line::Line;
use crate::server::account::count;
use crate::server::answer::{Body, Last};
use crate::server::fit::{event_lines, text_of};
use crate::server::hub::{Hub, Seat, View};
use crate::server::limits::EVENTS_AT_ONCE;
use crate::server::query::{Events, Wish};
use crate::server::race::{First, race};

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Its reader went away.
    Gone,
    /// Its reader took nothing for too long.
    Slow,
    /// The publisher closes.
    Shutdown,
}

type Flow = ControlFlow<End>;

/// Starts a subscriber's task; the body gives what it writes.
pub(super) fn open(seat: Seat, wish: Wish, hello: Bytes) -> Body {
    let (pipe, lines) = mpsc::channel(1);
    let last = Last::default();
    let body = Body::Piped { lines, last: Last::clone(&last) };
    tokio::spawn(run(seat, wish, hello, pipe, last));
    body
}

async fn run(seat: Seat, wish: Wish, hello: Bytes, pipe: mpsc::Sender<Bytes>, last: Last) {
    let hub = &seat.0;
    let subscriber = Subscriber { hub, pipe: &pipe };
    let end = match race(subscriber.tell(wish, hello), hub.closing()).await {
        First::One(end) => end,
        First::Two(()) => End::Shutdown,
    };
    let why = match end {
        End::Gone => return,
        End::Slow => {
            count(&hub.account.slow_closed);
            "slow"
        }
        End::Shutdown => "shutdown",
    };
    // The body sends it once the lines before it are taken, if that ever happens.
    *last.lock().unwrap_or_else(PoisonError::into_inner) = text_of(&Line::Bye { why: why.into() }, &hub.account);
}

/// What a subscriber has been told.
struct Told {
    events: Events,
    view: Option<Arc<View>>,
}

struct Subscriber<'a> {
    hub: &'a Hub,
    pipe: &'a mpsc::Sender<Bytes>,
}

impl Subscriber<'_> {
    async fn tell(&self, wish: Wish, hello: Bytes) -> End {
        match self.tell_on(wish, hello).await {
            ControlFlow::Break(end) => end,
            ControlFlow::Continue(never) => match never {},
        }
    }

    async fn tell_on(&self, wish: Wish, hello: Bytes) -> ControlFlow<End, std::convert::Infallible> {
        self.send(hello).await?;
        for line in self.hub.past() {
            self.send(line).await?;
        }
        let mut told = Told { events: wish.events, view: None };
        self.tick(&mut told).await?;
        let mut ticks = interval_at(self.next_tick(wish), wish.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            match race(ticks.tick(), self.pipe.closed()).await {
                First::One(_) => self.tick(&mut told).await?,
                First::Two(()) => return ControlFlow::Break(End::Gone),
            }
        }
    }

    /// The next of the moments at which every subscriber of this cadence ticks.
    fn next_tick(&self, wish: Wish) -> Instant {
        let elapsed = self.hub.epoch.elapsed().as_nanos();
        let every = wish.every.as_nanos().max(1);
        let into = u64::try_from(elapsed % every).unwrap_or_default();
        Instant::now() + wish.every.saturating_sub(std::time::Duration::from_nanos(into))
    }

    /// Events first: a snapshot counts what they tell.
    async fn tick(&self, told: &mut Told) -> Flow {
        // A panic has been counted; the next tick asks again.
        let Ok(view) = self.hub.view() else {
            return Flow::Continue(());
        };
        if let Events::Since(cursor) = &mut told.events {
            // A cursor from another boot of the process lies beyond what there is.
            *cursor = if *cursor > view.next_event { 0 } else { *cursor };
            self.tell_events(cursor).await?;
        }
        // A tick right after attaching may find the snapshot that attaching brought.
        if told.view.as_ref().is_some_and(|told| Arc::ptr_eq(told, &view)) {
            return Flow::Continue(());
        }
        for line in &view.lines {
            self.send(line.clone()).await?;
        }
        told.view = Some(view);
        Flow::Continue(())
    }

    async fn tell_events(&self, cursor: &mut u64) -> Flow {
        loop {
            let Ok(batch) = self.hub.events(*cursor, EVENTS_AT_ONCE) else {
                return Flow::Continue(());
            };
            if let Some((from, to)) = batch.lag {
                self.send_all(text_of(&Line::Lag { from, to }, &self.hub.account)).await?;
            }
            let done = batch.events.is_empty() || batch.next <= *cursor;
            *cursor = batch.next.max(*cursor);
            self.send_all(event_lines(batch.events, &self.hub.account)).await?;
            if done {
                return Flow::Continue(());
            }
        }
    }

    async fn send_all(&self, lines: impl IntoIterator<Item = Bytes>) -> Flow {
        for line in lines {
            self.send(line).await?;
        }
        Flow::Continue(())
    }

    async fn send(&self, line: Bytes) -> Flow {
        match timeout(self.hub.limits.stuck, self.pipe.send(line)).await {
            Ok(Ok(())) => {
                self.hub.account.lines_sent.fetch_add(1, Ordering::Relaxed);
                Flow::Continue(())
            }
            Ok(Err(_)) => Flow::Break(End::Gone),
            Err(_) => Flow::Break(End::Slow),
        }
    }
}
