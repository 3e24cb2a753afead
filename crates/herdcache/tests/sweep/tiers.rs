//! Futures of a cache with a shared tier and a lease: whatever is cut, no lease stays behind.
//!
//! A lease that nobody gave back would end by itself in a minute, which no scene waits for: what the tier still
//! holds when everything has ended was forgotten.

use herdcache::herdfeed::SharedOperation;
use herdcache::{
    Builder, Cache, Fault, Gate, Lease, LeaseToken, Leasing, MemoryTier, Reach, Shared, SharedKey, Ttl, WhenUnwatched,
    WriteFailure,
};

use crate::harness::{Place, Scene, Thing, does, sweep_both};
use crate::support::{Calls, DbError, ms};
use crate::world::{ABSENT, Answered, FAILS, NEVER, World, gate};

const KEY: u64 = 7;
/// A key that another process loads.
const THEIRS: u64 = 8;

type Settings = Builder<u64, u64, DbError>;

/// A world over this tier, in which a lease lasts for longer than the scene.
fn over(what: WhenUnwatched, tier: &MemoryTier, permits: usize, set: impl FnOnce(Settings) -> Settings) -> World {
    let leasing = Leasing::new(tier.clone()).time(ms(60_000)).poll(ms(5), ms(5));
    let tiered = |builder: Settings| set(builder.shared(Shared::json(tier.clone())).lease(leasing));
    let mut world = World::with(what, gate(permits, 4), tiered);
    world.tier = Some(tier.clone());
    world
}

/// A tier whose every answer takes a while, so that there is something to cut.
fn slow() -> MemoryTier {
    let tier = MemoryTier::new();
    tier.inject(Fault::Slow(ms(3)));
    tier
}

/// A read by the bound origin.
fn reads(world: &World, key: u64) -> Scene {
    let items = world.items.clone();
    Scene::new(world, async move { drop(items.get(&key).await) }).reads(1)
}

/// Somebody else comes for the same key after each of the first polls.
fn company(world: &World, key: u64, must_be: Answered) -> Vec<Thing> {
    let asks = |_| {
        let world = world.clone();
        does(move || world.ask_for(key, must_be))
    };
    (0..3).map(asks).collect()
}

/// Another process takes the key's lease and loads for this long.
async fn they_load(tier: &MemoryTier, key: u64, time: std::time::Duration) {
    let leasing = Leasing::new(tier.clone()).time(ms(60_000));
    let builder = Cache::<u64, u64, DbError>::builder("swept", Ttl::fresh_for(ms(1_000)), &Gate::new(4)).jitter(0.0);
    let theirs = builder.shared(Shared::json(tier.clone())).lease(leasing).build().unwrap();
    let load = std::sync::Arc::new(Calls::default()).load(time, Ok(key * 10));
    tokio::spawn(async move { drop(theirs.get_with(&key, load).await) });
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tier.leases(), 1);
}

/// Z1, L6: read, permit, lease, load, write, release: whoever leaves between any two of them leaves no lease.
#[tokio::test(start_paused = true)]
async fn z1_l6_a_leader_by_the_tier_is_cut_everywhere() {
    for key in [KEY, ABSENT, FAILS] {
        sweep_both(6, async |what| {
            let world = over(what, &slow(), 4, |builder| builder);
            reads(&world, key).then(company(&world, key, Answered::Somehow))
        })
        .await;
    }
}

/// Z1, L6: the same where nobody else comes, so that a load that nobody waits for is given up at each of these steps.
#[tokio::test(start_paused = true)]
async fn z1_l6_a_lonely_leader_by_the_tier_is_cut_everywhere() {
    for key in [KEY, NEVER] {
        sweep_both(6, async |what| {
            let world = over(what, &slow(), 1, |builder| builder.origin_timeout(ms(40)));
            reads(&world, key)
        })
        .await;
    }
}

/// T4, L6: a read of the tier that hangs, a lease that is taken without a word, a write and a release that take their time.
#[tokio::test(start_paused = true)]
async fn t4_l6_a_read_by_a_tier_in_trouble_is_cut_everywhere() {
    let troubles = [
        (SharedOperation::Read, Fault::Hang),
        (SharedOperation::Acquire, Fault::Hang),
        (SharedOperation::Acquire, Fault::Mute),
        (SharedOperation::Write, Fault::Slow(ms(30))),
        (SharedOperation::Write, Fault::Hang),
        (SharedOperation::Release, Fault::Slow(ms(30))),
    ];
    for (operation, fault) in troubles {
        sweep_both(4, async |what| {
            let tier = MemoryTier::new();
            tier.inject_on(operation, fault);
            let world = over(what, &tier, 4, |builder| builder);
            reads(&world, KEY).then(company(&world, KEY, Answered::Value))
        })
        .await;
    }
}

/// T4, L6: where callers wait for the write, they may leave it.
#[tokio::test(start_paused = true)]
async fn t4_l6_a_read_that_waits_for_the_write_is_cut_everywhere() {
    sweep_both(8, async |what| {
        let tier = slow();
        let fails = Shared::json(tier.clone()).write_failure(WriteFailure::Fail);
        let world = over(what, &tier, 4, |builder| builder.shared(fails));
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// Z2, L6: a read that follows another process.
#[tokio::test(start_paused = true)]
async fn z2_l6_a_follower_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let tier = MemoryTier::new();
        they_load(&tier, THEIRS, ms(20)).await;
        let world = over(what, &tier, 1, |builder| builder);
        reads(&world, THEIRS).then(company(&world, THEIRS, Answered::Value))
    })
    .await;
}

/// Z2, L6: one whose holder has died, and which is its successor.
#[tokio::test(start_paused = true)]
async fn z2_l6_a_successor_is_cut_everywhere() {
    sweep_both(10, async |what| {
        let tier = MemoryTier::new();
        let key = SharedKey::of("swept", 1, &KEY).unwrap();
        tier.acquire(&key, &LeaseToken::random(), ms(20)).await.unwrap();
        let world = over(what, &tier, 1, |builder| builder);
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// S5, Z1, L6: a read within a load waits for no other process.
#[tokio::test(start_paused = true)]
async fn s5_z1_a_nested_read_by_the_tier_is_cut_everywhere() {
    sweep_both(4, async |what| {
        let tier = MemoryTier::new();
        they_load(&tier, THEIRS, ms(40)).await;
        tier.inject(Fault::Slow(ms(3)));
        let world = over(what, &tier, 1, |builder| builder);
        let mut scene = reads(&world, THEIRS);
        scene.place = Place::Load;
        scene
    })
    .await;
}

/// T1, R1, L6: a stale value of the tier is answered while its refresh goes on.
#[tokio::test(start_paused = true)]
async fn t1_l6_a_reader_of_the_tiers_stale_value_is_cut_everywhere() {
    sweep_both(2, async |what| {
        let tier = MemoryTier::new();
        let before = over(what, &tier, 4, |builder| builder);
        drop(before.items.get(&KEY).await);
        tokio::time::sleep(ms(1_500)).await;
        tier.inject(Fault::Slow(ms(3)));
        let world = over(what, &tier, 4, |builder| builder);
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// R1, L6: a reader whose refresh goes by the tier.
#[tokio::test(start_paused = true)]
async fn r1_l6_a_reader_whose_refresh_goes_by_the_tier_is_cut_everywhere() {
    sweep_both(1, async |what| {
        let world = over(what, &slow(), 1, |builder| builder);
        world.ask(KEY);
        tokio::time::sleep(ms(1_500)).await;
        reads(&world, KEY).then(company(&world, KEY, Answered::Value))
    })
    .await;
}

/// B1, L6: a batch of which one key is in the tier, another process loads one, and the others have to be loaded.
#[tokio::test(start_paused = true)]
async fn b1_l6_a_batch_by_the_tier_is_cut_everywhere() {
    sweep_both(8, async |what| {
        let tier = MemoryTier::new();
        let before = over(what, &tier, 4, |builder| builder);
        drop(before.items.get(&1).await);
        they_load(&tier, THEIRS, ms(20)).await;
        tier.inject(Fault::Slow(ms(3)));
        let world = over(what, &tier, 2, |builder| builder);
        let items = world.items.clone();
        let batch = async move { drop(items.get_many(&[1, THEIRS, 2, 3, ABSENT, 4]).await) };
        Scene::new(&world, batch).reads(6).then(company(&world, 2, Answered::Value))
    })
    .await;
}

/// U1, L6: a warm-up by the tier.
#[tokio::test(start_paused = true)]
async fn u1_l6_a_warm_up_by_the_tier_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let tier = MemoryTier::new();
        they_load(&tier, THEIRS, ms(20)).await;
        tier.inject(Fault::Slow(ms(3)));
        let world = over(what, &tier, 4, |builder| builder);
        let warm = world.items.warm_up([1, 2, THEIRS, ABSENT, FAILS]);
        Scene::new(&world, async move { _ = warm.await }).then(company(&world, 2, Answered::Value))
    })
    .await;
}

/// X1, L6: a shutdown with a write and a release under way, a load that hangs under its lease, and a follower.
#[tokio::test(start_paused = true)]
async fn x1_l6_a_shutdown_of_a_cache_with_leases_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let tier = MemoryTier::new();
        they_load(&tier, THEIRS, ms(60)).await;
        tier.inject(Fault::Slow(ms(3)));
        let world = over(what, &tier, 8, |builder| builder);
        (1..4).for_each(|key| world.ask(key));
        for key in [NEVER, THEIRS] {
            world.ask_for(key, Answered::Somehow);
        }
        tokio::time::sleep(ms(19)).await;
        assert!(tier.leases() >= 4, "{tier:?}");
        world.close();
        let items = world.items.clone();
        Scene::new(&world, async move { items.shutdown(ms(10)).await })
    })
    .await;
}

/// W2, L6: whoever waits for a change to reach the tier may leave; the change arrives.
#[tokio::test(start_paused = true)]
async fn w2_l6_changes_on_their_way_to_the_tier_are_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = over(what, &slow(), 4, |builder| builder);
        (1..4).for_each(|key| world.ask(key));
        tokio::task::yield_now().await;
        let items = world.items.clone();
        let changes = async move {
            for spread in [items.insert(5, 50), items.invalidate(&1), items.invalidate_many(&[2, 3]), items.clear()] {
                assert_eq!(spread.await, Reach::Cluster);
            }
        };
        Scene::new(&world, changes).then(company(&world, 1, Answered::Value))
    })
    .await;
}
