use super::*;

/// Zipf-like: key k is asked for about 1/k of the time; the heads must be found among 100,000 keys.
#[test]
fn the_hottest_keys_are_found_among_many() {
    let hot = HotKeys::<u64>::new(0);
    let mut random = fastrand::Rng::with_seed(7);
    let hash = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut times = std::collections::HashMap::new();
    for _ in 0..200_000 {
        // Inverse of the cumulative sum of 1/k over 1..=100,000.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 100,000")]
        let key = 100_000.0_f64.powf(random.f64()) as u64;
        *times.entry(key).or_insert(0_u64) += 1;
        hot.see(hash(key), || key, Seen::Fresh, 1);
    }
    let top = hot.top(10, 2);
    let mut keys: Vec<u64> = top.keys.iter().map(|hot| *hot.key).collect();
    keys.sort_unstable();
    assert_eq!(keys, (1..=10).collect::<Vec<_>>());
    assert_eq!(top.requests, 200_000 * u64::from(account::SAMPLED));
    let first = &top.keys[0];
    assert!(first.error <= first.requests / 50, "error {} of {}", first.error, first.requests);
    // The same without their names.
    let (shares, all) = hot.shares(10, 2);
    assert_eq!(shares, top.keys.iter().map(|hot| (hot.requests, hot.error)).collect::<Vec<_>>());
    assert_eq!((all.requests, all.window_ns), (top.requests, top.window_ns));
    // Their hashes, for who asks about one key.
    let mut hottest = hot.hottest(10, 2);
    hottest.sort_unstable();
    let mut expected: Vec<u64> = (1..=10).map(hash).collect();
    expected.sort_unstable();
    assert_eq!(hottest, expected);
    // No estimate is too low, and none by more than its error too high.
    let every = hot.top(usize::MAX, 2).keys;
    let right = |hot: &Hot<u64>| {
        let seen = times[&*hot.key] * u64::from(account::SAMPLED);
        (seen..=seen + hot.error).contains(&hot.requests)
    };
    assert!(every.iter().all(right) && every.iter().any(|hot| hot.error > 0));
}

/// Windows turn, so that yesterday's hot key is forgotten.
#[test]
fn old_keys_are_forgotten_after_two_windows() {
    let hot = HotKeys::<u64>::new(0);
    hot.see(1, || 1, Seen::Stale, 1);
    hot.loaded(1, 9, 5);
    assert_eq!(hot.hottest(5, 2), [0_u64; 0], "seen once is not hot");
    let first = &hot.top(5, 2).keys[0];
    assert_eq!((first.stale, first.loads, first.coalesced, first.load_ns), (16, 1, 9, 5));
    hot.see(2, || 2, Seen::Fresh, WINDOW_NS);
    // Both lie in one shard: the first is still known from the window before.
    assert_eq!(hot.top(5, WINDOW_NS + 1).keys.len(), 2);
    assert!(hot.top(5, 3 * WINDOW_NS).keys.is_empty());
}

/// L7: never more keys than slots.
#[test]
fn l7_the_summary_is_bounded() {
    let hot = HotKeys::<u64>::new(0);
    (0..10_000_u64).for_each(|key| hot.see(key << 30, || key, Seen::Missing, 1));
    assert!(hot.top(usize::MAX, 1).keys.len() <= SLOTS);
}
