//! Many keys that expire again and again, nobody coalescing: how many loads begin within a span.

/// Loads that begin within a span: at least and at most in the mean, and the variance of their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Herds {
    /// Without expiries that may lie outside.
    pub least: f64,
    /// With expiries that may lie inside.
    pub most: f64,
    /// Of the Poisson counts among them.
    pub variance: f64,
}

/// A key that expires again and again.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    /// Its readers each second.
    pub rate: f64,
    /// How long a load takes.
    pub load_s: f64,
    /// How long a value is fresh.
    pub fresh_s: f64,
    /// When it expires first.
    pub first_s: f64,
}

impl Herds {
    /// Adds the herds of a key between two moments.
    ///
    /// The nth begins with the first reader after an expiry: at first + n·(T + L) + n + 1 exponential waits of 1/λ, and brings
    /// 1 + Poisson(λL) loads within L. One that is not inside with four deviations of its beginning may be outside.
    pub fn add(&mut self, cycle: Cycle, from_s: f64, until_s: f64) {
        let Cycle { rate, load_s, fresh_s, first_s } = cycle;
        for n in 0_u32.. {
            let waits = f64::from(n) + 1.0;
            let begins = first_s + f64::from(n) * (fresh_s + load_s) + waits / rate;
            let (early, late) = (begins - 4.0 * waits.sqrt() / rate, begins + 4.0 * waits.sqrt() / rate);
            if early >= until_s {
                return;
            }
            if late + load_s <= from_s {
                continue;
            }
            let loads = 1.0 + rate * load_s;
            self.most += loads;
            self.variance += rate * load_s;
            if early >= from_s && late + load_s <= until_s {
                self.least += loads;
            }
        }
    }

    /// Adds loads whose number is known.
    pub fn add_known(&mut self, loads: f64) {
        (self.least, self.most) = (self.least + loads, self.most + loads);
    }
}

/// How many of `keys` that are all gone at once are asked for within `window_s`, at `rate` over all of them: each with the
/// chance 1 − e^(−λw/N). With the standard deviation of that binomial count.
pub fn asked_within(keys: f64, rate: f64, window_s: f64) -> (f64, f64) {
    let chance = -(-rate * window_s / keys).exp_m1();
    (keys * chance, (keys * chance * (1.0 - chance)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against one key played by hand, a reader at a time.
    #[test]
    fn herds_agree_with_readers_who_come_one_by_one() {
        let cycle = Cycle { rate: 40.0, load_s: 0.2, fresh_s: 5.0, first_s: 5.0 };
        let mut herds = Herds::default();
        herds.add(cycle, 0.0, 30.0);
        let mut random = fastrand::Rng::with_seed(8);
        let trials = 400;
        let mut sum = 0_u32;
        for _ in 0..trials {
            let (mut at, mut fresh_until, mut lands) = (0.0_f64, 5.0_f64, f64::INFINITY);
            loop {
                at += -(1.0 - random.f64()).ln() / cycle.rate;
                if at >= 30.0 {
                    break;
                }
                if at >= lands {
                    (fresh_until, lands) = (lands + cycle.fresh_s, f64::INFINITY);
                }
                if at >= fresh_until {
                    sum += 1;
                    lands = lands.min(at + cycle.load_s);
                }
            }
        }
        let mean = f64::from(sum) / f64::from(trials);
        let slack = 4.0 * (herds.variance / f64::from(trials)).sqrt();
        assert!((herds.least - herds.most).abs() < 1e-9, "no herd lies on the boundary: {herds:?}");
        assert!((mean - herds.least).abs() < slack, "{mean} for {herds:?} ± {slack}");
    }

    #[test]
    fn a_herd_on_the_boundary_may_count_and_need_not() {
        let cycle = Cycle { rate: 40.0, load_s: 0.2, fresh_s: 5.0, first_s: 5.0 };
        let mut herds = Herds::default();
        herds.add(cycle, 0.0, 10.3);
        assert_eq!((herds.least, herds.most), (9.0, 18.0));
    }

    #[test]
    fn all_are_asked_for_in_the_end() {
        let (mean, sigma) = asked_within(100_000.0, 20_000.0, 1.0);
        assert!((mean - 18_126.9).abs() < 0.1 && (sigma - 121.8).abs() < 0.1, "{mean} ± {sigma}");
        assert!((asked_within(10.0, 1e6, 1.0).0 - 10.0).abs() < 1e-9);
    }
}
