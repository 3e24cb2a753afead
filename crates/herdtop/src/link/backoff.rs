//! [`Backoff`]: how long to wait before the next try.

use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_millis(250);
/// The longest wait, before its random part.
const LONGEST: Duration = Duration::from_secs(5);
/// A connection that lasted this long was healthy: waits begin anew.
const HEALTHY: Duration = Duration::from_secs(10);

/// Waits that double from 250 ms up to 5 s, each ±20 % so that many readers do
/// not come back at the same moment.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait before the next try. `unit` is a random number in 0..1.
    pub fn next(&mut self, unit: f64) -> Duration {
        let doubled = FIRST.saturating_mul(2_u32.saturating_pow(self.failures.min(16)));
        self.failures = self.failures.saturating_add(1);
        doubled.min(LONGEST).mul_f64(0.8 + 0.4 * unit.clamp(0.0, 1.0))
    }

    /// A connection has ended that lasted this long.
    pub fn connected_for(&mut self, lasted: Duration) {
        if lasted >= HEALTHY {
            self.failures = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_cap_and_begin_anew_after_health() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..7).map(|_| backoff.next(0.5).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
        backoff.connected_for(Duration::from_secs(9));
        assert_eq!(backoff.next(0.5).as_millis(), 5_000);
        backoff.connected_for(Duration::from_secs(10));
        assert_eq!(backoff.next(0.5).as_millis(), 250);
    }

    #[test]
    fn the_random_part_is_a_fifth_at_most() {
        let bound = |unit| Backoff { failures: 9 }.next(unit).as_millis();
        assert_eq!([bound(0.0), bound(1.0)], [4_000, 6_000]);
    }
}
