//! B1: one call of the scripted origin for several keys.
//!
//! The script of the first key says what the call does; the scripts of the others, whether it names them.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use herdcache::{LoadContext, Loaded};
use tokio::time::Sleep;

use super::generate::KEYS;
use super::history::{End, Leave, Script};
use super::load::{Down, Key, Row, answer, begin_all, end, end_with, offered, panic_as};
use super::world::{Came, Shared};

/// One batch call.
pub(super) struct Batch {
    world: Shared,
    /// Each with the row of the value that it may confirm.
    keys: Vec<(Key, Option<usize>)>,
    scripts: Vec<Script>,
    /// Their places in the record, once it has begun.
    births: Option<Range<usize>>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Batch {
    pub(super) fn new(world: &Shared, contexts: &[LoadContext<Key, Row>]) -> Self {
        let keys: Vec<_> = contexts.iter().map(|cx| (*cx.key(), offered(world, cx))).collect();
        let asks = world.lock();
        let scripts = keys.iter().map(|(key, _)| asks.asks[key.tag].script).collect();
        drop(asks);
        Self { world: world.clone(), keys, scripts, births: None, sleep: None }
    }

    /// Each key's part, in the opposite order, among what was not asked for.
    fn reply(&self, births: &Range<usize>) -> Vec<(Key, Loaded<Row>)> {
        let nonsense = Row { key: u64::MAX, birth: usize::MAX };
        let mut reply = vec![(Key { number: KEYS + 50, tag: 0 }, Loaded::value(nonsense))];
        let parts = self.keys.iter().zip(&self.scripts).zip(births.clone());
        for (((key, offered), script), birth) in parts.rev() {
            let (End::Gives(..) | End::Confirms(..) | End::Blocks(_)) = script.end else {
                end(&self.world, birth, Came::LeftOut);
                continue;
            };
            let (came, loaded) = answer(script.end, *offered, Row { key: key.number, birth });
            end_with(&self.world, birth, came, *offered);
            reply.push((*key, loaded));
            reply.push((*key, Loaded::value(nonsense)));
        }
        reply
    }
}

impl Future for Batch {
    type Output = Result<Vec<(Key, Loaded<Row>)>, Down>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let births = this.births.get_or_insert_with(|| begin_all(&this.world, &this.keys)).clone();
        let script = this.scripts[0];
        if let Some(after) = script.after {
            let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
            ready!(sleep.as_mut().poll(cx));
        }
        match script.end {
            End::Gives(..) | End::Confirms(..) | End::Blocks(_) => Poll::Ready(Ok(this.reply(&births))),
            End::Fails => {
                births.clone().for_each(|birth| end(&this.world, birth, Came::Error));
                Poll::Ready(Err(Down(Row { key: this.keys[0].0.number, birth: births.start })))
            }
            End::PanicsWhenPolled | End::PanicsWhenMade => {
                births.clone().for_each(|birth| end(&this.world, birth, Came::Panic));
                panic_as(births.start)
            }
            End::Never => Poll::Pending,
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let Some(births) = self.births.clone() else { return };
        let panics = self.scripts[0].leave == Leave::Panics && !std::thread::panicking();
        let mut world = self.world.lock();
        for place in births.clone() {
            world.part_over(place);
            let birth = &mut world.births[place];
            if panics && birth.ended.is_some() {
                // What it had brought is lost in the panic.
                birth.came = Came::Panic;
            }
        }
        drop(world);
        if panics {
            panic_as(births.start);
        }
    }
}
