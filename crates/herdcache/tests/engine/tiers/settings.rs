//! A1: settings of the tier and the lease that cannot work.

use std::time::Duration;

use herdcache::{Leasing, MemoryTier, Shared, Ttl};

use crate::support::{ms, rows};

const MINUTE: Ttl = Ttl::fresh_for(ms(60_000));

/// A1, Z1: a lease below the hard timeout is refused with both named and the remedy; one above it is fine, whatever the
/// deadline. The default always is.
#[test]
fn z1_a_lease_outlasts_the_load_or_is_refused() {
    let check = |lease: Option<u64>, origin: u64, deadline: u64| {
        let tier = MemoryTier::new();
        let leasing = Leasing::new(tier.clone());
        let leasing = lease.map_or(leasing.clone(), |time| leasing.time(ms(time)));
        let builder = rows("orders", MINUTE).origin_timeout(ms(origin)).flight_deadline(ms(deadline));
        builder.shared(tier).lease(leasing).build().map(drop).map_err(|error| error.to_string())
    };
    let refused = |lease: &str, origin: &str| {
        Err(format!(
            "cache \"orders\": lease {lease} is shorter than origin_timeout {origin}: \
             a load would outlive its lease: raise the lease or lower the timeout"
        ))
    };
    let table = [
        (Some(1_500), 800, 800, Ok(())),
        (Some(800), 1_500, 1_500, refused("800ms", "1.5s")),
        (Some(1_500), 1_500, 1_500, Ok(())),
        (Some(1_499), 1_500, 1_500, refused("1.499s", "1.5s")),
        (Some(800), 800, 1_500, Ok(())),
        (None, 1_500, 1_500, Ok(())),
        (None, 1, 1, Ok(())),
        (None, 3_600_000, 3_600_000, Ok(())),
    ];
    for (lease, origin, deadline, expected) in table {
        assert_eq!(check(lease, origin, deadline), expected, "{lease:?} {origin} {deadline}");
    }
}

/// Z1: the default lease is the flight deadline and two operation timeouts; all of it is in the effective settings.
#[test]
fn z1_the_default_lease_is_the_deadline_and_two_operations() {
    let tier = MemoryTier::new();
    let shared = Shared::json(tier.clone()).operation_timeout(ms(30)).schema_version(4);
    let cache =
        rows("settings-of-tiers", MINUTE).flight_deadline(ms(7_000)).shared(shared).lease(tier).build().unwrap();
    let config = herdcache::process_config().0.into_iter().find(|config| config.name == cache.name()).unwrap();
    let (shared, lease) = (config.shared.unwrap(), config.lease.unwrap());
    assert_eq!((lease.time_ms, lease.renewals, lease.poll_ms, lease.poll_most_ms), (7_060, 3, 25, 250));
    assert_eq!((shared.operation_timeout_ms, shared.schema_version, shared.codec.as_str()), (30, 4, "json"));
    assert_eq!((shared.largest_value, shared.queue, shared.write_failure.as_str()), (1 << 20, 10_000, "ignore"));
    assert_eq!((shared.breaker_in_a_row, shared.probe_every_ms, lease.follow_ms), (5, 1_000, None));
}

/// A1: each bad setting is refused with its field.
#[test]
fn a1_bad_settings_of_tiers_are_refused() {
    type Change = fn(Shared<u64>) -> Shared<u64>;
    type Other = fn(Leasing) -> Leasing;
    let table: [(Change, &str); 7] = [
        (|s| s.operation_timeout(Duration::ZERO), "operation_timeout 0ns is not within 1ms to 5s: raise it"),
        (|s| s.operation_timeout(ms(5_001)), "operation_timeout 5.001s is not within"),
        (|s| s.largest_value(1_023), "largest_value 1023 is not within 1024 to 67108864"),
        (|s| s.breaker(0, ms(1_000)), "breaker 0 is not within 1 to 1000"),
        (|s| s.breaker(5, ms(9)), "breaker 9ms is not within 10ms to 60s"),
        (|s| s.queue(0), "queue 0 is not within 1 to 1000000"),
        (|s| s.queue(1_000_001), "queue 1000001 is not within"),
    ];
    for (change, expected) in table {
        let error = rows("bad", MINUTE).shared(change(Shared::json(MemoryTier::new()))).build().unwrap_err();
        assert!(error.to_string().contains(expected), "{error} / {expected}");
    }
    let table: [(Other, &str); 5] = [
        (|l| l.time(ms(99)), "lease 99ms is not within 100ms to 7200s"),
        (|l| l.renewals(1_001), "renewals 1001 is not within 0 to 1000"),
        (|l| l.poll(ms(4), ms(250)), "poll 4ms is not within 5ms to 5s"),
        (|l| l.poll(ms(50), ms(49)), "poll 49ms is not within 50ms to 5s"),
        (|l| l.follow_for(Duration::ZERO), "follow_for 0ns is not within"),
    ];
    for (change, expected) in table {
        let tier = MemoryTier::new();
        let builder = rows("bad", MINUTE).origin_timeout(ms(50)).shared(tier.clone());
        let error = builder.lease(change(Leasing::new(tier))).build().unwrap_err();
        assert!(error.to_string().contains(expected), "{error} / {expected}");
    }
    let alone = rows("bad", MINUTE).lease(MemoryTier::new()).build().unwrap_err();
    assert_eq!((alone.field(), alone.to_string().contains("set both")), ("lease", true));
}
