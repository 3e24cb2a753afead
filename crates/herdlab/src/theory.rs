//! What theory says: the formulas that runs are held against.
//!
//! Pure, in seconds and per second. Each has its source or its derivation in a
//! sentence; the tests check it against itself in limits, never against the lab.

mod early;
mod herds;
mod sizes;

pub use early::{early_cycles, early_starts, lead_mean_s, lead_median_s, lead_median_sigma_s, lead_sigma_s};
pub use herds::{Cycle, Herds, asked_within};
pub use sizes::{lru_hit_ratio, most_popular_ratio};

/// Loads of one expiry when nobody coalesces and readers come at random: the one that
/// finds it, and all that come within the load's time. Mean of 1 + Poisson(λL).
pub fn duplicates(rate: f64, load_s: f64) -> f64 {
    1.0 + rate * load_s
}

/// The standard deviation of [`duplicates`]: that of a Poisson count.
pub fn duplicates_sigma(rate: f64, load_s: f64) -> f64 {
    (rate * load_s).sqrt()
}

/// Loads of one expiry when nobody coalesces and `users` wait for their answers, thinking for `think_s` in between: the
/// one that finds it, and each other whose thinking ends within the load's time. Exponential thinking has no memory, so
/// that is the chance 1 − e^(−L/Z), whatever each did before.
pub fn closed_duplicates(users: f64, load_s: f64, think_s: f64) -> f64 {
    1.0 + (users - 1.0) * in_time(load_s, think_s)
}

/// The standard deviation of [`closed_duplicates`]: that of a binomial count.
pub fn closed_duplicates_sigma(users: f64, load_s: f64, think_s: f64) -> f64 {
    let p = in_time(load_s, think_s);
    ((users - 1.0) * p * (1.0 - p)).sqrt()
}

fn in_time(load_s: f64, think_s: f64) -> f64 {
    -(-load_s / think_s).exp_m1()
}

/// Seconds until a database of capacity `c` behind a pool of `connections` gives its first answer when its callers fill
/// the pool: as [`first_answer_s`], but n stops growing when the pool is empty, at `connections` ÷ λ.
pub fn pooled_first_answer_s(rate: f64, load_s: f64, capacity: f64, connections: f64) -> f64 {
    let unbounded = first_answer_s(rate, load_s, capacity);
    let full = connections / rate;
    if unbounded <= full {
        return unbounded;
    }
    // What the first call has got of its work when the pool is empty; from then on all progress at c/connections.
    let done = if connections <= capacity { full } else { capacity / rate * (1.0 + (connections / capacity).ln()) };
    full + (load_s - done) * (connections / capacity).max(1.0)
}

/// Seconds until a database of capacity `c` that its callers drown gives its first answer.
///
/// Processor sharing: of n running calls each progresses at min(1, c/n), and n grows with λt until an answer
/// is cached. Until t₀ = c/λ all go at full speed; then ∫ c/(λt) dt = L − t₀ gives t = (c/λ)·e^(λL/c − 1).
/// Without overload (λL ≤ c) it is L.
pub fn first_answer_s(rate: f64, load_s: f64, capacity: f64) -> f64 {
    if rate * load_s <= capacity { load_s } else { capacity / rate * (rate * load_s / capacity - 1.0).exp() }
}

/// Loads for each second in a steady state of one key that is asked for at random, loads coalesced: a cycle is the
/// wait for the first reader (1/λ), the load (L), and freshness (T).
pub fn steady_loads_per_s(rate: f64, load_s: f64, fresh_s: f64) -> f64 {
    1.0 / (fresh_s + load_s + 1.0 / rate)
}

/// The mean count of a second when `keys` values that were written together expire spread over the last part
/// `jitter` of their freshness.
pub fn spread_per_s(keys: f64, jitter: f64, fresh_s: f64) -> f64 {
    keys / (jitter * fresh_s).max(1.0)
}

/// The part of all reads that the busiest of `nodes` nodes gets when a key with the part `share` lies on one of them and
/// the others are spread evenly.
pub fn busiest_node(share: f64, nodes: f64) -> f64 {
    share + (1.0 - share) / nodes
}

/// The least and the most attempts at a key whose loads fail at once for `length_s`, with windows that double from
/// `base` to `cap` (seconds). Each is stretched by up to 1.5 and never above the cap; at the cap it is spread below it
/// instead, from two thirds on, so that keys which failed together do not probe together.
pub fn cooling_attempts(length_s: f64, base: f64, cap: f64) -> (u64, u64) {
    let count = |window: fn(f64, f64, f64) -> f64| {
        let (mut at, mut grown, mut attempts) = (0.0, base, 0);
        while at < length_s {
            attempts += 1;
            at += window(grown, base, cap);
            grown *= 2.0;
        }
        attempts
    };
    let longest = |grown: f64, _, cap: f64| (grown * 1.5).min(cap);
    let shortest = |grown: f64, base: f64, cap: f64| grown.min((cap * 2.0 / 3.0).max(base));
    (count(longest), count(shortest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < expected * 0.002, "{value} for {expected}");
    }

    #[test]
    fn a_database_that_is_not_overloaded_answers_in_its_own_time() {
        near(first_answer_s(1_000.0, 0.1, 1_000.0), 0.1);
        // At the edge the two branches meet.
        near(first_answer_s(10_000.0, 0.1, 1_000.0), 0.1);
        near(first_answer_s(10_000.0, 0.5, 1_000.0), 5.46);
    }

    /// Steps through processor sharing by hand, a thousandth of a second at a time.
    #[test]
    fn the_formula_of_collapse_agrees_with_its_differential_equation() {
        let (rate, load, capacity) = (2_000.0_f64, 0.2, 150.0_f64);
        let (mut done, mut at) = (0.0_f64, 0.0_f64);
        while done < load {
            at += 0.000_1;
            done += 0.000_1 * (capacity / (rate * at)).min(1.0);
        }
        near(at, first_answer_s(rate, load, capacity));
    }

    /// Steps by hand as above, with a pool that ends the growth.
    #[test]
    fn a_pool_ends_the_growth_of_a_herd() {
        for connections in [50.0_f64, 200.0, 400.0, 1_600.0, 100_000.0] {
            let (rate, load, capacity) = (2_000.0_f64, 0.5, 200.0_f64);
            let (mut done, mut at) = (0.0_f64, 0.0_f64);
            while done < load {
                at += 0.000_1;
                done += 0.000_1 * (capacity / (rate * at).min(connections)).min(1.0);
            }
            near(at, pooled_first_answer_s(rate, load, capacity, connections));
        }
    }

    #[test]
    fn users_who_wait_are_never_more_than_there_are() {
        near(closed_duplicates(1_000.0, 1e9, 1.0), 1_000.0);
        assert!(closed_duplicates_sigma(1_000.0, 1e9, 1.0) < 1e-3);
        // Few of many: as many as would come if they did not wait.
        near(closed_duplicates(1e6, 0.001, 1.0), duplicates(1e6, 0.001));
        near(closed_duplicates_sigma(1e6, 0.001, 1.0), duplicates_sigma(1e6, 0.001));
    }

    #[test]
    fn more_nodes_never_take_a_key_apart() {
        near(busiest_node(0.0, 4.0), 0.25);
        near(busiest_node(0.3, 1.0), 1.0);
        near(busiest_node(0.3, 1e9), 0.3);
    }

    #[test]
    fn cooling_doubles_and_is_capped() {
        // The longest: 0, 0.15, 0.45, 1.05, then each second 2.05, 3.05, 4.05. The shortest: 0, 0.1, 0.3, 0.7, then each
        // two thirds of a second 1.37, 2.03, 2.7, 3.37, 4.03, 4.7.
        assert_eq!(cooling_attempts(5.0, 0.1, 1.0), (7, 10));
        // A base above two thirds of the cap is not cut.
        assert_eq!(cooling_attempts(5.0, 1.0, 1.0), (5, 5));
    }
}
