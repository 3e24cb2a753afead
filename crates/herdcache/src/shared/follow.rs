//! Z2: how long a follower pauses between two looks. Pure: chance is an argument.

use std::time::Duration;

/// The pauses of one follower.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    next: Duration,
    longest: Duration,
}

impl Pauses {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// The next pause: `unit` in 0..=1 spreads it over ± 50 %, so that followers do not look all at once.
    pub(crate) fn next(&mut self, unit: f64) -> Duration {
        let pause = self.next.mul_f64(0.5 + unit.clamp(0.0, 1.0));
        self.next = self.next.mul_f64(1.5).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Z2: 25 ms ± 50 %, half as long again each time, up to 250 ms.
    #[test]
    fn z2_pauses_grow_and_are_spread() {
        let ms = Duration::from_millis;
        let pauses = |unit: f64| {
            let mut pauses = Pauses::new(ms(25), ms(250));
            (0..8).map(|_| pauses.next(unit).as_micros() as f64 / 1_000.0).collect::<Vec<_>>()
        };
        let middle = [25.0, 37.5, 56.25, 84.375, 126.562, 189.843, 250.0, 250.0];
        assert_eq!(pauses(0.5), middle);
        let (least, most) = (pauses(0.0), pauses(1.0));
        for (n, pause) in middle.iter().enumerate() {
            assert!((least[n] - pause / 2.0).abs() < 0.01 && (most[n] - pause * 1.5).abs() < 0.01, "{n}");
        }
    }
}
