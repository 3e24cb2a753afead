//! Reads that wait for more than their load: for a permit, for older loads, for a limit of their own, for a second flight.

use std::sync::Arc;
use std::time::Duration;

use herdcache::{FailFast, Loaded, WhenUnwatched};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use crate::harness::{Scene, Thing, does, sweep_both};
use crate::support::{DbError, ms};
use crate::world::{Answered, FAILS, NEVER, World, gate};

const KEY: u64 = 7;
/// What keeps the only permit.
const BUSY: u64 = 1;

fn reads(world: &World) -> Scene {
    let items = world.items.clone();
    Scene::new(world, async move { drop(items.get(&KEY).await) }).reads(1)
}

fn asks(world: &World, key: u64) -> Thing {
    let world = world.clone();
    does(move || world.ask(key))
}

/// G1, L3, L6: in the gate's queue, beside those who wait before and behind it.
#[tokio::test(start_paused = true)]
async fn g1_l6_a_read_in_the_queue_is_cut_everywhere() {
    sweep_both(8, async |what| {
        let world = World::new(what, gate(1, 4));
        world.ask(BUSY);
        world.ask(BUSY + 1);
        tokio::task::yield_now().await;
        let behind = [asks(&world, KEY), asks(&world, BUSY + 2), Thing::Turn, asks(&world, KEY)];
        reads(&world).then(behind)
    })
    .await;
}

/// G1, L6: in a queue in which it waits too long.
#[tokio::test(start_paused = true)]
async fn g1_l6_a_read_that_times_out_in_the_queue_is_cut_everywhere() {
    sweep_both(8, async |what| {
        let world = World::new(what, gate(1, 4).queue_timeout(ms(20)));
        world.ask_for(NEVER, Answered::Somehow);
        tokio::task::yield_now().await;
        let joins = world.clone();
        reads(&world).then([does(move || joins.ask_for(KEY, Answered::Somehow))])
    })
    .await;
}

/// G1, L6: one that is refused at once has nothing to leave behind.
#[tokio::test(start_paused = true)]
async fn g1_l6_a_read_that_is_refused_leaves_nothing() {
    sweep_both(1, async |what| {
        let world = World::new(what, gate(1, 1));
        world.ask(BUSY);
        world.ask(BUSY + 1);
        tokio::task::yield_now().await;
        reads(&world)
    })
    .await;
}

/// L2, L6: held back by two older loads of its key.
#[tokio::test(start_paused = true)]
async fn l2_l6_a_read_that_is_held_back_is_cut_everywhere() {
    sweep_both(8, async |what| {
        let world = World::new(what, gate(4, 4));
        for _ in 0..2 {
            world.ask(KEY);
            tokio::task::yield_now().await;
            world.items.invalidate(&KEY);
        }
        reads(&world).then([asks(&world, KEY), Thing::Turn, asks(&world, KEY)])
    })
    .await;
}

/// S4, L6: with a limit of its own that passes before the load ends.
#[tokio::test(start_paused = true)]
async fn s4_l6_a_read_with_a_limit_is_cut_everywhere() {
    for limit in [ms(6), ms(12), ms(60)] {
        sweep_both(3, async |what| {
            let world = World::new(what, gate(4, 4));
            let items = world.items.with_wait_timeout(limit);
            let read = async move { drop(items.get(&KEY).await) };
            Scene::new(&world, read).reads(1).then([asks(&world, KEY)])
        })
        .await;
    }
}

/// F5, L6: with a value in reserve, which is answered before the load ends.
#[tokio::test(start_paused = true)]
async fn f5_l6_a_read_with_a_soft_timeout_is_cut_everywhere() {
    sweep_both(3, async |what| {
        let world = World::with(what, gate(4, 4), |builder| builder.soft_timeout(ms(6)));
        world.items.insert(KEY, KEY * 10);
        tokio::time::sleep(ms(2_500)).await;
        reads(&world).then([asks(&world, KEY)])
    })
    .await;
}

/// W2, L6: its load turns out to have a tag that was invalidated before it came; it loads anew.
#[tokio::test(start_paused = true)]
async fn w2_l6_a_read_that_looks_for_a_second_flight_is_cut_everywhere() {
    sweep_both(12, async |what| {
        let world = World::new(what, gate(4, 4));
        world.ask(KEY);
        tokio::task::yield_now().await;
        world.items.invalidate_tag("all");
        reads(&world).then([asks(&world, KEY), Thing::Turn])
    })
    .await;
}

/// Takes a runtime's tasks down with it.
fn end(runtime: &Mutex<Option<Runtime>>) {
    if let Some(runtime) = runtime.lock().take() {
        runtime.shutdown_background();
    }
}

/// S8, L6: the runtime that carries its flight ends, and it takes over.
#[tokio::test(start_paused = true)]
async fn s8_l6_a_read_that_takes_over_is_cut_everywhere() {
    // Each runtime has its own clock: limits that neither comes near.
    let hour = Duration::from_secs(3_600);
    sweep_both(8, async |what| {
        let world = World::with(what, gate(4, 4), |builder| builder.origin_timeout(hour).flight_deadline(hour));
        let other = Builder::new_current_thread().enable_all().build().unwrap();
        let (items, calls) = (world.items.clone(), Arc::clone(&world.calls));
        let load = |_| async move {
            let _call = calls.call();
            std::future::pending::<Result<u64, DbError>>().await
        };
        world.made(1);
        world.gives_up(1);
        other.spawn(async move { drop(items.get_with(&KEY, load).await) });
        let once = std::thread::spawn(move || {
            other.block_on(tokio::task::yield_now());
            other
        });
        let other = Arc::new(Mutex::new(Some(once.join().unwrap())));
        let ended = does(move || end(&other));
        reads(&world).then([asks(&world, KEY), Thing::Turn, ended, Thing::Turn, asks(&world, KEY)])
    })
    .await;
}

/// G5, L6: as the one probe of a gate that is shut, at the origin or in its queue.
#[tokio::test(start_paused = true)]
async fn g5_l6_a_probe_is_cut_everywhere() {
    for busy in [false, true] {
        sweep_both(6, async |what: WhenUnwatched| {
            let fail_fast = FailFast::new().at_least(2).window(ms(1_000)).probe_every(ms(10));
            let gate = gate(1, 4).fail_fast(fail_fast);
            let world = World::with(what, gate, |builder| builder.origin_timeout(ms(40)));
            for key in FAILS..FAILS + 4 {
                world.ask_for(key, Answered::Somehow);
            }
            tokio::time::sleep(ms(30)).await;
            if busy {
                // A probe that hangs holds the only permit; the next one queues behind it.
                world.ask_for(NEVER, Answered::Somehow);
                tokio::time::sleep(ms(15)).await;
            }
            reads(&world)
        })
        .await;
    }
}

/// E1, L6: a key that cools answers at once, from the reserve where there is one.
#[tokio::test(start_paused = true)]
async fn e1_l6_a_read_of_a_cooling_key_leaves_nothing() {
    sweep_both(1, async |what| {
        let world =
            World::with(what, gate(4, 4), |builder| builder.fallback(|key, _| (*key == KEY).then_some(KEY * 10)));
        let fails = world.items.clone();
        world.made(1);
        let calls = Arc::clone(&world.calls);
        let load = |_| async move {
            let _call = calls.call();
            Err::<Loaded<u64>, _>(DbError("down"))
        };
        drop(fails.get_with(&KEY, load).await);
        reads(&world).then([asks(&world, KEY)])
    })
    .await;
}
