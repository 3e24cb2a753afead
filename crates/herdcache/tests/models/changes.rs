//! Changes of a key while it is being loaded.

use std::time::Duration;

use herdcache::herdfeed::RemovalCause;
use herdcache::{LocalStore, Ttl};

use crate::explore::explore;
use crate::world::{How, World, one_of};

/// L2, L5: invalidations while loads run: never more than two loads, never the value from before.
#[test]
fn l2_l5_a_key_is_invalidated_while_it_is_loaded() {
    explore(|| async {
        let world = World::new(4);
        let callers = [0; 3].map(|key| world.ask(key, one_of(&[How::AtOnce, How::Later])));
        for _ in 0..3 {
            world.change(0, |world| _ = world.cache.invalidate(&0));
            let last = world.ask(0, How::Later);
            if one_of(&[How::AtOnce, How::Later]) == How::Later {
                last.await.unwrap().unwrap();
            }
        }
        for caller in callers {
            caller.await.unwrap().unwrap();
        }
        world.rest().await;
    });
}

/// L5: a newer value that the application writes is not lost to a load.
#[test]
fn l5_a_value_is_written_while_it_is_loaded() {
    explore(|| async {
        let world = World::new(4);
        let callers = [0; 2].map(|key| world.ask(key, How::Later));
        world.change(0, |world| world.write(0, 2));
        world.read(0, How::Later).await.unwrap();
        for caller in callers {
            caller.await.unwrap().unwrap();
        }
        assert_eq!(world.cache.peek(&0).map(|kept| *kept), Some(2), "L5: the newer write is gone");
        world.rest().await;
    });
}

/// W2, L5: a tag that only the load will tell is invalidated while it runs.
#[test]
fn w2_l5_a_tag_is_invalidated_while_its_key_is_loaded() {
    explore(|| async {
        let world = World::new(4);
        let callers = [0; 2].map(|key| world.ask(key, one_of(&[How::AtOnce, How::Later])));
        world.change(0, |world| _ = world.cache.invalidate_tag("key 0"));
        let late = world.ask(0, How::Later);
        for caller in callers.into_iter().chain([late]) {
            caller.await.unwrap().unwrap();
        }
        world.rest().await;
    });
}

/// W2: everything is forgotten while two keys are loaded.
#[test]
fn w2_all_is_cleared_while_keys_are_loaded() {
    explore(|| async {
        let world = World::new(4);
        let callers = [0, 1, 0].map(|key| world.ask(key, How::Later));
        world.change(0, |world| world.change(1, |world| _ = world.cache.clear()));
        let late = world.ask(1, How::Later);
        for caller in callers.into_iter().chain([late]) {
            caller.await.unwrap().unwrap();
        }
        world.rest().await;
    });
}

/// L5, R1: a refresh is overtaken by an invalidation.
#[test]
fn l5_a_key_is_invalidated_while_it_is_refreshed() {
    explore(|| async {
        let ttl = Ttl::fresh_for(Duration::from_millis(10)).stale_for(Duration::from_secs(60));
        let world = World::built(4, ttl, |builder| builder);
        world.read(0, How::AtOnce).await.unwrap();
        herdcache::model::advance(Duration::from_millis(20));
        let reader = world.ask(0, How::Later);
        let other = world.ask(0, How::Later);
        world.change(0, |world| _ = world.cache.invalidate(&0));
        world.read(0, How::Later).await.unwrap();
        reader.await.unwrap().unwrap();
        other.await.unwrap().unwrap();
        world.rest().await;
    });
}

/// L1, L7: entries push each other out while they are loaded, written and invalidated. On the one store whose evictions are
/// steps that a schedule can come between: the map has room for all, and moka makes room by real time.
#[test]
fn l1_l7_entries_push_each_other_out() {
    explore(|| async {
        let ttl = Ttl::fresh_for(Duration::from_secs(3_600));
        let world = World::built(4, ttl, |builder| builder.store(LocalStore::Quick).capacity(1));
        let callers = [0, 1, 2].map(|key| world.ask(key, one_of(&[How::AtOnce, How::Later])));
        let writer = shuttle_tokio::spawn({
            let world = world.clone();
            async move {
                world.change(1, |world| world.write(1, 2));
                world.change(0, |world| _ = world.cache.invalidate(&0));
            }
        });
        world.change(2, |world| _ = world.cache.invalidate_tag("key 2"));
        writer.await.unwrap();
        for caller in callers {
            caller.await.unwrap().unwrap();
        }
        for key in [0, 1] {
            world.read(key, How::AtOnce).await.unwrap();
        }
        world.rest().await;
        let cache = world.cache.snapshot();
        assert!(cache.entries <= 1, "L7: {} entries", cache.entries);
        assert!(cache.removals[RemovalCause::Evicted] > 0, "no room was made: {:?}", cache.removals);
    });
}
