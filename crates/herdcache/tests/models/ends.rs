//! X1: a shutdown at any moment.

use std::time::Duration;

use herdcache::GetError;

use crate::explore::explore;
use crate::world::{How, World, one_of};

/// X1: it waits for what runs; whoever comes later is told so.
#[test]
fn x1_a_shutdown_waits_for_loads() {
    explore(|| async {
        let world = World::new(1);
        let callers = [0, 1, 0].map(|key| world.ask(key, one_of(&[How::AtOnce, How::Later])));
        world.cache.shutdown(Duration::from_secs(5)).await;
        for caller in callers {
            match caller.await.unwrap() {
                Ok(Some(_)) | Err(GetError::Closed) => {}
                other => panic!("{other:?}"),
            }
        }
        world.rest().await;
    });
}

/// X1: its limit passes while loads hang or wait for a permit: they are ended, and their callers told.
#[test]
fn x1_a_shutdown_ends_what_hangs() {
    explore(|| async {
        let world = World::new(1);
        let callers = [0, 1, 0].map(|key| world.ask(key, one_of(&[How::Later, How::Hangs])));
        let shutdown = shuttle_tokio::spawn({
            let world = world.clone();
            async move { world.cache.shutdown(Duration::from_millis(5)).await }
        });
        while !shutdown.is_finished() {
            herdcache::model::advance(Duration::from_millis(5));
        }
        shutdown.await.unwrap();
        for caller in callers {
            match caller.await.unwrap() {
                Ok(Some(_)) | Err(GetError::Closed | GetError::Rejected { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        world.rest().await;
    });
}
