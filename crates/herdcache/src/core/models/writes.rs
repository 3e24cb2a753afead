//! Changes of a key against its load.

use super::{KEY, Model, OF_TWO, Source, cache, explore, get, is_quiet, spawn, stored};
use crate::loaded::Loaded;
use crate::unwatched::WhenUnwatched;

/// L5: a value whose load began before an invalidation is not stored after it, and whoever comes after it loads anew.
#[test]
fn l5_an_invalidation_meets_a_landing() {
    explore(OF_TWO, || {
        let (cache, source) = (cache(WhenUnwatched::Finish), Source::new());
        let reader = spawn({
            let (cache, source) = (cache.clone(), source.clone());
            move || get(&cache, &source)
        });
        source.write(2);
        let _ = cache.invalidate(&KEY);
        assert_ne!(stored(&cache), Some(1), "L5: the value from before the change lives");
        assert_eq!(get(&cache, &source), 2, "L5: answered what was there before the change");
        reader.join().unwrap();
        assert_ne!(stored(&cache), Some(1), "L5: the value from before the change came back");
        is_quiet(&cache.core);
    });
}

/// L5: what the application writes is newer than every load that has begun.
#[test]
fn l5_an_insert_meets_a_landing() {
    explore(OF_TWO, || {
        let (cache, source) = (cache(WhenUnwatched::Finish), Source::new());
        let reader = spawn({
            let (cache, source) = (cache.clone(), source.clone());
            move || get(&cache, &source)
        });
        let _ = cache.insert(KEY, 7);
        reader.join().unwrap();
        assert_eq!(stored(&cache), Some(7), "L5: an older load was stored over a newer write");
        is_quiet(&cache.core);
    });
}

/// W2, L5: a tag is known only when the load ends; its invalidation reaches the load all the same.
#[test]
fn w2_l5_an_invalidated_tag_meets_a_landing() {
    explore(OF_TWO, || {
        let (cache, source) = (cache(WhenUnwatched::Finish), Source::new());
        let reader = spawn({
            let (cache, source) = (cache.clone(), source.clone());
            move || {
                let load = cache.get_with(&KEY, |_| async move { Ok(Loaded::value(source.read()).tags(["t"])) });
                loom::future::block_on(load).unwrap();
            }
        });
        source.write(2);
        let _ = cache.invalidate_tag("t");
        assert_ne!(stored(&cache), Some(1), "W2: the value from before the change lives");
        reader.join().unwrap();
        assert_ne!(stored(&cache), Some(1), "W2: the value from before the change came back");
        is_quiet(&cache.core);
    });
}

/// W2, L5: no tag leads to what is not stored, and who comes after its invalidation gets none of it all the same.
#[test]
fn w2_l5_an_invalidated_tag_of_what_is_not_stored_meets_a_landing() {
    explore(OF_TWO, || {
        let (cache, source) = (cache(WhenUnwatched::Finish), Source::new());
        let read = |cache: &Model, source: &Source| {
            let source = source.clone();
            let unkept = |value| Loaded::value(value).tags(["t"]).do_not_store();
            let answer = loom::future::block_on(cache.get_with(&KEY, |_| async move { Ok(unkept(source.read())) }));
            *answer.unwrap().unwrap()
        };
        let reader = spawn({
            let (cache, source) = (cache.clone(), source.clone());
            move || read(&cache, &source)
        });
        source.write(2);
        let _ = cache.invalidate_tag("t");
        assert_eq!(read(&cache, &source), 2, "L5: answered what was read before the change");
        reader.join().unwrap();
        is_quiet(&cache.core);
    });
}
