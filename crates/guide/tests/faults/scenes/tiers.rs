//! Faults of the shared tier and the lease. Each process is a cache of its own over the same tier.

use herdcache::herdfeed::SharedOperation;
use herdcache::testing::{pass, run_paused, settle};
use herdcache::{Acquired, Fault, Gate, Lease, LeaseToken, Leasing, LocalStore, MemoryTier, SharedKey, TierError};

use super::{SHORT, Scene, built, settings};
use crate::origin::{Db, LOAD};
use crate::seen::{Rows, Seen, Told, all, ask, herd, ms, read};

pub(crate) const ALL: &[Scene] = &[
    ("it cannot be reached", |store| run_paused(unreachable(store))),
    ("it swallows everything", |store| run_paused(swallows(store))),
    ("it loses everything", |store| run_paused(loses(store))),
    ("it holds bytes that are no value", |store| run_paused(bytes(store))),
    ("an invalidation does not arrive", |store| run_paused(lost_invalidation(store))),
    ("the holder of a lease dies", |store| run_paused(dead_holder(store))),
    ("a holder overruns its lease", |store| run_paused(overrun(store))),
    ("the lease cannot be reached", |store| run_paused(no_lease(store))),
];

fn process(store: LocalStore, db: &Db, tier: &MemoryTier) -> Rows {
    built(settings(store, SHORT, &Gate::new(8)).shared(tier.clone()), db)
}

/// The same caller crowd in each of three processes.
async fn fleet(fleet: &[Rows], db: &Db, key: u64) -> Vec<Told> {
    let callers: Vec<_> = fleet.iter().flat_map(|rows| [rows; 20]).map(|rows| ask(rows, db, key)).collect();
    all(callers).await
}

/// Its circuit opens after five failures in a row.
async fn unreachable(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen { processes: 3, ..Seen::default() });
    let processes = [(); 3].map(|()| process(store, &db, &tier));
    tier.inject(Fault::Fail(TierError::Connection));
    for key in 0..6 {
        db.forget();
        seen.told("", fleet(&processes, &db, key).await);
        settle().await;
    }
    seen.end(&processes[0], &db)
}

async fn swallows(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen::default());
    let rows = process(store, &db, &tier);
    tier.inject(Fault::Hang);
    seen.span("50 ms", ms(50));
    for key in 0..5 {
        seen.told("the first five loads", [read(&rows, &db, key).await]);
    }
    for key in 5..150 {
        let told = read(&rows, &db, key).await;
        seen.told(if told.took == LOAD { "then" } else { "probes" }, [told]);
        seen.look(&rows);
    }
    seen.end(&rows, &db)
}

async fn loses(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen::default());
    let (one, other) = (process(store, &db, &tier), process(store, &db, &tier));
    for key in 0..40 {
        read(&one, &db, key).await;
    }
    settle().await;
    assert_eq!(tier.values(), 40);
    tier.flush();
    db.forget();
    seen.span("five loads", 5 * LOAD);
    seen.told("", herd(&other, &db, 0..40).await);
    seen.end(&other, &db)
}

/// One value is damaged, another is that of another key.
async fn bytes(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen::default());
    let (one, other) = (process(store, &db, &tier), process(store, &db, &tier));
    for key in 1..=3 {
        read(&one, &db, key).await;
    }
    settle().await;
    let mut first = Vec::new();
    tier.tamper(|text, bytes| {
        if text.ends_with("1]") {
            first.clone_from(bytes);
        }
    });
    tier.tamper(|text, bytes| {
        if text.ends_with("2]") {
            bytes.clone_from(&first);
        }
        if text.ends_with("3]") {
            bytes.truncate(50);
        }
    });
    db.forget();
    db.change();
    seen.told("", herd(&other, &db, [2, 3, 2, 3]).await);
    seen.end(&other, &db)
}

async fn lost_invalidation(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen::default());
    let (here, elsewhere) = (process(store, &db, &tier), process(store, &db, &tier));
    read(&here, &db, 7).await;
    settle().await;
    tier.inject_on(SharedOperation::Remove, Fault::Fail(TierError::Connection));
    db.change();
    db.forget();
    here.invalidate(&7).await;
    seen.look(&here);
    seen.told("here", [read(&here, &db, 7).await]);
    seen.told("elsewhere", [read(&elsewhere, &db, 7).await]);
    let mut seen = seen.end(&here, &db);
    tier.heal();
    pass(ms(6_000)).await;
    seen.look(&here);
    seen
}

/// The dead holder has called the database, and left its lease behind.
async fn dead_holder(store: LocalStore) -> Seen {
    fastrand::seed(2);
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen::default());
    let (rest, poll) = (ms(300), ms(25));
    let process = || {
        let leasing = Leasing::new(tier.clone()).time(rest).poll(poll, poll);
        let builder = settings(store, SHORT, &Gate::new(8)).origin_timeout(rest).flight_deadline(ms(2_000));
        built(builder.shared(tier.clone()).lease(leasing), &db)
    };
    let key = SharedKey::of("rows", 1, &7_u64).expect("it is short");
    let held = tier.acquire(&key, &LeaseToken::random(), rest).await;
    assert!(matches!(held, Ok(Acquired::Yes { .. })), "{held:?}");
    db.dies(7);
    seen.span("the lease", rest);
    seen.span("a look", 2 * (poll + poll / 2));
    let processes = [(); 3].map(|()| process());
    seen.told("", fleet(&processes, &db, 7).await);
    for rows in &processes {
        seen.look(rows);
    }
    seen.end(&processes[0], &db)
}

/// The lease is lost while its holder still loads; another process takes it.
async fn overrun(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen::default());
    let process = || {
        let builder = settings(store, SHORT, &Gate::new(8)).origin_timeout(ms(300)).flight_deadline(ms(1_000));
        built(builder.shared(tier.clone()).lease(Leasing::new(tier.clone()).time(ms(300))), &db)
    };
    let (slow, quick) = (process(), process());
    db.takes(ms(290));
    let overrun = ask(&slow, &db, 7);
    pass(ms(50)).await;
    tier.lose_leases();
    db.change();
    db.takes(ms(150));
    seen.told("others", [read(&quick, &db, 7).await]);
    seen.told("its own callers", all(vec![overrun]).await);
    settle().await;
    seen.told("others", [read(&slow, &db, 7).await]);
    seen.end(&slow, &db)
}

async fn no_lease(store: LocalStore) -> Seen {
    let (db, tier, mut seen) = (Db::default(), MemoryTier::new(), Seen { processes: 3, ..Seen::default() });
    let leased = || built(settings(store, SHORT, &Gate::new(8)).shared(tier.clone()).lease(tier.clone()), &db);
    let processes = [(); 3].map(|()| leased());
    tier.inject_on(SharedOperation::Acquire, Fault::Fail(TierError::Connection));
    seen.told("", fleet(&processes, &db, 7).await);
    seen.end(&processes[0], &db)
}
