//! Faults of the database.

use std::sync::mpsc;

use herdcache::testing::{pass, run_paused, settle};
use herdcache::{ErrorKind, Gate, GetError, LoadContext, LocalStore};
use tokio::time::{Instant, advance};

use super::{HOUR, RESERVE, SHORT, STALE, Scene, built, settings, simple};
use crate::origin::{Db, DbError, LOAD, Mood};
use crate::says::FRESH;
use crate::seen::{DEGRADED, Rows, Seen, Told, ask, herd, ms, read};

pub(crate) const ALL: &[Scene] = &[
    ("one load fails", |store| run_paused(fails(store))),
    ("the same, with an older value", |store| run_paused(fails_with_reserve(store))),
    ("a refresh fails", |store| run_paused(refresh_fails(store))),
    ("it is down for all keys", |store| run_paused(down(store))),
    ("it hangs", |store| run_paused(hangs(store))),
    ("one load never ends", |store| run_paused(never_ends(store))),
    ("blocking work cannot be stopped", |store| run_paused(blocks(store))),
    ("it is slow, with `soft_timeout`", |store| run_paused(slow(store))),
    ("nothing can be answered, with `fallback`", |store| run_paused(fallback(store))),
];

/// How often a scene looks whether a window is over.
const LOOK: std::time::Duration = ms(10);

/// Reads of one key for twenty seconds, five at once: who shares a load, and who comes while the key cools.
async fn through_windows(rows: &Rows, db: &Db, key: u64, seen: &mut Seen, who: [&'static str; 2]) {
    seen.span("a look", LOOK);
    let began = Instant::now();
    while began.elapsed() < ms(20_000) {
        for told in herd(rows, db, [key; 5]).await {
            seen.told(who[usize::from(told.took.is_zero())], [told]);
        }
        pass(LOOK).await;
    }
}

async fn fails(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, SHORT), Seen::default());
    db.is(Mood::Fails);
    through_windows(&rows, &db, 7, &mut seen, ["who loads", "in the window"]).await;
    seen.end(&rows, &db)
}

async fn fails_with_reserve(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, RESERVE), Seen::default());
    rows.insert(7, 0).await;
    db.change();
    db.is(Mood::Fails);
    pass(FRESH).await;
    through_windows(&rows, &db, 7, &mut seen, ["who loads", "in the window"]).await;
    seen.end(&rows, &db)
}

async fn refresh_fails(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, STALE), Seen::default());
    rows.insert(7, 0).await;
    db.change();
    db.is(Mood::Fails);
    pass(FRESH).await;
    through_windows(&rows, &db, 7, &mut seen, ["", ""]).await;
    let mut seen = seen.end(&rows, &db);
    pass(HOUR).await;
    seen.told("past its bound", [read(&rows, &db, 7).await]);
    seen
}

/// Each caller asks for a key of its own: no window of cooling helps.
async fn down(store: LocalStore) -> Seen {
    let ((rows, db), mut seen) = (simple(store, STALE), Seen::default());
    rows.insert(0, 0).await;
    db.change();
    db.is(Mood::Fails);
    pass(FRESH).await;
    for key in 1..=20 {
        seen.told("at first", [read(&rows, &db, key).await]);
    }
    seen.span("a look", LOOK + LOAD);
    let began = Instant::now();
    for key in 21.. {
        let told = read(&rows, &db, key).await;
        seen.told(if told.took.is_zero() { "then" } else { "probes" }, [told]);
        seen.told("with an older value", [read(&rows, &db, 0).await]);
        if began.elapsed() > ms(10_000) {
            break;
        }
        pass(LOOK).await;
    }
    seen.end(&rows, &db)
}

/// New keys at any time. The circuit opens when the first ten calls are over.
async fn hangs(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let rows = built(settings(store, SHORT, &Gate::new(10)), &db);
    db.is(Mood::Hangs);
    let (queued, called) = (ms(500), ms(5_000));
    seen.span("`queue_timeout` and `origin_timeout`", queued + called);
    let mut callers = Vec::new();
    for key in 0..2_000 {
        callers.push((key, ask(&rows, &db, key)));
        pass(LOOK).await;
    }
    for (key, caller) in callers {
        let told = caller.await.expect("no caller panics");
        let who = match key {
            0..510 => "at first",
            _ if told.took.is_zero() => "then",
            _ => "probes",
        };
        seen.told(who, [told]);
    }
    seen.end(&rows, &db)
}

async fn never_ends(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let limit = ms(1_000);
    let rows = built(settings(store, SHORT, &Gate::new(8)).origin_timeout(limit).flight_deadline(limit), &db);
    db.is(Mood::Hangs);
    seen.span("`flight_deadline`", limit);
    seen.told("", herd(&rows, &db, [7; 20]).await);
    seen.end(&rows, &db)
}

/// Time passes by hand: while a thread is blocked the clock does not jump.
async fn blocks(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let rows = built(settings(store, SHORT, &Gate::new(8)).origin_timeout(ms(200)), &db);
    seen.span("`origin_timeout`", ms(200));
    let (release, wait) = mpsc::channel::<()>();
    let first = tokio::spawn({
        let (rows, db) = (rows.clone(), db.clone());
        async move {
            let began = Instant::now();
            let work = db.work(7);
            let load = |cx: LoadContext<u64, u64>| async move {
                let blocks = move || {
                    let _ = wait.recv();
                    work.end();
                };
                let done = cx.run_blocking(blocks).await;
                done.map(|()| 1).map_err(|_| DbError)
            };
            let got = rows.get_with(&7, load).await;
            Told::of(&got, began.elapsed(), &db)
        }
    });
    let step = || async {
        advance(ms(10)).await;
        settle().await;
    };
    // Until the limit, and a window of cooling more.
    for _ in 0..40 {
        step().await;
    }
    seen.told("", [first.await.expect("no caller panics")]);
    let next = ask(&rows, &db, 7);
    while !next.is_finished() {
        step().await;
    }
    seen.told("the next", [next.await.expect("no caller panics")]);
    let seen = seen.end(&rows, &db);
    drop(release);
    seen
}

async fn slow(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let rows = built(settings(store, RESERVE, &Gate::new(8)).soft_timeout(ms(50)), &db);
    seen.span("`soft_timeout`", ms(50));
    rows.insert(7, 0).await;
    db.change();
    db.takes(ms(120));
    pass(FRESH).await;
    seen.told("", herd(&rows, &db, [7; 20]).await);
    pass(ms(70)).await;
    seen.told("the next", [read(&rows, &db, 7).await]);
    seen.end(&rows, &db)
}

async fn fallback(store: LocalStore) -> Seen {
    let (db, mut seen) = (Db::default(), Seen::default());
    let degraded = |_: &u64, error: &GetError<DbError>| (error.kind() != ErrorKind::Defect).then_some(DEGRADED);
    let rows = built(settings(store, RESERVE, &Gate::new(8)).fallback(degraded), &db);
    rows.insert(8, 0).await;
    db.change();
    db.is(Mood::Fails);
    pass(FRESH).await;
    seen.told("with an older value", herd(&rows, &db, [8; 5]).await);
    db.forget();
    through_windows(&rows, &db, 7, &mut seen, ["", ""]).await;
    assert!(rows.peek(&7).is_none(), "never stored");
    seen.end(&rows, &db)
}
