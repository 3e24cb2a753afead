//! L5, W2: all is forgotten while a load lands on another thread.

use std::cell::RefCell;
use std::sync::mpsc;
use std::time::Duration;

use herdcache::herdfeed::DiscardReason;
use herdcache::{Cache, Gate, LocalStore, Ttl};

use crate::support::{DbError, assert_quiet, ms, value};

thread_local! {
    /// What is done when this thread clones a key; once.
    static THEN: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A key whose clone is a moment of the test's.
#[derive(PartialEq, Eq, Hash, serde::Serialize)]
struct Page(u64);

impl Clone for Page {
    fn clone(&self) -> Self {
        let then = THEN.with_borrow_mut(Option::take);
        if let Some(then) = then {
            then();
        }
        Self(self.0)
    }
}

/// L5: a load that lands while `clear` walks through the store is not stored.
#[test]
fn l5_no_load_lands_behind_clears_back() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let ttl = Ttl::fresh_for(ms(60_000));
    let builder = Cache::<Page, u64, DbError>::builder("clear-walk", ttl, &Gate::new(4));
    // Its walk clones keys, which is our moment within it; the fast store's runs no code of ours.
    let cache = builder.store(LocalStore::Moka).build().unwrap();
    cache.insert(Page(1), 1);
    let (release, wait) = tokio::sync::oneshot::channel::<()>();
    let (told, landed) = mpsc::channel();
    let reader = cache.clone();
    runtime.spawn(async move {
        let load = |_| async {
            let _ = wait.await;
            Ok(2)
        };
        told.send(value(reader.get_with(&Page(2), load).await)).unwrap();
    });
    while cache.snapshot().origin_active == 0 {
        std::thread::yield_now();
    }
    // The walk clones the keys that it finds, and does not go on before the load has landed.
    let (seen, came) = mpsc::channel();
    THEN.set(Some(Box::new(move || {
        release.send(()).unwrap();
        seen.send(landed.recv_timeout(Duration::from_secs(20))).unwrap();
    })));
    cache.clear();
    assert_eq!(came.try_recv(), Ok(Ok(2)), "it landed meanwhile");
    assert!(cache.peek(&Page(2)).is_none() && cache.peek(&Page(1)).is_none());
    let snapshot = cache.snapshot();
    assert_eq!(snapshot.discards[DiscardReason::Invalidated], 1);
    assert_quiet(&snapshot);
}
