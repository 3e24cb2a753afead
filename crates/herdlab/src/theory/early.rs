//! Refresh-ahead (`XFetch`): when it starts, and how often.

use std::f64::consts::{LN_2, PI};

/// How long before expiry the refresh starts, in the median, for r reads a second, a load's time δ
/// and the factor β. With the chance e^(−t/βδ) for each read at t before expiry, the rate of starts integrates to
/// rβδ·e^(−t/βδ), and none has happened with the chance e^ of minus that.
pub fn lead_median_s(rate: f64, load_s: f64, beta: f64) -> f64 {
    let scale = beta * load_s;
    scale * (rate * scale / LN_2).ln()
}

/// The standard deviation of a median over `cycles`: 1 ÷ (2·f·√n), and the density f at the median of a Gumbel law is
/// ln 2 ÷ (2βδ).
pub fn lead_median_sigma_s(load_s: f64, beta: f64, cycles: f64) -> f64 {
    beta * load_s / (LN_2 * cycles.sqrt())
}

/// The mean of the same: a Gumbel law, with Euler's constant.
pub fn lead_mean_s(rate: f64, load_s: f64, beta: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    let scale = beta * load_s;
    scale * ((rate * scale).ln() + EULER)
}

/// The standard deviation of the same: βδπ/√6.
pub fn lead_sigma_s(load_s: f64, beta: f64) -> f64 {
    beta * load_s * PI / 6_f64.sqrt()
}

/// Starts for each expiry where several refreshes of a key may run at once, as the engine does not let them. The first starts at a lead of which X = rβδ·e^(−t/βδ) is exponential with
/// mean 1; until its load ends, δ later, others start at the same rising rate: X·(e^(1/β) − 1) in the mean. So e^(1/β) in all.
pub fn early_starts(beta: f64) -> f64 {
    (1.0 / beta).exp()
}

/// Cycles within `length_s`, and their standard deviation: each is freshness without the lead, and the load.
pub fn early_cycles(length_s: f64, (rate, load_s, fresh_s): (f64, f64, f64), beta: f64) -> (f64, f64) {
    let cycle = fresh_s - lead_mean_s(rate, load_s, beta) + load_s;
    let cycles = length_s / cycle;
    (cycles, lead_sigma_s(load_s, beta) * cycles.sqrt() / cycle)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leads and starts of one expiry, drawn from the chances themselves.
    fn drawn(random: &mut fastrand::Rng, rate: f64, load: f64, beta: f64) -> (f64, u32) {
        let (mut before, mut first, mut starts) = (2.0_f64, None, 0);
        while first.is_none_or(|first: f64| before > first - load) {
            if random.f64() <= (-before / (beta * load)).exp() {
                first.get_or_insert(before);
                starts += 1;
            }
            before -= 1.0 / rate;
        }
        (first.unwrap(), starts)
    }

    /// F4: leads and starts agree with the chances that they come from, for several β.
    #[test]
    fn f4_leads_and_starts_agree_with_their_chances() {
        let (rate, load, mut random) = (1_000.0_f64, 0.05_f64, fastrand::Rng::with_seed(3));
        for beta in [0.7, 1.0, 2.0] {
            let (mut leads, starts): (Vec<f64>, Vec<u32>) =
                (0..4_000).map(|_| drawn(&mut random, rate, load, beta)).unzip();
            let n = leads.len() as f64;
            leads.sort_by(f64::total_cmp);
            let mean = leads.iter().sum::<f64>() / n;
            // Reads come a millisecond apart, which the law of a steady stream does not know.
            let within = |value: f64, expected: f64, sigma: f64| (value - expected).abs() < 4.0 * sigma + 1.0 / rate;
            assert!(within(mean, lead_mean_s(rate, load, beta), lead_sigma_s(load, beta) / n.sqrt()), "{mean}");
            let median = leads[2_000];
            assert!(within(median, lead_median_s(rate, load, beta), lead_median_sigma_s(load, beta, n)), "{median}");
            let mean = f64::from(starts.iter().sum::<u32>()) / n;
            // A Poisson count whose mean is m·X, m = e^(1/β) − 1, has the variance m + m².
            let (expected, more) = (early_starts(beta), early_starts(beta) - 1.0);
            let sigma = ((more + more * more) / n).sqrt();
            // One part in a hundred for reads that do not come as a steady stream.
            assert!((mean - expected).abs() < 4.0 * sigma + 0.01 * expected, "β {beta}: {mean} for {expected}");
        }
    }

    #[test]
    fn cycles_are_as_many_as_fit() {
        let (cycles, sigma) = early_cycles(1_000.0, (1_000.0, 0.05, 10.0), 1.0);
        let cycle = 10.0 - 0.05 * (50_f64.ln() + 0.577_215_66) + 0.05;
        assert!((cycles - 1_000.0 / cycle).abs() < 1e-6 && sigma < 0.1, "{cycles} ± {sigma}");
    }
}
