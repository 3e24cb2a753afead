//! Callers of one key against each other.

use super::{OF_THREE, OF_TWO, Source, cache, explore, get, is_quiet, spawn, stored};
use crate::unwatched::WhenUnwatched;

/// L2, S3: whoever comes before, during or just after a load shares it.
#[test]
fn l2_s3_two_callers_share_one_load() {
    let runs = explore(OF_TWO, || {
        let (cache, source) = (cache(WhenUnwatched::Finish), Source::new());
        let other = spawn({
            let (cache, source) = (cache.clone(), source.clone());
            move || get(&cache, &source)
        });
        assert_eq!((get(&cache, &source), other.join().unwrap()), (1, 1));
        assert_eq!(source.loads(), 1, "L2: a second load of the key");
        assert_eq!(stored(&cache), Some(1));
        is_quiet(&cache.core);
    });
    assert!(runs > 100, "nothing was explored");
}

/// L2: three of them, with fewer switches, since a third thread multiplies the orders.
#[test]
fn l2_three_callers_share_one_load() {
    explore(OF_THREE, || {
        let (cache, source) = (cache(WhenUnwatched::Finish), Source::new());
        let others = [(); 2].map(|()| {
            let (cache, source) = (cache.clone(), source.clone());
            spawn(move || get(&cache, &source))
        });
        assert_eq!(get(&cache, &source), 1);
        for other in others {
            assert_eq!(other.join().unwrap(), 1);
        }
        assert_eq!(source.loads(), 1, "L2: a second load of the key");
        is_quiet(&cache.core);
    });
}
