//! How much a cache of a size answers, when every request draws its key anew from one law.

/// The hit ratio of an LRU of `entries`, by Che's approximation: a key stays for the time t in which `entries` different
/// keys are asked for, Σ (1 − e^(−pᵢt)) = entries, so that it is found with the chance 1 − e^(−pᵢt). Right to about a
/// hundredth for laws like Zipf's.
pub fn lru_hit_ratio(probabilities: &[f64], entries: f64) -> f64 {
    if entries >= probabilities.len() as f64 {
        return 1.0;
    }
    let there = |time: f64| probabilities.iter().map(move |p| -(-p * time).exp_m1());
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while there(high).sum::<f64>() < entries {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if there(middle).sum::<f64>() < entries { low = middle } else { high = middle }
    }
    probabilities.iter().zip(there(high)).map(|(p, there)| p * there).sum()
}

/// The most that a cache of `entries` can answer that does not know what comes: the most popular keys, always there.
pub fn most_popular_ratio(probabilities: &[f64], entries: usize) -> f64 {
    let mut sorted = probabilities.to_vec();
    sorted.sort_by(|one, other| other.total_cmp(one));
    sorted.iter().take(entries).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_favourites_a_part_of_the_keys_is_that_part_of_the_hits() {
        let even = [0.01; 100];
        for (entries, expected) in [(1.0, 0.01), (50.0, 0.5), (99.0, 0.99), (100.0, 1.0), (500.0, 1.0)] {
            let ratio = lru_hit_ratio(&even, entries);
            assert!((ratio - expected).abs() < 1e-9, "{entries}: {ratio}");
        }
        assert!((most_popular_ratio(&even, 30) - 0.3).abs() < 1e-9);
        assert!((most_popular_ratio(&[0.1, 0.7, 0.2], 2) - 0.9).abs() < 1e-9);
    }

    /// Two keys of three, worked out by the chain of its states: LRU holds the last two different keys.
    #[test]
    fn a_small_lru_is_near_its_chain() {
        let p = [0.6, 0.3, 0.1];
        // Σ over (a, b) of the chance to hold a and b, a asked for last, times the chance to ask for either.
        let mut exact = 0.0;
        for a in 0..3 {
            for b in (0..3).filter(|b| *b != a) {
                exact += p[a] * p[b] / (1.0 - p[a]) * (p[a] + p[b]);
            }
        }
        let ratio = lru_hit_ratio(&p, 2.0);
        // Three keys are few for a law of many.
        assert!((ratio - exact).abs() < 0.03, "{ratio} for {exact}");
    }
}
