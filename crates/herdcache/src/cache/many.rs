//! The corridor of a batch read: many reads that are looked up one after the other and loaded together.
//!
//! Each key is a [`Get`] of its own, so that a batch judges nothing by itself. The flights
//! that its reads open are collected and launched before anything is waited for. The reads
//! are waited for in their order: all of them are needed, so only the first has to be
//! polled each time, and a glance tells of the others.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::ReadThrough;
use super::get::Get;
use super::get::part::Part;
use super::loader::Together;
use crate::core::Core;
use crate::core::batch::{self, Led};
use crate::error::Got;
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
    /// ([`Builder::group_share`](crate::Builder::group_share)) are never in one call. All of its calls come to the gate
    /// at once: **no more can be made than the gate has permits and places in its queue**, the keys of the others are
    /// rejected (with 8 permits, a queue of 32 and 100 keys a call: those beyond 4,000), and so are other callers
    /// meanwhile. An origin without a batch call loads each key by itself: there it is that many keys.
    ///
    /// The refresh of a stale key is a load of its own. The handle's wait timeout counts once for the whole call.
    ///
    /// # Errors
    /// Each key has its own result: see [`get`](ReadThrough::get). The error of a batch call is that of each key
    /// that it was to load, and each of them cools; a key that its reply left out has failed as `Contract`. Keys
    /// that have no answer when the wait timeout passes are `WaitTimeout`, the others keep theirs. Keys beyond the
    /// cache's `max_flights` are `Rejected`.
    ///
    /// # Cancel safety
    /// Dropping the future ends the requests that have no answer yet as `cancelled`. The loads go on.
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
            waiting: Vec::new(),
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
    /// The reads without an answer, with their places.
    waiting: Vec<(usize, Part<'a, K, V, E>)>,
    /// The wait timeout of all of them.
    sleep: Option<Pin<Box<Sleep>>>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start,
    Waiting,
    Done,
}

impl<K: Key, V: Send + Sync + 'static, E: Send + Sync + 'static> GetMany<'_, K, V, E> {
    /// Looks every key up, then launches what is to be loaded.
    fn start(&mut self, cx: &mut Context<'_>) {
        // The limit is kept here, once for all. Where it cannot be, each read says so.
        let timers = runtime::with_timers();
        let limit = if timers.is_some() { None } else { self.limit };
        self.answers.reserve_exact(self.keys.len());
        let mut led = Vec::new();
        for (place, key) in self.keys.iter().enumerate() {
            let mut read = Get::new(self.core, limit, key, Together { origin: self.origin, led: None });
            let polled = Pin::new(&mut read).poll(cx);
            led.extend(read.take_led());
            self.answers.push(match polled {
                Poll::Ready(got) => Some(got),
                Poll::Pending => {
                    self.waiting.push((place, read));
                    None
                }
            });
        }
        batch::launch(led, self.origin);
        if let Some(limit) = self.limit.filter(|_| timers.is_some() && !self.waiting.is_empty()) {
            self.sleep = Some(Box::pin(time::sleep(limit)));
        }
    }

    /// Takes the answers that are there.
    fn collect(&mut self, cx: &mut Context<'_>) {
        loop {
            let led = self.pass(cx);
            if led.is_empty() {
                return;
            }
            // S8: flights taken over from a runtime that has ended. They may have landed at once.
            batch::launch(led, self.origin);
        }
    }

    /// Polls the first read that has no answer, and those that have one at a glance. Gives the flights that they open.
    fn pass(&mut self, cx: &mut Context<'_>) -> Vec<Led<K, V, E>> {
        let (mut led, mut waits) = (Vec::new(), 0);
        let answers = &mut self.answers;
        self.waiting.retain_mut(|(place, read)| {
            if waits > 0 && !read.is_ripe() {
                return true;
            }
            let polled = Pin::new(&mut *read).poll(cx);
            led.extend(read.take_led());
            let Poll::Ready(got) = polled else {
                waits += 1;
                return true;
            };
            answers[*place] = Some(got);
            false
        });
        led
    }

    /// S4: whoever has no answer by now gets none.
    fn give_up(&mut self, limit: Duration) {
        for (place, mut read) in self.waiting.drain(..) {
            self.answers[place] = read.give_up(limit);
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
        this.collect(cx);
        if let (Some(limit), Some(sleep)) = (this.limit, &mut this.sleep) {
            if !this.waiting.is_empty() && sleep.as_mut().poll(cx).is_ready() {
                this.give_up(limit);
            }
        }
        if !this.waiting.is_empty() {
            return Poll::Pending;
        }
        this.stage = Stage::Done;
        let mut answers = Vec::with_capacity(this.keys.len());
        answers.extend(std::mem::take(&mut this.answers).into_iter().flatten());
        debug_assert_eq!(answers.len(), this.keys.len(), "B1: each key has its own result");
        Poll::Ready(answers)
    }
}
