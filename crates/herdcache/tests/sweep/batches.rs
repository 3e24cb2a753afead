//! Batch reads, of keys that are there, are under way elsewhere, are loaded together, queue, or fail.

use herdcache::WhenUnwatched;

use crate::harness::{Place, Scene, Thing, does, sweep_both};
use crate::support::ms;
use crate::world::{ABSENT, Answered, FAILS, NEVER, QUICK, World, gate};

/// A batch read of these keys.
fn reads<const KEYS: usize>(world: &World, keys: [u64; KEYS]) -> Scene {
    let items = world.items.clone();
    Scene::new(world, async move { drop(items.get_many(&keys).await) }).reads(KEYS as u64)
}

fn asks(world: &World, key: u64) -> Thing {
    let world = world.clone();
    does(move || world.ask(key))
}

/// A batch of somebody else's.
fn asks_many(world: &World, keys: [u64; 2]) -> Thing {
    let world = world.clone();
    does(move || {
        let items = world.items.clone();
        world.made(keys.len() as u64);
        world.clone().wait_for(keys[0], Answered::Value, async move { items.get_many(&keys).await.swap_remove(0) });
    })
}

/// B1, S1, L6: one key is there, one under way, three are loaded in one call, one comes twice; others join all of them.
#[tokio::test(start_paused = true)]
async fn b1_l6_a_batch_is_cut_everywhere() {
    sweep_both(12, async |what| {
        let world = World::new(what, gate(4, 4));
        world.items.insert(1, 10);
        world.ask(2);
        tokio::task::yield_now().await;
        let scene = reads(&world, [1, 2, 3, 4, QUICK, 4]);
        scene.then([asks(&world, 3), asks_many(&world, [4, 5]), Thing::Turn, asks(&world, 2)])
    })
    .await;
}

/// B1, G1, L6: a call that queues behind another load.
#[tokio::test(start_paused = true)]
async fn b1_l6_a_batch_in_the_queue_is_cut_everywhere() {
    sweep_both(12, async |what| {
        let world = World::new(what, gate(1, 4));
        world.ask(1);
        tokio::task::yield_now().await;
        reads(&world, [2, 3, 4, 5]).then([asks(&world, 6), asks_many(&world, [3, 7])])
    })
    .await;
}

/// B1, E1, L6: a call that fails for all of its keys, beside one that finds nothing.
#[tokio::test(start_paused = true)]
async fn b1_l6_a_batch_that_fails_is_cut_everywhere() {
    sweep_both(4, async |what| {
        let world = World::new(what, gate(4, 4));
        let joins = world.clone();
        let fails = does(move || joins.ask_for(FAILS, Answered::Somehow));
        reads(&world, [1, 2, 3, FAILS, ABSENT]).then([fails])
    })
    .await;
}

/// B1, S7, L6: a call that is never answered.
#[tokio::test(start_paused = true)]
async fn b1_l6_a_batch_that_is_never_answered_is_cut_everywhere() {
    sweep_both(30, async |what| {
        let world = World::with(what, gate(4, 4), |builder| builder.origin_timeout(ms(30)));
        let joins = world.clone();
        let hangs = does(move || joins.ask_for(NEVER, Answered::Somehow));
        reads(&world, [1, NEVER]).then([hangs])
    })
    .await;
}

/// B1, S4, L6: with a limit for all of it, which passes when some are answered.
#[tokio::test(start_paused = true)]
async fn b1_l6_a_batch_with_a_limit_is_cut_everywhere() {
    sweep_both(3, async |what: WhenUnwatched| {
        let world = World::new(what, gate(4, 4));
        world.ask(1);
        tokio::time::sleep(ms(6)).await;
        let items = world.items.with_wait_timeout(ms(9));
        let read = async move { drop(items.get_many(&[1, 2, 3]).await) };
        Scene::new(&world, read).reads(3).then([asks(&world, 3)])
    })
    .await;
}

/// B1, S5, L3: within a load, whose permit its own call takes.
#[tokio::test(start_paused = true)]
async fn b1_s5_a_nested_batch_is_cut_everywhere() {
    sweep_both(12, async |what| {
        let world = World::new(what, gate(1, 4));
        let mut scene = reads(&world, [1, 2, 3]).then([asks(&world, 2)]);
        scene.place = Place::Load;
        scene
    })
    .await;
}
