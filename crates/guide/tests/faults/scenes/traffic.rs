//! Faults of the traffic.

use herdcache::testing::{pass, run_paused};
use herdcache::{Gate, LocalStore};
use tokio::time::Instant;

use super::{RESERVE, SHORT, STALE, Scene, built, settings, simple};
use crate::origin::{Db, LOAD, Mood};
use crate::says::FRESH;
use crate::seen::{Seen, Told, all, ask, herd, ms, read};

pub(crate) const ALL: &[Scene] = &[
    ("a popular key expires", |store| run_paused(expires(store))),
    ("the same, with `stale_for`", |store| run_paused(expires_stale(store))),
    ("ten thousand keys are stale at once", |store| run_paused(all_stale(store))),
    ("many different keys miss", |store| run_paused(many_miss(store))),
    ("one tenant floods", |store| run_paused(tenant(store))),
    ("more callers of one key than `max_waiters`", |store| run_paused(crowd(store))),
    ("more keys than `capacity`", |store| run_paused(capacity(store))),
    ("keys that do not exist", |store| run_paused(absent(store))),
    ("callers are impatient (`with_wait_timeout`)", |store| run_paused(impatient(store))),
    ("a client disconnects", |store| run_paused(disconnects(store))),
];

async fn expires(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    rows.insert(7, 0).await;
    db.change();
    pass(FRESH).await;
    seen.told("", herd(&rows, &db, [7; 200]).await);
    seen.end(&rows, &db)
}

async fn expires_stale(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, STALE), Seen::default());
    rows.insert(7, 0).await;
    db.change();
    pass(FRESH).await;
    seen.told("", herd(&rows, &db, [7; 200]).await);
    pass(LOAD).await;
    seen.told("the next", [read(&rows, &db, 7).await]);
    seen.end(&rows, &db)
}

async fn all_stale(store: LocalStore) -> Seen {
    let (gate, db) = (Gate::builder(8).refresh_permits(2).build().expect("in range"), Db::default());
    let rows = built(settings(store, STALE, &gate).capacity(20_000), &db);
    let mut seen = Seen { refresh_permits: 2, ..Seen::default() };
    for key in 0..10_000 {
        rows.insert(key, 0).await;
    }
    db.change();
    pass(FRESH).await;
    seen.told("", herd(&rows, &db, 0..5_000).await);
    seen.look(&rows);
    pass(LOAD).await;
    seen.told("", herd(&rows, &db, 5_000..10_000).await);
    pass(LOAD).await;
    seen.end(&rows, &db)
}

/// Loads of 300 ms, so that the third round of eight would begin after the queue's limit.
async fn many_miss(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    db.takes(ms(300));
    seen.span("`queue_timeout` and a load", ms(800));
    seen.told("", herd(&rows, &db, 0..200).await);
    seen.end(&rows, &db)
}

/// The tenant is what is left of a key by 10.
async fn tenant(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let rows = built(settings(store, SHORT, &Gate::new(8)).group_share(0.25, |key| key % 10), &db);
    let flood: Vec<_> = (0..200).map(|n| ask(&rows, &db, n * 10)).collect();
    let others: Vec<_> = (1..=4).map(|key| ask(&rows, &db, key)).collect();
    seen.told("others", all(others).await);
    seen.told("that tenant", all(flood).await);
    seen.end(&rows, &db)
}

async fn crowd(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let rows = built(settings(store, RESERVE, &Gate::new(8)).max_waiters(100), &db);
    rows.insert(8, 0).await;
    db.change();
    pass(FRESH).await;
    seen.told("", herd(&rows, &db, [7; 150]).await);
    seen.told("with an older value", herd(&rows, &db, [8; 150]).await);
    seen.end(&rows, &db)
}

async fn capacity(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let rows = built(settings(store, SHORT, &Gate::new(8)).capacity(100), &db);
    for key in 0..1_000 {
        read(&rows, &db, key).await;
    }
    for key in 0..1_000 {
        seen.told("", [read(&rows, &db, key).await]);
        if key % 4 == 0 {
            // Not everything misses.
            seen.told("", [read(&rows, &db, key).await]);
        }
    }
    seen.end(&rows, &db)
}

async fn absent(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    db.is(Mood::Absent);
    let (ttl, look) = (ms(1_000), ms(10));
    seen.span("`negative_ttl`", ttl);
    seen.span("a look", look);
    let began = Instant::now();
    while began.elapsed() < 5 * ttl {
        for told in herd(&rows, &db, 1..=5).await {
            let who = if told.took.is_zero() { "then" } else { "at first" };
            seen.told(who, [told]);
        }
        pass(look).await;
    }
    seen.end(&rows, &db)
}

async fn impatient(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    let limit = ms(5);
    seen.span("their limit", limit);
    seen.told("", herd(&rows.with_wait_timeout(limit), &db, [7; 40]).await);
    pass(LOAD).await;
    seen.told("the next", [read(&rows, &db, 7).await]);
    seen.end(&rows, &db)
}

/// Who opened the flight leaves.
async fn disconnects(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    let leader = ask(&rows, &db, 7);
    pass(ms(0)).await;
    let began = Instant::now();
    let waiters: Vec<_> = (0..20).map(|_| ask(&rows, &db, 7)).collect();
    pass(ms(0)).await;
    leader.abort();
    assert!(leader.await.is_err());
    seen.told("who left", [Told::gone(began.elapsed())]);
    seen.told("others", all(waiters).await);
    seen.end(&rows, &db)
}
