//! Which flights are worth a span, before there is one. Pure.

/// Why a flight is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledBy {
    /// Its key is among those asked for most.
    Hot,
    /// It fell into the uniform share of all flights.
    Uniform,
    /// It became a herd.
    Herd,
}

impl SampledBy {
    /// The word for it, as spans carry it: `hot_key`, `uniform`, `herd`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Hot => "hot_key",
            Self::Uniform => "uniform",
            Self::Herd => "herd",
        }
    }
}

/// Whether the flight of this number falls into a uniform share of one in `one_in`; 0 is none.
///
/// By the number, well mixed: no state, no chance that a run played again could not repeat, and keys that are loaded
/// in turn are not told apart.
pub(super) fn is_in_share(flight: u64, one_in: u64) -> bool {
    // The finaliser of MurmurHash3 by Austin Appleby: each bit of the number moves half of the bits of the result.
    let mut mixed = flight ^ (flight >> 33);
    mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^= mixed >> 33;
    mixed = mixed.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^= mixed >> 33;
    one_in > 0 && mixed % one_in == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(of: impl Iterator<Item = u64>, one_in: u64) -> usize {
        of.filter(|flight| is_in_share(*flight, one_in)).count()
    }

    #[test]
    fn a_share_is_about_one_in_so_many() {
        let found = share(1..=1_000_000, 1_000);
        assert!((900..=1_100).contains(&found), "{found}");
        assert_eq!([share(1..=1_000, 1), share(1..=1_000_000, 0)], [1_000, 0]);
    }

    /// Two keys that are loaded in turn have even and odd numbers: each has its share.
    #[test]
    fn keys_that_are_loaded_in_turn_have_a_share_each() {
        for first in [1, 2] {
            let found = share((first..1_000_000).step_by(2), 1_000);
            assert!((400..=600).contains(&found), "{found}");
        }
    }
}
