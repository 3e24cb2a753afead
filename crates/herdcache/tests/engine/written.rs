//! W2, L5: the moments between a load's last check and its leaving the table, in which the application's code runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use herdcache::{Cache, Gate, Got, Loaded, LocalStore, Ttl};

use crate::support::{DbError, Rows, ms, value};

/// What is done when the gate wakes whoever gets the permit of a load that is over.
struct Then(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Wake for Then {
    fn wake(self: Arc<Self>) {
        let then = self.0.lock().unwrap().take();
        if let Some(then) = then {
            then();
        }
    }
}

type Asking = Pin<Box<dyn Future<Output = Got<u64, DbError>> + Send>>;

/// Somebody who asks for key 1.
fn asks(cache: &Rows) -> Asking {
    let cache = cache.clone();
    Box::pin(async move { cache.get_with(&1, |_| async { Ok(Loaded::value(2).tags(["t"])) }).await })
}

/// Puts key 1 out by others, which are asked for until they are let in.
fn evict(cache: &Rows) {
    for round in 0..100 {
        if cache.peek(&1).is_none() {
            return;
        }
        (0..100).for_each(|_| drop(cache.peek(&(2 + round))));
        cache.insert(2 + round, 0);
        let _ = cache.snapshot();
    }
    panic!("key 1 stays");
}

/// W2, L5: who comes after an invalidation by tag joins no load that was judged before it, also where nothing of what it
/// brought is in the store, so that its tag names no key.
#[tokio::test(start_paused = true)]
async fn l5_nobody_joins_a_load_that_has_been_judged() {
    for store in LocalStore::ALL {
        for kept in [true, false] {
            let gate = Gate::new(1);
            let builder = Cache::builder("judged", Ttl::fresh_for(ms(60_000)), &gate);
            let cache: Rows = builder.capacity(1).store(*store).build().unwrap();
            let leader = {
                let (cache, loaded) = (cache.clone(), Loaded::value(1).tags(["t"]));
                let loaded = if kept { loaded } else { loaded.do_not_store() };
                tokio::spawn(async move {
                    let load = |_| async {
                        tokio::time::sleep(ms(10)).await;
                        Ok(loaded)
                    };
                    cache.get_with(&1, load).await
                })
            };
            tokio::time::sleep(ms(5)).await;
            // The permit of the load comes back before its flight leaves the table.
            let late: Arc<Mutex<Option<Asking>>> = Arc::default();
            let (handle, slot) = (cache.clone(), Arc::clone(&late));
            let then = Arc::new(Then(Mutex::new(Some(Box::new(move || {
                evict(&handle);
                handle.invalidate_tag("t");
                let mut asking = asks(&handle);
                let first = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(first.is_pending(), "there is no permit");
                *slot.lock().unwrap() = Some(asking);
            })))));
            let mut next = Box::pin(gate.acquire());
            assert!(next.as_mut().poll(&mut Context::from_waker(&Waker::from(then))).is_pending());
            assert_eq!(value(leader.await.unwrap()), 1, "{store}: it came before");
            let Poll::Ready(permit) = next.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
                panic!("the load's permit is this one's");
            };
            drop(permit);
            let late = late.lock().unwrap().take().expect("somebody asked in between");
            assert_eq!(value(late.await), 2, "{store}, kept: {kept}");
            herdcache::testing::assert_balanced(&cache);
        }
    }
}
