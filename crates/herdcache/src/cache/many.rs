//! The corridor of a batch read: many reads that are looked up one after the other and loaded together.
//!
//! Each key is a [`Get`] of its own, so that a batch judges nothing by itself. The flights
//! that its reads open are collected and launched before anything is waited for; keys for
//! whose loads there is no room are asked for later, so that nobody can join what is not on
//! its way. The reads are waited for in their order: all of them are needed, so only the
//! first has to be polled each time, and a glance tells of the others.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use herdfeed::RejectReason;

use super::ReadThrough;
use super::get::Get;
use super::get::part::Part;
use super::loader::Together;
use crate::clock::{self, Moment, nanos};
use crate::core::Core;
use crate::core::batch::{self, Led};
use crate::error::{GetError, Got};
use crate::key::Key;
use crate::origin::AnyOrigin;
use crate::runtime;
use crate::sync::time::{self, Sleep};

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> ReadThrough<K, V, E> {
    /// The values under `keys`, in their order; what is missing is loaded together.
    ///
    /// Each key is answered as [`get`](ReadThrough::get) would answer it, and is one request of the account; a key
    /// that is named twice is asked for twice and loaded once. Keys that another caller is loading are waited for
    /// like any other's. The rest is loaded in chunks of [`Origin::MAX_BATCH`](crate::Origin::MAX_BATCH) keys, each
    /// by one call of [`Origin::load_many`](crate::Origin::load_many) under one permit; keys of different groups
    /// ([`Builder::group_share`](crate::Builder::group_share)) are never in one call. An origin without a batch call
    /// loads each key by itself.
    ///
    /// However many keys there are, the batch has no more calls on their way than its gate has permits, and loads
    /// further keys when earlier ones have been answered: it neither fills the gate's queue against other callers
    /// nor is rejected for its own size. Called within a loader, it makes one call after the other under that load's
    /// permit. What could not begin within `flight_deadline` is rejected, so the whole takes at most twice that.
    ///
    /// The refresh of a stale key is a load of its own. The handle's wait timeout counts once for the whole call.
    ///
    /// # Errors
    /// Each key has its own result: see [`get`](ReadThrough::get). The error of a batch call is that of each key
    /// that it was to load, and each of them cools; a key that its reply left out has failed as `Contract`. Keys
    /// that have no answer when the wait timeout passes are `WaitTimeout`, the others keep theirs. Keys whose load could
    /// not begin are `Rejected`: because of others at the gate, of the cache's `max_flights`, or of the deadline.
    ///
    /// # Cancel safety
    /// Dropping the future ends the requests that have no answer yet as `cancelled`. The loads that have begun go on;
    /// keys whose load had no room yet have been no requests.
    ///
    /// ```
    /// # use std::{convert::Infallible, time::Duration};
    /// # use herdcache::{Cache, Gate, LoadContext, Loaded, Origin, Ttl};
    /// struct Stock;
    ///
    /// impl Origin<u32, String> for Stock {
    ///     type Error = Infallible;
    ///     const MAX_BATCH: usize = 100;
    ///
    ///     async fn load(&self, cx: LoadContext<u32, String>) -> Result<Loaded<String>, Infallible> {
    ///         Ok(Loaded::value(format!("item {}", cx.key())))
    ///     }
    ///
    ///     async fn load_many(&self, keys: Vec<LoadContext<u32, String>>) -> Result<Vec<(u32, Loaded<String>)>, Infallible> {
    ///         // select id, name from items where id = any($1)
    ///         let rows = keys.iter().map(|cx| (*cx.key(), Loaded::value(format!("item {}", cx.key()))));
    ///         Ok(rows.collect())
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stock = Cache::builder("stock", Ttl::fresh_for(Duration::from_secs(60)), &Gate::new(8)).build_over(Stock)?;
    /// let items = stock.get_many(&[1, 2, 3]).await;
    /// let names: Vec<&str> = items.iter().flatten().flatten().map(|item| item.as_str()).collect();
    /// assert_eq!(names, ["item 1", "item 2", "item 3"]);
    /// assert_eq!(stock.snapshot().origin_calls, 1);
    /// # Ok(()) }
    /// ```
    pub fn get_many<'a>(&'a self, keys: &'a [K]) -> impl Future<Output = Vec<Got<V, E>>> + Send + use<'a, K, V, E> {
        GetMany {
            core: &self.cache.core,
            origin: &self.origin,
            keys,
            limit: self.cache.wait,
            answers: Vec::new(),
            unasked: Vec::new(),
            waiting: Vec::new(),
            began: 0,
            sleep: None,
            stage: Stage::Start,
        }
    }
}

/// A batch of reads.
struct GetMany<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> {
    core: &'a Arc<Core<K, V, E>>,
    origin: &'a Arc<dyn AnyOrigin<K, V, E>>,
    keys: &'a [K],
    limit: Option<Duration>,
    /// One for each key, in their order.
    answers: Vec<Option<Got<V, E>>>,
    /// Keys that are to be loaded when there is room, by their places. Nobody can have joined their loads.
    unasked: Vec<usize>,
    waiting: Vec<Waiting<'a, K, V, E>>,
    /// When it began; from a flight's deadline later on nothing more is asked for.
    began: Moment,
    /// The wait timeout of all of them.
    sleep: Option<Pin<Box<Sleep>>>,
    stage: Stage,
}

/// A read without an answer.
struct Waiting<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> {
    place: usize,
    read: Part<'a, K, V, E>,
    /// Whether it waits for a flight of this batch.
    leads: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Waiting,
    Done,
}

/// How often the keys have been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    First,
    Again,
}

impl<'a, K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> GetMany<'a, K, V, E> {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.began = clock::exact();
        self.answers.resize_with(self.keys.len(), || None);
        let led = self.ask(cx, 0..self.keys.len(), Look::First);
        batch::launch(led, self.origin);
        self.advance(cx);
        // The limit is kept here, once for all. Where it cannot be, each read says so.
        if let Some(limit) = self.limit.filter(|_| !self.is_over() && runtime::with_timers().is_some()) {
            self.sleep = Some(Box::pin(time::sleep(limit)));
        }
    }

    fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.unasked.is_empty()
    }

    /// Takes the answers that are there, and asks for more keys where there is room for their loads.
    fn advance(&mut self, cx: &mut Context<'_>) {
        loop {
            let mut led = self.pass(cx);
            let unasked = self.unasked.len();
            if unasked > 0 && !self.is_too_late() {
                let again = std::mem::take(&mut self.unasked);
                led.extend(self.ask(cx, again, Look::Again));
            }
            if led.is_empty() && unasked == self.unasked.len() {
                return;
            }
            // They may have landed at once.
            batch::launch(led, self.origin);
        }
    }

    /// Polls the first read that has no answer, and those that have one at a glance. Gives the flights that they open:
    /// S8, those taken over from a runtime that has ended.
    fn pass(&mut self, cx: &mut Context<'_>) -> Vec<Led<K, V, E>> {
        let (mut led, mut waits) = (Vec::new(), 0);
        let answers = &mut self.answers;
        self.waiting.retain_mut(|Waiting { place, read, leads }| {
            if waits > 0 && !read.is_ripe() {
                return true;
            }
            let polled = Pin::new(&mut *read).poll(cx);
            if let Some(flight) = read.take_led() {
                led.push(flight);
                *leads = true;
            }
            let Poll::Ready(got) = polled else {
                waits += 1;
                return true;
            };
            answers[*place] = Some(got);
            false
        });
        led
    }

    /// Asks for keys as long as there is room for their loads: as much as the gate lets through at once. The rest would
    /// only crowd its queue, against others and against itself. F3: what can be answered at once needs no room.
    fn ask(&mut self, cx: &mut Context<'_>, places: impl IntoIterator<Item = usize>, look: Look) -> Vec<Led<K, V, E>> {
        let mut led = Vec::new();
        let leading = self.waiting.iter().filter(|waiting| waiting.leads).count();
        let mut room = batch::room(self.core, self.origin).saturating_sub(leading);
        for place in places {
            let mut read = self.read(place);
            if room == 0 && (look == Look::Again || !read.is_there()) {
                self.unasked.push(place);
                continue;
            }
            let polled = Pin::new(&mut read).poll(cx);
            let flight = read.take_led();
            let leads = flight.is_some();
            led.extend(flight);
            match polled {
                Poll::Ready(got) => self.answers[place] = Some(got),
                Poll::Pending => {
                    room -= usize::from(leads);
                    self.waiting.push(Waiting { place, read, leads });
                }
            }
        }
        led
    }

    fn read(&self, place: usize) -> Part<'a, K, V, E> {
        let limit = if runtime::with_timers().is_some() { None } else { self.limit };
        Get::new(self.core, limit, &self.keys[place], Together { origin: self.origin, led: None })
    }

    /// B1, never a hang: what could not begin within a flight's deadline is refused.
    fn is_too_late(&mut self) -> bool {
        let deadline = nanos(self.core.settings.flight_deadline);
        let late = clock::exact().saturating_sub(self.began) >= deadline;
        if late {
            let reason = RejectReason::Deadline;
            let retry_in = self.core.gate.retry_in(reason);
            self.refuse_rest(|core| {
                core.count_rejection(reason);
                GetError::Rejected { reason, retry_in }
            });
        }
        late
    }

    /// S4: whoever has no answer by now gets none.
    fn give_up(&mut self, limit: Duration) {
        for Waiting { place, mut read, .. } in self.waiting.drain(..) {
            self.answers[place] = read.give_up(limit);
        }
        self.refuse_rest(|_| GetError::WaitTimeout { limit });
    }

    /// Keys for whose loads there was no room are requests all the same, which found nothing.
    fn refuse_rest(&mut self, error: impl Fn(&Core<K, V, E>) -> GetError<E>) {
        for place in std::mem::take(&mut self.unasked) {
            let mut read = self.read(place);
            self.answers[place] = Some(read.turn_away(error(self.core)));
        }
    }
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> Future for GetMany<'_, K, V, E> {
    type Output = Vec<Got<V, E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Vec<Got<V, E>>> {
        let this = self.get_mut();
        match this.stage {
            Stage::Start => {
                this.stage = Stage::Waiting;
                this.start(cx);
            }
            Stage::Waiting => {}
            Stage::Done => return Poll::Pending,
        }
        this.advance(cx);
        let over = this.is_over();
        if let (Some(limit), Some(sleep)) = (this.limit.filter(|_| !over), &mut this.sleep) {
            if sleep.as_mut().poll(cx).is_ready() {
                this.give_up(limit);
            }
        }
        if !this.is_over() {
            return Poll::Pending;
        }
        this.stage = Stage::Done;
        let mut answers = Vec::with_capacity(this.keys.len());
        answers.extend(std::mem::take(&mut this.answers).into_iter().flatten());
        debug_assert_eq!(answers.len(), this.keys.len(), "B1: each key has its own result");
        Poll::Ready(answers)
    }
}
