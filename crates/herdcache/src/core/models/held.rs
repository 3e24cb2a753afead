//! L2: a load that is held back until fewer than two older ones of its key run.

use std::sync::Arc;

use super::{KEY, Models, OF_THREE, OF_TWO, One, cache, explore, opened, spawn};
use crate::unwatched::WhenUnwatched;

/// Two superseded loads and one that is held back.
fn two_old_and_one_held(core: &Models) -> [One; 3] {
    let old = [(); 2].map(|()| {
        let (flight, _) = opened(core);
        core.invalidate(&KEY);
        flight
    });
    let (held, _) = opened(core);
    assert!(held.is_held(), "L2: a third load of the key");
    let [first, second] = old;
    [first, second, held]
}

/// Waits, as the flight's own task does, until it may begin.
fn begin(core: &Models, held: &One) {
    loop {
        let told = held.may_start.notified();
        if core.let_go(held) {
            return;
        }
        loom::future::block_on(told);
    }
}

/// L2: however the older loads end, the news reaches the one that waits for them.
#[test]
fn l2_a_held_load_begins_when_an_older_one_has_ended() {
    explore(OF_THREE, || {
        let cache = cache(WhenUnwatched::Finish);
        let core = Arc::clone(&cache.core);
        let [first, second, held] = two_old_and_one_held(&core);
        let ends = [first, second].map(|flight| {
            let core = Arc::clone(&core);
            spawn(move || core.retire(&flight))
        });
        begin(&core, &held);
        let shard = core.table.lock(held.hash);
        assert!(shard.loads(held.hash) < 3, "L2: three loads of one key");
        drop(shard);
        ends.into_iter().for_each(|end| end.join().unwrap());
        core.retire(&held);
        assert_eq!(core.table.len(), 0, "L6");
    });
}

/// L5: a change of the key either comes before its load begins, and outdates what was there, or supersedes it.
#[test]
fn l5_a_change_meets_the_start_of_a_held_load() {
    explore(OF_TWO, || {
        let cache = cache(WhenUnwatched::Finish);
        let core = Arc::clone(&cache.core);
        let [first, second, held] = two_old_and_one_held(&core);
        core.retire(&first);
        let change = spawn({
            let core = Arc::clone(&core);
            move || core.invalidate(&KEY)
        });
        begin(&core, &held);
        // From here on it reads the origin.
        let outdated = held.fate.is_outdated();
        let joined = core.table.lock(held.hash).current(held.hash, &KEY).is_some();
        change.join().unwrap();
        let doomed = held.fate.doomed().is_some();
        assert!(outdated != doomed, "L5: the change did neither, or both");
        assert!(!outdated || joined, "L2: it was set aside though its load had not begun");
        core.retire(&second);
        core.retire(&held);
        assert_eq!(core.table.len(), 0, "L6");
    });
}
