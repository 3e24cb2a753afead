//! A7: the futures of services: of a cache, of a layer in front of one, and of an origin that has to get ready.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use herdcache::tower::{CacheLayer, ServiceOrigin};
use herdcache::{Cache, Ttl};
use tokio::time::Sleep;
use tower::{Layer, Service};

use crate::harness::{Scene, Thing, does, sweep_both};
use crate::support::{Calls, DbError, ms};
use crate::world::{Answered, World, gate};

const KEY: u64 = 7;

fn asks(world: &World, key: u64) -> Thing {
    let world = world.clone();
    does(move || world.ask(key))
}

/// A7, L6: the cache as a service.
#[tokio::test(start_paused = true)]
async fn a7_l6_a_call_of_a_cache_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = World::new(what, gate(4, 4));
        let called = world.items.clone().call(KEY);
        Scene::new(&world, async move { drop(called.await) }).reads(1).then([asks(&world, KEY)])
    })
    .await;
}

/// A service that is ready after 4 ms and answers after 8 more.
struct Slow {
    calls: Arc<Calls>,
    ready: Pin<Box<Sleep>>,
}

impl Slow {
    fn new(calls: &Arc<Calls>) -> Self {
        Self { calls: Arc::clone(calls), ready: Box::pin(tokio::time::sleep(ms(4))) }
    }
}

impl Clone for Slow {
    /// As tower's contract says: a clone has to get ready by itself.
    fn clone(&self) -> Self {
        Self::new(&self.calls)
    }
}

impl Service<u64> for Slow {
    type Response = u64;
    type Error = DbError;
    type Future = Pin<Box<dyn Future<Output = Result<u64, DbError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), DbError>> {
        self.ready.as_mut().poll(cx).map(Ok)
    }

    fn call(&mut self, key: u64) -> Self::Future {
        let calls = Arc::clone(&self.calls);
        Box::pin(async move {
            let _call = calls.call();
            tokio::time::sleep(ms(8)).await;
            Ok(key * 10)
        })
    }
}

/// Requests from here on have no key.
const NO_KEY: u64 = 50;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as the layer asks")]
fn key(request: &u64) -> Option<u64> {
    (*request < NO_KEY).then_some(*request)
}

/// A7, L6: a request with a key leaves its load to the others; one without passes, and ends with its caller.
#[tokio::test(start_paused = true)]
async fn a7_l6_a_request_of_a_layer_is_cut_everywhere() {
    for request in [KEY, NO_KEY] {
        sweep_both(6, async |what| {
            let world = World::new(what, gate(4, 4));
            // What passes is no call of the cache's origin, and one that is given up may not have got through.
            world.counts_for_itself();
            let mut service = CacheLayer::new(Cache::clone(&world.items), key).layer(Slow::new(&Arc::default()));
            let asked = service.call(request);
            let scene = Scene::new(&world, async move { drop(asked.await) });
            scene.reads(u64::from(request < NO_KEY)).then([asks(&world, KEY)])
        })
        .await;
    }
}

/// A7, L3, L6: an origin that is a service, cut while it gets ready and while it answers.
#[tokio::test(start_paused = true)]
async fn a7_l6_a_read_over_a_service_is_cut_everywhere() {
    sweep_both(6, async |what| {
        let world = World::new(what, gate(2, 4));
        let calls = Arc::new(Calls::default());
        let builder = Cache::builder("over-a-service", Ttl::fresh_for(ms(1_000)), &world.gate).when_unwatched(what);
        let items = builder.build_over(ServiceOrigin::new(Slow::new(&calls))).unwrap();
        let (read, again) = (items.clone(), items);
        let beside = world.clone();
        let joins = does(move || {
            beside.wait_for(KEY, Answered::Value, async move { again.get(&KEY).await });
        });
        Scene::new(&world, async move { drop(read.get(&KEY).await) }).then([joins])
    })
    .await;
}
