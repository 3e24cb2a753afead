//! W1: a value or a key whose own `Drop` calls the cache.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use herdcache::{Cache, Gate, Loaded, Ttl};

use crate::support::{DbError, assert_quiet, ms};

/// W1: a value's own `Drop` may call the cache, wherever the engine lets go of it.
#[tokio::test(start_paused = true)]
async fn w1_a_value_whose_drop_calls_the_cache_cannot_deadlock() {
    struct Chatty(Option<Cache<u64, Chatty, DbError>>);
    impl Drop for Chatty {
        fn drop(&mut self) {
            if let Some(cache) = self.0.take() {
                cache.peek(&1);
                cache.invalidate(&1);
                cache.insert(2, Chatty(None));
                let _ = cache.snapshot();
            }
        }
    }
    let _alone = crate::alone().await;
    let cache = Cache::<u64, Chatty, DbError>::builder("chatty", Ttl::fresh_for(ms(100)), &Gate::new(8))
        .capacity(4)
        .build()
        .unwrap();
    for round in 0..200_u64 {
        let handle = cache.clone();
        let load = move |_| async move {
            tokio::time::sleep(ms(1)).await;
            Ok(Loaded::value(Chatty(Some(handle))).fresh_for(ms(1 + round % 3)))
        };
        cache.get_with(&(round % 7), load).await.unwrap();
        match round % 5 {
            0 => _ = cache.insert(1, Chatty(Some(cache.clone()))),
            1 => _ = cache.invalidate(&(round % 7)),
            2 => tokio::time::sleep(ms(5)).await,
            _ => {}
        }
    }
    assert_quiet(&cache.snapshot());
    (0..7).for_each(|key| _ = cache.invalidate(&key));
}

/// W1: so may a key's, though the store lets go of keys whenever it collects its garbage.
#[test]
fn w1_a_key_whose_drop_calls_the_cache_cannot_deadlock() {
    thread_local! {
        static TALKING: Cell<bool> = const { Cell::new(false) };
    }
    static CACHE: OnceLock<Cache<Chatty, u64, DbError>> = OnceLock::new();
    static CALLS: AtomicU64 = AtomicU64::new(0);
    #[derive(Clone, PartialEq, Eq, Hash, serde::Serialize)]
    struct Chatty(u64);
    impl Drop for Chatty {
        fn drop(&mut self) {
            // The keys that this very call makes and drops stay silent.
            if TALKING.replace(true) {
                return;
            }
            if let Some(cache) = CACHE.get() {
                cache.invalidate(&Chatty(self.0));
                CALLS.fetch_add(1, Relaxed);
            }
            TALKING.set(false);
        }
    }
    let _alone = crate::alone_here();
    let built = Cache::builder("chatty-keys", Ttl::fresh_for(ms(60_000)), &Gate::new(8)).capacity(16).build().unwrap();
    let cache = CACHE.get_or_init(|| built);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || (0..20_000).for_each(|round| _ = cache.insert(Chatty(round * 4 + thread), round)));
        }
    });
    assert!(cache.snapshot().entries <= 16);
    assert!(CALLS.load(Relaxed) > 10_000, "{}", CALLS.load(Relaxed));
}
