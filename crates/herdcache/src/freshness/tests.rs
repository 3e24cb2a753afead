//! The figures of the field as tables.

use std::time::Duration;

use super::*;

const MS: u64 = 1_000_000;

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// F1: fresh 60 s, stale 90 s more, at the edges.
#[test]
fn f1_edges_of_freshness() {
    let bounds = Bounds::new(0, &Ttl::fresh_for(seconds(60)).stale_for(seconds(30)), 0.0, 0.0);
    let table = [
        (59_999, Freshness::Fresh),
        (60_000, Freshness::Stale),
        (89_999, Freshness::Stale),
        (90_000, Freshness::Expired),
    ];
    for (ms, expected) in table {
        assert_eq!(bounds.judge(ms * MS), expected, "at {ms} ms");
    }
}

/// F3: `stale_for` and `stale_if_error_for` both count from the end of freshness.
#[test]
fn f3_reserve_lies_between_hard_and_last() {
    let ttl = Ttl::fresh_for(seconds(10)).stale_for(seconds(5)).stale_if_error_for(seconds(60));
    let bounds = Bounds::new(0, &ttl, 0.0, 0.0);
    assert_eq!(bounds.judge(14_999 * MS), Freshness::Stale);
    assert_eq!(bounds.judge(15_000 * MS), Freshness::Reserve);
    assert_eq!(bounds.judge(69_999 * MS), Freshness::Reserve);
    assert_eq!(bounds.judge(70_000 * MS), Freshness::Expired);
    // A reserve shorter than the stale time never cuts the stale time.
    let short = Ttl::fresh_for(seconds(10)).stale_for(seconds(5)).stale_if_error_for(seconds(1));
    assert_eq!(Bounds::new(0, &short, 0.0, 0.0).last, 15_000 * MS);
}

/// F2: 300 s with 10 % lies in 270..=300 s; the other bounds move with it.
#[test]
fn f2_jitter_only_shortens() {
    let ttl = Ttl::fresh_for(seconds(300)).stale_for(seconds(30));
    for (unit, soft_s) in [(0.0, 300), (0.5, 285), (1.0, 270)] {
        let bounds = Bounds::new(0, &ttl, 0.1, unit);
        assert_eq!(bounds.soft, soft_s * 1_000 * MS);
        assert_eq!(bounds.hard - bounds.soft, 30_000 * MS);
    }
}

/// F1, F2: from 1 ms to centuries, never 0 and never an overflow.
#[test]
fn f2_extreme_ttls_neither_vanish_nor_overflow() {
    let tiny = Bounds::new(5, &Ttl::fresh_for(Duration::from_millis(1)), 0.5, 1.0);
    assert_eq!(tiny.soft, 5 + MS / 2);
    let nothing = Bounds::new(5, &Ttl::fresh_for(Duration::ZERO), 0.5, 1.0);
    assert_eq!(nothing.soft, 6);
    let vast = Bounds::new(u64::MAX - 1, &Ttl::fresh_for(seconds(u64::MAX)).stale_for(seconds(u64::MAX)), 0.1, 0.5);
    assert_eq!((vast.soft, vast.hard, vast.last), (u64::MAX, u64::MAX, u64::MAX));
}

/// F4: the edges that kept `XFetch` from firing elsewhere.
#[test]
fn f4_early_refresh_edges() {
    let (soft, load) = (10_000 * MS, 50 * MS);
    assert!(refresh_early(0, soft, load, 1.0, 0.0), "u = 0 means now");
    assert!(!refresh_early(soft - 1, soft, load, 1.0, 1.0), "u = 1 means not before expiry");
    assert!(!refresh_early(soft, soft, load, 0.0, 0.0), "beta = 0 is off");
    assert!(!refresh_early(soft - 1, soft, 0, 1.0, 0.5), "an unknown load time never fires");
    assert!(refresh_early(0, soft, load, f64::INFINITY, 0.5), "beta = infinity always fires");
    // A load time below one second counts: 50 ms · −ln(e⁻⁴) = 200 ms before expiry.
    let unit = (-4.0_f64).exp();
    assert!(refresh_early(soft - 199 * MS, soft, load, 1.0, unit));
    assert!(!refresh_early(soft - 201 * MS, soft, load, 1.0, unit));
}

/// E1: 100 ms doubling to 5 s, spread over ×1..×1.5.
#[test]
fn e1_cooling_doubles_up_to_its_cap() {
    let (base, cap) = (Duration::from_millis(100), seconds(5));
    let windows = |unit: f64| -> Vec<u64> { (1..=8).map(|n| cooling_window(base, cap, n, unit) / MS).collect() };
    assert_eq!(windows(0.0), [100, 200, 400, 800, 1_600, 3_200, 3_333, 3_333]);
    assert_eq!(windows(1.0), [150, 300, 600, 1_200, 2_400, 4_800, 5_000, 5_000]);
    assert_eq!(cooling_window(base, cap, u32::MAX, 1.0) / MS, 5_000);
    // A cap that leaves no room for a spread is what the window is.
    assert_eq!([0.0, 1.0].map(|unit| cooling_window(base, base, 3, unit) / MS), [100, 100]);
}
