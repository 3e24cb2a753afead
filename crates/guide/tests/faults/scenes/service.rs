//! Faults of the service itself.

use herdcache::testing::{pass, run_paused, settle};
use herdcache::{Gate, LocalStore, MemoryTier};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use super::{SHORT, Scene, built, settings, simple};
use crate::origin::{Db, DbError, LOAD, Mood};
use crate::seen::{Seen, Told, all, ask, herd, ms, read};

pub(crate) const ALL: &[Scene] = &[
    ("the loader panics", |store| run_paused(panics(store))),
    ("a loader asks for its own key", |store| run_paused(reentrant(store))),
    ("a key is invalidated while it loads", |store| run_paused(invalidated(store))),
    ("a write overtakes a load", |store| run_paused(overtaken(store))),
    ("an older version comes late", |store| run_paused(late_version(store))),
    ("a deploy: all processes start empty", |store| run_paused(deploy(store))),
    ("a shutdown", |store| run_paused(shutdown(store))),
    ("the runtime of a load ends", runtime_ends),
];

async fn panics(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    db.is(Mood::Panics);
    seen.told("", herd(&rows, &db, [7; 200]).await);
    seen.told("in the window", [read(&rows, &db, 7).await]);
    seen.end(&rows, &db)
}

/// Two loaders that ask for what they load: one goes on without, the other fails by it.
async fn reentrant(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    for key in [7, 8] {
        let (inner, database) = (rows.clone(), db.clone());
        let (within, told) = tokio::sync::oneshot::channel();
        let began = Instant::now();
        let load = |_| async move {
            let asked = Instant::now();
            let got = inner.get(&key).await;
            let _ = within.send(Told::of(&got, asked.elapsed(), &database));
            if key == 8 && got.is_err() {
                return Err(DbError);
            }
            database.query(key).await
        };
        let got = rows.get_with(&key, load).await;
        seen.told("the loader", told.await);
        seen.told("its callers", [Told::of(&got, began.elapsed(), &db)]);
    }
    seen.end(&rows, &db)
}

async fn invalidated(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    let earlier = ask(&rows, &db, 7);
    pass(LOAD / 2).await;
    db.change();
    rows.invalidate(&7).await;
    let later = ask(&rows, &db, 7);
    seen.told("earlier ones", all(vec![earlier]).await);
    seen.told("later ones", all(vec![later]).await);
    pass(LOAD).await;
    seen.told("the next", [read(&rows, &db, 7).await]);
    seen.end(&rows, &db)
}

async fn overtaken(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    let earlier = ask(&rows, &db, 7);
    pass(LOAD / 2).await;
    db.change();
    rows.insert(7, db.row()).await;
    seen.told("later ones", [read(&rows, &db, 7).await]);
    seen.told("earlier ones", all(vec![earlier]).await);
    seen.told("later ones", [read(&rows, &db, 7).await]);
    seen.end(&rows, &db)
}

/// Two processes over one shared tier. The first reads the older row, and takes longer.
async fn late_version(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen::default());
    let process = || built(settings(store, SHORT, &Gate::new(8)).shared(tier.clone()), &db);
    let (late, soon) = (process(), process());
    db.versions();
    db.takes(ms(100));
    let lags = ask(&late, &db, 7);
    pass(ms(1)).await;
    db.change();
    db.takes(ms(50));
    seen.told("others", [read(&soon, &db, 7).await]);
    seen.told("its own callers", all(vec![lags]).await);
    settle().await;
    seen.told("others", [read(&late, &db, 7).await, read(&soon, &db, 7).await]);
    seen.end(&late, &db)
}

/// A caller of another key each millisecond, while a warm-up loads all keys but those that are there.
async fn deploy(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen { warm_up_permits: 2, ..Seen::default() });
    for key in 0..10 {
        rows.insert(key, 0).await;
    }
    let warming = tokio::spawn(rows.warm_up(0..400));
    for key in 400..600 {
        let caller = ask(&rows, &db, key);
        pass(ms(4)).await;
        seen.told("", all(vec![caller]).await);
    }
    let warm = warming.await.expect("it ends");
    assert_eq!((warm.loaded, warm.skipped, warm.left), (390, 10, 0));
    seen.end(&rows, &db)
}

async fn shutdown(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    let limit = ms(200);
    seen.span("the limit", limit);
    db.is_for(8, Mood::Hangs);
    let ends = ask(&rows, &db, 7);
    let hangs = [8; 5].map(|key| ask(&rows, &db, key));
    settle().await;
    db.forget();
    rows.shutdown(limit).await;
    seen.told("loads that end", all(vec![ends]).await);
    seen.told("others", all(hangs.into()).await);
    seen.told("later ones", [read(&rows, &db, 9).await]);
    seen.end(&rows, &db)
}

/// Two runtimes, by turns on one thread. Each has a clock of its own, and both are paused.
fn runtime_ends(store: LocalStore) -> Seen {
    let runtime = || -> Runtime {
        Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime can be built")
    };
    let (first, second) = (runtime(), runtime());
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    let on = |runtime: &Runtime, callers: usize| -> Vec<_> {
        let _here = runtime.enter();
        let callers = (0..callers).map(|_| ask(&rows, &db, 7)).collect();
        runtime.block_on(settle());
        callers
    };
    let leader = on(&first, 1);
    let waiters = on(&second, 10);
    drop(first);
    drop(leader);
    seen.told("", second.block_on(all(waiters)));
    second.block_on(async { seen.end(&rows, &db) })
}
