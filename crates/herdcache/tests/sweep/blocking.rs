//! Blocking work: its future may be dropped, the work itself goes on and keeps the permit until it has ended.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use herdcache::{Got, LoadContext, WhenUnwatched};
use tokio::sync::oneshot;

use crate::harness::{Scene, Thing, does, sweep_both};
use crate::support::{DbError, ms};
use crate::world::{Answered, World, gate};

const KEY: u64 = 7;

type Work = Pin<Box<dyn Future<Output = bool> + Send>>;

/// Work that blocks its thread until it is told to end, as the loader's own future of it.
fn work(cx: LoadContext<u64, u64>, ends: Receiver<()>) -> Work {
    Box::pin(async move {
        // An end of the scene ends it as well.
        let done = cx.run_blocking(move || _ = ends.recv()).await;
        done.is_ok()
    })
}

/// A read whose loader waits for blocking work.
fn reads(world: &World, ends: Receiver<()>) -> impl Future<Output = Got<u64, DbError>> + Send + use<> {
    let (items, calls) = (world.items.clone(), Arc::clone(&world.calls));
    async move {
        let load = |cx| async move {
            let _call = calls.call();
            if work(cx, ends).await { Ok(KEY * 10) } else { Err(DbError("no work")) }
        };
        items.get_with(&KEY, load).await
    }
}

fn ends(work: Sender<()>) -> Thing {
    does(move || drop(work))
}

/// S7, L3, L6: a caller is cut while its load does blocking work.
#[tokio::test(start_paused = true)]
async fn s7_l6_a_read_of_a_blocking_load_is_cut_everywhere() {
    sweep_both(3, async |what| {
        let world = World::new(what, gate(1, 4));
        let (sender, receiver) = channel();
        let read = reads(&world, receiver);
        // Whoever comes later waits for the permit that the work keeps.
        let behind = world.clone();
        let things = [Thing::Turn, does(move || behind.ask(1)), Thing::Turn, ends(sender), Thing::Rest];
        Scene::new(&world, async move { drop(read.await) }).reads(1).then(things)
    })
    .await;
}

/// A4, S7, L3: the future of the work itself is cut, polled apart from its load, which ends before the work does.
#[tokio::test(start_paused = true)]
async fn a4_l3_blocking_work_is_cut_everywhere() {
    sweep_both(3, async |what: WhenUnwatched| {
        let world = World::new(what, gate(1, 4));
        let (sender, receiver) = channel();
        let (hand, handed) = oneshot::channel();
        let (items, calls) = (world.items.clone(), Arc::clone(&world.calls));
        world.made(1);
        world.wait_for(KEY, Answered::Value, async move {
            let load = |cx| async move {
                let _call = calls.call();
                let _ = hand.send(work(cx, receiver));
                tokio::time::sleep(ms(4)).await;
                Ok(KEY * 10)
            };
            items.get_with(&KEY, load).await
        });
        let work = handed.await.unwrap();
        let behind = world.clone();
        let things = [Thing::Turn, Thing::Pass(ms(6)), does(move || behind.ask(1)), ends(sender), Thing::Rest];
        Scene::new(&world, async move { _ = work.await }).then(things)
    })
    .await;
}
